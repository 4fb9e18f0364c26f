#include "api/record_hits.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/method_event.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"

/* Ceilings; a busy minute of a large service has some 50,000 addresses. */
#define ADDRESS_LIMIT (1u << 22)
#define PROCESS_LIMIT (1u << 17)
#define MAPPING_LIMIT (1u << 20)
#define START_LIMIT   (1u << 22)
#define MODULE_LIMIT  (1u << 17)
#define TEXT_LIMIT    (64u << 20)

/* Stacks seen a moment ago, so that they are not walked again. */
#define STACKS_REMEMBERED 8192u

#define ADDRESS_BITS 47u
#define ADDRESS_MASK ((1ull << ADDRESS_BITS) - 1)

struct process {
    uint32_t pid;
    uint32_t last_mapping; /* index + 1 of its newest; 0: none */
};

struct mapping {
    struct sn_hit_mapping told;
    uint32_t older; /* index + 1 of the one of its process told before it */
};

struct sn_hits {
    struct sn_table by_pid; /* -> index + 1 of the process that has it now */
    struct process *processes;
    size_t process_count;
    size_t process_capacity;
    size_t process_next; /* of another pass: the next that will be told of */
    bool is_again;
    struct mapping *mappings;
    size_t mapping_count;
    size_t mapping_capacity;
    struct sn_table addresses; /* key -> mapping; until sorted */
    struct sn_hit *hits;       /* sorted by key */
    size_t hit_count;
    uint64_t dropped_count; /* addresses beyond the ceilings */
    struct sn_table kernel_addresses;
    uint64_t *kernel;
    size_t kernel_count;
    uint64_t kernel_mapping;
    uint64_t *starts; /* of precompiled code: process and address */
    size_t start_count;
    size_t start_capacity;
    struct sn_table build_ids;  /* number of a file -> text */
    struct sn_table module_ids; /* process and name -> id */
    struct sn_table stacks;
    struct sn_table paths; /* hash -> text */
    struct sn_arena texts;
    struct sn_buf scratch;
};

static uint64_t key_of(uint32_t process, uint64_t address)
{
    return (uint64_t)process << ADDRESS_BITS | (address & ADDRESS_MASK);
}

uint64_t sn_hit_address(const struct sn_hit *hit)
{
    return hit->key & ADDRESS_MASK;
}

int sn_hits_new(struct sn_hits **ret_hits, struct sonde_error *err)
{
    struct sn_hits *hits = calloc(1, sizeof(*hits));
    if (!hits)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for addresses");
    hits->by_pid = sn_table_with_limit(PROCESS_LIMIT);
    hits->addresses = sn_table_with_limit(ADDRESS_LIMIT);
    hits->kernel_addresses = sn_table_with_limit(ADDRESS_LIMIT);
    hits->build_ids = sn_table_with_limit(MODULE_LIMIT);
    hits->module_ids = sn_table_with_limit(MODULE_LIMIT);
    hits->stacks = sn_table_with_limit(STACKS_REMEMBERED);
    hits->paths = sn_table_with_limit(MODULE_LIMIT);
    hits->texts = sn_arena_with_limit(TEXT_LIMIT);
    hits->scratch = sn_buf_with_limit(1u << 16);
    *ret_hits = hits;
    return SONDE_OK;
}

void sn_hits_free(struct sn_hits *hits)
{
    if (!hits)
        return;
    sn_table_done(&hits->by_pid);
    sn_table_done(&hits->addresses);
    sn_table_done(&hits->kernel_addresses);
    sn_table_done(&hits->build_ids);
    sn_table_done(&hits->module_ids);
    sn_table_done(&hits->stacks);
    sn_table_done(&hits->paths);
    sn_arena_done(&hits->texts);
    sn_buf_done(&hits->scratch);
    free(hits->processes);
    free(hits->mappings);
    free(hits->hits);
    free(hits->kernel);
    free(hits->starts);
    free(hits);
}

