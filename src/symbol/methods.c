#include "symbol/methods.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/name_pool.h"

/* Ceilings; the largest services have some 200,000 methods. */
#define METHOD_LIMIT (4u << 20)
#define MODULE_LIMIT (1u << 16)

/* How many pieces of code that begin before an address are tried: ranges overlap only where code
 * was freed and its place used again. */
#define OVERLAP_MAX 64u

struct sn_methods {
    struct sn_name_pool *names; /* its own, or shared with others */
    struct sn_name_pool own_names;
    struct sn_buf scratch;
    struct sn_method *items; /* owns; sorted by start once `is_sorted` */
    size_t count;
    size_t capacity;
    bool is_sorted;
    uint64_t changes;
    struct sn_table id_index; /* method id -> index + 1; made when first asked for */
    bool is_indexed;
    struct sn_module *modules; /* owns */
    size_t module_count;
    size_t module_capacity;
    struct sn_table module_index; /* id -> index + 1 */
};

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

enum {
    METHOD_UNLOAD = 142,
    METHOD_LOAD_VERBOSE = 143,
    METHOD_UNLOAD_VERBOSE = 144,
    MODULE_LOAD = 152,
    RUNDOWN_METHOD_START = 143,
    RUNDOWN_METHOD_END = 144,
    RUNDOWN_MODULE_START = 153,
    RUNDOWN_MODULE_END = 154,
};

int sn_methods_new_in(struct sn_name_pool *names, struct sn_methods **ret_methods,
                      struct sonde_error *err)
{
    struct sn_methods *methods = calloc(1, sizeof(*methods));
    if (!methods)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for method names");
    sn_name_pool_init(&methods->own_names);
    methods->names = names ? names : &methods->own_names;
    methods->scratch = sn_buf_with_limit(1u << 20);
    methods->module_index = sn_table_with_limit(MODULE_LIMIT);
    methods->id_index = sn_table_with_limit(METHOD_LIMIT);
    *ret_methods = methods;
    return SONDE_OK;
}

int sn_methods_new(struct sn_methods **ret_methods, struct sonde_error *err)
{
    return sn_methods_new_in(NULL, ret_methods, err);
}

void sn_methods_free(struct sn_methods *methods)
{
    if (!methods)
        return;
    sn_name_pool_done(&methods->own_names);
    sn_table_done(&methods->module_index);
    sn_table_done(&methods->id_index);
    sn_buf_done(&methods->scratch);
    free(methods->items);
    free(methods->modules);
    free(methods);
}

/* A UTF-16 string that ends with a zero. NULL when it does not, or there is no room. */
static const char *take_string(struct sn_methods *methods, struct sn_cursor *cur)
{
    const uint8_t *start = cur->at;
    size_t count = 0;
    while (sn_cursor_u16(cur) && !cur->bad)
        count++;
    if (cur->bad)
        return NULL;
    sn_buf_clear(&methods->scratch);
    sn_text_from_utf16(&methods->scratch, start, count);
    const char *text = sn_buf_string(&methods->scratch);
    return sn_name_pool_keep(methods->names, text, strlen(text));
}

/* --- methods --- */

static bool read_range(struct sn_cursor *cur, struct sn_method *method)
{
    method->method_id = sn_cursor_u64(cur);
    method->module_id = sn_cursor_u64(cur);
    method->start = sn_cursor_u64(cur);
    method->size = sn_cursor_u32(cur);
    method->token = sn_cursor_u32(cur);
    method->flags = sn_cursor_u32(cur);
    return !cur->bad;
}

static void keep_method(struct sn_methods *methods, const struct sn_method *method)
{
    if (methods->count == METHOD_LIMIT)
        return;
    struct sn_method *grown =
        sn_array_room(methods->items, methods->count, &methods->capacity, sizeof(*grown));
    if (!grown)
        return;
    methods->items = grown;
    methods->items[methods->count++] = *method;
    methods->is_sorted = false;
    methods->changes++;
}

/* A piece of code that was there from one time until another. */
static void add_method(struct sn_methods *methods, const struct sn_event *event, uint64_t from_ns,
                       uint64_t until_ns)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    struct sn_method method = {.from_ns = from_ns, .until_ns = until_ns};
    if (!read_range(&cur, &method))
        return;
    method.type = take_string(methods, &cur);
    method.name = take_string(methods, &cur);
    method.signature = take_string(methods, &cur);
    if (!method.type || !method.name || !method.signature)
        return;
    sn_cursor_skip(&cur, 2); /* the runtime's number; then, from version 2 on: */
    method.version_id = sn_cursor_u64(&cur);
    keep_method(methods, &method);
}

