#include "base/array.h"

#include <stdlib.h>

#define SMALLEST_CAPACITY 16u

void *sn_array_room(void *items, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? *capacity * 2 : SMALLEST_CAPACITY;
    void *moved = reallocarray(items, larger, item_size);
    if (moved)
        *capacity = larger;
    return moved;
}
