/* Graphite's plaintext lines and pickles, with tags or without. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/export/export_labels.h"
#include "sink/export/export_path.h"
#include "sink/export/export_text.h"
#include "sink/export/formatters.h"

#define NS_A_SECOND 1000000000u
#define SERIES_MAX  8000u /* bytes: carbon hangs up on lines of 16 KiB */

/* Opcodes of pickle, protocol 2. */
enum pickle_opcode {
    PROTOCOL = 0x80,
    EMPTY_LIST = ']',
    MARK = '(',
    UNICODE = 'X', /* a size of four bytes, UTF-8 */
    INT = 'J',     /* four bytes */
    FLOAT = 'G',   /* eight bytes, the highest first */
    PAIR = 0x86,
    APPEND_ALL = 'e',
    STOP = '.',
};

/* --- pickles --- */

size_t sn_graphite_begin(const struct sn_graphite_options *options, struct sn_buf *to)
{
    size_t start = to->size;
    if (!options->pickle)
        return start;
    sn_buf_u32(to, 0); /* the size, once it is known */
    sn_buf_u8(to, PROTOCOL);
    sn_buf_u8(to, 2);
    sn_buf_u8(to, EMPTY_LIST);
    sn_buf_u8(to, MARK);
    return start;
}

void sn_graphite_end(const struct sn_graphite_options *options, size_t start, struct sn_buf *to)
{
    if (!options->pickle)
        return;
    sn_buf_u8(to, APPEND_ALL);
    sn_buf_u8(to, STOP);
    if (to->failed)
        return;
    uint32_t size = __builtin_bswap32((uint32_t)(to->size - start - sizeof(uint32_t)));
    memcpy(to->bytes + start, &size, sizeof(size));
}

static void put_float(struct sn_buf *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    sn_buf_u8(to, FLOAT);
    sn_buf_u64(to, __builtin_bswap64(bits));
}

/* (path, (time, value)) */
static void put_pickled(struct sn_buf *to, const struct sn_buf *series, uint64_t time, double value)
{
    sn_buf_u8(to, UNICODE);
    sn_buf_u32(to, (uint32_t)series->size);
    sn_buf_append(to, series->bytes, series->size);
    if (time <= INT32_MAX) {
        sn_buf_u8(to, INT);
        sn_buf_u32(to, (uint32_t)time);
    } else {
        put_float(to, (double)time);
    }
    put_float(to, value);
    sn_buf_u8(to, PAIR);
    sn_buf_u8(to, PAIR);
}

/* --- lines --- */

static void put_line(struct sn_buf *to, const struct sn_buf *series, uint64_t time, double value)
{
    char number[32];
    sn_buf_append(to, series->bytes, series->size);
    sn_buf_u8(to, ' ');
    sn_buf_text(to, sn_text_exact_real(value, number));
    sn_buf_u8(to, ' ');
    sn_buf_decimal(to, time);
    sn_buf_u8(to, '\n');
}

/* --- both --- */

static void put_tag_name(struct sn_buf *to, const char *name)
{
    sn_export_word(to, name, "-.");
}

/* A value does not begin with `~`; and one that ends in `"}` would be taken for another format. */
static void put_tag_value(struct sn_buf *to, const char *value)
{
    size_t start = to->size;
    sn_export_clean(to, value, ";\"", SN_EXPORT_WORD_MAX);
    if (to->size > start && to->bytes[start] == '~')
        to->bytes[start] = '_';
}

static bool put_tags(struct sn_buf *to, const struct sonde_point *point,
                     const struct sn_export_labels *labels)
{
    /* Graphite keeps the series' own name as a tag `name`. */
    static const struct sn_label_rules rules = {.put_name = put_tag_name,
                                                .put_value = put_tag_value,
                                                .process = "process",
                                                .reserved = "name",
                                                .joiner = ","};
    SN_AUTO(sn_label_set_done) struct sn_label_set set;
    if (!sn_label_set_init(&set, &rules, point, labels))
        return false;
    for (size_t i = 0; i < set.count; i++) {
        sn_buf_u8(to, ';');
        sn_buf_text(to, set.items[i].name);
        sn_buf_u8(to, '=');
        sn_buf_text(to, set.items[i].value);
    }
    return true;
}

static void put_number(const struct sn_graphite_options *options, const struct sn_buf *series,
                       uint64_t utc_ns, double value, struct sn_buf *to)
{
    if (options->pickle)
        put_pickled(to, series, utc_ns / NS_A_SECOND, value);
    else
        put_line(to, series, utc_ns / NS_A_SECOND, value);
}

size_t sn_graphite_point(const struct sn_graphite_options *options, const struct sonde_point *point,
                         const struct sn_export_labels *labels, struct sn_buf *to)
{
    struct sn_export_field fields[SN_EXPORT_FIELDS_MAX];
    size_t count = sn_export_fields(point, fields);
    SN_AUTO(sn_buf_done) struct sn_buf path = sn_buf_with_limit(SN_EXPORT_PATH_ROOM);
    SN_AUTO(sn_buf_done) struct sn_buf tags = sn_buf_with_limit(SERIES_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf series = sn_buf_with_limit(SERIES_MAX);
    sn_export_path(&path, options->prefix, point, options->no_tags ? labels : NULL);
    if (!options->no_tags && !put_tags(&tags, point, labels))
        return 0;
    size_t written = 0;
    for (size_t i = 0; i < count && !path.failed && !tags.failed; i++) {
        sn_buf_clear(&series);
        sn_buf_append(&series, path.bytes, path.size);
        if (fields[i].name[0])
            sn_buf_format(&series, ".%s", fields[i].name);
        sn_buf_append(&series, tags.bytes, tags.size);
        if (series.failed)
            break;
        put_number(options, &series, point->utc_ns, fields[i].value, to);
        written++;
    }
    return written;
}

bool sn_graphite_number(const struct sn_graphite_options *options, const char *path,
                        const struct sn_export_labels *labels, double value, uint64_t utc_ns,
                        struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf series = sn_buf_with_limit(SERIES_MAX);
    sn_export_path_head(&series, options->prefix, options->no_tags ? labels : NULL);
    sn_export_dotted(&series, path);
    if (!options->no_tags && !put_tags(&series, NULL, labels))
        return false;
    if (!isfinite(value) || series.failed)
        return false;
    put_number(options, &series, utc_ns, value, to);
    return true;
}
