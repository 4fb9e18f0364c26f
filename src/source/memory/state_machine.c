/* Reads the boxes of async methods. A box is proved by its builder, which is part of the state
 * machine in it and points back to the box; one that was given back to a pool has no such pointer.
 */
#include "source/memory/state_machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "format/assembly.h"
#include "source/memory/object_index.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/type_system.h"

#define TYPES_MAX         65536u
#define KEPT_MAX          (32u << 20)
#define ARGUMENTS_MAX     64u
#define FIELDS_LOOKED_AT  4096u
#define METHODS_LOOKED_AT 64u
#define OBJECT_OVERHEAD   16u /* of a base size: header and pointer to the type */

/* Of one type of boxes. */
struct box_facts {
    bool is_known;
    bool is_reference;     /* the state machine is an object of its own, as in debug builds */
    uint32_t machine;      /* offset in the object */
    uint32_t continuation; /* the same, or 0: boxes of pools have none */
    const struct sn_state_machine *kind; /* NULL when it is a reference */
};

struct sn_state_machines {
    struct sn_memory *memory;     /* borrows */
    struct sn_type_system *types; /* borrows */
    struct sn_arena arena;
    struct sn_table boxes; /* MethodTable to struct box_facts */
    struct sn_table kinds; /* MethodTable to struct sn_state_machine */
};

int sn_state_machines_new(struct sn_runtime_memory *runtime, struct sn_type_system *types,
                          struct sn_state_machines **ret_machines, struct sonde_error *err)
{
    struct sn_state_machines *machines = calloc(1, sizeof(*machines));
    if (!machines)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for async methods");
    machines->memory = runtime->memory;
    machines->types = types;
    machines->arena = sn_arena_with_limit(KEPT_MAX);
    machines->boxes = sn_table_with_limit(TYPES_MAX);
    machines->kinds = sn_table_with_limit(TYPES_MAX);
    *ret_machines = machines;
    return SONDE_OK;
}

void sn_state_machines_free(struct sn_state_machines *machines)
{
    if (!machines)
        return;
    sn_table_done(&machines->boxes);
    sn_table_done(&machines->kinds);
    sn_arena_done(&machines->arena);
    free(machines);
}

/* --- kinds of state machines --- */

static uint32_t find_move_next(const struct sn_memory_type *type)
{
    uint32_t first;
    uint32_t count;
    if (!type->module || !type->module->metadata ||
        !sn_assembly_methods(type->module->metadata, type->token, &first, &count))
        return 0;
    for (uint32_t i = 0; i < count && i < METHODS_LOOKED_AT; i++) {
        struct sn_buf name = sn_buf_with_limit(1024);
        uint32_t of;
        bool is_it = sn_assembly_method(type->module->metadata, first + i, &name, &of) &&
                     strcmp(sn_buf_string(&name), "MoveNext") == 0;
        sn_buf_done(&name);
        if (is_it)
            return first + i;
    }
    return 0;
}

/* C# calls them <>u__1, <>u__2, ...; Visual Basic $A0, $A1, ... */
static bool is_awaiter(const char *name)
{
    return strncmp(name, "<>u__", 5) == 0 || strncmp(name, "$A", 2) == 0;
}

static void find_awaiters(struct sn_state_machines *machines, const struct sn_memory_type *type,
                          struct sn_state_machine *kind)
{
    uint32_t first;
    uint32_t count;
    if (!type->module || !type->module->metadata ||
        !sn_assembly_fields(type->module->metadata, type->token, &first, &count))
        return;
    uint32_t tried = 0;
    for (uint32_t i = 0; i < count && i < FIELDS_LOOKED_AT && tried < SN_AWAITERS_MAX; i++) {
        struct sn_assembly_field row;
        struct sn_memory_field field;
        if (!sn_assembly_field(type->module->metadata, first + i, &row) || !is_awaiter(row.name))
            continue;
        tried++;
        if (sn_type_system_field(machines->types, type->address, row.name, &field) &&
            field.owner == type->address && !field.is_static && field.offset + 8 <= kind->size)
            kind->awaiters[kind->awaiter_count++] = field.offset;
    }
}

/* NULL: it is no type, or there is no room. */
static const struct sn_state_machine *kind_of(struct sn_state_machines *machines, uint64_t address)
{
    uint64_t *place = sn_table_put(&machines->kinds, address);
    struct sn_memory_field field;
    if (!place)
        return NULL;
    if (*place)
        return (const struct sn_state_machine *)(uintptr_t)*place;
    const struct sn_memory_type *type = sn_type_system_type(machines->types, address);
    struct sn_state_machine *kind = type && type->base_size > OBJECT_OVERHEAD
                                        ? sn_arena_alloc(&machines->arena, sizeof(*kind))
                                        : NULL;
    if (!kind)
        return NULL;
    *place = (uint64_t)(uintptr_t)kind;
    kind->type = address;
    kind->type_name = type->name;
    kind->module = type->module;
    kind->size = type->base_size - OBJECT_OVERHEAD;
    kind->token = find_move_next(type);
    kind->has_state = (sn_type_system_field(machines->types, address, "<>1__state", &field) ||
                       sn_type_system_field(machines->types, address, "$State", &field)) &&
                      !field.is_static && field.offset + 4 <= kind->size;
    kind->state = kind->has_state ? field.offset : 0;
    find_awaiters(machines, type, kind);
    return kind;
}