/* Told without names: it only says until when. */
static void end_method(struct sn_methods *methods, const struct sn_event *event)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    struct sn_method gone = {.until_ns = event->time_ns};
    if (read_range(&cur, &gone))
        keep_method(methods, &gone);
}

static int by_start(const void *left, const void *right)
{
    const struct sn_method *a = left;
    const struct sn_method *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return (a->until_ns < b->until_ns) - (a->until_ns > b->until_ns); /* what went first last */
}

static int by_code(const void *left, const void *right)
{
    const struct sn_method *a = left;
    const struct sn_method *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->method_id != b->method_id)
        return a->method_id < b->method_id ? -1 : 1;
    return !a->name - !b->name; /* what has no name comes last, behind what it is about */
}

/* The same code told twice or thrice: when it was loaded, when it was freed, and at the end by the
 * rundown. */
static bool is_same_code(const struct sn_method *left, const struct sn_method *right)
{
    return left->start == right->start && left->method_id == right->method_id &&
           (!right->name ||
            (left->size == right->size && left->name == right->name && left->type == right->type));
}

/* Makes one of what is told of the same code; what nobody named goes. */
static void join_same(struct sn_methods *methods)
{
    size_t kept = 0;
    for (size_t i = 0; i < methods->count; i++) {
        struct sn_method *last = kept ? &methods->items[kept - 1] : NULL;
        const struct sn_method *next = &methods->items[i];
        if (last && is_same_code(last, next)) {
            last->from_ns = next->from_ns > last->from_ns ? next->from_ns : last->from_ns;
            last->until_ns = next->until_ns < last->until_ns ? next->until_ns : last->until_ns;
        } else if (next->name) {
            methods->items[kept++] = *next;
        }
    }
    methods->count = kept;
}

static void sort(struct sn_methods *methods)
{
    if (methods->count) {
        qsort(methods->items, methods->count, sizeof(*methods->items), by_code);
        join_same(methods);
        qsort(methods->items, methods->count, sizeof(*methods->items), by_start);
    }
    methods->is_sorted = true;
    methods->is_indexed = false;
}

/* How well a piece of code fits a time: 2 it was there, 1 it came later, 0 it was gone. */
static int fit(const struct sn_method *method, uint64_t time_ns)
{
    if (time_ns >= method->until_ns)
        return 0;
    return method->from_ns <= time_ns ? 2 : 1;
}

