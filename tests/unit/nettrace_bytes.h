/* Makes .nettrace streams by hand, and remembers what a reader says about them. For tests. */
#ifndef NETTRACE_BYTES_H
#define NETTRACE_BYTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "sonde/error.h"

#define STREAM_MAX (64u << 20)
#define LARGEST    8u

/* What came out of a reader. */
struct seen {
    struct sn_trace_info info;
    unsigned traces;
    unsigned schemas;
    unsigned events;
    unsigned sequence_points;
    unsigned damages;
    unsigned losses;
    uint64_t lost;
    uint64_t lost_by_thread;
    uint64_t digest; /* of all events, in order */
    uint64_t times[LARGEST];
    uint64_t threads[LARGEST];
    uint64_t captures[LARGEST];
    uint32_t pids[LARGEST];
    uint32_t depths[LARGEST];
    uint32_t sequences[LARGEST];
    uint32_t sizes[LARGEST];
    bool sorted[LARGEST];
    bool has_activity[LARGEST];
    bool has_related[LARGEST];
    const struct sn_schema *of[LARGEST];
    struct sn_schema *declared[LARGEST];
    char text[256];         /* of the last damage */
    uint64_t damage_offset; /* of the first */
    unsigned stop_after;    /* events; 0: never */
    int status;
    struct sn_nettrace_counters counters;
};

static inline uint64_t add_hash(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001B3u;
    return hash;
}

static inline int see_trace(void *user, const struct sn_trace_info *info)
{
    struct seen *seen = user;
    seen->info = *info;
    seen->traces++;
    return SONDE_OK;
}

static inline int see_schema(void *user, struct sn_schema *schema)
{
    struct seen *seen = user;
    assert_int_equal(schema->index, seen->schemas);
    if (seen->schemas < LARGEST)
        seen->declared[seen->schemas] = schema;
    seen->schemas++;
    return SONDE_OK;
}

/* All that an event says; the sequence number apart, which version 6 counts from 1. */
static inline uint64_t hash_event(uint64_t hash, const struct sn_event *event)
{
    static const uint8_t none[16];
    hash = add_hash(hash, event->schema->provider, strlen(event->schema->provider));
    hash = add_hash(hash, event->schema->name, strlen(event->schema->name));
    hash = add_hash(hash, &event->schema->event_id, 4);
    hash = add_hash(hash, &event->schema->version, 4);
    hash = add_hash(hash, &event->schema->keywords, 8);
    hash = add_hash(hash, &event->schema->level, 1);
    hash = add_hash(hash, &event->schema->opcode, 1);
    hash = add_hash(hash, &event->schema->field_count, 2);
    hash = add_hash(hash, &event->time_ns, 8);
    hash = add_hash(hash, &event->pid, 4);
    hash = add_hash(hash, &event->cpu, 4);
    hash = add_hash(hash, &event->thread_id, 8);
    hash = add_hash(hash, &event->capture_thread_id, 8);
    hash = add_hash(hash, &event->is_sorted, 1);
    hash = add_hash(hash, event->payload, event->payload_size);
    hash = add_hash(hash, event->stack, (size_t)event->stack_depth * event->pointer_size);
    hash = add_hash(hash, event->activity ? event->activity : none, 16);
    return add_hash(hash, event->related ? event->related : none, 16);
}

static inline int see_event(void *user, const struct sn_event *event)
{
    struct seen *seen = user;
    unsigned i = seen->events++;
    seen->digest = hash_event(seen->digest, event);
    if (i < LARGEST) {
        seen->times[i] = event->time_ns;
        seen->threads[i] = event->thread_id;
        seen->captures[i] = event->capture_thread_id;
        seen->pids[i] = event->pid;
        seen->depths[i] = event->stack_depth;
        seen->sequences[i] = event->sequence;
        seen->sizes[i] = event->payload_size;
        seen->sorted[i] = event->is_sorted;
        seen->has_activity[i] = event->activity != NULL;
        seen->has_related[i] = event->related != NULL;
        seen->of[i] = event->schema;
    }
    return seen->stop_after && seen->events >= seen->stop_after ? SONDE_E_GONE : SONDE_OK;
}

