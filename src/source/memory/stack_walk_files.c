/* The files that a walk goes through: of a live process as the kernel tells them, of a dead one
 * those that begin as they did when it died. */
#include <string.h>

#include "base/own.h"
#include "source/memory/stack_walk_internal.h"
#include "symbol/object_file.h"
#include "symbol/objects.h"

#define PROOF_SIZE 4096u /* headers and build id; core files keep the first page */
#define PIECES_MAX 64u   /* of one file, side by side */

/* Where the file's first byte was mapped, at or below `map`; 0: nowhere. */
static uint64_t start_of(const struct sn_memory *memory, const struct sn_memory_map *map)
{
    size_t index = (size_t)(map - sn_memory_map_at(memory, 0));
    for (size_t i = 0; i <= index && i < PIECES_MAX; i++) {
        const struct sn_memory_map *piece = sn_memory_map_at(memory, index - i);
        if (strcmp(piece->path, map->path) != 0)
            continue; /* what is zero at a file's end has no path */
        if (!piece->offset)
            return piece->start;
    }
    return 0;
}

static void close_file(struct sn_object_file *file)
{
    sn_object_file_close(file);
}

/* Whatever has the path today, an upgrade later or on another machine, is not what was run. */
static bool is_as_mapped(struct sn_stack_walk *walk, const struct sn_memory_map *map)
{
    uint8_t then[PROOF_SIZE];
    uint8_t now[PROOF_SIZE];
    const struct sn_object_place place = {.path = map->path};
    uint64_t start = start_of(walk->memory, map);
    __attribute__((cleanup(close_file))) struct sn_object_file file = {.fd = -1};
    if (!start || !sn_object_file_open(&place, &file))
        return false;
    size_t size = file.size < PROOF_SIZE ? (size_t)file.size : PROOF_SIZE;
    return sn_object_file_read(&file, 0, now, size) == size &&
           sn_memory_read(walk->memory, start, then, size) && memcmp(then, now, size) == 0;
}

static uint32_t add_object(struct sn_stack_walk *walk, const struct sn_memory_map *map)
{
    const struct sn_object_mapping asked = {
        .pid = sn_memory_pid(walk->memory), /* 0: files as we see them */
        .start = map->start,
        .end = map->end,
        .offset = map->offset,
        .path = map->path,
        .device = map->device,
        .inode = map->inode,
    };
    bool is_file = asked.pid ? map->path[0] == '/' || !strcmp(map->path, "[vdso]")
                             : map->path[0] == '/' && is_as_mapped(walk, map);
    return is_file ? sn_objects_add(walk->objects, &asked) : 0;
}

/* Asked once for each mapping. */
uint32_t sn_walk_object(struct sn_stack_walk *walk, const struct sn_memory_map *map)
{
    uint64_t hash = (map->start ^ map->inode << 40) * 0x9e3779b97f4a7c15u;
    struct sn_walk_module *module = &walk->modules[hash >> 54];
    _Static_assert(SN_WALK_MODULES == 1u << (64 - 54), "the hash's high bits number the modules");
    if (module->is_used && module->start == map->start && module->end == map->end &&
        module->inode == map->inode)
        return module->object;
    *module = (struct sn_walk_module){map->start, map->end, map->inode, 0, true};
    module->object = add_object(walk, map);
    return module->object;
}
