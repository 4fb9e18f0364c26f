/* The header of a row in an event or metadata block. Read inline, because the event loop lives from
 * it. */
#ifndef SN_NETTRACE_ROW_H
#define SN_NETTRACE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sn_cursor;

/* What a compressed row's first byte says is there; the rest is as in the row before. */
enum {
    SN_ROW_METADATA = 0x01,
    SN_ROW_CAPTURE = 0x02, /* sequence, capturing thread, processor */
    SN_ROW_THREAD = 0x04,
    SN_ROW_STACK = 0x08,
    SN_ROW_ACTIVITY = 0x10, /* version 6: the label list */
    SN_ROW_RELATED = 0x20,
    SN_ROW_SORTED = 0x40,
    SN_ROW_SIZE = 0x80,
};

/* The longest compressed header is 88 bytes, and 113 before its overlong numbers are noticed; all
 * loads lie within this many. */
#define SN_ROW_REACH 128u

/* Zero it before a block's first row. */
struct sn_nettrace_row {
    uint64_t capture;
    uint64_t thread;
    uint64_t ticks;
    const uint8_t *activity; /* version 4: 16 bytes in the block, or NULL */
    const uint8_t *related;
    const uint8_t *payload;
    uint32_t metadata_id;
    uint32_t sequence;
    uint32_t cpu;
    uint32_t stack_id;
    uint32_t label_id; /* version 6 */
    uint32_t payload_size;
    uint8_t flags;
};

#define SN_ROW_INLINE static inline __attribute__((always_inline))

/* Packs the seven low bits of each byte together; the eighth are zero. */
SN_ROW_INLINE uint64_t sn_row_pack(uint64_t word)
{
    word = (word & 0x007F007F007F007Fu) | ((word & 0x7F007F007F007F00u) >> 1);
    word = (word & 0x00003FFF00003FFFu) | ((word & 0x3FFF00003FFF0000u) >> 2);
    return (word & 0x000000000FFFFFFFu) | ((word & 0x0FFFFFFF00000000u) >> 4);
}

/* A varuint of nine or ten bytes, what a step back in time looks like. Comes back in registers: a
 * pointer to anything of the event loop would cost every row. */
struct sn_row_long {
    uint64_t value;
    uint32_t size;
    bool bad;
};

struct sn_row_long sn_row_varuint_long(const uint8_t *at);

/* Reads as far as SN_ROW_REACH allows without looking for the end. */
SN_ROW_INLINE uint64_t sn_row_varuint64(const uint8_t **at, bool *bad)
{
    uint64_t word;
    memcpy(&word, *at, sizeof(word));
    /* One and two bytes are most of them, and where the next begins is then predicted, not
     * computed. */
    if ((word & 0x80u) == 0) {
        *at += 1;
        return word & 0x7Fu;
    }
    if ((word & 0x8000u) == 0) {
        *at += 2;
        return (word & 0x7Fu) | (word & 0x7F00u) >> 1;
    }
    uint64_t stop = ~word & 0x8080808080808080u;
    if (__builtin_expect(stop == 0, 0)) {
        struct sn_row_long read = sn_row_varuint_long(*at);
        *at += read.size;
        *bad |= read.bad;
        return read.value;
    }
    *at += (__builtin_ctzll(stop) >> 3) + 1;
    return sn_row_pack(word & (stop ^ (stop - 1)) & 0x7F7F7F7F7F7F7F7Fu);
}

SN_ROW_INLINE uint32_t sn_row_varuint32(const uint8_t **at, bool *bad)
{
    const uint8_t *start = *at;
    uint64_t value = sn_row_varuint64(at, bad);
    *bad |= value > UINT32_MAX || *at - start > 5;
    return (uint32_t)value;
}

/* Reads the compressed header at `at`, which has SN_ROW_REACH readable bytes, into `row`, where the
 * previous one is. Returns its size; payload, activity and related point into `at`. */
SN_ROW_INLINE size_t sn_row_header(struct sn_nettrace_row *row, const uint8_t *at, bool is_v6,
                                   bool *bad)
{
    const uint8_t *start = at;
    uint8_t flags = *at++;

    row->flags = flags;
    if (flags & SN_ROW_METADATA)
        row->metadata_id = sn_row_varuint32(&at, bad);
    if (flags & SN_ROW_CAPTURE) {
        row->sequence += sn_row_varuint32(&at, bad);
        row->capture = sn_row_varuint64(&at, bad);
        row->cpu = sn_row_varuint32(&at, bad);
    }
    row->sequence += is_v6 || row->metadata_id != 0;
    if (flags & SN_ROW_THREAD)
        row->thread = sn_row_varuint64(&at, bad);
    if (flags & SN_ROW_STACK)
        row->stack_id = sn_row_varuint32(&at, bad);
    row->ticks += sn_row_varuint64(&at, bad);
    if (flags & SN_ROW_ACTIVITY) {
        if (is_v6) {
            row->label_id = sn_row_varuint32(&at, bad);
        } else {
            row->activity = at;
            at += 16;
        }
    }
    if (!is_v6 && (flags & SN_ROW_RELATED)) {
        row->related = at;
        at += 16;
    }
    if (flags & SN_ROW_SIZE)
        row->payload_size = sn_row_varuint32(&at, bad);
    row->payload = at;
    return (size_t)(at - start);
}

/* The same where only `left` bytes are readable, fewer than SN_ROW_REACH. */
size_t sn_row_header_at_end(struct sn_nettrace_row *row, const uint8_t *at, size_t left, bool is_v6,
                            bool *bad);

/* Reads an uncompressed row, payload included. False when it does not fit. */
bool sn_row_plain(struct sn_nettrace_row *row, struct sn_cursor *cur, bool is_v6);

#endif
