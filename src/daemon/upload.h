/* Files from elsewhere that become recordings: POST /api/v1/recordings/upload.
 *
 * The body goes into the spool as it comes: the HTTP thread gathers pieces, workers write them, and
 * a sender who is faster than the disk waits. Then a worker looks whether the file can be read and
 * what it is of, and the roads thread makes a recording of it. Whatever goes wrong on the way, the
 * file is gone. */
#ifndef SN_UPLOAD_H
#define SN_UPLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mailbox.h"
#include "sonde/error.h"

struct sn_daemon;
struct sn_operation;
struct sn_rest_call;

#define SN_UPLOAD_NAME_MAX 81u

/* What a file says of itself. */
struct sn_upload_facts {
    bool is_archive; /* a zip file */
    bool is_cut;
    uint32_t pid;
    char process_name[128];
    uint64_t event_count;
    uint64_t lost_count;
    uint64_t damage_count;
    uint64_t duration_ns;
    uint64_t start_utc_ns;
    uint64_t byte_count;
    uint64_t took_ns; /* to read */
};

struct sn_upload {
    struct sn_mailbox_task writer;    /* to the worker and back, while is_writing */
    _Atomic unsigned reference_count; /* its call, and who writes */
    struct sn_daemon *daemon;         /* borrows */
    struct sn_rest_call *call;        /* borrows; NULL: it is over. HTTP thread's, as the next */
    struct sn_buf filling;            /* what came and is not written */
    bool is_writing;
    bool is_whole;     /* all has come */
    bool is_gone;      /* its client left */
    bool is_announced; /* how large it is */
    uint64_t max;      /* of its size */
    uint64_t size;     /* that came */
    /* Of who has it: the HTTP thread, a worker, the roads. */
    struct sn_buf writing;
    uint64_t promised; /* of the room for all of them: what is not written yet */
    struct sonde_error err;
    int fd;                        /* owns */
    char path[4096];               /* in the spool; "": it is elsewhere by now */
    char name[SN_UPLOAD_NAME_MAX]; /* for people */
    struct sn_upload_facts facts;
    char recording[37]; /* the id of what it becomes */
};

/* What people call a file, whatever they sent: no path, no controls, no longer than fits. */
void sn_upload_name(char to[SN_UPLOAD_NAME_MAX], const char *given);

/* In a worker. Why it cannot be read stands in `err`, with the file's own name. */
int sn_upload_examine(const char *path, const char *name, struct sn_upload_facts *ret_facts,
                      struct sonde_error *err);

/* In the roads seat, when it is examined: the call's answer is the recording. */
void sn_upload_make_recording(struct sn_rest_call *call);

/* Whether a recording's file is a zip archive: of the machine, or one that came so. */
bool sn_upload_is_archive(const struct sn_operation *operation);

#endif
