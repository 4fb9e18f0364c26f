/* Name patterns: `*` stands for anything, `?` for one character; without either, a part of the name
 * is enough. Letters' case counts. */
#ifndef SN_PATTERN_H
#define SN_PATTERN_H

#include <stdbool.h>

bool sn_pattern_matches(const char *pattern, const char *text);

#endif
