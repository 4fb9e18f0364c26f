/* Lists made from a profile: methods, modules, namespaces, callers and callees, largest first. */
#ifndef SN_RANKING_H
#define SN_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_frame;
struct sn_profile;

struct sn_ranked {
    const char *name;             /* borrowed from the profile */
    const struct sn_frame *frame; /* NULL for modules and namespaces */
    uint64_t self;
    uint64_t total;
};

struct sn_ranking {
    struct sn_ranked *items; /* owns */
    size_t count;
    uint64_t whole; /* what shares are of: the column's sum */
};

void sn_ranking_done(struct sn_ranking *ranking);

static inline void sn_ranking_done_auto(struct sn_ranking *ranking)
{
    sn_ranking_done(ranking);
}

/* All of these leave an empty ranking without memory. Entries worth nothing are left out. */

/* Methods, by what they spent themselves. */
void sn_ranking_methods(struct sn_ranking *ranking, const struct sn_profile *profile, int column);

/* The same of waits, each of them told of the code that waits (sn_sites_frame): in the function
 * that it waits in, of the kernel, all are alike. */
void sn_ranking_waits(struct sn_ranking *ranking, const struct sn_profile *profile, int column);

/* Methods, by what they and everything they called spent. */
void sn_ranking_inclusive(struct sn_ranking *ranking, const struct sn_profile *profile, int column);

/* The program's own method below which most of it is: the deepest that still holds nearly all of
 * what its callers do. False: there is none. */
bool sn_ranking_own(struct sn_ranked *ret_method, const struct sn_profile *profile, int column);

/* By module, by namespace, what spent most itself first. A stack that passes through one twice
 * counts once. */
void sn_ranking_modules(struct sn_ranking *ranking, const struct sn_profile *profile, int column);
void sn_ranking_namespaces(struct sn_ranking *ranking, const struct sn_profile *profile,
                           int column);

/* Around all methods whose name, readable or full, matches a pattern (sn_pattern_matches). */
struct sn_neighbours {
    struct sn_ranking matched; /* the methods themselves */
    struct sn_ranking callers; /* total: what of the matched comes through this caller */
    struct sn_ranking callees; /* total: what the matched spent in this callee and below */
    uint64_t self;             /* of the matched */
    uint64_t total;            /* of the matched, recursion counted once */
};

void sn_neighbours_done(struct sn_neighbours *neighbours);

static inline void sn_neighbours_done_auto(struct sn_neighbours *neighbours)
{
    sn_neighbours_done(neighbours);
}

void sn_neighbours_find(struct sn_neighbours *neighbours, const struct sn_profile *profile,
                        int column, const char *pattern);

#endif
