/* The frames of a .nettrace stream and the blocks around events, for the writer. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "format/nettrace_internal.h"
#include "format/nettrace_writer_internal.h"

#define NS_PER_SECOND     UINT64_C(1000000000)
#define TAG_END_STREAM    0x01u
#define TAG_BEGIN         0x05u
#define TAG_END           0x06u
#define FLAG_COMPRESSED   1u
#define BLOCK_HEADER_SIZE 20u

static int put(struct sn_nettrace_writer *writer, const void *bytes, size_t size,
               struct sonde_error *err)
{
    if (!size)
        return SONDE_OK;
    int rc = writer->write(writer->user, bytes, size, err);
    if (rc == SONDE_OK)
        writer->offset += size;
    return rc;
}

static int put_frame(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (writer->frame.failed)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a block");
    return put(writer, writer->frame.bytes, writer->frame.size, err);
}

static void begin_object(struct sn_buf *frame, const char *name, uint32_t version)
{
    sn_buf_u8(frame, TAG_BEGIN);
    sn_buf_u8(frame, TAG_BEGIN);
    sn_buf_u8(frame, 0x01); /* the type of a type is none */
    sn_buf_u32(frame, version);
    sn_buf_u32(frame, version); /* the oldest reader that can */
    sn_buf_u32(frame, (uint32_t)strlen(name));
    sn_buf_text(frame, name);
    sn_buf_u8(frame, TAG_END);
}

static const char *name_of_kind(unsigned kind)
{
    switch (kind) {
    case SN_NETTRACE_METADATA: return "MetadataBlock";
    case SN_NETTRACE_STACKS: return "StackBlock";
    case SN_NETTRACE_SEQUENCE_POINT: return "SPBlock";
    default: return "EventBlock";
    }
}

/* A block of `head` and `body`. */
static int put_block(struct sn_nettrace_writer *writer, unsigned kind, const struct sn_buf *head,
                     const struct sn_buf *body, struct sonde_error *err)
{
    size_t size = head->size + (body ? body->size : 0);
    struct sn_buf *frame = &writer->frame;

    if (head->failed || (body && body->failed))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a block");
    sn_buf_clear(frame);
    if (writer->version == 6) {
        sn_buf_u32(frame, (uint32_t)size | kind << 24);
    } else {
        begin_object(frame, name_of_kind(kind), 2);
        sn_buf_u32(frame, (uint32_t)size);
        sn_buf_fill(frame, 0, -(writer->offset + frame->size) & 3u);
    }
    int rc = put_frame(writer, err);
    if (rc == SONDE_OK)
        rc = put(writer, head->bytes, head->size, err);
    if (rc == SONDE_OK && body)
        rc = put(writer, body->bytes, body->size, err);
    uint8_t end = TAG_END;
    if (rc == SONDE_OK && writer->version == 4)
        rc = put(writer, &end, 1, err);
    return rc;
}

static void add_time(struct sn_buf *to, uint64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_SECOND);
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm); /* fails beyond the year 2^31 only */
    sn_buf_u16(to, (uint16_t)(tm.tm_year + 1900));
    sn_buf_u16(to, (uint16_t)(tm.tm_mon + 1));
    sn_buf_u16(to, (uint16_t)tm.tm_wday);
    sn_buf_u16(to, (uint16_t)tm.tm_mday);
    sn_buf_u16(to, (uint16_t)tm.tm_hour);
    sn_buf_u16(to, (uint16_t)tm.tm_min);
    sn_buf_u16(to, (uint16_t)tm.tm_sec);
    sn_buf_u16(to, (uint16_t)(utc_ns % NS_PER_SECOND / 1000000u));
}

static void add_string(struct sn_buf *to, const char *text)
{
    sn_buf_varuint(to, strlen(text));
    sn_buf_text(to, text);
}

static uint32_t add_pair(struct sn_buf *to, const char *key, uint32_t value)
{
    char text[16];
    if (!value)
        return 0;
    (void)snprintf(text, sizeof(text), "%u", value);
    add_string(to, key);
    add_string(to, text);
    return 1;
}

static void add_trace(struct sn_nettrace_writer *writer, struct sn_buf *to)
{
    const struct sn_trace_info *info = &writer->info;

    add_time(to, info->start_utc_ns);
    sn_buf_u64(to, sn_trace_time_ns(info, info->start_ticks));
    sn_buf_u64(to, NS_PER_SECOND);
    sn_buf_u32(to, info->pointer_size);
    if (writer->version == 4) {
        sn_buf_u32(to, info->pid);
        sn_buf_u32(to, info->processor_count);
        sn_buf_u32(to, info->sampling_interval_ns);
        return;
    }
    size_t count_at = to->size;
    sn_buf_u32(to, 0);
    uint32_t count = add_pair(to, "ProcessId", info->pid);
    count += add_pair(to, "HardwareThreadCount", info->processor_count);
    count += add_pair(to, "ExpectedCPUSamplingRate", info->sampling_interval_ns);
    if (!to->failed)
        memcpy(to->bytes + count_at, &count, sizeof(count));
}

