#include "format/pdb.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"

/* Tables. Those of an assembly come first; a PDB refers to them, but has none of them. */
#define METHOD_DEF     0x06u
#define FIRST_OF_PDB   0x30u
#define DOCUMENT       0x30u
#define METHOD_DEBUG   0x31u
#define LOCAL_SCOPE    0x32u
#define LOCAL_VARIABLE 0x33u
#define LOCAL_CONSTANT 0x34u
#define IMPORT_SCOPE   0x35u
#define STATE_MACHINE  0x36u
#define CUSTOM_DEBUG   0x37u

#define PARENT_TAG_BITS 5u /* of an index that says of which table it is */

#define IL_OFFSET_MAX 0x1FFFFFFFu
#define LINE_MAX      0x1FFFFFFFu
#define COLUMN_MAX    0xFFFFu

/* Files choose what reading them costs: no name of a document has more parts, no method so many
 * points that a walk over them is felt. */
#define NAME_PARTS_MAX 256u
#define POINTS_MAX     (1u << 20)

/* How many bytes an index into a table takes. */
static uint8_t index_width(uint32_t row_count)
{
    return row_count > 0xFFFFu ? 4 : 2;
}

static uint32_t read_index(struct sn_cursor *cur, uint8_t width)
{
    return width == 4 ? sn_cursor_u32(cur) : sn_cursor_u16(cur);
}

/* "#Pdb": the id, and how many rows the assembly's tables have. */
static int open_stream(struct sn_pdb *pdb, uint32_t referred[SN_METADATA_TABLES],
                       struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(pdb->metadata.pdb.bytes, pdb->metadata.pdb.size);
    const uint8_t *guid = sn_cursor_bytes(&cur, sizeof(pdb->guid));
    sn_cursor_skip(&cur, 4 + 4); /* the rest of the id, entry point */
    uint64_t mask = sn_cursor_u64(&cur);
    if (!sn_metadata_row_counts(&cur, mask, referred) || mask >> FIRST_OF_PDB)
        return sn_fail(err, cur.bad ? SONDE_E_TRUNCATED : SONDE_E_FORMAT, 0,
                       "not a portable PDB, or its #Pdb stream is damaged");
    memcpy(pdb->guid, guid, sizeof(pdb->guid));
    return SONDE_OK;
}

/* Row sizes up to the last table that is read. */
static void size_rows(const struct sn_pdb *pdb, uint32_t sizes[SN_METADATA_TABLES])
{
    const struct sn_metadata *metadata = &pdb->metadata;
    const uint32_t *counts = metadata->row_counts;
    uint32_t blob = metadata->blob_width;
    uint32_t imports = index_width(counts[IMPORT_SCOPE]);
    sizes[DOCUMENT] = 2 * blob + 2u * metadata->guid_width;
    sizes[METHOD_DEBUG] = pdb->document_width + blob;
    sizes[LOCAL_SCOPE] = pdb->method_width + imports + index_width(counts[LOCAL_VARIABLE]) +
                         index_width(counts[LOCAL_CONSTANT]) + 4u + 4u;
    sizes[LOCAL_VARIABLE] = 2u + 2u + metadata->string_width;
    sizes[LOCAL_CONSTANT] = metadata->string_width + blob;
    sizes[IMPORT_SCOPE] = imports + blob;
    sizes[STATE_MACHINE] = 2u * pdb->method_width;
    sizes[CUSTOM_DEBUG] = pdb->parent_width + metadata->guid_width + blob;
}

/* What a custom row is of may be a row of almost any table, of the assembly or of the PDB. */
static uint8_t width_of_parent(const struct sn_pdb *pdb,
                               const uint32_t referred[SN_METADATA_TABLES])
{
    uint32_t most = 0;
    for (unsigned i = 0; i < CUSTOM_DEBUG; i++) {
        uint32_t count = i < FIRST_OF_PDB ? referred[i] : pdb->metadata.row_counts[i];
        if (i != METHOD_DEBUG && i != STATE_MACHINE && count > most)
            most = count;
    }
    return most >> (16 - PARENT_TAG_BITS) ? 4 : 2;
}

static int place_tables(struct sn_pdb *pdb, struct sonde_error *err)
{
    uint32_t sizes[SN_METADATA_TABLES] = {0};
    struct sn_cursor cur = sn_cursor_over(pdb->metadata.rows.bytes, pdb->metadata.rows.size);
    size_rows(pdb, sizes);
    for (unsigned i = 0; i <= CUSTOM_DEBUG; i++) {
        uint32_t count = pdb->metadata.row_counts[i];
        if (i < FIRST_OF_PDB && count)
            return sn_fail(err, SONDE_E_FORMAT, 0, "metadata of an assembly, not of a PDB");
        const uint8_t *rows = sn_cursor_bytes(&cur, (size_t)count * sizes[i]);
        struct sn_pdb_table table = {rows, count, sizes[i]};
        if (!rows)
            return sn_fail(err, SONDE_E_TRUNCATED, 0, "a PDB ends within its tables");
        if (i == DOCUMENT)
            pdb->documents = table;
        else if (i == METHOD_DEBUG)
            pdb->methods = table;
        else if (i == STATE_MACHINE)
            pdb->machines = table;
        else if (i == CUSTOM_DEBUG)
            pdb->customs = table;
    }
    return SONDE_OK;
}

