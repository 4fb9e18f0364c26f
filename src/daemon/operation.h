/* What makes an artefact: a trace, a recording of the machine, logs, metrics, stacks, exceptions, a
 * dump. One table for all of them, with dotnet-monitor's states and limits; recordings of people
 * are operations that are kept. Roads thread only. */
#ifndef SN_OPERATION_H
#define SN_OPERATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/mailbox.h"
#include "sonde/error.h"

struct sn_artefact;
struct sn_daemon;
struct sn_operation;
struct sn_operations;
struct sn_rest_call;

enum sn_operation_state {
    SN_OPERATION_CONFIGURED = 0, /* a recording that was not enabled yet */
    SN_OPERATION_STARTING,
    SN_OPERATION_RUNNING,
    SN_OPERATION_STOPPING,
    SN_OPERATION_SUCCEEDED,
    SN_OPERATION_FAILED,
    SN_OPERATION_CANCELLED,
};

/* One kind of them, a file each. Everything is called in the roads thread. */
struct sn_operation_kind {
    const char *name;      /* "trace": also of its limit */
    const char *extension; /* "nettrace" */
    const char *content_type;
    unsigned concurrent_max; /* of all such that run: 429 beyond */
    unsigned recording_max;  /* the same for recordings, counted apart; 0: cannot be one */
    bool is_stoppable;
    bool is_whole; /* shown when it is complete: only then does its reader get an answer */
    /* Whether it can be done as asked, before anything is; may be NULL. SONDE_E_ARGUMENT: the text
     * begins with the member that is wrong and a colon. */
    int (*check)(const json_t *settings, struct sonde_error *err);
    /* Begins; later (not from within) it calls back sn_operation_running, sn_operation_ended. */
    int (*start)(struct sn_operation *operation, struct sonde_error *err);
    void (*stop)(struct sn_operation *operation);   /* ends it well, soon; again: sooner */
    void (*cancel)(struct sn_operation *operation); /* now; nothing of it is wanted */
    void (*progress)(struct sn_operation *operation,
                     struct sn_json *json);       /* members for people; may be NULL */
    void (*free)(struct sn_operation *operation); /* its `user` */
};

#define SN_RECORDINGS_MAX 1000u /* in the table, whatever their state */

struct sn_operation_note;

struct sn_operation {
    const struct sn_operation_kind *kind;
    char id[37]; /* a GUID in small letters */
    enum sn_operation_state state;
    struct sn_daemon *daemon;
    uint32_t pid; /* 0: the whole machine */
    char process_name[128];
    char process_uid[37]; /* the runtime's cookie as a GUID */
    char owner[96];       /* who asked */
    char tags[256];
    char egress[64];      /* provider; "": by HTTP */
    json_t *settings;     /* owns: what was asked for, as the kind understands it */
    uint64_t duration_ns; /* UINT64_MAX: until stopped */
    uint64_t created_utc_ns;
    uint64_t started_utc_ns;        /* it runs since; 0: not yet */
    uint64_t ended_utc_ns;          /* 0: not yet */
    struct sn_artefact *artefact;   /* owns a reference */
    struct sn_operation_note *note; /* owns a reference: that nobody reads it any more */
    char file_name[160];            /* as people get it: 20261116_064342_4711.nettrace */
    int status;                     /* how it ended */
    char message[256];              /* why it failed, or what is to be known of it */
    char location[512];             /* where its provider put it; "" */
    const char *content_type;       /* static text: the kind's, or the request's */
    bool is_recording;
    bool is_live;          /* a recording that goes with its lease, file and all */
    char *summary;         /* owns: progress of one of an earlier life, as JSON; NULL */
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC: is stopped then; UINT64_MAX */
    uint64_t lease_ns;     /* stops unless somebody asks for it this often; 0: need not be */
    uint64_t lease_end_ns; /* CLOCK_MONOTONIC; UINT64_MAX */
    uint64_t names_ns;     /* CLOCK_MONOTONIC: recording_names.h; 0: never */
    bool is_naming;
    void *user; /* of its kind */
    struct sn_operation *next;

    /* Inside. */
    bool is_cancelled;
    bool is_doomed;            /* it has failed, whatever it says itself: `cause` */
    const char *cause;         /* static text: why it was ended from outside; NULL */
    bool is_going;             /* is being deleted */
    bool is_unkept;            /* the store could not be told of its last change: no memory */
    bool is_saving;            /* on its way to its provider */
    struct sn_rest_call *call; /* who waits to hear that it runs; NULL */
    void (*answer)(struct sn_rest_call *call, struct sn_operation *operation);
};

