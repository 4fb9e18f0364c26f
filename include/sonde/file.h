/** @file
 * Reading a saved .nettrace: what is in it.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_FILE_H
#define SONDE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** One kind of event in the file. Borrowed from the summary. */
struct sonde_event_kind {
    const char *provider;     /**< who sends it */
    const char *name;         /**< "" when nobody knows it */
    uint32_t id;              /**< its number within the provider */
    uint32_t version;         /**< of its declaration */
    uint64_t count;           /**< how many there are */
    uint64_t stack_count;     /**< of those, with a stack */
    uint64_t payload_bytes;   /**< of all of them together */
    uint64_t undecoded_count; /**< payloads that do not hold what their schema says */
};

/** A place that could not be read. */
struct sonde_damage {
    uint64_t offset;  /**< where it begins in the file */
    uint64_t bytes;   /**< passed over */
    const char *text; /**< what is wrong with it: one line, lower case */
};

/** Numbers of the whole file. */
struct sonde_file_totals {
    uint32_t format;          /**< 4 or 6 */
    uint32_t pid;             /**< as the target counted itself; 0 when there are many */
    uint32_t processor_count; /**< of the target's machine */
    uint64_t start_utc_ns;    /**< when the trace began, since 1970 */
    uint64_t duration_ns;     /**< first to last event */
    uint64_t byte_count;      /**< of the file */
    uint64_t event_count;     /**< in the file */
    uint64_t lost_count;      /**< the runtime dropped them: gaps in sequence numbers */
    uint64_t damage_count;    /**< places that could not be read */
    uint64_t unknown_count;   /**< events whose declaration was lost */
    bool is_cut;              /**< the file ends before the stream did */
};

/** What is in one file; opaque. */
struct sonde_summary;

/** Reads the whole file once, in bounded memory. A damaged or cut file gives all that is intact:
 * SONDE_OK, and the totals say what is missing. The caller frees it. */
int sonde_file_summarize(const char *path, struct sonde_summary **ret_summary,
                         struct sonde_error *err);

/** Frees a summary; NULL is fine. */
void sonde_summary_free(struct sonde_summary *summary);

/** Fills in the numbers of the whole file. */
void sonde_summary_totals(const struct sonde_summary *summary,
                          struct sonde_file_totals *ret_totals);

/** How many kinds of events there are. */
size_t sonde_summary_kind_count(const struct sonde_summary *summary);

/** Kind `index`, the most frequent first; NULL when there is none. */
const struct sonde_event_kind *sonde_summary_kind(const struct sonde_summary *summary,
                                                  size_t index);

/** How many places of damage are known; only the first 64 are kept. */
size_t sonde_summary_damage_count(const struct sonde_summary *summary);

/** Place `index` of damage, in the order of the file; NULL when there is none. */
const struct sonde_damage *sonde_summary_damage(const struct sonde_summary *summary, size_t index);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