int sn_pdb_open(const uint8_t *bytes, size_t size, struct sn_pdb *ret_pdb, struct sonde_error *err)
{
    struct sn_pdb pdb = {0};
    uint32_t referred[SN_METADATA_TABLES] = {0};
    int rc = sn_metadata_open(bytes, size, &pdb.metadata, err);
    if (rc == SONDE_OK)
        rc = open_stream(&pdb, referred, err);
    if (rc != SONDE_OK)
        return rc;
    pdb.document_width = index_width(pdb.metadata.row_counts[DOCUMENT]);
    pdb.method_width = index_width(referred[METHOD_DEF]);
    pdb.parent_width = width_of_parent(&pdb, referred);
    rc = place_tables(&pdb, err);
    if (rc == SONDE_OK)
        *ret_pdb = pdb;
    return rc;
}

/* Rows count from 1. */
static struct sn_cursor row_of(const struct sn_pdb_table *table, uint32_t row)
{
    struct sn_cursor cur = sn_cursor_over(NULL, 0);
    if (row && row <= table->row_count)
        return sn_cursor_over(table->rows + (size_t)(row - 1) * table->row_size, table->row_size);
    cur.bad = true;
    return cur;
}

struct sn_pdb_points sn_pdb_points_of(const struct sn_pdb *pdb, uint32_t method)
{
    struct sn_pdb_points points = {0};
    struct sn_cursor row = row_of(&pdb->methods, method);
    uint32_t document = read_index(&row, pdb->document_width);
    uint32_t blob = read_index(&row, pdb->metadata.blob_width);
    if (row.bad || !blob)
        return points; /* nothing to walk over */
    points.cur = sn_metadata_blob(&pdb->metadata, blob);
    (void)sn_metadata_unsigned(&points.cur); /* signature of the locals */
    points.last.document = document ? document : sn_metadata_unsigned(&points.cur);
    return points;
}

/* Moves by a difference; false when it leaves 0 to `most`. */
static bool move(uint32_t *at, int64_t by, uint32_t most)
{
    int64_t to = *at + by;
    if (to < 0 || to > most)
        return false;
    *at = (uint32_t)to;
    return true;
}

/* The lines of one point: how far it reaches, then where it begins. */
static bool read_span(struct sn_pdb_points *points)
{
    struct sn_cursor *cur = &points->cur;
    uint32_t lines = sn_metadata_unsigned(cur);
    int64_t columns = lines ? sn_metadata_signed(cur) : (int64_t)sn_metadata_unsigned(cur);
    points->last.line = 0;
    points->last.column = 0;
    if (!lines && !columns)
        return !cur->bad; /* hidden */
    bool is_first = points->line == 0;
    int64_t line = is_first ? (int64_t)sn_metadata_unsigned(cur) : sn_metadata_signed(cur);
    int64_t column = is_first ? (int64_t)sn_metadata_unsigned(cur) : sn_metadata_signed(cur);
    if (cur->bad || !move(&points->line, line, LINE_MAX) ||
        !move(&points->column, column, COLUMN_MAX) || !points->line)
        return false;
    points->last.line = points->line;
    points->last.column = points->column;
    return true;
}

int sn_pdb_points_next(struct sn_pdb_points *points, struct sn_pdb_point *ret_point)
{
    struct sn_cursor *cur = &points->cur;
    uint32_t step = 0;
    for (;;) {
        if (!cur->bad && !sn_cursor_left(cur))
            return SONDE_END;
        step = sn_metadata_unsigned(cur);
        if (cur->bad || step || !points->has_begun)
            break;
        points->last.document = sn_metadata_unsigned(cur); /* no step: another document */
    }
    points->has_begun = true;
    cur->bad |= ++points->count > POINTS_MAX;
    if (cur->bad || !move(&points->last.il_offset, step, IL_OFFSET_MAX) || !read_span(points)) {
        cur->bad = true;
        return SONDE_E_FORMAT;
    }
    *ret_point = points->last;
    return SONDE_OK;
}

bool sn_pdb_find(const struct sn_pdb *pdb, uint32_t method, uint32_t il_offset,
                 struct sn_pdb_point *ret_point)
{
    struct sn_pdb_points points = sn_pdb_points_of(pdb, method);
    struct sn_pdb_point point = {0};
    struct sn_pdb_point found = {0};
    while (sn_pdb_points_next(&points, &point) == SONDE_OK) {
        if (point.il_offset > il_offset && found.line)
            break;
        if (point.line)
            found = point;
    }
    if (found.line)
        *ret_point = found;
    return found.line != 0;
}

uint32_t sn_pdb_machine_of(const struct sn_pdb *pdb, uint32_t method)
{
    for (uint32_t i = 1; method && i <= pdb->machines.row_count; i++) {
        struct sn_cursor row = row_of(&pdb->machines, i);
        uint32_t machine = read_index(&row, pdb->method_width);
        if (read_index(&row, pdb->method_width) == method)
            return machine;
    }
    return 0;
}

bool sn_pdb_document(const struct sn_pdb *pdb, uint32_t document, struct sn_buf *to)
{
    struct sn_cursor row = row_of(&pdb->documents, document);
    uint32_t name = read_index(&row, pdb->metadata.blob_width);
    struct sn_cursor parts = sn_metadata_blob(&pdb->metadata, row.bad ? 0 : name);
    uint8_t separator = sn_cursor_u8(&parts); /* 0: none */
    size_t before = to->size;
    uint32_t count = 0;
    for (; !parts.bad && !to->failed && sn_cursor_left(&parts); count++) {
        uint32_t index = sn_metadata_unsigned(&parts);
        struct sn_cursor part = sn_metadata_blob(&pdb->metadata, parts.bad ? 0 : index);
        if (count == NAME_PARTS_MAX)
            return false;
        if (count && separator)
            sn_buf_u8(to, separator);
        if (!part.bad)
            sn_buf_append(to, part.at, sn_cursor_left(&part));
    }
    return !row.bad && !to->failed && to->size > before;
}
