/* Points to a StatsD server; as many lines in a datagram as go through any network unbroken. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net/url.h"
#include "sink/export/exporters.h"

#define DATAGRAM_FULL 1432u        /* Ethernet, less the heads of IPv6 and UDP */
#define STREAM_FULL   (64u << 10)  /* where there are no datagrams */
#define LINES_LIMIT   (256u << 10) /* of one point */

struct statsd {
    struct sn_exporter base;
    struct sn_statsd_options options;
    struct sn_sender *sender; /* owns */
    struct sn_buf message;
    struct sn_buf lines; /* of one point: they stay together */
    size_t full;
    uint64_t items;
};

static void flush(struct sn_exporter *exporter)
{
    struct statsd *statsd = (struct statsd *)exporter;
    if (statsd->items && !statsd->message.failed) /* the sender counts what it cannot take */
        (void)sn_sender_put(statsd->sender, statsd->message.bytes, statsd->message.size,
                            statsd->items);
    sn_buf_clear(&statsd->message);
    statsd->items = 0;
}

static void take_point(struct sn_exporter *exporter, const struct sonde_point *point,
                       const struct sn_export_labels *labels)
{
    struct statsd *statsd = (struct statsd *)exporter;
    sn_buf_clear(&statsd->lines);
    size_t count = sn_statsd_point(&statsd->options, point, labels, &statsd->lines);
    if (statsd->lines.failed)
        return;
    if (statsd->message.size + statsd->lines.size > statsd->full)
        flush(exporter);
    sn_buf_append(&statsd->message, statsd->lines.bytes, statsd->lines.size);
    statsd->items += count;
    statsd->base.number_count += count;
}

static void get_state(struct sn_exporter *exporter, struct sn_sender_state *ret_state)
{
    sn_sender_state(((struct statsd *)exporter)->sender, ret_state);
}

static void free_statsd(struct sn_exporter *exporter)
{
    struct statsd *statsd = (struct statsd *)exporter;
    if (!statsd)
        return;
    sn_sender_free(statsd->sender, 0);
    sn_buf_done(&statsd->message);
    sn_buf_done(&statsd->lines);
    free(statsd);
}

static int open_statsd(struct sn_configuration *configuration, const struct sn_settings *settings,
                       struct sn_exporter **ret_exporter, struct sonde_error *err)
{
    (void)configuration;
    const char *address = sn_settings_text(settings, "address");
    struct statsd *statsd = calloc(1, sizeof(*statsd));
    if (!statsd)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    statsd->full = strncmp(address, "tcp:", 4) == 0 ? STREAM_FULL : DATAGRAM_FULL;
    statsd->message = sn_buf_with_limit(LINES_LIMIT + STREAM_FULL);
    statsd->lines = sn_buf_with_limit(LINES_LIMIT);
    statsd->options = (struct sn_statsd_options){.prefix = sn_settings_text(settings, "prefix"),
                                                 .tags = sn_settings_flag(settings, "tags")};
    (void)sn_url_shown(address, statsd->base.place);
    struct sn_sender_options options = sn_exporter_sender_options(settings, "address");
    int rc = sn_sender_new(&options, &statsd->sender, err);
    if (rc != SONDE_OK) {
        free_statsd(&statsd->base);
        return rc;
    }
    *ret_exporter = &statsd->base;
    return SONDE_OK;
}

const struct sn_exporter_ops sn_statsd_exporter = {
    .name = "statsd",
    .open = open_statsd,
    .point = take_point,
    .flush = flush,
    .state = get_state,
    .free = free_statsd,
};
