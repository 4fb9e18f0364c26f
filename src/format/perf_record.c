#include "format/perf_record.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/cursor.h"
#include "base/err.h"

#define MISC_EXEC     0x2000u /* COMM: by exec; SWITCH: out */
#define MISC_OUT      0x2000u
#define MISC_PREEMPT  0x4000u
#define MISC_BUILD_ID 0x4000u /* MMAP2 */

#define BUILD_ID_ROOM 20u

/* tid, time, cpu and identifier: what SN_PERF_COMMON puts at the end of all but samples. */
#define TRAILER_SIZE     32u
#define SAMPLE_HEAD_SIZE 40u /* header, identifier, ip, tid, time */

bool sn_perf_header_decode(const uint8_t *bytes, size_t size, struct sn_perf_header *ret_header)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    struct sn_perf_header header = {.type = sn_cursor_u32(&cur)};
    header.misc = sn_cursor_u16(&cur);
    header.size = sn_cursor_u16(&cur);
    if (cur.bad || header.size < SN_PERF_HEADER_SIZE || header.size % 8)
        return false;
    *ret_header = header;
    return true;
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

bool sn_perf_record_peek(const uint8_t *bytes, size_t size, uint64_t *ret_id, uint64_t *ret_time_ns)
{
    struct sn_perf_header header;
    if (!sn_perf_header_decode(bytes, size, &header) || header.size > size)
        return false;
    bool is_sample = header.type == SN_PERF_SAMPLE;
    if (header.size < (is_sample ? SAMPLE_HEAD_SIZE : SN_PERF_HEADER_SIZE + TRAILER_SIZE))
        return false;
    const uint8_t *end = bytes + header.size;
    *ret_id = word_at(is_sample ? bytes + 8 : end - 8);
    *ret_time_ns = word_at(is_sample ? bytes + 32 : end - 24);
    return true;
}

/* Words that are there only if the layout has `bit`. */
static uint64_t word_if(struct sn_cursor *cur, const struct sn_perf_layout *layout, uint64_t bit)
{
    return layout->sample_type & bit ? sn_cursor_u64(cur) : 0;
}

static void read_chain(struct sn_cursor *cur, struct sn_perf_sample *sample)
{
    sample->chain_count = sn_cursor_u64(cur);
    if (sample->chain_count > sn_cursor_left(cur) / 8)
        cur->bad = true;
    else
        sample->chain = sn_cursor_bytes(cur, sample->chain_count * 8);
}

static void read_regs(struct sn_cursor *cur, uint64_t mask, struct sn_perf_sample *sample)
{
    sample->has_regs = sn_cursor_u64(cur) != 0; /* the ABI; none: a kernel thread */
    if (!sample->has_regs)
        return;
    unsigned count = (unsigned)__builtin_popcountll(mask);
    for (unsigned i = 0; i < count; i++)
        sample->regs[i] = sn_cursor_u64(cur);
}

static void read_stack(struct sn_cursor *cur, struct sn_perf_sample *sample)
{
    uint64_t size = sn_cursor_u64(cur);
    if (!size)
        return;
    if (size > sn_cursor_left(cur)) {
        cur->bad = true;
        return;
    }
    sample->stack = sn_cursor_bytes(cur, size);
    uint64_t real = sn_cursor_u64(cur);
    sample->stack_size = real < size ? real : size;
}

static void read_sample(struct sn_cursor *cur, const struct sn_perf_layout *layout,
                        struct sn_perf_record *record)
{
    struct sn_perf_sample *sample = &record->sample;
    record->id = sn_cursor_u64(cur);
    sample->ip = sn_cursor_u64(cur);
    record->pid = sn_cursor_u32(cur);
    record->tid = sn_cursor_u32(cur);
    record->time_ns = sn_cursor_u64(cur);
    (void)word_if(cur, layout, SN_PERF_ADDR);
    record->cpu = sn_cursor_u32(cur);
    sn_cursor_skip(cur, 4);
    sample->period = word_if(cur, layout, SN_PERF_PERIOD);
    if (layout->sample_type & SN_PERF_CALLCHAIN)
        read_chain(cur, sample);
    if (layout->sample_type & SN_PERF_RAW) {
        sample->raw_size = sn_cursor_u32(cur);
        sample->raw = sn_cursor_bytes(cur, sample->raw_size);
    }
    if (layout->sample_type & SN_PERF_REGS_USER)
        read_regs(cur, layout->user_regs, sample);
    if (layout->sample_type & SN_PERF_STACK_USER)
        read_stack(cur, sample);
}

/* What is left of `cur` as text; it must end in a zero. */
static const char *read_text(struct sn_cursor *cur)
{
    size_t size = sn_cursor_left(cur);
    const char *text = (const char *)sn_cursor_bytes(cur, size);
    if (!text || !size || !memchr(text, '\0', size)) {
        cur->bad = true;
        return "";
    }
    return text;
}

