/* Stacks as dotnet-monitor writes them, for programs that read its: JSON and text. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <string.h>

#include "base/guid_text.h"
#include "base/json.h"
#include "base/stream.h"
#include "base/text.h"

#define UNKNOWN_METHOD "UnknownFunction"
#define UNKNOWN_TYPE   "UnknownClass"
#define UNKNOWN_MODULE "UnknownModule"

static const char *or_else(const char *text, const char *other)
{
    return text[0] ? text : other;
}

/* Which methods hide themselves from stack traces the runtime does not tell. */
static void write_frame(struct sn_json *json, const struct sonde_stack_frame *frame)
{
    char guid[SN_GUID_LENGTH + 1];
    sn_json_object(json, NULL);
    sn_json_text(json, "methodName", or_else(frame->method_name, UNKNOWN_METHOD));
    sn_json_u64(json, "methodToken", frame->token);
    sn_json_text(json, "typeName", or_else(frame->type_name, UNKNOWN_TYPE));
    sn_json_text(json, "moduleName", or_else(frame->module, UNKNOWN_MODULE));
    sn_json_text(json, "moduleVersionId", sn_guid_write(frame->module_version_id, guid));
    sn_json_bool(json, "hidden", false);
    sn_json_close(json);
}

void sn_stacks_monitor_json_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    struct sn_json json = sn_json_to(&stream->buf);
    sn_json_object(&json, NULL);
    sn_json_array(&json, "stacks");
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct sonde_stack_thread *thread = &view->threads[i];
        sn_json_object(&json, NULL);
        sn_json_u64(&json, "threadId", thread->thread_id);
        sn_json_text(&json, "threadName", thread->name);
        sn_json_array(&json, "frames");
        for (size_t j = 0; j < thread->frame_count; j++) {
            write_frame(&json, &thread->frames[j]);
            sn_stream_settle(stream);
        }
        sn_json_close(&json);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_close(&json);
}

static void put(struct sn_stream *stream, const char *text)
{
    sn_text_printable(&stream->buf, text, strlen(text));
}

static void write_line(struct sn_stream *stream, const struct sonde_stack_frame *frame)
{
    sn_buf_text(&stream->buf, "  ");
    if (frame->method_name[0]) {
        put(stream, or_else(frame->module, UNKNOWN_MODULE));
        sn_buf_u8(&stream->buf, '!');
        put(stream, or_else(frame->type_name, UNKNOWN_TYPE));
        sn_buf_u8(&stream->buf, '.');
        put(stream, frame->method_name);
    } else {
        sn_buf_text(&stream->buf, UNKNOWN_METHOD);
    }
    sn_buf_u8(&stream->buf, '\n');
    sn_stream_settle(stream);
}

void sn_stacks_monitor_text_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    for (size_t i = 0; i < view->thread_count; i++) {
        const struct sonde_stack_thread *thread = &view->threads[i];
        sn_buf_format(&stream->buf, "Thread: (0x%" PRIX64 ")", thread->thread_id);
        if (thread->name[0]) {
            sn_buf_u8(&stream->buf, ' ');
            put(stream, thread->name);
        }
        sn_buf_u8(&stream->buf, '\n');
        for (size_t j = 0; j < thread->frame_count; j++)
            write_line(stream, &thread->frames[j]);
        sn_buf_u8(&stream->buf, '\n');
    }
}
