/* Answers that were found for single addresses, by the range they hold for. Bounded: when it is
 * full it starts anew. One thread. */
#ifndef SN_SYMBOL_CACHE_H
#define SN_SYMBOL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "symbol/symbol_search.h"

struct sn_symbol_cache_entry {
    uint32_t object;
    struct sn_symbol_answer answer; /* size 0: nothing is known of it */
};

struct sn_symbol_cache {
    struct sn_symbol_cache_entry *entries; /* owns; sorted by object and answer.from */
    size_t count;
    size_t capacity;
    struct sn_arena names;
};

void sn_symbol_cache_done(struct sn_symbol_cache *cache);

/* NULL when it is not known. Dies with the next put. */
const struct sn_symbol_answer *sn_symbol_cache_find(const struct sn_symbol_cache *cache,
                                                    uint32_t object, uint64_t vaddr);

/* Keeps the answer with `name` instead of its own; without memory it does not. */
void sn_symbol_cache_put(struct sn_symbol_cache *cache, uint32_t object,
                         const struct sn_symbol_answer *answer, const char *name);

#endif
