/* An image in memory, as format/pe.h reads it. */
#ifndef SN_MEMORY_PE_H
#define SN_MEMORY_PE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/memory.h"

struct sn_memory_pe {
    struct sn_memory *memory; /* borrows */
    uint64_t base;
};

/* As sn_pe_read_fn, of a struct sn_memory_pe. */
static inline bool sn_memory_pe_read(void *user, uint64_t offset, void *to, size_t size)
{
    const struct sn_memory_pe *image = user;
    return offset <= UINT64_MAX - image->base &&
           sn_memory_read_now(image->memory, image->base + offset, to, size) == size;
}

#endif
