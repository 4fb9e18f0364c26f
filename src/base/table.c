#include "base/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SMALLEST_CAPACITY 64u
#define LARGE_CAPACITY    1024u

/* Another in every process, so that nobody can choose keys that all fall into one place. Without
 * randomness it stays what it is, which only a hostile file would notice. */
static uint64_t multiplier = 0xD6E8FEB86659FD93u;

__attribute__((constructor)) static void choose_multiplier(void)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random))
        multiplier = random | 1;
}

static size_t slot_of(const struct sn_table *table, uint64_t key)
{
    /* Fibonacci hashing: the top bits of a product depend on every bit of the key. */
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32) * multiplier;
    return (size_t)(hash >> (__builtin_clzll(table->capacity) + 1));
}

static struct sn_table_slot *probe(const struct sn_table *table, uint64_t key)
{
    size_t at = slot_of(table, key);
    while (table->slots[at].used && table->slots[at].key != key)
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

void sn_table_done(struct sn_table *table)
{
    free(table->slots);
    *table = sn_table_with_limit(table->limit);
}

void sn_table_clear(struct sn_table *table)
{
    if (table->capacity > LARGE_CAPACITY && table->count < table->capacity / 8)
        sn_table_done(table); /* to empty it again and again would cost more than to fill it */
    else if (table->count)
        memset(table->slots, 0, table->capacity * sizeof(*table->slots));
    table->count = 0;
}

uint64_t *sn_table_find(const struct sn_table *table, uint64_t key)
{
    if (!table->count)
        return NULL;
    struct sn_table_slot *slot = probe(table, key);
    return slot->used ? &slot->value : NULL;
}

static bool enlarge(struct sn_table *table)
{
    struct sn_table larger = {.limit = table->limit, .count = table->count};
    larger.capacity = table->capacity ? table->capacity * 2 : SMALLEST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i].used)
            *probe(&larger, table->slots[i].key) = table->slots[i];
    }
    free(table->slots);
    *table = larger;
    return true;
}

uint64_t *sn_table_put(struct sn_table *table, uint64_t key)
{
    uint64_t *known = sn_table_find(table, key);
    if (known)
        return known;
    if (table->count >= table->limit)
        return NULL;
    if (table->count * 4 >= table->capacity * 3 && !enlarge(table))
        return NULL;
    struct sn_table_slot *slot = probe(table, key);
    *slot = (struct sn_table_slot){.key = key, .used = true};
    table->count++;
    return &slot->value;
}

/* What follows in the same run of slots moves up where its own place allows, so that no probe meets
 * a hole before its key. */
void sn_table_remove(struct sn_table *table, uint64_t key)
{
    if (!sn_table_find(table, key))
        return;
    size_t mask = table->capacity - 1;
    size_t hole = (size_t)(probe(table, key) - table->slots);
    for (size_t at = (hole + 1) & mask; table->slots[at].used; at = (at + 1) & mask) {
        size_t own = slot_of(table, table->slots[at].key);
        if (((at - own) & mask) < ((at - hole) & mask))
            continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = (struct sn_table_slot){0};
    table->count--;
}

uint64_t sn_table_key(const void *of, size_t size)
{
    const uint8_t *bytes = of;
    uint64_t hash = size * 0x9E3779B97F4A7C15u;
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * 0x9FB21C651E98DF25u;
        hash ^= hash >> 29;
    }
    for (; size; size--)
        hash = (hash ^ *bytes++) * 0x100000001B3u;
    return hash;
}
