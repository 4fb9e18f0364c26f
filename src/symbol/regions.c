#include "symbol/regions.h"

#include <stdlib.h>

#include "base/array.h"

/* How many mappings that begin before an address are tried: more than a few overlap only where
 * places were used again and again. */
#define OVERLAP_MAX 256u

void sn_regions_done(struct sn_regions *regions)
{
    free(regions->items);
}

bool sn_regions_add(struct sn_regions *regions, const struct sn_region *region)
{
    struct sn_region *grown =
        sn_array_room(regions->items, regions->count, &regions->capacity, sizeof(*grown));
    if (!grown)
        return false;
    regions->items = grown;
    regions->items[regions->count++] = *region;
    regions->is_sorted = false;
    return true;
}

static int by_start(const void *left, const void *right)
{
    const struct sn_region *a = left;
    const struct sn_region *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void sort(struct sn_regions *regions)
{
    if (regions->count)
        qsort(regions->items, regions->count, sizeof(*regions->items), by_start);
    regions->is_sorted = true;
}

static size_t count_until(struct sn_regions *regions, uint64_t address)
{
    size_t low = 0;
    size_t high = regions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (regions->items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of two that hold the address: the newest that was there at the time, else the one that came
 * soonest after it. */
static bool is_better(const struct sn_region *candidate, const struct sn_region *best,
                      uint64_t time_ns)
{
    bool was_there = candidate->from_ns <= time_ns;
    if (!best || was_there != (best->from_ns <= time_ns))
        return !best || was_there;
    return was_there ? candidate->from_ns > best->from_ns : candidate->from_ns < best->from_ns;
}

const struct sn_region *sn_regions_find(struct sn_regions *regions, uint64_t address,
                                        uint64_t time_ns, bool *ret_is_settled)
{
    const struct sn_region *best = NULL;
    *ret_is_settled = true;
    if (!regions->is_sorted)
        sort(regions);
    size_t at = count_until(regions, address);
    for (size_t tried = 0; at > 0 && tried < OVERLAP_MAX; tried++) {
        const struct sn_region *region = &regions->items[--at];
        if (address >= region->end)
            continue;
        *ret_is_settled = *ret_is_settled && (!best || best->id == region->id);
        if (is_better(region, best, time_ns))
            best = region;
    }
    return best;
}
