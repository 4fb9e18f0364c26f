/* The thread that owns the store: takes points in batches from the roads thread, keeps recordings,
 * answers questions about what was. A disk that is slow or full delays nobody else: batches that
 * find no room are dropped and counted. */
#ifndef SN_STORE_DESK_H
#define SN_STORE_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mailbox.h"
#include "sink/store/store.h"
#include "sonde/error.h"

struct sn_daemon;
struct sn_store_desk;

int sn_store_desk_new(struct sn_daemon *daemon, struct sn_store_desk **ret_desk,
                      struct sonde_error *err);
void sn_store_desk_free(struct sn_store_desk *desk);

/* From any thread, by the rules of base/mailbox.h: changes of what was let in, and who waits for
 * them; what is new, and is refused when too much waits or nothing is kept. */
void sn_store_desk_post(struct sn_store_desk *desk, struct sn_mailbox_task *task,
                        sn_mailbox_fn *handle, void *user);
bool sn_store_desk_offer(struct sn_store_desk *desk, struct sn_mailbox_task *task,
                         sn_mailbox_fn *handle, void *user);
bool sn_store_desk_is_full(struct sn_store_desk *desk); /* an offer would be refused now */

/* Asked in its thread; but where its files are (sn_store_files) may be asked from any. */
struct sn_store *sn_store_desk_store(struct sn_store_desk *desk);

/* In its thread: what could not be read, as the store could not be opened, is tried once more when
 * it can. One at a time. */
void sn_store_desk_when_open(struct sn_store_desk *desk, sn_mailbox_fn *handle, void *user);

/* In its thread: points that were put until now are in the store when it is asked. */
void sn_store_desk_catch_up(struct sn_store_desk *desk);

/* From any thread: how it stood a moment ago. */
void sn_store_desk_health(struct sn_store_desk *desk, struct sn_store_health *ret_health);

/* Likewise what is in it, of half a minute ago at most. True: its limits were changed since the
 * start. */
bool sn_store_desk_numbers(struct sn_store_desk *desk, struct sn_store_numbers *ret_numbers);

/* In its thread: other limits, until the controller ends; 0: as it is. */
void sn_store_desk_limit(struct sn_store_desk *desk, uint64_t bytes_max, uint64_t age_max_ns);

/* From the roads thread: one point of a process, taken over within a second. One whose time cannot
 * be, by our clock, gets the time at which it came, and is counted. NULL is fine. */
void sn_store_desk_point(struct sn_store_desk *desk, const struct sonde_process *process,
                         const struct sonde_point *point);

#endif
