/* Stack blocks: keeps the addresses until the next sequence point. */
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

/* Ids go up by one; a writer that jumps further has begun anew. */
#define LARGEST_JUMP 4096u

static void clear(struct sn_nettrace_stacks *stacks, uint32_t first)
{
    sn_buf_clear(&stacks->bytes);
    sn_buf_clear(&stacks->entries);
    stacks->first = first;
    stacks->count = 0;
    stacks->epoch++;
}

/* Makes `id` the next entry, or one that is there already. */
static bool reach(struct sn_nettrace_stacks *stacks, uint32_t id)
{
    uint32_t place = id - stacks->first;
    if (!stacks->count || id < stacks->first || place > stacks->count + LARGEST_JUMP) {
        clear(stacks, id);
        place = 0;
    }
    if (place < stacks->count) {
        stacks->epoch++; /* an id is given anew */
        return true;
    }
    size_t missing = (size_t)(place - stacks->count) + 1;
    sn_buf_fill(&stacks->entries, 0xFF, missing * sizeof(struct sn_nettrace_stack));
    if (stacks->entries.failed)
        return false;
    stacks->count = place + 1;
    return true;
}

static bool keep(struct sn_nettrace_stacks *stacks, uint32_t id, const uint8_t *bytes,
                 uint32_t size)
{
    if (!reach(stacks, id))
        return false;
    struct sn_nettrace_stack stack = {.offset = (uint32_t)stacks->bytes.size, .size = size};
    /* One more byte, so that even an empty stack is somewhere. */
    if (!sn_buf_reserve(&stacks->bytes, (size_t)size + 1))
        return false;
    sn_buf_append(&stacks->bytes, bytes, size);
    memcpy(stacks->entries.bytes + (size_t)(id - stacks->first) * sizeof(stack), &stack,
           sizeof(stack));
    return true;
}

int sn_nettrace_stack_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset)
{
    struct sn_nettrace_stacks *stacks = &reader->stacks;
    struct sn_cursor cur = sn_cursor_over(block, size);
    uint32_t id = sn_cursor_u32(&cur);
    uint32_t count = sn_cursor_u32(&cur);

    for (uint32_t i = 0; i < count && !cur.bad; i++, id++) {
        size_t start = sn_cursor_offset(&cur);
        uint32_t bytes = sn_cursor_u32(&cur);
        const uint8_t *addresses = sn_cursor_bytes(&cur, bytes);
        if (cur.bad || bytes % reader->info.pointer_size)
            return sn_nettrace_damage(reader, offset + start, size - start,
                                      "stack %u cannot be read; the rest of its block is lost", id);
        if (keep(stacks, id, addresses, bytes))
            continue;
        /* Full (or out of memory): later stacks matter more to later events than early ones. */
        clear(stacks, 0);
        return sn_nettrace_damage(reader, offset + start, size - start,
                                  "too many stacks between two sequence points; all are dropped");
    }
    if (cur.bad)
        return sn_nettrace_damage(reader, offset, size, "stack block ends early");
    return SONDE_OK;
}
