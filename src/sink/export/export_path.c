#include "sink/export/export_path.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/export/export_labels.h"
#include "sink/export/export_text.h"

#define PATH_MAX_BYTES 1000u /* four kilobytes with carbon's own folder are the kernel's end */
#define QUANTILES_MAX  32u

/* --- numbers --- */

struct field_list {
    struct sn_export_field *fields;
    size_t count;
};

static void add(struct field_list *list, const char *name, double value, bool is_added)
{
    if (!isfinite(value) || list->count == SN_EXPORT_FIELDS_MAX)
        return;
    struct sn_export_field *field = &list->fields[list->count++];
    *field = (struct sn_export_field){.value = value, .is_added = is_added};
    size_t size = strnlen(name, sizeof(field->name) - 1);
    memcpy(field->name, name, size);
}

/* 0.5 is "p50", 0.999 is "p99_9". */
static void add_quantile(struct field_list *list, const struct sonde_quantile *quantile)
{
    char number[32];
    char name[24] = "p";
    if (!(quantile->at >= 0 && quantile->at <= 1))
        return;
    (void)sn_text_real(quantile->at * 100, number);
    for (size_t i = 0; number[i] && i < sizeof(name) - 2; i++)
        name[i + 1] = (char)(number[i] >= '0' && number[i] <= '9' ? number[i] : '_');
    add(list, name, quantile->value, false);
}

static void add_mean(struct field_list *list, const struct sonde_point *point)
{
    add(list, "", point->value, false);
    if (point->count <= 1)
        return; /* then it is all of these */
    add(list, "min", point->min, false);
    add(list, "max", point->max, false);
    add(list, "deviation", point->deviation, false);
}

static void add_histogram(struct field_list *list, const struct sonde_point *point)
{
    add(list, "count", (double)point->count, true);
    add(list, "sum", point->sum, true);
    for (size_t i = 0; i < point->quantile_count && i < QUANTILES_MAX; i++)
        add_quantile(list, &point->quantiles[i]);
}

size_t sn_export_fields(const struct sonde_point *point, struct sn_export_field *fields)
{
    struct field_list list = {.fields = fields};
    switch (point->kind) {
    case SONDE_POINT_MEAN: add_mean(&list, point); break;
    case SONDE_POINT_RATE:
        add(&list, "count", point->value, true);
        add(&list, "rate", point->rate, false);
        add(&list, "total", point->total, false);
        break;
    case SONDE_POINT_UP_DOWN: add(&list, "", point->total, false); break;
    case SONDE_POINT_HISTOGRAM: add_histogram(&list, point); break;
    default: add(&list, "", point->value, false); break;
    }
    return list.count;
}

/* --- paths --- */

static void put_part(struct sn_buf *to, const char *text)
{
    sn_export_word(to, text, "-");
}

void sn_export_dotted(struct sn_buf *to, const char *path)
{
    struct sn_buf parts = sn_buf_with_limit(SN_EXPORT_VALUE_MAX);
    sn_export_word(&parts, path, "-.");
    bool is_start = true; /* of a part: no part is empty */
    for (size_t i = 0; i < parts.size; i++) {
        bool is_dot = parts.bytes[i] == '.';
        if (is_dot && (is_start || i + 1 == parts.size || parts.bytes[i + 1] == '.'))
            continue;
        sn_buf_u8(to, parts.bytes[i]);
        is_start = is_dot;
    }
    if (is_start)
        sn_buf_u8(to, '_');
    sn_buf_done(&parts);
}

static void put_prefix(struct sn_buf *to, const char *prefix)
{
    if (!prefix || !*prefix)
        return;
    sn_export_dotted(to, prefix);
    sn_buf_u8(to, '.');
}

static void put_head_part(struct sn_buf *to, const char *text)
{
    if (!text || !*text)
        return;
    put_part(to, text);
    sn_buf_u8(to, '.');
}

void sn_export_path_head(struct sn_buf *to, const char *prefix,
                         const struct sn_export_labels *labels)
{
    put_prefix(to, prefix);
    if (!labels)
        return;
    for (size_t i = 0; i < labels->extra_count; i++)
        put_head_part(to, labels->extra[i].value);
    put_head_part(to, labels->host);
    if (labels->process) {
        put_head_part(to, labels->process->name);
        sn_buf_decimal(to, labels->process->pid);
        sn_buf_u8(to, '.');
    }
}

/* The provider is one part; the kernel's names tell enough: "process.cpu.time". */
static void put_name(struct sn_buf *to, const struct sonde_point *point)
{
    if (point->origin != SONDE_POINT_KERNEL)
        put_head_part(to, point->provider);
    sn_export_dotted(to, point->name);
}

/* The tags of the point alone: what else labels it stands before the name. */
static void put_tags(struct sn_buf *to, const struct sonde_point *point)
{
    static const struct sn_label_rules rules = {
        .put_name = put_part, .put_value = put_part, .reserved = "", .joiner = "_"};
    SN_AUTO(sn_label_set_done) struct sn_label_set set;
    if (!sn_label_set_init(&set, &rules, point, &(struct sn_export_labels){0})) {
        to->failed = true;
        return;
    }
    for (size_t i = 0; i < set.count; i++) {
        sn_buf_u8(to, '.');
        sn_buf_text(to, set.items[i].name);
        sn_buf_u8(to, '.');
        size_t start = to->size;
        sn_buf_text(to, set.items[i].value); /* of several tags, where their names became one */
        sn_export_cut(to, start, SN_EXPORT_WORD_MAX);
    }
}

void sn_export_path(struct sn_buf *to, const char *prefix, const struct sonde_point *point,
                    const struct sn_export_labels *labels)
{
    size_t start = to->size;
    sn_export_path_head(to, prefix, labels);
    put_name(to, point);
    if (labels && point->tag_count)
        put_tags(to, point);
    sn_export_cut(to, start, PATH_MAX_BYTES);
}
