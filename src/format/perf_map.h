/* Perf maps, /tmp/perf-PID.map: the text in which runtimes tell their generated code, a line each:
 * start, size and name, numbers in hexadecimal, the start with or without 0x. No I/O of its own.
 *
 * Lines have no time, but their order has: where two overlap, the later one holds. A line that is
 * still being written is not there yet. One thread. */
#ifndef SN_PERF_MAP_H
#define SN_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_perf_map;
struct sonde_error;

struct sn_perf_map_entry {
    uint64_t start;
    uint64_t size;
    const char *name; /* borrowed until the next text */
};

int sn_perf_map_new(struct sn_perf_map **ret_map, struct sonde_error *err);
void sn_perf_map_free(struct sn_perf_map *map);

/* Takes the next bytes of the text, cut anywhere; lines that are none are passed over.
 * SONDE_E_LIMIT for more than any program has. */
int sn_perf_map_take(struct sn_perf_map *map, const char *text, size_t size,
                     struct sonde_error *err);

/* The last line that holds `address`. */
bool sn_perf_map_find(struct sn_perf_map *map, uint64_t address,
                      struct sn_perf_map_entry *ret_entry);

size_t sn_perf_map_count(const struct sn_perf_map *map);

#endif
