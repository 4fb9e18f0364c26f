/* What a machine-wide recording says besides the runtime's topics: processes, time off the CPU,
 * waits for a CPU, system calls, threads stopped for collections. Parts of struct sn_report; names
 * are owned by its arena, all times are nanoseconds. */
#ifndef SN_KERNEL_REPORT_H
#define SN_KERNEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_profile;

/* --- processes --- */

/* A process; native ones of one name are one entry. */
struct sn_process_time {
    const char *name;
    const char *kind;      /* ".NET 10.0.1", "NativeAOT", "native" */
    const char *container; /* "" for none */
    const char *command;   /* redacted; "" when not told */
    uint32_t pid;          /* 0: several */
    uint32_t count;        /* how many processes */
    uint32_t thread_count; /* seen running or waiting */
    bool is_dotnet;
    bool is_chosen; /* the runtime's topics are about this one */
    uint64_t cpu_ns;
    uint64_t kernel_ns; /* of that, in the kernel */
    uint64_t off_ns;    /* of its threads, while they were off the CPU */
    uint64_t run_queue_ns;
    uint64_t sample_count;
};

struct sn_machine_report {
    bool is_machine; /* the file is a recording of processes, not a trace of one runtime */
    struct sn_process_time *processes; /* owns; most CPU first */
    size_t count;
    size_t known_count;         /* process ids that it tells of and the report is about, ... */
    size_t ran_count;           /* ... and of those, those that were seen to run */
    bool has_manifest;          /* which tells whose losses are whose */
    uint64_t kernel_lost_count; /* records that the kernel had no room for */
    bool has_lost_much;         /* of all there was: sums are too small */
    uint64_t cpu_ns;
    uint64_t kernel_ns;         /* of that, in the kernel */
    uint64_t idle_sample_count; /* of CPUs without work; in no sum */
    uint64_t interval_ns;       /* one sample stands for so much */
    uint64_t throttled_ns;      /* no samples were taken */
    uint32_t chosen_pid;        /* of the runtime's topics; 0: none is .NET */
    const char *chosen_name;
    uint32_t dotnet_count;   /* processes with a runtime whose events are here */
    bool is_runtime_sampler; /* stacks come from the runtime's sampler, of the chosen process */
};

/* --- off the CPU --- */

enum sn_wait_reason {
    SN_WAIT_LOCK,
    SN_WAIT_SLEEP,
    SN_WAIT_POLL, /* sockets, epoll, select */
    SN_WAIT_DISK,
    SN_WAIT_PIPE,
    SN_WAIT_CHILD,     /* another process, a signal */
    SN_WAIT_IDLE,      /* a worker without work */
    SN_WAIT_GC,        /* stopped for a collection */
    SN_WAIT_PREEMPTED, /* could have run on */
    SN_WAIT_OTHER,
    SN_WAIT_REASONS,
};

const char *sn_wait_reason_name(enum sn_wait_reason reason);

struct sn_wait_sum {
    uint64_t count;
    uint64_t ns;
    uint64_t max_ns;
};

struct sn_thread_wait {
    uint64_t thread_id;
    uint32_t pid;
    const char *name;
    const char *process;
    uint64_t count;
    uint64_t off_ns;
    uint64_t run_queue_ns;
    uint64_t run_queue_max_ns;
    uint64_t by_reason[SN_WAIT_REASONS];
};

struct sn_off_cpu_report {
    uint64_t event_count;
    uint64_t ns;
    struct sn_wait_sum by_reason[SN_WAIT_REASONS];
    struct sn_thread_wait *threads; /* owns; longest waiting first, not counting want of work */
    size_t thread_count;
    struct sn_profile *profile; /* owns; columns time, count; the reason as the leaf */
};

/* --- waiting for a CPU --- */

#define SN_RUN_QUEUE_BUCKETS 24u /* the first below 2 us, each twice as far */

struct sn_run_queue_report {
    uint64_t event_count; /* waits */
    uint64_t ns;
    uint64_t max_ns;
    uint64_t buckets[SN_RUN_QUEUE_BUCKETS];
};

/* --- system calls --- */

struct sn_syscall_kind {
    const char *name;
    uint32_t number;
    uint32_t frame; /* leaf of the profile; SN_NO_INDEX: none */
    uint64_t count;
    uint64_t ns;
    uint64_t max_ns;
    uint64_t error_count;
};

struct sn_syscall_report {
    uint64_t event_count;
    uint64_t ns;
    uint64_t error_count;
    struct sn_syscall_kind *kinds; /* owns; most time first */
    size_t count;
    size_t capacity;
    struct sn_profile *profile; /* owns; columns time, count; the call as the leaf, no kernel */
};

/* --- stopped for collections --- */

#define SN_STOP_REASONS 32u

struct sn_stop_sum {
    const char *name; /* NULL: none for that */
    uint64_t count;
    uint64_t ns;        /* threads had to stand still */
    uint64_t thread_ns; /* what of it threads stood, all together */
};

struct sn_suspension_report {
    uint64_t event_count; /* times that threads had to stand still */
    uint64_t ns;
    uint64_t max_ns;
    uint64_t thread_ns;
    uint64_t gc_cpu_ns; /* CPU time of the threads that collected */
    bool has_threads;   /* thread_ns is told: there are context switches */
    struct sn_stop_sum by_reason[SN_STOP_REASONS];
};

#endif
