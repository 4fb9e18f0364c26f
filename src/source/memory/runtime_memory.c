/* Finds the runtime in a memory, and its threads. */
#include "source/memory/runtime_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "source/memory/contract.h"
#include "source/memory/known_layouts.h"
#include "source/memory/loaded_module.h"
#include "source/memory/runtime_version.h"

#define DESCRIPTOR  "DotNetRuntimeContractDescriptor"
#define DAC_TABLE   "g_dacTable"
#define AOT_HEADER  "DotNetRuntimeDebugHeader"
#define MODULES_MAX 4096u
#define LIST_TRIES  4u
#define OS_ID_MAX   (1u << 22) /* no kernel counts further */
#define HANDLE_MASK (~(uint64_t)1)

/* --- finding it --- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_library(const struct sn_memory_map *map)
{
    const char *name = base_name(map->path);
    return strcmp(name, "libcoreclr.so") == 0 || strcmp(name, "libcoreclr.so (deleted)") == 0;
}

/* The program itself holds the runtime when it is a single file: no library, no assembly. */
static bool may_be_program(const struct sn_memory_map *map)
{
    const char *name = base_name(map->path);
    const char *dot = strrchr(name, '.');
    bool is_other = dot && (strcmp(dot, ".so") == 0 || strcmp(dot, ".dll") == 0);
    return map->path[0] == '/' && !is_other && !strstr(name, ".so.");
}

/* The first module that `is_wanted` and that exports `symbol`. */
static const struct sn_memory_map *find_module(struct sn_memory *memory,
                                               bool (*is_wanted)(const struct sn_memory_map *map),
                                               const char *symbol)
{
    size_t tried = 0;
    for (size_t i = 0; i < sn_memory_map_count(memory) && tried < MODULES_MAX; i++) {
        const struct sn_memory_map *map = sn_memory_map_at(memory, i);
        if (map->offset || !is_wanted(map))
            continue;
        tried++;
        if (sn_loaded_module_symbol(memory, map->start, symbol))
            return map;
    }
    return NULL;
}

static bool find_runtime(struct sn_runtime_memory *runtime, const struct sn_memory_map **ret_map)
{
    static const char *const symbols[] = {DESCRIPTOR, DAC_TABLE};
    for (size_t i = 0; i < 2; i++) {
        *ret_map = find_module(runtime->memory, is_library, symbols[i]);
        if (*ret_map)
            return true;
    }
    runtime->is_single_file = true;
    for (size_t i = 0; i < 2; i++) {
        *ret_map = find_module(runtime->memory, may_be_program, symbols[i]);
        if (*ret_map)
            return true;
    }
    return false;
}

static int refuse(struct sn_memory *memory, struct sonde_error *err)
{
    if (find_module(memory, may_be_program, AOT_HEADER))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "the program is compiled ahead of time (NativeAOT): it has no methods to "
                       "read; 'sonde record' shows its native stacks");
    return sn_fail(err, SONDE_E_NOT_FOUND, 0, "no .NET runtime (CoreCLR) is loaded in it");
}

static void read_version(struct sn_runtime_memory *runtime)
{
    struct sn_runtime_version version;
    if (!sn_runtime_version_find(runtime->memory, runtime->base, &version))
        return;
    runtime->major = version.major;
    memcpy(runtime->version, version.text, sizeof(version.text));
}
_Static_assert(sizeof(((struct sn_runtime_memory *)NULL)->version) ==
                   sizeof(((struct sn_runtime_version *)NULL)->text),
               "a version is copied as a whole");

static int read_contract(struct sn_runtime_memory *runtime, struct sonde_error *err)
{
    uint64_t descriptor = sn_runtime_memory_symbol(runtime, DESCRIPTOR);
    runtime->dac_table = sn_runtime_memory_symbol(runtime, DAC_TABLE);
    return descriptor ? sn_contract_read(runtime->memory, descriptor, &runtime->contract, err)
                      : sn_contract_new(&runtime->contract, err);
}

