/* Folded stacks: "outermost;...;innermost value", one line a stack, as flame graph scripts read. */
#include "convert/writers.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/formats.h"
#include "convert/label.h"
#include "model/profile.h"

#define LABEL_LIMIT (4u << 20)
#define SAFE_LIMIT  (32u << 20) /* a byte becomes \xNN at most, a character of three \u{NNNN} */

struct writer {
    struct sn_stream *stream;
    const struct sn_profile *profile;
    const struct sn_format_options *options;
    struct sn_buf label;
    struct sn_buf safe;
    uint32_t *path;
    size_t path_capacity;
};

/* A semicolon would begin another frame and a line feed another stack. Readers take the value from
 * behind the last space, so the spaces in names do no harm. */
static void write_safely(struct writer *writer)
{
    struct sn_buf *out = &writer->stream->buf;
    sn_buf_clear(&writer->safe);
    sn_text_printable(&writer->safe, (const char *)writer->label.bytes, writer->label.size);
    const char *at = sn_buf_string(&writer->safe);
    for (size_t length; (length = strcspn(at, ";")), at[length]; at += length + 1) {
        sn_buf_append(out, at, length);
        sn_buf_text(out, "\\x3b");
    }
    sn_buf_text(out, at);
}

static bool is_deeper_than_room(struct writer *writer, size_t depth)
{
    if (depth < writer->path_capacity)
        return false;
    size_t capacity = writer->path_capacity ? writer->path_capacity * 2 : 256;
    uint32_t *path = realloc(writer->path, capacity * sizeof(*path));
    if (!path)
        return true;
    writer->path = path;
    writer->path_capacity = capacity;
    return false;
}

static void write_stack(struct writer *writer, uint32_t node)
{
    const struct sn_profile *profile = writer->profile;
    size_t depth = 0;
    if (!node)
        sn_buf_text(&writer->stream->buf, SN_LABEL_NO_STACK);
    for (; node; node = profile->nodes[node].parent) {
        if (is_deeper_than_room(writer, depth)) {
            (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a stack");
            return;
        }
        writer->path[depth++] = profile->nodes[node].frame;
    }
    while (depth) {
        sn_buf_clear(&writer->label);
        sn_label_frame_line(&writer->label, &profile->frames[writer->path[--depth]],
                            writer->options);
        write_safely(writer);
        if (depth)
            sn_buf_u8(&writer->stream->buf, ';');
        sn_stream_settle(writer->stream);
    }
}

static void write_value(struct writer *writer, uint64_t value)
{
    sn_buf_u8(&writer->stream->buf, ' ');
    sn_buf_decimal(&writer->stream->buf, value);
    sn_buf_u8(&writer->stream->buf, '\n');
    sn_stream_settle(writer->stream);
}

static void write_row(struct writer *writer, const struct sn_row *row)
{
    uint64_t value = row->values[writer->options->column];
    if (!value)
        return;
    sn_buf_clear(&writer->label);
    sn_label_thread(&writer->label, &writer->profile->threads[row->thread]);
    write_safely(writer);
    sn_buf_u8(&writer->stream->buf, ';');
    write_stack(writer, row->node);
    write_value(writer, value);
}

static void write_merged(struct writer *writer)
{
    uint64_t *self = NULL;
    uint64_t *totals =
        sn_profile_node_totals(writer->profile, writer->options->column, SN_NO_INDEX, &self);
    if (!totals || !self)
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    for (uint32_t i = 0; totals && self && i < writer->profile->node_count; i++) {
        if (!self[i])
            continue;
        write_stack(writer, i);
        write_value(writer, self[i]);
    }
    free(totals);
    free(self);
}

void sn_collapsed_write(struct sn_stream *stream, const struct sn_profile *profile,
                        const struct sn_format_options *options)
{
    struct writer writer = {.stream = stream,
                            .profile = profile,
                            .options = options,
                            .label = sn_buf_with_limit(LABEL_LIMIT),
                            .safe = sn_buf_with_limit(SAFE_LIMIT)};
    if (options->merge_threads)
        write_merged(&writer);
    for (size_t i = 0; i < profile->row_count && !options->merge_threads; i++)
        write_row(&writer, &profile->rows[i]);
    sn_buf_done(&writer.label);
    sn_buf_done(&writer.safe);
    free(writer.path);
}
