#include "base/base64url.h"

#include <stdint.h>

#include "base/buf.h"

void sn_base64url_encode(struct sn_buf *to, const void *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t *at = bytes;
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | at[i];
        for (count += 8; count >= 6; count -= 6)
            sn_buf_u8(to, (uint8_t)digits[bits >> (count - 6) & 63]);
    }
    if (count)
        sn_buf_u8(to, (uint8_t)digits[bits << (6 - count) & 63]);
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '-')
        return 62;
    return c == '_' ? 63 : -1;
}

/* Without the '=' that some writers put behind. */
static size_t size_without_padding(const char *text, size_t size)
{
    size_t padding = 0;
    while (size % 4 == 0 && padding < 2 && padding < size && text[size - 1 - padding] == '=')
        padding++;
    return size - padding;
}

bool sn_base64url_decode(struct sn_buf *to, const char *text, size_t size)
{
    size_t before = to->size;
    uint32_t bits = 0;
    unsigned count = 0;
    size = size_without_padding(text, size);
    for (size_t i = 0; i < size; i++) {
        int value = value_of(text[i]);
        if (value < 0)
            break;
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            sn_buf_u8(to, (uint8_t)(bits >> count));
        }
        if (i + 1 == size && count < 6 && !(bits & ((1u << count) - 1)) && !to->failed)
            return true;
    }
    if (size == 0)
        return true;
    to->size = before;
    return false;
}
