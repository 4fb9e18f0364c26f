#include "api/silent_names.h"

#include <stdlib.h>
#include <string.h>

#include "api/inspection.h"
#include "api/method_event.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "clr/runtime_events.h"
#include "flow/request.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"
#include "source/memory/code_map.h"
#include "source/memory/type_system.h"

#define PROCESSES_MAX 16u
#define ADDRESSES_MAX 262144u /* of one process */
#define QUEUE_MAX     8192u /* that wait to be looked up; what is over comes with the next sample */
#define EVERY_NS      (200ull * SN_NS_PER_MS)
#define TURN_NS       (20ull * SN_NS_PER_MS) /* for all of them: the kernel's rings fill meanwhile */
#define OPEN_NS       (200ull * SN_NS_PER_MS)  /* once for each */
#define STOP_NS       (1000ull * SN_NS_PER_MS) /* at the end, for all */
#define AGAIN_NS      (5000ull * SN_NS_PER_MS) /* then addresses may hold other code */
#define OPENS_MAX     20u                      /* tries: a runtime may still be starting */
#define PAYLOAD_LIMIT (256u << 10)
#define MODULES_MAX   16384u
#define UNKNOWN_SIZE  16u /* of code whose end is not known */

struct silent {
    uint32_t pid;
    unsigned opens; /* tries so far */
    bool is_open;
    uint64_t again_ns; /* when all that was seen is looked up anew */
    struct sn_inspection inspection;
    struct sn_table seen;    /* addresses that were queued */
    struct sn_table told;    /* starts of code that has been told */
    struct sn_table modules; /* the same of modules */
    uint64_t *queue;         /* owns */
    size_t queued;
};

struct sn_silent_names {
    struct sn_road *road;                /* borrows; where names are told */
    bool is_of_one;                      /* what is heard is all of items[0] */
    struct sn_source *source;            /* the road's */
    struct silent *items[PROCESSES_MAX]; /* owns */
    size_t count;
    size_t first; /* who is looked at first: each in turn */
    uint64_t next_ns;
    struct sn_schema method;
    struct sn_schema module;
    struct sn_buf payload;
    struct sn_buf texts; /* UTF-16 */
};

/* --- what samples hold --- */

struct listener {
    struct sn_sink sink;
    struct sn_silent_names *names;
};

static struct silent *find(const struct sn_silent_names *names, uint32_t pid)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i]->pid == pid)
            return names->items[i];
    }
    return NULL;
}

static void want(struct silent *silent, uint64_t address)
{
    if (sn_universal_is_kernel(address) || !address || silent->queued >= QUEUE_MAX)
        return;
    uint64_t *slot = sn_table_put(&silent->seen, address);
    if (!slot || *slot)
        return;
    *slot = 1;
    silent->queue[silent->queued++] = address;
}

static int take_sample(struct sn_sink *sink, const struct sn_event *event)
{
    const struct sn_silent_names *names = ((struct listener *)sink)->names;
    struct silent *silent =
        names->is_of_one && names->count ? names->items[0] : find(names, event->pid);
    if (!silent || event->pointer_size != sizeof(uint64_t))
        return SONDE_AGAIN;
    for (uint32_t i = 0; i < event->stack_depth; i++) {
        uint64_t address;
        memcpy(&address, event->stack + i * sizeof(address), sizeof(address));
        want(silent, address);
    }
    return SONDE_OK;
}

static void free_listener(struct sn_sink *sink)
{
    free(sink);
}

static int listen_to(struct sn_silent_names *names, const struct sn_silent_roads *roads,
                     struct sonde_error *err)
{
    static const struct sn_sink_ops ops = {
        .name = "silent", .event = take_sample, .free = free_listener};
    static const struct sn_request_item items[] = {{.provider = "Universal.Events"}};
    static const struct sn_request request = {.items = items, .item_count = 1};
    struct listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    *listener = (struct listener){.sink.ops = &ops, .names = names};
    const struct sn_request *samples = roads->samples ? roads->samples : &request;
    int rc = sn_road_subscribe(roads->heard, samples, &listener->sink, false, err);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- being a source --- */

static int start_source(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)source;
    (void)road;
    (void)err;
    return SONDE_OK; /* it speaks when there is something to tell */
}

static void stop_source(struct sn_source *source)
{
    (void)source; /* ended by sn_silent_names_stop */
}

static void free_source(struct sn_source *source)
{
    free(source);
}

static int declare(struct sn_silent_names *names, struct sn_schema *schema, uint32_t id,
                   uint8_t version, struct sonde_error *err)
{
    *schema = (struct sn_schema){.provider = SN_RUNDOWN_PROVIDER,
                                 .name = "",
                                 .event_id = id,
                                 .version = version,
                                 .level = 4};
    (void)sn_clr_describe(schema); /* without, its payload is opaque */
    return sn_road_schema(names->road, schema, err);
}