static inline int see_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct seen *seen = user;
    seen->losses++;
    seen->lost += loss->count;
    seen->lost_by_thread = loss->capture_thread_id;
    return SONDE_OK;
}

static inline int see_sequence_point(void *user, uint64_t time_ns)
{
    struct seen *seen = user;
    (void)time_ns;
    seen->sequence_points++;
    return SONDE_OK;
}

static inline int see_damage(void *user, const struct sn_nettrace_damage *damage)
{
    struct seen *seen = user;
    if (!seen->damages++)
        seen->damage_offset = damage->offset;
    (void)strncpy(seen->text, damage->text, sizeof(seen->text) - 1);
    return SONDE_OK;
}

static const struct sn_nettrace_ops see_all = {
    .trace = see_trace,
    .schema = see_schema,
    .event = see_event,
    .lost = see_loss,
    .sequence_point = see_sequence_point,
    .damage = see_damage,
};

/* Reads a stream in pieces of `step` bytes, each from memory of its own so that a look behind it is
 * noticed. The reader stays for the schemas; free it. */
static inline struct sn_nettrace_reader *read_stream(const void *bytes, size_t size, size_t step,
                                                     struct seen *seen)
{
    struct sn_nettrace_reader *reader = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_nettrace_reader_new(&see_all, seen, &reader, &err), SONDE_OK);
    int rc = SONDE_OK;
    for (size_t at = 0; at < size && rc == SONDE_OK; at += step) {
        size_t part = size - at < step ? size - at : step;
        SN_AUTO(sn_free) uint8_t *copy = malloc(part);
        assert_non_null(copy);
        memcpy(copy, (const uint8_t *)bytes + at, part);
        rc = sn_nettrace_reader_feed(reader, copy, part, &err);
    }
    int end = sn_nettrace_reader_finish(reader, &err);
    seen->status = rc != SONDE_OK ? rc : end;
    if (seen->status < 0 && seen->status != SONDE_E_GONE)
        assert_true(err.text[0] != '\0');
    seen->counters = sn_nettrace_reader_counters(reader);
    return reader;
}

static inline struct seen read_once(const struct sn_buf *stream)
{
    struct seen seen = {0};
    assert_false(stream->failed);
    sn_nettrace_reader_free(read_stream(stream->bytes, stream->size, stream->size, &seen));
    return seen;
}

/* The parts of a stream. */

static inline void put_clock(struct sn_buf *to, uint64_t ticks_per_second)
{
    static const uint16_t utc[8] = {2026, 2, 0, 1, 12, 30, 15, 250};
    for (size_t i = 0; i < 8; i++)
        sn_buf_u16(to, utc[i]);
    sn_buf_u64(to, 1000);
    sn_buf_u64(to, ticks_per_second);
    sn_buf_u32(to, 8);
}

static inline void put_object_head(struct sn_buf *to, const char *name, uint32_t version)
{
    sn_buf_append(to, "\x05\x05\x01", 3);
    sn_buf_u32(to, version);
    sn_buf_u32(to, version);
    sn_buf_u32(to, (uint32_t)strlen(name));
    sn_buf_text(to, name);
    sn_buf_u8(to, 6);
}

static inline void put_object(struct sn_buf *to, const char *name, const struct sn_buf *block)
{
    put_object_head(to, name, 2);
    sn_buf_u32(to, (uint32_t)block->size);
    sn_buf_fill(to, 0, -to->size & 3u);
    sn_buf_append(to, block->bytes, block->size);
    sn_buf_u8(to, 6);
}

static inline void put_start_v4(struct sn_buf *to, uint64_t ticks_per_second)
{
    sn_buf_text(to, "Nettrace");
    sn_buf_u32(to, 20);
    sn_buf_text(to, "!FastSerialization.1");
    put_object_head(to, "Trace", 4);
    put_clock(to, ticks_per_second);
    sn_buf_u32(to, 77);      /* pid */
    sn_buf_u32(to, 2);       /* processors */
    sn_buf_u32(to, 1000000); /* sampling interval */
    sn_buf_u8(to, 6);
}