/* --- whose events they are --- */

static uint32_t add_process(struct sn_hits *hits, uint32_t pid)
{
    uint64_t *place = sn_table_put(&hits->by_pid, pid);
    struct process *grown = place && hits->process_count < PROCESS_LIMIT
                                ? sn_array_room(hits->processes, hits->process_count,
                                                &hits->process_capacity, sizeof(*grown))
                                : NULL;
    if (place)
        *place = 0; /* whoever had the pid before is gone */
    if (!grown)
        return SN_HITS_NOBODY;
    hits->processes = grown;
    grown[hits->process_count] = (struct process){.pid = pid};
    *place = ++hits->process_count;
    return (uint32_t)*place - 1;
}

/* The second pass meets processes in the order of the first. */
static uint32_t next_process(struct sn_hits *hits, uint32_t pid)
{
    if (!hits->is_again)
        return add_process(hits, pid);
    uint64_t *place = sn_table_put(&hits->by_pid, pid);
    if (place)
        *place = 0;
    if (!place || hits->process_next == hits->process_count)
        return SN_HITS_NOBODY;
    *place = ++hits->process_next;
    return (uint32_t)*place - 1;
}

static bool is_new_process(const struct sn_event *event)
{
    int kind = sn_universal_kind(event->schema);
    return kind == SN_UNIVERSAL_PROCESS_CREATE;
}

uint32_t sn_hits_process(struct sn_hits *hits, const struct sn_event *event)
{
    const uint64_t *known = sn_table_find(&hits->by_pid, event->pid);
    if (known && *known && !is_new_process(event))
        return (uint32_t)*known - 1;
    return next_process(hits, event->pid);
}

uint32_t sn_hits_pid(const struct sn_hits *hits, uint32_t process)
{
    return process < hits->process_count ? hits->processes[process].pid : 0;
}

void sn_hits_rewind(struct sn_hits *hits)
{
    sn_table_clear(&hits->by_pid);
    hits->process_next = 0;
    hits->is_again = true;
}

bool sn_hits_is_newest(const struct sn_hits *hits, uint32_t process)
{
    for (size_t i = (size_t)process + 1; i < hits->process_count; i++) {
        if (hits->processes[i].pid == hits->processes[process].pid)
            return false;
    }
    return true;
}

/* --- mappings and stacks --- */

static const char *keep_text(struct sn_hits *hits, const char *bytes, size_t size)
{
    sn_buf_clear(&hits->scratch);
    sn_buf_append(&hits->scratch, bytes, size);
    const char *text = sn_buf_string(&hits->scratch);
    uint64_t hash = sn_text_hash(0, text);
    for (;; hash++) {
        uint64_t *place = sn_table_put(&hits->paths, hash);
        if (!place)
            return "";
        if (!*place)
            *place = (uint64_t)(uintptr_t)sn_arena_copy(&hits->texts, text, strlen(text));
        const char *kept = (const char *)(uintptr_t)*place;
        if (!kept)
            return "";
        if (strcmp(kept, text) == 0)
            return kept;
    }
}

static void take_mapping(struct sn_hits *hits, const struct sn_event *event)
{
    struct sn_universal_fields fields;
    if (!sn_universal_decode(SN_UNIVERSAL_MAPPING, event, &fields))
        return;
    if (sn_universal_is_kernel(fields.numbers[1])) {
        hits->kernel_mapping = fields.numbers[0];
        return;
    }
    struct mapping *grown = hits->mapping_count < MAPPING_LIMIT
                                ? sn_array_room(hits->mappings, hits->mapping_count,
                                                &hits->mapping_capacity, sizeof(*grown))
                                : NULL;
    uint32_t process = sn_hits_process(hits, event);
    if (!grown || process == SN_HITS_NOBODY)
        return;
    hits->mappings = grown;
    grown[hits->mapping_count++] = (struct mapping){
        .told = {.id = fields.numbers[0],
                 .start = fields.numbers[1],
                 .end = fields.numbers[2],
                 .offset = fields.numbers[3],
                 .object = (uint32_t)fields.numbers[4],
                 .process = process,
                 .pid = event->pid,
                 .path = keep_text(hits, fields.texts[0].bytes, fields.texts[0].size)},
        .older = hits->processes[process].last_mapping};
    hits->processes[process].last_mapping = (uint32_t)hits->mapping_count;
}

