/* The right side of a comparison in a filter: what was written, read once as all it may mean, and
 * compared with values of payloads without allocation. */
#ifndef SN_FILTER_VALUE_H
#define SN_FILTER_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_value;

enum sn_filter_op {
    SN_FILTER_THERE, /* no right side: it is there and neither 0, false nor "" */
    SN_FILTER_EQUAL,
    SN_FILTER_UNEQUAL,
    SN_FILTER_LESS,
    SN_FILTER_AT_MOST,
    SN_FILTER_MORE,
    SN_FILTER_AT_LEAST,
    SN_FILTER_LIKE,
    SN_FILTER_UNLIKE,
};

struct sn_filter_value {
    bool has_number; /* these not when it was quoted: then it is text only */
    bool has_bool;
    bool has_guid;
    bool has_time;
    long double number; /* holds any 64-bit integer and any double as it is */
    uint8_t guid[16];
    int64_t ticks;    /* 100 ns since 1601, UTC */
    const char *text; /* UTF-8, ended by a zero; borrowed, as the next */
    size_t size;
    const uint8_t *text16; /* the same as UTF-16LE */
    size_t size16;         /* bytes */
};

/* Reads `text` of `size` bytes, followed by a zero, as all that it may mean. */
void sn_filter_value_read(struct sn_filter_value *value, const char *text, size_t size,
                          bool is_quoted);

/* Whether `got op value`; `got` is no SN_VALUE_CLOSE. */
bool sn_filter_value_holds(const struct sn_filter_value *value, enum sn_filter_op op,
                           const struct sn_value *got);

#endif
