/* The file source: a saved trace on a road, read a piece at each turn of the loop. It lies in a
 * .nettrace file, a zip archive or a recorder's journal. */
#ifndef SN_NETTRACE_FILE_H
#define SN_NETTRACE_FILE_H

#include "flow/decode.h"
#include "source/file/input.h"

struct sn_source;
struct sonde_error;

/* Opens `path`; reads with pread, so a file that shrinks meanwhile is merely cut. */
int sn_nettrace_file_new(const char *path, sn_damage_fn *damaged, void *user,
                         struct sn_source **ret_source, struct sonde_error *err);

const struct sn_decoder *sn_nettrace_file_decoder(const struct sn_source *source);

/* How it ended, when not well. */
const struct sonde_error *sn_nettrace_file_error(const struct sn_source *source);

enum sn_input_kind sn_nettrace_file_kind(const struct sn_source *source);

#endif
