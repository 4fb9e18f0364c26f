#include "format/assembly.h"

#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "format/assembly_tables.h"

#define VISIBILITY       0x07u  /* of a type's flags */
#define NESTED_PUBLIC    0x02u  /* this and more are nested */
#define SCANNED_MAX      65536u /* rows that are looked at one by one where they are in no order */
#define NAME_SCANNED_MAX (4 * SCANNED_MAX) /* of one name */
#define SCOPE_TYPE       3u                /* of a TypeRef's scope: it lies in another TypeRef */
#define FIELD_KIND       0x06u
#define MODIFIER_REQD    0x1Fu
#define MODIFIER_OPT     0x20u

/* --- types --- */

static const char *name_at(const struct sn_assembly *assembly, unsigned table, uint32_t row,
                           unsigned column)
{
    return sn_metadata_string(&assembly->metadata, sn_assembly_cell(assembly, table, row, column));
}

static bool is_nested(const struct sn_assembly *assembly, uint32_t type)
{
    uint32_t flags = sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, type, SN_TYPE_DEF_FLAGS);
    return (flags & VISIBILITY) >= NESTED_PUBLIC;
}

/* The first row whose cell is `wanted` of a table that is in its order; 0: none. */
static uint32_t search_rows(const struct sn_assembly *assembly, unsigned table, unsigned column,
                            uint32_t wanted)
{
    uint32_t low = 1;
    for (uint32_t high = assembly->tables[table].row_count + 1; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (sn_assembly_cell(assembly, table, middle, column) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return sn_assembly_cell(assembly, table, low, column) == wanted ? low : 0;
}

static uint32_t scan_rows(const struct sn_assembly *assembly, unsigned table, unsigned column,
                          uint32_t wanted)
{
    uint32_t count = assembly->tables[table].row_count;
    for (uint32_t row = 1; row <= count && row <= SCANNED_MAX; row++) {
        if (sn_assembly_cell(assembly, table, row, column) == wanted)
            return row;
    }
    return 0;
}

static bool is_nesting_sorted(const struct sn_assembly *assembly)
{
    return assembly->metadata.sorted >> SN_TABLE_NESTED & 1u;
}

/* The row of the type that a TypeDef lies in; 0: in none. */
static uint32_t outer_of(const struct sn_assembly *assembly, uint32_t type)
{
    bool is_sorted = is_nesting_sorted(assembly);
    uint32_t row = is_sorted ? search_rows(assembly, SN_TABLE_NESTED, SN_NESTED_INNER, type)
                             : scan_rows(assembly, SN_TABLE_NESTED, SN_NESTED_INNER, type);
    return sn_assembly_cell(assembly, SN_TABLE_NESTED, row, SN_NESTED_OUTER);
}

/* What would end a name, or begin something else, is escaped. */
static void append_escaped(struct sn_buf *to, const char *name)
{
    while (*name) {
        size_t plain = strcspn(name, ",[]&*+\\");
        sn_buf_append(to, name, plain);
        name += plain;
        if (*name) {
            sn_buf_u8(to, '\\');
            sn_buf_u8(to, (uint8_t)*name++);
        }
    }
}

/* The two kinds of tables that name types have the same columns for it. */
_Static_assert((unsigned)SN_TYPE_REF_NAME == (unsigned)SN_TYPE_DEF_NAME &&
                   (unsigned)SN_TYPE_REF_NAMESPACE == (unsigned)SN_TYPE_DEF_NAMESPACE,
               "one reads both");

static bool append_own_name(const struct sn_assembly *assembly, unsigned table, uint32_t row,
                            struct sn_buf *to)
{
    const char *name = name_at(assembly, table, row, SN_TYPE_DEF_NAME);
    const char *space = name_at(assembly, table, row, SN_TYPE_DEF_NAMESPACE);
    if (!name || !*name)
        return false;
    if (space && *space) {
        append_escaped(to, space);
        sn_buf_u8(to, '.');
    }
    append_escaped(to, name);
    return true;
}

/* The row that holds this one: a TypeDef's by its own table, a TypeRef's by its scope. */
static uint32_t holder_of(const struct sn_assembly *assembly, unsigned table, uint32_t row)
{
    if (table == SN_TABLE_TYPE_DEF)
        return is_nested(assembly, row) ? outer_of(assembly, row) : 0;
    uint32_t scope = sn_assembly_cell(assembly, table, row, SN_TYPE_REF_SCOPE);
    return (scope & 3u) == SCOPE_TYPE ? scope >> 2 : 0;
}

/* How deep a type may lie in others: where rows are in no order, each step looks at all of them. */
static size_t deepest(const struct sn_assembly *assembly, unsigned table)
{
    uint32_t count = assembly->tables[SN_TABLE_NESTED].row_count;
    size_t most = SN_ASSEMBLY_NESTED_MAX;
    if (table == SN_TABLE_TYPE_DEF && !is_nesting_sorted(assembly) && count)
        most = 1 + NAME_SCANNED_MAX / (count < SCANNED_MAX ? count : SCANNED_MAX);
    return most < SN_ASSEMBLY_NESTED_MAX ? most : SN_ASSEMBLY_NESTED_MAX;
}

bool sn_assembly_type_name(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *to)
{
    uint32_t rows[SN_ASSEMBLY_NESTED_MAX];
    size_t depth = 0;
    unsigned table = token >> 24;
    if (table != SN_TABLE_TYPE_DEF && table != SN_TABLE_TYPE_REF)
        return false;
    size_t most = deepest(assembly, table);
    uint32_t row = sn_assembly_row(assembly, table, token);
    for (; row && depth < most; row = holder_of(assembly, table, row))
        rows[depth++] = row;
    if (row || !depth)
        return false; /* deeper than any, or in itself */
    if (table == SN_TABLE_TYPE_DEF && is_nested(assembly, rows[depth - 1]))
        return false; /* half a name: nothing tells what it lies in */
    size_t before = to->size;
    bool is_named = true;
    while (is_named && depth) {
        is_named = append_own_name(assembly, table, rows[--depth], to);
        if (depth)
            sn_buf_u8(to, '+');
    }
    if (!is_named)
        to->size = before;
    return is_named && !to->failed;
}

/* "System.Collections" + "." + "ArrayList" is `wanted`, which ends at `size`. */
static bool is_called(const struct sn_assembly *assembly, uint32_t type, const char *wanted,
                      size_t size)
{
    const char *name = name_at(assembly, SN_TABLE_TYPE_DEF, type, SN_TYPE_DEF_NAME);
    const char *space = name_at(assembly, SN_TABLE_TYPE_DEF, type, SN_TYPE_DEF_NAMESPACE);
    size_t length = name ? strlen(name) : 0;
    if (!length || length > size || memcmp(wanted + size - length, name, length) != 0)
        return false;
    if (!space || !*space)
        return length == size;
    size_t front = strlen(space);
    return front + 1 + length == size && wanted[front] == '.' && memcmp(wanted, space, front) == 0;
}

static uint32_t find_outermost(const struct sn_assembly *assembly, const char *name, size_t size)
{
    uint32_t count = assembly->tables[SN_TABLE_TYPE_DEF].row_count;
    for (uint32_t row = 1; row <= count; row++) {
        if (!is_nested(assembly, row) && is_called(assembly, row, name, size))
            return row;
    }
    return 0;
}

static uint32_t find_inner(const struct sn_assembly *assembly, uint32_t outer, const char *name,
                           size_t size)
{
    uint32_t count = assembly->tables[SN_TABLE_NESTED].row_count;
    for (uint32_t row = 1; row <= count; row++) {
        if (sn_assembly_cell(assembly, SN_TABLE_NESTED, row, SN_NESTED_OUTER) != outer)
            continue;
        uint32_t inner = sn_assembly_cell(assembly, SN_TABLE_NESTED, row, SN_NESTED_INNER);
        if (is_called(assembly, inner, name, size))
            return inner;
    }
    return 0;
}

uint32_t sn_assembly_find_type(const struct sn_assembly *assembly, const char *full_name)
{
    size_t size = strcspn(full_name, "+");
    uint32_t row = find_outermost(assembly, full_name, size);
    for (unsigned depth = 0; row && full_name[size]; depth++) {
        if (depth == SN_ASSEMBLY_NESTED_MAX)
            return 0;
        full_name += size + 1;
        size = strcspn(full_name, "+");
        row = find_inner(assembly, row, full_name, size);
    }
    return row ? sn_assembly_token(SN_TABLE_TYPE_DEF, row) : 0;
}

bool sn_assembly_type(const struct sn_assembly *assembly, uint32_t token,
                      struct sn_assembly_type *ret_type)
{
    uint32_t row = sn_assembly_row(assembly, SN_TABLE_TYPE_DEF, token);
    const char *name = name_at(assembly, SN_TABLE_TYPE_DEF, row, SN_TYPE_DEF_NAME);
    const char *space = name_at(assembly, SN_TABLE_TYPE_DEF, row, SN_TYPE_DEF_NAMESPACE);
    if (!row || !name || !*name)
        return false;
    uint32_t outer = holder_of(assembly, SN_TABLE_TYPE_DEF, row);
    uint32_t extends = sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, row, SN_TYPE_DEF_EXTENDS);
    *ret_type = (struct sn_assembly_type){
        .token = token,
        .flags = sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, row, SN_TYPE_DEF_FLAGS),
        .extends = sn_assembly_type_token(extends),
        .outer = outer ? sn_assembly_token(SN_TABLE_TYPE_DEF, outer) : 0,
        .name = name,
        .name_space = space ? space : "",
    };
    return true;
}

