/* Portable PDBs: which source line each IL offset of a method came from. Reads in place, borrows
 * its bytes; nothing is built up, so opening one costs nothing. */
#ifndef SN_PDB_H
#define SN_PDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/metadata.h"

struct sn_buf;
struct sonde_error;

struct sn_pdb_table {
    const uint8_t *rows;
    uint32_t row_count;
    uint32_t row_size;
};

struct sn_pdb {
    struct sn_metadata metadata;
    uint8_t guid[16]; /* what the assembly names it by */
    struct sn_pdb_table documents;
    struct sn_pdb_table methods;
    struct sn_pdb_table machines;
    struct sn_pdb_table customs; /* what compilers say besides */
    uint8_t document_width;      /* bytes of an index into that table: 2 or 4 */
    uint8_t method_width;
    uint8_t parent_width; /* of what a custom row is of */
};

/* From `il_offset` on, until the next one. */
struct sn_pdb_point {
    uint32_t il_offset;
    uint32_t line; /* 0: hidden, code that nobody wrote */
    uint32_t column;
    uint32_t document; /* row */
};

/* A walk over the points of a method, by rising IL offset. */
struct sn_pdb_points {
    struct sn_cursor cur;
    struct sn_pdb_point last;
    uint32_t line; /* of the last point that has one */
    uint32_t column;
    uint32_t count; /* of those that were given */
    bool has_begun;
};

int sn_pdb_open(const uint8_t *bytes, size_t size, struct sn_pdb *ret_pdb, struct sonde_error *err);

/* Starts at the first point of a method's row (the low 24 bits of its token). A method without any
 * is at its end at once. */
struct sn_pdb_points sn_pdb_points_of(const struct sn_pdb *pdb, uint32_t method);

/* SONDE_OK, SONDE_END, or SONDE_E_FORMAT. */
int sn_pdb_points_next(struct sn_pdb_points *points, struct sn_pdb_point *ret_point);

/* Where `il_offset` of a method was written. Hidden code counts to what stands before it, or the
 * method's first line. False when the method has no lines. */
bool sn_pdb_find(const struct sn_pdb *pdb, uint32_t method, uint32_t il_offset,
                 struct sn_pdb_point *ret_point);

/* The MoveNext that an async or iterator method starts, which holds all its lines; 0 for others. */
uint32_t sn_pdb_machine_of(const struct sn_pdb *pdb, uint32_t method);

/* Where in the IL of an async method's MoveNext it goes to wait at its await `number`, counted from
 * 0 as the source has them. False: not told. */
bool sn_pdb_await(const struct sn_pdb *pdb, uint32_t method, uint32_t number,
                  uint32_t *ret_il_offset);

/* Appends a document's name; false when it has none. */
bool sn_pdb_document(const struct sn_pdb *pdb, uint32_t document, struct sn_buf *to);

#endif