/* How many pieces of code begin at or before an address. */
static size_t count_until(struct sn_methods *methods, uint64_t address)
{
    if (!methods->is_sorted)
        sort(methods);
    size_t low = 0;
    size_t high = methods->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (methods->items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sn_method *sn_methods_find(struct sn_methods *methods, uint64_t address,
                                        uint64_t time_ns)
{
    const struct sn_method *best = NULL;
    size_t at = count_until(methods, address);
    for (size_t tried = 0; at > 0 && tried < OVERLAP_MAX; tried++) {
        const struct sn_method *method = &methods->items[--at];
        if (address - method->start >= method->size)
            continue;
        if (fit(method, time_ns) == 2)
            return method;
        if (!best || fit(method, time_ns) >= fit(best, time_ns))
            best = method; /* further back: came earlier */
    }
    return best;
}

bool sn_methods_is_settled(struct sn_methods *methods, uint64_t address)
{
    size_t found = 0;
    size_t at = count_until(methods, address);
    for (size_t tried = 0; at > 0 && tried < OVERLAP_MAX; tried++) {
        const struct sn_method *method = &methods->items[--at];
        found += address - method->start < method->size;
    }
    return found <= 1;
}

static void index_ids(struct sn_methods *methods)
{
    sn_table_clear(&methods->id_index);
    for (size_t i = 0; i < methods->count; i++) {
        uint64_t *place = sn_table_put(&methods->id_index, methods->items[i].method_id);
        if (place)
            *place = i + 1;
    }
    methods->is_indexed = true;
}

const struct sn_method *sn_methods_by_id(struct sn_methods *methods, uint64_t method_id)
{
    if (!methods->is_sorted)
        sort(methods);
    if (!methods->is_indexed)
        index_ids(methods);
    const uint64_t *place = sn_table_find(&methods->id_index, method_id);
    return place ? &methods->items[*place - 1] : NULL;
}

uint64_t sn_methods_changes(const struct sn_methods *methods)
{
    return methods->changes;
}

size_t sn_methods_count(const struct sn_methods *methods)
{
    return methods->count;
}

const struct sn_method *sn_methods_at(const struct sn_methods *methods, size_t index)
{
    return index < methods->count ? &methods->items[index] : NULL;
}

/* --- modules --- */

/* "/app/Shop.dll" is "Shop". */
static const char *module_name(struct sn_methods *methods, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *backslash = strrchr(path, '\\');
    const char *base = slash > backslash ? slash : backslash;
    base = base ? base + 1 : path;
    size_t size = strlen(base);
    if (size > 4 &&
        (strcasecmp(base + size - 4, ".dll") == 0 || strcasecmp(base + size - 4, ".exe") == 0))
        size -= 4;
    return sn_name_pool_bytes(methods->names, base, size);
}

static struct sn_module *place_module(struct sn_methods *methods, uint64_t module_id)
{
    uint64_t *index = sn_table_put(&methods->module_index, module_id);
    if (!index)
        return NULL;
    if (!*index) {
        struct sn_module *grown = sn_array_room(methods->modules, methods->module_count,
                                                &methods->module_capacity, sizeof(*grown));
        if (!grown)
            return NULL;
        methods->modules = grown;
        *index = ++methods->module_count;
    }
    return &methods->modules[*index - 1];
}

static void add_module(struct sn_methods *methods, const struct sn_event *event)
{
    enum { FLAG_DYNAMIC = 4 };
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    struct sn_module module = {.module_id = sn_cursor_u64(&cur), .pdb_path = ""};
    sn_cursor_skip(&cur, 8); /* assembly */
    module.is_dynamic = (sn_cursor_u32(&cur) & FLAG_DYNAMIC) != 0;
    sn_cursor_skip(&cur, 4);
    module.path = take_string(methods, &cur);
    const char *native_path = take_string(methods, &cur);
    if (!module.path || !native_path)
        return;
    sn_cursor_skip(&cur, 2); /* the runtime's number; then, from version 2 on: */
    const uint8_t *guid = sn_cursor_bytes(&cur, sizeof(module.pdb_guid));
    module.pdb_age = sn_cursor_u32(&cur);
    const char *pdb_path = cur.bad ? NULL : take_string(methods, &cur);
    if (guid && pdb_path) {
        memcpy(module.pdb_guid, guid, sizeof(module.pdb_guid));
        module.pdb_path = pdb_path;
    }
    module.name = module_name(methods, module.path);
    struct sn_module *place = place_module(methods, module.module_id);
    if (place)
        *place = module;
}

const struct sn_module *sn_methods_module(const struct sn_methods *methods, uint64_t module_id)
{
    const uint64_t *index = sn_table_find(&methods->module_index, module_id);
    return index && *index ? &methods->modules[*index - 1] : NULL;
}

/* --- events --- */

static void take_runtime(struct sn_methods *methods, const struct sn_event *event)
{
    switch (event->schema->event_id) {
    case METHOD_LOAD_VERBOSE: add_method(methods, event, event->time_ns, UINT64_MAX); break;
    case METHOD_UNLOAD_VERBOSE: add_method(methods, event, 0, event->time_ns); break;
    case METHOD_UNLOAD: end_method(methods, event); break;
    case MODULE_LOAD: add_module(methods, event); break;
    default: break;
    }
}

static void take_rundown(struct sn_methods *methods, const struct sn_event *event)
{
    switch (event->schema->event_id) {
    case RUNDOWN_METHOD_START:
    case RUNDOWN_METHOD_END: add_method(methods, event, 0, UINT64_MAX); break;
    case RUNDOWN_MODULE_START:
    case RUNDOWN_MODULE_END: add_module(methods, event); break;
    default: break;
    }
}

void sn_methods_take(struct sn_methods *methods, const struct sn_event *event)
{
    if (strcasecmp(event->schema->provider, RUNTIME) == 0)
        take_runtime(methods, event);
    else if (strcasecmp(event->schema->provider, RUNDOWN) == 0)
        take_rundown(methods, event);
}
