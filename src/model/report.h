/* What a trace says, by topic: the results of the aggregating sinks, and what every view of a
 * report (text, JSON, HTML) reads. Names are owned by the report's arena; all times are
 * nanoseconds.
 *
 * A topic without events has `event_count` 0 and is not shown. */
#ifndef SN_REPORT_H
#define SN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/profile.h"

struct sonde_error;

/* A growing list of durations (or any numbers): percentiles come from a sorted copy, so they are
 * exact up to SN_SERIES_MAX values; beyond it every second value is kept, then every fourth... */
#define SN_SERIES_MAX (1u << 18)

struct sn_series {
    uint64_t *values; /* owns */
    size_t count;     /* kept */
    size_t capacity;
    uint64_t stride; /* one in so many is kept */
    uint64_t seen_count;
    uint64_t sum;
    uint64_t max;
    bool is_sorted;
};

void sn_series_done(struct sn_series *series);
void sn_series_add(struct sn_series *series, uint64_t value);

/* Nearest rank: the smallest value that `percent` of all do not exceed; 0 when there are none.
 * Sorts at the first call. */
uint64_t sn_series_percentile(struct sn_series *series, double percent);

/* --- GC --- */

#define SN_GENERATIONS 5u /* 0, 1, 2, large objects, pinned objects */

struct sn_collection {
    uint32_t number;
    uint8_t generation;
    uint8_t reason; /* sn_clr_gc_reason names it */
    uint8_t type;   /* 0 blocking, 1 background, 2 foreground during background */
    bool is_ended;
    uint64_t start_ns;
    uint64_t duration_ns; /* start to end; a background one runs beside the program */
    uint64_t pause_ns;    /* the part in which the program stood still */
    uint64_t pause_start_ns;
    uint64_t heap_after_bytes; /* all generations; 0: not told */
    uint64_t promoted_bytes;
};

struct sn_gc_report {
    uint64_t event_count;
    struct sn_collection *collections; /* owns; in order of time */
    size_t count;
    size_t capacity;
    uint64_t dropped_count; /* over the ceiling; they are in the sums */
    uint64_t by_generation[3];
    uint64_t pause_by_generation[3];
    uint64_t by_reason[32];
    uint64_t by_type[4];
    struct sn_series pauses; /* of collections only */
    uint64_t pause_ns;       /* all suspensions for collections */
    uint64_t
        other_pause_count; /* suspensions for other reasons; the sampler's are not among them */
    uint64_t other_pause_ns;
    uint64_t suspend_ns; /* of the pauses, until the last thread stood */
    uint64_t heap_max_bytes;
    uint64_t last_generation_bytes[SN_GENERATIONS]; /* after the last collection */
    uint64_t finalized_count;
    uint64_t pinned_max;
};

/* --- exceptions, allocations, contention: a profile each, the type as the leaf --- */

struct sn_exception_kind {
    const char *type;
    const char *message; /* of the first one */
    uint64_t count;
    uint64_t caught_count; /* a catch block was seen to begin */
    uint64_t cost_ns;      /* throw to catch, of those */
    uint64_t max_cost_ns;
    uint64_t nested_count; /* thrown while another was on its way, or again */
};

struct sn_exception_report {
    uint64_t event_count;
    struct sn_exception_kind *kinds; /* owns; dearest first */
    size_t count;
    size_t capacity;
    struct sn_profile *profile; /* owns; columns count, time */
};

struct sn_allocation_kind {
    const char *type;
    uint64_t sample_count;
    uint64_t bytes; /* estimated */
    uint64_t large_count;
};

struct sn_allocation_report {
    uint64_t event_count;
    bool is_sampled;                  /* AllocationSampled (.NET 10) and not ticks */
    uint64_t bytes;                   /* estimated, of all */
    struct sn_allocation_kind *kinds; /* owns; most bytes first */
    size_t count;
    size_t capacity;
    struct sn_profile *profile; /* owns; columns bytes, count */
};

struct sn_contention_report {
    uint64_t event_count;
    uint64_t count;      /* waits that ended */
    uint64_t open_count; /* still waiting at the end */
    uint64_t wait_ns;
    struct sn_series waits;
    struct sn_profile *profile; /* owns; columns time, count */
};

/* --- JIT and tiering --- */

#define SN_TIERS 9u /* sn_clr_tier_name; 8: precompiled */

struct sn_jit_method {
    const char *name;
    uint64_t count; /* how often it was compiled */
    uint64_t time_ns;
    uint64_t il_bytes;
    uint64_t native_bytes;
};

