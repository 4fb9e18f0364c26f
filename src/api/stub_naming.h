/* Names of the runtime's stubs that a recording hit, from a perf map. Part of api/record_names. */
#ifndef SN_STUB_NAMING_H
#define SN_STUB_NAMING_H

#include <stdint.h>

struct sn_hits;
struct sn_symbol_writer;
struct sonde_error;

/* Names what no method explains in memory without a file, of the process with that pid. A map that
 * cannot be read names nothing. */
int sn_stub_naming(struct sn_hits *hits, uint32_t pid, int map_fd, struct sn_symbol_writer *writer,
                   struct sonde_error *err);

#endif
