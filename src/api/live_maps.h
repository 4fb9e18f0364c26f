/* Native code of processes that live, by address: what they have mapped now, read from /proc when
 * it is asked for and kept for a while. One thread. */
#ifndef SN_LIVE_MAPS_H
#define SN_LIVE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_live_maps;
struct sn_objects;
struct sn_place;
struct sonde_error;

/* Borrows `objects`. */
int sn_live_maps_new(struct sn_objects *objects, struct sn_live_maps **ret_maps,
                     struct sonde_error *err);
void sn_live_maps_free(struct sn_live_maps *maps);

/* Addresses whose names will be asked for: to find many at once costs hardly more than one, as a
 * file's symbols are walked through. Names stay known. */
void sn_live_maps_begin(struct sn_live_maps *maps);
void sn_live_maps_want(struct sn_live_maps *maps, uint32_t pid, uint64_t address);
void sn_live_maps_settle(struct sn_live_maps *maps);

/* An sn_code_native_fn (symbol/code.h); `user` is the struct sn_live_maps. */
bool sn_live_maps_find(void *user, uint32_t pid, uint64_t address, struct sn_place *ret_place);

#endif
