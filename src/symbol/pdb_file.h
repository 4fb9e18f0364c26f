/* Finds and reads the PDB of a module: where the compiler put it, beside the .dll, or inside it.
 *
 * What a trace says of files is not to be believed: only regular files whose names end as they
 * should are opened, they are read and never mapped, and what is not the PDB with the id that the
 * runtime told is not used. */
#ifndef SN_PDB_FILE_H
#define SN_PDB_FILE_H

#include "base/buf.h"
#include "format/pdb.h"

struct sn_module;

struct sn_pdb_file {
    struct sn_buf bytes; /* owns; all of the PDB */
    struct sn_pdb pdb;   /* of those bytes */
};

#define SN_PDB_FILE_LIMIT (256u << 20) /* the largest that are known take some 30 MB */

/* False when there is none that fits; the file holds nothing then. `budget` is how many bytes may
 * be read, and is taken from whether they help or not. */
bool sn_pdb_file_open(const struct sn_module *module, size_t *budget, struct sn_pdb_file *ret_file);
/* The same of files as that process sees them: below its root, which nothing leads out of. */
bool sn_pdb_file_open_in(uint32_t pid, const struct sn_module *module, size_t *budget,
                         struct sn_pdb_file *ret_file);
/* Of the packed bytes of one that was found within an image. */
bool sn_pdb_file_open_packed(const struct sn_buf *packed, const uint8_t guid[16], size_t *budget,
                             struct sn_pdb_file *ret_file);
void sn_pdb_file_close(struct sn_pdb_file *file);

#endif
