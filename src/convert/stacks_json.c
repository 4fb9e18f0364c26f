/* Stacks as JSON: places with their frames, the most threads first, and the threads that are there.
 * Described in docs/formats/stacks-json.md. */
#include "convert/stacks_formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/guid_text.h"
#include "base/json.h"
#include "base/stream.h"

static void write_thread(struct sn_json *json, const struct sonde_stack_thread *thread)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "id", thread->thread_id);
    sn_json_text(json, "name", thread->name);
    sn_json_close(json);
}

static void write_frame(struct sn_json *json, const struct sonde_stack_frame *frame)
{
    static const uint8_t none[sizeof(frame->module_version_id)] = {0};
    char guid[SN_GUID_LENGTH + 1];
    char address[24];
    (void)snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
    sn_json_object(json, NULL);
    sn_json_text(json, "name", frame->name);
    if (frame->kind == SONDE_FRAME_MANAGED) {
        sn_json_text(json, "type", frame->type_name);
        sn_json_text(json, "method", frame->method_name);
        sn_json_text(json, "signature", frame->signature);
        sn_json_text(json, "module", frame->module);
        if (memcmp(frame->module_version_id, none, sizeof(none)) != 0)
            sn_json_text(json, "moduleVersionId", sn_guid_write(frame->module_version_id, guid));
        sn_json_u64(json, "token", frame->token);
    }
    sn_json_text(json, "address", address);
    if (frame->file[0])
        sn_json_text(json, "file", frame->file);
    if (frame->line)
        sn_json_u64(json, "line", frame->line);
    sn_json_close(json);
}

static void write_place(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_stacks_view *view, const struct sonde_stack_group *group)
{
    const struct sonde_stack_thread *first = &view->threads[group->threads[0]];
    sn_json_object(json, NULL);
    sn_json_array(json, "threads");
    for (size_t i = 0; i < group->thread_count; i++) {
        write_thread(json, &view->threads[group->threads[i]]);
        sn_stream_settle(stream);
    }
    sn_json_close(json);
    sn_json_array(json, "frames");
    for (size_t i = 0; i < first->frame_count; i++) {
        write_frame(json, &first->frames[i]);
        sn_stream_settle(stream);
    }
    sn_json_close(json);
    sn_json_close(json);
}

void sn_stacks_json_write(struct sn_stream *stream, const struct sn_stacks_view *view)
{
    struct sn_json json = sn_json_to(&stream->buf);
    char when[32];
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "pid", view->pid);
    sn_json_text(&json, "process", view->name);
    sn_json_text(&json, "time", sn_clock_rfc3339(view->utc_ns, when));
    sn_json_u64(&json, "threads", view->thread_count);
    sn_json_u64(&json, "missing", view->lost_count);
    sn_json_array(&json, "places");
    for (size_t i = 0; i < view->group_count; i++)
        write_place(stream, &json, view, &view->groups[i]);
    sn_json_close(&json);
    sn_json_close(&json);
    sn_buf_u8(&stream->buf, '\n');
}
