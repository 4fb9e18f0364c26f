/* Names of the native and kernel functions that a recording hit and no method explains: each file's
 * symbols are walked once. Part of api/record_names. */
#ifndef SN_NATIVE_NAMING_H
#define SN_NATIVE_NAMING_H

#include <stdbool.h>
#include <stdint.h>

struct sn_hits;
struct sn_native_naming;
struct sn_objects;
struct sn_symbol_writer;
struct sonde_error;

/* Borrows all. `is_foreign` as in sn_naming_options. */
int sn_native_naming_new(struct sn_hits *hits, struct sn_objects *objects, bool is_foreign,
                         struct sn_symbol_writer *writer, struct sn_native_naming **ret_naming,
                         struct sonde_error *err);
/* Source lines as well, where the files have debug information. Before the first turn. */
void sn_native_naming_want_lines(struct sn_native_naming *naming);
void sn_native_naming_free(struct sn_native_naming *naming);

/* One file. SONDE_AGAIN: there are more. */
int sn_native_naming_turn(struct sn_native_naming *naming, struct sonde_error *err);

/* The kernel. Addresses that it hides stay without names. */
int sn_native_naming_kernel(struct sn_native_naming *naming, struct sonde_error *err);
uint64_t sn_native_naming_kernel_named(const struct sn_native_naming *naming);

#endif
