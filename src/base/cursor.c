#include "base/cursor.h"

static uint64_t read_varuint(struct sn_cursor *cur, unsigned bits)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        uint8_t byte = sn_cursor_u8(cur);
        uint64_t part = byte & 0x7fu;
        if (shift + 7 > bits && part >> (bits - shift)) {
            cur->bad = true;
            return 0;
        }
        value |= part << shift;
        if (!(byte & 0x80u))
            return cur->bad ? 0 : value;
    }
    cur->bad = true;
    return 0;
}

uint32_t sn_cursor_varuint32(struct sn_cursor *cur)
{
    return (uint32_t)read_varuint(cur, 32);
}

uint64_t sn_cursor_varuint64(struct sn_cursor *cur)
{
    return read_varuint(cur, 64);
}

int64_t sn_cursor_varint64(struct sn_cursor *cur)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sn_cursor_u8(cur);
        uint64_t part = byte & 0x7fu;
        value |= part << shift;
        if (byte & 0x80u)
            continue;
        if (shift == 63 && part != 0 && part != 0x7f) /* one bit fits, the rest repeat it */
            cur->bad = true;
        if (shift < 57 && (part & 0x40u))
            value |= UINT64_MAX << (shift + 7);
        return cur->bad ? 0 : (int64_t)value;
    }
    cur->bad = true;
    return 0;
}
