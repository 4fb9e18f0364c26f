/* Points and numbers of events to carbon, as lines or pickles. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net/url.h"
#include "sink/export/exporters.h"

#define MESSAGE_LIMIT (1u << 20)   /* carbon takes no larger pickles */
#define MESSAGE_FULL  (128u << 10) /* a message goes out when it is so large */

struct graphite {
    struct sn_exporter base;
    struct sn_graphite_options options;
    struct sn_sender *sender; /* owns */
    struct sn_buf message;
    size_t start;
    uint64_t items; /* numbers in the message */
};

static void begin(struct graphite *graphite)
{
    sn_buf_clear(&graphite->message);
    graphite->items = 0;
    graphite->start = sn_graphite_begin(&graphite->options, &graphite->message);
}

static void flush(struct sn_exporter *exporter)
{
    struct graphite *graphite = (struct graphite *)exporter;
    if (!graphite->items)
        return;
    sn_graphite_end(&graphite->options, graphite->start, &graphite->message);
    if (!graphite->message.failed) /* the sender counts what it cannot take */
        (void)sn_sender_put(graphite->sender, graphite->message.bytes, graphite->message.size,
                            graphite->items);
    begin(graphite);
}

static void count(struct graphite *graphite, size_t items)
{
    graphite->items += items;
    graphite->base.number_count += items;
    if (graphite->message.size >= MESSAGE_FULL || graphite->message.failed)
        flush(&graphite->base);
}

static void take_point(struct sn_exporter *exporter, const struct sonde_point *point,
                       const struct sn_export_labels *labels)
{
    struct graphite *graphite = (struct graphite *)exporter;
    count(graphite, sn_graphite_point(&graphite->options, point, labels, &graphite->message));
}

static void take_number(struct sn_exporter *exporter, const char *path,
                        const struct sn_export_labels *labels, double value, uint64_t utc_ns)
{
    struct graphite *graphite = (struct graphite *)exporter;
    count(graphite,
          sn_graphite_number(&graphite->options, path, labels, value, utc_ns, &graphite->message));
}

static void get_state(struct sn_exporter *exporter, struct sn_sender_state *ret_state)
{
    sn_sender_state(((struct graphite *)exporter)->sender, ret_state);
}

static void free_graphite(struct sn_exporter *exporter)
{
    struct graphite *graphite = (struct graphite *)exporter;
    if (!graphite)
        return;
    sn_sender_free(graphite->sender, 0);
    sn_buf_done(&graphite->message);
    free(graphite);
}

static int open_graphite(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_exporter **ret_exporter, struct sonde_error *err)
{
    (void)configuration;
    struct graphite *graphite = calloc(1, sizeof(*graphite));
    if (!graphite)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an exporter");
    graphite->message = sn_buf_with_limit(MESSAGE_LIMIT);
    graphite->options = (struct sn_graphite_options){
        .prefix = sn_settings_text(settings, "prefix"),
        .no_tags = !sn_settings_flag(settings, "tags"),
        .pickle = strcmp(sn_settings_text(settings, "protocol"), "pickle") == 0,
    };
    (void)sn_url_shown(sn_settings_text(settings, "address"), graphite->base.place);
    struct sn_sender_options options = sn_exporter_sender_options(settings, "address");
    int rc = sn_sender_new(&options, &graphite->sender, err);
    if (rc != SONDE_OK) {
        free_graphite(&graphite->base);
        return rc;
    }
    begin(graphite);
    *ret_exporter = &graphite->base;
    return SONDE_OK;
}

const struct sn_exporter_ops sn_graphite_exporter = {
    .name = "graphite",
    .open = open_graphite,
    .point = take_point,
    .number = take_number,
    .flush = flush,
    .state = get_state,
    .free = free_graphite,
};