static inline void put_block_v6(struct sn_buf *to, unsigned kind, const struct sn_buf *block)
{
    sn_buf_u32(to, (uint32_t)block->size | kind << 24);
    sn_buf_append(to, block->bytes, block->size);
}

static inline void put_text8(struct sn_buf *to, const char *text)
{
    sn_buf_varuint(to, strlen(text));
    sn_buf_text(to, text);
}

static inline void put_start_v6(struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    sn_buf_text(to, "Nettrace");
    sn_buf_u32(to, 0);
    sn_buf_u32(to, 6);
    sn_buf_u32(to, 0);
    put_clock(&block, 1000000000);
    sn_buf_u32(&block, 2);
    put_text8(&block, "ProcessId");
    put_text8(&block, "77");
    put_text8(&block, "Color");
    put_text8(&block, "green");
    put_block_v6(to, 1, &block);
}

static inline void put_text16(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

static inline void begin_rows(struct sn_buf *block, uint16_t flags)
{
    sn_buf_clear(block);
    sn_buf_u16(block, 20);
    sn_buf_u16(block, flags);
    sn_buf_u64(block, 0);
    sn_buf_u64(block, 1000000);
}

/* A row of a metadata block of version 4. */
static inline void put_metadata_row(struct sn_buf *block, const struct sn_buf *record)
{
    sn_buf_u8(block, 0x80);
    sn_buf_varuint(block, 0);
    sn_buf_varuint(block, record->size);
    sn_buf_append(block, record->bytes, record->size);
}

/* A record up to its fields. */
static inline void begin_record(struct sn_buf *record, uint32_t id, const char *name)
{
    sn_buf_clear(record);
    sn_buf_u32(record, id);
    put_text16(record, "Test");
    sn_buf_u32(record, id + 100);
    put_text16(record, name);
    sn_buf_u64(record, 0x0000F00000000001u);
    sn_buf_u32(record, 3); /* version */
    sn_buf_u32(record, 4); /* level */
}

/* Declares metadata `count` events without fields, ids from 1. */
static inline void put_plain_metadata(struct sn_buf *to, uint32_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(STREAM_MAX);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    begin_rows(&block, 1);
    for (uint32_t id = 1; id <= count; id++) {
        begin_record(&record, id, "Plain");
        sn_buf_u32(&record, 0);
        put_metadata_row(&block, &record);
    }
    put_object(to, "MetadataBlock", &block);
}

/* One event of thread `capture`, number `sequence`, in a block of its own; 4 bytes of payload. */
static inline void put_single_event(struct sn_buf *to, uint32_t id, uint64_t capture,
                                    uint32_t sequence, uint64_t ticks)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    begin_rows(&block, 1);
    sn_buf_u8(&block, 0xC7);
    sn_buf_varuint(&block, id);
    sn_buf_varuint(&block, sequence - 1); /* from 0, and one is added */
    sn_buf_varuint(&block, capture);
    sn_buf_varuint(&block, UINT32_MAX);
    sn_buf_varuint(&block, capture);
    sn_buf_varuint(&block, ticks);
    sn_buf_varuint(&block, 4);
    sn_buf_u32(&block, sequence);
    put_object(to, "EventBlock", &block);
}

static inline void put_sequence_point(struct sn_buf *to, uint64_t ticks, uint64_t capture,
                                      uint32_t sequence)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(4096);
    sn_buf_u64(&block, ticks);
    sn_buf_u32(&block, 1);
    sn_buf_u64(&block, capture);
    sn_buf_u32(&block, sequence);
    put_object(to, "SPBlock", &block);
}

