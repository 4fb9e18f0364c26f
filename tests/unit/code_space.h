/* The executable mappings of a process that lives, for tests of leaf repair. */
#ifndef SN_TEST_CODE_SPACE_H
#define SN_TEST_CODE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "symbol/objects.h"

#define CODE_MAPPING_MAX 512u

struct code_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint32_t object;
    bool is_libc;
    bool is_program; /* of the first file that is mapped: the program itself */
    char path[256];
};

struct code_space {
    struct code_mapping items[CODE_MAPPING_MAX];
    size_t count;
    char program[256];
};

static inline void code_space_take(struct code_space *space, uint32_t pid,
                                   struct sn_objects *objects, const char *line)
{
    char *at = NULL;
    struct code_mapping item = {.start = strtoull(line, &at, 16)};
    item.end = strtoull(at + 1, &at, 16);
    bool is_code = at[3] == 'x'; /* " r-xp " */
    item.offset = strtoull(at + 5, &at, 16);
    unsigned major_number = (unsigned)strtoul(at, &at, 16);
    unsigned minor_number = (unsigned)strtoul(at + 1, &at, 16);
    uint64_t inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    (void)snprintf(item.path, sizeof(item.path), "%.*s", (int)strcspn(at, "\n"), at);
    if (!space->program[0])
        memcpy(space->program, item.path, sizeof(item.path));
    if (!is_code || space->count == CODE_MAPPING_MAX)
        return;
    item.is_libc = strstr(item.path, "/libc.so.6") != NULL;
    item.is_program = strcmp(item.path, space->program) == 0;
    const struct sn_object_mapping mapping = {.pid = pid,
                                              .start = item.start,
                                              .end = item.end,
                                              .offset = item.offset,
                                              .path = item.path,
                                              .device = makedev(major_number, minor_number),
                                              .inode = inode};
    item.object = sn_objects_add(objects, &mapping);
    space->items[space->count++] = item;
}

static inline bool code_space_read(struct code_space *space, uint32_t pid,
                                   struct sn_objects *objects)
{
    char line[512];
    (void)snprintf(line, sizeof(line), "/proc/%u/maps", pid);
    FILE *maps = fopen(line, "re");
    if (!maps)
        return false;
    while (fgets(line, sizeof(line), maps))
        code_space_take(space, pid, objects, line);
    return fclose(maps) == 0;
}

static inline const struct code_mapping *code_space_find(const struct code_space *space,
                                                         uint64_t address)
{
    for (size_t i = 0; i < space->count; i++)
        if (address >= space->items[i].start && address < space->items[i].end)
            return &space->items[i];
    return NULL;
}

/* An sn_leaf_locate_fn. */
static inline bool code_space_locate(void *user, uint64_t address, uint32_t *ret_object,
                                     uint64_t *ret_offset)
{
    const struct code_mapping *item = code_space_find(user, address);
    if (!item)
        return false;
    *ret_object = item->object;
    *ret_offset = address - item->start + item->offset;
    return true;
}

#endif
