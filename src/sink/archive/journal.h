/* A recording being written: a directory NAME.sonde/ with trace.nettrace (version 6), system.json
 * and manifest.json, each readable at any moment; zipped into NAME.sonde.zip when it is complete.
 * docs/formats/archive.md. */
#ifndef SN_JOURNAL_H
#define SN_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_journal;
struct sn_sink;
struct sn_trace_info;
struct sonde_error;

/* Makes the directory; SONDE_E_BUSY when a recorder that lives writes there already. */
int sn_journal_new(const char *path, const struct sn_trace_info *info,
                   struct sn_journal **ret_journal, struct sonde_error *err);
/* Appends to a journal whose recorder is gone, behind its last whole block. */
int sn_journal_reopen(const char *path, struct sn_journal **ret_journal, struct sonde_error *err);
/* What is pending is written; the directory stays. */
void sn_journal_free(struct sn_journal *journal);

static inline void sn_journal_free_auto(struct sn_journal **slot)
{
    sn_journal_free(*slot);
}

/* The sink for a road, which owns the sink, not the journal: every event, in order. Schemas must
 * outlive the journal. */
struct sn_sink *sn_journal_sink(struct sn_journal *journal);
int sn_journal_event(struct sn_journal *journal, const struct sn_event *event,
                     struct sonde_error *err);

/* Makes what was written so far readable for others: called every second or so. */
int sn_journal_flush(struct sn_journal *journal, struct sonde_error *err);

/* Writes or replaces a small member ("manifest.json", "system.json", "cpu/1234.cpu"), whole. */
int sn_journal_put(struct sn_journal *journal, const char *member, const void *bytes, size_t size,
                   struct sonde_error *err);
/* Where a member that grows (a CPU record) may be written by others; into `to`. */
const char *sn_journal_path(const struct sn_journal *journal, const char *member, char *to,
                            size_t size);

/* Ends the stream. */
int sn_journal_finish(struct sn_journal *journal, struct sonde_error *err);
uint64_t sn_journal_bytes(const struct sn_journal *journal);

/* Packs the finished directory into `archive` a piece at a time: SONDE_AGAIN: more to do; SONDE_OK:
 * done, the directory is removed. The archive appears under its name only when it is whole. */
struct sn_packing;
int sn_packing_new(const char *journal_path, const char *archive, struct sn_packing **ret_packing,
                   struct sonde_error *err);
int sn_packing_turn(struct sn_packing *packing, uint64_t *ret_bytes, struct sonde_error *err);
void sn_packing_free(struct sn_packing *packing); /* not done: the journal is as it was */

static inline void sn_packing_free_auto(struct sn_packing **slot)
{
    sn_packing_free(*slot);
}

#endif
