/* Events of System.Diagnostics.Metrics, as .NET 8 to 10 send them, by the names of their fields. No
 * state, no I/O. */
#ifndef SN_METRIC_DECODE_H
#define SN_METRIC_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sn_event;
struct sn_schema;

enum sn_metric_kind {
    SN_METRIC_NONE, /* another provider's, or one that is not known */
    SN_METRIC_COLLECTION_START,
    SN_METRIC_COLLECTION_STOP,
    SN_METRIC_COUNTER,
    SN_METRIC_UP_DOWN,
    SN_METRIC_GAUGE,
    SN_METRIC_HISTOGRAM,
    SN_METRIC_EXPONENTIAL, /* a histogram with buckets to the base 2; .NET 10, on request */
    SN_METRIC_BEGIN,       /* an instrument is watched from now on */
    SN_METRIC_END,
    SN_METRIC_PUBLISHED,       /* it is there, watched or not */
    SN_METRIC_ENUMERATED,      /* all that are there were told */
    SN_METRIC_ERROR,           /* `text` */
    SN_METRIC_CALLBACK_ERROR,  /* `text`: of an observable instrument */
    SN_METRIC_SERIES_LIMIT,    /* further series are left out */
    SN_METRIC_HISTOGRAM_LIMIT, /* further histograms are */
    SN_METRIC_OTHER_SESSION,   /* another tool's session, `session_id`, came first */
    SN_METRIC_OTHER_SETTINGS,  /* a shared session came first, with other settings than `client_id`
                                  wants */
    SN_METRIC_MESSAGE,         /* `text` */
    SN_METRIC_VERSION
};

struct sn_metric_quantile {
    double at;
    double value;
};

#define SN_METRIC_QUANTILE_MAX 16u

/* What an event of its kind does not have is "", 0 or NAN. */
struct sn_metric_record {
    uint8_t kind; /* enum sn_metric_kind */
    const char *session_id;
    const char *client_id;
    const char *meter;
    const char *version;
    const char *name;
    const char *type; /* "ObservableCounter`1" */
    const char *unit;
    const char *description;
    const char *tags; /* "k=v,k=v" */
    const char *text;
    double increment; /* since the collection before; NAN: the first of an observable instrument */
    double value;     /* where a counter stands, or a gauge; NAN: there is none */
    double sum;
    double min;
    double max;
    uint64_t count;
    uint64_t start_ns; /* of the interval, since 1970; 0: not told */
    uint64_t end_ns;
    size_t quantile_count;
    struct sn_metric_quantile quantiles[SN_METRIC_QUANTILE_MAX];
};

enum sn_metric_kind sn_metric_kind_of(const struct sn_schema *schema);

/* Texts of the record stay in `texts` until it is used again. SONDE_OK; SONDE_E_UNSUPPORTED for
 * SN_METRIC_NONE; SONDE_E_FORMAT when a value has no instrument, or a payload does not hold what
 * its schema says; SONDE_E_NOMEM. */
int sn_metric_decode(const struct sn_event *event, struct sn_buf *texts,
                     struct sn_metric_record *ret_record);

struct sn_metric_tag {
    const char *name;
    const char *value;
};

/* Splits "k=v,k=v" in place: `text` becomes the names and values. The runtime escapes nothing: a
 * piece without '=' belongs to the value before it, and only the first '=' of a piece divides. What
 * goes beyond `most` stays in the last value. Returns how many there are. */
size_t sn_metric_split_tags(char *text, struct sn_metric_tag *tags, size_t most);

#endif
