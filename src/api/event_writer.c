/* Events as lines, sonde/writer.h: the public face of convert/event_text and convert/event_json. */
#include "sonde/writer.h"

#include <stdlib.h>
#include <string.h>

#include "api/event_internal.h"
#include "api/names_internal.h"
#include "api/options_in.h"
#include "base/clock.h"
#include "base/err.h"
#include "convert/event_json.h"
#include "convert/event_text.h"
#include "flow/road.h"
#include "model/event.h"
#include "model/trace_info.h"

#define HELD_LIMIT (256u << 20) /* an event is far smaller; owners clear it at every turn */

struct sonde_writer {
    bool is_json;
    struct sn_event_text text;
    struct sn_event_json json;
    struct sn_buf out;
};

int sonde_writer_new(const struct sonde_writer_options *options, struct sonde_writer **ret_writer,
                     struct sonde_error *err)
{
    struct sonde_writer_options known;
    int rc = sn_options_in(options, &known, sizeof(known), "writer options", err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a writer of events");
    writer->is_json = known.format == SONDE_WRITER_NDJSON;
    writer->out = sn_buf_with_limit(HELD_LIMIT);
    sn_event_json_init(&writer->json, !known.stacks);
    sn_event_text_init(&writer->text);
    writer->text.has_stacks = known.stacks;
    writer->text.has_colour = known.colour;
    writer->text.value_max = known.value_max;
    *ret_writer = writer;
    return SONDE_OK;
}

void sonde_writer_free(struct sonde_writer *writer)
{
    if (!writer)
        return;
    sn_event_json_done(&writer->json);
    sn_event_text_done(&writer->text);
    sn_buf_done(&writer->out);
    free(writer);
}

static const char *frame_name(void *user, const struct sn_event *event, uint32_t index)
{
    const struct sonde_writer_source *source = user;
    return sn_names_frame(source->names, source->pid, event, index);
}

/* Half an event is none. */
static int write_event(struct sonde_writer *writer, const struct sonde_writer_source *source,
                       const struct sn_event *event, const struct sn_trace_info *info)
{
    struct sn_event_owner owner = {.pid = source->pid,
                                   .process = source->process,
                                   .frame = source->names ? frame_name : NULL,
                                   .user = (void *)(uintptr_t)source};
    size_t before = writer->out.size;
    writer->json.owner = writer->text.owner = owner;
    if (info) {
        sn_event_json_clock(&writer->json, info);
        sn_event_text_clock(&writer->text, info);
    }
    if (writer->is_json)
        sn_event_json_write(&writer->json, event, &writer->out);
    else
        sn_event_text_write(&writer->text, event, &writer->out);
    if (!writer->out.failed)
        return SONDE_OK;
    writer->out.size = before;
    writer->out.failed = false;
    return SONDE_E_NOMEM;
}

int sonde_writer_event(struct sonde_writer *writer, const struct sonde_writer_source *source,
                       const struct sonde_event *event)
{
    return write_event(writer, source, event->event, event->info);
}

int sonde_writer_lost(struct sonde_writer *writer, const struct sonde_writer_source *source,
                      uint64_t thread_id, uint64_t count)
{
    struct sn_event event = {.schema = &sn_lost_schema,
                             .time_ns = sn_clock_monotonic_ns(),
                             .pid = source->pid,
                             .thread_id = thread_id,
                             .capture_thread_id = thread_id,
                             .pointer_size = sizeof(void *),
                             .payload = (const uint8_t *)&count,
                             .payload_size = sizeof(count)};
    return write_event(writer, source, &event, NULL);
}

const char *sonde_writer_bytes(const struct sonde_writer *writer, size_t *ret_size)
{
    *ret_size = writer->out.size;
    return (const char *)writer->out.bytes;
}

void sonde_writer_clear(struct sonde_writer *writer)
{
    sn_buf_clear(&writer->out);
}
