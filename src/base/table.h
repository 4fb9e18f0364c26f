/* A hash table from 64-bit keys to 64-bit values, with a ceiling. Open addressing. One thread. */
#ifndef SN_TABLE_H
#define SN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_table_slot {
    uint64_t key;
    uint64_t value;
    bool used;
};

struct sn_table {
    struct sn_table_slot *slots; /* owns; a power of two of them */
    size_t capacity;
    size_t count;
    size_t limit; /* the most entries it may ever hold */
};

static inline struct sn_table sn_table_with_limit(size_t limit)
{
    return (struct sn_table){.limit = limit};
}

void sn_table_done(struct sn_table *table);
void sn_table_clear(struct sn_table *table); /* keeps the memory, unless much more than needed */

/* Where the value of `key` is, or NULL. Dies with the next put. */
uint64_t *sn_table_find(const struct sn_table *table, uint64_t key);

/* The value's place, zero when new; NULL over the limit or out of memory. Dies with the next put.
 */
uint64_t *sn_table_put(struct sn_table *table, uint64_t key);

/* A key for bytes; different ones may have the same. */
uint64_t sn_table_key(const void *of, size_t size);

/* Takes `key` out; no-op when it is not there. Places of other values die with it. */
void sn_table_remove(struct sn_table *table, uint64_t key);

#endif
