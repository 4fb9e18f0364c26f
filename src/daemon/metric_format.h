/* A point as dotnet-monitor's livemetrics tells it: one JSON record, or one for each quantile, in a
 * JSON text sequence. */
#ifndef SN_METRIC_FORMAT_H
#define SN_METRIC_FORMAT_H

#include <stdint.h>

struct sn_buf;
struct sonde_point;

void sn_metric_format_write(const struct sonde_point *point, struct sn_buf *to);

/* That `count` points are missing here, as they were too large: {"lost":1}. */
void sn_metric_format_lost(uint64_t count, struct sn_buf *to);

#endif
