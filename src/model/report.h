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
#include "model/kernel_report.h"
#include "model/profile.h"

struct sn_timeline;
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
uint64_t sn_series_percentile(const struct sn_series *series, double percent);

/* --- GC --- */

#define SN_GENERATIONS   5u /* 0, 1, 2, large objects, pinned objects */
#define SN_NO_GENERATION UINT8_MAX

struct sn_collection {
    uint32_t number;
    uint8_t generation;
    uint8_t reason; /* sn_clr_gc_reason names it */
    uint8_t type;   /* sn_clr_gc_type: 0 blocking, 1 background, 2 foreground during background */
    bool is_ended;
    bool is_compacting;
    uint64_t start_ns;
    uint64_t duration_ns; /* start to end; a background one runs beside the program */
    uint64_t pause_ns;    /* the part in which the program stood still; pauses shared with another
                             collection are split where the later one starts */
    uint64_t pause_start_ns;   /* of its first pause; 0: none was seen */
    uint64_t heap_after_bytes; /* all generations; 0: not told */
    uint64_t promoted_bytes;
};

struct sn_gc_report {
    uint64_t event_count;              /* suspensions by the sampler are not among them */
    struct sn_collection *collections; /* owns; in order of time */
    size_t count;
    size_t capacity;
    uint64_t dropped_count; /* over the ceiling; they are in the sums */
    uint64_t total_count;   /* with the dropped ones */
    uint64_t ended_count;
    uint64_t compacting_count;
    uint64_t by_generation[3];
    uint64_t pause_by_generation[3];
    uint64_t by_reason[32]; /* the last one: that and above */
    uint64_t by_type[4];
    struct sn_series pauses;    /* each time the program was stopped for a collection */
    uint64_t pause_ns;          /* all of those */
    uint64_t unshared_pause_ns; /* of those, where no collection was seen to run */
    uint8_t longest_generation; /* what ran in the longest; SN_NO_GENERATION: not told */
    uint64_t other_pause_count; /* for other reasons; the sampler's are not among them */
    uint64_t other_pause_ns;
    uint64_t suspend_ns; /* of the pauses, until the last thread stood */
    uint64_t heap_max_bytes;
    uint64_t heap_first_bytes; /* after the first collection that tells, and after the last */
    uint64_t heap_last_bytes;
    uint64_t heap_span_ns; /* between the two */
    bool is_heap_growing;  /* what collections leave alive grew all the time, not only in between */
    uint64_t last_generation_bytes[SN_GENERATIONS]; /* after the last collection */
    uint64_t promoted_bytes;
    uint64_t finalized_count;
    uint64_t pinned_max;
};

/* --- exceptions, allocations, contention: a profile each, the type as the leaf --- */

struct sn_exception_kind {
    const char *type;      /* as the event has it */
    const char *name;      /* for people, and of the profile's leaf */
    const char *message;   /* of the first one */
    uint32_t frame;        /* the leaf of the profile; SN_NO_INDEX: none */
    uint64_t count;        /* thrown, again ones not among them */
    uint64_t caught_count; /* a catch block was seen to begin */
    uint64_t cost_ns;      /* throw to catch, of those */
    uint64_t max_cost_ns;
    uint64_t nested_count;   /* of the thrown: while another was on its way or being handled */
    uint64_t rethrown_count; /* times that a catch block passed it on with `throw;` */
};

struct sn_exception_report {
    uint64_t event_count;
    uint64_t thrown_count;
    uint64_t caught_count;
    uint64_t cost_ns;
    uint64_t nested_count;
    uint64_t rethrown_count;
    uint64_t unmatched_count; /* catch blocks whose exception was not seen */
    bool has_catches;         /* false: the trace does not tell of catch blocks, nor of cost */
    struct sn_series costs;
    struct sn_exception_kind *kinds; /* owns; dearest first */
    size_t count;
    size_t capacity;
    struct sn_profile *profile; /* owns; columns count, time */
};