/* --- types of boxes --- */

/* The last generic argument of a type, or 0. */
static uint64_t last_argument(struct sn_state_machines *machines, uint64_t type)
{
    uint64_t arguments[ARGUMENTS_MAX];
    size_t count = sn_type_system_arguments(machines->types, type, arguments, ARGUMENTS_MAX);
    uint64_t argument = count ? arguments[count - 1] : 0;
    return argument & 3 ? 0 : argument; /* others than MethodTables are no state machines */
}

static void read_facts(struct sn_state_machines *machines, uint64_t type, struct box_facts *facts)
{
    struct sn_memory_field field;
    uint64_t argument = last_argument(machines, type);
    const struct sn_memory_type *machine =
        argument ? sn_type_system_type(machines->types, argument) : NULL;
    if (!machine || !sn_type_system_field(machines->types, type, "StateMachine", &field) ||
        field.is_static || field.offset > SN_OBJECT_SIZE_MAX)
        return;
    facts->machine = field.offset + 8;
    facts->is_reference = !machine->is_value_type;
    facts->kind = facts->is_reference ? NULL : kind_of(machines, argument);
    facts->is_known = facts->is_reference || facts->kind;
    if (sn_type_system_field(machines->types, type, "m_continuationObject", &field) &&
        !field.is_static && field.offset <= SN_OBJECT_SIZE_MAX)
        facts->continuation = field.offset + 8;
}

static const struct box_facts *facts_of(struct sn_state_machines *machines, uint64_t type)
{
    uint64_t *place = sn_table_put(&machines->boxes, type);
    if (!place)
        return NULL;
    if (!*place) {
        struct box_facts *facts = sn_arena_alloc(&machines->arena, sizeof(*facts));
        if (!facts)
            return NULL;
        *place = (uint64_t)(uintptr_t)facts;
        read_facts(machines, type, facts);
    }
    return (const struct box_facts *)(uintptr_t)*place;
}

/* --- boxes --- */

/* The fields of a state machine, wherever they lie. */
struct fields {
    const uint8_t *bytes;
    uint32_t size;
    const struct sn_state_machine *kind;
    uint64_t object;                  /* where it is one of its own, or 0 */
    uint8_t copy[SN_OBJECT_SIZE_MAX]; /* of one that is an object of its own */
};

static uint64_t pointer_in(const uint8_t *bytes, uint32_t size, uint32_t offset)
{
    uint64_t word = 0;
    if (offset + sizeof(word) <= size)
        memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static bool read_object(struct sn_state_machines *machines, uint64_t object, struct fields *fields)
{
    uint64_t type = object ? sn_type_system_object_table(machines->types, object) : 0;
    fields->kind = type ? kind_of(machines, type) : NULL;
    if (!fields->kind)
        return false;
    fields->size =
        fields->kind->size < sizeof(fields->copy) ? fields->kind->size : sizeof(fields->copy);
    fields->bytes = fields->copy;
    fields->object = object;
    return sn_memory_read(machines->memory, object + 8, fields->copy, fields->size);
}

static bool read_fields(struct sn_state_machines *machines, const struct sn_found_object *box,
                        const struct box_facts *facts, struct fields *fields)
{
    if (facts->machine >= box->size)
        return false;
    if (facts->is_reference)
        return read_object(machines, pointer_in(box->bytes, box->size, facts->machine), fields);
    fields->kind = facts->kind;
    fields->object = 0;
    fields->bytes = box->bytes + facts->machine;
    fields->size = box->size - facts->machine;
    if (fields->size > fields->kind->size)
        fields->size = fields->kind->size;
    return true;
}

static bool points_to(const struct fields *fields, uint64_t address)
{
    for (uint32_t i = 0; i + 8 <= fields->size; i += 8) {
        if (pointer_in(fields->bytes, fields->size, i) == address)
            return true;
    }
    return false;
}

/* What it waits for: an awaiter that is not in use is empty, and one that is begins with a
 * reference where it has any. */
static uint64_t find_awaited(struct sn_state_machines *machines, const struct fields *fields)
{
    for (uint32_t i = 0; i < fields->kind->awaiter_count; i++) {
        uint64_t object = pointer_in(fields->bytes, fields->size, fields->kind->awaiters[i]);
        if (object && !(object & 7) && sn_type_system_object_table(machines->types, object))
            return object;
    }
    return 0;
}

bool sn_state_machines_read(struct sn_state_machines *machines, const struct sn_found_object *box,
                            struct sn_async_box *ret_box)
{
    const struct box_facts *facts = facts_of(machines, box->type);
    struct fields fields;
    if (!facts || !facts->is_known || !read_fields(machines, box, facts, &fields) ||
        !points_to(&fields, box->address))
        return false;
    *ret_box = (struct sn_async_box){
        .machine = fields.kind, .state = SN_STATE_UNKNOWN, .object = fields.object};
    if (fields.kind->has_state && fields.kind->state + 4 <= fields.size)
        memcpy(&ret_box->state, fields.bytes + fields.kind->state, sizeof(ret_box->state));
    if (facts->continuation)
        ret_box->continuation = pointer_in(box->bytes, box->size, facts->continuation);
    if (ret_box->state >= 0)
        ret_box->awaited = find_awaited(machines, &fields);
    return true;
}
