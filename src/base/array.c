#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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

size_t sn_array_first(const void *items, size_t count, size_t item_size, uint64_t key)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t number;
        memcpy(&number, (const uint8_t *)items + middle * item_size, sizeof(number));
        if (number < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