struct sn_allocation_kind {
    const char *type; /* as the event has it */
    const char *name; /* for people, and of the profile's leaf */
    uint32_t frame;   /* the leaf of the profile; SN_NO_INDEX: none */
    uint64_t sample_count;
    uint64_t bytes;       /* estimated */
    uint64_t large_count; /* of the samples, on the large object heap */
    uint64_t large_bytes;
};

struct sn_allocation_report {
    uint64_t event_count;
    bool is_sampled;        /* AllocationSampled (.NET 10) and not ticks */
    uint64_t sample_count;  /* of the sort that is used */
    uint64_t ignored_count; /* of the other sort: both would count the same bytes twice */
    uint64_t bytes;         /* estimated, of all */
    uint64_t large_count;
    uint64_t large_bytes;
    uint64_t pinned_count;
    uint64_t pinned_bytes;
    struct sn_allocation_kind *kinds; /* owns; most bytes first */
    size_t count;
    size_t capacity;
    struct sn_profile *profile; /* owns; columns bytes, count */
};

/* A thread that still waited for a lock when the trace ended. */
struct sn_open_wait {
    uint64_t thread_id;
    const char *thread_name; /* the kernel's, or "" */
    uint64_t owner_id;       /* the thread that held the lock when the wait began; 0: not told */
    const char *owner_name;
    uint64_t ns;        /* until the end of the trace */
    uint32_t node;      /* of the profile */
    bool is_deadlocked; /* its owner waits for it in turn, or for one that does */
};

struct sn_contention_report {
    uint64_t event_count;
    uint64_t count;                  /* waits for locks of managed code, open ones among them */
    uint64_t unmatched_count;        /* began or ended only, and no time is known */
    uint64_t wait_ns;                /* an open one counts until the end of the trace */
    struct sn_open_wait *open_waits; /* owns; deadlocked ones first, then the longest */
    size_t open_count;
    uint64_t open_ns;
    uint64_t longest_open_ns;
    uint64_t deadlocked_count; /* of the open ones */
    uint64_t native_count;     /* waits for locks of the runtime itself, that ended */
    uint64_t native_ns;
    struct sn_series waits;
    struct sn_profile *profile; /* owns; columns time, count */
};

/* --- JIT and tiering --- */

#define SN_TIERS 9u /* sn_clr_tier_name; 8: precompiled */

/* All overloads and versions of what goes by one type and name. */
struct sn_jit_method {
    const char *name;   /* for people */
    const char *type;   /* as the event has them; "" when only the id was told and nobody knew it */
    const char *method; /* then: "method 0x7f..." */
    uint64_t count;     /* how often it was compiled */
    uint64_t timed_count;
    uint64_t time_ns;
    uint64_t max_time_ns;
    uint64_t il_bytes; /* of the timed ones */
    uint64_t native_bytes;
};

struct sn_jit_report {
    uint64_t event_count;
    uint64_t by_tier[SN_TIERS]; /* methods loaded meanwhile */
    uint64_t time_by_tier[SN_TIERS];
    uint64_t native_by_tier[SN_TIERS];
    uint64_t jitted_count; /* of the loaded, those that were compiled */
    uint64_t timed_count;  /* of those, with a start */
    uint64_t open_count;   /* started, and no end seen */
    uint64_t time_ns;
    uint64_t background_time_ns; /* of that, in batches of tier-1 compilation */
    struct sn_series times;
    uint64_t il_bytes;
    uint64_t native_bytes;
    uint64_t background_count; /* batches that ended */
    uint64_t background_ns;
    uint64_t paused_count; /* tiering put off because new methods kept coming */
    uint64_t paused_ns;    /* of those that ended */
    uint64_t r2r_lookup_count;
    struct sn_jit_method *methods; /* owns; dearest first */
    size_t count;
    size_t capacity;
    uint64_t dropped_count; /* compilations of methods over the ceiling; they are in the sums */
};

/* --- thread pool --- */

#define SN_POOL_REASONS    16u
#define SN_POOL_STARVATION 6u
#define SN_POOL_LATE_NS    100000000u /* a wait that people notice */

