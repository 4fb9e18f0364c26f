/* One ring a CPU, and the events that write into them. Records come out merged by time.
 *
 * A ring belongs to an event that counts nothing and tells of processes, threads and mappings; all
 * others are led into the ring of their CPU. Each event has a kind: a small number of the caller's,
 * with the layout of its records. One thread.
 *
 * The more of the user's stack an event carries the better, until it comes so often that its ring
 * overflows. So it may be opened twice; on a CPU whose ring fills up the one with less of the stack
 * takes over for a while. */
#ifndef SN_RINGS_H
#define SN_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "base/loop.h"
#include "base/table.h"
#include "format/perf_record.h"
#include "source/perf/ring.h"

struct sonde_error;

#define SN_RINGS_KIND_MAX 256u

/* The kind of the event that owns each ring. */
#define SN_RINGS_OWNER_KIND 0u

struct sn_cpu_ring {
    struct sn_ring ring;
    struct sn_watch watch; /* of the owner's descriptor, which it holds */
    uint32_t cpu;
    const uint8_t *next; /* the record that is its turn, or NULL */
    size_t next_size;
    uint64_t next_id;
    uint64_t next_time_ns;
    bool is_short;        /* its events carry little of the stack at the moment */
    uint64_t turned_ns;   /* when that was turned on or off; 0: never */
    uint64_t short_ns;    /* how long it was on, up to then */
    uint64_t patience_ns; /* how long it stays on */
};

/* An event on one CPU. */
struct sn_rings_open {
    int fd;
    uint32_t owner;  /* of the event; see there */
    uint32_t ring;   /* index in `cpus` */
    uint8_t variant; /* rings.c */
};

/* Whose events: all processes of the machine, those of a cgroup, or threads that are named one by
 * one (then the owners tell nothing). */
struct sn_rings_options {
    bool is_machine_wide;
    int cgroup_fd;      /* borrows; -1: none */
    bool with_switches; /* the owners tell of switches too */
    uint32_t kb;        /* a ring */
};

struct sn_rings_event {
    struct perf_event_attr attr; /* SN_PERF_COMMON, clock and wake-ups are filled in */
    unsigned kind;
    uint32_t tid;         /* of the thread, unless they are the machine's or a cgroup's */
    uint32_t owner;       /* a number of the caller's, to close it by; 0: it stays */
    const char *filter;   /* of a tracepoint; may be NULL */
    bool is_everybodys;   /* of the whole machine, although the others are a cgroup's */
    uint32_t short_stack; /* bytes of the stack when a ring fills up; 0: always as in `attr` */
};

struct sn_rings {
    struct sn_rings_options options;
    struct sn_cpu_ring *cpus;
    size_t cpu_count;
    struct sn_cpu_ring **heap; /* those with a record, the oldest first */
    size_t heap_count;
    struct sn_rings_open *open; /* all events but the owners */
    size_t open_count;
    size_t open_capacity;
    struct sn_table kinds; /* an event's id to its kind */
    struct sn_perf_layout layouts[SN_RINGS_KIND_MAX];
    bool is_enabled;
    bool has_short;         /* some event has a variant with less of the stack */
    uint64_t damaged_count; /* records that could not be read */
};

int sn_rings_open(struct sn_rings *rings, const struct sn_rings_options *options,
                  struct sonde_error *err);
void sn_rings_close(struct sn_rings *rings); /* accepts what was zeroed or half opened */

/* Makes an event tell of processes, threads and mappings as well: of threads that are named one by
 * one nobody else does. */
void sn_rings_track(struct perf_event_attr *attr);

/* Opens an event on every CPU, or on none. After sn_rings_enable it begins at once. */
int sn_rings_add(struct sn_rings *rings, const struct sn_rings_event *event,
                 struct sonde_error *err);

/* Closes the events whose owners are not among `owners` any more. Nothing of them may be in the
 * rings still: it would count as damaged. */
void sn_rings_close_others(struct sn_rings *rings, const struct sn_table *owners);

/* Begins, and ends for good, all that was added. */
void sn_rings_enable(struct sn_rings *rings);
void sn_rings_disable(struct sn_rings *rings);

typedef void sn_rings_fn(void *user, unsigned kind, const struct sn_perf_record *record);

/* Hands out, oldest first, what is not younger than `until_ns`. Samples of events that are not
 * known are counted as damaged. */
void sn_rings_drain(struct sn_rings *rings, uint64_t until_ns, sn_rings_fn *take, void *user);

/* For how long, by `now_ns`, events carried little of the stack; of all CPUs together. */
uint64_t sn_rings_short_ns(const struct sn_rings *rings, uint64_t now_ns);

/* How many records could not be read so far. */
uint64_t sn_rings_damaged(const struct sn_rings *rings);

#endif
