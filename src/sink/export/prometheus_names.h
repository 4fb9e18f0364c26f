/* What points are called for Prometheus: OpenTelemetry's rules, or dotnet-monitor's. */
#ifndef SN_PROMETHEUS_NAMES_H
#define SN_PROMETHEUS_NAMES_H

#include "sink/export/formatters.h"

struct sn_buf;

enum sn_prometheus_type {
    SN_PROMETHEUS_COUNTER,
    SN_PROMETHEUS_GAUGE,
    SN_PROMETHEUS_SUMMARY,
};

enum sn_prometheus_type sn_prometheus_type(enum sn_export_names names,
                                           const struct sonde_point *point);

/* The family's name, without the `_total` of a counter; *ret_unit_size is how many of its last
 * bytes are the unit, 0 without one. */
void sn_prometheus_name(enum sn_export_names names, const struct sonde_point *point,
                        struct sn_buf *to, size_t *ret_unit_size);

/* What values are multiplied with to be in the unit that the name tells. */
double sn_prometheus_scale(enum sn_export_names names, const struct sonde_point *point);

/* A label's name. */
void sn_prometheus_label(struct sn_buf *to, const char *name);

#endif
