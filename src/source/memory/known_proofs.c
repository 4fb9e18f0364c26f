/* Proofs of known layouts: threads, types, modules and sync blocks, by what must hold together. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own_id.h"
#include "source/memory/known_layouts_internal.h"
#include "source/memory/runtime_memory.h"

#define OS_ID_MAX        (1u << 22)
#define STRING_BASE_SIZE 22u
#define STRING_FLAGS     0x80000002u /* has elements, of two bytes */
#define FREE_FLAGS       0x80000001u
#define FLAGS_MASK       0x8000FFFFu
#define THREADS_TRIED    256u
#define MODULES_TRIED    16u
#define SYNC_INDEX_MASK  0x03FFFFFFu
#define SYNC_TRIED       1024u
#define SYNC_SIZE_MAX    (1u << 26)

#define WANT(type, field, structure, member)                   \
    {                                                          \
        type, field, offsetof(struct structure, member), false \
    }
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* --- threads --- */

struct thread_layout {
    uint32_t first;
    uint32_t count;
    uint32_t id;
    uint32_t os_id;
    uint32_t frame;
    uint32_t link;
    uint32_t gc_disabled;
    uint32_t exposed;
    uint32_t tracker;
    uint32_t context; /* where it is in the thread itself */
};

static const struct sn_contract_want thread_wants[] = {
    WANT("ThreadStore", "FirstThreadLink", thread_layout, first),
    WANT("ThreadStore", "ThreadCount", thread_layout, count),
    WANT("Thread", "Id", thread_layout, id),
    WANT("Thread", "OSId", thread_layout, os_id),
    WANT("Thread", "Frame", thread_layout, frame),
    WANT("Thread", "LinkNext", thread_layout, link),
    WANT("Thread", "PreemptiveGCDisabled", thread_layout, gc_disabled),
    WANT("Thread", "GCHandle", thread_layout, exposed),
    WANT("Thread", "ExceptionTracker", thread_layout, tracker),
    WANT("Thread", "AllocContext", thread_layout, context),
};

/* A thread of the process has that id, as the process counts. */
static bool is_live(uint32_t pid, uint64_t os_id)
{
    char path[64];
    bool is_found = false;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu64, pid, os_id);
    if (access(path, F_OK) == 0)
        return true;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    DIR *tasks = opendir(path);
    for (unsigned i = 0; tasks && !is_found && i < SN_MANAGED_THREADS_MAX; i++) {
        const struct dirent *task = readdir(tasks);
        if (!task)
            break;
        uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
        is_found = tid && sn_own_id(pid, tid) == os_id;
    }
    if (tasks)
        (void)closedir(tasks);
    return is_found;
}

static bool is_none_or_readable(struct sn_layout_trial *trial, uint64_t pointer, uint64_t none)
{
    uint64_t word;
    return pointer == none || (!(pointer & 7) && sn_memory_u64(trial->memory, pointer, &word));
}

/* What a thread has besides its ids. */
static bool check_parts(struct sn_layout_trial *trial, const struct thread_layout *layout,
                        uint64_t thread)
{
    struct sn_memory *memory = trial->memory;
    uint64_t frame;
    uint64_t exposed;
    uint64_t tracker;
    uint64_t context[2];
    uint32_t gc_disabled;
    return sn_memory_u64(memory, thread + layout->frame, &frame) &&
           is_none_or_readable(trial, frame, UINT64_MAX) &&
           sn_memory_u32(memory, thread + layout->gc_disabled, &gc_disabled) && gc_disabled <= 1 &&
           sn_memory_u64(memory, thread + layout->exposed, &exposed) &&
           is_none_or_readable(trial, exposed, 0) &&
           sn_memory_u64(memory, thread + layout->tracker, &tracker) &&
           is_none_or_readable(trial, tracker, 0) &&
           sn_memory_read(memory, thread + layout->context, context, sizeof(context)) &&
           context[0] <= context[1] && is_none_or_readable(trial, context[0], 0);
}

/* The thread that runs finalizers is there from the start to the end. */
static bool check_thread(struct sn_layout_trial *trial, const struct thread_layout *layout,
                         uint64_t thread, bool must_live)
{
    uint32_t id;
    uint64_t os_id;
    uint32_t pid = sn_memory_pid(trial->memory);
    if (thread & 7 || !sn_memory_u32(trial->memory, thread + layout->id, &id) ||
        !sn_memory_u64(trial->memory, thread + layout->os_id, &os_id))
        return sn_trial_fail(trial, "a thread cannot be read");
    if (!id || id > SYNC_INDEX_MASK || !check_parts(trial, layout, thread))
        return sn_trial_fail(trial, "what should be a thread is none");
    if (must_live && (!os_id || os_id > OS_ID_MAX))
        return sn_trial_fail(trial, "the finalizer thread has no thread id");
    if (must_live && pid && !is_live(pid, os_id))
        return sn_trial_fail(trial, "the finalizer thread is no thread of the process");
    return true;
}

