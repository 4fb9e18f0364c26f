/* When the threads of processes had to stand still for a collection, from the runtime's events; and
 * which of the times that a thread was off the CPU, and on it, that explains. One thread; events in
 * order of time. */
#ifndef SN_SUSPENSIONS_H
#define SN_SUSPENSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_suspension_report;

#define SN_SUSPENSIONS_KEPT 64u

struct sn_suspension {
    uint32_t pid;
    uint64_t thread_id; /* who asked for it, and collects */
    uint64_t start_ns;
    uint64_t end_ns; /* 0: it lasts */
    uint32_t reason; /* index of by_reason */
    uint64_t thread_ns;
};

struct sn_suspensions {
    struct sn_suspension_report *report;            /* borrows */
    struct sn_suspension list[SN_SUSPENSIONS_KEPT]; /* a ring: the oldest make room */
    size_t next;
};

/* One of the runtime's: SuspendEEBegin, GCStart, RestartEEEnd. */
void sn_suspensions_take(struct sn_suspensions *suspensions, const struct sn_event *event);

/* A thread was off the CPU until the event. True, and counted: it stood still for a collection. */
bool sn_suspensions_off(struct sn_suspensions *suspensions, const struct sn_event *event,
                        uint64_t off_ns);

/* A sample of a thread: whether it collects. */
bool sn_suspensions_is_collecting(const struct sn_suspensions *suspensions,
                                  const struct sn_event *event);

#endif
