/* The names of a recording: one pass over the journal finds the distinct addresses in its stacks, a
 * second one the methods that hold some of them; native and kernel functions come from their files.
 * All that were hit are appended as symbols, so that the archive needs nothing else.
 *
 * Memory goes with the addresses, not with the length of the recording. One thread. */
#ifndef SN_RECORD_NAMES_H
#define SN_RECORD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct sn_journal;
struct sn_naming;
struct sn_objects;
struct sn_perf_maps;
struct sonde_error;

struct sn_naming_options {
    struct sn_journal *journal; /* borrows: what is named is appended to it */
    struct sn_objects *objects; /* borrows */
    bool is_foreign; /* another recorder's: its files are opened anew where they are still the same;
                        else `objects` knows them by their numbers */
    const struct sn_perf_maps *perf_maps; /* borrows; NULL: none */
    bool with_lines;                      /* of native code, from debug information */
    uint64_t time_ns;                     /* of what is appended; not before the recording's end */
};

int sn_naming_new(const struct sn_naming_options *options, struct sn_naming **ret_naming,
                  struct sonde_error *err);
void sn_naming_free(struct sn_naming *naming);

/* Does a piece. SONDE_AGAIN: there is more to do; SONDE_OK: all that can be named is. */
int sn_naming_turn(struct sn_naming *naming, struct sonde_error *err);

/* Distinct addresses, of all processes. */
uint64_t sn_naming_named(const struct sn_naming *naming);
uint64_t sn_naming_unnamed(const struct sn_naming *naming);

#endif
