/* The trace block: clock, pointer size and process of the stream. */
#include <inttypes.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/text.h"
#include "format/nettrace_internal.h"

#define NS_PER_SECOND 1000000000u

/* Days from 1970-01-01 in the Gregorian calendar; years begin in March, so leap days end them. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    int64_t shifted = month > 2 ? year : year - 1;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + of_year - 719468;
}

/* 8 numbers: year, month, day of week, day, hour, minute, second, millisecond. */
static uint64_t read_utc(struct sn_cursor *cur)
{
    int64_t part[8];
    for (size_t i = 0; i < 8; i++)
        part[i] = sn_cursor_i16(cur);
    bool is_date = part[0] >= 1970 && part[0] < 2500 && part[1] >= 1 && part[1] <= 12 &&
                   part[3] >= 1 && part[3] <= 31;
    bool is_time = part[4] >= 0 && part[4] < 24 && part[5] >= 0 && part[5] < 60 && part[6] >= 0 &&
                   part[6] <= 60 && part[7] >= 0 && part[7] < 1000;
    if (!is_date || !is_time)
        return 0;
    int64_t seconds = days_since_1970(part[0], part[1], part[3]) * 86400 + part[4] * 3600 +
                      part[5] * 60 + part[6];
    return (uint64_t)seconds * NS_PER_SECOND + (uint64_t)part[7] * 1000000u;
}

static void read_process_v4(struct sn_cursor *cur, struct sn_trace_info *info)
{
    info->pid = sn_cursor_u32(cur);
    info->processor_count = sn_cursor_u32(cur);
    info->sampling_interval_ns = sn_cursor_u32(cur);
}

static bool is_key(const uint8_t *key, size_t size, const char *name)
{
    return size == strlen(name) && memcmp(key, name, size) == 0;
}

static void read_pair(struct sn_cursor *cur, struct sn_trace_info *info)
{
    uint32_t key_size = sn_cursor_varuint32(cur);
    const uint8_t *key = sn_cursor_bytes(cur, key_size);
    uint32_t value_size = sn_cursor_varuint32(cur);
    const uint8_t *value = sn_cursor_bytes(cur, value_size);
    char text[24] = {0};
    uint64_t number;

    if (cur->bad || !value_size || value_size >= sizeof(text))
        return;
    memcpy(text, value, value_size);
    if (!sn_text_to_u64(text, UINT32_MAX, &number))
        return;
    if (is_key(key, key_size, "ProcessId"))
        info->pid = (uint32_t)number;
    else if (is_key(key, key_size, "HardwareThreadCount"))
        info->processor_count = (uint32_t)number;
    else if (is_key(key, key_size, "ExpectedCPUSamplingRate"))
        info->sampling_interval_ns = (uint32_t)number;
}

static void read_pairs(struct sn_cursor *cur, struct sn_trace_info *info)
{
    uint32_t count = sn_cursor_u32(cur);
    for (uint32_t i = 0; i < count && !cur->bad; i++)
        read_pair(cur, info);
}

int sn_nettrace_trace_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    struct sn_trace_info info = {.format_version = reader->info.format_version};

    if (reader->has_info)
        return sn_nettrace_damage(reader, offset, size, "a second trace block is ignored");
    info.start_utc_ns = read_utc(&cur);
    info.start_ticks = sn_cursor_u64(&cur);
    info.ticks_per_second = sn_cursor_u64(&cur);
    info.pointer_size = sn_cursor_u32(&cur);
    if (info.format_version == 6)
        read_pairs(&cur, &info);
    else
        read_process_v4(&cur, &info);

    bool is_usable = !cur.bad && info.ticks_per_second && info.ticks_per_second <= INT64_MAX &&
                     (info.pointer_size == 4 || info.pointer_size == 8);
    if (is_usable)
        reader->info = info;
    int rc = SONDE_OK;
    if (!is_usable)
        rc = sn_nettrace_damage(reader, offset, size,
                                "trace block cannot be used: %" PRIu64
                                " ticks per second, pointers of %u bytes",
                                info.ticks_per_second, info.pointer_size);
    return rc == SONDE_OK ? sn_nettrace_announce(reader) : rc;
}
