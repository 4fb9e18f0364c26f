/* Which counters and metrics are wanted, as people write it: "Provider[name,name]", of an
 * EventSource, a meter, or whichever has them. */
#ifndef SN_COUNTER_SPECS_H
#define SN_COUNTER_SPECS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct sn_buf;
struct sonde_error;

struct sn_counter_spec {
    const char *provider;
    bool wants_counters; /* of an EventSource */
    bool wants_meters;   /* of both: the EventSource only when there is no such meter */
    size_t name_count;   /* 0: all that it has */
    const char **names;
};

struct sn_counter_specs {
    struct sn_arena arena; /* what `specs` point to */
    struct sn_counter_spec *specs;
    size_t count;
};

/* Each text is one specification or several with commas between; none at all: those of the runtime
 * and of ASP.NET Core. SONDE_E_ARGUMENT says what cannot be read. */
int sn_counter_specs_read(struct sn_counter_specs *specs, const char *const *texts, size_t count,
                          struct sonde_error *err);
void sn_counter_specs_done(struct sn_counter_specs *specs);

/* Whether a counter of an EventSource, or an instrument of a meter, is wanted; whatever the case.
 */
bool sn_counter_specs_want_counter(const struct sn_counter_specs *specs, const char *provider,
                                   const char *name);
bool sn_counter_specs_want_meter(const struct sn_counter_specs *specs, const char *meter,
                                 const char *name);

/* Whether the EventSource of this name is wanted only as long as there is no meter of its name. */
bool sn_counter_specs_prefer_meter(const struct sn_counter_specs *specs, const char *provider);

/* Appends what the runtime is asked for meters by: "Meter,Meter\instrument". Nothing: no meters. */
void sn_counter_specs_metrics(const struct sn_counter_specs *specs, struct sn_buf *to);

#endif
