/* Keeps where fields lie, by type: also that there is none. */
#include "source/memory/object_fields.h"

#include "source/memory/object_index.h"
#include "source/memory/type_system.h"

#define KNOWN_MAX  65536u
#define FIELD_BASE 8u /* fields are counted from behind the pointer to the type */
#define FIELD_BITS 8u
#define TYPE_END   47u /* bits of an address */

static const char *const names[SN_OBJECT_FIELDS] = {
    [SN_FIELD_LOCK_OWNER] = "_owningThreadId",
    [SN_FIELD_LOCK_STATE] = "_state",
    [SN_FIELD_LOCK_DEPTH] = "_recursionCount",
    [SN_FIELD_PROMISE_TASK] = "_task",
    [SN_FIELD_QUEUE_HEAD] = "_head",
    [SN_FIELD_SEGMENT_NEXT] = "_nextSegment",
    [SN_FIELD_SEGMENT_SLOTS] = "_slots",
    [SN_FIELD_SEGMENT_ENDS] = "_headAndTail",
    [SN_FIELD_SEGMENT_FROZEN] = "_frozenForEnqueues",
    [SN_FIELD_LOCAL_ARRAY] = "m_array",
    [SN_FIELD_LOCAL_HEAD] = "m_headIndex",
    [SN_FIELD_LOCAL_TAIL] = "m_tailIndex",
    [SN_FIELD_POOL_ITEMS] = "workItems",
    [SN_FIELD_POOL_HIGH_ITEMS] = "highPriorityWorkItems",
    [SN_FIELD_POOL_LOW_ITEMS] = "lowPriorityWorkItems",
    [SN_FIELD_POOL_QUEUES] = "_assignableWorkItemQueues",
    [SN_FIELD_POOL_COUNTS] = "_separated",
    [SN_FIELD_POOL_LEAST] = "_minThreads",
    [SN_FIELD_POOL_MOST] = "_maxThreads",
};

_Static_assert(SN_OBJECT_FIELDS <= 1u << FIELD_BITS, "a field and a type are one key");

struct sn_object_fields sn_object_fields_of(struct sn_type_system *types)
{
    return (struct sn_object_fields){.types = types, .known = sn_table_with_limit(KNOWN_MAX)};
}

void sn_object_fields_done(struct sn_object_fields *fields)
{
    sn_table_done(&fields->known);
}

static uint32_t look_up(struct sn_object_fields *fields, uint64_t type, const char *name)
{
    struct sn_memory_field field;
    if (!sn_type_system_field(fields->types, type, name, &field) || field.is_static ||
        field.offset > SN_OBJECT_SIZE_MAX)
        return 0;
    return field.offset + FIELD_BASE;
}

/* More types than have room are not looked up at all: each would cost its metadata every time. */
uint32_t sn_object_fields_at(struct sn_object_fields *fields, uint64_t type,
                             enum sn_object_field field)
{
    if (!type || type >> TYPE_END)
        return 0;
    uint64_t *place = sn_table_put(&fields->known, type << FIELD_BITS | field);
    if (!place)
        return 0;
    if (!*place)
        *place = look_up(fields, type, names[field]) + 1ull;
    return (uint32_t)(*place - 1);
}
