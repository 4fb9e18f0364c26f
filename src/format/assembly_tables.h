/* Rows and columns of an assembly's tables (ECMA-335 II.22), below format/assembly.h. */
#ifndef SN_ASSEMBLY_TABLES_H
#define SN_ASSEMBLY_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/assembly.h"

/* Tables that are read; a token is such a number and a row. */
enum sn_assembly_table_id {
    SN_TABLE_MODULE = 0x00,
    SN_TABLE_TYPE_REF = 0x01,
    SN_TABLE_TYPE_DEF = 0x02,
    SN_TABLE_FIELD_PTR = 0x03,
    SN_TABLE_FIELD = 0x04,
    SN_TABLE_METHOD_PTR = 0x05,
    SN_TABLE_METHOD = 0x06,
    SN_TABLE_TYPE_SPEC = 0x1B,
    SN_TABLE_NESTED = 0x29,
    SN_TABLE_GENERIC_PARAM = 0x2A,
};

/* Their columns. */
enum sn_assembly_column {
    SN_TYPE_REF_SCOPE = 0,
    SN_TYPE_REF_NAME = 1,
    SN_TYPE_REF_NAMESPACE = 2,
    SN_TYPE_DEF_FLAGS = 0,
    SN_TYPE_DEF_NAME = 1,
    SN_TYPE_DEF_NAMESPACE = 2,
    SN_TYPE_DEF_EXTENDS = 3,
    SN_TYPE_DEF_FIELDS = 4,
    SN_TYPE_DEF_METHODS = 5,
    SN_FIELD_FLAGS = 0,
    SN_FIELD_NAME = 1,
    SN_FIELD_SIGNATURE = 2,
    SN_METHOD_FLAGS = 2,
    SN_METHOD_NAME = 3,
    SN_METHOD_SIGNATURE = 4,
    SN_TYPE_SPEC_SIGNATURE = 0,
    SN_NESTED_INNER = 0,
    SN_NESTED_OUTER = 1,
    SN_GENERIC_PARAM_NAME = 3,
};

/* Rows count from 1; 0 when there is no such row, as in an empty cell. */
uint32_t sn_assembly_cell(const struct sn_assembly *assembly, unsigned table, uint32_t row,
                          unsigned column);

/* The row of a token of that table; 0: it is of another, or there is no such row. */
uint32_t sn_assembly_row(const struct sn_assembly *assembly, unsigned table, uint32_t token);

static inline uint32_t sn_assembly_token(unsigned table, uint32_t row)
{
    return (uint32_t)table << 24 | row;
}

/* Of a TypeDefOrRef number, as signatures and the tables have them; 0: it is none. */
uint32_t sn_assembly_type_token(uint32_t coded);

#endif
