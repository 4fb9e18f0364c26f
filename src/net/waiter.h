/* Waiting that can be ended from another thread: every wait of a sender's thread goes through here,
 * so that freeing the sender takes no longer than its grace. */
#ifndef SN_WAITER_H
#define SN_WAITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sonde/error.h"

struct sn_waiter {
    int end_fd;              /* readable once an end is set */
    int stop_fd;             /* no wait goes on while it is readable; -1: none; borrows */
    _Atomic uint64_t end_ns; /* no wait goes beyond; UINT64_MAX: none set */
};

int sn_waiter_init(struct sn_waiter *waiter, struct sonde_error *err);
void sn_waiter_done(struct sn_waiter *waiter);

/* From any thread: whatever waits, waits at most until then. */
void sn_waiter_end_at(struct sn_waiter *waiter, uint64_t end_ns);

bool sn_waiter_is_ending(const struct sn_waiter *waiter); /* an end is set */
bool sn_waiter_is_over(const struct sn_waiter *waiter);   /* and has come */

/* Until one of the poll(2) events holds for `fd` (-1: only time passes) or the deadline has passed:
 * SONDE_E_TIMEOUT, which has no text as its caller knows what it waited for; also for `stop_fd`. */
int sn_waiter_wait(struct sn_waiter *waiter, int fd, short events, uint64_t deadline_ns);

#endif
