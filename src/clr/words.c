#include "clr/words.h"

#include <stddef.h>

/* The word at `index` of a table, or the word for numbers that a later runtime may add. */
static const char *word_at(const char *const *words, size_t count, uint32_t index)
{
    return index < count ? words[index] : "unknown";
}

#define WORD_AT(words, index) word_at(words, sizeof(words) / sizeof(*(words)), index)

const char *sn_clr_gc_reason(uint32_t reason)
{
    static const char *const words[] = {
        "small objects",
        "induced",
        "low memory",
        "empty",
        "large objects",
        "out of space (small objects)",
        "out of space (large objects)",
        "induced (not forced)",
        "internal",
        "induced (low memory)",
        "induced (compacting)",
        "low memory (host)",
        "full (provisional mode)",
        "low memory (host, blocking)",
    };
    return WORD_AT(words, reason);
}

const char *sn_clr_gc_type(uint32_t type)
{
    static const char *const words[] = {"blocking", "background", "during background"};
    return WORD_AT(words, type);
}

const char *sn_clr_tier_name(uint32_t tier)
{
    static const char *const words[] = {
        "unknown",     "minimal",      "optimized",           "quick",
        "tier 1",      "tier 1 (OSR)", "quick, instrumented", "tier 1, instrumented",
        "precompiled",
    };
    return WORD_AT(words, tier);
}

const char *sn_clr_pool_reason(uint32_t reason)
{
    static const char *const words[] = {
        "warmup",      "initializing", "random move",      "climbing move",        "change point",
        "stabilizing", "starvation",   "thread timed out", "cooperative blocking",
    };
    return WORD_AT(words, reason);
}