int sn_runtime_memory_open(struct sn_memory *memory, struct sn_runtime_memory **ret_runtime,
                           struct sonde_error *err)
{
    const struct sn_memory_map *map;
    SN_AUTO(sn_memory_free) struct sn_memory *taken = memory;
    SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = calloc(1, sizeof(*runtime));
    if (!runtime)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for reading a runtime");
    runtime->memory = SN_TAKE(taken);
    if (!find_runtime(runtime, &map))
        return refuse(memory, err);
    runtime->base = map->start;
    read_version(runtime);
    int rc = read_contract(runtime, err);
    if (rc == SONDE_OK)
        rc = sn_known_layouts_add(runtime, err);
    if (rc == SONDE_OK)
        *ret_runtime = SN_TAKE(runtime);
    return rc;
}

void sn_runtime_memory_free(struct sn_runtime_memory *runtime)
{
    if (!runtime)
        return;
    sn_contract_free(runtime->contract);
    sn_memory_free(runtime->memory);
    free(runtime);
}

uint64_t sn_runtime_memory_symbol(struct sn_runtime_memory *runtime, const char *name)
{
    return sn_loaded_module_symbol(runtime->memory, runtime->base, name);
}

/* --- threads --- */

struct layout {
    uint32_t first_link;
    uint32_t thread_count;
    uint32_t id;
    uint32_t os_id;
    uint32_t state;
    uint32_t gc_disabled;
    uint32_t frame;
    uint32_t link;
    uint32_t exposed;
    uint32_t tracker;
    uint32_t thrown;
    uint32_t locals;
    uint32_t own_context; /* in the thread itself: 8 */
    uint32_t context;
    uint32_t gc_context;
    uint32_t pointer;
    uint32_t limit;
};

static const struct sn_contract_want wants[] = {
    {"ThreadStore", "FirstThreadLink", offsetof(struct layout, first_link), false},
    {"ThreadStore", "ThreadCount", offsetof(struct layout, thread_count), false},
    {"Thread", "Id", offsetof(struct layout, id), false},
    {"Thread", "OSId", offsetof(struct layout, os_id), false},
    {"Thread", "State", offsetof(struct layout, state), false},
    {"Thread", "PreemptiveGCDisabled", offsetof(struct layout, gc_disabled), false},
    {"Thread", "Frame", offsetof(struct layout, frame), false},
    {"Thread", "LinkNext", offsetof(struct layout, link), false},
    {"Thread", "GCHandle", offsetof(struct layout, exposed), true},
    {"Thread", "ExceptionTracker", offsetof(struct layout, tracker), true},
    {"ExceptionInfo", "ThrownObject", offsetof(struct layout, thrown), true},
    {"Thread", "RuntimeThreadLocals", offsetof(struct layout, locals), true},
    {"Thread", "AllocContext", offsetof(struct layout, own_context), true},
    {"RuntimeThreadLocals", "AllocContext", offsetof(struct layout, context), true},
    {"EEAllocContext", "GCAllocationContext", offsetof(struct layout, gc_context), true},
    {"GCAllocContext", "Pointer", offsetof(struct layout, pointer), true},
    {"GCAllocContext", "Limit", offsetof(struct layout, limit), true},
};

struct list {
    struct sn_managed_thread *items; /* owns */
    size_t count;
    size_t capacity;
};

static bool is_told(uint32_t offset)
{
    return offset != SN_CONTRACT_NONE;
}

/* The object that is on its way, by the handle that the innermost tracker holds. */
static uint64_t read_exception(struct sn_memory *memory, const struct layout *layout,
                               uint64_t thread)
{
    uint64_t tracker;
    uint64_t handle;
    uint64_t object;
    if (!is_told(layout->tracker) || !is_told(layout->thrown) ||
        !sn_memory_u64(memory, thread + layout->tracker, &tracker) || !tracker ||
        !sn_memory_u64(memory, tracker + layout->thrown, &handle) ||
        !sn_memory_u64(memory, handle & HANDLE_MASK, &object))
        return 0;
    return object;
}

/* Where a thread allocates: through what it keeps for itself, or, before 9, in it. */
static uint64_t find_context(struct sn_memory *memory, const struct layout *layout, uint64_t thread)
{
    uint64_t locals;
    if (is_told(layout->own_context))
        return thread + layout->own_context;
    if (!is_told(layout->locals) || !is_told(layout->context) ||
        !sn_memory_u64(memory, thread + layout->locals, &locals) || !locals)
        return 0;
    return locals + layout->context + (is_told(layout->gc_context) ? layout->gc_context : 0);
}

