/* What the runtime's native events carry: they arrive without names or fields, so a table says. */
#ifndef SN_CLR_RUNTIME_EVENTS_H
#define SN_CLR_RUNTIME_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_field;
struct sn_schema;

enum sn_clr_provider {
    SN_CLR_RUNTIME,
    SN_CLR_RUNDOWN,
    SN_CLR_PRIVATE,
    SN_CLR_STRESS,
    SN_CLR_SAMPLER,
    SN_CLR_EVENTPIPE,
    SN_CLR_PROVIDER_COUNT,
};

struct sn_clr_event {
    uint8_t provider; /* enum sn_clr_provider */
    uint8_t version;
    uint8_t level;
    uint8_t opcode;
    uint16_t id;
    uint16_t field_count;
    uint64_t keywords;
    const char *name;              /* the runtime's own, e.g. "GCStart", the same in all versions */
    const struct sn_field *fields; /* packed, in order */
};

/* The provider that goes by this name, or -1 when it is not one of the runtime's. */
int sn_clr_provider_find(const char *name, size_t size);

const char *sn_clr_provider_name(enum sn_clr_provider provider);

/* The event in this version, else in the highest one below it, since new versions append fields.
 * NULL when there is neither. */
const struct sn_clr_event *sn_clr_event_find(enum sn_clr_provider provider, uint32_t id,
                                             uint32_t version);

/* The bit of a keyword of Microsoft-Windows-DotNETRuntime such as "gc" or "exception", whatever the
 * case of its letters. Returns 0, or -1 when there is none by that name. */
int sn_clr_keyword_find(const char *name, size_t size, uint64_t *ret_bit);

/* Fills in name, fields, opcode and has_layout of a schema that arrived with provider, id and
 * version only. False when the table has no row for it. */
bool sn_clr_describe(struct sn_schema *schema);

#endif
