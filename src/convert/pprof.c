/* pprof's profile.proto, gzipped. Encoded by hand: seven small messages of varints and strings, for
 * which a protobuf library would be larger than all of convert, and this one streams. */
#include "convert/writers.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/protobuf.h"
#include "base/stream.h"
#include "base/table.h"
#include "base/text.h"
#include "convert/formats.h"
#include "convert/label.h"
#include "model/profile.h"

#define LABEL_LIMIT  (4u << 20)
#define MODULE_LIMIT 65536u
#define CHUNK        65536u
#define GZIP_WINDOW  (15 + 16) /* the largest, and a gzip header */

/* Field numbers of message Profile. */
enum profile_field {
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING_TABLE = 6,
    TIME_NANOS = 9,
    DURATION_NANOS = 10,
    COMMENT = 13,
    DEFAULT_SAMPLE_TYPE = 14,
};

/* The strings that are always there, by their index in the table. */
enum fixed_string {
    EMPTY,
    THREAD,
    THREAD_ID,
    UNIT_COUNT, /* in the order of enum sn_unit */
    UNIT_NS,
    UNIT_BYTES,
    NO_STACK,
    NOTE,
    FIXED_STRINGS,
};

/* Behind them: columns, then what frames are called (three each), threads, modules. */
#define STRINGS_A_FRAME 3u

struct writer {
    struct sn_stream *stream;
    const struct sn_profile *profile;
    const struct sn_format_options *options;
    z_stream zip;
    struct sn_buf plain;   /* on its way to the compressor */
    struct sn_buf message; /* the one being built, and one inside it */
    struct sn_buf inner;
    struct sn_buf label;
    size_t columns[SN_COLUMN_MAX]; /* those that are written, the view's first */
    size_t column_count;
    struct sn_table modules; /* hash of a name -> its mapping's id */
    const char **mapped;     /* owns; names by id - 1 */
    size_t module_count;
    size_t module_capacity;
};

/* --- compressing --- */

static void compress_plain(struct writer *writer, int flush)
{
    z_stream *zip = &writer->zip;
    if (writer->plain.failed)
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    zip->next_in = writer->plain.bytes;
    zip->avail_in = (uInt)writer->plain.size;
    do {
        uint8_t *to = sn_buf_reserve(&writer->stream->buf, CHUNK);
        if (!to)
            break;
        zip->next_out = to;
        zip->avail_out = CHUNK;
        (void)deflate(zip, flush); /* has room: it can only go on or be done */
        sn_buf_grow(&writer->stream->buf, CHUNK - zip->avail_out);
        sn_stream_settle(writer->stream);
    } while (zip->avail_out == 0);
    sn_buf_clear(&writer->plain);
}

static void settle(struct writer *writer)
{
    if (writer->plain.size >= CHUNK || writer->plain.failed)
        compress_plain(writer, Z_NO_FLUSH);
}

/* --- messages --- */

static void put_inner(struct writer *writer, unsigned field)
{
    sn_protobuf_bytes(&writer->message, field, writer->inner.bytes, writer->inner.size);
    sn_buf_clear(&writer->inner);
}

static void put_message(struct writer *writer, enum profile_field field)
{
    sn_protobuf_bytes(&writer->plain, field, writer->message.bytes, writer->message.size);
    sn_buf_clear(&writer->message);
    settle(writer);
}

/* Readers refuse a whole profile for one string that is not UTF-8; names of files may be that. */
static void put_string(struct writer *writer, const char *text)
{
    struct sn_buf *valid = &writer->inner;
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        uint32_t point;
        bool is_valid;
        length = sn_text_decode(text, left, &point, &is_valid);
        sn_buf_append(valid, is_valid ? text : "\xEF\xBF\xBD", is_valid ? length : 3);
    }
    sn_protobuf_bytes(&writer->plain, STRING_TABLE, valid->bytes, valid->size);
    sn_buf_clear(valid);
    settle(writer);
}

/* --- where strings are in the table --- */

static uint64_t column_string(size_t column)
{
    return FIXED_STRINGS + column;
}

static uint64_t frame_string(const struct writer *writer, uint64_t frame)
{
    return FIXED_STRINGS + writer->profile->column_count + frame * STRINGS_A_FRAME;
}

static uint64_t thread_string(const struct writer *writer, uint64_t thread)
{
    return frame_string(writer, writer->profile->frame_count) + thread;
}

static uint64_t module_string(const struct writer *writer, uint64_t module)
{
    return thread_string(writer, writer->profile->thread_count) + module;
}

