/* The sparse arrays of precompiled images (the "native format"): numbers of one to five bytes, and
 * blocks of 16 entries as small trees. Private to the code map's files. */
#ifndef SN_NATIVE_ARRAY_H
#define SN_NATIVE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

struct sn_code_reader;

/* Offsets in it are relative to the image. */
struct sn_native_array {
    uint64_t image; /* where it is loaded */
    uint32_t end;   /* of the section that holds it */
    uint32_t base;  /* of the array's index */
    uint32_t count;
    uint32_t index_size; /* of an offset in the index: 1, 2, 4 bytes */
};

/* The number at `at`, and what lies behind it. False: it does not end before `end`. */
bool sn_native_number(struct sn_code_reader *reader, uint64_t image, uint32_t end, uint32_t *at,
                      uint32_t *ret_value);

bool sn_native_array_open(struct sn_code_reader *reader, uint64_t image, uint32_t start,
                          uint32_t size, struct sn_native_array *ret_array);

/* Where the value of `index` lies. False: it has none. */
bool sn_native_array_find(struct sn_code_reader *reader, const struct sn_native_array *array,
                          uint32_t index, uint32_t *ret_at);

#endif
