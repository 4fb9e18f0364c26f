/* Which mapping an address of a process lay in at a time. Mappings are told as they come and never
 * taken back: a later one hides what it covers. One thread. */
#ifndef SN_REGIONS_H
#define SN_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_region {
    uint64_t start;
    uint64_t end; /* past it */
    uint64_t from_ns;
    uint64_t id;          /* of the mapping: what symbols refer to */
    uint64_t offset;      /* in the file */
    uint64_t metadata_id; /* 0: none */
    const char *path;     /* borrows */
};

struct sn_regions {
    struct sn_region *items; /* owns; sorted by start and time once `is_sorted` */
    size_t count;
    size_t capacity;
    bool is_sorted;
};

void sn_regions_done(struct sn_regions *regions);

/* False without memory. */
bool sn_regions_add(struct sn_regions *regions, const struct sn_region *region);

/* NULL: in none. `ret_is_settled`: the answer is the same at any time. */
const struct sn_region *sn_regions_find(struct sn_regions *regions, uint64_t address,
                                        uint64_t time_ns, bool *ret_is_settled);

#endif