static void write_strings(struct writer *writer)
{
    static const char *const fixed[] = {[EMPTY] = "",
                                        [THREAD] = "thread",
                                        [THREAD_ID] = "thread_id",
                                        [UNIT_COUNT] = "count",
                                        [UNIT_NS] = "nanoseconds",
                                        [UNIT_BYTES] = "bytes",
                                        [NO_STACK] = SN_LABEL_NO_STACK};
    const struct sn_profile *profile = writer->profile;
    for (size_t i = 0; i < NOTE; i++)
        put_string(writer, fixed[i]);
    sn_buf_clear(&writer->label);
    sn_label_document(&writer->label, writer->options);
    put_string(writer, sn_buf_string(&writer->label));
    for (size_t i = 0; i < profile->column_count; i++)
        put_string(writer, profile->columns[i].name);
    for (size_t i = 0; i < profile->frame_count; i++) {
        const struct sn_frame *frame = &profile->frames[i];
        sn_buf_clear(&writer->label);
        sn_label_frame(&writer->label, frame, writer->options);
        put_string(writer, sn_buf_string(&writer->label));
        put_string(writer, frame->full_name);
        put_string(writer, frame->file ? frame->file : "");
    }
    for (size_t i = 0; i < profile->thread_count; i++) {
        sn_buf_clear(&writer->label);
        sn_label_thread(&writer->label, &profile->threads[i]);
        put_string(writer, sn_buf_string(&writer->label));
    }
}

/* --- messages --- */

/* Without CPU times, the columns that need them are noughts that would pass for measured. */
static void choose_columns(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    writer->columns[writer->column_count++] = (size_t)writer->options->column;
    for (size_t i = 0; i < profile->column_count; i++) {
        const char *name = profile->columns[i].name;
        bool needs_cpu = strcmp(name, "cpu") == 0 || strcmp(name, "wait") == 0;
        bool is_view = (int)i == writer->options->column;
        if (!is_view && (!needs_cpu || writer->options->has_cpu))
            writer->columns[writer->column_count++] = i;
    }
}

static void write_value_types(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    for (size_t i = 0; i < writer->column_count; i++) {
        size_t column = writer->columns[i];
        sn_protobuf_varint(&writer->message, 1, column_string(column));
        sn_protobuf_varint(&writer->message, 2,
                           UNIT_COUNT + (uint64_t)profile->columns[column].unit);
        put_message(writer, SAMPLE_TYPE);
    }
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001B3u;
    return hash;
}

static void write_mapping(struct writer *writer, uint64_t id)
{
    sn_protobuf_varint(&writer->message, 1, id);
    sn_protobuf_varint(&writer->message, 5, module_string(writer, id - 1));
    sn_protobuf_varint(&writer->message, 7, 1); /* has functions: nothing is left to look up */
    sn_protobuf_varint(&writer->message, 8, 1); /* and file names, */
    sn_protobuf_varint(&writer->message, 9, 1); /* and lines, as far as they are known */
    put_message(writer, MAPPING);
}

/* The mapping of a module, written when it is met first, with its name for the table; 0: none. */
static uint64_t mapping_of(struct writer *writer, const char *module)
{
    uint64_t hash = hash_of(module);
    uint64_t *id = module[0] ? sn_table_put(&writer->modules, hash) : NULL;
    while (id && *id && strcmp(writer->mapped[*id - 1], module) != 0) /* another of that hash */
        id = sn_table_put(&writer->modules, ++hash);
    if (!id || *id)
        return id ? *id : 0;
    const char **mapped = sn_array_room(writer->mapped, writer->module_count,
                                        &writer->module_capacity, sizeof(*mapped));
    if (!mapped)
        return 0;
    writer->mapped = mapped;
    mapped[writer->module_count] = module;
    *id = ++writer->module_count;
    put_string(writer, module);
    write_mapping(writer, *id);
    return *id;
}

static void write_frame(struct writer *writer, uint64_t index)
{
    const struct sn_frame *frame = &writer->profile->frames[index];
    uint64_t mapping = mapping_of(writer, frame->module);
    uint64_t string = frame_string(writer, index);
    sn_protobuf_varint(&writer->message, 1, index + 1);
    sn_protobuf_varint(&writer->message, 2, string);
    sn_protobuf_varint(&writer->message, 3, string + 1);
    sn_protobuf_varint(&writer->message, 4, frame->file ? string + 2 : EMPTY);
    put_message(writer, FUNCTION);
    sn_protobuf_varint(&writer->inner, 1, index + 1);
    sn_protobuf_varint(&writer->inner, 2, frame->line);
    sn_protobuf_varint(&writer->message, 1, index + 1);
    sn_protobuf_varint(&writer->message, 2, mapping);
    put_inner(writer, 4);
    put_message(writer, LOCATION);
}

