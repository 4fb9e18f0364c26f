/* How a process fares as the kernel tells it, without asking the process: its CPU time, memory,
 * descriptors and I/O from /proc, and what its control groups allow, use and hold back. */
#ifndef SN_PROC_VITALS_H
#define SN_PROC_VITALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_error;
struct sn_vitals_reader;

/* Tasks that waited for a resource instead of working: some of them, or all at once. */
struct sn_pressure {
    double some_avg10; /* share of the last ten seconds, 0 to 1 */
    double full_avg10;
    double some_s; /* seconds, ever */
    double full_s;
};

enum { SN_PRESSURE_CPU, SN_PRESSURE_MEMORY, SN_PRESSURE_IO, SN_PRESSURE_COUNT };

/* One poll, in seconds, bytes and counts; counts run since the start of the process or the making
 * of the group. What is not known is NAN: no limit, no such file in this kernel, no right to read
 * (I/O of another user's process), not in a group of its own. */
struct sn_vitals {
    uint64_t time_ns; /* CLOCK_MONOTONIC */

    /* Of the process. */
    double up_s;
    double cpu_s;    /* user and system, to the nanosecond */
    double user_s;   /* to the kernel's tick, mostly 10 ms */
    double system_s; /* the same */
    double thread_count;
    double fd_count;
    double fd_limit;
    double rss_bytes;
    double swap_bytes;
    double virtual_bytes;
    double minor_faults;
    double major_faults;
    double voluntary_switches;   /* NAN unless asked for */
    double involuntary_switches; /* the same */
    double read_bytes;           /* by read(2) and its kin: files, pipes, sockets, terminals */
    double written_bytes;
    double disk_read_bytes; /* what of it a disk had to bring */
    double disk_written_bytes;

    /* Of its control groups; NAN in the root group, which is the machine. A limit is the tightest
     * of the group and those above it; what is measured against it is measured where it is set. */
    double group_memory_bytes;       /* the page cache included */
    double group_working_set_bytes;  /* without what of the page cache is not in use */
    double group_memory_limit;       /* bytes */
    double group_memory_utilization; /* of the limit, 0 to 1 */
    double group_memory_high_count;  /* slowed down over memory.high */
    double group_memory_max_count;   /* came to the limit */
    double group_oom_count;          /* and nothing could be freed */
    double group_oom_kill_count;     /* and a process was killed */
    double group_cpu_s;              /* used by all of the group */
    double group_cpu_limit;          /* CPUs */
    double group_periods;            /* in which it ran, and had a limit */
    double group_throttled_periods;  /* in which it was stopped as it had used its share up */
    double group_throttled_s;        /* for how long, all CPUs together */
    double group_pid_count;          /* threads, in fact */
    double group_pid_limit;          /* the same */
    struct sn_pressure group_pressure[SN_PRESSURE_COUNT];   /* NAN where the groups do not tell */
    struct sn_pressure machine_pressure[SN_PRESSURE_COUNT]; /* only then: of the whole machine */
};

/* Follows one process. `root` is "" but for tests: it stands before /proc and /sys. Context
 * switches cost a read a thread at every poll; all else is about a dozen small reads.
 * SONDE_E_NOT_FOUND when it is not there or hidden (hidepid=2), SONDE_E_DENIED when even its stat
 * is (hidepid=1), SONDE_E_NOMEM. */
int sn_vitals_new(const char *root, uint32_t pid, bool with_switches,
                  struct sn_vitals_reader **ret_reader, struct sonde_error *err);
void sn_vitals_free(struct sn_vitals_reader *reader);

/* SONDE_OK, or SONDE_E_GONE when the process is: another one of the same pid is never taken for
 * it. Limits and the groups themselves, which hardly change, are read at every tenth poll. */
int sn_vitals_poll(struct sn_vitals_reader *reader, struct sn_vitals *ret_vitals,
                   struct sonde_error *err);

enum sn_vital_kind {
    SN_VITAL_GAUGE, /* `value` holds now */
    SN_VITAL_RATE,  /* `value` was added since the poll before, `rate` is that a second */
    SN_VITAL_USAGE /* a gauge as well: how much of a counted time passed in a second of real time */
};

/* One number by its name. */
struct sn_vital {
    const char *provider; /* "process", "cgroup", "machine" */
    const char *name;     /* as OpenTelemetry names it, where it does */
    const char *tag;      /* "cpu.mode=user", or "" */
    const char *unit;     /* "By", "s", "{thread}", "1" */
    const char *description;
    enum sn_vital_kind kind;
    size_t offset; /* of its double in struct sn_vitals */
};

struct sn_vital_value {
    double value;
    double rate;  /* NAN of gauges and usages */
    double total; /* the same; else the count as it stands */
};

/* Every number there is; *ret_count of them, sorted by provider, name and tag. */
const struct sn_vital *sn_vitals_table(size_t *ret_count);

/* What it was at `now`, or from `before` (may be NULL: the first poll) to `now`. False when it is
 * not known: gauges need one poll, the others two, and counts that fell began anew. */
bool sn_vital_measure(const struct sn_vital *vital, const struct sn_vitals *before,
                      const struct sn_vitals *now, struct sn_vital_value *ret_value);

#endif
