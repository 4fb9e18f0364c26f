#include "symbol/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "flow/request.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"
#include "symbol/methods.h"
#include "symbol/name_pool.h"
#include "symbol/native_names.h"
#include "symbol/regions.h"

/* Ceilings over all processes of a recording. */
#define PROCESS_LIMIT  (1u << 18)
#define REGION_LIMIT   (2u << 20)
#define METHOD_LIMIT   (8u << 20)
#define THREAD_LIMIT   (1u << 20)
#define METADATA_LIMIT (1u << 20)

struct process {
    struct sn_code_process facts;
    struct sn_regions regions;
    size_t older;           /* index + 1 of the one that had the pid before; 0: none */
    bool has_early_methods; /* dated before its beginning; see hand_on_methods */
};

struct sn_code {
    struct sn_name_pool names;
    struct process **processes; /* owns both; in the order they were told of */
    size_t process_count;
    size_t process_capacity;
    struct sn_table by_pid;   /* pid -> index + 1 of the newest */
    bool has_process_events;  /* false: all is of one process */
    struct sn_regions kernel; /* of all processes */
    struct sn_table kernel_ids;
    struct sn_native_names natives;
    struct sn_table load_deltas;  /* metadata id -> virtual address less offset, of its code */
    struct sn_table thread_names; /* pid and thread -> text */
    size_t region_count;
    size_t method_count;
    uint64_t changes;
    sn_code_native_fn *find_native;
    void *native_user;
};

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define RUNDOWN "Microsoft-Windows-DotNETRuntimeRundown"

static const uint32_t runtime_ids[] = {142, 143, 144, 152}; /* what sn_methods takes */
static const uint32_t rundown_ids[] = {143, 144, 153, 154};
static const uint32_t kernel_ids[] = {1, 2, 6};
static const struct sn_request_item items[] = {
    {.provider = "Universal.System"},
    {.provider = "Sonde.Kernel", .ids = kernel_ids, .id_count = 3},
    {.provider = RUNTIME, .ids = runtime_ids, .id_count = 4},
    {.provider = RUNDOWN, .ids = rundown_ids, .id_count = 4},
};
const struct sn_request sn_code_request = {.items = items,
                                           .item_count = sizeof(items) / sizeof(*items)};

int sn_code_new(struct sn_code **ret_code, struct sonde_error *err)
{
    struct sn_code *code = calloc(1, sizeof(*code));
    if (!code)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names of code");
    sn_name_pool_init(&code->names);
    sn_native_names_init(&code->natives);
    code->by_pid = sn_table_with_limit(PROCESS_LIMIT);
    code->kernel_ids = sn_table_with_limit(METADATA_LIMIT);
    code->load_deltas = sn_table_with_limit(METADATA_LIMIT);
    code->thread_names = sn_table_with_limit(THREAD_LIMIT);
    *ret_code = code;
    return SONDE_OK;
}

static void free_process(struct process *process)
{
    sn_methods_free(process->facts.methods);
    sn_regions_done(&process->regions);
    free(process);
}

void sn_code_free(struct sn_code *code)
{
    if (!code)
        return;
    for (size_t i = 0; i < code->process_count; i++)
        free_process(code->processes[i]);
    free(code->processes);
    sn_table_done(&code->by_pid);
    sn_regions_done(&code->kernel);
    sn_table_done(&code->kernel_ids);
    sn_native_names_done(&code->natives);
    sn_table_done(&code->load_deltas);
    sn_table_done(&code->thread_names);
    sn_name_pool_done(&code->names);
    free(code);
}

/* --- processes --- */

/* As the newest of its pid; there is room for it in the list. */
static bool append(struct sn_code *code, struct process *process)
{
    uint64_t *newest = sn_table_put(&code->by_pid, process->facts.pid);
    if (!newest)
        return false;
    process->facts.index = (uint32_t)code->process_count;
    process->older = *newest;
    code->processes[code->process_count++] = process;
    *newest = code->process_count;
    return true;
}

