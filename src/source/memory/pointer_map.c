#include "source/memory/pointer_map.h"

#include <stddef.h>

#include "source/memory/code_layout.h"

#define SLOTS_MAX   8u
#define PROBES_MAX  256u
#define BUCKETS_MAX (1u << 26)

struct bucket {
    uint64_t keys[SLOTS_MAX];
    uint64_t values[SLOTS_MAX];
};

static bool read_bucket(struct sn_code_reader *reader, uint64_t address, struct bucket *bucket)
{
    const struct sn_code_layout *layout = reader->layout;
    size_t size = (size_t)layout->hash_slots * sizeof(uint64_t);
    return sn_code_read(reader, address + layout->bucket_keys, bucket->keys, size) &&
           sn_code_read(reader, address + layout->bucket_values, bucket->values, size);
}

/* The first bucket is none: it begins with how many follow. Values lost their lowest bit to make
 * room for a mark in the highest, which in a bucket's first value says that keys went on to
 * another. */
uint64_t sn_pointer_map_find(struct sn_code_reader *reader, uint64_t map, uint64_t key)
{
    const struct sn_code_layout *layout = reader->layout;
    uint64_t buckets;
    uint32_t count;
    if (!layout->hash_slots || layout->hash_slots > SLOTS_MAX ||
        !sn_code_read_u64(reader, map + layout->hash_buckets, &buckets) ||
        !sn_code_read_u32(reader, buckets, &count) || count < 2 || count > BUCKETS_MAX)
        return 0;
    buckets += layout->bucket_size;
    uint32_t at = (uint32_t)(key >> 2);
    uint32_t step = 1 + ((uint32_t)(key >> 5) + 1) % (count - 1);
    for (unsigned probe = 0; probe < PROBES_MAX && probe < count; probe++) {
        struct bucket bucket;
        if (!read_bucket(reader, buckets + (uint64_t)(at % count) * layout->bucket_size, &bucket))
            return 0;
        for (unsigned i = 0; i < layout->hash_slots; i++) {
            if (bucket.keys[i] == key)
                return (bucket.values[i] & layout->hash_value_mask) << 1;
        }
        if (!(bucket.values[0] & ~layout->hash_value_mask))
            return 0;
        at += step;
    }
    return 0;
}
