#include "convert/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/own.h"
#include "base/table.h"
#include "convert/ranking.h"

static bool is_type(const struct sn_profile *profile, uint32_t node)
{
    uint32_t frame = profile->nodes[node].frame;
    return frame != SN_NO_INDEX && profile->frames[frame].kind == SN_FRAME_TYPE;
}

/* Type and frame of a row's node. */
static struct sn_site describe(const struct sn_profile *profile, uint32_t node)
{
    struct sn_site site = {.type = SN_NO_INDEX};
    if (is_type(profile, node)) {
        site.type = profile->nodes[node].frame;
        node = profile->nodes[node].parent;
    }
    site.frame = sn_own_frame(profile, node);
    if (!site.frame && profile->nodes[node].frame != SN_NO_INDEX)
        site.frame = &profile->frames[profile->nodes[node].frame];
    return site;
}

static uint64_t key_of(const struct sn_profile *profile, const struct sn_site *site)
{
    uint64_t frame = site->frame ? (uint64_t)(site->frame - profile->frames) + 1 : 0;
    return (uint64_t)site->type << 32 | frame;
}

/* False without memory. */
static bool add_row(struct sn_sites *sites, size_t *capacity, struct sn_table *index,
                    const struct sn_profile *profile, const struct sn_row *row)
{
    struct sn_site site = describe(profile, row->node);
    uint64_t *place = sn_table_put(index, key_of(profile, &site));
    if (!place)
        return false;
    if (!*place) {
        struct sn_site *items = sn_array_room(sites->items, sites->count, capacity, sizeof(*items));
        if (!items)
            return false;
        sites->items = items;
        items[sites->count++] = site;
        *place = sites->count;
    }
    for (size_t i = 0; i < SN_COLUMN_MAX; i++)
        sites->items[*place - 1].values[i] += row->values[i];
    return true;
}

static int most_first(const void *left, const void *right, void *user)
{
    const struct sn_site *a = left;
    const struct sn_site *b = right;
    size_t column = *(const size_t *)user;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    if (a->values[column] != b->values[column])
        return a->values[column] < b->values[column] ? 1 : -1;
    return strcmp(sn_site_name(a), sn_site_name(b));
}

void sn_sites_find(struct sn_sites *sites, const struct sn_profile *profile, int column)
{
    size_t capacity = 0;
    *sites = (struct sn_sites){0};
    if (!profile || column < 0)
        return;
    struct sn_table index = sn_table_with_limit(profile->row_count + 1);
    bool has_memory = true;
    for (size_t i = 0; has_memory && i < profile->row_count; i++)
        has_memory = add_row(sites, &capacity, &index, profile, &profile->rows[i]);
    sn_table_done(&index);
    if (!has_memory)
        sn_sites_done(sites);
    size_t chosen = (size_t)column;
    if (sites->count)
        qsort_r(sites->items, sites->count, sizeof(*sites->items), most_first, &chosen);
}

void sn_sites_done(struct sn_sites *sites)
{
    free(sites->items);
    *sites = (struct sn_sites){0};
}

/* The first item whose type is not below `type`. */
static size_t first_of(const struct sn_sites *sites, uint64_t type)
{
    size_t low = 0;
    size_t high = sites->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sites->items[middle].type < type)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sn_site *sn_sites_of_type(const struct sn_sites *sites, uint32_t type,
                                       size_t *ret_count)
{
    size_t first = first_of(sites, type);
    *ret_count = first_of(sites, (uint64_t)type + 1) - first;
    return *ret_count ? &sites->items[first] : NULL;
}

const char *sn_site_name(const struct sn_site *site)
{
    return site->frame ? site->frame->name : "(no stack)";
}