/* The one behind all frames. */
static void write_stackless(struct writer *writer)
{
    uint64_t id = writer->profile->frame_count + 1;
    sn_protobuf_varint(&writer->message, 1, id);
    sn_protobuf_varint(&writer->message, 2, NO_STACK);
    put_message(writer, FUNCTION);
    sn_protobuf_varint(&writer->inner, 1, id);
    sn_protobuf_varint(&writer->message, 1, id);
    put_inner(writer, 4);
    put_message(writer, LOCATION);
}

static void put_label(struct writer *writer, uint64_t key, uint64_t string, uint64_t number)
{
    sn_protobuf_varint(&writer->inner, 1, key);
    sn_protobuf_varint(&writer->inner, 2, string);
    sn_protobuf_varint(&writer->inner, 3, number);
    put_inner(writer, 3);
}

/* `thread` SN_NO_INDEX: of all of them. */
static void write_sample(struct writer *writer, uint32_t node, uint32_t thread,
                         const uint64_t *values)
{
    const struct sn_profile *profile = writer->profile;
    if (!node)
        sn_buf_varuint(&writer->inner, profile->frame_count + 1);
    for (; node; node = profile->nodes[node].parent)
        sn_buf_varuint(&writer->inner, profile->nodes[node].frame + 1u);
    put_inner(writer, 1);
    for (size_t i = 0; i < writer->column_count; i++)
        sn_buf_varuint(&writer->inner, values[writer->columns[i]]);
    put_inner(writer, 2);
    if (thread != SN_NO_INDEX) {
        put_label(writer, THREAD, thread_string(writer, thread), 0);
        put_label(writer, THREAD_ID, 0, profile->threads[thread].thread_id);
    }
    put_message(writer, SAMPLE);
}

static void write_merged(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    struct sn_row *sums = calloc(profile->node_count + 1, sizeof(*sums));
    if (!sums) {
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
        return;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct sn_row *row = &profile->rows[i];
        sums[row->node].thread++;
        for (size_t column = 0; column < profile->column_count; column++)
            sums[row->node].values[column] += row->values[column];
    }
    for (uint32_t i = 0; i < profile->node_count; i++) {
        if (sums[i].thread)
            write_sample(writer, i, SN_NO_INDEX, sums[i].values);
    }
    free(sums);
}

static void write_samples(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    if (writer->options->merge_threads)
        write_merged(writer);
    for (size_t i = 0; i < profile->row_count && !writer->options->merge_threads; i++)
        write_sample(writer, profile->rows[i].node, profile->rows[i].thread,
                     profile->rows[i].values);
}

static void write_document(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    choose_columns(writer);
    write_value_types(writer);
    sn_protobuf_varint(&writer->plain, TIME_NANOS, profile->start_utc_ns);
    sn_protobuf_varint(&writer->plain, DURATION_NANOS, profile->end_ns - profile->start_ns);
    sn_protobuf_varint(&writer->plain, COMMENT, NOTE);
    sn_protobuf_varint(&writer->plain, DEFAULT_SAMPLE_TYPE,
                       column_string((size_t)writer->options->column));
    write_strings(writer);
    for (size_t i = 0; i < profile->frame_count; i++)
        write_frame(writer, i);
    write_stackless(writer);
    write_samples(writer);
    compress_plain(writer, Z_FINISH);
}

void sn_pprof_write(struct sn_stream *stream, const struct sn_profile *profile,
                    const struct sn_format_options *options)
{
    struct writer writer = {.stream = stream,
                            .profile = profile,
                            .options = options,
                            .plain = sn_buf_with_limit(64u << 20),
                            .message = sn_buf_with_limit(16u << 20),
                            .inner = sn_buf_with_limit(16u << 20),
                            .label = sn_buf_with_limit(LABEL_LIMIT),
                            .modules = sn_table_with_limit(MODULE_LIMIT)};
    if (deflateInit2(&writer.zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) == Z_OK) {
        write_document(&writer);
        (void)deflateEnd(&writer.zip);
    } else {
        (void)sn_fail(&stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    }
    sn_buf_done(&writer.plain);
    sn_buf_done(&writer.message);
    sn_buf_done(&writer.inner);
    sn_buf_done(&writer.label);
    sn_table_done(&writer.modules);
    free(writer.mapped);
}
