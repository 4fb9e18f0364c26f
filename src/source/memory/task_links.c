/* Follows continuations. What a task tells when it completes is one object: a box, a delegate, a
 * wrapper around either, another task, or a list of such. */
#include "source/memory/task_links.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define TYPES_MAX      65536u
#define WORK_MAX       65536u      /* objects that wait to be followed */
#define STEPS_MAX      (16u << 20) /* objects that are followed in all */
#define LIST_MAX       65536
#define PARENTS_MAX    32u
#define TASK_COMPLETED 0x01600000u

enum kind {
    KIND_OTHER,
    KIND_FIELD, /* a reference in it leads on */
    KIND_TASK,  /* its own continuation leads on, until it has completed */
    KIND_LIST,
    KIND_EVENT, /* a thread waits by it */
};

/* What leads on from an object of that type. */
static const struct {
    const char *name;
    uint8_t kind;
    const char *field;
} known[] = {
    {"System.Threading.Tasks.AwaitTaskContinuation", KIND_FIELD, "m_action"},
    {"System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation", KIND_FIELD, "m_action"},
    {"System.Threading.Tasks.TaskSchedulerAwaitTaskContinuation", KIND_FIELD, "m_action"},
    {"System.Threading.Tasks.ContinueWithTaskContinuation", KIND_FIELD, "m_task"},
    {"System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper", KIND_FIELD,
     "_continuation"},
    {"System.Threading.Tasks.Task+SetOnInvokeMres", KIND_EVENT, NULL},
    {"System.Threading.Tasks.Task+SetOnCountdownMres", KIND_EVENT, NULL},
    {"System.Collections.Generic.List`1[System.Object]", KIND_LIST, "_items"},
    {"System.Collections.Generic.List`1[System.__Canon]", KIND_LIST, "_items"},
};

struct type_facts {
    uint8_t kind;
    uint32_t offset; /* of the field that leads on */
    uint32_t other;  /* of the state of a task; of the size of a list */
};

struct sn_task_links {
    struct sn_memory *memory;            /* borrows */
    struct sn_type_system *types;        /* borrows */
    const struct sn_object_index *index; /* borrows */
    struct sn_table known;               /* MethodTable to packed facts, plus one */
    uint64_t work[WORK_MAX];
    size_t work_count;
    uint32_t steps; /* so far */
};

int sn_task_links_new(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                      const struct sn_object_index *index, struct sn_task_links **ret_links,
                      struct sonde_error *err)
{
    struct sn_task_links *links = calloc(1, sizeof(*links));
    if (!links)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for continuations");
    links->memory = runtime->memory;
    links->types = types;
    links->index = index;
    links->known = sn_table_with_limit(TYPES_MAX);
    *ret_links = links;
    return SONDE_OK;
}

void sn_task_links_free(struct sn_task_links *links)
{
    if (!links)
        return;
    sn_table_done(&links->known);
    free(links);
}

/* --- types --- */

/* Offset in an object; 0: there is no such field. */
static uint32_t field_of(struct sn_task_links *links, uint64_t type, const char *name)
{
    struct sn_memory_field field;
    if (!sn_type_system_field(links->types, type, name, &field) || field.is_static ||
        field.offset > SN_OBJECT_SIZE_MAX)
        return 0;
    return field.offset + 8;
}

static bool is_task(struct sn_task_links *links, const struct sn_memory_type *type)
{
    for (unsigned i = 0; type && i < PARENTS_MAX; i++) {
        if (strcmp(type->name, "System.Threading.Tasks.Task") == 0)
            return true;
        type = type->parent ? sn_type_system_type(links->types, type->parent) : NULL;
    }
    return false;
}

