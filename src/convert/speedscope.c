/* speedscope's own format: one evented profile a thread, written as it is walked. Its schema is at
 * https://www.speedscope.app/file-format-schema.json. */
#include "convert/writers.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/stream.h"
#include "convert/formats.h"
#include "convert/label.h"
#include "convert/spans.h"
#include "model/profile.h"

#define LABEL_LIMIT (4u << 20)

struct writer {
    struct sn_stream *stream;
    const struct sn_profile *profile;
    const struct sn_format_options *options;
    struct sn_spans spans;
    uint32_t *processes; /* owns; the frame of each thread's, where there are several */
    struct sn_buf label;
    bool has_event;       /* the present profile has one already */
    uint64_t at;          /* of the event before: most share it */
    struct sn_buf ending; /* and how it ends: ,"at":123} */
};

static const char *label_text(struct writer *writer)
{
    return sn_buf_string(&writer->label);
}

static void write_frame(struct writer *writer, struct sn_json *json, const struct sn_frame *frame)
{
    sn_json_object(json, NULL);
    sn_buf_clear(&writer->label);
    sn_label_frame(&writer->label, frame, writer->options);
    sn_json_text(json, "name", label_text(writer));
    if (frame->file)
        sn_json_text(json, "file", frame->file);
    if (frame->file && frame->line)
        sn_json_u64(json, "line", frame->line);
    sn_json_close(json);
    sn_stream_settle(writer->stream);
}

static void write_frames(struct writer *writer, struct sn_json *json)
{
    sn_json_object(json, "shared");
    sn_json_array(json, "frames");
    for (size_t i = 0; i < writer->profile->frame_count; i++)
        write_frame(writer, json, &writer->profile->frames[i]);
    sn_json_object(json, NULL);
    sn_json_text(json, "name", SN_LABEL_NO_STACK);
    sn_json_close(json);
    sn_json_close(json);
    sn_json_close(json);
}

/* Millions of these: no formatting, and where it happens is written once for all that happens
 * there.
 */
static void write_event(struct writer *writer, const char *start, uint32_t frame, uint64_t at)
{
    struct sn_buf *out = &writer->stream->buf;
    if (at != writer->at || !writer->ending.size) {
        sn_buf_clear(&writer->ending);
        sn_buf_text(&writer->ending, ",\"at\":");
        sn_buf_decimal(&writer->ending, at);
        sn_buf_u8(&writer->ending, '}');
        writer->at = at;
    }
    sn_buf_text(out, writer->has_event ? start : start + 1);
    sn_buf_decimal(out, frame == SN_NO_INDEX ? writer->profile->frame_count : frame);
    sn_buf_append(out, writer->ending.bytes, writer->ending.size);
    writer->has_event = true;
    sn_stream_settle(writer->stream);
}

static void open_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    (void)spent;
    write_event(user, ",{\"type\":\"O\",\"frame\":", frame, at);
}

static void close_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    (void)spent;
    write_event(user, ",{\"type\":\"C\",\"frame\":", frame, at);
}

static const char *unit_name(const struct sn_column *column)
{
    switch (column->unit) {
    case SN_UNIT_NS: return "nanoseconds";
    case SN_UNIT_BYTES: return "bytes";
    default: return "none";
    }
}

/* "shop (5730) / .NET TP Worker (5756)" */
static void label_thread(struct writer *writer, uint32_t thread)
{
    const struct sn_profile_thread *which = &writer->profile->threads[thread];
    uint32_t frame = writer->processes ? writer->processes[thread] : SN_NO_INDEX;
    if (frame != SN_NO_INDEX) {
        sn_label_process(&writer->label, &writer->profile->frames[frame], which->pid);
        sn_buf_text(&writer->label, " / ");
    }
    sn_label_thread(&writer->label, which);
}

static void write_profile(struct writer *writer, struct sn_json *json, uint32_t thread)
{
    static const struct sn_spans_ops ops = {.open = open_frame, .close = close_frame};
    sn_buf_clear(&writer->label);
    if (thread == SN_NO_INDEX) /* merged, or there is none: the viewer wants one profile at least */
        sn_buf_text(&writer->label, "all threads");
    else
        label_thread(writer, thread);
    sn_json_object(json, NULL);
    sn_json_text(json, "type", "evented");
    sn_json_text(json, "name", label_text(writer));
    sn_json_text(json, "unit", unit_name(&writer->profile->columns[writer->options->column]));
    sn_json_array(json, "events");
    writer->has_event = false;
    uint64_t end = sn_spans_walk(&writer->spans, thread, &ops, writer);
    sn_json_close(json);
    sn_json_u64(json, "startValue", 0);
    sn_json_u64(json, "endValue", end);
    sn_json_close(json);
}

static void write_profiles(struct writer *writer, struct sn_json *json)
{
    sn_json_array(json, "profiles");
    uint32_t count = 0;
    uint32_t *threads = sn_label_threads(writer->profile, writer->options->column, &count);
    if (!threads) {
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
        return;
    }
    bool is_one = writer->options->merge_threads || !count;
    if (is_one)
        write_profile(writer, json, SN_NO_INDEX);
    for (uint32_t i = 0; i < count && !is_one; i++)
        write_profile(writer, json, threads[i]);
    free(threads);
    sn_json_close(json);
}

static void write_document(struct writer *writer)
{
    struct sn_json json = sn_json_to(&writer->stream->buf);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    sn_label_document(&writer->label, writer->options);
    sn_json_text(&json, "name", label_text(writer));
    sn_json_text(&json, "exporter", "sonde@" SONDE_VERSION);
    sn_json_u64(&json, "activeProfileIndex", 0);
    write_frames(writer, &json);
    write_profiles(writer, &json);
    sn_json_close(&json);
    sn_buf_u8(&writer->stream->buf, '\n');
}

/* Wall time is drawn where it was spent, so that threads stand side by side. Other columns are less
 * than the time that passed: each is its own axis, and what it ends with is the thread's sum. */
void sn_speedscope_write(struct sn_stream *stream, const struct sn_profile *profile,
                         const struct sn_format_options *options)
{
    bool by_time = strcmp(profile->columns[options->column].name, "wall") == 0;
    struct writer writer = {.stream = stream,
                            .profile = profile,
                            .options = options,
                            .processes = sn_label_processes(profile),
                            .label = sn_buf_with_limit(LABEL_LIMIT),
                            .ending = sn_buf_with_limit(64)};
    if (sn_spans_init(&writer.spans, profile, options->column, by_time, options->merge_threads))
        write_document(&writer);
    else
        (void)sn_fail(&stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    sn_spans_done(&writer.spans);
    free(writer.processes);
    sn_buf_done(&writer.label);
    sn_buf_done(&writer.ending);
}
