#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK 1024u /* many arenas hold next to nothing */
#define USUAL_CHUNK 16384u
#define ALIGNMENT   16u

struct sn_arena_chunk {
    struct sn_arena_chunk *older;
    size_t capacity;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Doubles what there is, up to the usual. */
static size_t next_capacity(const struct sn_arena *arena)
{
    if (arena->total < FIRST_CHUNK)
        return FIRST_CHUNK;
    return arena->total < USUAL_CHUNK ? arena->total : USUAL_CHUNK;
}

static int add_chunk(struct sn_arena *arena, size_t size)
{
    size_t capacity = next_capacity(arena);
    if (capacity < size)
        capacity = size;
    if (capacity > arena->limit - arena->total)
        capacity = size;
    if (capacity > arena->limit - arena->total)
        return -1;
    struct sn_arena_chunk *chunk = calloc(1, sizeof(*chunk) + capacity);
    if (!chunk)
        return -1;
    chunk->older = arena->chunk;
    chunk->capacity = capacity;
    arena->chunk = chunk;
    arena->used = 0;
    arena->total += capacity;
    return 0;
}

void *sn_arena_alloc(struct sn_arena *arena, size_t size)
{
    if (size > arena->limit || size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!arena->chunk || size > arena->chunk->capacity - arena->used) {
        if (add_chunk(arena, size) != 0)
            return NULL;
    }
    void *memory = arena->chunk->bytes + arena->used;
    arena->used += size;
    return memory;
}

char *sn_arena_copy(struct sn_arena *arena, const void *bytes, size_t size)
{
    char *copy = size < arena->limit ? sn_arena_alloc(arena, size + 1) : NULL;
    if (copy && size)
        memcpy(copy, bytes, size);
    return copy;
}

void sn_arena_done(struct sn_arena *arena)
{
    while (arena->chunk) {
        struct sn_arena_chunk *older = arena->chunk->older;
        free(arena->chunk);
        arena->chunk = older;
    }
    arena->used = 0;
    arena->total = 0;
}
