/* Where a managed .dll says which PDB belongs to it, the debug directory of its PE headers; and
 * where its metadata are. No I/O of its own, and only the few bytes that are needed are asked for.
 */
#ifndef SN_PE_H
#define SN_PE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_buf;
struct sonde_error;

/* Exactly `size` bytes of the file at `offset`: false when they are not there. */
typedef bool sn_pe_read_fn(void *user, uint64_t offset, void *to, size_t size);

struct sn_pe_debug {
    bool has_pdb_id;
    uint8_t pdb_guid[16];
    uint64_t embedded_offset; /* of the PDB within the file, packed as sn_pe_unpack wants it */
    uint32_t embedded_size;   /* 0: there is none */
};

/* SONDE_E_FORMAT for what is no PE file, SONDE_E_TRUNCATED for one that is cut. */
int sn_pe_read_debug(sn_pe_read_fn *read, void *user, struct sn_pe_debug *ret_debug,
                     struct sonde_error *err);

/* Where format/metadata.h finds what it reads. The same statuses. */
int sn_pe_find_metadata(sn_pe_read_fn *read, void *user, uint64_t *ret_offset, uint32_t *ret_size,
                        struct sonde_error *err);

/* Appends the PDB that was packed into a .dll to `to`, whose limit bounds it. */
int sn_pe_unpack(const uint8_t *bytes, size_t size, struct sn_buf *to, struct sonde_error *err);

#endif