bool sn_prove_threads(struct sn_layout_trial *trial)
{
    struct thread_layout layout;
    uint64_t store;
    uint64_t finalizer;
    uint64_t link;
    uint32_t expected;
    uint32_t count = 0;
    bool has_finalizer = false;
    if (!sn_trial_bind(trial, thread_wants, COUNT(thread_wants), &layout))
        return false;
    if (!sn_trial_pointer(trial, "ThreadStore", &store) ||
        !sn_trial_pointer(trial, "FinalizerThread", &finalizer) ||
        !sn_memory_u32(trial->memory, store + layout.count, &expected) ||
        !sn_memory_u64(trial->memory, store + layout.first, &link))
        return sn_trial_fail(trial, "the list of threads is not there, or not yet");
    for (; link && count < expected && count < SN_MANAGED_THREADS_MAX; count++) {
        uint64_t thread = link - layout.link;
        bool is_finalizer = thread == finalizer;
        has_finalizer |= is_finalizer;
        if (((count < THREADS_TRIED || is_finalizer) &&
             !check_thread(trial, &layout, thread, is_finalizer)) ||
            !sn_memory_u64(trial->memory, link, &link))
            return false;
    }
    if (link || !count || count != expected)
        return sn_trial_fail(trial, "the list of threads is not as long as the runtime counts");
    return has_finalizer || sn_trial_fail(trial, "the finalizer thread is not in the list");
}

/* --- types --- */

struct type_layout {
    uint32_t flags;
    uint32_t base_size;
    uint32_t parent;
    uint32_t module;
    uint32_t clazz;
    uint32_t class_table;
    uint32_t fields;
    uint32_t field_size;
    uint32_t field_table;
    uint32_t chunk;
    uint32_t chunk_table;
    uint32_t chunk_next;
};

static const struct sn_contract_want type_wants[] = {
    WANT("MethodTable", "MTFlags", type_layout, flags),
    WANT("MethodTable", "BaseSize", type_layout, base_size),
    WANT("MethodTable", "ParentMethodTable", type_layout, parent),
    WANT("MethodTable", "Module", type_layout, module),
    WANT("MethodTable", "EEClassOrCanonMT", type_layout, clazz),
    WANT("EEClass", "MethodTable", type_layout, class_table),
    WANT("EEClass", "FieldDescList", type_layout, fields),
    WANT("FieldDesc", "!", type_layout, field_size),
    WANT("FieldDesc", "MethodTable", type_layout, field_table),
    WANT("EEClass", "MethodDescChunk", type_layout, chunk),
    WANT("MethodDescChunk", "MethodTable", type_layout, chunk_table),
    WANT("MethodDescChunk", "Next", type_layout, chunk_next),
};

bool sn_trial_is_method_table(struct sn_layout_trial *trial, uint64_t table)
{
    struct type_layout layout;
    uint64_t clazz;
    uint64_t back;
    if (!sn_trial_bind(trial, type_wants, COUNT(type_wants), &layout) ||
        !sn_memory_u64(trial->memory, table + layout.clazz, &clazz))
        return false;
    if (clazz & 3) { /* it shares that of another */
        table = clazz & ~(uint64_t)3;
        if (!sn_trial_follow(trial, table, layout.clazz, &clazz))
            return false;
    }
    return sn_trial_follow(trial, clazz, layout.class_table, &back) && back == table;
}

static bool points_back(struct sn_layout_trial *trial, uint64_t address, uint32_t offset,
                        uint64_t table)
{
    uint64_t back;
    return sn_trial_follow(trial, address, offset, &back) && back == table;
}

/* What hangs on System.String's class points back to it: two of its fields, which lie side by side,
 * and two chunks of methods, which it has more of than go into one. */
static bool check_class(struct sn_layout_trial *trial, const struct type_layout *layout,
                        uint64_t table)
{
    uint64_t clazz;
    uint64_t at;
    if (!sn_trial_is_method_table(trial, table) ||
        !sn_trial_follow(trial, table, layout->clazz, &clazz))
        return sn_trial_fail(trial, "the class of System.String does not point back to it");
    if (!sn_trial_follow(trial, clazz, layout->fields, &at) ||
        !points_back(trial, at, layout->field_table, table) ||
        !points_back(trial, at + layout->field_size, layout->field_table, table))
        return sn_trial_fail(trial, "the fields of System.String do not point back to it");
    if (!sn_trial_follow(trial, clazz, layout->chunk, &at) ||
        !points_back(trial, at, layout->chunk_table, table) ||
        !sn_trial_follow(trial, at, layout->chunk_next, &at) ||
        !points_back(trial, at, layout->chunk_table, table))
        return sn_trial_fail(trial, "the methods of System.String do not point back to it");
    return true;
}

