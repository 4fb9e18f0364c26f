#include "base/protobuf.h"

#include <string.h>

#include "base/buf.h"

/* A key is the field's number and how its value is laid out. */
enum wire_type {
    VARINT = 0,
    FIXED64 = 1,
    SIZED = 2,
};

static void put_key(struct sn_buf *to, unsigned field, enum wire_type type)
{
    sn_buf_varuint(to, field << 3 | (unsigned)type);
}

void sn_protobuf_varint(struct sn_buf *to, unsigned field, uint64_t value)
{
    if (!value)
        return;
    put_key(to, field, VARINT);
    sn_buf_varuint(to, value);
}

void sn_protobuf_fixed64(struct sn_buf *to, unsigned field, uint64_t value)
{
    put_key(to, field, FIXED64);
    sn_buf_u64(to, value);
}

void sn_protobuf_double(struct sn_buf *to, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    sn_protobuf_fixed64(to, field, bits);
}

void sn_protobuf_bytes(struct sn_buf *to, unsigned field, const void *bytes, size_t size)
{
    put_key(to, field, SIZED);
    sn_buf_varuint(to, size);
    sn_buf_append(to, bytes, size);
}

/* One byte is kept for the size; most messages need no more. */
size_t sn_protobuf_open(struct sn_buf *to, unsigned field)
{
    put_key(to, field, SIZED);
    sn_buf_u8(to, 0);
    return to->size;
}

void sn_protobuf_close(struct sn_buf *to, size_t opened)
{
    size_t size = to->size - opened;
    size_t more = 0;
    for (size_t rest = size >> 7; rest; rest >>= 7)
        more++;
    sn_buf_fill(to, 0, more);
    if (to->failed)
        return;
    uint8_t *start = to->bytes + opened - 1;
    memmove(start + 1 + more, start + 1, size);
    for (size_t i = 0; i <= more; i++, size >>= 7)
        start[i] = (uint8_t)((size & 0x7F) | (i < more ? 0x80 : 0));
}
