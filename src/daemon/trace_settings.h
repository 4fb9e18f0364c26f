/* Settings of traces and recordings as JSON, for whoever asks: what `sonde trace` and `sonde
 * record` have as options.
 *
 *   profile "gc-verbose,http"   providers ["Name:0x1:4:key=value"]   clrEvents "gc+jit"
 *   clrEventLevel "4"   events ["Name=1,2"]   excludeEvents ["Name=3"]
 * of traces: stacks, rundown (true)   rundownKeyword   bufferMB   format "nettrace4"   cpu (true)
 *   stoppingEvent {"provider", "event", "payload"}   maxBytes
 * Members that are not known are left alone: who takes them from outside checks that. */
#ifndef SN_TRACE_SETTINGS_H
#define SN_TRACE_SETTINGS_H

#include <jansson.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/provider.h"
#include "sonde/trace.h"

#define SN_TRACE_PROVIDERS_MAX 128u

struct sn_trace_settings {
    struct sonde_provider_set *set;     /* owns */
    struct sonde_trace_options options; /* borrows of the JSON and of the set */
    uint64_t bytes_max;                 /* UINT64_MAX: no such limit */
};

/* What is asked for; `standard` (profiles) when nothing is. SONDE_E_ARGUMENT: the text begins with
 * the member that is wrong and a colon. */
int sn_trace_settings_events(const json_t *settings, const char *standard,
                             struct sonde_provider_set **ret_set, struct sonde_error *err);

/* All of a trace's; `output` is not filled in. */
int sn_trace_settings_read(const json_t *settings, struct sn_trace_settings *ret_settings,
                           struct sonde_error *err);
void sn_trace_settings_done(struct sn_trace_settings *settings);

#endif
