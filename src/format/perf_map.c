#include "format/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"

#define ENTRY_MAX   (1u << 20)
#define NAMES_LIMIT (128u << 20)
#define LINE_LIMIT  8192u /* longer ones are passed over */
#define STEP_MAX    4096u /* lines over each other that a search looks at */

struct entry {
    uint64_t start;
    uint64_t reach; /* the furthest end of this and all before it, once sorted */
    uint32_t size;
    uint32_t name; /* in `names`, which grow with time: the order of lines as well */
};

struct sn_perf_map {
    struct entry *entries; /* owns */
    size_t count;
    size_t capacity;
    struct sn_buf names; /* each with its zero */
    struct sn_buf line;  /* the beginning of one that is not yet whole */
    bool is_too_long;    /* the present line, which is passed over */
    bool is_sorted;
};

int sn_perf_map_new(struct sn_perf_map **ret_map, struct sonde_error *err)
{
    struct sn_perf_map *map = calloc(1, sizeof(*map));
    if (!map)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a perf map");
    map->names = sn_buf_with_limit(NAMES_LIMIT);
    map->line = sn_buf_with_limit(LINE_LIMIT);
    *ret_map = map;
    return SONDE_OK;
}

void sn_perf_map_free(struct sn_perf_map *map)
{
    if (!map)
        return;
    free(map->entries);
    sn_buf_done(&map->names);
    sn_buf_done(&map->line);
    free(map);
}

size_t sn_perf_map_count(const struct sn_perf_map *map)
{
    return map->count;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One number and the blank behind it; false when it is none, or more than 64 bits. */
static bool take_hex(const char **at, const char *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *first = *at;
    if (end - first > 2 && first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
        first += 2;
    const char *c = first;
    for (; c < end && hex_digit(*c) >= 0; c++)
        value = value << 4 | (uint64_t)hex_digit(*c);
    if (c == first || c - first > 16 || c == end || *c != ' ')
        return false;
    *at = c + 1;
    *ret_value = value;
    return true;
}

static int take_line(struct sn_perf_map *map, const char *line, size_t size,
                     struct sonde_error *err)
{
    const char *at = line;
    const char *end = line + size;
    uint64_t start = 0;
    uint64_t length = 0;
    if (!take_hex(&at, end, &start) || !take_hex(&at, end, &length) || at == end || !length ||
        length > UINT32_MAX || start + length < start)
        return SONDE_OK;
    struct entry *entries = NULL;
    if (map->count < ENTRY_MAX)
        entries = sn_array_room(map->entries, map->count, &map->capacity, sizeof(*entries));
    if (!entries)
        return sn_fail(err, SONDE_E_LIMIT, 0, "a perf map with too many lines");
    map->entries = entries;
    uint32_t name = (uint32_t)map->names.size;
    sn_buf_append(&map->names, at, (size_t)(end - at));
    sn_buf_u8(&map->names, 0);
    if (map->names.failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "a perf map with names that are too long");
    entries[map->count++] = (struct entry){.start = start, .size = (uint32_t)length, .name = name};
    map->is_sorted = false;
    return SONDE_OK;
}

/* The end of a line: what was kept of it before, then `text`. */
static int end_line(struct sn_perf_map *map, const char *text, size_t size, struct sonde_error *err)
{
    int rc = SONDE_OK;
    bool is_whole = !map->line.size && !map->is_too_long;
    if (!is_whole)
        sn_buf_append(&map->line, text, size);
    if (is_whole && size <= LINE_LIMIT)
        rc = take_line(map, text, size, err);
    else if (!is_whole && !map->is_too_long && !map->line.failed)
        rc = take_line(map, (const char *)map->line.bytes, map->line.size, err);
    sn_buf_clear(&map->line);
    map->is_too_long = false;
    return rc;
}

int sn_perf_map_take(struct sn_perf_map *map, const char *text, size_t size,
                     struct sonde_error *err)
{
    int rc = SONDE_OK;
    while (size && rc == SONDE_OK) {
        const char *end = memchr(text, '\n', size);
        if (!end) {
            sn_buf_append(&map->line, text, size);
            map->is_too_long |= map->line.failed;
            break;
        }
        size_t length = (size_t)(end - text);
        rc = end_line(map, text, length, err);
        text += length + 1;
        size -= length + 1;
    }
    return rc;
}

static int compare(const void *left, const void *right)
{
    const struct entry *one = left;
    const struct entry *other = right;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

static void sort(struct sn_perf_map *map)
{
    uint64_t reach = 0;
    if (map->count)
        qsort(map->entries, map->count, sizeof(*map->entries), compare);
    for (size_t i = 0; i < map->count; i++) {
        uint64_t end = map->entries[i].start + map->entries[i].size;
        reach = end > reach ? end : reach;
        map->entries[i].reach = reach;
    }
    map->is_sorted = true;
}

/* How many entries start at or before `address`. */
static size_t count_before(const struct sn_perf_map *map, uint64_t address)
{
    size_t low = 0;
    size_t high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sn_perf_map_find(struct sn_perf_map *map, uint64_t address,
                      struct sn_perf_map_entry *ret_entry)
{
    const struct entry *best = NULL;
    if (!map->is_sorted)
        sort(map);
    size_t at = count_before(map, address);
    for (uint32_t steps = 0; at-- > 0 && map->entries[at].reach > address && steps < STEP_MAX;
         steps++) {
        const struct entry *entry = &map->entries[at];
        if (address - entry->start < entry->size && (!best || entry->name > best->name))
            best = entry;
    }
    if (!best)
        return false;
    *ret_entry = (struct sn_perf_map_entry){best->start, best->size,
                                            (const char *)map->names.bytes + best->name};
    return true;
}
