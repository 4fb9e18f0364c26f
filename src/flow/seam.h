/* Joins two streams of one process where the second takes over from the first: every event once.
 *
 * Each stream stamps an event itself, so that no time parts them cleanly. But a thread writes an
 * event to both before it goes on to its next: by the writing thread and time the two copies stand
 * side by side, always in the same order. What the first stream says goes on at once and is
 * remembered; what the second says is held until the first has ended and the second has come as
 * far, and then released unless its copy is remembered (docs/adr/0019-cut-over-by-neighbours.md).
 * One thread. */
#ifndef SN_SEAM_H
#define SN_SEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_seam;
struct sonde_error;

typedef void sn_seam_fn(void *user, const struct sn_event *event);

/* Before `begin_ns` there was no second stream. */
int sn_seam_new(uint64_t begin_ns, struct sn_seam **ret_seam, struct sonde_error *err);
void sn_seam_free(struct sn_seam *seam); /* what is held is dropped */

/* When the second stream was surely open; before that call nothing is known. */
void sn_seam_opened(struct sn_seam *seam, uint64_t time_ns);

/* An event of the first stream. False: it is not to go on, the second stream brings it (there was
 * no room to remember it). */
bool sn_seam_note(struct sn_seam *seam, const struct sn_event *event);

/* Copies an event of the second stream. SONDE_E_NOMEM: it is lost. */
int sn_seam_hold(struct sn_seam *seam, const struct sn_event *event);

/* As much is held as may be: the second stream should wait. */
bool sn_seam_is_full(const struct sn_seam *seam);

/* Until when the second stream has surely told everything. */
uint64_t sn_seam_complete_ns(const struct sn_seam *seam);

/* The first stream was asked to end at `stop_ns` and has ended, and the second is complete until
 * then: releases, by time, what only the second brought. Returns how many copies were left out. */
uint64_t sn_seam_close(struct sn_seam *seam, uint64_t stop_ns, sn_seam_fn *release, void *user);

#endif