static struct process *add_process(struct sn_code *code, uint32_t pid, uint64_t from_ns)
{
    struct process **grown = sn_array_room(code->processes, code->process_count,
                                           &code->process_capacity, sizeof(struct process *));
    if (!grown)
        return NULL;
    code->processes = grown;
    if (code->process_count == PROCESS_LIMIT)
        return NULL;
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->facts = (struct sn_code_process){.pid = pid,
                                              .ns_pid = pid,
                                              .name = "",
                                              .runtime = "",
                                              .command = "",
                                              .container = "",
                                              .from_ns = from_ns,
                                              .until_ns = UINT64_MAX};
    if (append(code, process))
        return process;
    free(process);
    return NULL;
}

static void drop_process(struct sn_code *code, struct process *process)
{
    code->region_count -= process->regions.count;
    if (process->facts.methods)
        code->method_count -= sn_methods_count(process->facts.methods);
    free_process(process);
}

void sn_code_forget_before(struct sn_code *code, uint64_t time_ns)
{
    size_t count = code->process_count;
    size_t gone = 0;
    for (size_t i = 0; i < count; i++)
        gone += code->processes[i]->facts.until_ns < time_ns;
    if (!gone)
        return;
    sn_table_clear(&code->by_pid);
    code->process_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct process *process = code->processes[i];
        if (process->facts.until_ns < time_ns || !append(code, process))
            drop_process(code, process);
    }
    if (code->thread_names.count > THREAD_LIMIT / 2)
        sn_table_clear(&code->thread_names); /* few of them can still be alive */
    code->changes++;
}

static struct process *newest_process(const struct sn_code *code, uint32_t pid)
{
    const uint64_t *newest = sn_table_find(&code->by_pid, pid);
    return newest ? code->processes[*newest - 1] : NULL;
}

/* The one that lived then; else the nearest: clocks and records of different rings may be a little
 * apart at its ends. */
static struct process *process_at(const struct sn_code *code, uint32_t pid, uint64_t time_ns)
{
    if (!code->has_process_events)
        return code->process_count ? code->processes[0] : NULL;
    struct process *process = newest_process(code, pid);
    while (process && time_ns < process->facts.from_ns && process->older)
        process = code->processes[process->older - 1];
    return process;
}

/* For events about a process: one that nobody told of is made. */
static struct process *need_process(struct sn_code *code, uint32_t pid, uint64_t time_ns)
{
    struct process *process = process_at(code, pid, time_ns);
    return process ? process : add_process(code, pid, 0);
}

static struct process *process_of(struct sn_code *code, const struct sn_event *event)
{
    return need_process(code, event->pid, event->time_ns);
}

static const char *keep(struct sn_code *code, const struct sn_universal_text *text)
{
    return sn_name_pool_bytes(&code->names, text->bytes, text->size);
}

/* The archive dates a rundown to the beginning of the recording. The methods of a program that was
 * started later therefore come before its process. The kernel then reports two processes with the
 * pid: the fork, and the program that it executed. The methods belong to the second. */
static void hand_on_methods(struct process *from, struct process *to)
{
    if (!from->has_early_methods || from->facts.kind != SN_PROCESS_NATIVE)
        return;
    to->facts.methods = from->facts.methods;
    to->has_early_methods = true;
    from->facts.methods = NULL;
    from->has_early_methods = false;
}

static struct process *add_successor(struct sn_code *code, struct process *process, uint32_t pid,
                                     uint64_t from_ns)
{
    struct process *successor = add_process(code, pid, from_ns);
    if (process && successor)
        hand_on_methods(process, successor);
    return successor;
}

/* `is_new`: it was created, so whoever had the pid before is gone. */
static void take_process(struct sn_code *code, const struct sn_event *event,
                         const struct sn_universal_fields *fields, bool is_new)
{
    struct process *process = newest_process(code, event->pid);
    bool is_gone = process && process->facts.until_ns <= event->time_ns;
    bool is_other =
        process && is_new && process->facts.name[0] && process->facts.from_ns < event->time_ns;
    code->has_process_events = true;
    if (process && is_other && !is_gone)
        process->facts.until_ns = event->time_ns;
    if (!process || is_gone || is_other)
        process = add_successor(code, process, event->pid, is_new || is_gone ? event->time_ns : 0);
    else if (is_new && !process->facts.name[0])
        process->has_early_methods = process->facts.methods != NULL;
    if (!process)
        return;
    if (fields->numbers[0])
        process->facts.ns_pid = (uint32_t)fields->numbers[0];
    process->facts.name = keep(code, &fields->texts[0]);
}