/* "build_id":"0123..." */
static void take_metadata(struct sn_hits *hits, const struct sn_event *event)
{
    static const char key[] = "\"build_id\":\"";
    struct sn_universal_fields fields;
    if (!sn_universal_decode(SN_UNIVERSAL_MAPPING_METADATA, event, &fields))
        return;
    const struct sn_universal_text *json = &fields.texts[0];
    const char *at = json->size ? memmem(json->bytes, json->size, key, strlen(key)) : NULL;
    if (!at)
        return;
    at += strlen(key);
    const char *end = memchr(at, '"', json->size - (size_t)(at - json->bytes));
    uint64_t *place = end ? sn_table_put(&hits->build_ids, fields.numbers[0]) : NULL;
    if (place)
        *place = (uint64_t)(uintptr_t)keep_text(hits, at, (size_t)(end - at));
}

const char *sn_hits_build_id(const struct sn_hits *hits, uint32_t object)
{
    const uint64_t *place = sn_table_find(&hits->build_ids, object);
    return place ? (const char *)(uintptr_t)*place : "";
}

const struct sn_hit_mapping *sn_hits_mapping(const struct sn_hits *hits, uint32_t mapping)
{
    return mapping ? &hits->mappings[mapping - 1].told : NULL;
}

/* A later mapping hides what it covers. */
static uint32_t find_mapping(const struct sn_hits *hits, uint32_t process, uint64_t address)
{
    uint32_t at = hits->processes[process].last_mapping;
    while (at) {
        const struct mapping *mapping = &hits->mappings[at - 1];
        if (address >= mapping->told.start && address < mapping->told.end)
            break;
        at = mapping->older;
    }
    return at;
}

static void take_address(struct sn_hits *hits, uint32_t process, uint64_t address)
{
    if (sn_universal_is_kernel(address)) {
        hits->dropped_count += !sn_table_put(&hits->kernel_addresses, address);
        return;
    }
    if (address > ADDRESS_MASK)
        return;
    uint64_t *place = sn_table_put(&hits->addresses, key_of(process, address));
    hits->dropped_count += !place;
    if (place && !*place)
        *place = find_mapping(hits, process, address);
}

static bool is_known_stack(struct sn_hits *hits, const struct sn_event *event, uint32_t process)
{
    if (!event->stack_key)
        return false;
    uint64_t key = event->stack_key * 31 + process;
    if (sn_table_find(&hits->stacks, key))
        return true;
    if (!sn_table_put(&hits->stacks, key))
        sn_table_clear(&hits->stacks);
    return false;
}

static uint64_t frame_at(const struct sn_event *event, uint32_t index)
{
    uint64_t address;
    memcpy(&address, event->stack + sizeof(address) * index, sizeof(address));
    return address;
}

/* Behind the leaf are return addresses, which belong to the call before them; the first frame below
 * the kernel's is a leaf as well. */
static void take_stack(struct sn_hits *hits, const struct sn_event *event)
{
    if (!event->stack_depth || event->pointer_size != sizeof(uint64_t))
        return;
    uint32_t process = sn_hits_process(hits, event);
    if (process == SN_HITS_NOBODY)
        hits->dropped_count += event->stack_depth;
    if (process == SN_HITS_NOBODY || is_known_stack(hits, event, process))
        return;
    bool was_kernel = false;
    for (uint32_t i = 0; i < event->stack_depth; i++) {
        uint64_t address = frame_at(event, i);
        bool is_kernel = sn_universal_is_kernel(address);
        bool is_leaf = i == 0 || (was_kernel && !is_kernel);
        if (address) /* 0 stands for callers that are not known */
            take_address(hits, process, address - !is_leaf);
        was_kernel = is_kernel;
    }
}

