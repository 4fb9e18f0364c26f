/* The last exceptions that were thrown in each process: a consumer of the runtime's events for
 * every process in sight, a few exceptions of each, with the addresses of their stacks; names are
 * looked up when somebody asks. All of it in the roads thread. */
#ifndef SN_EXCEPTION_HISTORY_H
#define SN_EXCEPTION_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sonde/error.h"
#include "sonde/stacks.h"

struct sn_daemon;
struct sn_exception_history;

struct sn_exception {
    uint64_t id; /* in the order of their coming, from 1 on; of each process */
    uint64_t utc_ns;
    uint64_t thread_id; /* as the target counts it */
    uint64_t inner_id;  /* of the exception that was being handled when this one was thrown with an
                           inner one: 0 when there is none, or it cannot be told */
    bool has_inner;
    const char *type;    /* "System.InvalidOperationException" */
    const char *message; /* as it is: whoever shows it below the secrets scope redacts it */
    const struct sonde_stack_frame *frames; /* the innermost first */
    size_t frame_count;
};

/* Exceptions of one process at one moment, the oldest first. Any thread, once it is there. */
struct sn_exception_shot {
    uint32_t pid;
    struct sn_exception *items; /* in the arena, as everything else */
    size_t count;
    struct sn_arena arena;
};

void sn_exception_shot_free(struct sn_exception_shot *shot); /* NULL is fine */

/* From whoever has started the roads: begins in their thread, unless exceptions are switched off.
 */
int sn_exception_history_start(struct sn_daemon *daemon, struct sonde_error *err);

/* --- in the roads thread --- */

/* `keep`: how many of each process; 0: 20. Begins at once. */
int sn_exception_history_new(struct sn_daemon *daemon, unsigned keep,
                             struct sn_exception_history **ret_history, struct sonde_error *err);
void sn_exception_history_free(struct sn_exception_history *history); /* before the hub */

/* Takes the shot; NULL: no memory, or it all ends. */
typedef void sn_exception_fn(void *user, struct sn_exception_shot *shot);

/* Tells `done` what there is, with names, as soon as these are known: at once or some tenths of a
 * second later. SONDE_E_NOT_FOUND: no such process is listened to. */
int sn_exception_history_ask(struct sn_exception_history *history, uint32_t pid,
                             sn_exception_fn *done, void *user, struct sonde_error *err);
/* Whoever asked with this `user` is told no more. */
void sn_exception_history_forget(struct sn_exception_history *history, void *user);

#endif
