/* Metadata of an image in memory, of which pages are copied when they are first asked for: the
 * names on a few stacks take a twentieth of the core library's. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "source/memory/type_system_internal.h"

#define PAGE_BITS 12u
#define PAGE_SIZE (1u << PAGE_BITS)

struct lazy {
    struct sn_metadata_lazy hook;
    struct sn_memory *memory; /* borrows */
    uint64_t address;
    uint8_t *bytes; /* the type system owns them */
    size_t size;
    bool *is_there; /* of each page */
};

static bool load_pages(struct lazy *lazy, size_t first, size_t last)
{
    size_t from = first << PAGE_BITS;
    size_t to = (last + 1) << PAGE_BITS;
    size_t size = (to < lazy->size ? to : lazy->size) - from;
    if (sn_memory_read_now(lazy->memory, lazy->address + from, lazy->bytes + from, size) != size)
        return false;
    memset(lazy->is_there + first, true, last - first + 1);
    return true;
}

static bool load(void *user, const uint8_t *at, size_t size)
{
    struct lazy *lazy = user;
    size_t offset = (size_t)(at - lazy->bytes);
    if (!size)
        return true;
    if (at < lazy->bytes || offset >= lazy->size || size > lazy->size - offset)
        return false;
    size_t last = (offset + size - 1) >> PAGE_BITS;
    for (size_t page = offset >> PAGE_BITS; page <= last; page++) {
        if (lazy->is_there[page])
            continue;
        size_t end = page;
        while (end < last && !lazy->is_there[end + 1])
            end++;
        if (!load_pages(lazy, page, end))
            return false;
        page = end;
    }
    return true;
}

/* What opening reads: up to the rows of the tables. They are in the first page, or all is read. */
static bool open_assembly(struct lazy *lazy, struct sn_assembly *assembly)
{
    struct sonde_error ignored = {0};
    size_t first = lazy->size < PAGE_SIZE ? lazy->size : PAGE_SIZE;
    if (!load(lazy, lazy->bytes, first))
        return false;
    if (sn_assembly_open(lazy->bytes, lazy->size, assembly, &ignored) == SONDE_OK &&
        assembly->metadata.rows.bytes <= lazy->bytes + first)
        return true;
    return load(lazy, lazy->bytes, lazy->size) &&
           sn_assembly_open(lazy->bytes, lazy->size, assembly, &ignored) == SONDE_OK;
}

static struct lazy *new_lazy(struct sn_type_system *types, uint64_t address, size_t size)
{
    struct lazy *lazy = sn_arena_alloc(&types->arena, sizeof(*lazy));
    bool *is_there = sn_arena_alloc(&types->arena, (size >> PAGE_BITS) + 1);
    uint8_t *bytes = lazy && is_there ? calloc(1, size) : NULL;
    if (!bytes)
        return NULL;
    *lazy = (struct lazy){{load, lazy}, types->memory, address, bytes, size, is_there};
    return lazy;
}

bool sn_types_open_lazy(struct sn_type_system *types, uint64_t address, size_t size,
                        struct sn_memory_module *module)
{
    struct sn_assembly *assembly = sn_arena_alloc(&types->arena, sizeof(*assembly));
    struct lazy *lazy = assembly ? new_lazy(types, address, size) : NULL;
    if (!lazy)
        return false;
    if (!open_assembly(lazy, assembly) || !sn_types_keep_bytes(types, lazy->bytes, size)) {
        free(lazy->bytes);
        return false;
    }
    assembly->metadata.lazy = &lazy->hook;
    module->metadata = assembly;
    if (load(lazy, assembly->metadata.guid.bytes, assembly->metadata.guid.size) &&
        load(lazy, assembly->metadata.rows.bytes, 16))
        (void)sn_metadata_version_id(&assembly->metadata, module->version_id); /* else zeros */
    return true;
}
