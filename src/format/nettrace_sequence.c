/* Sequence numbers: what the gaps between them say is lost, and the points that settle accounts. */
#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

/* Numbers wrap; more than half the range ahead is behind. */
#define FURTHEST 0x7FFFFFFFu

/* Moves the thread's count on to `sequence`; the `count` numbers that were passed over are lost. */
static int report(struct sn_nettrace_reader *reader, struct sn_nettrace_thread *thread,
                  uint32_t sequence, uint32_t count, uint64_t time_ns)
{
    struct sn_nettrace_loss loss = {
        .pid = thread->pid,
        .capture_thread_id = thread->thread_id,
        .count = count,
        .time_ns = time_ns,
        .is_before_first = thread->last == 0,
    };
    thread->last = sequence;
    reader->counters.lost += count;
    return reader->ops.lost ? reader->ops.lost(reader->user, &loss) : SONDE_OK;
}

int sn_nettrace_sequence_gap(struct sn_nettrace_reader *reader, struct sn_nettrace_thread *thread,
                             uint32_t sequence, uint64_t time_ns)
{
    uint32_t missing = sequence - thread->last - 1;
    bool is_reused = sequence == 1 || missing > FURTHEST; /* a new thread under an old id */
    if (thread != &reader->nobody && !is_reused && missing)
        return report(reader, thread, sequence, missing, time_ns);
    thread->last = sequence;
    return SONDE_OK;
}

int sn_nettrace_sequence_bound(struct sn_nettrace_reader *reader, struct sn_nettrace_thread *thread,
                               uint32_t sequence, uint64_t time_ns)
{
    uint32_t missing = sequence - thread->last;
    if (!missing || missing > FURTHEST)
        return SONDE_OK; /* a lower bound, as it should be */
    return report(reader, thread, sequence, missing, time_ns);
}

static int check_threads(struct sn_nettrace_reader *reader, struct sn_cursor *cur, uint32_t count,
                         uint64_t time_ns)
{
    bool is_v6 = reader->info.format_version == 6;
    for (uint32_t i = 0; i < count && sn_cursor_left(cur); i++) {
        uint64_t key = is_v6 ? sn_cursor_varuint64(cur) : sn_cursor_u64(cur);
        uint32_t sequence = is_v6 ? sn_cursor_varuint32(cur) : sn_cursor_u32(cur);
        if (cur->bad)
            return SONDE_OK; /* the caller reports it */
        struct sn_nettrace_thread *thread = sn_nettrace_thread_find(reader, key, sequence + 1);
        if (thread == &reader->nobody)
            continue;
        int rc = sn_nettrace_sequence_bound(reader, thread, sequence, time_ns);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static void clear_metadata(struct sn_nettrace_schemas *schemas)
{
    for (uint32_t i = 0; i < schemas->dense_count; i++)
        schemas->by_id[i].schema = NULL;
    sn_table_clear(&schemas->far_ids);
}

static void clear_caches(struct sn_nettrace_reader *reader, uint32_t flags)
{
    sn_buf_clear(&reader->stacks.bytes);
    sn_buf_clear(&reader->stacks.entries);
    reader->stacks.count = 0;
    reader->stacks.epoch++;
    sn_buf_clear(&reader->labels.entries);
    reader->labels.count = 0;
    if (flags & SN_NETTRACE_CLEAR_THREADS)
        sn_nettrace_threads_clear(&reader->threads);
    if (flags & SN_NETTRACE_CLEAR_METADATA)
        clear_metadata(&reader->schemas);
}

int sn_nettrace_sequence_point_block(struct sn_nettrace_reader *reader, const uint8_t *block,
                                     size_t size, uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    uint64_t time_ns = sn_trace_time_ns(&reader->info, sn_cursor_u64(&cur));
    uint32_t flags = reader->info.format_version == 6 ? sn_cursor_u32(&cur) : 0;
    uint32_t count = sn_cursor_u32(&cur);

    int rc = check_threads(reader, &cur, count, time_ns);
    if (rc == SONDE_OK && cur.bad)
        rc = sn_nettrace_damage(reader, offset, size, "sequence point ends early");
    clear_caches(reader, flags);
    if (rc == SONDE_OK)
        rc = sn_nettrace_report_tallies(reader);
    if (rc == SONDE_OK && reader->ops.sequence_point)
        rc = reader->ops.sequence_point(reader->user, time_ns);
    return rc;
}