/* --- what the runtimes tell --- */

enum sn_hit_event sn_hit_event_of(const struct sn_event *event)
{
    const struct sn_schema *schema = event->schema;
    char first = schema->provider[0];
    if (first == 'U' || first == 'S')
        return sn_universal_kind(schema) >= 0 ? SN_HIT_UNIVERSAL : SN_HIT_NOTHING;
    if (first != 'M')
        return SN_HIT_NOTHING;
    bool is_runtime = strcmp(schema->provider, SN_RUNTIME_PROVIDER) == 0;
    if (!is_runtime && strcmp(schema->provider, SN_RUNDOWN_PROVIDER) != 0)
        return SN_HIT_NOTHING;
    switch (schema->event_id) {
    case SN_METHOD_143:
    case SN_METHOD_144: return SN_HIT_METHOD;
    case SN_ENTRY_159: return is_runtime ? SN_HIT_ENTRY : SN_HIT_NOTHING;
    case SN_MODULE_152: return is_runtime ? SN_HIT_MODULE : SN_HIT_NOTHING;
    case SN_MODULE_153:
    case SN_MODULE_154: return is_runtime ? SN_HIT_NOTHING : SN_HIT_MODULE;
    default: return SN_HIT_NOTHING;
    }
}

/* Where precompiled code begins: how far the one before it can reach. */
static void take_start(struct sn_hits *hits, uint32_t process, uint64_t address)
{
    uint64_t *grown =
        hits->start_count < START_LIMIT
            ? sn_array_room(hits->starts, hits->start_count, &hits->start_capacity, sizeof(*grown))
            : NULL;
    if (!grown)
        return;
    hits->starts = grown;
    grown[hits->start_count++] = key_of(process, address);
}

/* "/app/Shop.dll" is "Shop". */
static const char *keep_module_name(struct sn_hits *hits, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t size = strlen(base);
    if (size > 4 &&
        (strcasecmp(base + size - 4, ".dll") == 0 || strcasecmp(base + size - 4, ".exe") == 0))
        size -= 4;
    char name[256];
    if (size >= sizeof(name))
        size = sizeof(name) - 1;
    memcpy(name, base, size);
    name[size] = '\0';
    return keep_text(hits, name, size);
}

static void take_module(struct sn_hits *hits, uint32_t process, const struct sn_event *event)
{
    uint64_t id;
    struct sn_utf16 path;
    if (!sn_module_event_read(event, &id, &path))
        return;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 16);
    sn_text_from_utf16(&text, path.units, path.count);
    const char *name = keep_module_name(hits, sn_buf_string(&text));
    uint64_t *place = sn_table_put(&hits->module_ids, key_of(process, (uint64_t)(uintptr_t)name));
    if (place)
        *place = id;
}

uint64_t sn_hits_module_id(struct sn_hits *hits, uint32_t process, const char *path)
{
    const char *name = keep_module_name(hits, path); /* kept once, so its place will do */
    const uint64_t *place =
        sn_table_find(&hits->module_ids, key_of(process, (uint64_t)(uintptr_t)name));
    return place ? *place : 0;
}

static bool is_precompiled_start(enum sn_hit_event kind, const struct sn_event *event,
                                 struct sn_method_event *ret_method)
{
    if (kind == SN_HIT_ENTRY)
        return sn_entry_event_read(event, ret_method);
    return kind == SN_HIT_METHOD && sn_method_event_read(event, ret_method) &&
           !(ret_method->flags & SN_METHOD_JITTED);
}