struct sn_operation_request {
    /* In the roads seat, the process being known: true when the call has its answer already, and
     * nothing is to be made; may be NULL. */
    bool (*join)(struct sn_rest_call *call, const struct sn_operation_request *request);
    const struct sn_operation_kind *kind;
    uint32_t pid;
    const char *process_name; /* NULL: not known */
    const char *process_uid;  /* likewise */
    const char *owner;
    const char *tags;
    const char *egress;       /* "" or NULL: by HTTP, to who holds its artefact */
    const char *extension;    /* instead of the kind's; NULL */
    const char *content_type; /* likewise */
    const char *file_name;    /* without its extension, instead of DATE_TIME_PID; NULL */
    json_t *settings;         /* borrows */
    uint64_t duration_ns;
    bool is_disabled;  /* configure only */
    bool is_recording; /* kept, and listed among recordings */
    bool is_live;      /* ... unless its lease ends; one a process and profile */
};

/* Before the roads thread runs, behind topics: what an earlier life left in the spool goes. */
int sn_operations_new(struct sn_daemon *daemon, struct sn_operations **ret_operations,
                      struct sonde_error *err);
void sn_operations_free(struct sn_operations *operations); /* after it has ended; NULL is fine */

/* From any thread, when every part of the controller is there: recordings of an earlier life are
 * found again. */
void sn_operations_start(struct sn_daemon *daemon);

/* In the roads thread: nothing new begins, recordings and what somebody reads by HTTP are stopped,
 * what goes to a provider is cancelled.
 * `ended` is called when nothing runs any more, or after fifteen seconds. */
void sn_operations_end(struct sn_daemon *daemon, void (*ended)(void *user), void *user);

/* Whether there is such a provider ("file system": a folder of --egress). From any thread. */
bool sn_operation_has_egress(const struct sn_daemon *daemon, const char *name);

/* Makes one and starts it unless disabled. SONDE_E_LIMIT: as many of its kind run as may;
 * SONDE_E_NOT_FOUND; SONDE_E_ARGUMENT: no such egress. One that goes by HTTP is cancelled when
 * everybody else who held its artefact has let go. */
int sn_operation_new(struct sn_daemon *daemon, const struct sn_operation_request *request,
                     struct sn_operation **ret_operation, struct sonde_error *err);
struct sn_operation *sn_operation_find(struct sn_daemon *daemon, const char *id);
struct sn_operation *sn_operation_first(struct sn_daemon *daemon);

int sn_operation_enable(struct sn_operation *operation, struct sonde_error *err);
void sn_operation_stop(struct sn_operation *operation);
void sn_operation_cancel(struct sn_operation *operation);
/* The same from outside, with the reason (static text): the first ends well and says so, the second
 * has failed. */
void sn_operation_cut(struct sn_operation *operation, const char *cause);
void sn_operation_doom(struct sn_operation *operation, const char *cause);
/* Somebody has asked for it: its lease begins again. One that is live has it beyond its end. */
void sn_operation_renew(struct sn_operation *operation);
/* The live one of a process and profile that nobody has stopped; NULL. */
struct sn_operation *sn_operation_live(struct sn_daemon *daemon, uint32_t pid, const char *uid,
                                       const char *profile);
/* A live one becomes one like all others. SONDE_E_GONE: it is too late. */
int sn_operation_keep(struct sn_operation *operation, struct sonde_error *err);
int sn_operation_delete(struct sn_operation *operation,
                        struct sonde_error *err); /* its file too; SONDE_E_BUSY while it runs */

/* From its kind. Once it has ended, nothing of its kind may touch it any more. A status other than
 * SONDE_OK is a failure; SONDE_END is success of what is only a part, with a message. */
void sn_operation_running(struct sn_operation *operation);
void sn_operation_ended(struct sn_operation *operation, int status, const char *message);

/* For handlers in any seat, all of it: finds the process that is meant by pid, uid or name in a
 * worker, goes on in the roads seat, makes the operation, and has the call answered when it runs
 * (when it is complete, if its kind is_whole; at once, if it goes to a provider). `request` is
 * copied, its texts too; its pid is filled in unless `is_machine`. Failures before that are the
 * call's problem. When the client leaves meanwhile, the operation is cancelled. `answer` fills in
 * the call; NULL is sn_operation_answer. */
struct sn_operation_target {
    const char *pid; /* all three as sn_sight_choose has them; copied */
    const char *uid;
    const char *name;
    bool is_machine; /* no process is looked for */
};
void sn_operation_call(struct sn_rest_call *call, const struct sn_operation_target *target,
                       const struct sn_operation_request *request,
                       void (*answer)(struct sn_rest_call *call, struct sn_operation *operation));
/* The file with its type and name; 202 with Location /operations/{id} for one of a provider. */
void sn_operation_answer(struct sn_rest_call *call, struct sn_operation *operation);

bool sn_operation_is_active(const struct sn_operation *operation);  /* starting to stopping */
bool sn_operation_is_enabled(const struct sn_operation *operation); /* nobody has stopped it */
const char *sn_operation_state_name(enum sn_operation_state state); /* "Running" */

#endif
