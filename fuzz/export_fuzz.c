/* Any texts and numbers as points: what every formatter writes is what its receivers read.
 *
 * Input: points, each a byte for its kind and origin, one that says which numbers follow, numbers
 * as eight bytes, then texts that end with a zero. */
#include "export_check.h"

#include "base/buf.h"
#include "base/own.h"
#include "sink/export/export_series.h"
#include "sink/export/formatters.h"

#define POINTS_MAX   64u
#define TEXTS        8u
#define OUTPUT_LIMIT (64u << 20)

static double read_double(struct sn_cursor *in)
{
    uint64_t bits = sn_cursor_u64(in);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Up to a zero or the end of the input; the byte behind the input is a zero too. */
static const char *read_text(struct sn_cursor *in)
{
    const char *text = (const char *)in->at;
    while (sn_cursor_left(in) && *in->at)
        in->at++;
    if (sn_cursor_left(in))
        in->at++;
    return text;
}

/* With a zero behind it, and never NULL. */
static const uint8_t *text_of(struct sn_buf *to)
{
    return (const uint8_t *)sn_buf_string(to);
}

static void put_point(struct sn_export_series *series, struct sn_cursor *in)
{
    uint8_t what = sn_cursor_u8(in);
    uint8_t numbers = sn_cursor_u8(in);
    double values[8];
    const char *texts[TEXTS];
    for (size_t i = 0; i < 8; i++)
        values[i] = numbers >> i & 1 ? read_double(in) : 1.5;
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = read_text(in);
    const struct sonde_tag tags[] = {{texts[2], texts[3]}, {texts[4], texts[5]}};
    const struct sonde_quantile quantiles[] = {{0.5, values[4]}, {values[5], values[6]}};
    const struct sonde_process process = {.pid = what >> 7,
                                          .name = texts[6],
                                          .runtime = texts[1],
                                          .user = texts[5],
                                          .container = texts[3]};
    const struct sn_export_labels labels = {
        .process = &process, .host = texts[7], .extra = tags, .extra_count = what >> 6 & 1};
    const struct sonde_point point = {.pid = what >> 7,
                                      .kind = what % 5 + 1,
                                      .origin = what / 5 % 3 + 1,
                                      .provider = texts[1],
                                      .version = texts[4],
                                      .name = texts[0],
                                      .display_name = texts[7],
                                      .unit = texts[6],
                                      .description = texts[5],
                                      .tag_text = texts[3],
                                      .tags = tags,
                                      .tag_count = what % 3,
                                      .time_ns = what,
                                      .utc_ns = (uint64_t)what << 56,
                                      .interval_ns = numbers,
                                      .value = values[0],
                                      .rate = values[1],
                                      .total = values[2],
                                      .count = numbers,
                                      .sum = values[3],
                                      .min = values[4],
                                      .max = values[5],
                                      .deviation = values[7],
                                      .quantiles = quantiles,
                                      .quantile_count = what % 3};
    if (sn_export_series_put(series, &point, &labels, NULL))
        abort();
}

static void try_graphite(const struct sn_export_row *rows, size_t count, struct sn_buf *to)
{
    for (unsigned way = 0; way < 4; way++) {
        const struct sn_graphite_options options = {
            .prefix = "sonde", .no_tags = way & 1, .pickle = way & 2};
        sn_buf_clear(to);
        size_t written = 0;
        size_t start = sn_graphite_begin(&options, to);
        for (size_t i = 0; i < count; i++) {
            const struct sonde_point *point = rows[i].point;
            written += sn_graphite_point(&options, point, rows[i].labels, to);
            written += sn_graphite_number(&options, point->name, rows[i].labels, point->value,
                                          point->utc_ns, to);
        }
        sn_graphite_end(&options, start, to);
        insist(!to->failed);
        insist(written == (options.pickle ? check_pickle(text_of(to), to->size)
                                          : check_graphite_lines(text_of(to), to->size)));
    }
}

static void try_statsd(const struct sn_export_row *rows, size_t count, struct sn_buf *to)
{
    for (unsigned has_tags = 0; has_tags < 2; has_tags++) {
        const struct sn_statsd_options options = {.tags = has_tags};
        sn_buf_clear(to);
        size_t written = 0;
        for (size_t i = 0; i < count; i++)
            written += sn_statsd_point(&options, rows[i].point, rows[i].labels, to);
        insist(!to->failed);
        insist(written == check_statsd(text_of(to), to->size, has_tags));
    }
}

static void try_prometheus(const struct sn_export_row *rows, size_t count, struct sn_buf *to)
{
    for (unsigned way = 0; way < 4; way++) {
        const struct sn_prometheus_options options = {
            .names = way & 1 ? SN_NAMES_DOTNET_MONITOR : SN_NAMES_OTEL, .openmetrics = way & 2};
        sn_buf_clear(to);
        insist(sn_prometheus_page(&options, rows, count, to, NULL) == 0);
        check_page(text_of(to), to->size, options.openmetrics);
    }
}

static void try_otlp(const struct sn_export_row *rows, size_t count, struct sn_buf *to)
{
    sn_buf_clear(to);
    insist(sn_otlp_message(rows, count, 1, to, NULL) == 0);
    insist(check_otlp(text_of(to), to->size) <= count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SN_AUTO(sn_buf_done) struct sn_buf input = sn_buf_with_limit(size + 1);
    SN_AUTO(sn_buf_done) struct sn_buf to = sn_buf_with_limit(OUTPUT_LIMIT);
    sn_buf_append(&input, data, size);
    sn_buf_u8(&input, 0);
    struct sn_export_series *series = sn_export_series_new(0);
    if (!series || input.failed)
        abort();
    struct sn_cursor in = sn_cursor_over(input.bytes, size);
    for (size_t i = 0; i < POINTS_MAX && sn_cursor_left(&in); i++)
        put_point(series, &in);
    size_t count;
    const struct sn_export_row *rows = sn_export_series_rows(series, &count);
    try_graphite(rows, count, &to);
    try_statsd(rows, count, &to);
    try_prometheus(rows, count, &to);
    try_otlp(rows, count, &to);
    sn_export_series_free(series);
    return 0;
}
