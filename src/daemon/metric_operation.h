/* Counters and metrics of a program, point by point into a file, as dotnet-monitor writes them: an
 * operation. Settings: `counters` (as sonde_counters_options has them), `interval_s`,
 * `max_series`, `max_histograms`. */
#ifndef SN_METRIC_OPERATION_H
#define SN_METRIC_OPERATION_H

#include "daemon/operation.h"

extern const struct sn_operation_kind sn_metric_operation;

#endif
