#include "source/memory/range_sections.h"

#include "source/memory/code_layout.h"

enum {
    LEVELS = 5,
    LEVEL_BITS = 8,
    PIECE_BITS = 17, /* of an address, within what an entry of the last level stands for */
};

#define FRAGMENTS_MAX 1024u       /* of 128 KB of addresses */
#define TAG           UINT64_C(1) /* of pointers: the range may be unloaded */
#define ADDRESS_END   (UINT64_C(1) << 57)

/* The first fragment of a piece of 128 KB; *ret_fragment is 0 where there is none, and *ret_level
 * how far down the map goes there. False: it cannot be read. */
static bool find_fragment(struct sn_code_reader *reader, uint64_t piece, uint64_t *ret_fragment,
                          unsigned *ret_level)
{
    uint64_t level = reader->layout->range_map + reader->layout->map_top;
    unsigned i = 0;
    for (; i < LEVELS && level; i++) {
        uint64_t index = piece >> ((LEVELS - 1 - i) * LEVEL_BITS) & 255u;
        if (!sn_code_read_u64(reader, level + index * 8, &level))
            return false;
        level &= ~TAG;
    }
    *ret_fragment = level;
    *ret_level = i;
    return true;
}

/* That of a fragment. */
static bool read_section(struct sn_code_reader *reader, uint64_t fragment,
                         struct sn_range_section *section)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t at;
    *section = (struct sn_range_section){0};
    if (!sn_code_read_u64(reader, fragment + layout->fragment_section, &at))
        return false;
    section->address = at & ~TAG;
    at = section->address;
    return !(at & 7) && sn_code_read_u64(reader, at + layout->section_begin, &section->begin) &&
           sn_code_read_u64(reader, at + layout->section_end, &section->end) &&
           sn_code_read_u64(reader, at + layout->section_heap, &section->heap) &&
           sn_code_read_u64(reader, at + layout->section_module, &section->module);
}

bool sn_range_sections_find(struct sn_code_reader *reader, uint64_t address,
                            struct sn_range_section *ret_section)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t fragment;
    unsigned level;
    *ret_section = (struct sn_range_section){0};
    if (address >= ADDRESS_END || !find_fragment(reader, address >> PIECE_BITS, &fragment, &level))
        return false;
    for (unsigned i = 0; fragment && i < FRAGMENTS_MAX; i++) {
        uint64_t begin;
        uint64_t end;
        if (!sn_code_read_u64(reader, fragment + layout->fragment_begin, &begin) ||
            !sn_code_read_u64(reader, fragment + layout->fragment_end, &end))
            return false;
        if (begin <= address && address < end)
            return read_section(reader, fragment, ret_section) && ret_section->begin <= address &&
                   address < ret_section->end;
        if (!sn_code_read_u64(reader, fragment + layout->fragment_next, &fragment))
            return false;
        fragment &= ~TAG;
    }
    return false;
}

bool sn_range_sections_next(struct sn_code_reader *reader, uint64_t *piece,
                            struct sn_range_section *ret_section)
{
    while (*piece < ADDRESS_END >> PIECE_BITS) {
        uint64_t fragment;
        unsigned level;
        if (!find_fragment(reader, *piece, &fragment, &level))
            return false;
        /* past all that an empty entry on the way stands for */
        uint64_t step = UINT64_C(1) << ((LEVELS - level) * LEVEL_BITS);
        *piece = (*piece / step + 1) * step;
        if (fragment && read_section(reader, fragment, ret_section) &&
            ret_section->begin < ret_section->end)
            return true;
    }
    return false;
}