static void read_mmap(struct sn_cursor *cur, uint16_t misc, struct sn_perf_record *record)
{
    struct sn_perf_mmap *map = &record->mmap;
    record->pid = sn_cursor_u32(cur);
    record->tid = sn_cursor_u32(cur);
    map->start = sn_cursor_u64(cur);
    map->size = sn_cursor_u64(cur);
    map->offset = sn_cursor_u64(cur);
    if (misc & MISC_BUILD_ID) {
        uint8_t size = sn_cursor_u8(cur);
        sn_cursor_skip(cur, 3);
        const uint8_t *id = sn_cursor_bytes(cur, BUILD_ID_ROOM);
        map->build_id_size = size < BUILD_ID_ROOM ? size : BUILD_ID_ROOM;
        if (id)
            memcpy(map->build_id, id, BUILD_ID_ROOM);
    } else {
        uint32_t major = sn_cursor_u32(cur);
        uint32_t minor = sn_cursor_u32(cur);
        map->device = makedev(major, minor);
        map->inode = sn_cursor_u64(cur);
        sn_cursor_skip(cur, 8); /* the inode's generation */
    }
    map->protection = sn_cursor_u32(cur);
    sn_cursor_skip(cur, 4); /* flags */
    map->path = read_text(cur);
}

static void read_task(struct sn_cursor *cur, struct sn_perf_record *record)
{
    record->pid = sn_cursor_u32(cur);
    record->task.parent_pid = sn_cursor_u32(cur);
    record->tid = sn_cursor_u32(cur);
    record->task.parent_tid = sn_cursor_u32(cur);
    sn_cursor_skip(cur, 8); /* the time, which the trailer has too */
}

static void read_switch(struct sn_cursor *cur, const struct sn_perf_header *header,
                        struct sn_perf_record *record)
{
    record->swap.is_out = header->misc & MISC_OUT;
    record->swap.was_preempted = record->swap.is_out && header->misc & MISC_PREEMPT;
    if (header->type == SN_PERF_SWITCH_CPU_WIDE) {
        record->swap.other_pid = sn_cursor_u32(cur);
        record->swap.other_tid = sn_cursor_u32(cur);
    }
}

static void read_other(struct sn_cursor *cur, const struct sn_perf_header *header,
                       struct sn_perf_record *record)
{
    switch (header->type) {
    case SN_PERF_LOST:
        sn_cursor_skip(cur, 8); /* id */
        record->lost = sn_cursor_u64(cur);
        break;
    case SN_PERF_LOST_SAMPLES: record->lost = sn_cursor_u64(cur); break;
    case SN_PERF_COMM:
        record->pid = sn_cursor_u32(cur);
        record->tid = sn_cursor_u32(cur);
        record->comm.is_exec = header->misc & MISC_EXEC;
        record->comm.name = read_text(cur);
        break;
    case SN_PERF_EXIT:
    case SN_PERF_FORK: read_task(cur, record); break;
    case SN_PERF_MMAP2: read_mmap(cur, header->misc, record); break;
    case SN_PERF_SWITCH:
    case SN_PERF_SWITCH_CPU_WIDE: read_switch(cur, header, record); break;
    default: break; /* throttling tells no more than its trailer, others are not ours */
    }
}

/* The trailer's thread is who ran when the record was made; the body knows better whom it is about.
 */
static void read_trailer(struct sn_cursor *cur, struct sn_perf_record *record)
{
    record->pid = sn_cursor_u32(cur);
    record->tid = sn_cursor_u32(cur);
    record->time_ns = sn_cursor_u64(cur);
    record->cpu = sn_cursor_u32(cur);
    sn_cursor_skip(cur, 4);
    record->id = sn_cursor_u64(cur);
}

static bool is_known(const struct sn_perf_layout *layout)
{
    return (layout->sample_type & SN_PERF_COMMON) == SN_PERF_COMMON &&
           !(layout->sample_type & ~(uint64_t)SN_PERF_KNOWN) &&
           __builtin_popcountll(layout->user_regs) <= (int)SN_PERF_REGS_MAX;
}

int sn_perf_record_decode(const uint8_t *bytes, size_t size, const struct sn_perf_layout *layout,
                          struct sn_perf_record *ret_record, struct sonde_error *err)
{
    struct sn_perf_header header;
    if (!is_known(layout))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "a perf event with fields we do not read");
    if (!sn_perf_header_decode(bytes, size, &header))
        return sn_fail(err, SONDE_E_FORMAT, 0, "a perf record without a header");
    if (header.size > size)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "a perf record is cut short");
    struct sn_perf_record record = {.type = header.type};
    struct sn_cursor cur = sn_cursor_over(bytes, header.size);
    sn_cursor_skip(&cur, SN_PERF_HEADER_SIZE);
    if (header.type == SN_PERF_SAMPLE) {
        read_sample(&cur, layout, &record);
    } else {
        if (header.size < SN_PERF_HEADER_SIZE + TRAILER_SIZE)
            return sn_fail(err, SONDE_E_FORMAT, 0, "a perf record without room for its event's id");
        struct sn_cursor trailer = sn_cursor_over(bytes + header.size - TRAILER_SIZE, TRAILER_SIZE);
        read_trailer(&trailer, &record);
        cur.end -= TRAILER_SIZE;
        read_other(&cur, &header, &record);
    }
    if (cur.bad)
        return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(&cur),
                       "a perf record contradicts itself");
    *ret_record = record;
    return SONDE_OK;
}