static void read_context(struct sn_memory *memory, const struct layout *layout,
                         struct sn_managed_thread *thread)
{
    uint64_t context = find_context(memory, layout, thread->address);
    if (!context || !is_told(layout->pointer) || !is_told(layout->limit))
        return;
    if (!sn_memory_u64(memory, context + layout->pointer, &thread->alloc_pointer) ||
        !sn_memory_u64(memory, context + layout->limit, &thread->alloc_limit))
        thread->alloc_pointer = thread->alloc_limit = 0;
}

/* False: it cannot be read, or cannot be a thread. */
static bool read_thread(struct sn_memory *memory, const struct layout *layout, uint64_t address,
                        struct sn_managed_thread *ret_thread)
{
    uint32_t gc_disabled;
    struct sn_managed_thread thread = {.address = address};
    if (!sn_memory_u32(memory, address + layout->id, &thread.managed_id) ||
        !sn_memory_u64(memory, address + layout->os_id, &thread.os_id) ||
        !sn_memory_u32(memory, address + layout->state, &thread.state) ||
        !sn_memory_u32(memory, address + layout->gc_disabled, &gc_disabled) ||
        !sn_memory_u64(memory, address + layout->frame, &thread.frame))
        return false;
    if (thread.os_id > OS_ID_MAX) /* a number of the runtime's for one that has not started */
        thread.os_id = 0;
    thread.is_preemptive = gc_disabled == 0;
    if (is_told(layout->exposed))
        (void)sn_memory_u64(memory, address + layout->exposed, &thread.exposed); /* or 0 */
    thread.exception = read_exception(memory, layout, address);
    read_context(memory, layout, &thread);
    *ret_thread = thread;
    return true;
}

/* One walk down the list. False: it is broken, or longer than the runtime counts: it changed while
 * it was read. */
static bool read_list(struct sn_memory *memory, const struct layout *layout, uint64_t store,
                      struct list *list)
{
    uint64_t link;
    uint32_t expected;
    list->count = 0;
    if (!sn_memory_u32(memory, store + layout->thread_count, &expected) ||
        !sn_memory_u64(memory, store + layout->first_link, &link) ||
        expected > SN_MANAGED_THREADS_MAX)
        return false;
    while (link) {
        if (list->count >= expected)
            return false;
        struct sn_managed_thread *items =
            sn_array_room(list->items, list->count, &list->capacity, sizeof(*items));
        if (!items)
            return false;
        list->items = items;
        if (!read_thread(memory, layout, link - layout->link, &items[list->count]))
            return false;
        list->count++;
        if (!sn_memory_u64(memory, link, &link))
            return false;
    }
    return list->count == expected;
}

int sn_runtime_memory_threads(struct sn_runtime_memory *runtime,
                              struct sn_managed_thread **ret_threads, size_t *ret_count,
                              bool *ret_is_partial, struct sonde_error *err)
{
    struct layout layout;
    const char *missing;
    uint64_t variable;
    uint64_t store = 0;
    struct list list = {0};
    bool is_whole = false;
    uint32_t version = sn_contract_version(runtime->contract, "Thread");
    if (version > 1)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                       "this runtime describes its threads in a way that is not known (version %u)",
                       version);
    if (!sn_contract_bind(runtime->contract, wants, sizeof(wants) / sizeof(*wants), &layout,
                          &missing))
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "this runtime does not tell of %s", missing);
    if (!sn_contract_address(runtime->contract, "ThreadStore", &variable) ||
        !sn_memory_u64(runtime->memory, variable, &store) || !store)
        return sn_fail(
            err, SONDE_E_UNSUPPORTED, 0,
            "this runtime has no list of its threads yet; ask again when it has started");
    for (unsigned i = 0; i < LIST_TRIES && !is_whole; i++) {
        sn_memory_forget(runtime->memory);
        is_whole = read_list(runtime->memory, &layout, store, &list);
    }
    *ret_threads = list.items;
    *ret_count = list.count;
    *ret_is_partial = !is_whole;
    return SONDE_OK;
}
