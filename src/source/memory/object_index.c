/* Keeps copies of the few objects that matter, told by the names of their types. */
#include "source/memory/object_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "format/assembly.h"
#include "source/memory/contract.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define TASK_COMPLETED       0x01600000u /* of m_stateFlags: ran to its end, failed or was cancelled */
#define LOCK_HELD            1u          /* of Lock._state */
#define HELD_MAX             65536u
#define LOST_TOLD            4096u /* bytes that are worth a remark: an allocation of that moment is less */
#define MODULE_OF_DEFINITION 9u /* releases from this on: before, it is the one that loaded it */
#define TOKEN_SHIFT          8u /* of MTFlags2 */
#define TOKEN_ROW            0x00FFFFFFu
#define ROLE_NAME_MAX        160
#define FIELD_BASE           8u /* fields are counted from behind the pointer to the type */

static const struct {
    const char *name;
    bool is_prefix;
    uint8_t role;
} roles[] = {
    {"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[", true,
     SN_OBJECT_BOX},
    {"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+DebugFinalizableAsyncStateMachineBox"
     "`1[",
     true, SN_OBJECT_BOX},
    {"System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1[",
     true, SN_OBJECT_POOLED_BOX},
    {"System.Threading.Tasks.TaskCompletionSource", false, SN_OBJECT_PROMISE},
    {"System.Threading.Tasks.TaskCompletionSource`1[", true, SN_OBJECT_PROMISE},
    {"System.Threading.Lock", false, SN_OBJECT_LOCK},
    {"System.Threading.ThreadPoolWorkQueue", false, SN_OBJECT_WORK_QUEUE},
    {"System.Threading.ThreadPoolWorkQueue+WorkStealingQueue", false, SN_OBJECT_LOCAL_QUEUE},
    {"System.Threading.PortableThreadPool", false, SN_OBJECT_POOL},
};

#define ROLES (sizeof(roles) / sizeof(*roles))

struct list {
    struct sn_found_object *items; /* owns */
    size_t count;
    size_t capacity;
};

struct sn_object_index {
    struct sn_runtime_memory *runtime; /* borrows */
    struct sn_type_system *types;      /* borrows */
    uint64_t core_library;             /* Module that all of the roles are of; 0: not known */
    uint32_t module_at;                /* in a MethodTable */
    uint32_t token_at;                 /* the same */
    uint32_t tokens[ROLES];            /* TypeDefs of the roles in it, or 0 */
    struct list lists[SN_OBJECT_ROLES];
    struct sn_arena bytes;
    struct sn_heap_facts facts;
    uint32_t task_state; /* offset in an object, or 0: not known yet */
    uint32_t lock_state;
    bool is_full;
    char remark[160];
};

/* --- what the walk asks --- */

static uint32_t field_of(struct sn_object_index *index, uint64_t type, const char *name)
{
    struct sn_memory_field field;
    if (!sn_type_system_field(index->types, type, name, &field) || field.is_static ||
        field.offset > SN_OBJECT_SIZE_MAX)
        return 0;
    return field.offset + FIELD_BASE;
}

static uint32_t role_of(const char *name)
{
    if (strncmp(name, "System.", 7) != 0)
        return SN_OBJECT_NONE;
    for (size_t i = 0; i < ROLES; i++) {
        if (roles[i].is_prefix ? strncmp(name, roles[i].name, strlen(roles[i].name)) == 0
                               : strcmp(name, roles[i].name) == 0)
            return roles[i].role;
    }
    return SN_OBJECT_NONE;
}

/* Whether a type can have a role at all: by its module and its number there. To name it would take
 * the metadata of all modules whose types are its arguments, which is most of the work. */
