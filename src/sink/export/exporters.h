/* The exporters: each takes points, formats them and hands them to its receiver, or serves them to
 * who asks. One const entry beside each exporter's code, one table of them all. One thread, but for
 * what a sender does behind its queue. */
#ifndef SN_EXPORTERS_H
#define SN_EXPORTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/sender.h"
#include "sink/export/formatters.h"
#include "sink/export/settings.h"
#include "sonde/error.h"

struct sn_exporter;

struct sn_exporter_ops {
    const char *name; /* "graphite": also of its section */
    int (*open)(struct sn_configuration *configuration, const struct sn_settings *settings,
                struct sn_exporter **ret_exporter, struct sonde_error *err);

    /* One point. */
    void (*point)(struct sn_exporter *exporter, const struct sonde_point *point,
                  const struct sn_export_labels *labels);

    /* One number of a raw event, as a rule made it; NULL: it takes none. */
    void (*number)(struct sn_exporter *exporter, const char *path,
                   const struct sn_export_labels *labels, double value, uint64_t utc_ns);

    /* A process has ended; NULL: it does not matter. */
    void (*ended)(struct sn_exporter *exporter, const struct sonde_process *process);

    /* What was collected goes out: soon after it came, or once an interval. */
    void (*flush)(struct sn_exporter *exporter);
    bool waits_for_round; /* a message has all there is: one an interval is enough */

    /* Of its sender; NULL: it has none. */
    void (*state)(struct sn_exporter *exporter, struct sn_sender_state *ret_state);

    /* For one that serves, as in net/http_server.h; NULL: it does not. */
    int (*fd)(const struct sn_exporter *exporter);
    int (*wait_ms)(const struct sn_exporter *exporter);
    int (*turn)(struct sn_exporter *exporter, struct sonde_error *err);

    void (*free)(struct sn_exporter *exporter); /* what still waits is lost */
};

/* The first member of every exporter. */
struct sn_exporter {
    const struct sn_exporter_ops *ops;
    const struct sn_settings *settings; /* its section; borrows */
    char place[160];                    /* where it sends to or is found, for people */
    uint64_t point_count;               /* points that it was given */
    uint64_t number_count;              /* numbers made of them */
    uint64_t asked_count;               /* of one that serves: how often it was asked */
    uint64_t asked_utc_ns;              /* and when last; 0: never */
};

/* Ended by NULL. */
extern const struct sn_exporter_ops *const sn_exporters[];

/* What all senders have in common: the section's address under `url_key`, queue and timeout. */
struct sn_sender_options sn_exporter_sender_options(const struct sn_settings *settings,
                                                    const char *url_key);

#endif
