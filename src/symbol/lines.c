#include "symbol/lines.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "flow/request.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

/* Ceilings. A map takes some 70 bytes here, and the largest services have 200,000 methods. */
#define MAPS_LIMIT   (256u << 20)
#define MAP_LIMIT    (2u << 20)
#define SPOTS_LIMIT  (256u << 20)
#define MODULE_LIMIT (1u << 16)
#define READ_LIMIT   ((size_t)1 << 30) /* bytes of all PDBs together */
#define NAME_LIMIT   4096u

#define ENTRY_COUNT_MAX UINT16_MAX /* of a map, as the runtime counts them */

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

enum {
    MAP_OF_LOADED = 190,
    MAP_AT_START = 149,
    MAP_AT_END = 150,
};

/* IL offsets that are none. */
enum {
    IL_PROLOG = -2,
    IL_EPILOG = -3,
};

struct module {
    bool has_pdb;
    struct sn_pdb_file file;
};

/* One of a map: the code at `native` was made of that IL. */
struct entry {
    uint32_t native;
    uint32_t order; /* in the map */
    int32_t il;
    uint32_t line;
    uint32_t document;
};

/* From `native` on, until the next one, code was made of that line. */
struct spot {
    uint32_t native;
    uint32_t line;
    uint32_t document;
};

struct sn_lines {
    const struct sn_methods *methods;
    struct sn_buf maps;         /* one behind the other: see take_map */
    struct sn_table map_index;  /* of method and version -> offset in `maps` + 1 */
    struct sn_buf spots;        /* of every map that was asked about, by rising offset */
    struct sn_table spot_index; /* of a map's offset + 1 -> see pack_run */
    struct sn_buf entries;      /* of the map that is being prepared */
    struct module *modules;     /* owns */
    size_t module_count;
    size_t module_capacity;
    struct sn_table module_index; /* id -> index + 1 */
    size_t readable;              /* bytes that may still be read from PDBs */
    struct sn_buf name;
};

static const uint32_t runtime_ids[] = {MAP_OF_LOADED};
static const uint32_t rundown_ids[] = {MAP_AT_START, MAP_AT_END};
static const struct sn_request_item items[] = {
    {.provider = RUNTIME, .ids = runtime_ids, .id_count = 1},
    {.provider = RUNDOWN, .ids = rundown_ids, .id_count = 2},
};
const struct sn_request sn_lines_request = {.items = items, .item_count = 2};

int sn_lines_new(const struct sn_methods *methods, struct sn_lines **ret_lines,
                 struct sonde_error *err)
{
    struct sn_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for source lines");
    lines->methods = methods;
    lines->maps = sn_buf_with_limit(MAPS_LIMIT);
    lines->map_index = sn_table_with_limit(MAP_LIMIT);
    lines->spots = sn_buf_with_limit(SPOTS_LIMIT);
    lines->spot_index = sn_table_with_limit(MAP_LIMIT);
    lines->entries = sn_buf_with_limit((ENTRY_COUNT_MAX + 1) * sizeof(struct entry));
    lines->readable = READ_LIMIT;
    lines->module_index = sn_table_with_limit(MODULE_LIMIT);
    lines->name = sn_buf_with_limit(NAME_LIMIT);
    *ret_lines = lines;
    return SONDE_OK;
}

void sn_lines_free(struct sn_lines *lines)
{
    if (!lines)
        return;
    for (size_t i = 0; i < lines->module_count; i++)
        sn_pdb_file_close(&lines->modules[i].file);
    free(lines->modules);
    sn_buf_done(&lines->maps);
    sn_buf_done(&lines->spots);
    sn_buf_done(&lines->entries);
    sn_buf_done(&lines->name);
    sn_table_done(&lines->map_index);
    sn_table_done(&lines->spot_index);
    sn_table_done(&lines->module_index);
    free(lines);
}

/* --- maps from native to IL offsets --- */

static uint64_t key_of(uint64_t method_id, uint64_t version_id)
{
    return method_id ^ version_id * 0x9E3779B97F4A7C15ull;
}

/* Appends what a map says, in a fifth of its size: the ids, how many entries, then for each its
 * native offset less that of the one before, and its IL offset; signs are folded to the low bit. */
