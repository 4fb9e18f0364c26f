/** @file
 * Timelines: what a saved trace says second by second, for those who look for the moment when
 * something went wrong.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_TIMELINE_H
#define SONDE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/profile.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** How to read a timeline. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_timeline_options {
    size_t size;              /**< sizeof(struct sonde_timeline_options) */
    uint64_t from_ns;         /**< since the beginning of the trace */
    uint64_t to_ns;           /**< likewise; 0, or beyond the end: until there */
    uint32_t bucket_count;    /**< 10 to 4000 parts of that time; 0: 600 */
    const char *process;      /**< of a recording: a pid or a pattern of names; NULL: all, and the
                                 busiest .NET process for what is about one */
    const char *process_name; /**< what to call the process of a trace of one; NULL: "" */
    const char *cpu_record;   /**< the CPU record; NULL: the trace's name with ".cpu" */
    const char *names;        /**< as in struct sonde_profile_options */
};

/** A timeline; opaque. For one thread at a time. */
struct sonde_timeline;

/** Reads a trace, twice over, in bounded memory. A damaged or cut one gives all that is intact, one
 * that still grows what there is so far. The caller frees it. SONDE_E_ARGUMENT: it ends before it
 * begins, or the number of buckets is not one of those above. */
int sonde_timeline_read(const char *path, const struct sonde_timeline_options *options,
                        struct sonde_timeline **ret_timeline, struct sonde_error *err);

/** Frees a timeline; NULL is fine. */
void sonde_timeline_free(struct sonde_timeline *timeline);

/** Writes it as JSON: docs/formats/timeline-json.md. */
int sonde_timeline_write(const struct sonde_timeline *timeline, sonde_write_fn *write, void *user,
                         struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
