/* Memory that is freed all at once, with a ceiling. Pointers stay valid until sn_arena_done. One
 * thread. */
#ifndef SN_ARENA_H
#define SN_ARENA_H

#include <stddef.h>

struct sn_arena_chunk;

struct sn_arena {
    struct sn_arena_chunk *chunk; /* the newest; owns the chain */
    size_t used;                  /* bytes of the newest chunk */
    size_t total;                 /* bytes of all chunks */
    size_t limit;
};

static inline struct sn_arena sn_arena_with_limit(size_t limit)
{
    return (struct sn_arena){.limit = limit};
}

/* Zeroed, aligned to 16 bytes; NULL over the limit or out of memory. */
void *sn_arena_alloc(struct sn_arena *arena, size_t size);

/* A copy of `size` bytes with a zero behind it; NULL as above. */
char *sn_arena_copy(struct sn_arena *arena, const void *bytes, size_t size);

void sn_arena_done(struct sn_arena *arena);

#endif