static void store_map(struct sn_buf *to, struct sn_cursor *il, struct sn_cursor *native,
                      uint32_t count)
{
    uint32_t last = 0;
    sn_buf_varuint(to, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = sn_cursor_u32(native);
        int64_t step = (int64_t)at - last;
        int64_t offset = (int64_t)sn_cursor_i32(il) - IL_EPILOG; /* never below 0 in a true map */
        sn_buf_varuint(to, (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
        sn_buf_varuint(to, offset < 0 ? 0 : (uint64_t)offset);
        last = at;
    }
}

static void take_map(struct sn_lines *lines, const struct sn_event *event)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    uint64_t method_id = sn_cursor_u64(&cur);
    uint64_t version_id = sn_cursor_u64(&cur);
    sn_cursor_skip(&cur, 1); /* extent: always 0 */
    uint32_t count = sn_cursor_u16(&cur);
    const uint8_t *il_bytes = sn_cursor_bytes(&cur, (size_t)count * 4);
    const uint8_t *native_bytes = sn_cursor_bytes(&cur, (size_t)count * 4);
    if (cur.bad || !count)
        return;
    size_t before = lines->maps.size;
    uint64_t *place = sn_table_put(&lines->map_index, key_of(method_id, version_id));
    if (!place || *place)
        return; /* full, or told before: when it was loaded, and again by the rundown */
    struct sn_cursor il = sn_cursor_over(il_bytes, (size_t)count * 4);
    struct sn_cursor native = sn_cursor_over(native_bytes, (size_t)count * 4);
    sn_buf_varuint(&lines->maps, method_id);
    sn_buf_varuint(&lines->maps, version_id);
    store_map(&lines->maps, &il, &native, count);
    if (!lines->maps.failed)
        *place = before + 1;
}

/* The map of a method, at its first entry; false when none was told. */
static bool find_map(const struct sn_lines *lines, const struct sn_method *method,
                     uint64_t *ret_place, struct sn_cursor *ret_map)
{
    uint64_t key = key_of(method->method_id, method->version_id);
    const uint64_t *place = sn_table_find(&lines->map_index, key);
    if (!place || !*place)
        return false;
    *ret_place = *place;
    *ret_map = sn_cursor_over(lines->maps.bytes + (*place - 1), lines->maps.size - (*place - 1));
    uint64_t method_id = sn_cursor_varuint64(ret_map);
    uint64_t version_id = sn_cursor_varuint64(ret_map);
    return method_id == method->method_id && version_id == method->version_id;
}

/* --- modules and their PDBs --- */

static struct module *add_module(struct sn_lines *lines, uint64_t module_id)
{
    const struct sn_module *told = sn_methods_module(lines->methods, module_id);
    uint64_t *index = told ? sn_table_put(&lines->module_index, module_id) : NULL;
    struct module *grown = index ? sn_array_room(lines->modules, lines->module_count,
                                                 &lines->module_capacity, sizeof(*grown))
                                 : NULL;
    if (!grown)
        return NULL;
    lines->modules = grown;
    struct module *module = &lines->modules[lines->module_count];
    *module = (struct module){0};
    module->has_pdb = sn_pdb_file_open(told, &lines->readable, &module->file);
    *index = ++lines->module_count;
    return module;
}

/* Opened at the first question, and asked for once even when there is none. */
static const struct sn_pdb *pdb_of(struct sn_lines *lines, uint64_t module_id)
{
    const uint64_t *index = sn_table_find(&lines->module_index, module_id);
    const struct module *module =
        index && *index ? &lines->modules[*index - 1] : add_module(lines, module_id);
    return module && module->has_pdb ? &module->file.pdb : NULL;
}

/* --- maps and PDBs together: where in the code each line begins --- */

/* Entries of a map, as they come. Code before the first counts to the start of the method, as a
 * prolog does. Code that was made of no IL, such as an epilog, counts to what stands before it. */
static void unpack_map(struct sn_cursor *map, struct sn_buf *entries)
{
    struct entry entry = {0};
    sn_buf_clear(entries);
    sn_buf_append(entries, &entry, sizeof(entry));
    for (uint64_t left = sn_cursor_varuint64(map); left; left--) {
        uint64_t step = sn_cursor_varuint64(map);
        int64_t il = (int64_t)sn_cursor_varuint64(map) + IL_EPILOG;
        entry.native += (uint32_t)((step >> 1) ^ (0 - (step & 1)));
        entry.il = il == IL_PROLOG ? 0 : (int32_t)il;
        entry.order++;
        if (entry.il >= 0)
            sn_buf_append(entries, &entry, sizeof(entry));
    }
}

static int by_il(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    return (a->il > b->il) - (a->il < b->il);
}

static int by_native(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->native != b->native)
        return a->native < b->native ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Gives every entry its line, in one walk over the method's points; false when it has none. Hidden
 * code counts to what stands before it, or the method's first line. */
static bool mark_lines(const struct sn_pdb *pdb, uint32_t row, struct entry *entries, size_t count)
{
    struct sn_pdb_points points = sn_pdb_points_of(pdb, row);
    struct sn_pdb_point point = {0};
    struct sn_pdb_point found = {0};
    int rc = sn_pdb_points_next(&points, &point);
    qsort(entries, count, sizeof(*entries), by_il);
    for (size_t i = 0; i < count; i++) {
        while (rc == SONDE_OK && (point.il_offset <= (uint32_t)entries[i].il || !found.line)) {
            if (point.line)
                found = point;
            rc = sn_pdb_points_next(&points, &point);
        }
        entries[i].line = found.line;
        entries[i].document = found.document;
    }
    qsort(entries, count, sizeof(*entries), by_native);
    return found.line != 0;
}

/* What starts an async method has no lines of its own: it is where that begins. */
static size_t mark_start(const struct sn_pdb *pdb, uint32_t row, struct entry *entry)
{
    struct sn_pdb_point point = {0};
    uint32_t machine = sn_pdb_machine_of(pdb, row);
    if (!machine || !sn_pdb_find(pdb, machine, 0, &point))
        return 0;
    *entry = (struct entry){.line = point.line, .document = point.document};
    return 1;
}

/* Keeps the last of those at one offset, and of neighbours with one line the first. */
static size_t append_spots(struct sn_buf *spots, const struct entry *entries, size_t count)
{
    struct spot last = {0};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        bool is_overruled = i + 1 < count && entry[1].native == entry->native;
        if (is_overruled || (entry->line == last.line && entry->document == last.document))
            continue;
        last = (struct spot){entry->native, entry->line, entry->document};
        sn_buf_append(spots, &last, sizeof(last));
        kept++;
    }
    return kept;
}

