#include "sink/export/exporters.h"

extern const struct sn_exporter_ops sn_prometheus_exporter;
extern const struct sn_exporter_ops sn_graphite_exporter;
extern const struct sn_exporter_ops sn_statsd_exporter;
extern const struct sn_exporter_ops sn_otlp_exporter;

const struct sn_exporter_ops *const sn_exporters[] = {
    &sn_prometheus_exporter, &sn_graphite_exporter, &sn_statsd_exporter, &sn_otlp_exporter, NULL,
};

struct sn_sender_options sn_exporter_sender_options(const struct sn_settings *settings,
                                                    const char *url_key)
{
    return (struct sn_sender_options){
        .url = sn_settings_text(settings, url_key),
        .limit_bytes = sn_settings_number(settings, "queue"),
        .timeout_ns = sn_settings_number(settings, "timeout"),
    };
}
