/* Any bytes as a perf map: whole and in pieces they mean the same, and what is found holds what was
 * asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/perf_map.h"

static struct sn_perf_map *read_map(const char *text, size_t size, size_t piece)
{
    struct sn_perf_map *map = NULL;
    struct sonde_error err = {0};
    if (sn_perf_map_new(&map, &err) != SONDE_OK)
        abort();
    for (size_t at = 0; at < size; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        if (sn_perf_map_take(map, text + at, part, &err) != SONDE_OK)
            abort(); /* no input is near the ceilings */
    }
    return map;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct sn_perf_map *whole = read_map(text, size, size ? size : 1);
    struct sn_perf_map *pieces = read_map(text, size, size % 7 + 1);
    if (sn_perf_map_count(whole) != sn_perf_map_count(pieces))
        abort();
    for (size_t i = 0; i + 8 <= size && i < 64; i++) {
        struct sn_perf_map_entry one = {0};
        struct sn_perf_map_entry other = {0};
        uint64_t address = 0;
        memcpy(&address, data + i, sizeof(address));
        address >>= i % 8 * 8; /* small numbers as well */
        bool is_found = sn_perf_map_find(whole, address, &one);
        if (is_found != sn_perf_map_find(pieces, address, &other))
            abort();
        if (is_found && (address < one.start || address - one.start >= one.size ||
                         strcmp(one.name, other.name) != 0))
            abort();
    }
    sn_perf_map_free(whole);
    sn_perf_map_free(pieces);
    return 0;
}
