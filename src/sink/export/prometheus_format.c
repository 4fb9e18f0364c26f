/* A page of Prometheus' text format 0.0.4 or of OpenMetrics 1.0.
 *
 * Scrapers refuse a whole page for one family that comes twice or for two that share a name, and
 * names from targets become alike once they are cleaned. So rows are sorted by what they are
 * called, and a family that would take another's name gets one of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "sink/export/export_labels.h"
#include "sink/export/export_text.h"
#include "sink/export/export_totals.h"
#include "sink/export/formatters.h"
#include "sink/export/prometheus_names.h"

#define TEXT_LIMIT   (256u << 20)
#define LABELS_LIMIT (64u << 10) /* of one series */
#define RENAMES_MAX  16u
#define NS_PER_MS    1000000u

static const char *const type_words[] = {"counter", "gauge", "summary"};

/* The names that a family takes, by its type: none of them may be another's. */
static const char *const type_suffixes[][5] = {
    {"", "_total", "_created"}, {""}, {"", "_sum", "_count", "_created"}};

/* A row, with what it is called. */
struct entry {
    const char *name; /* of the family */
    const char *labels;
    const struct sn_export_row *row;
    size_t unit_size;
    enum sn_prometheus_type type;
    double value;
    double scale;
};

struct page {
    const struct sn_prometheus_options *options;
    struct entry *entries; /* owns */
    size_t count;
    struct sn_arena arena;
    struct sn_buf text;
    struct sn_table taken; /* names, by their hash */
    struct sn_buf *to;
};

const char *sn_prometheus_content_type(const struct sn_prometheus_options *options)
{
    return options->openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8";
}

bool sn_prometheus_wants_openmetrics(const char *accept)
{
    return strstr(accept, "application/openmetrics-text") != NULL;
}

/* --- labels --- */

/* Behind a backslash: itself, a quote, and n for a line feed. */
static void put_escaped(struct sn_buf *to, const char *text, bool escapes_quotes)
{
    for (; *text; text++) {
        bool is_escaped = *text == '\\' || *text == '\n' || (*text == '"' && escapes_quotes);
        if (is_escaped)
            sn_buf_u8(to, '\\');
        sn_buf_u8(to, *text == '\n' ? 'n' : (uint8_t)*text);
    }
}

static const struct sn_label_rules otel_rules = {.put_name = sn_prometheus_label,
                                                 .put_value = sn_export_valid,
                                                 .process = "name",
                                                 .reserved = "quantile",
                                                 .joiner = ";",
                                                 .with_scope = true};
static const struct sn_label_rules monitor_rules = {.put_name = sn_prometheus_label,
                                                    .put_value = sn_export_valid,
                                                    .process = "name",
                                                    .reserved = "quantile",
                                                    .joiner = ";"};

static bool put_labels(struct sn_buf *to, enum sn_export_names names,
                       const struct sn_export_row *row)
{
    const struct sn_label_rules *rules = names == SN_NAMES_OTEL ? &otel_rules : &monitor_rules;
    SN_AUTO(sn_label_set_done) struct sn_label_set set;
    if (!sn_label_set_init(&set, rules, row->point, row->labels))
        return false;
    for (size_t i = 0; i < set.count; i++) {
        sn_buf_text(to, i ? "," : "");
        sn_buf_text(to, set.items[i].name);
        sn_buf_text(to, "=\"");
        put_escaped(to, set.items[i].value, true);
        sn_buf_u8(to, '"');
    }
    return !to->failed;
}

/* --- what rows are called --- */

static const char *keep_text(struct page *page)
{
    struct sn_buf *text = &page->text;
    return text->failed ? NULL : sn_arena_copy(&page->arena, text->bytes, text->size);
}

/* dotnet-monitor shows what a counter counted in the interval, and of a meter's the rate. */
static double monitor_rate(const struct sonde_point *point)
{
    return point->origin == SONDE_POINT_EVENT_COUNTER ? point->value : point->rate;
}

static double entry_value(enum sn_export_names names, const struct sn_export_row *row)
{
    const struct sonde_point *point = row->point;
    switch (point->kind) {
    case SONDE_POINT_RATE:
        if (names == SN_NAMES_DOTNET_MONITOR)
            return monitor_rate(point);
        return sn_export_total(row);
    case SONDE_POINT_UP_DOWN: return point->total;
    case SONDE_POINT_HISTOGRAM: return 0;
    default: return point->value;
    }
}

/* A counter that is not told, or fell below nothing, is no counter. */
static bool is_shown(const struct entry *entry)
{
    return entry->type != SN_PROMETHEUS_COUNTER || (isfinite(entry->value) && entry->value >= 0);
}

