#include "symbol/name_pool.h"

#include <string.h>

#include "base/text.h"

/* Ceilings; the largest services have some 200,000 methods. */
#define NAMES_LIMIT  (256u << 20)
#define STRING_LIMIT (8u << 20)
#define BYTES_LIMIT  4096u /* of one text that no zero ends */

void sn_name_pool_init(struct sn_name_pool *pool)
{
    pool->arena = sn_arena_with_limit(NAMES_LIMIT);
    pool->index = sn_table_with_limit(STRING_LIMIT);
}

void sn_name_pool_done(struct sn_name_pool *pool)
{
    sn_arena_done(&pool->arena);
    sn_table_done(&pool->index);
}

const char *sn_name_pool_keep(struct sn_name_pool *pool, const char *text, size_t size)
{
    uint64_t hash = sn_text_hash(0, text);
    uint64_t *place = sn_table_put(&pool->index, hash);
    while (place && *place && strcmp((const char *)(uintptr_t)*place, text) != 0)
        place = sn_table_put(&pool->index, ++hash);
    if (!place)
        return NULL;
    if (!*place)
        *place = (uint64_t)(uintptr_t)sn_arena_copy(&pool->arena, text, size);
    return (const char *)(uintptr_t)*place;
}

const char *sn_name_pool_bytes(struct sn_name_pool *pool, const char *bytes, size_t size)
{
    char text[BYTES_LIMIT];
    if (!bytes || !size)
        return "";
    size_t kept = strnlen(bytes, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
    memcpy(text, bytes, kept);
    text[kept] = '\0';
    const char *name = sn_name_pool_keep(pool, text, kept);
    return name ? name : "";
}
