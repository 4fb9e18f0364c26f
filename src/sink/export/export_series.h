/* The latest point of every series, with what must be added up over time: pages that are asked for
 * and messages that tell where things stand are made from it. Bounded in series and bytes. One
 * thread. */
#ifndef SN_EXPORT_SERIES_H
#define SN_EXPORT_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "sink/export/formatters.h"

struct sn_export_series;

/* At most `limit` series (0: 65536). NULL: no memory. */
struct sn_export_series *sn_export_series_new(size_t limit);
void sn_export_series_free(struct sn_export_series *series); /* NULL is fine */

/* Copies the point and its labels; what the series had before is replaced, its totals go on.
 * Provisional points count into totals as all others. SONDE_E_LIMIT: not taken, and counted. */
int sn_export_series_put(struct sn_export_series *series, const struct sonde_point *point,
                         const struct sn_export_labels *labels, struct sonde_error *err);

/* Forgets all series of a process that has ended: what it had is not how things stand. */
void sn_export_series_forget(struct sn_export_series *series, const struct sonde_process *process);

/* Forgets series that were silent for three of their intervals, and for ten seconds at least,
 * before `now_ns` (CLOCK_MONOTONIC). */
void sn_export_series_expire(struct sn_export_series *series, uint64_t now_ns);

/* All of them, in no order; *ret_count. Borrowed until the next call that changes something. */
const struct sn_export_row *sn_export_series_rows(struct sn_export_series *series,
                                                  size_t *ret_count);

/* How many points were not taken. */
uint64_t sn_export_series_dropped(const struct sn_export_series *series);

#endif
