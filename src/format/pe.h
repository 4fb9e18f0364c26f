/* Where a managed .dll says which PDB belongs to it, the debug directory of its PE headers; and
 * where its metadata are: in its file, or in the memory of a process that loaded it. No I/O of its
 * own, and only the few bytes that are needed are asked for. */
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

/* How the bytes of an image lie: as in its file, or each section where its addresses want it, as a
 * loader leaves them. */
enum sn_pe_layout {
    SN_PE_FLAT,
    SN_PE_MAPPED,
    SN_PE_EITHER, /* as the first bytes of its metadata tell; SONDE_E_FORMAT when neither way */
};

struct sn_pe_image {
    uint8_t layout; /* enum sn_pe_layout; never SN_PE_EITHER */
    uint64_t metadata_offset;
    uint32_t metadata_size;
    struct sn_pe_debug debug; /* all offsets are from where the image begins, in its layout */
};

/* Both of them of an image: `offset` 0 of `read` is where it begins. That its metadata begin as
 * such is checked. A debug directory that cannot be read is none. The same statuses. */
int sn_pe_read_image(sn_pe_read_fn *read, void *user, enum sn_pe_layout layout,
                     struct sn_pe_image *ret_image, struct sonde_error *err);

/* Appends the PDB that was packed into a .dll to `to`, whose limit bounds it. */
int sn_pe_unpack(const uint8_t *bytes, size_t size, struct sn_buf *to, struct sonde_error *err);

#endif
