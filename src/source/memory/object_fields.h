/* Where the fields of objects lie that locks, tasks and the thread pool are read by: looked up in
 * metadata once for each type, as there may be a million objects of it. One thread. */
#ifndef SN_OBJECT_FIELDS_H
#define SN_OBJECT_FIELDS_H

#include <stdint.h>

#include "base/table.h"

struct sn_type_system;

enum sn_object_field {
    SN_FIELD_LOCK_OWNER,
    SN_FIELD_LOCK_STATE,
    SN_FIELD_LOCK_DEPTH,
    SN_FIELD_PROMISE_TASK,
    SN_FIELD_QUEUE_HEAD, /* of a ConcurrentQueue, and of its segments */
    SN_FIELD_SEGMENT_NEXT,
    SN_FIELD_SEGMENT_SLOTS,
    SN_FIELD_SEGMENT_ENDS,
    SN_FIELD_SEGMENT_FROZEN,
    SN_FIELD_LOCAL_ARRAY, /* of a worker's queue */
    SN_FIELD_LOCAL_HEAD,
    SN_FIELD_LOCAL_TAIL,
    SN_FIELD_POOL_ITEMS, /* of the pool's own queue */
    SN_FIELD_POOL_HIGH_ITEMS,
    SN_FIELD_POOL_LOW_ITEMS,
    SN_FIELD_POOL_QUEUES,
    SN_FIELD_POOL_COUNTS, /* of the pool */
    SN_FIELD_POOL_LEAST,
    SN_FIELD_POOL_MOST,
    SN_OBJECT_FIELDS,
};

/* Borrows the type system. */
struct sn_object_fields {
    struct sn_type_system *types;
    struct sn_table known; /* type and field to the answer, plus one */
};

struct sn_object_fields sn_object_fields_of(struct sn_type_system *types);
void sn_object_fields_done(struct sn_object_fields *fields);

/* Offset from the start of an object of that type, the pointer to its type included; 0: there is no
 * such field, or it is static. */
uint32_t sn_object_fields_at(struct sn_object_fields *fields, uint64_t type,
                             enum sn_object_field field);

#endif
