/** @file
 * Recording a machine: CPU samples with kernel, native and managed frames, switches and system
 * calls, together with the runtimes' events, into one archive.
 *
 * A recorder is driven by its owner: wait until sonde_recorder_fd is readable or
 * sonde_recorder_wait_ms has passed, then call sonde_recorder_turn; until sonde_recorder_is_done.
 * One thread.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_RECORD_H
#define SONDE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/provider.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** How CPU time is found out, best first. */
enum sonde_record_way {
    SONDE_RECORD_BEST = 0, /**< the best that is permitted and does no harm */
    SONDE_RECORD_MACHINE,  /**< machine-wide perf events: needs root, CAP_PERFMON or a low
                              perf_event_paranoid */
    SONDE_RECORD_THREADS,  /**< perf events of each thread of one's own processes: no kernel frames,
                              dearer for the target */
    SONDE_RECORD_RUNTIME /**< the runtime's own sampler, weighed by the kernel's CPU times: managed
                            frames only */
};

/** What to record and where to. Set `size` to sizeof; zero the rest for the defaults. Everything is
 * borrowed until the start returns. */
struct sonde_record_options {
    size_t size; /**< sizeof(struct sonde_record_options) */
    const char
        *output; /**< the archive: NAME.sonde.zip; its journal is NAME.sonde/ while it records */
    int way;     /**< enum sonde_record_way */
    const uint32_t
        *pids;        /**< these processes and what they start; with no scope at all: everything */
    size_t pid_count; /**< how many */
    const char *const *names; /**< processes of these names (* patterns), those to come included */
    size_t name_count;        /**< how many */
    const char *cgroup;       /**< processes of this cgroup */
    char *const *command;     /**< a program to start and record, ended by NULL; or NULL */
    uint32_t frequency;       /**< CPU samples a second and CPU; 0: 999 */
    bool no_cpu;              /**< no CPU samples */
    bool with_switches;       /**< off-CPU time with stacks, run-queue time */
    bool with_syscalls;       /**< system calls with stacks and durations */
    const char *const *tracepoints; /**< kernel tracepoints by name: "sched:sched_process_exec" */
    size_t tracepoint_count;        /**< how many */
    const struct sonde_provider
        *providers;        /**< what to ask every runtime in scope for, besides names */
    size_t provider_count; /**< how many; 0: names only */
    bool no_runtimes;      /**< leave the runtimes alone: no names of managed code */
    bool perf_map;     /**< let runtimes write /tmp/perf-PID.map as well: names of their stubs */
    bool with_lines;   /**< source lines of native code, where its debug information is at hand */
    bool keep_journal; /**< do not zip at the end: the directory is the result */
    bool keep_command_lines; /**< do not redact what looks like a secret */
};

/** What a recorder is doing. */
enum sonde_record_stage {
    SONDE_RECORD_RECORDING = 0, /**< events come in */
    SONDE_RECORD_STOPPING,      /**< the runtimes' last events come in */
    SONDE_RECORD_NAMING,        /**< addresses get their names */
    SONDE_RECORD_PACKING,       /**< the archive is written */
    SONDE_RECORD_DONE           /**< there it is */
};

/** Numbers of a recording, so far. Texts are borrowed until the next turn. */
struct sonde_record_stats {
    int stage;              /**< enum sonde_record_stage */
    int way;                /**< enum sonde_record_way: the one that was taken */
    const char *way_note;   /**< one line: why not a better one, what it lacks, what would help; ""
                               for the best */
    const char *note;       /**< what was asked for and could not be had; "" for nothing */
    const char *sampler;    /**< "cpu-clock", "cycles", "runtime", or "" */
    const char *output;     /**< the archive, or the journal while it records */
    uint64_t duration_ns;   /**< recording, until now or until its end */
    uint64_t finish_ns;     /**< from the stop to the finished archive */
    uint64_t sample_count;  /**< CPU samples */
    uint64_t switch_count;  /**< context switches with stacks */
    uint64_t syscall_count; /**< system calls */
    uint64_t tracepoint_count;  /**< events of other tracepoints */
    uint64_t event_count;       /**< events of runtimes */
    uint64_t kernel_lost_count; /**< records that the kernel had no room for */
    uint64_t event_lost_count;  /**< events that runtimes had no room for */
    uint64_t throttled_ns;      /**< time in which the kernel refused to sample */
    uint32_t process_count;     /**< seen in scope */
    uint32_t runtime_count;     /**< .NET processes whose names and events are in */
    uint32_t silent_count;   /**< .NET processes in scope that could not be asked; note says why */
    uint64_t byte_count;     /**< written to the journal */
    uint64_t archive_bytes;  /**< of the finished archive */
    uint64_t named_count;    /**< distinct addresses that got a name */
    uint64_t unnamed_count;  /**< that are module and offset, or unknown */
    uint64_t own_cpu_ns;     /**< what the recorder itself ran */
    uint64_t clock_error_ns; /**< the largest disagreement seen between a runtime's clock and the
                                kernel's */
};

/** A recording; opaque. */
struct sonde_recorder;

/** Starts recording. The caller frees it. */
int sonde_recorder_new(const struct sonde_record_options *options,
                       struct sonde_recorder **ret_recorder, struct sonde_error *err);

/** Frees it; a recording that is not done leaves its journal, which is readable. NULL is fine. */
void sonde_recorder_free(struct sonde_recorder *recorder);

/** A descriptor that is readable when there is something to do; for poll(2) and the like. */
int sonde_recorder_fd(const struct sonde_recorder *recorder);

/** How long to wait at most, in milliseconds, as poll(2) wants it; -1: for ever. */
int sonde_recorder_wait_ms(const struct sonde_recorder *recorder);

/** Does what there is to do, without waiting. A negative status: the recording is broken (disk
 * full); its journal stays. */
int sonde_recorder_turn(struct sonde_recorder *recorder, struct sonde_error *err);

/** Ends the recording; keep turning until done. A second call does not wait for runtimes any more.
 */
void sonde_recorder_stop(struct sonde_recorder *recorder);

/** Whether the archive is complete and closed. */
bool sonde_recorder_is_done(const struct sonde_recorder *recorder);

/** Fills in the numbers. */
void sonde_recorder_stats(const struct sonde_recorder *recorder,
                          struct sonde_record_stats *ret_stats);

/** The exit status of the started program, as waitpid gives it; -1: it still runs, or there is
 * none. */
int sonde_recorder_command_status(const struct sonde_recorder *recorder);

/** Makes an archive of a journal that its recorder left behind (killed, out of power): names what
 * it still can, zips. */
int sonde_journal_finish(const char *journal, const char *output, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
