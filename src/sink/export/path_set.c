#include "sink/export/path_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct sn_path_set sn_path_set_with_limit(size_t limit, size_t bytes)
{
    return (struct sn_path_set){
        .places = sn_table_with_limit(limit), .texts = sn_arena_with_limit(bytes), .limit = limit};
}

void sn_path_set_done(struct sn_path_set *set)
{
    sn_table_done(&set->places);
    sn_arena_done(&set->texts);
    free(set->paths);
    set->paths = NULL;
}

static bool add(struct sn_path_set *set, uint64_t key, const char *path)
{
    const char **paths =
        set->count < set->limit
            ? sn_array_room(set->paths, set->count, &set->capacity, sizeof(const char *))
            : NULL;
    if (!paths)
        return false;
    set->paths = paths;
    const char *kept = sn_arena_copy(&set->texts, path, strlen(path));
    uint64_t *place = kept ? sn_table_put(&set->places, key) : NULL;
    if (!place)
        return false;
    paths[set->count++] = kept;
    *place = set->count;
    return true;
}

bool sn_path_set_take(struct sn_path_set *set, const char *path, size_t *ret_index)
{
    uint64_t key = sn_table_key(path, strlen(path));
    const uint64_t *place = sn_table_find(&set->places, key);
    if (!place && !add(set, key, path))
        return false;
    *ret_index = place ? *place - 1 : set->count - 1;
    return strcmp(set->paths[*ret_index], path) == 0;
}
