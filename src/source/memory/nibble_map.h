/* Where in a heap of compiled code the method starts that holds an address: a nibble for every 32
 * bytes. Private to the code map's files. */
#ifndef SN_NIBBLE_MAP_H
#define SN_NIBBLE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_reader;

/* The nearest start at or before `address`. False: none. By the layout's version: of 1 the map is
 * searched backwards, of 2 it has pointers where a method is long. What lies between two methods
 * belongs to the first here. */
bool sn_nibble_map_find(struct sn_code_reader *reader, uint64_t map, uint64_t base,
                        uint64_t address, uint64_t *ret_start);

#endif
