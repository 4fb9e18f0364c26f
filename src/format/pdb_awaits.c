/* What compilers say for stepping through async methods: where each await goes to wait. */
#include <string.h>

#include "format/pdb.h"

/* 54FD2AC5-E925-401A-9C2A-F94F171072F8, as a PDB has it. */
static const uint8_t stepping_kind[16] = {0xC5, 0x2A, 0xFD, 0x54, 0x25, 0xE9, 0x1A, 0x40,
                                          0x9C, 0x2A, 0xF9, 0x4F, 0x17, 0x10, 0x72, 0xF8};

#define PARENT_TAG_BITS 5u
#define PARENT_METHOD   0u /* tag of a method */
#define ROWS_OF_METHOD  64u

struct custom {
    uint32_t parent;
    uint32_t kind; /* GUID, counted from 1 */
    uint32_t value;
};

static uint32_t read_index(struct sn_cursor *cur, uint8_t width)
{
    return width == 4 ? sn_cursor_u32(cur) : sn_cursor_u16(cur);
}

static struct custom custom_at(const struct sn_pdb *pdb, uint32_t index)
{
    struct sn_cursor row = sn_cursor_over(pdb->customs.rows + (size_t)index * pdb->customs.row_size,
                                          pdb->customs.row_size);
    struct custom custom = {.parent = read_index(&row, pdb->parent_width)};
    custom.kind = read_index(&row, pdb->metadata.guid_width);
    custom.value = read_index(&row, pdb->metadata.blob_width);
    return custom;
}

/* Rows are in the order of what they are of: the first that is of `parent` or behind. */
static uint32_t first_of(const struct sn_pdb *pdb, uint32_t parent)
{
    uint32_t low = 0;
    uint32_t high = pdb->customs.row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (custom_at(pdb, middle).parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_stepping(const struct sn_pdb *pdb, uint32_t kind)
{
    const struct sn_metadata_stream *guids = &pdb->metadata.guid;
    size_t at = (size_t)(kind - 1) * sizeof(stepping_kind);
    return kind && at + sizeof(stepping_kind) <= guids->size &&
           memcmp(guids->bytes + at, stepping_kind, sizeof(stepping_kind)) == 0;
}

/* A catch block, then of each await where it goes, where it comes back, and in which method. */
static bool find_in(struct sn_cursor cur, uint32_t number, uint32_t *ret_il_offset)
{
    sn_cursor_skip(&cur, 4);
    for (uint32_t i = 0; !cur.bad && sn_cursor_left(&cur); i++) {
        uint32_t yields = sn_cursor_u32(&cur);
        sn_cursor_skip(&cur, 4);
        (void)sn_metadata_unsigned(&cur); /* the same method, always */
        if (cur.bad || i == number) {
            *ret_il_offset = yields;
            return !cur.bad;
        }
    }
    return false;
}

bool sn_pdb_await(const struct sn_pdb *pdb, uint32_t method, uint32_t number,
                  uint32_t *ret_il_offset)
{
    uint32_t parent = method << PARENT_TAG_BITS | PARENT_METHOD;
    uint32_t first = method && method <= SN_METADATA_ROW_MAX ? first_of(pdb, parent) : UINT32_MAX;
    for (uint32_t i = first; i < pdb->customs.row_count && i - first < ROWS_OF_METHOD; i++) {
        struct custom custom = custom_at(pdb, i);
        if (custom.parent != parent)
            return false;
        if (is_stepping(pdb, custom.kind))
            return find_in(sn_metadata_blob(&pdb->metadata, custom.value), number, ret_il_offset);
    }
    return false;
}
