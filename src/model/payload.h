/* Walks an event's payload by its schema: typed values, borrowed, no allocation. */
#ifndef SN_PAYLOAD_H
#define SN_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "model/schema.h"

struct sn_event;

enum sn_value_kind {
    SN_VALUE_NONE,
    SN_VALUE_BOOL,   /* number */
    SN_VALUE_UINT,   /* number */
    SN_VALUE_INT,    /* number, as int64_t */
    SN_VALUE_FLOAT,  /* real */
    SN_VALUE_TEXT16, /* bytes: UTF-16LE without its terminator, size in bytes */
    SN_VALUE_TEXT8,  /* bytes: UTF-8 or Latin-1 as the target wrote it */
    SN_VALUE_GUID,   /* bytes: 16 */
    SN_VALUE_TIME,   /* number: 100 ns since 1601, UTC */
    SN_VALUE_BYTES,  /* bytes: a decimal, or an array of bytes */
    SN_VALUE_OPEN,   /* an object or array begins; number: elements of an array */
    SN_VALUE_CLOSE,  /* it ends */
};

struct sn_value {
    const struct sn_field *field; /* what it is a value of */
    uint8_t kind;                 /* enum sn_value_kind */
    uint8_t depth;                /* 0: a field of the event itself */
    uint32_t size;
    const uint8_t *bytes;
    union {
        uint64_t number;
        double real;
    };
};

/* Only the first fields of an object can count a later sibling; the runtime's own events need 15.
 */
#define SN_COUNT_FIELD_MAX 24u

struct sn_payload_level {
    const struct sn_field *fields;
    const struct sn_field *owner; /* NULL at the top */
    uint64_t count;               /* fields of an object, or elements of an array */
    uint64_t next;                /* the one to come */
    bool is_array;
    uint64_t counts[SN_COUNT_FIELD_MAX]; /* numbers read at this level, for SN_TYPE_COUNTED */
};

/* How this event is written otherwise than declared. */
struct sn_payload_widths {
    bool is_self_described; /* booleans in one byte, decimals as doubles */
    uint32_t wide;          /* one bit for each of the event's first fields that is a small integer
                               and takes four bytes: enumerations */
};

struct sn_payload {
    struct sn_cursor cur;
    uint8_t pointer_size;
    struct sn_payload_widths widths;
    uint8_t depth;
    size_t located_end;  /* how far arrays that lie elsewhere reach, from the payload's start */
    uint64_t steps_left; /* what may still be opened or closed: bounds arrays of nothing */
    struct sn_payload_level levels[SN_FIELD_DEPTH_MAX * 2];
};

/* Starts at the event's first field. */
void sn_payload_start(struct sn_payload *payload, const struct sn_event *event);

/* The next value in *ret_value: SONDE_OK; SONDE_END when all fields were read; SONDE_E_TRUNCATED or
 * SONDE_E_FORMAT when the payload does not hold what its schema says. */
int sn_payload_next(struct sn_payload *payload, struct sn_value *ret_value);

/* Bytes behind the last field and what it or others told to lie there (newer runtimes append
 * fields); only after SONDE_END. */
size_t sn_payload_left(const struct sn_payload *payload);

/* The field `name` of the event's top level. False when it has none or it cannot be read. */
bool sn_payload_find(const struct sn_event *event, const char *name, struct sn_value *ret_value);

#endif