static int speak(struct sn_silent_names *names, struct sonde_error *err)
{
    static const struct sn_source_ops ops = {
        .name = "silent", .start = start_source, .stop = stop_source, .free = free_source};
    names->source = calloc(1, sizeof(*names->source));
    if (!names->source)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    names->source->ops = &ops;
    int rc = sn_road_add_source(names->road, names->source, err);
    if (rc == SONDE_OK)
        rc = declare(names, &names->method, SN_METHOD_144, 1, err);
    if (rc == SONDE_OK)
        rc = declare(names, &names->module, SN_MODULE_154, 2, err);
    return rc;
}

int sn_silent_names_new(const struct sn_silent_roads *roads, struct sn_silent_names **ret_names,
                        struct sonde_error *err)
{
    struct sn_silent_names *names = calloc(1, sizeof(*names));
    if (!names)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    names->road = roads->told;
    names->is_of_one = roads->is_of_one;
    names->payload = sn_buf_with_limit(PAYLOAD_LIMIT);
    names->texts = sn_buf_with_limit(PAYLOAD_LIMIT);
    *ret_names = names;
    int rc = speak(names, err);
    return rc == SONDE_OK ? listen_to(names, roads, err) : rc;
}

static void free_silent(struct silent *silent)
{
    sn_inspection_done(&silent->inspection);
    sn_table_done(&silent->seen);
    sn_table_done(&silent->told);
    sn_table_done(&silent->modules);
    free(silent->queue);
    free(silent);
}

void sn_silent_names_free(struct sn_silent_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->count; i++)
        free_silent(names->items[i]);
    sn_buf_done(&names->payload);
    sn_buf_done(&names->texts);
    free(names);
}

void sn_silent_names_add(struct sn_silent_names *names, uint32_t pid)
{
    if (find(names, pid) || names->count >= PROCESSES_MAX)
        return;
    struct silent *silent = calloc(1, sizeof(*silent));
    uint64_t *queue = calloc(QUEUE_MAX, sizeof(*queue));
    if (!silent || !queue) {
        free(silent);
        free(queue);
        return; /* it stays without names */
    }
    *silent = (struct silent){.pid = pid,
                              .queue = queue,
                              .seen = sn_table_with_limit(ADDRESSES_MAX),
                              .told = sn_table_with_limit(ADDRESSES_MAX),
                              .modules = sn_table_with_limit(MODULES_MAX)};
    names->items[names->count++] = silent;
}

/* --- telling --- */

static void put(struct sn_silent_names *names, const struct sn_schema *schema, uint32_t pid)
{
    if (names->payload.failed)
        return;
    const struct sn_event event = {.schema = schema,
                                   .time_ns = sn_clock_monotonic_ns(),
                                   .pid = pid,
                                   .cpu = UINT32_MAX,
                                   .thread_id = pid,
                                   .capture_thread_id = pid,
                                   .pointer_size = 8,
                                   .payload = names->payload.bytes,
                                   .payload_size = (uint32_t)names->payload.size};
    sn_road_event(names->road, names->source, &event);
}

static void put_utf16(struct sn_buf *to, const char *text)
{
    sn_text_to_utf16(to, text, strlen(text));
    sn_buf_u16(to, 0);
}

/* ModuleDCEnd, version 2: what lines and names of modules are found by. */
static void tell_module(struct sn_silent_names *names, struct silent *silent,
                        const struct sn_memory_module *module)
{
    struct sn_buf *to = &names->payload;
    uint64_t *slot = sn_table_put(&silent->modules, module->address);
    if (!slot || *slot)
        return;
    *slot = 1;
    sn_buf_clear(to);
    sn_buf_u64(to, module->address);
    sn_buf_u64(to, module->address); /* its assembly: any number of its own */
    sn_buf_u32(to, module->is_dynamic ? 2 : 0);
    sn_buf_u32(to, 0);
    put_utf16(to, module->path);
    put_utf16(to, "");
    sn_buf_u16(to, 0);
    sn_buf_append(to, module->pdb_guid, sizeof(module->pdb_guid));
    sn_buf_u32(to, 1);
    put_utf16(to, "");
    sn_buf_fill(to, 0, 16 + sizeof(uint32_t)); /* native symbols: none */
    put_utf16(to, "");
    put(names, &names->module, silent->pid);
}

static struct sn_utf16 utf16_of(struct sn_silent_names *names, const char *text, size_t *used)
{
    size_t start = *used;
    sn_text_to_utf16(&names->texts, text, strlen(text));
    *used = names->texts.size;
    return (struct sn_utf16){.units = (const uint8_t *)(uintptr_t)start,
                             .count = (names->texts.size - start) / 2};
}

