/* The files that processes have mapped, each once: a number for a path, and what is known of it.
 * One thread. */
#ifndef SN_MAPPED_FILES_H
#define SN_MAPPED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"

struct sn_mapped_file {
    const char *path; /* as its process sees it */
    uint64_t device;
    uint64_t inode;
    uint32_t object; /* number of symbol/objects.h; 0: none, or not asked yet */
    bool is_memory;  /* there is no file */
    uint8_t tries;   /* to find the object */
    bool is_told;    /* what the object is was told on the road */
};

struct sn_mapped_files {
    struct sn_mapped_file *items; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table numbers; /* a hash of path and inode to index + 1 */
    struct sn_arena paths;
    struct sn_mapped_file nameless;
    uint64_t refused; /* mappings of files that found no room */
};

void sn_mapped_files_init(struct sn_mapped_files *files);
void sn_mapped_files_done(struct sn_mapped_files *files);

/* The number of the file; 0, a nameless one, when there are too many. Memory that has no file
 * (".", "[...]", "//anon", "/memfd:...") is one file a name, whatever its inode. */
uint32_t sn_mapped_files_add(struct sn_mapped_files *files, const char *path, uint64_t device,
                             uint64_t inode);

/* Borrowed until the next is added. */
struct sn_mapped_file *sn_mapped_files_get(struct sn_mapped_files *files, uint32_t number);

#endif
