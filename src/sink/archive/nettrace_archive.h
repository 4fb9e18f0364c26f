/* One .nettrace file being written from events: the re-encoded kind, complete in itself. */
#ifndef SN_NETTRACE_ARCHIVE_H
#define SN_NETTRACE_ARCHIVE_H

#include <stdint.h>

struct sn_event;
struct sn_nettrace_archive;
struct sn_trace_info;
struct sonde_error;

/* Creates `path`, an existing file is replaced. `version` is 4 or 6. */
int sn_nettrace_archive_open(const char *path, uint32_t version, const struct sn_trace_info *info,
                             struct sn_nettrace_archive **ret_archive, struct sonde_error *err);

/* The same, but a link at `path` is replaced, not followed. */
int sn_nettrace_archive_open_anew(const char *path, uint32_t version,
                                  const struct sn_trace_info *info,
                                  struct sn_nettrace_archive **ret_archive,
                                  struct sonde_error *err);

/* Closes the file; without a finish before, it is cut but readable. */
void sn_nettrace_archive_free(struct sn_nettrace_archive *archive);

/* An event as it comes from a road; lost events become gaps that other readers see too. Its schema
 * must outlive the archive. */
int sn_nettrace_archive_event(struct sn_nettrace_archive *archive, const struct sn_event *event,
                              struct sonde_error *err);

/* An event that is not wanted in the file: no gap is left where it was. */
int sn_nettrace_archive_skip(struct sn_nettrace_archive *archive, const struct sn_event *event);

int sn_nettrace_archive_finish(struct sn_nettrace_archive *archive, struct sonde_error *err);
uint64_t sn_nettrace_archive_bytes(const struct sn_nettrace_archive *archive);

#endif