/* The buffer may have moved while it was filled: offsets become pointers at the end. */
static void settle(struct sn_silent_names *names, struct sn_utf16 *text)
{
    text->units = names->texts.bytes ? names->texts.bytes + (uintptr_t)text->units : NULL;
}

static void tell_method(struct sn_silent_names *names, struct silent *silent,
                        const struct sn_managed_code *code, const struct sn_memory_method *method)
{
    size_t used = 0;
    uint64_t size =
        code->function_end > code->function ? code->function_end - code->function : UNKNOWN_SIZE;
    sn_buf_clear(&names->texts);
    struct sn_method_event event = {.method_id = code->method,
                                    .module_id = method->module ? method->module->address : 0,
                                    .start = code->function,
                                    .size = size < UINT32_MAX ? (uint32_t)size : UNKNOWN_SIZE,
                                    .flags = code->kind == SN_CODE_JIT ? SN_METHOD_JITTED : 0};
    event.type = utf16_of(names, method->type_name, &used);
    event.name = utf16_of(names, method->name, &used);
    event.signature = utf16_of(names, method->signature, &used);
    if (names->texts.failed)
        return;
    settle(names, &event.type);
    settle(names, &event.name);
    settle(names, &event.signature);
    if (method->module)
        tell_module(names, silent, method->module);
    sn_buf_clear(&names->payload);
    sn_method_rundown(&names->payload, &event);
    put(names, &names->method, silent->pid);
}

/* --- looking up --- */

static void look_up(struct sn_silent_names *names, struct silent *silent, uint64_t address)
{
    struct sn_managed_code code;
    if (!sn_code_map_find(silent->inspection.code, address, &code) || !code.method)
        return;
    uint64_t *slot = sn_table_put(&silent->told, code.function);
    if (!slot || *slot == code.method)
        return;
    const struct sn_memory_method *method =
        sn_type_system_method(silent->inspection.types, code.method);
    if (!method)
        return;
    *slot = code.method;
    tell_method(names, silent, &code, method);
}

static bool open_one(struct silent *silent)
{
    struct sonde_error why = {0};
    if (silent->is_open || silent->opens >= OPENS_MAX)
        return silent->is_open;
    silent->opens++;
    silent->inspection.deadline_ns = sn_clock_deadline(OPEN_NS);
    silent->is_open =
        sn_inspection_open(&silent->inspection, silent->pid, NULL, false, &why) == SONDE_OK;
    if (silent->is_open && sn_memory_is_late(silent->inspection.runtime->memory))
        silent->is_open = false; /* what there was no time for would be missing for good */
    if (!silent->is_open)
        sn_inspection_done(&silent->inspection);
    return silent->is_open;
}

/* Code that nobody uses any more is given back, and other code made in its place. */
static void begin_anew(struct silent *silent, uint64_t now_ns)
{
    if (now_ns < silent->again_ns)
        return;
    silent->again_ns = now_ns + AGAIN_NS;
    sn_table_clear(&silent->seen);
    sn_type_system_forget(silent->inspection.types);
}

static void look_up_all(struct sn_silent_names *names, struct silent *silent, uint64_t deadline_ns)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (!silent->queued || now_ns >= deadline_ns || !open_one(silent))
        return;
    struct sn_memory *memory = silent->inspection.runtime->memory;
    sn_memory_set_deadline(memory, deadline_ns);
    sn_memory_forget(memory);
    sn_code_map_forget(silent->inspection.code);
    begin_anew(silent, now_ns);
    while (silent->queued) {
        look_up(names, silent, silent->queue[silent->queued - 1]);
        if (sn_memory_is_late(memory))
            return; /* that one again, next time */
        silent->queued--;
    }
}

void sn_silent_names_tend(struct sn_silent_names *names, uint64_t now_ns)
{
    if (names->source->has_ended)
        return;
    if (now_ns >= names->next_ns) {
        names->next_ns = now_ns + EVERY_NS;
        names->first = names->count ? (names->first + 1) % names->count : 0;
        for (size_t i = 0; i < names->count; i++)
            look_up_all(names, names->items[(names->first + i) % names->count], now_ns + TURN_NS);
    }
    sn_road_complete(names->road, names->source, now_ns);
}

void sn_silent_names_forget(struct sn_silent_names *names, uint32_t pid)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i]->pid != pid)
            continue;
        free_silent(names->items[i]);
        names->items[i] = names->items[--names->count];
        return;
    }
}

void sn_silent_names_stop(struct sn_silent_names *names)
{
    uint64_t deadline_ns = sn_clock_deadline(STOP_NS);
    if (names->source->has_ended)
        return;
    for (size_t i = 0; i < names->count; i++)
        look_up_all(names, names->items[i], deadline_ns);
    sn_road_ended(names->road, names->source, SONDE_OK);
}
