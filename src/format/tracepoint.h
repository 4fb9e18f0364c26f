/* What a kernel tracepoint's records look like: tracefs's `format` text as a schema, so that the
 * raw record is an event's payload as it is, and as places of single fields. Hostile input gives a
 * status. One thread. */
#ifndef SN_TRACEPOINT_H
#define SN_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/schema.h"

struct sonde_error;

#define SN_TRACEPOINT_FIELD_MAX 128u   /* the widest of Linux 6.18 has 33 */
#define SN_TRACEPOINT_TEXT_MAX  65536u /* most of it is the print format, which nobody reads */

/* Where a number lies in a record. */
struct sn_tracepoint_place {
    uint32_t offset; /* of other fields as well */
    uint8_t size;    /* 1, 2, 4 or 8; 0: there is no such field, or it is no number */
    bool is_signed;
};

struct sn_tracepoint {
    struct sn_schema schema; /* provider: the subsystem; event_id: the kernel's number for it */
    uint32_t record_size;    /* what its fields need, without texts that lie behind them */
    struct sn_tracepoint_place *places; /* one a field of the schema */
    struct sn_arena arena;              /* everything above */
};

/* `subsystem` is copied. SONDE_E_FORMAT with the line's offset when the text is none. */
int sn_tracepoint_parse(const char *subsystem, const char *text, size_t size,
                        struct sn_tracepoint **ret_tracepoint, struct sonde_error *err);
void sn_tracepoint_free(struct sn_tracepoint *tracepoint);

static inline void sn_tracepoint_free_auto(struct sn_tracepoint **slot)
{
    sn_tracepoint_free(*slot);
}

/* The place of a number by its field's name; size 0 when there is none. */
struct sn_tracepoint_place sn_tracepoint_find(const struct sn_tracepoint *tracepoint,
                                              const char *name);

/* The number there, sign-extended when it has one; false when the record is too short. */
bool sn_tracepoint_read(const struct sn_tracepoint_place *place, const uint8_t *record, size_t size,
                        int64_t *ret_value);

/* How much of a record's bytes is the tracepoint's: its fields and the texts behind them. The rest
 * is what fills it up to a multiple of eight. */
size_t sn_tracepoint_size(const struct sn_tracepoint *tracepoint, const uint8_t *record,
                          size_t size);

#endif