static void take_exit(struct sn_code *code, const struct sn_event *event)
{
    struct process *process = process_of(code, event);
    code->has_process_events = true;
    if (process && process->facts.until_ns > event->time_ns)
        process->facts.until_ns = event->time_ns;
}

static void take_facts(struct sn_code *code, const struct sn_event *event,
                       const struct sn_universal_fields *fields)
{
    struct process *process = process_of(code, event);
    if (!process)
        return;
    struct sn_code_process *facts = &process->facts;
    facts->ns_pid = (uint32_t)fields->numbers[0];
    facts->parent = (uint32_t)fields->numbers[1];
    facts->uid = (uint32_t)fields->numbers[2];
    facts->kind = fields->numbers[4] <= SN_PROCESS_AOT ? (uint8_t)fields->numbers[4] : 0;
    facts->runtime = keep(code, &fields->texts[0]);
    facts->command = keep(code, &fields->texts[1]);
    facts->container = keep(code, &fields->texts[3]);
}

/* --- mappings and native names --- */

static void take_mapping(struct sn_code *code, const struct sn_event *event,
                         const struct sn_universal_fields *fields)
{
    const struct sn_region region = {.id = fields->numbers[0],
                                     .start = fields->numbers[1],
                                     .end = fields->numbers[2],
                                     .offset = fields->numbers[3],
                                     .metadata_id = fields->numbers[4],
                                     .from_ns = event->time_ns,
                                     .path = keep(code, &fields->texts[0])};
    if (region.end <= region.start || code->region_count == REGION_LIMIT)
        return;
    struct sn_regions *regions = &code->kernel;
    if (sn_universal_is_kernel(region.start)) { /* told for each process, the same for all */
        uint64_t *known = sn_table_put(&code->kernel_ids, region.id);
        if (!known || *known)
            return;
        *known = 1;
    } else {
        struct process *process = process_of(code, event);
        if (!process)
            return;
        regions = &process->regions;
    }
    code->region_count += sn_regions_add(regions, &region);
}

/* The number behind "KEY":"0x..."; 0 when it is not there. */
static uint64_t json_hex(const struct sn_universal_text *json, const char *key)
{
    const char *at = json->size ? memmem(json->bytes, json->size, key, strlen(key)) : NULL;
    size_t left = at ? json->size - (size_t)(at - json->bytes) - strlen(key) : 0;
    const char *text = left ? memmem(at + strlen(key), left, "0x", 2) : NULL;
    char digits[19] = {0};
    if (!text)
        return 0;
    left -= (size_t)(text - at) - strlen(key);
    memcpy(digits, text, left < sizeof(digits) - 1 ? left : sizeof(digits) - 1);
    digits[2 + strspn(digits + 2, "0123456789abcdefABCDEF")] = '\0';
    uint64_t value = 0;
    return sn_text_to_u64(digits, UINT64_MAX, &value) ? value : 0;
}

static void take_metadata(struct sn_code *code, const struct sn_universal_fields *fields)
{
    const struct sn_universal_text *json = &fields->texts[0];
    uint64_t delta = json_hex(json, "\"p_vaddr\"") - json_hex(json, "\"p_offset\"");
    uint64_t *place = delta ? sn_table_put(&code->load_deltas, fields->numbers[0]) : NULL;
    if (place)
        *place = delta;
}

static void take_symbol(struct sn_code *code, const struct sn_universal_fields *fields)
{
    const struct sn_native_name name = {.mapping_id = fields->numbers[1],
                                        .start = fields->numbers[2],
                                        .last = fields->numbers[3],
                                        .name = keep(code, &fields->texts[0])};
    sn_native_names_add(&code->natives, &name);
}

static void take_line(struct sn_code *code, const struct sn_universal_fields *fields)
{
    const struct sn_native_line line = {.mapping_id = fields->numbers[0],
                                        .address = fields->numbers[1],
                                        .line = (uint32_t)fields->numbers[2],
                                        .file = keep(code, &fields->texts[0])};
    sn_native_names_add_line(&code->natives, &line);
}

/* --- threads --- */

static uint64_t thread_key(uint32_t pid, uint64_t thread_id)
{
    return (uint64_t)pid << 32 ^ thread_id;
}

