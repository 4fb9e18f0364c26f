#include "sink/aggregate/open_set.h"

#include <stdlib.h>

#include "base/array.h"

void sn_open_set_done(struct sn_open_set *set)
{
    sn_table_done(&set->index);
    free(set->items);
    set->items = NULL;
    set->count = set->capacity = 0;
}

/* A slot for one more: index + 1, or 0 without memory. */
static uint32_t take_slot(struct sn_open_set *set)
{
    if (set->first_free) {
        uint32_t slot = set->first_free;
        set->first_free = set->items[slot - 1].next_free;
        return slot;
    }
    struct sn_open *items = sn_array_room(set->items, set->count, &set->capacity, sizeof(*items));
    if (!items)
        return 0;
    set->items = items;
    return (uint32_t)++set->count;
}

struct sn_open *sn_open_set_begin(struct sn_open_set *set, uint64_t key, uint64_t time_ns)
{
    uint64_t *slot = sn_table_put(&set->index, key);
    if (!slot)
        return NULL;
    if (!*slot)
        *slot = take_slot(set);
    if (!*slot) {
        sn_table_remove(&set->index, key);
        return NULL;
    }
    struct sn_open *open = &set->items[*slot - 1];
    *open = (struct sn_open){.key = key, .since_ns = time_ns, .is_used = true};
    return open;
}

struct sn_open *sn_open_set_find(const struct sn_open_set *set, uint64_t key)
{
    const uint64_t *slot = sn_table_find(&set->index, key);
    return slot ? &set->items[*slot - 1] : NULL;
}

bool sn_open_set_end(struct sn_open_set *set, uint64_t key, struct sn_open *ret_open)
{
    const uint64_t *slot = sn_table_find(&set->index, key);
    if (!slot)
        return false;
    uint32_t index = (uint32_t)*slot;
    struct sn_open *open = &set->items[index - 1];
    *ret_open = *open;
    *open = (struct sn_open){.next_free = set->first_free};
    set->first_free = index;
    sn_table_remove(&set->index, key);
    return true;
}
