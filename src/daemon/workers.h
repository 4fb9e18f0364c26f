/* Threads for what blocks or takes long: opening sessions, core dumps, converting files. A fixed
 * number at most, started when needed; none belongs to a target. */
#ifndef SN_WORKERS_H
#define SN_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mailbox.h"
#include "sonde/error.h"

struct sn_workers;

int sn_workers_new(unsigned thread_max, size_t waiting_max, struct sn_workers **ret_workers,
                   struct sonde_error *err);
void sn_workers_stop(struct sn_workers *workers); /* does what waits; takes nothing more */
void sn_workers_free(struct sn_workers *workers);

/* From any thread, by the rules of base/mailbox.h. False: as many wait as may, or it ends. */
bool sn_workers_offer(struct sn_workers *workers, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user);

size_t sn_workers_waiting_count(struct sn_workers *workers); /* from any thread */

#endif
