/* StatsD's lines, plain or with DogStatsD's tags. */
#include <stdint.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/export/export_labels.h"
#include "sink/export/export_path.h"
#include "sink/export/export_text.h"
#include "sink/export/formatters.h"

#define LINE_MAX_BYTES 8000u /* Datadog's agent reads datagrams of 8 KiB */

static void put_tag_name(struct sn_buf *to, const char *name)
{
    sn_export_word(to, name, "-./");
}

static void put_tag_value(struct sn_buf *to, const char *value)
{
    sn_export_clean(to, value, ",|#", SN_EXPORT_WORD_MAX);
}

static bool put_tags(struct sn_buf *to, const struct sonde_point *point,
                     const struct sn_export_labels *labels)
{
    static const struct sn_label_rules rules = {.put_name = put_tag_name,
                                                .put_value = put_tag_value,
                                                .process = "process",
                                                .reserved = "",
                                                .joiner = ";"};
    SN_AUTO(sn_label_set_done) struct sn_label_set set;
    if (!sn_label_set_init(&set, &rules, point, labels))
        return false;
    for (size_t i = 0; i < set.count; i++) {
        sn_buf_text(to, i ? "," : "|#");
        sn_buf_text(to, set.items[i].name);
        sn_buf_u8(to, ':');
        sn_buf_text(to, set.items[i].value);
    }
    return true;
}

/* A point on its way. */
struct lines {
    struct sn_buf path;
    struct sn_buf tags;
    struct sn_buf line;
    struct sn_buf *to;
    size_t count;
};

static void put_line(struct lines *lines, const char *field, const char *number, const char *type)
{
    struct sn_buf *line = &lines->line;
    sn_buf_clear(line);
    sn_buf_append(line, lines->path.bytes, lines->path.size);
    if (*field)
        sn_buf_format(line, ".%s", field);
    sn_buf_format(line, ":%s|%s", number, type);
    sn_buf_append(line, lines->tags.bytes, lines->tags.size);
    sn_buf_u8(line, '\n');
    if (line->failed || lines->path.failed || lines->tags.failed)
        return;
    sn_buf_append(lines->to, line->bytes, line->size);
    lines->count++;
}

static void put_field(struct lines *lines, const struct sn_export_field *field, bool has_tags)
{
    char number[32];
    (void)sn_text_exact_real(field->value, number);
    /* With a sign it would be added to what the gauge has; Datadog's agent does not do that. */
    if (!field->is_added && number[0] == '-' && !has_tags)
        put_line(lines, field->name, "0", "g");
    put_line(lines, field->name, number, field->is_added ? "c" : "g");
}

/* A receiver that counts makes rates and totals itself. */
static size_t choose_fields(const struct sonde_point *point, struct sn_export_field *fields)
{
    size_t count = sn_export_fields(point, fields);
    if (point->kind != SONDE_POINT_RATE)
        return count;
    bool has_count = count && fields[0].is_added;
    fields[0].name[0] = '\0';
    return has_count ? 1 : 0;
}

size_t sn_statsd_point(const struct sn_statsd_options *options, const struct sonde_point *point,
                       const struct sn_export_labels *labels, struct sn_buf *to)
{
    struct sn_export_field fields[SN_EXPORT_FIELDS_MAX];
    size_t count = choose_fields(point, fields);
    struct lines lines = {.path = sn_buf_with_limit(SN_EXPORT_PATH_ROOM),
                          .tags = sn_buf_with_limit(LINE_MAX_BYTES),
                          .line = sn_buf_with_limit(LINE_MAX_BYTES),
                          .to = to};
    sn_export_path(&lines.path, options->prefix, point, options->tags ? NULL : labels);
    bool is_whole = !options->tags || put_tags(&lines.tags, point, labels);
    for (size_t i = 0; is_whole && i < count; i++)
        put_field(&lines, &fields[i], options->tags);
    sn_buf_done(&lines.path);
    sn_buf_done(&lines.tags);
    sn_buf_done(&lines.line);
    return lines.count;
}