static bool has_shape(struct sn_layout_trial *trial, const struct type_layout *layout,
                      uint64_t table, uint32_t flags)
{
    uint32_t value;
    return sn_memory_u32(trial->memory, table + layout->flags, &value) &&
           (value & FLAGS_MASK) == flags;
}

bool sn_prove_types(struct sn_layout_trial *trial)
{
    struct type_layout layout;
    uint64_t object;
    uint64_t string;
    uint64_t unused;
    uint64_t parent;
    uint64_t root;
    uint32_t size;
    if (!sn_trial_bind(trial, type_wants, COUNT(type_wants), &layout))
        return false;
    if (!sn_trial_pointer(trial, "ObjectMethodTable", &object) ||
        !sn_trial_pointer(trial, "StringMethodTable", &string) ||
        !sn_trial_pointer(trial, "FreeObjectMethodTable", &unused))
        return sn_trial_fail(trial, "the first types are not there, or not yet");
    if (!has_shape(trial, &layout, string, STRING_FLAGS) ||
        !has_shape(trial, &layout, unused, FREE_FLAGS) ||
        !sn_memory_u32(trial->memory, string + layout.base_size, &size) || size != STRING_BASE_SIZE)
        return sn_trial_fail(trial, "System.String has not the size of one");
    if (!sn_memory_u64(trial->memory, string + layout.parent, &parent) || parent != object ||
        !sn_memory_u64(trial->memory, object + layout.parent, &root) || root)
        return sn_trial_fail(trial, "System.String does not derive from System.Object");
    return check_class(trial, &layout, string);
}

bool sn_trial_core_library(struct sn_layout_trial *trial, uint64_t *ret_module)
{
    struct type_layout layout;
    uint64_t string;
    *ret_module = 0;
    if (!sn_trial_bind(trial, type_wants, COUNT(type_wants), &layout))
        return false;
    if (!sn_trial_pointer(trial, "StringMethodTable", &string) ||
        !sn_trial_follow(trial, string, layout.module, ret_module))
        return sn_trial_fail(trial, "the module of System.String is not known");
    return true;
}

/* --- modules --- */

struct module_layout {
    uint32_t assembly;
    uint32_t assembly_module;
    uint32_t pe_assembly;
    uint32_t image;
    uint32_t loaded;
    uint32_t base;
    uint32_t owner;
    uint32_t list;
    uint32_t list_count;
    uint32_t list_first;
    uint32_t block_size;
    uint32_t block_items;
    uint32_t item_assembly;
};

static const struct sn_contract_want module_wants[] = {
    WANT("Module", "Assembly", module_layout, assembly),
    WANT("Assembly", "Module", module_layout, assembly_module),
    WANT("Module", "PEAssembly", module_layout, pe_assembly),
    WANT("PEAssembly", "PEImage", module_layout, image),
    WANT("PEImage", "LoadedImageLayout", module_layout, loaded),
    WANT("PEImageLayout", "Base", module_layout, base),
    WANT("PEImageLayout", "Owner", module_layout, owner),
    WANT("AppDomain", "DomainAssemblyList", module_layout, list),
    WANT("ArrayListBase", "Count", module_layout, list_count),
    WANT("ArrayListBase", "FirstBlock", module_layout, list_first),
    WANT("ArrayListBlock", "Size", module_layout, block_size),
    WANT("ArrayListBlock", "ArrayStart", module_layout, block_items),
    WANT("DomainAssembly", "Assembly", module_layout, item_assembly),
};

static bool check_image(struct sn_layout_trial *trial, const struct module_layout *layout,
                        uint64_t module)
{
    uint64_t image;
    uint64_t at;
    uint64_t owner;
    uint64_t base;
    char magic[2];
    if (!sn_trial_follow(trial, module, layout->pe_assembly, &at) ||
        !sn_trial_follow(trial, at, layout->image, &image) ||
        !sn_trial_follow(trial, image, layout->loaded, &at) ||
        !sn_trial_follow(trial, at, layout->owner, &owner) || owner != image)
        return sn_trial_fail(trial, "the image of the core library is not found");
    if (!sn_trial_follow(trial, at, layout->base, &base) ||
        !sn_memory_read(trial->memory, base, magic, sizeof(magic)) || memcmp(magic, "MZ", 2) != 0)
        return sn_trial_fail(trial, "the image of the core library is none");
    return true;
}

