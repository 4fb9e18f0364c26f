/* Texts kept once each, however many tables refer to them: processes that run the same runtime have
 * most of their names in common. Bounded. One thread. */
#ifndef SN_NAME_POOL_H
#define SN_NAME_POOL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/table.h"

struct sn_name_pool {
    struct sn_arena arena;
    struct sn_table index; /* hash -> pointer */
};

void sn_name_pool_init(struct sn_name_pool *pool);
void sn_name_pool_done(struct sn_name_pool *pool);

/* The one copy of `text`, which ends with a zero and has `size` bytes before it; NULL without room.
 */
const char *sn_name_pool_keep(struct sn_name_pool *pool, const char *text, size_t size);

/* The same of bytes that no zero ends; "" without room. */
const char *sn_name_pool_bytes(struct sn_name_pool *pool, const char *bytes, size_t size);

#endif
