/* The CPU record beside a trace, read: which thread ran for how long between two looks. Layout:
 * docs/formats/cpu-record.md. */
#ifndef SN_CPU_SLICES_H
#define SN_CPU_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"

struct sonde_error;

/* A thread ran for ran_ns between look - 1 and look. */
struct sn_cpu_slice_entry {
    uint32_t look;
    uint64_t ran_ns;
};

struct sn_cpu_thread {
    uint64_t thread_id;
    const char *name;
    struct sn_cpu_slice_entry *slices; /* owns; in order of looks */
    size_t count;
    size_t capacity;
    uint64_t ran_ns; /* the sum */
};

struct sn_cpu_slices {
    struct sn_arena arena;
    uint32_t pid;
    uint64_t *looks; /* owns; times, rising */
    uint64_t *ended; /* owns; what threads ran that had ended by then, one a look */
    size_t look_count;
    size_t look_capacity;
    size_t ended_capacity;
    struct sn_cpu_thread *threads; /* owns */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id;  /* thread id -> index + 1 */
    uint64_t skipped_count; /* lines that could not be used */
    bool is_cut;            /* the last line has no end */
};

/* Reads text, whole. SONDE_E_FORMAT when it is no such record, SONDE_E_UNSUPPORTED for another
 * version; a line that cannot be used is counted and passed over. */
int sn_cpu_slices_read(const char *text, size_t size, struct sn_cpu_slices **ret_slices,
                       struct sonde_error *err);
void sn_cpu_slices_free(struct sn_cpu_slices *slices);

static inline void sn_cpu_slices_free_auto(struct sn_cpu_slices **slot)
{
    sn_cpu_slices_free(*slot);
}

/* The thread, or NULL. */
const struct sn_cpu_thread *sn_cpu_slices_thread(const struct sn_cpu_slices *slices,
                                                 uint64_t thread_id);

/* Leaves what was between two times, as if the record had begun and ended there. What a thread ran
 * in an interval that is cut through is shared out by time. */
void sn_cpu_slices_cut(struct sn_cpu_slices *slices, uint64_t from_ns, uint64_t to_ns);

/* The look that ends the interval in which `time_ns` lies: 1 to look_count - 1; 0: before the
 * first, look_count: after the last. */
size_t sn_cpu_slices_look(const struct sn_cpu_slices *slices, uint64_t time_ns);

#endif
