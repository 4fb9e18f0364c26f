#include "source/perf/mapped_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define FILE_LIMIT       65536u
#define PATH_BYTES_LIMIT (16u << 20)
#define TRIES            16u /* more files than that with one hash are no accident */

void sn_mapped_files_init(struct sn_mapped_files *files)
{
    *files = (struct sn_mapped_files){.numbers = sn_table_with_limit(FILE_LIMIT),
                                      .paths = sn_arena_with_limit(PATH_BYTES_LIMIT),
                                      .nameless = {.path = "", .is_memory = true}};
}

void sn_mapped_files_done(struct sn_mapped_files *files)
{
    sn_table_done(&files->numbers);
    sn_arena_done(&files->paths);
    free(files->items);
    files->items = NULL;
}

static bool is_memory(const char *path)
{
    static const char *const prefixes[] = {"/memfd:", "/dev/", "/SYSV", "anon_inode:"};
    if (path[0] != '/' || path[1] == '/')
        return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

static bool is_same(const struct sn_mapped_file *file, const char *path, uint64_t device,
                    uint64_t inode)
{
    return file->device == device && file->inode == inode && strcmp(file->path, path) == 0;
}

static uint32_t append(struct sn_mapped_files *files, const struct sn_mapped_file *file)
{
    struct sn_mapped_file *items =
        sn_array_room(files->items, files->count, &files->capacity, sizeof(*items));
    if (!items)
        return 0;
    files->items = items;
    struct sn_mapped_file *added = &items[files->count];
    *added = *file;
    added->path = sn_arena_copy(&files->paths, file->path, strlen(file->path));
    return added->path ? (uint32_t)++files->count : 0;
}

uint32_t sn_mapped_files_add(struct sn_mapped_files *files, const char *path, uint64_t device,
                             uint64_t inode)
{
    struct sn_mapped_file file = {.path = path, .device = device, .inode = inode};
    if (is_memory(path))
        file = (struct sn_mapped_file){.path = path, .is_memory = true};
    uint64_t hash = sn_text_hash(file.device * 31 + file.inode, path);
    for (unsigned tries = 0; tries < TRIES; tries++, hash++) {
        uint64_t *number = sn_table_put(&files->numbers, hash);
        if (number && !*number)
            *number = append(files, &file);
        if (!number || !*number)
            break;
        if (is_same(&files->items[*number - 1], path, file.device, file.inode))
            return (uint32_t)*number;
    }
    files->refused++;
    return 0;
}

struct sn_mapped_file *sn_mapped_files_get(struct sn_mapped_files *files, uint32_t number)
{
    return number && number <= files->count ? &files->items[number - 1] : &files->nameless;
}
