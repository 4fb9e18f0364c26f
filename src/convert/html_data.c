#include "convert/html_data.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/table.h"
#include "convert/html_page.h"
#include "convert/html_prune.h"

/* Texts that occur often, each written once. */
struct words {
    const char **texts;
    size_t count;
    struct sn_table index; /* hash -> index + 1; on a collision the next hash is tried */
};

static void words_done_auto(struct words *words)
{
    free(words->texts);
    sn_table_done(&words->index);
}

/* --- words --- */

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 1099511628211u;
    return hash;
}

/* SN_NO_INDEX without memory. `texts` has room for one a frame and one more. */
static uint32_t word_index(struct words *words, const char *text)
{
    for (uint64_t hash = hash_of(text);; hash++) {
        uint64_t *place = sn_table_put(&words->index, hash);
        if (!place)
            return SN_NO_INDEX;
        if (!*place) {
            words->texts[words->count++] = text;
            *place = words->count;
        }
        if (strcmp(words->texts[*place - 1], text) == 0)
            return (uint32_t)(*place - 1);
    }
}

/* --- columns of JSON --- */

struct writer {
    struct sn_stream *stream;
    struct sn_json *json;
    const struct sn_html_profile *page;
    const struct sn_profile *profile;
};

static void write_number(const struct writer *writer, uint64_t value)
{
    sn_json_u64(writer->json, NULL, value);
    sn_stream_settle(writer->stream);
}

static void write_text(const struct writer *writer, const char *text)
{
    sn_json_text(writer->json, NULL, text);
    sn_stream_settle(writer->stream);
}

static const char *view_label(const struct writer *writer, size_t column)
{
    static const char *const known[][2] = {
        {"cpu", "CPU time"},    {"wall", "Wall time"},        {"wait", "Waiting"},
        {"samples", "Samples"}, {"bytes", "Allocated bytes"}, {"count", "Count"},
        {"time", "Time"},
    };
    const char *name = writer->profile->columns[column].name;
    if (writer->page->labels[column])
        return writer->page->labels[column];
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(known[i][0], name) == 0)
            return known[i][1];
    }
    return name;
}

static const char *unit_name(uint8_t unit, bool is_rate)
{
    switch (unit) {
    case SN_UNIT_NS: return is_rate ? "ns/s" : "ns";
    case SN_UNIT_BYTES: return is_rate ? "bytes/s" : "bytes";
    default: return is_rate ? "count/s" : "count";
    }
}

/* The one to begin with, then every other that has something in it. */
static size_t pick_columns(const struct writer *writer, size_t columns[SN_COLUMN_MAX])
{
    size_t first = writer->page->column > 0 ? (size_t)writer->page->column : 0;
    size_t count = 0;
    columns[count++] = first;
    for (size_t i = 0; i < writer->profile->column_count; i++) {
        bool is_wanted =
            writer->page->is_diff || sn_profile_total(writer->profile, (int)i, SN_NO_INDEX);
        if (i != first && is_wanted)
            columns[count++] = i;
    }
    return count;
}

