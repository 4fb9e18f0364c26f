#include "format/nettrace_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "format/nettrace_internal.h"

/* A block, and the header and padding around it; twice, as what was taken is removed seldom. */
#define CARRY_MAX (2 * ((size_t)SN_NETTRACE_BLOCK_MAX + 256u))

#define TICKS_PER_SECOND 1000000000u /* of every runtime on Linux */

int sn_nettrace_damage(struct sn_nettrace_reader *reader, uint64_t offset, uint64_t bytes,
                       const char *format, ...)
{
    reader->counters.damages++;
    if (!reader->ops.damage)
        return SONDE_OK;
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct sn_buf *printable = &reader->schemas.scratch; /* names in it come from outside */
    sn_buf_clear(printable);
    sn_text_printable(printable, text, strlen(text));
    struct sn_nettrace_damage damage = {
        .offset = offset,
        .bytes = bytes,
        .text = sn_buf_string(printable),
    };
    return reader->ops.damage(reader->user, &damage);
}

int sn_nettrace_report_tallies(struct sn_nettrace_reader *reader)
{
    struct sn_nettrace_tally undecodable = reader->undecodable;
    struct sn_nettrace_tally stackless = reader->stackless;
    int rc = SONDE_OK;

    reader->undecodable = (struct sn_nettrace_tally){0};
    reader->stackless = (struct sn_nettrace_tally){0};
    if (undecodable.count)
        rc = sn_nettrace_damage(reader, undecodable.offset, 0,
                                "%" PRIu64 " events were never declared, the first is metadata "
                                "%" PRIu64,
                                undecodable.count, undecodable.id);
    if (rc == SONDE_OK && stackless.count)
        rc = sn_nettrace_damage(reader, stackless.offset, 0,
                                "%" PRIu64 " events name a stack that was never sent, the first is "
                                "%" PRIu64,
                                stackless.count, stackless.id);
    return rc;
}

int sn_nettrace_announce(struct sn_nettrace_reader *reader)
{
    if (reader->has_info)
        return SONDE_OK;
    reader->has_info = true;
    return reader->ops.trace ? reader->ops.trace(reader->user, &reader->info) : SONDE_OK;
}

int sn_nettrace_block(struct sn_nettrace_reader *reader, unsigned kind, const uint8_t *block,
                      size_t size, uint64_t offset)
{
    if (kind == SN_NETTRACE_TRACE)
        return sn_nettrace_trace_block(reader, block, size, offset);
    int rc = SONDE_OK;
    if (!reader->has_info)
        rc = sn_nettrace_damage(reader, offset, 0, "no trace block came before this one");
    if (rc == SONDE_OK)
        rc = sn_nettrace_announce(reader);
    if (rc != SONDE_OK)
        return rc;
    switch (kind) {
    case SN_NETTRACE_EVENTS: return sn_nettrace_event_block(reader, block, size, offset);
    case SN_NETTRACE_METADATA: return sn_nettrace_metadata_block(reader, block, size, offset);
    case SN_NETTRACE_STACKS: return sn_nettrace_stack_block(reader, block, size, offset);
    case SN_NETTRACE_SEQUENCE_POINT:
        return sn_nettrace_sequence_point_block(reader, block, size, offset);
    case SN_NETTRACE_THREADS: return sn_nettrace_thread_block(reader, block, size, offset);
    case SN_NETTRACE_REMOVE_THREADS:
        return sn_nettrace_remove_thread_block(reader, block, size, offset);
    case SN_NETTRACE_LABELS: return sn_nettrace_label_block(reader, block, size, offset);
    default: return SONDE_OK;
    }
}

/* Takes what it can from bytes that need not be copied. */
static int take_direct(struct sn_nettrace_reader *reader, const uint8_t *bytes, size_t size)
{
    while (size) {
        size_t used;
        int rc = sn_nettrace_take(reader, bytes, size, &used);
        if (rc != SONDE_OK)
            return rc;
        if (!used)
            break;
        reader->offset += used;
        bytes += used;
        size -= used;
    }
    sn_buf_append(&reader->carry, bytes, size);
    return reader->carry.failed
               ? sn_fail(reader->err, SONDE_E_NOMEM, reader->offset, "no memory for a block")
               : SONDE_OK;
}

static size_t carried(const struct sn_nettrace_reader *reader)
{
    return reader->carry.size - reader->carry_start;
}

/* Bytes are moved to the front when that is worth it, not at each of many small steps. */
static void drop_carried(struct sn_nettrace_reader *reader, size_t used)
{
    reader->carry_start += used;
    if (reader->carry_start < reader->carry.size / 2)
        return;
    sn_buf_consume(&reader->carry, reader->carry_start);
    reader->carry_start = 0;
}

/* One step with what is carried over. */
static int take_carried(struct sn_nettrace_reader *reader)
{
    size_t used;
    int rc =
        sn_nettrace_take(reader, reader->carry.bytes + reader->carry_start, carried(reader), &used);
    if (rc != SONDE_OK)
        return rc;
    if (!used && !reader->is_final)
        return SONDE_OK;
    if (!used)
        used = carried(reader); /* never twice the same step */
    drop_carried(reader, used);
    reader->offset += used;
    reader->need = 1;
    return SONDE_OK;
}

