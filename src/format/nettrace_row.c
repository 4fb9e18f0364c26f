#include "format/nettrace_row.h"

#include "base/cursor.h"

struct sn_row_long sn_row_varuint_long(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    struct sn_row_long read = {.value = sn_row_pack(word & 0x7F7F7F7F7F7F7F7Fu), .size = 9};
    read.value |= (uint64_t)(at[8] & 0x7Fu) << 56;
    if (at[8] & 0x80u) {
        read.value |= (uint64_t)at[9] << 63;
        read.size = 10;
        read.bad = at[9] > 1;
    }
    return read;
}

/* From a copy with zeros behind it, in which every varuint ends. */
size_t sn_row_header_at_end(struct sn_nettrace_row *row, const uint8_t *at, size_t left, bool is_v6,
                            bool *bad)
{
    uint8_t copy[SN_ROW_REACH] = {0};
    memcpy(copy, at, left);
    size_t size = sn_row_header(row, copy, is_v6, bad);
    *bad |= size > left;
    if (*bad)
        return size;
    row->payload = at + size;
    if (!is_v6 && (row->flags & SN_ROW_ACTIVITY))
        row->activity = at + (row->activity - copy);
    if (!is_v6 && (row->flags & SN_ROW_RELATED))
        row->related = at + (row->related - copy);
    return size;
}

bool sn_row_plain(struct sn_nettrace_row *row, struct sn_cursor *cur, bool is_v6)
{
    uint32_t size = sn_cursor_u32(cur);
    size_t start = sn_cursor_offset(cur);
    uint32_t id = sn_cursor_u32(cur);

    row->metadata_id = id & 0x7FFFFFFFu;
    row->flags = (uint8_t)(0xBFu | (id >> 31 ? SN_ROW_SORTED : 0));
    row->sequence = sn_cursor_u32(cur);
    row->thread = sn_cursor_u64(cur);
    row->capture = sn_cursor_u64(cur);
    row->cpu = sn_cursor_u32(cur);
    row->stack_id = sn_cursor_u32(cur);
    row->ticks = sn_cursor_u64(cur);
    if (is_v6) {
        row->label_id = sn_cursor_u32(cur);
    } else {
        row->activity = sn_cursor_bytes(cur, 16);
        row->related = sn_cursor_bytes(cur, 16);
    }
    row->payload_size = sn_cursor_u32(cur);
    row->payload = sn_cursor_bytes(cur, row->payload_size);

    size_t used = sn_cursor_offset(cur) - start;
    if (cur->bad || used > size)
        return false;
    sn_cursor_skip(cur, size - used);
    /* Version 4 aligns rows to 4; whether the size counts the padding differs between writers. */
    size_t padding = is_v6 ? 0 : -sn_cursor_offset(cur) & 3u;
    if (!cur->bad && padding <= sn_cursor_left(cur))
        sn_cursor_skip(cur, padding);
    return !cur->bad;
}
