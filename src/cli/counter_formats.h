/* Points as text for programs: CSV and JSON as dotnet-counters writes them, and a JSON object a
 * line. Pure: bytes go to a buffer. */
#ifndef SN_CLI_COUNTER_FORMATS_H
#define SN_CLI_COUNTER_FORMATS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_buf;
struct sonde_point;

/* What a document is about. Borrowed. */
struct sn_counter_document {
    const char *process;  /* the name of the only one, or "" */
    bool has_many;        /* every point says whose it is */
    uint64_t interval_ns; /* as asked for */
    uint64_t point_count; /* written until now */
};

struct sn_counter_format {
    const char *name;
    bool takes_provisional; /* it can say that a value is */
    bool takes_total;       /* a counter without a rate has a line, too */
    void (*begin)(struct sn_buf *to, const struct sn_counter_document *document); /* or NULL */
    /* `process`: the name of whose it is, "" when not known. */
    void (*point)(struct sn_buf *to, struct sn_counter_document *document,
                  const struct sonde_point *point, const char *process);
    void (*end)(struct sn_buf *to, const struct sn_counter_document *document); /* or NULL */
};

extern const struct sn_counter_format sn_counter_csv;
extern const struct sn_counter_format sn_counter_json;
extern const struct sn_counter_format sn_counter_ndjson;

/* "Gen 0 GC Count (Count / 1 sec)": what dotnet-counters calls a point. */
void sn_counter_display_name(struct sn_buf *to, const struct sonde_point *point,
                             uint64_t interval_ns);

#endif