/* --- what a type has: a run of rows, which begins where the one of the type before ends --- */

struct list {
    unsigned column;   /* of the types, where their runs begin */
    unsigned table;    /* what is listed */
    unsigned pointers; /* a table that stands between in uncompressed metadata, or has no rows */
};
static const struct list field_list = {SN_TYPE_DEF_FIELDS, SN_TABLE_FIELD, SN_TABLE_FIELD_PTR};
static const struct list method_list = {SN_TYPE_DEF_METHODS, SN_TABLE_METHOD, SN_TABLE_METHOD_PTR};

/* How many places the list has. */
static uint32_t list_size(const struct sn_assembly *assembly, const struct list *list)
{
    uint32_t pointers = assembly->tables[list->pointers].row_count;
    return pointers ? pointers : assembly->tables[list->table].row_count;
}

/* The places of a type's run: from *ret_first up to and without *ret_end. */
static bool find_run(const struct sn_assembly *assembly, const struct list *list, uint32_t type,
                     uint32_t *ret_first, uint32_t *ret_end)
{
    uint32_t last = assembly->tables[SN_TABLE_TYPE_DEF].row_count;
    uint32_t size = list_size(assembly, list);
    *ret_first = sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, type, list->column);
    *ret_end = type < last ? sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, type + 1, list->column)
                           : size + 1;
    return type && *ret_first && *ret_first <= *ret_end && *ret_end <= size + 1;
}