static void take_thread_name(struct sn_code *code, const struct sn_event *event,
                             const struct sn_universal_fields *fields)
{
    uint64_t *place = sn_table_put(&code->thread_names, thread_key(event->pid, event->thread_id));
    if (place)
        *place = (uint64_t)(uintptr_t)keep(code, &fields->texts[0]);
}

const char *sn_code_thread_name(const struct sn_code *code, uint32_t pid, uint64_t thread_id)
{
    const uint64_t *place = sn_table_find(&code->thread_names, thread_key(pid, thread_id));
    return place && *place ? (const char *)(uintptr_t)*place : "";
}

/* --- events --- */

static void take_universal(struct sn_code *code, enum sn_universal kind,
                           const struct sn_event *event)
{
    struct sn_universal_fields fields;
    if (kind == SN_UNIVERSAL_PROCESS_EXIT) {
        take_exit(code, event);
        return;
    }
    if (!sn_universal_decode(kind, event, &fields))
        return;
    switch (kind) {
    case SN_UNIVERSAL_EXISTING_PROCESS: take_process(code, event, &fields, false); break;
    case SN_UNIVERSAL_PROCESS_CREATE: take_process(code, event, &fields, true); break;
    case SN_UNIVERSAL_PROCESS_FACTS: take_facts(code, event, &fields); break;
    case SN_UNIVERSAL_MAPPING: take_mapping(code, event, &fields); break;
    case SN_UNIVERSAL_MAPPING_METADATA: take_metadata(code, &fields); break;
    case SN_UNIVERSAL_SYMBOL: take_symbol(code, &fields); break;
    case SN_UNIVERSAL_LINE: take_line(code, &fields); break;
    case SN_UNIVERSAL_THREAD_NAME: take_thread_name(code, event, &fields); break;
    default: break;
    }
}

struct sn_methods *sn_code_methods(struct sn_code *code, uint32_t pid, uint64_t time_ns)
{
    struct process *process = need_process(code, pid, time_ns);
    if (process && !process->facts.methods)
        (void)sn_methods_new_in(&code->names, &process->facts.methods, NULL);
    return process ? process->facts.methods : NULL;
}

static void take_method(struct sn_code *code, const struct sn_event *event)
{
    struct sn_methods *methods = sn_code_methods(code, event->pid, event->time_ns);
    if (!methods || code->method_count >= METHOD_LIMIT)
        return;
    size_t before = sn_methods_count(methods);
    sn_methods_take(methods, event);
    code->method_count += sn_methods_count(methods) - before;
}

void sn_code_take(struct sn_code *code, const struct sn_event *event)
{
    int kind = sn_universal_kind(event->schema);
    if (kind >= 0)
        take_universal(code, (enum sn_universal)kind, event);
    else
        take_method(code, event);
    code->changes++;
}

struct code_sink {
    struct sn_sink sink;
    struct sn_code *code; /* borrows */
};

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    sn_code_take(((struct code_sink *)sink)->code, event);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops sink_ops = {.name = "code", .event = take_event, .free = free_sink};

struct sn_sink *sn_code_sink(struct sn_code *code)
{
    struct code_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return NULL;
    *sink = (struct code_sink){.sink.ops = &sink_ops, .code = code};
    return &sink->sink;
}

/* --- questions --- */

void sn_code_set_native(struct sn_code *code, sn_code_native_fn *find, void *user)
{
    code->find_native = find;
    code->native_user = user;
}

/* "/usr/lib/libc.so.6 (deleted)" is "libc.so.6". */
static const char *module_of(struct sn_code *code, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *deleted = strstr(base, " (deleted)");
    return deleted ? sn_name_pool_bytes(&code->names, base, (size_t)(deleted - base)) : base;
}

/* Where the runtime puts the code that it makes: memory without a file, or its own file in memory.
 */
static bool is_code_heap(const struct sn_region *region)
{
    return !region->path[0] || strncmp(region->path, "/memfd:doublemapper", 19) == 0 ||
           strncmp(region->path, "//anon", 6) == 0 || strncmp(region->path, "[anon", 5) == 0;
}

