/* Paths that were made of what targets say, each once, up to a limit: every new one is a file on
 * the receiver's disk, and no target may fill that. One thread. */
#ifndef SN_EXPORT_PATH_SET_H
#define SN_EXPORT_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"

struct sn_path_set {
    struct sn_table places; /* of a path's key to its index, and one more */
    struct sn_arena texts;
    const char **paths; /* owns */
    size_t count;
    size_t capacity;
    size_t limit;
};

/* At most `limit` paths, with `bytes` of text. */
struct sn_path_set sn_path_set_with_limit(size_t limit, size_t bytes);
void sn_path_set_done(struct sn_path_set *set);

/* The path's index in `paths`, the same for the same path. False: it is new and there is no room
 * for it, or somebody made it to be mistaken for another. */
bool sn_path_set_take(struct sn_path_set *set, const char *path, size_t *ret_index);

#endif
