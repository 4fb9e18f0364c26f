/* The scopes that are open in a process, and those that a message is in. One thread.
 *
 * The runtime numbers activities by their path: that of a scope is the beginning of the paths of
 * all that happens in it, on whatever thread it goes on. Only .NET 10 gives siblings the same one
 * (sink/aggregate/activity_path.h): there the trace that messages belong to tells them apart, and
 * before that is known the thread. Where neither does, a scope is left out rather than guessed. */
#ifndef SN_LOG_SCOPES_H
#define SN_LOG_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_log_scope {
    uint8_t activity[16];
    uint64_t id;        /* the loggers' number for it */
    uint64_t thread_id; /* where it was last seen */
    uint64_t trace;     /* a number for the trace of its messages; 0: none came yet */
    char *category;     /* owns */
    char *arguments;    /* owns; JSON as the logger wrote it */
    size_t size;        /* of both */
};

struct sn_log_scopes {
    struct sn_log_scope *items; /* owns; the oldest first */
    size_t count;
    size_t capacity;
    size_t bytes;  /* of their texts */
    bool is_short; /* the runtime gives siblings the same id */
};

/* Where something happens. */
struct sn_log_place {
    const uint8_t *activity; /* 16 bytes, or NULL */
    uint64_t thread_id;
    const char *trace_id; /* or "" */
};

#define SN_LOG_SCOPES_SHOWN 24u

void sn_log_scopes_done(struct sn_log_scopes *scopes);

/* Copies the texts. Too many: the oldest are forgotten. */
void sn_log_scopes_open(struct sn_log_scopes *scopes, uint64_t id, const struct sn_log_place *place,
                        const char *category, const char *arguments);
void sn_log_scopes_close(struct sn_log_scopes *scopes, uint64_t id);

/* The scopes that a message is in, the outermost first; borrowed until the next call. */
size_t sn_log_scopes_of(struct sn_log_scopes *scopes, const struct sn_log_place *place,
                        const struct sn_log_scope *ret_scopes[SN_LOG_SCOPES_SHOWN]);

#endif