struct sn_pool_adjustment {
    uint64_t time_ns;
    uint32_t worker_count; /* that there shall be */
    uint8_t reason;        /* sn_clr_pool_reason */
    double throughput;     /* work items a second */
};

struct sn_pool_report {
    uint64_t event_count;
    struct sn_pool_adjustment *adjustments; /* owns; in order of time */
    size_t count;
    size_t capacity;
    uint64_t dropped_count; /* over the ceiling; they are in by_reason */
    uint64_t by_reason[SN_POOL_REASONS];
    uint64_t starved_from_ns; /* first and last adjustment for starvation */
    uint64_t starved_until_ns;
    bool has_workers;    /* counts of workers were told */
    uint32_t worker_min; /* active workers as told */
    uint32_t worker_max;
    uint32_t working_max; /* workers with work, as told; 0: not told */
    uint32_t limit_min; /* what the program set with SetMinThreads and SetMaxThreads; 0: not told */
    uint32_t limit_max;
    uint64_t worker_start_count;
    uint64_t worker_stop_count;
    uint64_t worker_wait_count; /* a worker ran out of work */
    uint64_t enqueue_count;
    uint64_t dequeue_count;
    uint64_t io_enqueue_count;
    uint64_t io_dequeue_count;
    uint64_t waiting_count;       /* queued and not begun at the end */
    struct sn_series queue_waits; /* enqueue to dequeue, where the two can be told to belong */
    uint64_t late_ns;             /* while one of those waited SN_POOL_LATE_NS or more */
    uint64_t late_begun_count;    /* items that began meanwhile */
};

/* --- requests --- */

#define SN_STATUS_CLASSES 6u

struct sn_route {
    const char *method;  /* "GET"; "" when not told */
    const char *pattern; /* "/orders/{n}": numbers and ids of the path made one */
    const char *host;    /* outgoing ones; NULL for those served */
    bool is_rest;        /* all that came when there were too many patterns */
    uint8_t source;      /* enum sn_request_source */
    uint64_t count;      /* begun */
    uint64_t done_count;
    uint64_t open_count;      /* begun and not ended */
    uint64_t oldest_ns;       /* age of the oldest of those at the end */
    uint64_t failed_count;    /* status 500 and above, not handled, or failed to send */
    uint64_t exception_count; /* thrown while it ran, in its own flow */
    uint64_t by_status[SN_STATUS_CLASSES]; /* done, by hundreds of the status; 0: not told */
    struct sn_series times;
};

/* Who told of a request; the best one that is there counts, for each direction. */
enum sn_request_source {
    SN_REQUEST_HOSTING,
    SN_REQUEST_KESTREL,
    SN_REQUEST_BRIDGE, /* DiagnosticSource */
    SN_REQUEST_CLIENT,
    SN_REQUEST_CLIENT_BRIDGE,
    SN_REQUEST_SOURCES,
};

struct sn_request_report {
    uint64_t event_count;
    struct sn_route *routes; /* owns; most time first */
    size_t count;
    size_t capacity;
    uint64_t open_count;      /* begun and not ended, all routes */
    uint64_t unmatched_count; /* ended, begin not seen */
    uint64_t by_thread_count; /* without activity id: matched by thread, which async code breaks */
    uint64_t exception_count; /* thrown in the flow of a request that was served */
    struct sn_series times;   /* of all served */
    struct sn_series sent_times; /* of all outgoing */
};

/* --- tasks --- */

struct sn_task_kind {
    const char *name;      /* "Shop.Orders.PlaceAsync" or "Task.Delay" */
    const char *operation; /* as the event has it: "Async: <PlaceAsync>d__3" */
    bool is_async;         /* an async method */
    bool is_framework;     /* not the reader's own, as far as is known */
    bool is_rest;          /* all that came when there were too many names */
    uint64_t count;
    uint64_t done_count;
    uint64_t failed_count;
    uint64_t cancelled_count;
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
    uint64_t waiting_count;       /* scheduled and not started at the end */
    uint64_t running_count;       /* started and not completed at the end */
    struct sn_series queue_waits; /* scheduled to started */
    struct sn_series runs;        /* started to completed */
    uint64_t await_count;
    uint64_t sync_wait_count; /* a thread blocked on a task */
    uint64_t blocked_count;   /* threads that had not come back from one at the end */
    uint64_t blocked_ns;      /* the longest of them */
    struct sn_series sync_waits;
    uint64_t operation_count; /* async methods and the like, all kinds */
    uint64_t open_count;
    uint64_t unmatched_count;   /* ended, begin not seen */
    struct sn_task_kind *kinds; /* owns; most time first */
    size_t count;
    size_t capacity;
};

