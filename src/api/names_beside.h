/* The file of names that stands beside a trace whose target died before it told its names
 * (trace_names.h writes it): read as a walk of its own. */
#ifndef SN_NAMES_BESIDE_H
#define SN_NAMES_BESIDE_H

#include "api/walk.h"

struct sn_names_beside {
    struct sn_walk walk; /* sinks are put on it */
    char *path;          /* owns */
};

/* SONDE_OK: there are names. SONDE_END: there are none, or they are not of exactly this stream,
 * whose head said `info`: names of another process would be wrong names. */
int sn_names_beside_open(struct sn_names_beside *beside, const char *path,
                         const struct sn_trace_info *info, struct sonde_error *err);
void sn_names_beside_close(struct sn_names_beside *beside); /* also one that was never opened */

static inline void sn_names_beside_close_auto(struct sn_names_beside *beside)
{
    sn_names_beside_close(beside);
}

/* Reads them all. What is damaged is left out; only a lack of memory fails. */
int sn_names_beside_run(struct sn_names_beside *beside, struct sonde_error *err);

#endif
