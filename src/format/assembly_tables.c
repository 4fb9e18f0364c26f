#include "format/assembly_tables.h"

#include "base/cursor.h"
#include "base/err.h"

#define TABLE_COUNT 0x2Du /* GenericParamConstraint is the last */

/* What a column holds: a number below CODED is a row of that table; from CODED on it is a row of
 * one of several tables, which the lowest bits choose. */
enum {
    CODED = 0x40,
    TYPE_DEF_OR_REF = CODED,
    HAS_CONSTANT,
    HAS_ATTRIBUTE,
    HAS_MARSHAL,
    HAS_SECURITY,
    MEMBER_PARENT,
    HAS_SEMANTICS,
    METHOD_DEF_OR_REF,
    MEMBER_FORWARDED,
    IMPLEMENTATION,
    ATTRIBUTE_TYPE,
    RESOLUTION_SCOPE,
    TYPE_OR_METHOD,
    CODED_END,
    U16 = 0x80,
    U32,
    STRING,
    GUID,
    BLOB,
    END = 0xFF,
};

#define COLUMN_MAX 10u

_Static_assert(CODED_END - CODED <= sizeof(((struct sn_assembly *)0)->widths), "widths are kept");

static const uint8_t columns[TABLE_COUNT][COLUMN_MAX] = {
    [0x00] = {U16, STRING, GUID, GUID, GUID, END},
    [0x01] = {RESOLUTION_SCOPE, STRING, STRING, END},
    [0x02] = {U32, STRING, STRING, TYPE_DEF_OR_REF, 0x04, 0x06, END},
    [0x03] = {0x04, END},
    [0x04] = {U16, STRING, BLOB, END},
    [0x05] = {0x06, END},
    [0x06] = {U32, U16, U16, STRING, BLOB, 0x08, END},
    [0x07] = {0x08, END},
    [0x08] = {U16, U16, STRING, END},
    [0x09] = {0x02, TYPE_DEF_OR_REF, END},
    [0x0A] = {MEMBER_PARENT, STRING, BLOB, END},
    [0x0B] = {U16, HAS_CONSTANT, BLOB, END},
    [0x0C] = {HAS_ATTRIBUTE, ATTRIBUTE_TYPE, BLOB, END},
    [0x0D] = {HAS_MARSHAL, BLOB, END},
    [0x0E] = {U16, HAS_SECURITY, BLOB, END},
    [0x0F] = {U16, U32, 0x02, END},
    [0x10] = {U32, 0x04, END},
    [0x11] = {BLOB, END},
    [0x12] = {0x02, 0x14, END},
    [0x13] = {0x14, END},
    [0x14] = {U16, STRING, TYPE_DEF_OR_REF, END},
    [0x15] = {0x02, 0x17, END},
    [0x16] = {0x17, END},
    [0x17] = {U16, STRING, BLOB, END},
    [0x18] = {U16, 0x06, HAS_SEMANTICS, END},
    [0x19] = {0x02, METHOD_DEF_OR_REF, METHOD_DEF_OR_REF, END},
    [0x1A] = {STRING, END},
    [0x1B] = {BLOB, END},
    [0x1C] = {U16, MEMBER_FORWARDED, STRING, 0x1A, END},
    [0x1D] = {U32, 0x04, END},
    [0x1E] = {U32, U32, END},
    [0x1F] = {U32, END},
    [0x20] = {U32, U16, U16, U16, U16, U32, BLOB, STRING, STRING, END},
    [0x21] = {U32, END},
    [0x22] = {U32, U32, U32, END},
    [0x23] = {U16, U16, U16, U16, U32, BLOB, STRING, STRING, BLOB, END},
    [0x24] = {U32, 0x23, END},
    [0x25] = {U32, U32, U32, 0x23, END},
    [0x26] = {U32, STRING, BLOB, END},
    [0x27] = {U32, U32, STRING, STRING, IMPLEMENTATION, END},
    [0x28] = {U32, U32, STRING, IMPLEMENTATION, END},
    [0x29] = {0x02, 0x02, END},
    [0x2A] = {U16, U16, TYPE_OR_METHOD, STRING, END},
    [0x2B] = {METHOD_DEF_OR_REF, BLOB, END},
    [0x2C] = {0x2A, TYPE_DEF_OR_REF, END},
};

