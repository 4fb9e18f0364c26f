#include "daemon/trace_cover.h"

#include <string.h>

#include "base/redact.h"

#define TEXT_MIN 8u     /* characters: shorter ones hold no name with a secret */
#define TEXT_MAX 16384u /* characters: what is longer is looked at in parts of this size */

/* A character that is ASCII, in UTF-16. */
static bool is_text(const char *at)
{
    return at[1] == 0 &&
           ((at[0] >= ' ' && at[0] <= '~') || at[0] == '\n' || at[0] == '\r' || at[0] == '\t');
}

static void cover(void *user, size_t at, size_t size)
{
    char *bytes = user;
    for (size_t i = at; i < at + size; i++)
        bytes[2 * i] = '*';
}

static void look_at(char *bytes, size_t count)
{
    char text[TEXT_MAX];
    for (size_t i = 0; i < count; i++)
        text[i] = bytes[2 * i];
    (void)sn_redact_find(text, count, cover, bytes);
}

size_t sn_trace_cover(char *bytes, size_t size, size_t capacity, bool is_end)
{
    size_t at = 0;
    while (at + 1 < size) {
        size_t count = 0;
        while (count < TEXT_MAX && at + 2 * count + 1 < size && is_text(bytes + at + 2 * count))
            count++;
        bool may_go_on = at + 2 * count + 2 > size && count < TEXT_MAX;
        if (may_go_on && !is_end && (at > 0 || size < capacity))
            return at;
        if (count >= TEXT_MIN)
            look_at(bytes + at, count);
        at += count ? 2 * count : 1;
    }
    return is_end ? size : at;
}
