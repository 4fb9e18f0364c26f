/* Counters that a controller watches anyway, as a source for the views: asked for as often as
 * values are wanted, without waiting for an answer in between. */
#ifndef SN_CLI_REMOTE_COUNTERS_H
#define SN_CLI_REMOTE_COUNTERS_H

#include "cli/counters_source.h"

/* Whether these options can be had of a controller at all; whether of this one, which was not named
 * and was told something else maybe. */
bool sn_remote_counters_suit(const struct sonde_counters_options *options);
bool sn_remote_counters_are_same(const struct sn_remote *remote,
                                 const struct sonde_counters_options *options);

/* Borrows `remote` and `options`. SONDE_E_ARGUMENT: what a controller cannot be asked for. */
int sn_remote_counters_source(struct sn_remote *remote,
                              const struct sonde_counters_options *options, sonde_point_fn *take,
                              void *user, struct sn_counters_source **ret_source,
                              struct sonde_error *err);

#endif
