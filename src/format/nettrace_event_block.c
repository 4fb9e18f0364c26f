/* Event blocks: rows to events. The road's busiest loop; docs/formats/nettrace.md draws a row. */
#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"
#include "format/nettrace_row.h"
#include "model/event.h"

#define HEADER_SIZE     20u
#define FLAG_COMPRESSED 1u

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A block on its way: the event as prepared so far, of which a row changes little. */
struct rows {
    struct sn_nettrace_reader *reader;
    struct sn_nettrace_thread *capture;
    uint64_t offset; /* of the block */
    uint64_t events;
    uint64_t undecodable;
    uint64_t stackless;
    uint32_t missing_stack; /* 1: the stack that the event names was never sent */
    struct sn_event event;
};

static const uint8_t no_guid[16];

static const uint8_t *guid_or_none(const uint8_t *guid)
{
    return guid && memcmp(guid, no_guid, sizeof(no_guid)) != 0 ? guid : NULL;
}

static void change_label(struct rows *rows, uint32_t id)
{
    const struct sn_nettrace_labels *labels = &rows->reader->labels;
    const struct sn_nettrace_label *entries = (const void *)labels->entries.bytes;
    uint32_t place = id - labels->first;

    rows->event.activity = NULL;
    rows->event.related = NULL;
    if (place >= labels->count)
        return;
    if (entries[place].has_activity)
        rows->event.activity = guid_or_none(entries[place].activity);
    if (entries[place].has_related)
        rows->event.related = guid_or_none(entries[place].related);
}

static __attribute__((noinline)) void drop_stack(struct rows *rows, uint32_t id)
{
    rows->event.stack = NULL;
    rows->event.stack_depth = 0;
    rows->event.stack_key = 0;
    rows->missing_stack = id != 0;
    if (id && !rows->reader->stackless.count && !rows->stackless)
        rows->reader->stackless.id = id;
}

SN_ROW_INLINE void change_stack(struct rows *rows, uint32_t id)
{
    const struct sn_nettrace_stacks *stacks = &rows->reader->stacks;
    struct sn_nettrace_stack stack;

    if (UNLIKELY(!id || !sn_nettrace_stack_find(stacks, id, &stack))) {
        drop_stack(rows, id);
        return;
    }
    rows->event.stack = stacks->bytes.bytes + stack.offset;
    rows->event.stack_depth = stack.size >> (rows->event.pointer_size == 8 ? 3 : 2);
    rows->event.stack_key = (uint64_t)stacks->epoch << 32 | id;
    rows->missing_stack = 0;
}

static void change_capture(struct rows *rows, uint64_t key, uint32_t sequence, uint32_t cpu)
{
    rows->capture = sn_nettrace_thread_find(rows->reader, key, sequence);
    rows->event.capture_thread_id = rows->capture->thread_id;
    rows->event.cpu = cpu;
}

static void change_thread_v6(struct rows *rows, uint64_t index)
{
    const struct sn_nettrace_thread *thread = sn_nettrace_thread_find(rows->reader, index, 0);
    rows->event.thread_id = thread->thread_id;
    rows->event.pid = thread->pid;
}

static void note_undecodable(struct rows *rows, uint32_t id)
{
    if (!rows->reader->undecodable.count && !rows->undecodable)
        rows->reader->undecodable.id = id;
    rows->undecodable++;
}

/* Brings the event up to date with `row` and hands it on. */
SN_ROW_INLINE int pass_row(struct rows *rows, const struct sn_nettrace_row *row, bool is_v6,
                           bool is_ns)
{
    struct sn_nettrace_reader *reader = rows->reader;
    struct sn_event *event = &rows->event;
    uint8_t flags = row->flags;

    event->time_ns = is_ns ? row->ticks : sn_trace_time_ns(&reader->info, row->ticks);
    if (flags & SN_ROW_METADATA)
        event->schema = sn_nettrace_schema_find(&reader->schemas, row->metadata_id);
    if (flags & SN_ROW_CAPTURE)
        change_capture(rows, row->capture, row->sequence, row->cpu);
    if (flags & SN_ROW_THREAD) {
        if (is_v6)
            change_thread_v6(rows, row->thread);
        else
            event->thread_id = row->thread;
    }
    if (flags & SN_ROW_STACK)
        change_stack(rows, row->stack_id);
    if (UNLIKELY(flags & SN_ROW_ACTIVITY)) {
        if (is_v6)
            change_label(rows, row->label_id);
        else
            event->activity = guid_or_none(row->activity);
    }
    if (!is_v6 && UNLIKELY(flags & SN_ROW_RELATED))
        event->related = guid_or_none(row->related);
    if (LIKELY(rows->capture->last + 1 == row->sequence)) {
        rows->capture->last = row->sequence;
    } else if (is_v6 || row->metadata_id) {
        int rc = sn_nettrace_sequence_gap(reader, rows->capture, row->sequence, event->time_ns);
        if (rc != SONDE_OK)
            return rc;
    }
    if (UNLIKELY(!event->schema)) {
        note_undecodable(rows, row->metadata_id);
        return SONDE_OK;
    }
    rows->events++;
    rows->stackless += rows->missing_stack;
    event->sequence = row->sequence;
    event->is_sorted = (flags & SN_ROW_SORTED) != 0;
    event->payload_size = row->payload_size;
    event->payload = row->payload;
    return reader->ops.event ? reader->ops.event(reader->user, event) : SONDE_OK;
}

