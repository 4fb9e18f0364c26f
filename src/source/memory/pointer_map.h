/* The runtime's hash table from one pointer to another. Private to the code map's files. */
#ifndef SN_POINTER_MAP_H
#define SN_POINTER_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_reader;

/* The value of `key` in the HashMap at `map`; 0: it has none, or the table cannot be read. */
uint64_t sn_pointer_map_find(struct sn_code_reader *reader, uint64_t map, uint64_t key);

#endif
