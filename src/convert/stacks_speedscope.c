/* Stacks in speedscope's format, one evented profile a thread, each of length one: with readable
 * names, or with dotnet-monitor's. Its schema is at
 * https://www.speedscope.app/file-format-schema.json. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/table.h"
#include "base/text.h"

#define LABEL_LIMIT  (1u << 20)
#define FRAMES_LIMIT (1u << 20)

typedef void label_frame_fn(struct sn_buf *to, const struct sonde_stack_frame *frame);

struct writer {
    struct sn_stream *stream;
    struct sn_json json;
    const struct sn_stacks_view *view;
    label_frame_fn *label_frame;
    bool is_monitor;
    struct sn_table frames; /* a frame's key -> its index + 1 */
    struct sn_buf label;
};

static void label_readable(struct sn_buf *to, const struct sonde_stack_frame *frame)
{
    sn_buf_text(to, frame->name);
}

static void label_monitor(struct sn_buf *to, const struct sonde_stack_frame *frame)
{
    if (frame->method_name[0])
        sn_buf_format(to, "%s!%s.%s", frame->module, frame->type_name, frame->method_name);
    else
        sn_buf_text(to, "UnknownClass");
}

static const char *label_of(struct writer *writer, const struct sonde_stack_frame *frame)
{
    sn_buf_clear(&writer->label);
    writer->label_frame(&writer->label, frame);
    return sn_buf_string(&writer->label);
}

static uint64_t key_of(struct writer *writer, const struct sonde_stack_frame *frame)
{
    uint64_t key = sn_text_hash(0, label_of(writer, frame));
    return sn_text_hash(key, frame->file) + frame->line;
}

static void write_frame(struct writer *writer, const struct sonde_stack_frame *frame)
{
    uint64_t *slot = sn_table_put(&writer->frames, key_of(writer, frame));
    if (!slot) {
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
        return;
    }
    if (*slot)
        return;
    *slot = writer->frames.count;
    sn_json_object(&writer->json, NULL);
    sn_json_text(&writer->json, "name", label_of(writer, frame));
    if (frame->file[0])
        sn_json_text(&writer->json, "file", frame->file);
    if (frame->file[0] && frame->line)
        sn_json_u64(&writer->json, "line", frame->line);
    sn_json_close(&writer->json);
    sn_stream_settle(writer->stream);
}

static void write_frames(struct writer *writer)
{
    sn_json_object(&writer->json, "shared");
    sn_json_array(&writer->json, "frames");
    for (size_t i = 0; i < writer->view->group_count; i++) {
        const struct sonde_stack_thread *thread =
            &writer->view->threads[writer->view->groups[i].threads[0]];
        for (size_t j = 0; j < thread->frame_count; j++)
            write_frame(writer, &thread->frames[j]);
    }
    sn_json_close(&writer->json);
    sn_json_close(&writer->json);
}

static void write_event(struct writer *writer, const char *type, uint64_t at,
                        const struct sonde_stack_frame *frame)
{
    const uint64_t *index = sn_table_find(&writer->frames, key_of(writer, frame));
    sn_json_object(&writer->json, NULL);
    sn_json_text(&writer->json, "type", type);
    sn_json_u64(&writer->json, "frame", index ? *index - 1 : 0);
    sn_json_u64(&writer->json, "at", at);
    sn_json_close(&writer->json);
    sn_stream_settle(writer->stream);
}

static const char *label_thread(struct writer *writer, const struct sonde_stack_thread *thread)
{
    sn_buf_clear(&writer->label);
    if (writer->is_monitor)
        sn_buf_format(&writer->label, "Thread: (0x%" PRIX64 ")%s%s", thread->thread_id,
                      thread->name[0] ? " " : "", thread->name);
    else
        sn_stacks_thread_label(&writer->label, writer->view, thread);
    return sn_buf_string(&writer->label);
}

static void write_thread(struct writer *writer, const struct sonde_stack_thread *thread)
{
    struct sn_json *json = &writer->json;
    sn_json_object(json, NULL);
    sn_json_text(json, "type", "evented");
    sn_json_text(json, "name", label_thread(writer, thread));
    sn_json_text(json, "unit", "none");
    sn_json_u64(json, "startValue", 0);
    sn_json_u64(json, "endValue", 1);
    sn_json_array(json, "events");
    for (size_t i = thread->frame_count; i > 0; i--)
        write_event(writer, "O", 0, &thread->frames[i - 1]);
    for (size_t i = 0; i < thread->frame_count; i++)
        write_event(writer, "C", 1, &thread->frames[i]);
    sn_json_close(json);
    sn_json_close(json);
}

static void write_document(struct writer *writer)
{
    struct sn_json *json = &writer->json;
    sn_json_object(json, NULL);
    sn_json_text(json, "exporter", "sonde@" SONDE_VERSION);
    sn_json_text(json, "name", writer->is_monitor ? "speedscope.json" : writer->view->name);
    sn_json_u64(json, "activeProfileIndex", 0);
    sn_json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    write_frames(writer);
    sn_json_array(json, "profiles");
    for (size_t i = 0; i < writer->view->thread_count; i++)
        write_thread(writer, &writer->view->threads[i]);
    sn_json_close(json);
    sn_json_close(json);
}

static void write_as(struct sn_stream *stream, const struct sn_stacks_view *view,
                     label_frame_fn *label_frame, bool is_monitor)
{
    struct writer writer = {.stream = stream,
                            .json = sn_json_to(&stream->buf),
                            .view = view,
                            .label_frame = label_frame,
                            .is_monitor = is_monitor,
                            .frames = sn_table_with_limit(FRAMES_LIMIT),
                            .label = sn_buf_with_limit(LABEL_LIMIT)};
    write_document(&writer);
    sn_table_done(&writer.frames);
    sn_buf_done(&writer.label);
}

void sn_stacks_speedscope_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    write_as(stream, view, label_readable, false);
}

void sn_stacks_monitor_speedscope_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    write_as(stream, view, label_monitor, true);
}
