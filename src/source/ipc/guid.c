#include "source/ipc/guid.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Which wire byte each pair of digits stands for: the first three parts are written big end first.
 */
static const uint8_t text_order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

bool sn_ipc_guid_is_zero(const struct sn_ipc_guid *guid)
{
    static const struct sn_ipc_guid zero;
    return sn_ipc_guid_is_equal(guid, &zero);
}

bool sn_ipc_guid_is_equal(const struct sn_ipc_guid *one, const struct sn_ipc_guid *other)
{
    return memcmp(one->bytes, other->bytes, sizeof(one->bytes)) == 0;
}

static bool has_dash_before(size_t pair)
{
    return pair == 4 || pair == 6 || pair == 8 || pair == 10;
}

const char *sn_ipc_guid_text(const struct sn_ipc_guid *guid, char to[37])
{
    char *at = to;
    for (size_t i = 0; i < 16; i++) {
        if (has_dash_before(i))
            *at++ = '-';
        (void)snprintf(at, 3, "%02x", guid->bytes[text_order[i]]);
        at += 2;
    }
    return to;
}

static int digit_of(char character)
{
    static const char digits[] = "0123456789abcdef";
    char lower = (char)(character >= 'A' && character <= 'F' ? character + ('a' - 'A') : character);
    const char *at = lower ? strchr(digits, lower) : NULL;
    return at ? (int)(at - digits) : -1;
}

bool sn_ipc_guid_parse(const char *text, struct sn_ipc_guid *ret_guid)
{
    struct sn_ipc_guid guid;
    bool braces = *text == '{';
    text += braces;
    for (size_t i = 0; i < 16; i++) {
        if (has_dash_before(i) && *text++ != '-')
            return false;
        int high = digit_of(text[0]);
        int low = high < 0 ? -1 : digit_of(text[1]);
        if (low < 0)
            return false;
        guid.bytes[text_order[i]] = (uint8_t)(high * 16 + low);
        text += 2;
    }
    if (strcmp(text, braces ? "}" : "") != 0)
        return false;
    *ret_guid = guid;
    return true;
}