/* Adds a row. One whose labels are larger than any scraper takes is left out. */
static int add_row(struct page *page, const struct sn_export_row *row)
{
    enum sn_export_names names = page->options->names;
    struct entry *entry = &page->entries[page->count];
    *entry = (struct entry){.row = row,
                            .type = sn_prometheus_type(names, row->point),
                            .value = entry_value(names, row),
                            .scale = sn_prometheus_scale(names, row->point)};
    if (!is_shown(entry))
        return 0;
    sn_buf_clear(&page->text);
    if (!put_labels(&page->text, names, row))
        return 0;
    entry->labels = keep_text(page);
    sn_buf_clear(&page->text);
    sn_prometheus_name(names, row->point, &page->text, &entry->unit_size);
    entry->name = keep_text(page);
    page->count++;
    return entry->labels && entry->name ? 0 : SONDE_E_NOMEM;
}

static int by_family(const struct entry *left, const struct entry *right)
{
    int order = strcmp(left->name, right->name);
    return order ? order : (int)left->type - (int)right->type;
}

/* Of the same series the newest comes first. */
static int by_series(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int order = by_family(left, right);
    if (!order)
        order = strcmp(left->labels, right->labels);
    if (order)
        return order;
    uint64_t then = left->row->point->time_ns;
    uint64_t now = right->row->point->time_ns;
    return (now > then) - (now < then);
}

/* --- names that are taken --- */

static uint64_t name_key(struct page *page, const char *name, const char *suffix)
{
    sn_buf_clear(&page->text);
    sn_buf_text(&page->text, name);
    sn_buf_text(&page->text, suffix);
    return sn_table_key(page->text.bytes, page->text.size);
}

static bool is_free(struct page *page, const char *name, enum sn_prometheus_type type)
{
    for (const char *const *suffix = type_suffixes[type]; *suffix; suffix++) {
        if (sn_table_find(&page->taken, name_key(page, name, *suffix)))
            return false;
    }
    return true;
}

static bool take(struct page *page, const char *name, enum sn_prometheus_type type)
{
    for (const char *const *suffix = type_suffixes[type]; *suffix; suffix++) {
        if (!sn_table_put(&page->taken, name_key(page, name, *suffix)))
            return false;
    }
    return true;
}

/* The name itself, or if it is taken with its type behind it, and a number. */
static const char *candidate(struct page *page, const struct entry *entry, unsigned attempt)
{
    if (attempt == 0)
        return entry->name;
    sn_buf_clear(&page->text);
    sn_buf_format(&page->text, "%s_%s", entry->name, type_words[entry->type]);
    if (attempt > 1)
        sn_buf_format(&page->text, "_%u", attempt);
    return keep_text(page);
}

/* NULL: no memory, or no name is left. */
static const char *choose_name(struct page *page, const struct entry *entry)
{
    for (unsigned attempt = 0; attempt < RENAMES_MAX; attempt++) {
        const char *name = candidate(page, entry, attempt);
        if (!name)
            return NULL;
        if (is_free(page, name, entry->type))
            return take(page, name, entry->type) ? name : NULL;
    }
    return NULL;
}

/* --- writing --- */

static void put_number(struct sn_buf *to, double value)
{
    char number[32];
    if (isnan(value))
        sn_buf_text(to, "NaN");
    else if (isinf(value))
        sn_buf_text(to, value > 0 ? "+Inf" : "-Inf");
    else
        sn_buf_text(to, sn_text_exact_real(value, number));
}

static void put_quantile(struct sn_buf *to, const struct entry *entry, double at)
{
    sn_buf_text(to, *entry->labels ? ",quantile=\"" : "quantile=\"");
    put_number(to, at);
    sn_buf_u8(to, '"');
}

/* `quantile`: NAN where there is none. */
static void put_sample(struct page *page, const struct entry *entry, const char *suffix,
                       double quantile, double value)
{
    struct sn_buf *to = page->to;
    sn_buf_text(to, entry->name);
    sn_buf_text(to, suffix);
    if (*entry->labels || !isnan(quantile)) {
        sn_buf_u8(to, '{');
        sn_buf_text(to, entry->labels);
        if (!isnan(quantile))
            put_quantile(to, entry, quantile);
        sn_buf_u8(to, '}');
    }
    sn_buf_u8(to, ' ');
    put_number(to, value);
    if (page->options->with_times && entry->type != SN_PROMETHEUS_SUMMARY)
        sn_buf_format(to, " %" PRIu64, entry->row->point->utc_ns / NS_PER_MS);
    sn_buf_u8(to, '\n');
}

