/* How a memory is kept, for the files that open one. */
#ifndef SN_MEMORY_INTERNAL_H
#define SN_MEMORY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/memory.h"
#include "symbol/name_pool.h"

#define SN_MEMORY_MAPS_MAX 262144u

struct sn_memory_page;

struct sn_memory {
    struct sn_memory_source source; /* owns its user */
    uint32_t pid;                   /* 0: not a live process */
    struct sn_memory_page *pages;   /* owns */
    uint64_t round;                 /* pages of an earlier one are forgotten */
    uint64_t deadline_ns;           /* 0: none */
    uint64_t looks;                 /* reads so far: the clock is looked at now and then */
    bool is_late;
    struct sn_memory_map *maps; /* owns; sorted */
    size_t map_count;
    size_t map_capacity;
    struct sn_name_pool paths; /* of maps */
};

/* Appends a copy; by rising address. False: no room. */
bool sn_memory_add_map(struct sn_memory *memory, const struct sn_memory_map *map);

#endif