/* Adds to what is carried over as much as the next step needs, no more. */
static int carry_on(struct sn_nettrace_reader *reader, const uint8_t **bytes, size_t *size)
{
    if (carried(reader) < reader->need) {
        size_t missing = reader->need - carried(reader);
        size_t added = missing < *size ? missing : *size;
        sn_buf_append(&reader->carry, *bytes, added);
        if (reader->carry.failed)
            return sn_fail(reader->err, SONDE_E_NOMEM, reader->offset, "no memory for a block");
        *bytes += added;
        *size -= added;
    }
    if (carried(reader) < reader->need)
        return SONDE_OK;
    return take_carried(reader);
}

int sn_nettrace_reader_new(const struct sn_nettrace_ops *ops, void *user,
                           struct sn_nettrace_reader **ret_reader, struct sonde_error *err)
{
    struct sn_nettrace_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a nettrace reader");
    reader->ops = *ops;
    reader->user = user;
    reader->need = 1;
    reader->info.pointer_size = 8;
    reader->info.ticks_per_second = TICKS_PER_SECOND;
    reader->carry = sn_buf_with_limit(CARRY_MAX);
    reader->schemas.arena = sn_arena_with_limit(SN_NETTRACE_SCHEMA_MEM);
    reader->schemas.far_ids = sn_table_with_limit(SN_NETTRACE_SCHEMA_MAX);
    reader->schemas.by_hash = sn_table_with_limit(SN_NETTRACE_SCHEMA_MAX);
    reader->schemas.strings = sn_table_with_limit(SN_NETTRACE_SCHEMA_MAX);
    reader->schemas.scratch = sn_buf_with_limit(SN_NETTRACE_STRING_MAX * (size_t)3);
    reader->schemas.nodes = sn_buf_with_limit(SN_NETTRACE_FIELDS_MAX * (size_t)64);
    reader->threads.by_key = sn_table_with_limit(SN_NETTRACE_THREADS_MAX);
    reader->stacks.bytes = sn_buf_with_limit(SN_NETTRACE_STACK_MEM);
    reader->stacks.entries =
        sn_buf_with_limit(SN_NETTRACE_STACKS_MAX * sizeof(struct sn_nettrace_stack));
    reader->labels.entries =
        sn_buf_with_limit(SN_NETTRACE_LABELS_MAX * sizeof(struct sn_nettrace_label));
    *ret_reader = reader;
    return SONDE_OK;
}

void sn_nettrace_reader_free(struct sn_nettrace_reader *reader)
{
    if (!reader)
        return;
    sn_buf_done(&reader->carry);
    sn_arena_done(&reader->schemas.arena);
    free(reader->schemas.by_id);
    sn_table_done(&reader->schemas.far_ids);
    sn_table_done(&reader->schemas.by_hash);
    sn_table_done(&reader->schemas.strings);
    sn_buf_done(&reader->schemas.scratch);
    sn_buf_done(&reader->schemas.nodes);
    free(reader->threads.items);
    sn_table_done(&reader->threads.by_key);
    sn_buf_done(&reader->stacks.bytes);
    sn_buf_done(&reader->stacks.entries);
    sn_buf_done(&reader->labels.entries);
    free(reader);
}

void sn_nettrace_reader_set_layouts(struct sn_nettrace_reader *reader,
                                    sn_nettrace_layout_fn *layout, void *user)
{
    reader->layout = layout;
    reader->layout_user = user;
}

int sn_nettrace_reader_feed(struct sn_nettrace_reader *reader, const void *bytes, size_t size,
                            struct sonde_error *err)
{
    const uint8_t *at = bytes;
    int rc = reader->status;

    reader->err = err;
    if (rc == SONDE_OK)
        reader->counters.bytes += size;
    /* Until nothing is carried over, or the next step needs more than there is. */
    while (rc == SONDE_OK && carried(reader) && (size || carried(reader) >= reader->need))
        rc = carry_on(reader, &at, &size);
    if (rc == SONDE_OK && size)
        rc = take_direct(reader, at, size);
    reader->err = NULL;
    reader->status = rc;
    return rc;
}

/* Delivers what a stream holds that ends without saying so. */
static int drain(struct sn_nettrace_reader *reader)
{
    int rc = SONDE_OK;
    reader->is_final = true;
    while (rc == SONDE_OK && carried(reader))
        rc = take_carried(reader);
    if (rc == SONDE_OK && reader->state == SN_NETTRACE_SCANNING)
        rc = sn_nettrace_damage(reader, reader->scan_from, reader->offset - reader->scan_from, "%s",
                                reader->scan_why);
    return rc;
}

int sn_nettrace_reader_finish(struct sn_nettrace_reader *reader, struct sonde_error *err)
{
    reader->err = err;
    int rc = reader->status;
    if (rc == SONDE_OK)
        rc = drain(reader);
    if (rc == SONDE_OK)
        rc = sn_nettrace_report_tallies(reader);
    if (rc == SONDE_OK && reader->state != SN_NETTRACE_AT_END)
        rc = sn_fail(err, SONDE_E_TRUNCATED, reader->offset, "the stream ends without an end mark");
    reader->err = NULL;
    reader->status = rc;
    return rc;
}

bool sn_nettrace_reader_at_end(const struct sn_nettrace_reader *reader)
{
    return reader->state == SN_NETTRACE_AT_END;
}

struct sn_nettrace_counters sn_nettrace_reader_counters(const struct sn_nettrace_reader *reader)
{
    return reader->counters;
}
