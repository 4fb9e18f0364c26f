/* Names of types as events have them, each kept once and numbered from 1. One thread.
 *
 * Number 0 is for what goes over a ceiling or has no name, so that sums stay right. */
#ifndef SN_TYPE_NAMES_H
#define SN_TYPE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"

struct sn_cursor;

/* UTF-16LE, unaligned, without its zero. */
struct sn_text16 {
    const uint8_t *units;
    uint32_t size; /* in bytes */
};

/* Text up to its zero; empty, and the cursor bad, when there is none. */
struct sn_text16 sn_text16_read(struct sn_cursor *cur);

struct sn_type_name {
    const char *type; /* UTF-8, as the event has it */
    const char *name; /* for people */
    struct sn_text16 key;
};

struct sn_type_names {
    struct sn_arena *arena;     /* borrows; the strings live there */
    struct sn_type_name *names; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table by_hash; /* -> number; probed upwards when two names have one hash */
    struct sn_buf text;
};

void sn_type_names_init(struct sn_type_names *names, struct sn_arena *arena);
void sn_type_names_done(struct sn_type_names *names);

/* The number of a name. A new one is the highest yet, by one. */
uint32_t sn_type_names_number(struct sn_type_names *names, struct sn_text16 text);

/* By number; of 0 as well. Dies with the next new one, its strings do not. */
struct sn_type_name sn_type_names_get(const struct sn_type_names *names, uint32_t number);

#endif