static void place_name(struct sn_code *code, const struct sn_region *region, uint64_t address,
                       struct sn_place *place)
{
    const struct sn_native_name *name = sn_native_names_find(&code->natives, region->id, address);
    const uint64_t *delta = sn_table_find(&code->load_deltas, region->metadata_id);
    const struct sn_native_line *line = sn_native_names_line(&code->natives, region->id, address);
    uint64_t start = name && name->start >= region->start ? name->start : address;
    bool is_named =
        name && strncmp(name->name, SN_UNIVERSAL_NAMELESS, strlen(SN_UNIVERSAL_NAMELESS)) != 0;
    place->name = is_named ? name->name : "";
    place->offset = start - region->start + region->offset + (delta ? *delta : 0);
    if (line) {
        place->file = line->file;
        place->line = line->line;
    }
}

static void find_kernel(struct sn_code *code, uint64_t address, uint64_t time_ns,
                        struct sn_place *place)
{
    const struct sn_region *region =
        sn_regions_find(&code->kernel, address, time_ns, &place->is_settled);
    place->kind = SN_PLACE_KERNEL;
    place->offset = address;
    if (region) {
        place_name(code, region, address, place);
        place->offset = address;
    }
    place->module = "kernel";
}

static bool find_managed(struct process *process, uint64_t address, bool is_return,
                         uint64_t time_ns, struct sn_place *place)
{
    struct sn_methods *methods = process->facts.methods;
    if (!methods)
        return false;
    place->method = sn_methods_find(methods, address, time_ns);
    if (!place->method && is_return) /* nothing follows a call that never comes back */
        place->method = sn_methods_find(methods, address - 1, time_ns);
    place->is_settled = sn_methods_is_settled(methods, address);
    place->methods = methods;
    place->kind = SN_PLACE_MANAGED;
    return place->method != NULL;
}

/* Of what has no name in memory for generated code. */
static uint8_t kind_in_heap(const struct sn_code_process *facts)
{
    if (facts->methods || facts->kind == SN_PROCESS_DOTNET)
        return SN_PLACE_STUB;
    return facts->kind == SN_PROCESS_DOTNET_OFF ? SN_PLACE_NAMELESS : SN_PLACE_UNKNOWN;
}

static void find_native(struct sn_code *code, struct process *process, uint64_t address,
                        uint64_t time_ns, struct sn_place *place)
{
    const struct sn_code_process *facts = &process->facts;
    bool is_settled = true;
    const struct sn_region *region =
        sn_regions_find(&process->regions, address, time_ns, &is_settled);
    *place = (struct sn_place){.name = "", .module = "", .is_settled = is_settled};
    if (!region)
        return;
    place_name(code, region, address, place);
    place->kind = SN_PLACE_NATIVE;
    if (!is_code_heap(region))
        place->module = module_of(code, region->path);
    else if (!place->name[0])
        place->kind = kind_in_heap(facts);
}

void sn_code_find(struct sn_code *code, uint32_t pid, uint64_t address, bool is_return,
                  uint64_t time_ns, struct sn_place *ret_place)
{
    *ret_place = (struct sn_place){.name = "", .module = "", .is_settled = true};
    uint64_t inside = address - is_return;
    struct process *process = process_at(code, pid, time_ns);
    if (sn_universal_is_kernel(address))
        find_kernel(code, inside, time_ns, ret_place);
    else if (process && !find_managed(process, address, is_return, time_ns, ret_place))
        find_native(code, process, inside, time_ns, ret_place);
    bool is_nameless = ret_place->kind != SN_PLACE_MANAGED && ret_place->kind != SN_PLACE_STUB &&
                       ret_place->kind != SN_PLACE_NAMELESS && !ret_place->name[0];
    if (is_nameless && code->find_native)
        (void)code->find_native(code->native_user, pid, inside, ret_place);
}

uint64_t sn_code_changes(const struct sn_code *code)
{
    return code->changes;
}

const struct sn_code_process *sn_code_process(const struct sn_code *code, uint32_t pid,
                                              uint64_t time_ns)
{
    const struct process *process = process_at(code, pid, time_ns);
    return process ? &process->facts : NULL;
}

bool sn_code_has_processes(const struct sn_code *code)
{
    return code->has_process_events;
}

size_t sn_code_process_count(const struct sn_code *code)
{
    return code->process_count;
}

const struct sn_code_process *sn_code_process_at(const struct sn_code *code, size_t index)
{
    return index < code->process_count ? &code->processes[index]->facts : NULL;
}