static bool is_foreign(const struct sn_object_index *index, uint64_t method_table)
{
    struct sn_memory *memory = index->runtime->memory;
    uint64_t module;
    uint32_t flags;
    if (!index->core_library || !sn_memory_u64(memory, method_table + index->module_at, &module) ||
        !sn_memory_u32(memory, method_table + index->token_at, &flags))
        return false;
    for (size_t i = 0; i < ROLES && module == index->core_library; i++) {
        if (flags >> TOKEN_SHIFT == (index->tokens[i] & TOKEN_ROW))
            return false;
    }
    return true;
}

/* The names of `roles` are those of instantiations; the definition's ends before the bracket. */
static void find_tokens(struct sn_object_index *index, const struct sn_assembly *metadata)
{
    for (size_t i = 0; i < ROLES; i++) {
        char name[ROLE_NAME_MAX];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(roles[i].name, "["), roles[i].name);
        index->tokens[i] = sn_assembly_find_type(metadata, name);
    }
}

static void find_core_library(struct sn_object_index *index)
{
    uint64_t object = sn_type_system_find(index->types, NULL, "System.Object");
    const struct sn_memory_type *type = object ? sn_type_system_type(index->types, object) : NULL;
    const struct sn_contract *contract = index->runtime->contract;
    if (!type || !type->module || !type->module->metadata ||
        index->runtime->major < MODULE_OF_DEFINITION ||
        !sn_contract_offset(contract, "MethodTable", "Module", &index->module_at) ||
        !sn_contract_offset(contract, "MethodTable", "MTFlags2", &index->token_at))
        return;
    find_tokens(index, type->module->metadata);
    index->core_library = type->module->address;
}

static uint32_t wants(void *user, uint64_t method_table)
{
    struct sn_object_index *index = user;
    if (is_foreign(index, method_table))
        return SN_OBJECT_NONE;
    const struct sn_memory_type *type = sn_type_system_type(index->types, method_table);
    uint32_t role = type ? role_of(type->name) : SN_OBJECT_NONE;
    if (role == SN_OBJECT_BOX && !index->task_state)
        index->task_state = field_of(index, method_table, "m_stateFlags");
    if (role == SN_OBJECT_LOCK)
        index->lock_state = field_of(index, method_table, "_state");
    return role;
}

static uint32_t word_of(const struct sn_heap_object *object, uint32_t offset)
{
    uint32_t word = 0;
    if (offset && offset + sizeof(word) <= object->byte_count)
        memcpy(&word, object->bytes + offset, sizeof(word));
    return word;
}

/* Most tasks on a heap have completed, and most locks are free. */
static bool is_idle(const struct sn_object_index *index, const struct sn_heap_object *object)
{
    if (object->tag == SN_OBJECT_BOX)
        return (word_of(object, index->task_state) & TASK_COMPLETED) != 0;
    if (object->tag == SN_OBJECT_LOCK)
        return !(word_of(object, index->lock_state) & LOCK_HELD);
    return false;
}

static bool keep(struct list *list, const struct sn_found_object *object, size_t most)
{
    if (list->count >= most)
        return false;
    struct sn_found_object *items =
        sn_array_room(list->items, list->count, &list->capacity, sizeof(*items));
    if (!items)
        return false;
    list->items = items;
    items[list->count++] = *object;
    return true;
}

static bool take(void *user, const struct sn_heap_object *object)
{
    struct sn_object_index *index = user;
    if (object->tag >= SN_OBJECT_ROLES || is_idle(index, object))
        return true;
    size_t size = object->byte_count < SN_OBJECT_SIZE_MAX ? object->byte_count : SN_OBJECT_SIZE_MAX;
    struct sn_found_object found = {.address = object->address,
                                    .type = object->type,
                                    .size = (uint32_t)size,
                                    .header = object->header};
    found.bytes = (const uint8_t *)sn_arena_copy(&index->bytes, object->bytes, size);
    if (!found.bytes || !keep(&index->lists[object->tag], &found, SN_OBJECT_INDEX_MAX))
        index->is_full = true;
    return !index->is_full;
}

