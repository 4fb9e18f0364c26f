/* The keys as the running controller has them: read again as soon as the file has changed, so that
 * a revoked key is refused from the next request on. */
#ifndef SN_KEY_RING_H
#define SN_KEY_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/key_file.h"

struct sn_key_ring;

int sn_key_ring_new(const char *folder, struct sn_key_ring **ret_ring, struct sonde_error *err);
void sn_key_ring_free(struct sn_key_ring *ring);

/* The key of this token; NULL, and *ret_why says why. Takes the same time whichever it is. Dies
 * with the next call. */
const struct sn_key *sn_key_ring_find(struct sn_key_ring *ring, const char *token, size_t size,
                                      const char **ret_why);

/* All of them, good or not; borrowed until the next call. *ret_problem: why none counts; "". */
size_t sn_key_ring_list(struct sn_key_ring *ring, const struct sn_key **ret_keys,
                        const char **ret_problem);

/* The key of this id if it is there and good; else NULL. Dies with the next call. */
const struct sn_key *sn_key_ring_get(struct sn_key_ring *ring, const char *id);

#endif
