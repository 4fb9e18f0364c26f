/* Work from other threads for the one that owns the mailbox: posted from anywhere, run there, in
 * order. Readable descriptor, bounded. The only way into another thread's state. */
#ifndef SN_MAILBOX_H
#define SN_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "sonde/error.h"

struct sn_mailbox;

typedef void sn_task_fn(void *user);

int sn_mailbox_new(size_t limit, struct sn_mailbox **ret_mailbox, struct sonde_error *err);
void sn_mailbox_free(struct sn_mailbox *mailbox); /* what was not run is forgotten */

/* From any thread. False: full, nothing was taken. */
bool sn_mailbox_post(struct sn_mailbox *mailbox, sn_task_fn *run, void *user);

/* The same, never refused: that something has ended, or is no longer wanted. Only for what was let
 * in before, which is what bounds them. */
void sn_mailbox_post_sure(struct sn_mailbox *mailbox, sn_task_fn *run, void *user);

bool sn_mailbox_is_full(struct sn_mailbox *mailbox); /* whether a post would be refused now */
size_t sn_mailbox_count(struct sn_mailbox *mailbox); /* what waits; from any thread */

/* From the owner: readable while there is something; runs what there is. */
int sn_mailbox_fd(const struct sn_mailbox *mailbox);
void sn_mailbox_turn(struct sn_mailbox *mailbox);

#endif
