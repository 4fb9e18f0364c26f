/* Where things happened: a profile's rows by the code that the reader wrote, and by the type below
 * it. */
#ifndef SN_SITES_H
#define SN_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

struct sn_site {
    uint32_t type;                /* frame of what was thrown or allocated; SN_NO_INDEX: none */
    const struct sn_frame *frame; /* as sn_sites_frame has it */
    uint64_t values[SN_COLUMN_MAX];
};

struct sn_sites {
    struct sn_site *items; /* owns */
    size_t count;
    struct sn_site_choice *choices; /* owns; of each node */
};

/* By type, and of each the most of `column` first. Empty without memory, and for a profile that is
 * NULL. */
void sn_sites_find(struct sn_sites *sites, const struct sn_profile *profile, int column);

/* All types as one. */
void sn_sites_find_all(struct sn_sites *sites, const struct sn_profile *profile, int column);

void sn_sites_done(struct sn_sites *sites);

static inline void sn_sites_done_auto(struct sn_sites *sites)
{
    sn_sites_done(sites);
}

/* The sites of a type, largest first; *ret_count of them. SN_NO_INDEX: those without a type. */
const struct sn_site *sn_sites_of_type(const struct sn_sites *sites, uint32_t type,
                                       size_t *ret_count);

/* Where a stack belongs: the nearest own code, else the nearest that is not merely how the
 * framework throws or waits; NULL: no stack. */
const struct sn_frame *sn_sites_frame(const struct sn_sites *sites,
                                      const struct sn_profile *profile, uint32_t node);

/* "Shop.Orders.Place", or "(no stack)". */
const char *sn_site_name(const struct sn_site *site);

#endif