struct sn_jit_report {
    uint64_t event_count;
    uint64_t by_tier[SN_TIERS]; /* methods loaded meanwhile */
    uint64_t jitted_count;
    uint64_t timed_count; /* of those, with a start */
    uint64_t time_ns;
    uint64_t native_bytes;
    uint64_t background_count; /* batches of tier-1 compilation */
    uint64_t background_ns;
    uint64_t paused_count; /* tiering put off because new methods kept coming */
    uint64_t r2r_lookup_count;
    struct sn_jit_method *methods; /* owns; dearest first */
    size_t count;
    size_t capacity;
};

/* --- thread pool --- */

struct sn_pool_adjustment {
    uint64_t time_ns;
    uint32_t worker_count;
    uint8_t reason; /* sn_clr_pool_reason */
    double throughput;
};

struct sn_pool_report {
    uint64_t event_count;
    struct sn_pool_adjustment *adjustments; /* owns; in order of time */
    size_t count;
    size_t capacity;
    uint64_t by_reason[16];
    uint32_t worker_min; /* active workers as told */
    uint32_t worker_max;
    uint64_t worker_start_count;
    uint64_t worker_stop_count;
    uint64_t enqueue_count;
    uint64_t dequeue_count;
    struct sn_series queue_waits; /* enqueue to dequeue, where both are told */
};

/* --- requests --- */

struct sn_route {
    const char *method;  /* "GET" */
    const char *pattern; /* "/orders/{n}": numbers and ids of the path made one */
    const char *host;    /* outgoing ones; NULL for those served */
    uint64_t count;      /* begun */
    uint64_t done_count;
    uint64_t failed_count;    /* status 500 and above, an exception, or failed to send */
    uint64_t exception_count; /* thrown while it ran, in its own flow */
    struct sn_series times;
};

struct sn_request_report {
    uint64_t event_count;
    struct sn_route *routes; /* owns; most time first */
    size_t count;
    size_t capacity;
    uint64_t open_count;      /* begun and not ended */
    uint64_t unmatched_count; /* ended, begin not seen */
    bool by_thread;           /* no activity ids: matched by thread, which async code breaks */
};

/* --- tasks --- */

struct sn_task_kind {
    const char *name; /* "Async: Shop.Orders.PlaceAsync" or "Task.Delay" */
    uint64_t count;
    uint64_t done_count;
    uint64_t failed_count;
    uint64_t open_count; /* begun and not ended */
    uint64_t oldest_ns;  /* age of the oldest open one at the end */
    struct sn_series times;
};

struct sn_task_report {
    uint64_t event_count;
    uint64_t scheduled_count;
    uint64_t started_count;
    uint64_t completed_count;
    uint64_t failed_count;
    struct sn_series queue_waits; /* scheduled to started */
    struct sn_series runs;        /* started to completed */
    uint64_t sync_wait_count;     /* a thread blocked on a task */
    struct sn_series sync_waits;
    struct sn_task_kind *kinds; /* owns; most time first */
    size_t count;
    size_t capacity;
};

/* --- all of it --- */

/* Whether CPU times can be told, and why not. */
enum sn_cpu_truth {
    SN_CPU_KNOWN,      /* samples are weighed by the kernel's CPU time */
    SN_CPU_NO_RECORD,  /* there is no record beside the trace: wall time only */
    SN_CPU_BAD_RECORD, /* it does not fit the trace or cannot be read; `cpu_note` says why */
    SN_CPU_NO_SAMPLES,
};

struct sn_thread_time {
    uint64_t thread_id;
    const char *name;
    uint64_t cpu_ns;  /* by the kernel, sampled or not */
    uint64_t wall_ns; /* sampled */
    uint64_t sample_count;
};

struct sn_report {
    struct sn_arena arena;
    uint64_t first_ns;    /* of the first event that is not rundown */
    uint64_t duration_ns; /* until the last such event */

    enum sn_cpu_truth cpu_truth;
    const char *cpu_note;
    struct sn_profile *samples;     /* owns; columns cpu, wall, wait, samples; NULL: no sampler */
    uint64_t cpu_ns;                /* of the whole process while traced */
    uint64_t tracing_cpu_ns;        /* of that, in the runtime's tracing threads */
    uint64_t unseen_cpu_ns;         /* of that, where the sampler does not look; in the profile as
                                       SN_FRAME_RUNTIME */
    struct sn_thread_time *threads; /* owns; most CPU (or samples) first */
    size_t thread_count;

    struct sn_gc_report gc;
    struct sn_exception_report exceptions;
    struct sn_allocation_report allocations;
    struct sn_contention_report contention;
    struct sn_jit_report jit;
    struct sn_pool_report pool;
    struct sn_request_report requests;
    struct sn_task_report tasks;
};

int sn_report_new(struct sn_report **ret_report, struct sonde_error *err);
void sn_report_free(struct sn_report *report);

static inline void sn_report_free_auto(struct sn_report **slot)
{
    sn_report_free(*slot);
}

#endif
