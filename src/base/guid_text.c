#include "base/guid_text.h"

#include <string.h>

/* Where each byte stands in the text. */
static const uint8_t places[16] = {6, 4, 2, 0, 11, 9, 16, 14, 19, 21, 24, 26, 28, 30, 32, 34};
static const char digits[] = "0123456789abcdef";

const char *sn_guid_write(const uint8_t guid[16], char to[SN_GUID_LENGTH + 1])
{
    memcpy(to, "00000000-0000-0000-0000-000000000000", SN_GUID_LENGTH + 1);
    for (unsigned i = 0; i < 16; i++) {
        to[places[i]] = digits[guid[i] >> 4];
        to[places[i] + 1] = digits[guid[i] & 15];
    }
    return to;
}

static int hex_digit(char digit)
{
    char small = (char)(digit >= 'A' && digit <= 'F' ? digit | 0x20 : digit);
    const char *at = small ? strchr(digits, small) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool sn_guid_read(const char *text, size_t size, uint8_t ret_guid[16])
{
    if (size == SN_GUID_LENGTH + 2 && text[0] == '{' && text[size - 1] == '}') {
        text++;
        size -= 2;
    }
    if (size != SN_GUID_LENGTH || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
        text[23] != '-')
        return false;
    for (unsigned i = 0; i < 16; i++) {
        int high = hex_digit(text[places[i]]);
        int low = hex_digit(text[places[i] + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_guid[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
