/* The metadata tables of an assembly (ECMA-335 II.22) as far as names need them: types, methods,
 * fields, and signatures in the words of the runtime's events. Borrows its bytes, which are
 * hostile; nothing is built up. What cannot be told appends nothing. */
#ifndef SN_ASSEMBLY_H
#define SN_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/metadata.h"

struct sn_buf;
struct sonde_error;

struct sn_assembly_table {
    const uint8_t *rows;
    uint32_t row_count;
    uint32_t row_size;
};

struct sn_assembly {
    struct sn_metadata metadata;
    struct sn_assembly_table tables[SN_METADATA_TABLES]; /* up to and with GenericParamConstraint */
    uint8_t widths[16]; /* of indexes that choose between tables, as assembly_tables.c has them */
};

int sn_assembly_open(const uint8_t *bytes, size_t size, struct sn_assembly *ret_assembly,
                     struct sonde_error *err);

/* --- types --- */

#define SN_ASSEMBLY_NESTED_MAX 64u /* types within types */

/* Appends "Shop.Orders+<PlaceAsync>d__3" of a TypeDef or TypeRef token, with its escapes: what
 * means something in such a name has a backslash before it when it is part of one. False: there is
 * none. */
bool sn_assembly_type_name(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *to);

/* The TypeDef with that full name ("System.Threading.Tasks.Task"; nested by '+'; no escapes); 0:
 * none. */
uint32_t sn_assembly_find_type(const struct sn_assembly *assembly, const char *full_name);

struct sn_assembly_type {
    uint32_t token;
    uint32_t flags;         /* 0x07: 2 and more are nested; 0x20 interface; 0x18: 0x08 sequential,
                               0x10 explicit */
    uint32_t extends;       /* token of a TypeDef, TypeRef or TypeSpec; 0: none */
    uint32_t outer;         /* TypeDef that it is nested in, or 0 */
    const char *name;       /* its own, as metadata have it */
    const char *name_space; /* "" when it has none */
};
bool sn_assembly_type(const struct sn_assembly *assembly, uint32_t token,
                      struct sn_assembly_type *ret_type);

/* --- methods --- */

/* Appends its name; *ret_type is its TypeDef token. */
bool sn_assembly_method(const struct sn_assembly *assembly, uint32_t token, struct sn_buf *to_name,
                        uint32_t *ret_type);

/* The methods of a TypeDef: tokens from *ret_first, *ret_count of them. */
bool sn_assembly_methods(const struct sn_assembly *assembly, uint32_t type, uint32_t *ret_first,
                         uint32_t *ret_count);

/* Appends its signature as the runtime's MethodLoadVerbose events spell it, which has two blanks
 * where a name would be: "instance void  (int32,class System.String)". */
bool sn_assembly_method_signature(const struct sn_assembly *assembly, uint32_t token,
                                  struct sn_buf *to);
/* The same of a bare signature blob (dynamic methods). */
bool sn_assembly_signature(const struct sn_assembly *assembly, const uint8_t *blob, size_t size,
                           struct sn_buf *to);

/* --- fields --- */

struct sn_assembly_field {
    uint32_t token;
    uint16_t flags;   /* 0x10 static, 0x40 literal */
    uint8_t element;  /* first element type of its signature, behind modifiers such as volatile */
    const char *name; /* in the strings heap, ends with a zero */
};
/* The fields of a TypeDef: tokens from *ret_first, *ret_count of them. */
bool sn_assembly_fields(const struct sn_assembly *assembly, uint32_t type, uint32_t *ret_first,
                        uint32_t *ret_count);
bool sn_assembly_field(const struct sn_assembly *assembly, uint32_t token,
                       struct sn_assembly_field *ret_field);

#endif