/* Where the spots of a map are, in one number that is never 0. */
static uint64_t pack_run(size_t first, size_t count)
{
    return ((uint64_t)first << 17 | count) + 1;
}

/* Once for each map that is asked about, also when it comes to nothing. */
static uint64_t prepare_spots(struct sn_lines *lines, struct sn_cursor *map,
                              const struct sn_pdb *pdb, uint32_t row)
{
    size_t first = lines->spots.size / sizeof(struct spot);
    unpack_map(map, &lines->entries);
    if (lines->entries.failed)
        return pack_run(first, 0);
    struct entry *entries = (struct entry *)(void *)lines->entries.bytes;
    size_t count = lines->entries.size / sizeof(*entries);
    if (!mark_lines(pdb, row, entries, count))
        count = mark_start(pdb, row, entries);
    size_t kept = append_spots(&lines->spots, entries, count);
    return pack_run(first, lines->spots.failed ? 0 : kept);
}

/* The last of `count` spots that does not lie behind `native`; NULL when there is none. */
static const struct spot *spot_at(const struct spot *spots, size_t count, uint32_t native)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (spots[middle].native <= native)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &spots[low - 1] : NULL;
}

static const struct spot *find_spot(struct sn_lines *lines, const struct sn_method *method,
                                    const struct sn_pdb *pdb, uint32_t row, uint32_t native)
{
    uint64_t place = 0;
    struct sn_cursor map;
    uint64_t *run =
        find_map(lines, method, &place, &map) ? sn_table_put(&lines->spot_index, place) : NULL;
    if (!run)
        return NULL;
    if (!*run)
        *run = prepare_spots(lines, &map, pdb, row);
    const struct spot *spots = (const struct spot *)(const void *)lines->spots.bytes;
    size_t count = (*run - 1) & ((1u << 17) - 1);
    return count ? spot_at(spots + ((*run - 1) >> 17), count, native) : NULL;
}

/* --- answers --- */

/* The row of a token of the method table; 0 for what the runtime made up. */
static uint32_t row_of(uint32_t token)
{
    return token >> 24 == 0x06 ? token & 0xFFFFFFu : 0;
}

bool sn_lines_find(struct sn_lines *lines, const struct sn_method *method, uint64_t address,
                   const char **ret_file, uint32_t *ret_line)
{
    uint32_t row = row_of(method->token);
    uint64_t native = address - method->start;
    const struct sn_pdb *pdb =
        row && native <= UINT32_MAX ? pdb_of(lines, method->module_id) : NULL;
    const struct spot *spot = pdb ? find_spot(lines, method, pdb, row, (uint32_t)native) : NULL;
    if (!spot)
        return false;
    sn_buf_clear(&lines->name);
    if (!sn_pdb_document(pdb, spot->document, &lines->name))
        return false;
    *ret_file = sn_buf_string(&lines->name);
    *ret_line = spot->line;
    return true;
}

/* --- events --- */

void sn_lines_take(struct sn_lines *lines, const struct sn_event *event)
{
    uint32_t id = event->schema->event_id;
    bool is_live = strcasecmp(event->schema->provider, RUNTIME) == 0 && id == MAP_OF_LOADED;
    bool is_rundown = strcasecmp(event->schema->provider, RUNDOWN) == 0 &&
                      (id == MAP_AT_START || id == MAP_AT_END);
    if (is_live || is_rundown)
        take_map(lines, event);
}
