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
#include "sonde/error.h"

struct sn_artefact;
struct sn_daemon;
struct sn_operation;

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
    bool is_stoppable;
    bool is_kept; /* otherwise it ends with its reader, and is no more when that has it */
    /* Begins; the operation calls back sn_operation_running and sn_operation_ended. */
    int (*start)(struct sn_operation *operation, struct sonde_error *err);
    void (*stop)(struct sn_operation *operation);   /* ends it well, soon */
    void (*cancel)(struct sn_operation *operation); /* now; nothing of it is wanted */
    void (*progress)(struct sn_operation *operation,
                     struct sn_json *json);       /* members for people; may be NULL */
    void (*free)(struct sn_operation *operation); /* its `user` */
};

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
    uint64_t ended_utc_ns;        /* 0: not yet */
    struct sn_artefact *artefact; /* owns a reference */
    char file_name[160];          /* as people get it: 20261116_064342_123_4711.nettrace */
    char message[256];            /* why it failed */
    void *user;                   /* of its kind */
    struct sn_operation *next;
};

struct sn_operation_request {
    const struct sn_operation_kind *kind;
    uint32_t pid;
    const char *owner;
    const char *tags;
    const char *egress;
    const char *extension; /* instead of the kind's; NULL */
    json_t *settings;      /* borrows */
    uint64_t duration_ns;
    bool is_disabled;  /* configure only */
    bool is_recording; /* kept, and listed among recordings */
};

/* Makes one and starts it unless disabled. SONDE_E_LIMIT: as many of its kind run as may;
 * SONDE_E_NOT_FOUND. */
int sn_operation_new(struct sn_daemon *daemon, const struct sn_operation_request *request,
                     struct sn_operation **ret_operation, struct sonde_error *err);
struct sn_operation *sn_operation_find(struct sn_daemon *daemon, const char *id);
struct sn_operation *sn_operation_first(struct sn_daemon *daemon);

int sn_operation_enable(struct sn_operation *operation, struct sonde_error *err);
void sn_operation_stop(struct sn_operation *operation);
void sn_operation_cancel(struct sn_operation *operation);
int sn_operation_delete(struct sn_operation *operation,
                        struct sonde_error *err); /* its file too; SONDE_E_BUSY while it runs */

/* From its kind. */
void sn_operation_running(struct sn_operation *operation);
void sn_operation_ended(struct sn_operation *operation, int status, const char *message);

const char *sn_operation_state_name(enum sn_operation_state state); /* "Running" */

#endif
