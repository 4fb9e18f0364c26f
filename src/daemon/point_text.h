/* Counters as JSON and CSV. Texts come from processes: escaped for each. No state. */
#ifndef SN_POINT_TEXT_H
#define SN_POINT_TEXT_H

#include <stdbool.h>

#include "base/json.h"
#include "daemon/point_shot.h"

struct sn_buf;

/* NULL: any; otherwise patterns (base/pattern.h). */
struct sn_point_filter {
    const char *provider;
    const char *name;
};

/* "gauge", "mean", "rate", "upDown", "histogram". */
const char *sn_point_kind_name(int kind);

/* {"pid": ..., "counters": [...]}. */
void sn_point_json_process(struct sn_json *json, const struct sn_shot_process *process,
                           const struct sn_point_filter *filter);

/* Its parts: what the process is, one counter, the end, with the number of those that found no room
 * (0: all are there). */
void sn_point_json_begin(struct sn_json *json, const struct sn_shot_process *process);
void sn_point_json(struct sn_json *json, const struct sonde_point *point);
void sn_point_json_end(struct sn_json *json, uint64_t left_out_count);

/* A line of names; then a line a counter. */
void sn_point_csv_head(struct sn_buf *to);
void sn_point_csv_process(struct sn_buf *to, const struct sn_shot_process *process,
                          const struct sn_point_filter *filter);

#endif
