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
#include "flow/sink.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/methods.h"
#include "symbol/pdb_file.h"

/* Ceilings. A map takes some 70 bytes here, and the largest services have 200,000 methods. */
#define MAPS_LIMIT   (256u << 20)
#define MAP_LIMIT    (2u << 20)
#define MODULE_LIMIT (1u << 16)
#define OPEN_LIMIT   ((size_t)1 << 30) /* bytes of all PDBs together */
#define NAME_LIMIT   4096u

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

enum {
    MAP_OF_LOADED = 190,
    MAP_AT_START = 149,
    MAP_AT_END = 150,
};

/* IL offsets that are none. */
enum {
    IL_UNMAPPED = -1,
    IL_PROLOG = -2,
    IL_EPILOG = -3,
};

struct module {
    bool has_pdb;
    struct sn_pdb_file file;
};

struct sn_lines {
    const struct sn_methods *methods;
    struct sn_buf maps;        /* one behind the other: see take_map */
    struct sn_table map_index; /* of method and version -> offset in `maps` + 1 */
    struct module *modules;    /* owns */
    size_t module_count;
    size_t module_capacity;
    struct sn_table module_index; /* id -> index + 1 */
    size_t open_bytes;
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
    sn_buf_done(&lines->name);
    sn_table_done(&lines->map_index);
    sn_table_done(&lines->module_index);
    free(lines);
}

/* --- maps from native to IL offsets --- */

struct entry {
    uint32_t native;
    int32_t il;
};

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

static struct entry next_entry(struct sn_cursor *map, uint32_t *native)
{
    uint64_t step = sn_cursor_varuint64(map);
    int64_t il = (int64_t)sn_cursor_varuint64(map) + IL_EPILOG;
    *native += (uint32_t)((step >> 1) ^ (0 - (step & 1)));
    return (struct entry){.native = *native, .il = (int32_t)il};
}

/* The IL offset that the code at a native one was made of. Entries need not be in order. Code that
 * was made of none, such as an epilog, counts to what stands before it, a prolog to the start. */
static bool find_il(const struct sn_lines *lines, const struct sn_method *method,
                    uint32_t native_offset, uint32_t *ret_il)
{
    uint64_t key = key_of(method->method_id, method->version_id);
    const uint64_t *place = sn_table_find(&lines->map_index, key);
    if (!place || !*place)
        return false;
    struct sn_cursor map =
        sn_cursor_over(lines->maps.bytes + (*place - 1), lines->maps.size - (*place - 1));
    uint64_t method_id = sn_cursor_varuint64(&map);
    uint64_t version_id = sn_cursor_varuint64(&map);
    if (method_id != method->method_id || version_id != method->version_id)
        return false;
    uint32_t native = 0;
    struct entry best = {.il = 0};
    for (uint64_t left = sn_cursor_varuint64(&map); left; left--) {
        struct entry entry = next_entry(&map, &native);
        if (entry.il == IL_PROLOG)
            entry.il = 0;
        if (entry.il >= 0 && entry.native <= native_offset && entry.native >= best.native)
            best = entry;
    }
    *ret_il = (uint32_t)best.il;
    return true;
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
    module->has_pdb = lines->open_bytes < OPEN_LIMIT && sn_pdb_file_open(told, &module->file);
    lines->open_bytes += module->file.bytes.size;
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

/* --- answers --- */

/* The row of a token of the method table; 0 for what the runtime made up. */
static uint32_t row_of(uint32_t token)
{
    return token >> 24 == 0x06 ? token & 0xFFFFFFu : 0;
}

bool sn_lines_find(void *user, const struct sn_method *method, uint64_t address,
                   const char **ret_file, uint32_t *ret_line)
{
    struct sn_lines *lines = user;
    struct sn_pdb_point point = {0};
    uint32_t row = row_of(method->token);
    uint64_t native_offset = address - method->start;
    uint32_t il = 0;
    if (!row || native_offset > UINT32_MAX || !find_il(lines, method, (uint32_t)native_offset, &il))
        return false;
    const struct sn_pdb *pdb = pdb_of(lines, method->module_id);
    if (!pdb)
        return false;
    if (!sn_pdb_find(pdb, row, il, &point)) {
        /* What starts an async method has no lines of its own: it is where that begins. */
        uint32_t machine = sn_pdb_machine_of(pdb, row);
        if (!machine || !sn_pdb_find(pdb, machine, 0, &point))
            return false;
    }
    sn_buf_clear(&lines->name);
    if (!sn_pdb_document(pdb, point.document, &lines->name))
        return false;
    *ret_file = sn_buf_string(&lines->name);
    *ret_line = point.line;
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

struct sink {
    struct sn_sink sink;
    struct sn_lines *lines;
};

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    sn_lines_take(((struct sink *)sink)->lines, event);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops sink_ops = {
    .name = "lines", .event = take_event, .free = free_sink};

struct sn_sink *sn_lines_sink(struct sn_lines *lines)
{
    struct sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return NULL;
    *sink = (struct sink){.sink.ops = &sink_ops, .lines = lines};
    return &sink->sink;
}
