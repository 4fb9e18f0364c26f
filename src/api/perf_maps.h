/* The perf maps that runtimes write while they are recorded: when that was asked for, switched on,
 * switched off, read for the names of stubs, removed unless they were there before; and those of
 * runtimes that cannot be asked but write one anyway. One thread: the loop's. */
#ifndef SN_PERF_MAPS_H
#define SN_PERF_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct sn_ipc_route;
struct sn_ipc_target;
struct sn_loop;
struct sn_perf_maps;
struct sonde_error;

int sn_perf_maps_new(struct sn_loop *loop, struct sn_perf_maps **ret_maps, struct sonde_error *err);
/* Switches off what is still on, and cleans up. */
void sn_perf_maps_free(struct sn_perf_maps *maps);

/* Asks a runtime to write one; it goes without when it will not. */
void sn_perf_maps_begin(struct sn_perf_maps *maps, const struct sn_ipc_route *route);

/* One that cannot be asked may write its map by itself (DOTNET_PerfMapEnabled=1): it is read, and
 * stays. */
void sn_perf_maps_find(struct sn_perf_maps *maps, const struct sn_ipc_target *target);

/* Switches all off; takes two seconds at most, however many do not answer. */
void sn_perf_maps_end(struct sn_perf_maps *maps);

size_t sn_perf_maps_count(const struct sn_perf_maps *maps);

/* A descriptor of one of them, and whose it is; -1: it cannot be read. The caller closes it. */
int sn_perf_maps_open(const struct sn_perf_maps *maps, size_t index, uint32_t *ret_pid);

#endif