/* Places into rows. Pointers that do not lead to one row after the other cannot be told so. */
static bool follow_pointers(const struct sn_assembly *assembly, const struct list *list,
                            uint32_t *first, uint32_t count)
{
    if (!assembly->tables[list->pointers].row_count || !count)
        return true;
    uint32_t row = sn_assembly_cell(assembly, list->pointers, *first, 0);
    for (uint32_t i = 1; i < count; i++) {
        if (i == SCANNED_MAX ||
            sn_assembly_cell(assembly, list->pointers, *first + i, 0) != row + i)
            return false;
    }
    *first = row;
    return row && row <= assembly->tables[list->table].row_count;
}

static bool list_of(const struct sn_assembly *assembly, const struct list *list, uint32_t type,
                    uint32_t *ret_first, uint32_t *ret_count)
{
    uint32_t row = sn_assembly_row(assembly, SN_TABLE_TYPE_DEF, type);
    uint32_t first = 0;
    uint32_t end = 0;
    if (!find_run(assembly, list, row, &first, &end))
        return false;
    uint32_t count = end - first;
    if (!follow_pointers(assembly, list, &first, count))
        return false;
    *ret_first = sn_assembly_token(list->table, first);
    *ret_count = count;
    return true;
}

/* Where a row stands in its list; 0: nowhere. */
static uint32_t place_of(const struct sn_assembly *assembly, const struct list *list, uint32_t row)
{
    if (!assembly->tables[list->pointers].row_count ||
        sn_assembly_cell(assembly, list->pointers, row, 0) == row)
        return row;
    return scan_rows(assembly, list->pointers, 0, row);
}

