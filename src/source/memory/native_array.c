#include "source/memory/native_array.h"

#include <string.h>

#include "source/memory/code_layout.h"

#define BLOCK 16u

bool sn_native_number(struct sn_code_reader *reader, uint64_t image, uint32_t end, uint32_t *at,
                      uint32_t *ret_value)
{
    uint8_t bytes[5] = {0};
    uint32_t value;
    uint32_t size = 1;
    *ret_value = 0;
    if (*at >= end || !sn_code_read_u8(reader, image + *at, bytes))
        return false;
    while (size <= 5 && bytes[0] >> (size - 1) & 1)
        size++;
    if (size > 5 || size > end - *at ||
        (size > 1 && !sn_code_read(reader, image + *at + 1, bytes + 1, size - 1)))
        return false;
    *at += size;
    if (size == 5) {
        memcpy(ret_value, bytes + 1, sizeof(*ret_value));
        return true;
    }
    memcpy(&value, bytes, sizeof(value));
    *ret_value = value >> size;
    return true;
}

bool sn_native_array_open(struct sn_code_reader *reader, uint64_t image, uint32_t start,
                          uint32_t size, struct sn_native_array *ret_array)
{
    uint32_t head;
    uint32_t at = start;
    *ret_array = (struct sn_native_array){.image = image, .end = start + size};
    if (size > UINT32_MAX - start || !sn_native_number(reader, image, ret_array->end, &at, &head))
        return false;
    ret_array->base = at;
    ret_array->count = head >> 2;
    ret_array->index_size = (head & 3) == 0 ? 1 : (head & 3) == 1 ? 2 : 4;
    return true;
}

/* To the branch of `index`; false: it has none. */
static bool step_down(struct sn_code_reader *reader, const struct sn_native_array *array,
                      uint32_t index, uint32_t bit, uint32_t *at)
{
    uint32_t start = *at;
    uint32_t node;
    if (!sn_native_number(reader, array->image, array->end, at, &node))
        return false;
    if (index & bit && node & 2) {
        *at = start + (node >> 2);
        return *at > start && *at < array->end;
    }
    return !(index & bit) && node & 1;
}

bool sn_native_array_find(struct sn_code_reader *reader, const struct sn_native_array *array,
                          uint32_t index, uint32_t *ret_at)
{
    uint32_t at = 0;
    uint64_t slot = array->base + (uint64_t)(index / BLOCK) * array->index_size;
    if (index >= array->count || slot + array->index_size > array->end ||
        !sn_code_read(reader, array->image + slot, &at, array->index_size) ||
        at >= array->end - array->base)
        return false;
    at += array->base;
    for (uint32_t bit = BLOCK / 2; bit; bit >>= 1) {
        uint32_t behind = at;
        uint32_t node;
        if (!sn_native_number(reader, array->image, array->end, &behind, &node))
            return false;
        if (!(node & 3)) { /* the only entry below here */
            *ret_at = behind;
            return node >> 2 == (index & (BLOCK - 1));
        }
        if (!step_down(reader, array, index, bit, &at))
            return false;
    }
    *ret_at = at;
    return true;
}
