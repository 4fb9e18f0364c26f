#include "symbol/native_names.h"

#include <stdlib.h>

#include "base/array.h"

#define NAME_LIMIT (4u << 20)
#define LINE_LIMIT (1u << 20)

/* How many names that begin before an address are tried: aliases and blocks around others. */
#define OVERLAP_MAX 16u

void sn_native_names_init(struct sn_native_names *names)
{
    *names = (struct sn_native_names){.line_index = sn_table_with_limit(LINE_LIMIT)};
}

void sn_native_names_done(struct sn_native_names *names)
{
    free(names->names);
    free(names->lines);
    sn_table_done(&names->line_index);
}

void sn_native_names_add(struct sn_native_names *names, const struct sn_native_name *name)
{
    if (names->count == NAME_LIMIT || name->last < name->start)
        return;
    struct sn_native_name *grown =
        sn_array_room(names->names, names->count, &names->capacity, sizeof(*grown));
    if (!grown)
        return;
    names->names = grown;
    names->names[names->count++] = *name;
    names->is_sorted = false;
}

static int by_place(const void *left, const void *right)
{
    const struct sn_native_name *a = left;
    const struct sn_native_name *b = right;
    if (a->mapping_id != b->mapping_id)
        return a->mapping_id < b->mapping_id ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->last < b->last) - (a->last > b->last); /* the narrowest is found first */
}

static size_t count_until(const struct sn_native_names *names, uint64_t mapping_id,
                          uint64_t address)
{
    size_t low = 0;
    size_t high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sn_native_name *name = &names->names[middle];
        if (name->mapping_id < mapping_id ||
            (name->mapping_id == mapping_id && name->start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sn_native_name *sn_native_names_find(struct sn_native_names *names,
                                                  uint64_t mapping_id, uint64_t address)
{
    if (!names->is_sorted && names->count)
        qsort(names->names, names->count, sizeof(*names->names), by_place);
    names->is_sorted = true;
    size_t at = count_until(names, mapping_id, address);
    for (size_t tried = 0; at > 0 && tried < OVERLAP_MAX; tried++) {
        const struct sn_native_name *name = &names->names[--at];
        if (name->mapping_id != mapping_id)
            break;
        if (address <= name->last)
            return name;
    }
    return NULL;
}

/* --- lines --- */

static bool is_line(const struct sn_native_line *line, uint64_t mapping_id, uint64_t address)
{
    return line->mapping_id == mapping_id && line->address == address;
}

static uint64_t line_hash(uint64_t mapping_id, uint64_t address)
{
    return address ^ mapping_id * 0x9E3779B97F4A7C15u;
}

void sn_native_names_add_line(struct sn_native_names *names, const struct sn_native_line *line)
{
    uint64_t hash = line_hash(line->mapping_id, line->address);
    uint64_t *place = sn_table_put(&names->line_index, hash);
    while (place && *place && !is_line(&names->lines[*place - 1], line->mapping_id, line->address))
        place = sn_table_put(&names->line_index, ++hash);
    if (!place || *place)
        return;
    struct sn_native_line *grown =
        sn_array_room(names->lines, names->line_count, &names->line_capacity, sizeof(*grown));
    if (!grown)
        return;
    names->lines = grown;
    names->lines[names->line_count++] = *line;
    *place = names->line_count;
}

const struct sn_native_line *sn_native_names_line(const struct sn_native_names *names,
                                                  uint64_t mapping_id, uint64_t address)
{
    uint64_t hash = line_hash(mapping_id, address);
    const uint64_t *place = sn_table_find(&names->line_index, hash);
    while (place && *place && !is_line(&names->lines[*place - 1], mapping_id, address))
        place = sn_table_find(&names->line_index, ++hash);
    return place && *place ? &names->lines[*place - 1] : NULL;
}