static void write_views(const struct writer *writer, const size_t *columns, size_t count)
{
    struct sn_json *json = writer->json;
    sn_json_array(json, "views");
    for (size_t i = 0; i < count; i++) {
        const struct sn_column *column = &writer->profile->columns[columns[i]];
        sn_json_object(json, NULL);
        sn_json_text(json, "name", column->name);
        sn_json_text(json, "label", view_label(writer, columns[i]));
        sn_json_text(json, "unit", unit_name(column->unit, writer->page->is_diff));
        sn_json_real(json, "scale", writer->page->is_diff ? 1.0 / SN_HTML_DIFF_SCALE : 1);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_threads(const struct writer *writer)
{
    struct sn_json *json = writer->json;
    sn_json_array(json, "threads");
    for (size_t i = 0; i < writer->profile->thread_count && !writer->page->merge_threads; i++) {
        const struct sn_profile_thread *thread = &writer->profile->threads[i];
        sn_json_object(json, NULL);
        sn_json_u64(json, "id", thread->thread_id);
        sn_json_text(json, "name", thread->name);
        sn_json_close(json);
        sn_stream_settle(writer->stream);
    }
    sn_json_close(json);
}

static const char *module_of(const struct sn_frame *frame)
{
    return frame->module;
}

static const char *space_of(const struct sn_frame *frame)
{
    return frame->name_space;
}

/* `key`: the index of a text for each frame, inside "frames"; the texts themselves are collected.
 */
static void write_words(const struct writer *writer, struct words *words, const char *key,
                        const char *(*text_of)(const struct sn_frame *frame))
{
    size_t count = writer->profile->frame_count;
    words->texts = calloc(count + 1, sizeof(*words->texts));
    words->index = sn_table_with_limit(count + 1);
    sn_json_array(writer->json, key);
    for (size_t i = 0; i < count && words->texts; i++) {
        uint32_t index = word_index(words, text_of(&writer->profile->frames[i]));
        if (index == SN_NO_INDEX)
            (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a page");
        write_number(writer, index);
    }
    if (!words->texts)
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a page");
    sn_json_close(writer->json);
}

static void write_word_list(const struct writer *writer, const struct words *words, const char *key)
{
    sn_json_array(writer->json, key);
    for (size_t i = 0; i < words->count; i++)
        write_text(writer, words->texts[i]);
    sn_json_close(writer->json);
}

static void write_names(const struct writer *writer)
{
    bool full = writer->page->full_names;
    sn_json_array(writer->json, "name");
    for (size_t i = 0; i < writer->profile->frame_count; i++)
        write_text(writer,
                   full ? writer->profile->frames[i].full_name : writer->profile->frames[i].name);
    sn_json_close(writer->json);
    sn_json_array(writer->json, "detail"); /* what the name does not say, or nothing */
    for (size_t i = 0; i < writer->profile->frame_count; i++) {
        const struct sn_frame *frame = &writer->profile->frames[i];
        bool is_same = strcmp(frame->name, frame->full_name) == 0;
        write_text(writer, is_same || full ? "" : frame->full_name);
    }
    sn_json_close(writer->json);
}

/* "Orders.cs:42"; nothing at all when no frame has a place. */
static void write_sources(const struct writer *writer)
{
    size_t count = 0;
    for (size_t i = 0; i < writer->profile->frame_count; i++)
        count += writer->profile->frames[i].file != NULL;
    if (!count)
        return;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    sn_json_array(writer->json, "source");
    for (size_t i = 0; i < writer->profile->frame_count; i++) {
        const struct sn_frame *frame = &writer->profile->frames[i];
        sn_buf_clear(&text);
        if (frame->file)
            sn_buf_text(&text, frame->file);
        if (frame->file && frame->line)
            sn_buf_format(&text, ":%u", frame->line);
        write_text(writer, sn_buf_string(&text));
    }
    sn_json_close(writer->json);
}

static void write_frames(const struct writer *writer)
{
    SN_AUTO(words_done) struct words modules = {0};
    SN_AUTO(words_done) struct words spaces = {0};
    struct sn_json *json = writer->json;
    sn_json_object(json, "frames");
    write_names(writer);
    write_words(writer, &modules, "module", module_of);
    write_words(writer, &spaces, "space", space_of);
    sn_json_array(json, "kind");
    for (size_t i = 0; i < writer->profile->frame_count; i++)
        write_number(writer, writer->profile->frames[i].kind);
    sn_json_close(json);
    sn_json_array(json, "flags");
    for (size_t i = 0; i < writer->profile->frame_count; i++)
        write_number(writer, sn_frame_flags(&writer->profile->frames[i]));
    sn_json_close(json);
    write_sources(writer);
    sn_json_close(json);
    write_word_list(writer, &modules, "modules");
    write_word_list(writer, &spaces, "spaces");
}

static void write_nodes(const struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    sn_json_object(writer->json, "nodes");
    sn_json_array(writer->json, "parent");
    for (size_t i = 0; i < profile->node_count; i++)
        write_number(writer, i ? profile->nodes[i].parent : 0);
    sn_json_close(writer->json);
    sn_json_array(writer->json, "frame");
    for (size_t i = 0; i < profile->node_count; i++)
        write_number(writer, i ? profile->nodes[i].frame : 0); /* the root has none */
    sn_json_close(writer->json);
    sn_json_close(writer->json);
}

static void write_rows(const struct writer *writer, const size_t *columns, size_t count)
{
    const struct sn_profile *profile = writer->profile;
    struct sn_json *json = writer->json;
    sn_json_object(json, "rows");
    sn_json_array(json, "thread");
    for (size_t i = 0; i < profile->row_count && !writer->page->merge_threads; i++)
        write_number(writer, profile->rows[i].thread);
    sn_json_close(json);
    sn_json_array(json, "node");
    for (size_t i = 0; i < profile->row_count; i++)
        write_number(writer, profile->rows[i].node);
    sn_json_close(json);
    sn_json_array(json, "values");
    for (size_t column = 0; column < count; column++) {
        sn_json_array(json, NULL);
        for (size_t i = 0; i < profile->row_count; i++)
            write_number(writer, profile->rows[i].values[columns[column]]);
        sn_json_close(json);
    }
    sn_json_close(json);
    sn_json_close(json);
}

void sn_html_data_write(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_html_profile *page)
{
    SN_AUTO(sn_profile_free) struct sn_profile *pruned = NULL;
    struct writer writer = {stream, json, page, page->profile};
    size_t columns[SN_COLUMN_MAX];
    if (sn_html_is_too_large(page->profile)) {
        if (sn_html_prune(page->profile, &pruned, &stream->err) != SONDE_OK)
            return;
        writer.profile = pruned;
    }
    size_t count = pick_columns(&writer, columns);
    sn_json_object(json, NULL);
    write_views(&writer, columns, count);
    write_threads(&writer);
    write_frames(&writer);
    write_nodes(&writer);
    write_rows(&writer, columns, count);
    sn_json_bool(json, "diff", page->is_diff);
    sn_json_close(json);
}
