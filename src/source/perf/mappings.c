#include "source/perf/mappings.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16u

void sn_mappings_done(struct sn_mappings *mappings)
{
    free(mappings->items);
    *mappings = (struct sn_mappings){0};
}

/* The first that ends past `address`: it holds it, or lies behind it. */
static uint32_t first_past(const struct sn_mappings *mappings, uint64_t address)
{
    uint32_t low = 0;
    uint32_t high = mappings->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (mappings->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sn_mapping *sn_mappings_find(const struct sn_mappings *mappings, uint64_t address)
{
    uint32_t at = first_past(mappings, address);
    bool holds = at < mappings->count && mappings->items[at].start <= address;
    return holds ? &mappings->items[at] : NULL;
}

static bool make_room(struct sn_mappings *mappings, uint32_t wanted)
{
    if (wanted <= mappings->capacity)
        return true;
    if (wanted > SN_MAPPINGS_LIMIT)
        return false;
    uint32_t capacity = mappings->capacity ? mappings->capacity : FIRST_CAPACITY;
    while (capacity < wanted)
        capacity *= 2;
    struct sn_mapping *items = realloc(mappings->items, capacity * sizeof(*items));
    if (!items)
        return false;
    mappings->items = items;
    mappings->capacity = capacity;
    return true;
}

/* Puts `count` items in the place of those from `from` up to `until`; there is room. */
static void replace(struct sn_mappings *mappings, uint32_t from, uint32_t until,
                    const struct sn_mapping *items, uint32_t count)
{
    struct sn_mapping *at = mappings->items + from;
    memmove(at + count, mappings->items + until, (mappings->count - until) * sizeof(*at));
    memcpy(at, items, count * sizeof(*at));
    mappings->count += count - (until - from);
}

static bool is_there(const struct sn_mappings *mappings, uint32_t at,
                     const struct sn_mapping *added)
{
    if (at == mappings->count)
        return false;
    const struct sn_mapping *old = &mappings->items[at];
    return old->start <= added->start && old->end >= added->end && old->file == added->file &&
           added->start - old->start == added->offset - old->offset;
}

bool sn_mappings_add(struct sn_mappings *mappings, const struct sn_mapping *added)
{
    uint32_t from = first_past(mappings, added->start);
    if (added->start >= added->end)
        return false;
    if (is_there(mappings, from, added))
        return true;
    if (!make_room(mappings, mappings->count + 2))
        return false;
    uint32_t until = from;
    while (until < mappings->count && mappings->items[until].start < added->end)
        until++;
    struct sn_mapping pieces[3]; /* what is left of the first covered, the new, of the last */
    uint32_t count = 0;
    if (from < until && mappings->items[from].start < added->start) {
        pieces[count] = mappings->items[from];
        pieces[count++].end = added->start;
    }
    pieces[count++] = *added;
    if (from < until && mappings->items[until - 1].end > added->end) {
        struct sn_mapping *rest = &pieces[count++];
        *rest = mappings->items[until - 1];
        rest->offset += added->end - rest->start;
        rest->start = added->end;
        rest->id = 0;
    }
    replace(mappings, from, until, pieces, count);
    return true;
}

bool sn_mappings_copy(struct sn_mappings *to, const struct sn_mappings *from)
{
    sn_mappings_done(to);
    if (!from->count)
        return true;
    to->items = malloc(from->count * sizeof(*to->items));
    if (!to->items)
        return false;
    memcpy(to->items, from->items, from->count * sizeof(*to->items));
    to->count = to->capacity = from->count;
    for (uint32_t i = 0; i < to->count; i++)
        to->items[i].id = 0;
    return true;
}
