/* What an event looks like: who sends it, what it is called, which fields it carries.
 *
 * A schema is owned by the source that declared it and lives as long as that source. */
#ifndef SN_SCHEMA_H
#define SN_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a field's bytes are laid out. The numbers up to 26 are those of NetTrace metadata. */
enum sn_type {
    SN_TYPE_OBJECT = 1, /* its fields in sequence */
    SN_TYPE_BOOL32 = 3, /* 4 bytes */
    SN_TYPE_CHAR16 = 4, /* one UTF-16 code unit */
    SN_TYPE_I8 = 5,
    SN_TYPE_U8 = 6,
    SN_TYPE_I16 = 7,
    SN_TYPE_U16 = 8,
    SN_TYPE_I32 = 9,
    SN_TYPE_U32 = 10,
    SN_TYPE_I64 = 11,
    SN_TYPE_U64 = 12,
    SN_TYPE_F32 = 13,
    SN_TYPE_F64 = 14,
    SN_TYPE_DECIMAL = 15,     /* 16 bytes */
    SN_TYPE_FILETIME = 16,    /* u64: 100 ns since 1601 */
    SN_TYPE_GUID = 17,        /* 16 bytes */
    SN_TYPE_STRING16 = 18,    /* UTF-16, ended by a 16-bit zero */
    SN_TYPE_ARRAY = 19,       /* u16 count, then that many of the one child */
    SN_TYPE_VARINT = 20,      /* zigzag LEB128 */
    SN_TYPE_VARUINT = 21,     /* LEB128 */
    SN_TYPE_FIXED_ARRAY = 22, /* `count` of the one child */
    SN_TYPE_UTF8_UNIT = 23,   /* one byte of UTF-8 */
    SN_TYPE_REL_LOC = 24, /* u16 offset from the end of this field, u16 bytes: an array elsewhere */
    SN_TYPE_DATA_LOC = 25, /* u16 offset from the payload's start, u16 bytes */
    SN_TYPE_BOOL8 = 26,    /* 1 byte */

    SN_TYPE_POINTER = 64, /* as wide as the target's pointers */
    SN_TYPE_STRING8 = 65, /* bytes ended by a zero */
    SN_TYPE_COUNTED = 66, /* as many of the one child as the sibling `count` said */
};

struct sn_field {
    const char *name; /* UTF-8, "" for elements of arrays */
    uint8_t type;     /* enum sn_type */
    uint16_t count;   /* SN_TYPE_FIXED_ARRAY: how many; SN_TYPE_COUNTED: index of the sibling that
                         counts */
    uint16_t child_count;
    const struct sn_field *children; /* the fields of an object, or the element of an array */
};

/* Fields nest no deeper than this; a deeper declaration is refused when it is read. */
#define SN_FIELD_DEPTH_MAX 8u

struct sn_schema {
    const char *provider; /* UTF-8 */
    const char *name;     /* UTF-8; "" when nobody knows it */
    uint32_t event_id;
    uint32_t version;
    uint8_t level;
    uint8_t opcode;
    bool has_layout;        /* false: the payload is opaque bytes, not "no fields" */
    bool layout_from_table; /* name and fields are ours: the stream declared neither */
    bool is_doubtful;       /* types among its fields that the runtime may write in another width
                               than it declared: see payload.c */
    uint16_t field_count;
    uint8_t lane; /* which of a process's sessions declared it, where that matters; else 0 */
    uint64_t keywords;
    const struct sn_field *fields;

    uint64_t wanted; /* one bit a subscription; kept by flow/dispatch, nobody else writes it */
    uint32_t index;  /* dense, from 0, unique within its source; for per-schema tables of sinks */
};

/* An event that describes itself has one nameless object around its fields: that is no news. */
static inline bool sn_schema_is_wrapped(const struct sn_schema *schema)
{
    return schema->field_count == 1 && schema->fields[0].type == SN_TYPE_OBJECT &&
           schema->fields[0].name[0] == '\0';
}

#endif