int sn_nettrace_write_head(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    struct sn_buf *frame = &writer->frame;
    sn_buf_clear(frame);
    sn_buf_text(frame, "Nettrace");
    if (writer->version == 4) {
        sn_buf_u32(frame, 20);
        sn_buf_text(frame, "!FastSerialization.1");
        begin_object(frame, "Trace", 4);
        add_trace(writer, frame);
        sn_buf_u8(frame, TAG_END);
        return put_frame(writer, err);
    }
    sn_buf_u32(frame, 0);
    sn_buf_u32(frame, 6);
    sn_buf_u32(frame, 0);
    int rc = put_frame(writer, err);
    if (rc != SONDE_OK)
        return rc;
    sn_buf_clear(&writer->scratch);
    add_trace(writer, &writer->scratch);
    return put_block(writer, SN_NETTRACE_TRACE, &writer->scratch, NULL, err);
}

static void add_row_header(struct sn_nettrace_writer *writer, uint64_t oldest, uint64_t newest)
{
    struct sn_buf *head = &writer->scratch;
    sn_buf_clear(head);
    sn_buf_u16(head, BLOCK_HEADER_SIZE);
    sn_buf_u16(head, FLAG_COMPRESSED);
    sn_buf_u64(head, oldest);
    sn_buf_u64(head, newest);
}

static int put_metadata(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (!writer->metadata.size)
        return SONDE_OK;
    if (writer->version == 4) {
        add_row_header(writer, 0, 0);
    } else {
        sn_buf_clear(&writer->scratch);
        sn_buf_u16(&writer->scratch, 0); /* no further header */
    }
    int rc = put_block(writer, SN_NETTRACE_METADATA, &writer->scratch, &writer->metadata, err);
    sn_buf_clear(&writer->metadata);
    return rc;
}

static int put_interned(struct sn_nettrace_writer *writer, unsigned kind,
                        struct sn_nettrace_interned *interned, struct sonde_error *err)
{
    if (!interned->pending)
        return SONDE_OK;
    sn_buf_clear(&writer->scratch);
    sn_buf_u32(&writer->scratch, interned->next - interned->pending);
    sn_buf_u32(&writer->scratch, interned->pending);
    int rc = put_block(writer, kind, &writer->scratch, &interned->block, err);
    sn_buf_clear(&interned->block);
    interned->pending = 0;
    return rc;
}

static int put_threads(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (!writer->threads.size)
        return SONDE_OK;
    int rc = put_block(writer, SN_NETTRACE_THREADS, &writer->threads, NULL, err);
    sn_buf_clear(&writer->threads);
    return rc;
}

static int put_events(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (!writer->events.size)
        return SONDE_OK;
    add_row_header(writer, writer->oldest_ns, writer->newest_ns);
    int rc = put_block(writer, SN_NETTRACE_EVENTS, &writer->scratch, &writer->events, err);
    sn_buf_clear(&writer->events);
    writer->row = (struct sn_nettrace_out_row){0};
    return rc;
}

int sn_nettrace_write_pending(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    int rc = put_metadata(writer, err);
    if (rc == SONDE_OK)
        rc = put_threads(writer, err);
    if (rc == SONDE_OK)
        rc = put_interned(writer, SN_NETTRACE_LABELS, &writer->labels, err);
    if (rc == SONDE_OK)
        rc = put_interned(writer, SN_NETTRACE_STACKS, &writer->stacks, err);
    if (rc == SONDE_OK)
        rc = put_events(writer, err);
    return rc;
}

static void add_sequence_numbers(const struct sn_nettrace_writer *writer, struct sn_buf *to)
{
    size_t count_at = to->size;
    uint32_t count = 0;
    sn_buf_u32(to, 0);
    for (uint32_t i = 0; i < writer->thread_count; i++) {
        const struct sn_nettrace_out_thread *thread = &writer->known[i];
        if (!thread->written)
            continue;
        count++;
        if (writer->version == 4) {
            sn_buf_u64(to, thread->thread_id);
            sn_buf_u32(to, thread->written);
        } else {
            sn_buf_varuint(to, thread->index);
            sn_buf_varuint(to, thread->written);
        }
    }
    if (!to->failed)
        memcpy(to->bytes + count_at, &count, sizeof(count));
}

int sn_nettrace_write_sequence_point(struct sn_nettrace_writer *writer, uint64_t time_ns,
                                     unsigned clears, struct sonde_error *err)
{
    struct sn_buf *body = &writer->scratch;
    sn_buf_clear(body);
    sn_buf_u64(body, time_ns);
    if (writer->version == 6)
        sn_buf_u32(body, clears);
    add_sequence_numbers(writer, body);
    return put_block(writer, SN_NETTRACE_SEQUENCE_POINT, body, NULL, err);
}

int sn_nettrace_write_removal(struct sn_nettrace_writer *writer, uint32_t index, uint32_t sequence,
                              struct sonde_error *err)
{
    sn_buf_clear(&writer->scratch);
    sn_buf_varuint(&writer->scratch, index);
    sn_buf_varuint(&writer->scratch, sequence);
    return put_block(writer, SN_NETTRACE_REMOVE_THREADS, &writer->scratch, NULL, err);
}

int sn_nettrace_write_end(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    sn_buf_clear(&writer->frame);
    if (writer->version == 4)
        sn_buf_u8(&writer->frame, TAG_END_STREAM);
    else
        sn_buf_u32(&writer->frame, SN_NETTRACE_END << 24);
    return put_frame(writer, err);
}
