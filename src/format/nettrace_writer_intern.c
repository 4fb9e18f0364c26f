/* Gives equal contents one id, for the writer's stacks and label lists. */
#include <string.h>

#include "format/nettrace_writer_internal.h"

struct entry {
    uint32_t id;
    uint32_t size;
};

static bool is_same(const struct sn_nettrace_interned *interned, uint64_t at, const void *bytes,
                    size_t size, uint32_t *ret_id)
{
    struct entry entry;
    memcpy(&entry, interned->bytes.bytes + at, sizeof(entry));
    if (entry.size != size)
        return false;
    if (size && memcmp(interned->bytes.bytes + at + sizeof(entry), bytes, size) != 0)
        return false;
    *ret_id = entry.id;
    return true;
}

uint32_t sn_nettrace_intern(struct sn_nettrace_interned *interned, const void *bytes, size_t size,
                            bool *ret_is_new)
{
    uint64_t hash = sn_table_key(bytes, size);
    uint64_t *place = sn_table_find(&interned->by_hash, hash);
    uint32_t id;

    *ret_is_new = false;
    if (place && is_same(interned, *place, bytes, size, &id))
        return id;
    struct entry entry = {.id = interned->next, .size = (uint32_t)size};
    uint64_t at = interned->bytes.size;
    /* Room first: a place in the table is the promise that there is an entry. */
    if (!sn_buf_reserve(&interned->bytes, sizeof(entry) + size))
        return 0;
    place = sn_table_put(&interned->by_hash, hash);
    if (!place)
        return 0;
    sn_buf_append(&interned->bytes, &entry, sizeof(entry));
    if (size)
        sn_buf_append(&interned->bytes, bytes, size);
    *place = at;
    *ret_is_new = true;
    interned->pending++;
    return interned->next++;
}

void sn_nettrace_interned_clear(struct sn_nettrace_interned *interned)
{
    sn_table_clear(&interned->by_hash);
    sn_buf_clear(&interned->bytes);
    interned->next = 1;
}