/* Two stacks: `first` with one frame, the next with two. */
static inline void put_two_stacks(struct sn_buf *block, uint32_t first)
{
    sn_buf_clear(block);
    sn_buf_u32(block, first);
    sn_buf_u32(block, 2);
    sn_buf_u32(block, 8);
    sn_buf_u64(block, 0x7F0000001000);
    sn_buf_u32(block, 16);
    sn_buf_u64(block, 0x7F0000001000);
    sn_buf_u64(block, 0x7F0000002000);
}

/* A stream of version 4 with a bit of everything: two declarations (fields, nested fields, tags),
 * stacks, three events of two threads, one back in time, with activities, and a sequence point. */
static inline void put_rich_stream_v4(struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(65536);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(65536);

    put_start_v4(to, 1000000000);
    begin_rows(&block, 1);
    begin_record(&record, 1, "WorkStart");
    sn_buf_u32(&record, 2);
    sn_buf_u32(&record, SN_TYPE_I32);
    put_text16(&record, "Number");
    sn_buf_u32(&record, SN_TYPE_OBJECT);
    sn_buf_u32(&record, 1);
    sn_buf_u32(&record, SN_TYPE_STRING16);
    put_text16(&record, "Inner");
    put_text16(&record, "Outer");
    put_metadata_row(&block, &record);
    begin_record(&record, 2, "Tagged");
    sn_buf_u32(&record, 0);
    sn_buf_u32(&record, 1); /* opcode */
    sn_buf_u8(&record, 1);
    sn_buf_u8(&record, 9);
    sn_buf_u32(&record, 3); /* of an unknown kind */
    sn_buf_u8(&record, 200);
    sn_buf_append(&record, "abc", 3);
    sn_buf_u32(&record, 26); /* fields, layout 2 */
    sn_buf_u8(&record, 2);
    sn_buf_u32(&record, 1);
    sn_buf_u32(&record, 22);
    put_text16(&record, "List");
    sn_buf_u32(&record, SN_TYPE_ARRAY);
    sn_buf_u32(&record, SN_TYPE_U8);
    put_metadata_row(&block, &record);
    put_object(to, "MetadataBlock", &block);

    put_two_stacks(&block, 1);
    put_object(to, "StackBlock", &block);

    begin_rows(&block, 1);
    sn_buf_u8(&block, 0xFF);
    sn_buf_varuint(&block, 1);
    sn_buf_varuint(&block, 0);
    sn_buf_varuint(&block, 500);
    sn_buf_varuint(&block, UINT32_MAX);
    sn_buf_varuint(&block, 501);
    sn_buf_varuint(&block, 2);
    sn_buf_varuint(&block, 2000);
    sn_buf_fill(&block, 0xAA, 16);
    sn_buf_fill(&block, 0xBB, 16);
    sn_buf_varuint(&block, 6);
    sn_buf_append(&block, "\x07\0\0\0\0\0", 6);
    sn_buf_u8(&block, 0x00); /* all as before */
    sn_buf_varuint(&block, 10);
    sn_buf_append(&block, "\x08\0\0\0\0\0", 6);
    sn_buf_u8(&block, 0xCF);
    sn_buf_varuint(&block, 2);
    sn_buf_varuint(&block, (uint32_t)-2); /* 2 before, 1 now: minus 2, plus the one */
    sn_buf_varuint(&block, 600);
    sn_buf_varuint(&block, 3);
    sn_buf_varuint(&block, 600);
    sn_buf_varuint(&block, 0);
    sn_buf_varuint(&block, (uint64_t)-1000); /* back in time */
    sn_buf_varuint(&block, 3);
    sn_buf_append(&block, "\x01\0\x09", 3);
    put_object(to, "EventBlock", &block);

    put_sequence_point(to, 3000, 500, 2);
    put_single_event(to, 2, 600, 2, 4000);
    sn_buf_u8(to, 1);
}

