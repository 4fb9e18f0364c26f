/** @file
 * What runs and what waits on this machine, live: processes, and the methods of one, over the last
 * seconds.
 *
 * Driven by its owner: wait until sonde_top_fd is readable or sonde_top_wait_ms has passed, then
 * call sonde_top_turn; ask for snapshots in between, as often as they are shown. One thread.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_TOP_H
#define SONDE_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** What to look at. Set `size` to sizeof; zero the rest for the defaults. Borrowed until
 * sonde_top_new returns. */
struct sonde_top_options {
    size_t size;              /**< sizeof(struct sonde_top_options) */
    int way;                  /**< enum sonde_record_way of sonde/record.h */
    const uint32_t *pids;     /**< these processes and what they start; no scope: everything */
    size_t pid_count;         /**< how many */
    const char *const *names; /**< processes of these names (* patterns), those to come included */
    size_t name_count;        /**< how many */
    const char *cgroup;       /**< processes of this cgroup, or NULL */
    uint32_t frequency;       /**< CPU samples a second and CPU; 0: 249 */
    uint64_t window_ns;       /**< numbers are over this time; 0: 5 seconds */
    bool no_waits;            /**< only what runs; cheaper on machines that switch often */
    bool no_runtimes;         /**< leave the runtimes alone: no names of managed code */
    uint64_t baseline_ns; /**< before anything is asked, the CPU of the .NET processes is measured
                             for this long, and sonde_top_new waits; 0: no cost is known */
};

/** What looking costs the .NET processes that are looked at: their CPU by the kernel's clocks,
 * before and since. Percentages are of one CPU. */
struct sonde_top_cost {
    uint32_t process_count; /**< of those processes; 0: none, or none is measured */
    bool is_measured;       /**< there was time enough on both sides */
    bool is_known;          /**< their load did not move by itself as much as that */
    double percent;         /**< since, less before */
    double before_percent;  /**< before */
    double since_percent;   /**< since */
    char name[80];          /**< of the one process, or "these 3 processes" */
};

/** How the view comes about, and its numbers. Texts are borrowed until the next turn. */
struct sonde_top_state {
    int way;                /**< enum sonde_record_way: the one that was taken */
    const char *way_note;   /**< why not a better one, what it lacks, what would help; "" for the
                               best */
    const char *note;       /**< what was asked for and could not be had; "" for nothing */
    uint64_t window_ns;     /**< what the numbers below are over: less at first */
    uint64_t sample_count;  /**< CPU samples since the start */
    uint64_t lost_count;    /**< records and events that were lost since the start */
    uint64_t own_cpu_ns;    /**< what this process ran since the start */
    double cpu_percent;     /**< all that is seen, of one CPU */
    uint32_t cpu_count;     /**< CPUs of this machine */
    uint32_t process_count; /**< that ran or waited */
};

/** A process that ran, or ended a wait. Percentages are of one CPU: 200 is two of them. */
struct sonde_top_process {
    uint32_t pid;          /**< as this machine counts it */
    uint32_t thread_count; /**< threads it has; 0: it has ended */
    bool is_dotnet;        /**< a .NET runtime is in it */
    double cpu_percent;    /**< ran */
    double ready_percent;  /**< could have run and had no CPU; summed over its threads */
    double wait_percent;   /**< waited for something else, in waits that have ended; likewise */
    const char *name;      /**< its name */
    const char *runtime;   /**< version, or "" */
    const char *command;   /**< command line; from the process: escape it for where it goes */
};

/** What a method does. */
enum sonde_top_doing {
    SONDE_TOP_RUNNING = 0, /**< on a CPU */
    SONDE_TOP_WAITING      /**< off it, for something else than a CPU */
};

/** What code it is. */
enum sonde_top_code {
    SONDE_TOP_UNKNOWN = 0, /**< nobody knows */
    SONDE_TOP_MANAGED,     /**< a method of .NET */
    SONDE_TOP_RUNTIME,     /**< made by the runtime for itself */
    SONDE_TOP_NATIVE,      /**< C and the like */
    SONDE_TOP_KERNEL       /**< Linux */
};

/** A method, or a function, of a process. Percentages are of one CPU, or of one thread when it
 * waits. */
struct sonde_top_method {
    int code;             /**< enum sonde_top_code */
    double self_percent;  /**< in it; waiting: it is the innermost one that somebody wrote */
    double total_percent; /**< in it and what it called */
    const char *name;     /**< readable; "libc.so.6!0x8a3b0" where there is none */
    const char *module;   /**< assembly or file; "" when not known */
};

/** A live view; opaque. */
struct sonde_top;

/** Starts looking. The caller frees it. */
int sonde_top_new(const struct sonde_top_options *options, struct sonde_top **ret_top,
                  struct sonde_error *err);

/** Ends it; NULL is fine. */
void sonde_top_free(struct sonde_top *top);

/** A descriptor that is readable when there is something to do; for poll(2) and the like. */
int sonde_top_fd(const struct sonde_top *top);

/** How long to wait at most, in milliseconds, as poll(2) wants it; -1: for ever. */
int sonde_top_wait_ms(const struct sonde_top *top);

/** Does what there is to do, without waiting. */
int sonde_top_turn(struct sonde_top *top, struct sonde_error *err);

/** How the view comes about. */
void sonde_top_state(const struct sonde_top *top, struct sonde_top_state *ret_state);

/** What it costs those that are looked at. */
void sonde_top_cost(const struct sonde_top *top, struct sonde_top_cost *ret_cost);

/** The processes of the last seconds, what ran most first; *ret_count of them. Borrowed until the
 * next call. SONDE_E_NOMEM. */
int sonde_top_processes(struct sonde_top *top, const struct sonde_top_process **ret_processes,
                        size_t *ret_count, struct sonde_error *err);

/** The methods of one of them (0: of all), the most expensive itself first; `doing` is enum
 * sonde_top_doing. Borrowed until the next call. SONDE_E_NOMEM. */
int sonde_top_methods(struct sonde_top *top, uint32_t pid, int doing,
                      const struct sonde_top_method **ret_methods, size_t *ret_count,
                      struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