static int report_row(const struct rows *rows, size_t position, size_t left)
{
    return sn_nettrace_damage(rows->reader, rows->offset + position, left,
                              "event row cannot be read; the rest of its block is lost");
}

SN_ROW_INLINE int each_compressed(struct rows *rows, const uint8_t *block, size_t size,
                                  size_t position, bool is_v6)
{
    const uint8_t *at = block + position;
    const uint8_t *end = block + size;
    struct sn_nettrace_row row = {0};
    bool is_ns = rows->reader->info.ticks_per_second == 1000000000u;

    while (at < end) {
        size_t left = (size_t)(end - at);
        bool bad = false;
        size_t used;
        if (LIKELY(left >= SN_ROW_REACH)) {
            used = sn_row_header(&row, at, is_v6, &bad);
        } else {
            struct sn_nettrace_row last =
                row; /* copies, so that the loop's own stay in registers */
            bool last_bad = false;
            used = sn_row_header_at_end(&last, at, left, is_v6, &last_bad);
            row = last;
            bad = last_bad;
        }
        if (UNLIKELY(bad || row.payload_size > left - used))
            return report_row(rows, (size_t)(at - block), left);
        at += used + row.payload_size;
        int rc = pass_row(rows, &row, is_v6, is_ns);
        if (UNLIKELY(rc != SONDE_OK))
            return rc;
    }
    return SONDE_OK;
}

static int each_compressed_v4(struct rows *rows, const uint8_t *block, size_t size, size_t position)
{
    return each_compressed(rows, block, size, position, false);
}

static int each_compressed_v6(struct rows *rows, const uint8_t *block, size_t size, size_t position)
{
    return each_compressed(rows, block, size, position, true);
}

static int each_plain(struct rows *rows, const uint8_t *block, size_t size, size_t position)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    struct sn_nettrace_row row = {0};
    bool is_v6 = rows->reader->info.format_version == 6;

    sn_cursor_skip(&cur, position);
    while (sn_cursor_left(&cur)) {
        size_t start = sn_cursor_offset(&cur);
        if (!sn_row_plain(&row, &cur, is_v6))
            return report_row(rows, start, size - start);
        int rc = pass_row(rows, &row, is_v6, false);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static void add_to_tally(struct sn_nettrace_tally *tally, uint64_t count, uint64_t offset)
{
    if (!count)
        return;
    if (!tally->count)
        tally->offset = offset;
    tally->count += count;
}

static void close_rows(const struct rows *rows)
{
    struct sn_nettrace_reader *reader = rows->reader;
    reader->counters.events += rows->events;
    reader->counters.undecodable += rows->undecodable;
    reader->counters.stackless += rows->stackless;
    add_to_tally(&reader->undecodable, rows->undecodable, rows->offset);
    add_to_tally(&reader->stackless, rows->stackless, rows->offset);
}

int sn_nettrace_event_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    uint16_t header_size = sn_cursor_u16(&cur);
    uint16_t flags = sn_cursor_u16(&cur);

    if (cur.bad || header_size < HEADER_SIZE || header_size > size)
        return sn_nettrace_damage(reader, offset, size, "event block header cannot be read");

    struct rows rows = {
        .reader = reader,
        .capture = &reader->nobody,
        .offset = offset,
        .event.pid = reader->info.pid,
        .event.pointer_size = (uint8_t)reader->info.pointer_size,
    };
    int rc;
    if (!(flags & FLAG_COMPRESSED))
        rc = each_plain(&rows, block, size, header_size);
    else if (reader->info.format_version == 6)
        rc = each_compressed_v6(&rows, block, size, header_size);
    else
        rc = each_compressed_v4(&rows, block, size, header_size);
    close_rows(&rows);
    return rc;
}
