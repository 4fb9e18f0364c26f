#include "source/memory/nibble_map.h"

#include <stddef.h>

#include "source/memory/code_layout.h"

enum {
    NIBBLES = 8,        /* of a word, the first in its highest bits */
    BUCKET = 32,        /* bytes that a nibble stands for */
    UNIT = 256,         /* bytes that a word stands for */
    LARGEST_NIBBLE = 8, /* above: the word is a pointer */
    SMALLEST_POINTER = 9,
    LARGEST_POINTER = 12,
    GRAIN = 4, /* code starts at multiples of it */
};

#define WORDS_AT_ONCE 256u
#define WORDS_MAX     (1u << 18) /* of one search: a method of 64 MB */

/* The last start in the word at `unit`, not behind `most`; offsets from the map's base. */
static bool search_word(uint32_t word, uint64_t unit, uint64_t most, uint64_t *ret_start)
{
    for (unsigned i = NIBBLES; i-- > 0;) {
        unsigned nibble = word >> (4 * (NIBBLES - 1 - i)) & 15u;
        uint64_t start = unit * UNIT + (uint64_t)i * BUCKET + (nibble - UINT64_C(1)) * GRAIN;
        if (nibble && nibble <= LARGEST_NIBBLE && start <= most) {
            *ret_start = start;
            return true;
        }
    }
    return false;
}

static bool follow_pointer(uint32_t word, uint64_t most, uint64_t *ret_start)
{
    unsigned nibble = word & 15u;
    if (nibble < SMALLEST_POINTER || nibble > LARGEST_POINTER)
        return false;
    *ret_start = (word & ~UINT32_C(15)) + (uint64_t)(nibble - SMALLEST_POINTER) * GRAIN;
    return *ret_start <= most;
}

/* A method that covers a whole word is pointed at from there, so that two words tell. */
static bool search_with_pointers(struct sn_code_reader *reader, uint64_t map, uint64_t most,
                                 uint64_t *ret_start)
{
    uint64_t unit = most / UNIT;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t word;
        if (!sn_code_read_u32(reader, map + unit * sizeof(word), &word))
            return false;
        if ((word & 15u) > LARGEST_NIBBLE)
            return follow_pointer(word, most, ret_start);
        if (search_word(word, unit, most, ret_start))
            return true;
        if (!unit--)
            return false;
    }
    return false;
}

static bool search_backwards(struct sn_code_reader *reader, uint64_t map, uint64_t most,
                             uint64_t *ret_start)
{
    uint32_t words[WORDS_AT_ONCE];
    uint64_t end = most / UNIT + 1; /* words that are still to be looked at */
    for (unsigned seen = 0; end && seen < WORDS_MAX; seen += WORDS_AT_ONCE) {
        size_t count = end < WORDS_AT_ONCE ? (size_t)end : WORDS_AT_ONCE;
        end -= count;
        if (!sn_code_read(reader, map + end * sizeof(*words), words, count * sizeof(*words)))
            return false;
        while (count--) {
            if (search_word(words[count], end + count, most, ret_start))
                return true;
        }
    }
    return false;
}

bool sn_nibble_map_find(struct sn_code_reader *reader, uint64_t map, uint64_t base,
                        uint64_t address, uint64_t *ret_start)
{
    *ret_start = 0;
    if (address < base || address - base > UINT32_MAX)
        return false;
    uint64_t most = address - base;
    bool is_found = reader->layout->version == 1
                        ? search_backwards(reader, map, most, ret_start)
                        : search_with_pointers(reader, map, most, ret_start);
    if (is_found)
        *ret_start += base;
    return is_found;
}
