#include "source/memory/runtime_version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "source/memory/memory.h"

/* What the build leaves in the writable data of every native part of a runtime, whatever folder it
 * is in and however it was linked: "@(#)Version 8.0.3326.52219 @Commit: ...". */
#define MARK       "@(#)Version "
#define MARK_SIZE  (sizeof(MARK) - 1)
#define TEXT_SIZE  64u
#define NUMBER_MAX 9999999u

/* A runtime has 7 MB, a program with all of it inside 13 MB before what is bundled. */
#define CHUNK_SIZE    (256u << 10)
#define SCAN_LIMIT    (64u << 20)
#define MAPS_LIMIT    64u
#define MARKS_A_CHUNK 16u /* that are looked at: a runtime has one */

/* "8.0.3326.52219": numbers with a dot between two of them. */
static bool read_numbers(const char *text, uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        unsigned long value = strtoul(text, &end, 10);
        if (value > NUMBER_MAX || (i + 1 < count && *end != '.'))
            return false;
        numbers[i] = (uint32_t)value;
        text = end + 1;
    }
    return true;
}

/* The third number of a build is the patch followed by two digits of the year. */
static bool version_of_mark(const char *text, struct sn_runtime_version *ret_version)
{
    uint32_t numbers[4];
    if (!read_numbers(text, numbers, 4) || !numbers[0])
        return false;
    ret_version->major = numbers[0];
    (void)snprintf(ret_version->text, sizeof(ret_version->text), "%" PRIu32 ".%" PRIu32 ".%" PRIu32,
                   numbers[0], numbers[1], numbers[2] / 100);
    return true;
}

/* "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.33/libcoreclr.so" */
static bool version_of_path(const char *path, struct sn_runtime_version *ret_version)
{
    uint32_t numbers[3];
    const char *file = strrchr(path, '/');
    const char *folder = file ? memrchr(path, '/', (size_t)(file - path)) : NULL;
    if (!folder || strncmp(file, "/libcoreclr.so", strlen("/libcoreclr.so")) != 0)
        return false;
    if (!read_numbers(folder + 1, numbers, 3) || !numbers[0])
        return false;
    ret_version->major = numbers[0];
    (void)snprintf(ret_version->text, sizeof(ret_version->text), "%.*s", (int)(file - folder - 1),
                   folder + 1);
    return true;
}

static bool find_in_chunk(struct sn_memory *memory, uint64_t address, const uint8_t *chunk,
                          size_t size, struct sn_runtime_version *ret_version)
{
    size_t at = 0;
    for (unsigned i = 0; i < MARKS_A_CHUNK && at < size; i++) {
        const uint8_t *mark = memmem(chunk + at, size - at, MARK, MARK_SIZE);
        if (!mark)
            return false;
        at = (size_t)(mark - chunk) + MARK_SIZE;
        char text[TEXT_SIZE];
        if (sn_memory_utf8(memory, address + at, text, sizeof(text)) &&
            version_of_mark(text, ret_version))
            return true;
    }
    return false;
}

/* Chunks overlap by as much as a mark that is cut. */
static bool find_in_map(struct sn_memory *memory, const struct sn_memory_map *map, uint8_t *chunk,
                        uint64_t *left, struct sn_runtime_version *ret_version)
{
    for (uint64_t at = map->start; at < map->end && *left; at += CHUNK_SIZE - MARK_SIZE) {
        uint64_t rest = map->end - at;
        size_t size = rest < CHUNK_SIZE ? (size_t)rest : CHUNK_SIZE;
        size_t got = sn_memory_read_now(memory, at, chunk, size);
        *left -= *left < size ? *left : size;
        if (find_in_chunk(memory, at, chunk, got, ret_version))
            return true;
        if (got < size)
            return false;
    }
    return false;
}

static bool is_same_file(const struct sn_memory_map *a, const struct sn_memory_map *b)
{
    return a->inode == b->inode && a->device == b->device && strcmp(a->path, b->path) == 0;
}

/* The mark is in the data, which is small: what is writable is looked at first. */
static bool find_mark(struct sn_memory *memory, const struct sn_memory_map *module,
                      bool is_writable, uint64_t *left, struct sn_runtime_version *ret_version)
{
    SN_AUTO(sn_free) uint8_t *chunk = malloc(CHUNK_SIZE);
    unsigned looked_at = 0;
    if (!chunk || !module->path[0])
        return false;
    for (size_t i = 0; i < sn_memory_map_count(memory) && looked_at < MAPS_LIMIT; i++) {
        const struct sn_memory_map *map = sn_memory_map_at(memory, i);
        bool is_wanted = (map->flags & SN_MAP_READ) && is_same_file(map, module) &&
                         !!(map->flags & SN_MAP_WRITE) == is_writable;
        looked_at += is_wanted;
        if (is_wanted && find_in_map(memory, map, chunk, left, ret_version))
            return true;
    }
    return false;
}

bool sn_runtime_version_find(struct sn_memory *memory, uint64_t base,
                             struct sn_runtime_version *ret_version)
{
    const struct sn_memory_map *module = sn_memory_map_of(memory, base);
    uint64_t left = SCAN_LIMIT;
    memset(ret_version, 0, sizeof(*ret_version));
    return module && (find_mark(memory, module, true, &left, ret_version) ||
                      find_mark(memory, module, false, &left, ret_version) ||
                      version_of_path(module->path, ret_version));
}
