#include "base/pattern.h"

#include <stddef.h>
#include <string.h>

/* Goes back to the last star only, so it takes at most pattern times text steps. */
static bool matches_whole(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool sn_pattern_matches(const char *pattern, const char *text)
{
    if (strpbrk(pattern, "*?"))
        return matches_whole(pattern, text);
    return strstr(text, pattern) != NULL;
}
