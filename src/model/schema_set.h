/* Kinds of events that outlive whoever declared them: deep copies, one for each provider, id,
 * version and layout, however many streams declare it. One thread. */
#ifndef SN_SCHEMA_SET_H
#define SN_SCHEMA_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_schema;
struct sn_schema_set;
struct sonde_error;

int sn_schema_set_new(struct sn_schema_set **ret_set, struct sonde_error *err);
void sn_schema_set_free(struct sn_schema_set *set);

/* What one stream has added: it gets a sixteenth of the room, so that it leaves some to others.
 * Zero it. */
struct sn_schema_share {
    uint32_t count;
    size_t size;
};

/* The set's own copy of `schema`; *ret_is_new says whether it was made just now. NULL: no memory,
 * or more kinds than anybody needs. */
struct sn_schema *sn_schema_set_add(struct sn_schema_set *set, struct sn_schema_share *share,
                                    const struct sn_schema *schema, bool *ret_is_new);

size_t sn_schema_set_count(const struct sn_schema_set *set);

#endif
