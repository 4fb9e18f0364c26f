/* Reading a saved .nettrace: what is in it. */
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

/* One kind of event in the file. Borrowed from the summary; later versions add fields at the end.
 */
struct sonde_event_kind {
    const char *provider;
    const char *name; /* "" when nobody knows it */
    uint32_t id;
    uint32_t version;
    uint64_t count;
    uint64_t stack_count; /* of those, with a stack */
    uint64_t payload_bytes;
    uint64_t undecoded_count; /* payloads that do not hold what their schema says */
};

/* A place that could not be read. */
struct sonde_damage {
    uint64_t offset;
    uint64_t bytes; /* passed over */
    const char *text;
};

/* Numbers of the whole file. */
struct sonde_file_totals {
    uint32_t format; /* 4 or 6 */
    uint32_t pid;
    uint32_t processor_count;
    uint64_t start_utc_ns;
    uint64_t duration_ns; /* first to last event */
    uint64_t byte_count;
    uint64_t event_count;
    uint64_t lost_count;    /* the runtime dropped them: gaps in sequence numbers */
    uint64_t damage_count;  /* places that could not be read */
    uint64_t unknown_count; /* events whose declaration was lost */
    bool is_cut;            /* the file ends before the stream did */
};

struct sonde_summary;

/* Reads the whole file once, in bounded memory. A damaged or cut file gives all that is intact:
 * SONDE_OK, and the totals say what is missing. The caller frees it. */
int sonde_file_summarize(const char *path, struct sonde_summary **ret_summary,
                         struct sonde_error *err);
void sonde_summary_free(struct sonde_summary *summary); /* NULL is fine */

void sonde_summary_totals(const struct sonde_summary *summary,
                          struct sonde_file_totals *ret_totals);

/* Kinds of events, most frequent first. */
size_t sonde_summary_kind_count(const struct sonde_summary *summary);
const struct sonde_event_kind *sonde_summary_kind(const struct sonde_summary *summary,
                                                  size_t index);

/* The first places of damage, in order; at most 64 are kept. */
size_t sonde_summary_damage_count(const struct sonde_summary *summary);
const struct sonde_damage *sonde_summary_damage(const struct sonde_summary *summary, size_t index);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
