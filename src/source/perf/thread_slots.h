/* What is kept of each thread while it is in the middle of something: one slot a thread, with the
 * stack it was seen with. Bounded in threads and in bytes of stacks. One thread. */
#ifndef SN_THREAD_SLOTS_H
#define SN_THREAD_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

/* Frames: the kernel gives 127 unless told to, and callers that leaves had lost may join them. */
#define SN_THREAD_STACK_MAX 160u

/* The first member of every slot; the rest is its owner's, zero when new. */
struct sn_thread_slot {
    uint32_t pid;
    uint32_t tid;  /* 0: a free slot */
    uint32_t next; /* free slots: index + 1 of the next one */
    uint16_t depth;
    uint16_t capacity; /* frames; kept for the next thread when this one ends */
    uint64_t *frames;  /* owns */
};

struct sn_thread_slots {
    struct sn_table by_tid; /* index + 1 */
    uint8_t *slots;         /* owns */
    size_t slot_size;
    size_t count;
    size_t capacity;
    uint32_t first_free; /* index + 1 */
    size_t stack_bytes;
    uint64_t refused; /* threads and stacks that found no room */
};

struct sn_thread_slots sn_thread_slots_of(size_t slot_size);
void sn_thread_slots_done(struct sn_thread_slots *slots);

/* The thread's slot, or NULL. Slots move with the next sn_thread_slots_get. */
void *sn_thread_slots_find(const struct sn_thread_slots *slots, uint32_t tid);

/* The same, made when there is none; NULL for thread 0 (the idle CPU), for those outside our pid
 * namespace, and when there is no room. */
void *sn_thread_slots_get(struct sn_thread_slots *slots, uint32_t pid, uint32_t tid);

/* The thread has ended. */
void sn_thread_slots_drop(struct sn_thread_slots *slots, uint32_t tid);

/* The slot at *place or the first one behind it that is used; NULL behind the last. Moves *place
 * on.
 */
void *sn_thread_slots_next(const struct sn_thread_slots *slots, size_t *place);

/* Keeps a stack with the slot (a depth of 0 when there is no room), in place of the one before. */
void sn_thread_slots_keep(struct sn_thread_slots *slots, struct sn_thread_slot *slot,
                          const uint64_t *frames, size_t depth);

#endif
