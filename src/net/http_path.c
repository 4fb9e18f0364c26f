#include "net/http_path.h"

#include <stddef.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* How many bytes the character at `at` has, of at most `size`; 0: it is not UTF-8. */
static size_t character_size(const unsigned char *at, size_t size)
{
    size_t length = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    if (!length || length > size || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f)))
        return 0;
    if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)))
        return 0;
    return length;
}

/* `least`: the smallest byte that may be there. */
static bool is_plain_text(const char *text, unsigned char least)
{
    for (size_t size = strlen(text); size;) {
        unsigned char first = (unsigned char)*text;
        size_t length = character_size((const unsigned char *)text, size);
        if (!length || first < least || first == 0x7f)
            return false;
        text += length;
        size -= length;
    }
    return true;
}

/* Decodes once, in place. */
static bool decode(char *path)
{
    char *to = path;
    for (const char *from = path; *from; from++) {
        char c = *from;
        if (c == '%') {
            int high = hex(from[1]);
            int low = high < 0 ? -1 : hex(from[2]);
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            if (c == '/' || c == '\0')
                return false;
            from += 2;
        }
        *to++ = c;
    }
    *to = '\0';
    return is_plain_text(path, ' ');
}

bool sn_http_path_split(char *target, const char **ret_query)
{
    *ret_query = "";
    if (target[0] != '/' || strchr(target, '#') || !is_plain_text(target, ' ' + 1))
        return false;
    char *mark = strchr(target, '?');
    if (mark) {
        *mark = '\0';
        *ret_query = mark + 1;
    }
    return decode(target);
}
