/* Exporters by a short word, as `sonde serve --export` takes them: "graphite=tcp://carbon:2003", or
 * the name of a file as `sonde export --config` reads it. */
#ifndef SN_CLI_EXPORT_SPEC_H
#define SN_CLI_EXPORT_SPEC_H

#include <stddef.h>

#include "cli/options.h"

struct sn_configuration;
struct sonde_error;

#define SN_EXPORT_SPECS_MAX 16u

struct sn_export_specs {
    struct sn_configuration *items[SN_EXPORT_SPECS_MAX]; /* owns */
    size_t count;
};

/* Fills an empty list. What is wrong with a file is told on standard error, a line each, before
 * SONDE_E_ARGUMENT. */
int sn_export_specs_read(struct sn_export_specs *specs, const struct sn_option_list *given,
                         struct sonde_error *err);
void sn_export_specs_done(struct sn_export_specs *specs);

#endif