/* Quantiles are of the last interval, the rest is since the beginning. */
static void put_summary(struct page *page, const struct entry *entry)
{
    const struct sonde_point *point = entry->row->point;
    double last = -1;
    for (size_t i = 0; i < point->quantile_count; i++) {
        const struct sonde_quantile *quantile = &point->quantiles[i];
        bool is_allowed = quantile->at > last && quantile->at >= 0 && quantile->at <= 1 &&
                          !(page->options->openmetrics && quantile->value < 0);
        if (is_allowed)
            put_sample(page, entry, "", quantile->at, quantile->value * entry->scale);
        last = is_allowed ? quantile->at : last;
    }
    struct sn_export_totals totals = sn_export_histogram_totals(entry->row);
    double sum = totals.sum * entry->scale;
    if (isfinite(sum) && sum >= 0) /* below, it would not be a counter */
        put_sample(page, entry, "_sum", NAN, sum);
    put_sample(page, entry, "_count", NAN, (double)totals.count);
}

static void put_entry(struct page *page, const struct entry *entry)
{
    if (entry->type == SN_PROMETHEUS_SUMMARY)
        put_summary(page, entry);
    else
        put_sample(page, entry, entry->type == SN_PROMETHEUS_COUNTER ? "_total" : "", NAN,
                   entry->value * entry->scale);
}

static void put_meta(struct page *page, const char *word, const struct entry *entry)
{
    bool has_suffix = entry->type == SN_PROMETHEUS_COUNTER && !page->options->openmetrics;
    sn_buf_format(page->to, "# %s %s%s ", word, entry->name, has_suffix ? "_total" : "");
}

static void put_head(struct page *page, const struct entry *entry, bool has_unit)
{
    const struct sonde_point *point = entry->row->point;
    bool is_openmetrics = page->options->openmetrics;
    const char *help = *point->description ? point->description : point->display_name;
    put_meta(page, "TYPE", entry);
    sn_buf_format(page->to, "%s\n", type_words[entry->type]);
    if (has_unit && is_openmetrics) {
        put_meta(page, "UNIT", entry);
        sn_buf_format(page->to, "%s\n", entry->name + strlen(entry->name) - entry->unit_size);
    }
    put_meta(page, "HELP", entry);
    sn_buf_clear(&page->text);
    sn_export_valid(&page->text, help);
    put_escaped(page->to, sn_buf_string(&page->text), is_openmetrics);
    sn_buf_u8(page->to, '\n');
}

/* The entries of one family, sorted by their labels. */
static void put_family(struct page *page, struct entry *entries, size_t count)
{
    const char *asked = entries->name;
    const char *name = choose_name(page, entries);
    if (!name)
        return;
    entries->name = name;
    put_head(page, entries, name == asked && entries->unit_size);
    for (size_t i = 0; i < count; i++) {
        entries[i].name = name;
        if (!i || strcmp(entries[i].labels, entries[i - 1].labels) != 0)
            put_entry(page, &entries[i]);
    }
}

static void put_families(struct page *page)
{
    qsort(page->entries, page->count, sizeof(*page->entries), by_series);
    for (size_t i = 0, next; i < page->count; i = next) {
        for (next = i + 1; next < page->count; next++) {
            if (by_family(&page->entries[i], &page->entries[next]))
                break;
        }
        put_family(page, &page->entries[i], next - i);
    }
    if (page->options->openmetrics)
        sn_buf_text(page->to, "# EOF\n");
}

static int make_page(struct page *page, const struct sn_export_row *rows, size_t count)
{
    page->entries = calloc(count ? count : 1, sizeof(*page->entries));
    if (!page->entries)
        return SONDE_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        int status = add_row(page, &rows[i]);
        if (status)
            return status;
    }
    put_families(page);
    return page->to->failed ? SONDE_E_LIMIT : 0;
}

int sn_prometheus_page(const struct sn_prometheus_options *options,
                       const struct sn_export_row *rows, size_t count, struct sn_buf *to,
                       struct sonde_error *err)
{
    struct page page = {.options = options,
                        .arena = sn_arena_with_limit(TEXT_LIMIT),
                        .text = sn_buf_with_limit(LABELS_LIMIT),
                        .taken = sn_table_with_limit(4 * count + 4),
                        .to = to};
    int status = make_page(&page, rows, count);
    free(page.entries);
    sn_arena_done(&page.arena);
    sn_buf_done(&page.text);
    sn_table_done(&page.taken);
    if (status)
        return sn_fail(err, status, 0, "no room for a page of %zu series", count);
    return 0;
}
