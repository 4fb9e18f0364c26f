/* What has begun and not yet ended, by a key, with a ceiling. One thread.
 *
 * A begin that is followed by another of the same key is forgotten: its end was lost. */
#ifndef SN_OPEN_SET_H
#define SN_OPEN_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_open {
    uint64_t key;
    uint64_t since_ns;
    uint64_t number; /* free for the owner, as are the next three */
    uint32_t kind;
    uint32_t count;
    uint32_t status;
    bool is_used;
    uint32_t next_free; /* index + 1 */
};

struct sn_open_set {
    struct sn_table index; /* key -> index + 1 */
    struct sn_open *items; /* owns */
    size_t count;          /* slots, used or free */
    size_t capacity;
    uint32_t first_free; /* index + 1 */
};

static inline struct sn_open_set sn_open_set_with_limit(size_t limit)
{
    return (struct sn_open_set){.index = sn_table_with_limit(limit)};
}

void sn_open_set_done(struct sn_open_set *set);

/* Zeroed but for key and time; NULL when it could not be kept. Dies with the next begin. */
struct sn_open *sn_open_set_begin(struct sn_open_set *set, uint64_t key, uint64_t time_ns);

struct sn_open *sn_open_set_find(const struct sn_open_set *set, uint64_t key);

/* Takes it out; false when it never began. */
bool sn_open_set_end(struct sn_open_set *set, uint64_t key, struct sn_open *ret_open);

/* From `since` to `now`; 0 where time went backwards. */
static inline uint64_t sn_elapsed(uint64_t since_ns, uint64_t now_ns)
{
    return now_ns > since_ns ? now_ns - since_ns : 0;
}

#endif
