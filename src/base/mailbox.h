/* Work from other threads for the one that owns the mailbox: posted from anywhere, run there, in
 * order. The only way into another thread's state. Posting cannot fail: a task is memory of its
 * owner, who had it before there was anything to post.
 *
 * Who owns a task, by its states:
 *
 *          post, nudge, offer                 its turn has come
 *   free ----------------------> posted -----------------------> free, and run is called
 *    ^                              |
 *    +--- offer: the box is full    +--- nudge: stays, is run once for both
 *
 *   free    The owner's. It may be posted, into any mailbox, and its memory may go.
 *   posted  The mailbox's. Its memory must stay until it runs; sn_mailbox_post of it is a bug (an
 *           assert). Who may want it twice nudges.
 *
 * It is free before `run` is called, and the mailbox does not look at it again: `run` may free its
 * owner, or post the task anew, here or into the mailbox of the next thread. What changes before a
 * nudge is seen by a run after it: one that was posted already has not begun.
 *
 * At the end the owner of the thread turns the mailbox once more when the thread is gone, and then
 * frees it. Tasks that came even later are never run; they are not looked at again, as their owners
 * may be gone. */
#ifndef SN_MAILBOX_H
#define SN_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sonde/error.h"

struct sn_mailbox;

typedef void sn_mailbox_fn(void *user);

/* All zero is free. Nobody but the mailbox looks into it. */
struct sn_mailbox_task {
    struct sn_mailbox_task *next;
    sn_mailbox_fn *run;
    void *user;
    _Atomic bool is_posted;
};

/* `limit`: how many may wait before an offer is refused. */
int sn_mailbox_new(size_t limit, struct sn_mailbox **ret_mailbox, struct sonde_error *err);
void sn_mailbox_free(struct sn_mailbox *mailbox); /* NULL is fine */

/* From any thread. The task must be free. For what ends or goes on with something that was let in
 * before, which is what bounds them. */
void sn_mailbox_post(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                     void *user);

/* From any thread: the same unless it is posted already; then false. */
bool sn_mailbox_nudge(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user);

/* From any thread: for what is new. False: as many wait as may, and the task is free still. */
bool sn_mailbox_offer(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user);

bool sn_mailbox_is_full(struct sn_mailbox *mailbox); /* whether an offer would be refused now */
size_t sn_mailbox_count(struct sn_mailbox *mailbox); /* what waits; from any thread */

/* One thread, with a poll loop: wait until the descriptor is readable, then turn. What tasks post
 * themselves waits for the next turn. */
int sn_mailbox_fd(const struct sn_mailbox *mailbox);
void sn_mailbox_turn(struct sn_mailbox *mailbox);
void sn_mailbox_stir(struct sn_mailbox *mailbox); /* its descriptor becomes readable */

/* Or several threads, without one: each runs the next task, waiting for it. False: the mailbox is
 * closed, and nothing waits. */
bool sn_mailbox_run_next(struct sn_mailbox *mailbox);
void sn_mailbox_close(struct sn_mailbox *mailbox); /* nobody waits for more */
/* Whether a task that comes now has a thread that waits for it. */
bool sn_mailbox_is_awaited(struct sn_mailbox *mailbox);

#endif