/* Which tables a coded index chooses from, as a mask, and by how many bits. */
#define T(number) (1ull << (number))
static const struct coding {
    uint8_t bits;
    uint64_t tables;
} codings[CODED_END - CODED] = {
    [TYPE_DEF_OR_REF - CODED] = {2, T(0x02) | T(0x01) | T(0x1B)},
    [HAS_CONSTANT - CODED] = {2, T(0x04) | T(0x08) | T(0x17)},
    [HAS_ATTRIBUTE - CODED] = {5, T(0x06) | T(0x04) | T(0x01) | T(0x02) | T(0x08) | T(0x09) |
                                      T(0x0A) | T(0x00) | T(0x0E) | T(0x17) | T(0x14) | T(0x11) |
                                      T(0x1A) | T(0x1B) | T(0x20) | T(0x23) | T(0x26) | T(0x27) |
                                      T(0x28) | T(0x2A) | T(0x2B) | T(0x2C)},
    [HAS_MARSHAL - CODED] = {1, T(0x04) | T(0x08)},
    [HAS_SECURITY - CODED] = {2, T(0x02) | T(0x06) | T(0x20)},
    [MEMBER_PARENT - CODED] = {3, T(0x02) | T(0x01) | T(0x1A) | T(0x06) | T(0x1B)},
    [HAS_SEMANTICS - CODED] = {1, T(0x14) | T(0x17)},
    [METHOD_DEF_OR_REF - CODED] = {1, T(0x06) | T(0x0A)},
    [MEMBER_FORWARDED - CODED] = {1, T(0x04) | T(0x06)},
    [IMPLEMENTATION - CODED] = {2, T(0x26) | T(0x23) | T(0x27)},
    [ATTRIBUTE_TYPE - CODED] = {3, T(0x06) | T(0x0A)},
    [RESOLUTION_SCOPE - CODED] = {2, T(0x00) | T(0x1A) | T(0x23) | T(0x01)},
    [TYPE_OR_METHOD - CODED] = {1, T(0x02) | T(0x06)},
};
#undef T

static uint8_t coded_width(const struct sn_metadata *metadata, const struct coding *coding)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (coding->tables >> i & 1u && metadata->row_counts[i] > 0xFFFFu >> coding->bits)
            return 4;
    }
    return 2;
}

static uint32_t column_width(const struct sn_assembly *assembly, uint8_t kind)
{
    if (kind < CODED)
        return assembly->metadata.row_counts[kind] > 0xFFFFu ? 4 : 2;
    if (kind < CODED_END)
        return assembly->widths[kind - CODED];
    switch (kind) {
    case U16: return 2;
    case STRING: return assembly->metadata.string_width;
    case GUID: return assembly->metadata.guid_width;
    case BLOB: return assembly->metadata.blob_width;
    default: return 4;
    }
}

static uint32_t row_size(const struct sn_assembly *assembly, unsigned table)
{
    uint32_t size = 0;
    for (const uint8_t *kind = columns[table]; *kind != END; kind++)
        size += column_width(assembly, *kind);
    return size;
}

/* Tables that are not known lie behind all that are, and are left alone. */
static int place_tables(struct sn_assembly *assembly, struct sonde_error *err)
{
    const struct sn_metadata *metadata = &assembly->metadata;
    struct sn_cursor rows = sn_cursor_over(metadata->rows.bytes, metadata->rows.size);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        uint32_t size = row_size(assembly, i);
        uint32_t count = metadata->row_counts[i];
        const uint8_t *bytes = sn_cursor_bytes(&rows, (size_t)size * count);
        if (!bytes)
            return sn_fail(err, SONDE_E_TRUNCATED, sn_cursor_offset(&rows),
                           "an assembly ends within its table %u", i);
        assembly->tables[i] = (struct sn_assembly_table){bytes, count, size};
    }
    return SONDE_OK;
}

int sn_assembly_open(const uint8_t *bytes, size_t size, struct sn_assembly *ret_assembly,
                     struct sonde_error *err)
{
    struct sn_assembly assembly = {0};
    int rc = sn_metadata_open(bytes, size, &assembly.metadata, err);
    if (rc != SONDE_OK)
        return rc;
    for (unsigned i = 0; i < CODED_END - CODED; i++)
        assembly.widths[i] = coded_width(&assembly.metadata, &codings[i]);
    rc = place_tables(&assembly, err);
    if (rc == SONDE_OK)
        *ret_assembly = assembly;
    return rc;
}

uint32_t sn_assembly_cell(const struct sn_assembly *assembly, unsigned table, uint32_t row,
                          unsigned column)
{
    const struct sn_assembly_table *rows = &assembly->tables[table];
    if (!row || row > rows->row_count)
        return 0;
    const uint8_t *cells = rows->rows + (size_t)(row - 1) * rows->row_size;
    struct sn_cursor cur = sn_cursor_over(cells, rows->row_size);
    if (!sn_metadata_load(&assembly->metadata, cells, rows->row_size))
        return 0;
    for (unsigned i = 0; i < column; i++)
        sn_cursor_skip(&cur, column_width(assembly, columns[table][i]));
    return column_width(assembly, columns[table][column]) == 2 ? sn_cursor_u16(&cur)
                                                               : sn_cursor_u32(&cur);
}

uint32_t sn_assembly_row(const struct sn_assembly *assembly, unsigned table, uint32_t token)
{
    uint32_t row = token & SN_METADATA_ROW_MAX;
    return token >> 24 == table && row <= assembly->tables[table].row_count ? row : 0;
}

uint32_t sn_assembly_type_token(uint32_t coded)
{
    static const uint8_t tables[] = {SN_TABLE_TYPE_DEF, SN_TABLE_TYPE_REF, SN_TABLE_TYPE_SPEC};
    uint32_t row = coded >> 2;
    if ((coded & 3u) >= sizeof(tables) || !row || row > SN_METADATA_ROW_MAX)
        return 0;
    return sn_assembly_token(tables[coded & 3u], row);
}
