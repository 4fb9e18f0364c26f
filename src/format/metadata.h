/* The container of .NET metadata (ECMA-335 II.24): streams, heaps, and how many rows each table
 * has. Portable PDBs are made of it. Borrows its bytes and copies nothing. */
#ifndef SN_METADATA_H
#define SN_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct sonde_error;

#define SN_METADATA_TABLES  64u
#define SN_METADATA_ROW_MAX 0xFFFFFFu /* a row id has 24 bits */

#define SN_METADATA_NAME_MAX 4096u /* the runtime takes no longer ones than 1,023 characters */

struct sn_metadata_stream {
    const uint8_t *bytes;
    size_t size;
};

/* Bytes that come when they are first asked for: false when they do not. */
struct sn_metadata_lazy {
    bool (*load)(void *user, const uint8_t *at, size_t size);
    void *user;
};

struct sn_metadata {
    struct sn_metadata_stream blob;    /* "#Blob" */
    struct sn_metadata_stream guid;    /* "#GUID" */
    struct sn_metadata_stream pdb;     /* "#Pdb"; nothing in an assembly */
    struct sn_metadata_stream strings; /* "#Strings"; of no use without its last zero */
    struct sn_metadata_stream rows;    /* the tables of "#~" or "#-", one behind the other */
    uint64_t sorted;                   /* a bit for each table whose rows are in order */
    uint32_t row_counts[SN_METADATA_TABLES];
    uint8_t string_width; /* bytes of an index into that heap: 2 or 4 */
    uint8_t guid_width;
    uint8_t blob_width;
    const struct sn_metadata_lazy *lazy; /* borrows; NULL: all bytes are there */
};

/* Whether `size` bytes at `at`, which are of the metadata, may be read. */
static inline bool sn_metadata_load(const struct sn_metadata *metadata, const uint8_t *at,
                                    size_t size)
{
    return !metadata->lazy || metadata->lazy->load(metadata->lazy->user, at, size);
}

/* SONDE_E_FORMAT or SONDE_E_TRUNCATED with the offset. */
int sn_metadata_open(const uint8_t *bytes, size_t size, struct sn_metadata *ret_metadata,
                     struct sonde_error *err);

/* Row counts as "#~" and "#Pdb" have them: a mask, then a number for each bit. False when they do
 * not fit. */
bool sn_metadata_row_counts(struct sn_cursor *cur, uint64_t mask,
                            uint32_t counts[SN_METADATA_TABLES]);

/* The blob at `index`; a bad cursor when there is none. */
struct sn_cursor sn_metadata_blob(const struct sn_metadata *metadata, uint32_t index);

/* A name, which ends with a zero; NULL when there is none, or none that ends within
 * SN_METADATA_NAME_MAX bytes. */
const char *sn_metadata_string(const struct sn_metadata *metadata, uint32_t index);

/* The module's version id (MVID), which every build has another of. False: there is none. */
bool sn_metadata_version_id(const struct sn_metadata *metadata, uint8_t ret_guid[16]);

/* Numbers in one, two or four bytes; 0 and bad when it is none. */
uint32_t sn_metadata_unsigned(struct sn_cursor *cur);
int32_t sn_metadata_signed(struct sn_cursor *cur);

#endif
