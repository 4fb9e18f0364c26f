/* The kernel source from inside: what its parts share. kernel.c puts them together. */
#ifndef SN_KERNEL_SOURCE_H
#define SN_KERNEL_SOURCE_H

#include "base/err.h"
#include "base/loop.h"
#include "base/table.h"
#include "flow/source.h"
#include "source/perf/kernel.h"
#include "source/perf/kernel_events.h"
#include "source/perf/outlet.h"
#include "source/perf/rings.h"
#include "source/perf/stacks.h"
#include "source/perf/tasks.h"

/* Kinds of events in the rings. */
enum sn_kernel_kind {
    SN_KIND_OWNER = SN_RINGS_OWNER_KIND,
    SN_KIND_CPU,
    SN_KIND_OTHER, /* and all above: source/perf/kernel_events.h */
};

/* Rung THREADS: whom we listen to. Closing an event closes what threads inherited of it, so it
 * stays until the last of them has ended. */
struct sn_own_threads {
    struct sn_table roots;  /* by thread: the number of the events it has, or inherited */
    struct sn_table living; /* by that number: how many have them */
    uint32_t last_root;
    bool is_unsure; /* records were lost: who inherited what is not known any more */
    uint64_t closed_ns;
};

struct sn_kernel {
    struct sn_source source;
    struct sn_kernel_options options; /* `scope` and `tracepoints` are copied elsewhere */
    int cgroup_fd;                    /* -1: none */
    struct sn_timer timer;
    uint64_t started_ns;
    struct sn_outlet outlet;
    struct sn_rings rings;
    struct sn_tasks *tasks;
    struct sn_kernel_events *events;
    struct sn_stack stack;  /* the one being made */
    uint64_t damaged_count; /* told so far */
    bool has_lost;          /* since the last drain: /proc is to be looked through again */
    uint64_t scanned_ns;    /* when it was */
    uint64_t *throttled_ns; /* for each ring: since when; 0: it is not */
    bool is_closed_scope;   /* nobody joins it but children */
    struct sn_own_threads own;
    unsigned refused_count;     /* processes that could not be listened to */
    uint32_t refused_pid;       /* the last */
    struct sonde_error refused; /* and why */
    char note[1024];
    struct sn_kernel_state state;
};

/* Adds a line of what was asked for and is not to be had to the source's note. */
void sn_kernel_note(struct sn_kernel *kernel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens what samples the CPUs (or one thread, if `tid` is not 0). */
int sn_cpu_samples_open(struct sn_kernel *kernel, uint32_t tid, struct sonde_error *err);
void sn_cpu_samples_take(struct sn_kernel *kernel, const struct sn_perf_record *record);

/* An sn_tasks_admit_fn: opens events for all threads of the process. */
bool sn_own_threads_admit(void *user, uint32_t pid);

void sn_own_threads_init(struct sn_own_threads *own);
void sn_own_threads_done(struct sn_own_threads *own);

/* A thread began or ended. */
void sn_own_threads_take(struct sn_own_threads *own, const struct sn_perf_record *record);

/* Records were lost: nothing is closed from now on; threads that are gone are forgotten. */
void sn_own_threads_doubt(struct sn_own_threads *own);

/* Closes, now and then, the events of those that ended well before `time_ns`. */
void sn_own_threads_close_ended(struct sn_kernel *kernel, uint64_t time_ns);

/* Why a process was refused, for people. */
int sn_own_threads_refused(const struct sn_kernel *kernel, struct sonde_error *err);

#endif