/* The type whose run has that place: the last that begins at or before it. */
static uint32_t owner_of(const struct sn_assembly *assembly, const struct list *list,
                         uint32_t place)
{
    uint32_t low = 0;
    for (uint32_t high = assembly->tables[SN_TABLE_TYPE_DEF].row_count; low < high;) {
        uint32_t middle = high - (high - low) / 2;
        if (sn_assembly_cell(assembly, SN_TABLE_TYPE_DEF, middle, list->column) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    uint32_t first = 0;
    uint32_t end = 0;
    return find_run(assembly, list, low, &first, &end) && place >= first && place < end ? low : 0;
}

/* --- methods --- */

bool sn_assembly_method(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *to_name,
                        uint32_t *ret_type)
{
    uint32_t row = sn_assembly_row(assembly, SN_TABLE_METHOD, token);
    const char *name = name_at(assembly, SN_TABLE_METHOD, row, SN_METHOD_NAME);
    uint32_t place = row ? place_of(assembly, &method_list, row) : 0;
    uint32_t type = place ? owner_of(assembly, &method_list, place) : 0;
    if (!name || !*name || !type)
        return false;
    sn_buf_text(to_name, name);
    *ret_type = sn_assembly_token(SN_TABLE_TYPE_DEF, type);
    return !to_name->failed;
}

bool sn_assembly_methods(const struct sn_assembly *assembly, uint32_t type, uint32_t *ret_first,
                         uint32_t *ret_count)
{
    return list_of(assembly, &method_list, type, ret_first, ret_count);
}

bool sn_assembly_method_signature(const struct sn_assembly *assembly, uint32_t token,
                                  struct sn_buf *to)
{
    uint32_t row = sn_assembly_row(assembly, SN_TABLE_METHOD, token);
    uint32_t index = sn_assembly_cell(assembly, SN_TABLE_METHOD, row, SN_METHOD_SIGNATURE);
    struct sn_cursor blob = sn_metadata_blob(&assembly->metadata, index);
    return row && !blob.bad && sn_assembly_signature(assembly, blob.at, sn_cursor_left(&blob), to);
}

/* --- fields --- */

bool sn_assembly_fields(const struct sn_assembly *assembly, uint32_t type, uint32_t *ret_first,
                        uint32_t *ret_count)
{
    return list_of(assembly, &field_list, type, ret_first, ret_count);
}

/* Its type, behind what says that it is a field and how it is to be handled. */
static struct sn_cursor field_type(const struct sn_assembly *assembly, uint32_t row)
{
    uint32_t index = sn_assembly_cell(assembly, SN_TABLE_FIELD, row, SN_FIELD_SIGNATURE);
    struct sn_cursor blob = sn_metadata_blob(&assembly->metadata, index);
    blob.bad = sn_cursor_u8(&blob) != FIELD_KIND || blob.bad;
    while (!blob.bad && sn_cursor_left(&blob) &&
           (*blob.at == MODIFIER_REQD || *blob.at == MODIFIER_OPT)) {
        sn_cursor_skip(&blob, 1);
        (void)sn_metadata_unsigned(&blob); /* which modifier */
    }
    return blob;
}

bool sn_assembly_field(const struct sn_assembly *assembly, uint32_t token,
                       struct sn_assembly_field *ret_field)
{
    uint32_t row = sn_assembly_row(assembly, SN_TABLE_FIELD, token);
    const char *name = name_at(assembly, SN_TABLE_FIELD, row, SN_FIELD_NAME);
    struct sn_cursor type = field_type(assembly, row);
    if (!row || !name || type.bad || !sn_cursor_left(&type))
        return false;
    *ret_field = (struct sn_assembly_field){
        .token = token,
        .flags = (uint16_t)sn_assembly_cell(assembly, SN_TABLE_FIELD, row, SN_FIELD_FLAGS),
        .element = *type.at,
        .name = name,
    };
    return true;
}