/* --- the file --- */

struct sn_event_kind {
    const char *provider;
    const char *name; /* "" when nobody knows it */
    uint32_t id;
    uint32_t version;
    uint64_t count;
    uint64_t stack_count;
    uint64_t payload_bytes;
    uint64_t undecoded_count;
};

struct sn_file_damage {
    uint64_t offset;
    uint64_t bytes;
    const char *text;
};

/* What is in the file and what is missing from it. Arrays are borrowed from whoever read it. */
struct sn_file_facts {
    const char *path;
    uint32_t format; /* 4 or 6 */
    uint32_t pid;
    uint32_t processor_count;
    uint64_t start_utc_ns;
    uint64_t duration_ns; /* first to last event, rundown included */
    uint64_t byte_count;
    uint64_t event_count;
    uint64_t lost_count;
    uint64_t damage_count;
    uint64_t unknown_count;
    bool is_cut;
    const struct sn_event_kind *kinds; /* most frequent first */
    size_t kind_count;
    const struct sn_file_damage *damages; /* the first of them */
    size_t kept_damage_count;
};

/* --- all of it --- */

/* Whether CPU times can be told, and why not. */
enum sn_cpu_truth {
    SN_CPU_NO_RECORD,  /* there is no record beside the trace: wall time only */
    SN_CPU_KNOWN,      /* samples are weighed by the kernel's CPU time */
    SN_CPU_BAD_RECORD, /* it does not fit the trace or cannot be read; `cpu_note` says why */
    SN_CPU_NO_SAMPLES,
    SN_CPU_SAMPLED, /* the kernel took the samples: each stands for CPU time */
};

struct sn_thread_time {
    uint64_t thread_id;
    uint32_t pid;
    const char *name;
    const char *process; /* "" unless there are many */
    uint64_t cpu_ns;     /* by the kernel, sampled or not */
    uint64_t wall_ns;    /* sampled */
    uint64_t sample_count;
};

struct sn_report {
    struct sn_arena arena;
    bool is_part;          /* only from part_from_ns to part_to_ns of it was read */
    uint64_t part_from_ns; /* since its beginning */
    uint64_t part_to_ns;
    uint64_t first_ns;    /* of the first event that is not rundown */
    uint64_t duration_ns; /* until the last such event */

    enum sn_cpu_truth cpu_truth;
    const char *cpu_note;
    struct sn_profile *samples;     /* owns; columns cpu, wall, wait, samples; NULL: no sampler */
    struct sn_profile *thread_time; /* owns; column wall; NULL unless asked for */
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

    struct sn_timeline *timeline; /* owns; NULL unless asked for */

    struct sn_machine_report machine;
    struct sn_off_cpu_report off_cpu;
    struct sn_run_queue_report run_queue;
    struct sn_syscall_report syscalls;
    struct sn_suspension_report suspension;
};

/* Whether CPU times are told. */
static inline bool sn_report_has_cpu(const struct sn_report *report)
{
    return report->cpu_truth == SN_CPU_KNOWN || report->cpu_truth == SN_CPU_SAMPLED;
}

int sn_report_new(struct sn_report **ret_report, struct sonde_error *err);
void sn_report_free(struct sn_report *report);

/* Once all is in: from then on many may read it at once. */
void sn_report_settle(struct sn_report *report);

static inline void sn_report_free_auto(struct sn_report **slot)
{
    sn_report_free(*slot);
}

#endif
