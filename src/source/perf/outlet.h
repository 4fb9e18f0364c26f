/* Where the kernel source's events leave it: format/universal.h's events, made and put on the road.
 * One thread. */
#ifndef SN_OUTLET_H
#define SN_OUTLET_H

#include <stdint.h>

#include "base/buf.h"
#include "format/universal.h"

struct sn_road;
struct sn_source;
struct sonde_error;

struct sn_outlet {
    struct sn_road *road;     /* borrows */
    struct sn_source *source; /* borrows */
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    struct sn_buf payload;
};

/* Whom an event is about, and when. */
struct sn_outlet_at {
    uint64_t time_ns;
    uint32_t pid;
    uint32_t tid;
    uint32_t cpu; /* UINT32_MAX: none in particular */
};

int sn_outlet_open(struct sn_outlet *outlet, struct sn_road *road, struct sn_source *source,
                   struct sonde_error *err);
void sn_outlet_done(struct sn_outlet *outlet);

void sn_outlet_put(struct sn_outlet *outlet, enum sn_universal kind, const struct sn_outlet_at *at,
                   const struct sn_universal_fields *fields);

/* With a stack, leaf first. */
void sn_outlet_put_stack(struct sn_outlet *outlet, enum sn_universal kind,
                         const struct sn_outlet_at *at, const struct sn_universal_fields *fields,
                         const uint64_t *stack, uint32_t depth);

void sn_outlet_lost(struct sn_outlet *outlet, const struct sn_outlet_at *at, uint64_t count);

#endif
