/* The executable mappings of one process: sorted, none over another. One thread. */
#ifndef SN_MAPPINGS_H
#define SN_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process with more is a hostile one: what comes beyond is not kept. */
#define SN_MAPPINGS_LIMIT 16384u

struct sn_mapping {
    uint64_t start;
    uint64_t end;    /* past it */
    uint64_t offset; /* in the file */
    uint32_t file;   /* number of source/perf/mapped_files.h */
    uint32_t id;     /* by which it was told on the road; 0: not yet */
};

struct sn_mappings {
    struct sn_mapping *items; /* owns */
    uint32_t count;
    uint32_t capacity;
};

void sn_mappings_done(struct sn_mappings *mappings); /* empties it too */

/* A new one takes the place of whatever it covers, wholly or in part; one that is there already
 * stays as it is. False: no room or no memory. */
bool sn_mappings_add(struct sn_mappings *mappings, const struct sn_mapping *added);

/* What a forked process starts with: `from`'s, none told yet. */
bool sn_mappings_copy(struct sn_mappings *to, const struct sn_mappings *from);

/* The one that holds `address`, or NULL. Borrowed until the next change. */
struct sn_mapping *sn_mappings_find(const struct sn_mappings *mappings, uint64_t address);

#endif