static void take_header(void *user, uint64_t object, uint64_t method_table, uint32_t header)
{
    struct sn_object_index *index = user;
    struct sn_found_object found = {.address = object, .type = method_table, .header = header};
    (void)keep(&index->lists[SN_OBJECT_HELD], &found, HELD_MAX); /* more are of no use */
}

static void again(void *user)
{
    struct sn_object_index *index = user;
    for (unsigned i = 0; i < SN_OBJECT_ROLES; i++)
        index->lists[i].count = 0;
    sn_arena_done(&index->bytes);
    index->bytes = sn_arena_with_limit(SN_OBJECT_INDEX_BYTES);
    index->is_full = false;
}

/* --- the index --- */

static int by_address(const void *a, const void *b)
{
    uint64_t left = ((const struct sn_found_object *)a)->address;
    uint64_t right = ((const struct sn_found_object *)b)->address;
    return (left > right) - (left < right);
}

static void write_remark(struct sn_object_index *index)
{
    const struct sn_heap_facts *facts = &index->facts;
    const char *what = facts->is_collecting ? "its heap was being collected"
                       : facts->is_changed  ? "its heap was collected again and again meanwhile"
                       : index->is_full     ? "more objects than there is room for"
                       : facts->is_cut      ? "its heap is larger than the time allows"
                                            : NULL;
    if (what)
        snprintf(index->remark, sizeof(index->remark),
                 "%s: tasks, Lock objects and what is queued may be missing", what);
    else if (facts->bytes_lost >= LOST_TOLD)
        snprintf(index->remark, sizeof(index->remark),
                 "%u of %u regions of its heap changed while they were read: %llu bytes were not "
                 "looked at",
                 facts->regions_torn, facts->regions, (unsigned long long)facts->bytes_lost);
}

int sn_object_index_read(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                         uint64_t deadline_ns, struct sn_object_index **ret_index,
                         struct sonde_error *err)
{
    SN_AUTO(sn_object_index_free) struct sn_object_index *index = calloc(1, sizeof(*index));
    if (!index)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the objects of a heap");
    index->runtime = runtime;
    index->types = types;
    find_core_library(index);
    index->bytes = sn_arena_with_limit(SN_OBJECT_INDEX_BYTES);
    struct sn_heap_visitor visitor = {.wants = wants,
                                      .take = take,
                                      .header = take_header,
                                      .again = again,
                                      .user = index,
                                      .deadline_ns = deadline_ns};
    int rc = sn_heap_walk(runtime, &visitor, &index->facts, err);
    if (rc != SONDE_OK)
        return rc;
    for (unsigned i = 0; i < SN_OBJECT_ROLES; i++) {
        if (index->lists[i].count)
            qsort(index->lists[i].items, index->lists[i].count, sizeof(*index->lists[i].items),
                  by_address);
    }
    write_remark(index);
    *ret_index = SN_TAKE(index);
    return SONDE_OK;
}

void sn_object_index_free(struct sn_object_index *index)
{
    if (!index)
        return;
    for (unsigned i = 0; i < SN_OBJECT_ROLES; i++)
        free(index->lists[i].items);
    sn_arena_done(&index->bytes);
    free(index);
}

size_t sn_object_index_list(const struct sn_object_index *index, enum sn_object_role role,
                            const struct sn_found_object **ret_objects)
{
    *ret_objects = index->lists[role].items;
    return index->lists[role].count;
}

const struct sn_found_object *sn_object_index_find(const struct sn_object_index *index,
                                                   enum sn_object_role role, uint64_t address)
{
    const struct list *list = &index->lists[role];
    size_t i = sn_array_first(list->items, list->count, sizeof(*list->items), address);
    return i < list->count && list->items[i].address == address ? &list->items[i] : NULL;
}

const struct sn_heap_facts *sn_object_index_facts(const struct sn_object_index *index)
{
    return &index->facts;
}

const char *sn_object_index_remark(const struct sn_object_index *index)
{
    return index->remark;
}
