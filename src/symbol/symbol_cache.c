#include "symbol/symbol_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ENTRY_MAX  8192u
#define NAME_LIMIT (1u << 20)

void sn_symbol_cache_done(struct sn_symbol_cache *cache)
{
    free(cache->entries);
    sn_arena_done(&cache->names);
    *cache = (struct sn_symbol_cache){0};
}

/* The first entry behind `vaddr`. */
static size_t first_behind(const struct sn_symbol_cache *cache, uint32_t object, uint64_t vaddr)
{
    size_t low = 0;
    size_t high = cache->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sn_symbol_cache_entry *entry = &cache->entries[middle];
        bool is_behind =
            entry->object != object ? entry->object > object : entry->answer.from > vaddr;
        if (is_behind)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct sn_symbol_answer *sn_symbol_cache_find(const struct sn_symbol_cache *cache,
                                                    uint32_t object, uint64_t vaddr)
{
    size_t behind = first_behind(cache, object, vaddr);
    const struct sn_symbol_cache_entry *entry = behind ? &cache->entries[behind - 1] : NULL;
    return entry && entry->object == object && vaddr < entry->answer.until ? &entry->answer : NULL;
}

void sn_symbol_cache_put(struct sn_symbol_cache *cache, uint32_t object,
                         const struct sn_symbol_answer *answer, const char *name)
{
    size_t size = strlen(name);
    if (cache->count == ENTRY_MAX || cache->names.total + size > NAME_LIMIT)
        sn_symbol_cache_done(cache);
    cache->names.limit =
        (size_t)2 * NAME_LIMIT; /* its chunks are larger than what is asked of them */
    struct sn_symbol_cache_entry *entries =
        sn_array_room(cache->entries, cache->count, &cache->capacity, sizeof(*entries));
    char *copy = sn_arena_copy(&cache->names, name, size);
    if (entries)
        cache->entries = entries;
    if (!entries || !copy)
        return;
    size_t at = first_behind(cache, object, answer->from);
    memmove(&entries[at + 1], &entries[at], (cache->count - at) * sizeof(*entries));
    entries[at] = (struct sn_symbol_cache_entry){object, *answer};
    entries[at].answer.name = copy;
    cache->count++;
}