static bool is_listed(struct sn_layout_trial *trial, const struct module_layout *layout,
                      uint64_t assembly)
{
    uint64_t domain;
    uint32_t count;
    uint32_t size;
    if (!sn_trial_pointer(trial, "AppDomain", &domain))
        return false;
    uint64_t list = domain + layout->list;
    uint64_t block = list + layout->list_first;
    if (!sn_memory_u32(trial->memory, list + layout->list_count, &count) ||
        !sn_memory_u32(trial->memory, block + layout->block_size, &size))
        return false;
    for (uint32_t i = 0; i < count && i < size && i < MODULES_TRIED; i++) {
        uint64_t item;
        uint64_t at;
        if (sn_trial_follow(trial, block, layout->block_items + 8 * i, &item) &&
            sn_trial_follow(trial, item, layout->item_assembly, &at) && at == assembly)
            return true;
    }
    return false;
}

bool sn_prove_modules(struct sn_layout_trial *trial)
{
    struct module_layout layout;
    uint64_t module;
    uint64_t assembly;
    uint64_t back;
    if (!sn_trial_bind(trial, module_wants, COUNT(module_wants), &layout) ||
        !sn_trial_core_library(trial, &module))
        return false;
    if (!sn_trial_follow(trial, module, layout.assembly, &assembly) ||
        !sn_trial_follow(trial, assembly, layout.assembly_module, &back) || back != module)
        return sn_trial_fail(trial, "the core library's assembly does not point back to it");
    if (!is_listed(trial, &layout, assembly))
        return sn_trial_fail(trial, "the core library is not in the list of assemblies");
    return check_image(trial, &layout, module);
}

/* --- sync blocks --- */

struct sync_layout {
    uint32_t entry_size;
    uint32_t block;
    uint32_t object;
    uint32_t index;
    uint32_t free_index;
    uint32_t table_size;
};

static const struct sn_contract_want sync_wants[] = {
    WANT("SyncTableEntry", "!", sync_layout, entry_size),
    WANT("SyncTableEntry", "SyncBlock", sync_layout, block),
    WANT("SyncTableEntry", "Object", sync_layout, object),
    WANT("SyncBlock", "SyncIndex", sync_layout, index),
    WANT("SyncBlockCache", "FreeSyncTableIndex", sync_layout, free_index),
    WANT("SyncBlockCache", "SyncTableSize", sync_layout, table_size),
};

/* Of an entry that has ever been used the object is never 0: it is there, or the odd number of the
 * next free one. A block that is in use holds its own index. Zeros prove nothing. What is read of
 * a monitor is proved where it is read, by its owner, as here nothing may be locked. */
static bool may_be_entry(struct sn_layout_trial *trial, const struct sync_layout *layout,
                         uint64_t entry, uint32_t index)
{
    uint64_t block;
    uint64_t object;
    uint32_t told;
    if (!sn_memory_u64(trial->memory, entry + layout->block, &block) ||
        !sn_memory_u64(trial->memory, entry + layout->object, &object))
        return false;
    if (!block || object & 1)
        return object != 0;
    return object && !(object & 7) && sn_memory_u32(trial->memory, block + layout->index, &told) &&
           (told & SYNC_INDEX_MASK) == index;
}

bool sn_prove_sync_blocks(struct sn_layout_trial *trial)
{
    struct sync_layout layout;
    uint64_t table;
    uint64_t cache;
    uint32_t next;
    uint32_t size;
    if (!sn_trial_bind(trial, sync_wants, COUNT(sync_wants), &layout))
        return false;
    if (!sn_trial_pointer(trial, "SyncTableEntries", &table) ||
        !sn_trial_pointer(trial, "SyncBlockCache", &cache) ||
        !sn_memory_u32(trial->memory, cache + layout.free_index, &next) ||
        !sn_memory_u32(trial->memory, cache + layout.table_size, &size))
        return sn_trial_fail(trial, "the table of sync blocks is not there, or not yet");
    if (!next || next > size || size < 2 || size > SYNC_SIZE_MAX)
        return sn_trial_fail(trial, "the table of sync blocks has no size of one");
    for (uint32_t i = 1; i < next && i < SYNC_TRIED; i++) {
        if (!may_be_entry(trial, &layout, table + (uint64_t)i * layout.entry_size, i))
            return sn_trial_fail(trial, "a sync block does not hold its own index");
    }
    return true;
}
