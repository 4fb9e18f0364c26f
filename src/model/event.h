/* One event on the road. Every pointer in it is borrowed and dies when the callback returns. */
#ifndef SN_EVENT_H
#define SN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct sn_schema;

struct sn_event {
    const struct sn_schema *schema;
    uint64_t time_ns;           /* CLOCK_MONOTONIC of the machine that wrote it */
    uint32_t pid;               /* as the target counts it: in its own pid namespace */
    uint32_t cpu;               /* UINT32_MAX: not known (EventPipe never tells) */
    uint64_t thread_id;         /* the thread the event is about */
    uint64_t capture_thread_id; /* the thread that wrote it */
    uint32_t sequence;          /* per capture thread, wraps */
    uint8_t pointer_size;       /* 4 or 8 */
    bool is_sorted;             /* every event before this one is older (a hint of the stream) */
    bool is_timeless;           /* it tells what held before: it waits for no others */
    uint32_t payload_size;
    uint32_t stack_depth;
    const uint8_t *payload;
    const uint8_t *stack;    /* stack_depth * pointer_size bytes, unaligned, leaf first */
    uint64_t stack_key;      /* equal keys of one source: the same stack; 0: unknown or none */
    const uint8_t *activity; /* 16 bytes, or NULL for none */
    const uint8_t *related;  /* 16 bytes, or NULL for none */
};

#endif