static struct type_facts read_facts(struct sn_task_links *links, uint64_t address)
{
    struct type_facts facts = {0};
    const struct sn_memory_type *type = sn_type_system_type(links->types, address);
    if (!type)
        return facts;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(type->name, known[i].name) != 0)
            continue;
        facts.kind = known[i].kind;
        facts.offset = known[i].field ? field_of(links, address, known[i].field) : 0;
        facts.other = facts.kind == KIND_LIST ? field_of(links, address, "_size") : 0;
        return facts;
    }
    if (type->is_delegate) {
        facts.kind = KIND_FIELD;
        facts.offset = field_of(links, address, "_target");
    } else if (is_task(links, type)) {
        facts.kind = KIND_TASK;
        facts.offset = field_of(links, address, "m_continuationObject");
        facts.other = field_of(links, address, "m_stateFlags");
    }
    return facts;
}

static struct type_facts facts_of(struct sn_task_links *links, uint64_t type)
{
    uint64_t *place = sn_table_put(&links->known, type);
    struct type_facts facts;
    if (place && *place) {
        uint64_t packed = *place - 1;
        return (struct type_facts){.kind = (uint8_t)(packed & 0xFF),
                                   .offset = (uint32_t)((packed >> 8) & 0xFFFFFF),
                                   .other = (uint32_t)(packed >> 32)};
    }
    facts = read_facts(links, type);
    place = sn_table_put(&links->known, type);
    if (place)
        *place = ((uint64_t)facts.other << 32 | (uint64_t)facts.offset << 8 | facts.kind) + 1;
    return facts;
}

/* --- objects --- */

static void push(struct sn_task_links *links, uint64_t object)
{
    if (object && !(object & 7) && links->work_count < WORK_MAX)
        links->work[links->work_count++] = object;
}

static void push_field(struct sn_task_links *links, uint64_t object, uint32_t offset)
{
    uint64_t next;
    if (offset && sn_memory_u64(links->memory, object + offset, &next))
        push(links, next);
}

static void push_list(struct sn_task_links *links, uint64_t list, const struct type_facts *facts)
{
    uint64_t items;
    uint32_t length;
    int32_t size;
    if (!facts->offset || !facts->other ||
        !sn_memory_u64(links->memory, list + facts->offset, &items) || !items ||
        !sn_memory_read(links->memory, list + facts->other, &size, sizeof(size)) || size < 0 ||
        size > LIST_MAX || !sn_memory_u32(links->memory, items + 8, &length) ||
        (uint32_t)size > length)
        return;
    for (int32_t i = 0; i < size; i++)
        push_field(links, items, 16 + (uint32_t)i * 8);
}

static bool is_over(struct sn_task_links *links, uint64_t task, const struct type_facts *facts)
{
    uint32_t state;
    return !facts->other || !sn_memory_u32(links->memory, task + facts->other, &state) ||
           (state & TASK_COMPLETED);
}

static bool is_box(const struct sn_task_links *links, uint64_t object)
{
    return sn_object_index_find(links->index, SN_OBJECT_BOX, object) ||
           sn_object_index_find(links->index, SN_OBJECT_POOLED_BOX, object);
}

bool sn_task_links_follow(struct sn_task_links *links, uint64_t object, sn_task_link_fn *take,
                          void *user, uint64_t *ret_blocks)
{
    *ret_blocks = 0;
    links->work_count = 0;
    push(links, object);
    while (links->work_count && links->steps++ < STEPS_MAX) {
        object = links->work[--links->work_count];
        if (is_box(links, object)) {
            if (!take(user, object))
                return false;
            continue;
        }
        uint64_t type = sn_type_system_object_table(links->types, object);
        struct type_facts facts = type ? facts_of(links, type) : (struct type_facts){0};
        if (facts.kind == KIND_EVENT)
            *ret_blocks = object;
        else if (facts.kind == KIND_FIELD ||
                 (facts.kind == KIND_TASK && !is_over(links, object, &facts)))
            push_field(links, object, facts.offset);
        else if (facts.kind == KIND_LIST)
            push_list(links, object, &facts);
    }
    return true;
}

bool sn_task_links_is_completed(struct sn_task_links *links, uint64_t object)
{
    uint64_t type = sn_type_system_object_table(links->types, object);
    struct type_facts facts = type ? facts_of(links, type) : (struct type_facts){0};
    return facts.kind == KIND_TASK && facts.offset && is_over(links, object, &facts);
}