void sn_hits_take(struct sn_hits *hits, const struct sn_event *event)
{
    struct sn_method_event method;
    enum sn_hit_event kind = sn_hit_event_of(event);
    int universal = kind == SN_HIT_UNIVERSAL ? sn_universal_kind(event->schema) : -1;
    uint32_t process = kind == SN_HIT_NOTHING ? SN_HITS_NOBODY : sn_hits_process(hits, event);
    bool is_of_somebody = process != SN_HITS_NOBODY;
    if (universal == SN_UNIVERSAL_MAPPING)
        take_mapping(hits, event);
    else if (universal == SN_UNIVERSAL_MAPPING_METADATA)
        take_metadata(hits, event);
    else if (kind == SN_HIT_MODULE && is_of_somebody)
        take_module(hits, process, event);
    else if (is_of_somebody && is_precompiled_start(kind, event, &method))
        take_start(hits, process, method.start);
    take_stack(hits, event);
}

/* --- sorted --- */

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left; /* a hit begins with its key */
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

int sn_hits_sort(struct sn_hits *hits, struct sonde_error *err)
{
    hits->hits = calloc(hits->addresses.count + 1, sizeof(*hits->hits));
    hits->kernel = calloc(hits->kernel_addresses.count + 1, sizeof(*hits->kernel));
    if (!hits->hits || !hits->kernel)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for addresses");
    for (size_t i = 0; i < hits->addresses.capacity; i++) {
        const struct sn_table_slot *slot = &hits->addresses.slots[i];
        if (slot->used)
            hits->hits[hits->hit_count++] =
                (struct sn_hit){.key = slot->key, .mapping = (uint32_t)slot->value};
    }
    for (size_t i = 0; i < hits->kernel_addresses.capacity; i++) {
        const struct sn_table_slot *slot = &hits->kernel_addresses.slots[i];
        if (slot->used)
            hits->kernel[hits->kernel_count++] = slot->key;
    }
    sn_table_done(&hits->addresses);
    sn_table_done(&hits->kernel_addresses);
    sn_table_done(&hits->stacks);
    qsort(hits->hits, hits->hit_count, sizeof(*hits->hits), by_number);
    qsort(hits->kernel, hits->kernel_count, sizeof(*hits->kernel), by_number);
    if (hits->start_count)
        qsort(hits->starts, hits->start_count, sizeof(*hits->starts), by_number);
    return SONDE_OK;
}

static size_t first_from(const struct sn_hits *hits, uint64_t key)
{
    return sn_array_first(hits->hits, hits->hit_count, sizeof(*hits->hits), key);
}

size_t sn_hits_range(struct sn_hits *hits, uint32_t process, uint64_t start, uint64_t end,
                     struct sn_hit **ret_hits)
{
    if (end <= start || end > ADDRESS_MASK)
        return 0;
    size_t first = first_from(hits, key_of(process, start));
    *ret_hits = &hits->hits[first];
    return first_from(hits, key_of(process, end)) - first;
}

uint64_t sn_hits_dropped(const struct sn_hits *hits)
{
    return hits->dropped_count;
}

struct sn_hit *sn_hits_all(struct sn_hits *hits, size_t *ret_count)
{
    *ret_count = hits->hit_count;
    return hits->hits;
}

const uint64_t *sn_hits_kernel(const struct sn_hits *hits, size_t *ret_count)
{
    *ret_count = hits->kernel_count;
    return hits->kernel;
}

uint64_t sn_hits_kernel_mapping(const struct sn_hits *hits)
{
    return hits->kernel_mapping;
}

uint64_t sn_hits_next_start(const struct sn_hits *hits, uint32_t process, uint64_t address)
{
    uint64_t key = key_of(process, address);
    size_t low = 0;
    size_t high = hits->start_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hits->starts[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_there = low < hits->start_count && hits->starts[low] >> ADDRESS_BITS == process;
    return is_there ? hits->starts[low] & ADDRESS_MASK : UINT64_MAX;
}
