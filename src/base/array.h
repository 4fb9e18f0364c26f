/* Growing an array by doubling: the one shape behind every list that is filled one by one. */
#ifndef SN_ARRAY_H
#define SN_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* `items` with room for one more than `count`, moved if need be; NULL without memory, and `items`
 * stays valid. struct thing *things = sn_array_room(list->things, list->count, &list->capacity,
 * sizeof(*things)); if (!things) return ...; list->things = things; */
void *sn_array_room(void *items, size_t count, size_t *capacity, size_t item_size);

/* Among `count` items of `item_size` bytes that are sorted by a number, which is their first
 * member: the first whose number is `key` or more. */
size_t sn_array_first(const void *items, size_t count, size_t item_size, uint64_t key);

#endif
