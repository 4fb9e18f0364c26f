/* Makes the stream of a process that logs, as Microsoft-Extensions-Logging writes it, with messages
 * that no honest runtime would send. For tests. */
#ifndef LOG_STREAM_H
#define LOG_STREAM_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/error.h"

#define LOG_STREAM_MAX (64u << 20)

struct log_stream {
    struct sn_buf bytes;
    struct sn_nettrace_writer *writer;
    uint32_t sequence;
    uint64_t now_ns;
    bool has_failed;
};

static const struct sn_field log_fields[] = {
    {.name = "Level", .type = SN_TYPE_I32},
    {.name = "FactoryID", .type = SN_TYPE_I32},
    {.name = "LoggerName", .type = SN_TYPE_STRING16},
    {.name = "EventId", .type = SN_TYPE_I32},
    {.name = "EventName", .type = SN_TYPE_STRING16},
    {.name = "ExceptionJson", .type = SN_TYPE_STRING16},
    {.name = "ArgumentsJson", .type = SN_TYPE_STRING16},
    {.name = "FormattedMessage", .type = SN_TYPE_STRING16},
};

static const struct sn_schema log_schema = {.provider = "Microsoft-Extensions-Logging",
                                            .name = "MessageJson",
                                            .event_id = 5,
                                            .version = 1,
                                            .level = 5,
                                            .has_layout = true,
                                            .field_count = sizeof(log_fields) / sizeof(*log_fields),
                                            .fields = log_fields};

static inline int log_stream_keep(void *user, const void *bytes, size_t size,
                                  struct sonde_error *err)
{
    struct log_stream *stream = user;
    (void)err;
    sn_buf_append(&stream->bytes, bytes, size);
    return stream->bytes.failed ? SONDE_E_NOMEM : SONDE_OK;
}

static inline void log_stream_begin(struct log_stream *stream)
{
    const struct sn_trace_info info = {.format_version = 4,
                                       .start_utc_ns = 1700000000000000000u,
                                       .start_ticks = 1000,
                                       .ticks_per_second = 1000000000u,
                                       .pointer_size = 8,
                                       .pid = 77,
                                       .processor_count = 1};
    *stream = (struct log_stream){.bytes = sn_buf_with_limit(LOG_STREAM_MAX), .now_ns = 2000};
    stream->has_failed = sn_nettrace_writer_new(4, &info, log_stream_keep, stream, &stream->writer,
                                                NULL) != SONDE_OK;
}

static inline void log_stream_text(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

/* A message of the category "Shop". */
static inline void log_stream_add(struct log_stream *stream, const char *text,
                                  const char *arguments_json)
{
    struct sn_buf payload = sn_buf_with_limit(LOG_STREAM_MAX);
    sn_buf_u32(&payload, 2);
    sn_buf_u32(&payload, 1);
    log_stream_text(&payload, "Shop");
    sn_buf_u32(&payload, 7);
    log_stream_text(&payload, "Said");
    log_stream_text(&payload, "{}");
    log_stream_text(&payload, arguments_json);
    log_stream_text(&payload, text);
    stream->now_ns += 1000;
    const struct sn_event event = {.schema = &log_schema,
                                   .time_ns = stream->now_ns,
                                   .pid = 77,
                                   .cpu = UINT32_MAX,
                                   .thread_id = 5,
                                   .capture_thread_id = 5,
                                   .sequence = ++stream->sequence,
                                   .pointer_size = 8,
                                   .payload = payload.bytes,
                                   .payload_size = (uint32_t)payload.size};
    stream->has_failed |= !stream->writer || payload.failed ||
                          sn_nettrace_writer_event(stream->writer, &event, NULL) != SONDE_OK;
    sn_buf_done(&payload);
}

/* A message whose text is `size` times one letter. */
static inline void log_stream_add_large(struct log_stream *stream, size_t size)
{
    char *text = malloc(size + 1);
    if (text) {
        memset(text, 'x', size);
        text[size] = '\0';
        log_stream_add(stream, text, "{}");
    }
    stream->has_failed |= !text;
    free(text);
}

/* What was added so far is all there, and more may come: not ended. */
static inline void log_stream_flush(struct log_stream *stream)
{
    stream->has_failed |=
        !stream->writer || sn_nettrace_writer_flush(stream->writer, NULL) != SONDE_OK;
}

static inline void log_stream_end(struct log_stream *stream)
{
    stream->has_failed |=
        !stream->writer || sn_nettrace_writer_finish(stream->writer, NULL) != SONDE_OK;
}

static inline void log_stream_done(struct log_stream *stream)
{
    sn_nettrace_writer_free(stream->writer);
    sn_buf_done(&stream->bytes);
}

#endif
