/* sonde export while it runs: one poll loop until a signal or a deadline, and what people are told
 * meanwhile. */
#ifndef SN_CLI_EXPORT_RUN_VIEW_H
#define SN_CLI_EXPORT_RUN_VIEW_H

#include <stdint.h>

#include "sink/export/settings.h"

/* Runs `configuration`, which has been checked, until SIGINT or SIGTERM, or for `duration_ns` (0:
 * without end). SIGHUP reads its file again, if it has one. Takes the configuration.
 * When it went well, *ret_exit_code says whether anything came, and reached who was to have it. */
int sn_export_run_show(struct sn_configuration *configuration, uint64_t duration_ns,
                       int *ret_exit_code, struct sonde_error *err);

#endif