/* The same in version 6, with an unknown block, and an event of another process. */
static inline void put_rich_stream_v6(struct sn_buf *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(65536);
    SN_AUTO(sn_buf_done) struct sn_buf row = sn_buf_with_limit(65536);

    put_start_v6(to);
    sn_buf_u16(&block, 0);
    sn_buf_varuint(&row, 1);
    put_text8(&row, "Test");
    sn_buf_varuint(&row, 101);
    put_text8(&row, "WorkStop");
    sn_buf_u16(&row, 1); /* fields */
    sn_buf_u16(&row, 4 + 6 + 8);
    put_text8(&row, "Pts");
    sn_buf_u8(&row, SN_TYPE_FIXED_ARRAY);
    sn_buf_u8(&row, SN_TYPE_OBJECT);
    sn_buf_u16(&row, 2);
    sn_buf_u16(&row, 3);
    put_text8(&row, "x");
    sn_buf_u8(&row, SN_TYPE_VARINT);
    sn_buf_u16(&row, 3);
    put_text8(&row, "y");
    sn_buf_u8(&row, SN_TYPE_BOOL8);
    /* The count of the array comes behind the type of its elements. */
    sn_buf_u16(&row, 2);
    /* What the field's size says: 4 for the name, 2 types, 2 for the count of fields, 5 each, 2. */
    uint16_t field_size = 4 + 2 + 2 + 5 + 5 + 2;
    memcpy(row.bytes + row.size - field_size - 2, &field_size, 2);
    sn_buf_u16(&row, 13 + 3 + 7);
    sn_buf_append(&row, "\x03\x05\0\0\0\0\0\0\0\x08\x04\x09\x02", 13);
    sn_buf_append(&row, "\x05\x01z", 3);
    sn_buf_append(&row, "\x06\x01k\x03val", 7);
    sn_buf_u16(&block, (uint16_t)row.size);
    sn_buf_append(&block, row.bytes, row.size);
    put_block_v6(to, 3, &block);

    sn_buf_clear(&block);
    sn_buf_u16(&block, 9);
    sn_buf_append(&block, "\x01\x02\x4D\x03\xF4\x03\x01\x01T", 9); /* 1: pid 77, tid 500, "T" */
    sn_buf_u16(&block, 6);
    sn_buf_append(&block, "\x02\x02\x4E\x03\xD8\x04", 6); /* 2: pid 78, tid 600 */
    put_block_v6(to, 6, &block);

    put_two_stacks(&block, 1);
    put_block_v6(to, 5, &block);

    sn_buf_clear(&block);
    sn_buf_u32(&block, 1);
    sn_buf_u32(&block, 2);
    sn_buf_u8(&block, 1);
    sn_buf_fill(&block, 0xAA, 16);
    sn_buf_u8(&block, 0x82);
    sn_buf_fill(&block, 0xBB, 16);
    sn_buf_append(&block, "\x87\x01", 2);
    put_block_v6(to, 8, &block);

    sn_buf_clear(&block);
    sn_buf_text(&block, "from the future");
    put_block_v6(to, 9, &block);

    begin_rows(&block, 1);
    sn_buf_u8(&block, 0xDF);
    sn_buf_append(&block, "\x01\x00\x01\x05\x01\x02\x64\x01\x04", 9);
    sn_buf_append(&block, "\x01\x00\x02\x01", 4);
    sn_buf_u8(&block, 0x00);
    sn_buf_append(&block, "\x0A\x01\x00\x02\x01", 5);
    sn_buf_u8(&block, 0x56);
    sn_buf_varuint(&block, (uint32_t)-2); /* 2 before, 1 now */
    sn_buf_append(&block, "\x02\x06\x02\x0A\x02", 5);
    sn_buf_append(&block, "\x01\x00\x02\x01", 4);
    put_block_v6(to, 2, &block);

    sn_buf_clear(&block);
    sn_buf_u64(&block, 1000);
    sn_buf_u32(&block, 0);
    sn_buf_u32(&block, 1);
    sn_buf_append(&block, "\x01\x02", 2);
    put_block_v6(to, 4, &block);
    sn_buf_clear(&block);
    sn_buf_append(&block, "\x01\x02", 2);
    put_block_v6(to, 7, &block);
    sn_buf_u32(to, 0);
}

#endif
