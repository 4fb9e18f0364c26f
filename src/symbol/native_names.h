/* Names and source lines of native and kernel code, by mapping and address, as a recording's symbol
 * and line events tell them. One thread. */
#ifndef SN_NATIVE_NAMES_H
#define SN_NATIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sn_native_name {
    uint64_t mapping_id;
    uint64_t start;
    uint64_t last;    /* its last byte */
    const char *name; /* borrows */
};

struct sn_native_line {
    uint64_t mapping_id;
    uint64_t address;
    uint32_t line;
    const char *file; /* borrows */
};

struct sn_native_names {
    struct sn_native_name *names; /* owns; sorted by mapping and start once `is_sorted` */
    size_t count;
    size_t capacity;
    bool is_sorted;
    struct sn_native_line *lines; /* owns */
    size_t line_count;
    size_t line_capacity;
    struct sn_table line_index; /* hash of mapping and address -> index + 1 */
};

void sn_native_names_init(struct sn_native_names *names);
void sn_native_names_done(struct sn_native_names *names);

/* What is over the ceiling is dropped. */
void sn_native_names_add(struct sn_native_names *names, const struct sn_native_name *name);
void sn_native_names_add_line(struct sn_native_names *names, const struct sn_native_line *line);

/* NULL: nothing is known of it. Borrowed until the next addition. */
const struct sn_native_name *sn_native_names_find(struct sn_native_names *names,
                                                  uint64_t mapping_id, uint64_t address);
const struct sn_native_line *sn_native_names_line(const struct sn_native_names *names,
                                                  uint64_t mapping_id, uint64_t address);

#endif
