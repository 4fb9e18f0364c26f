/* What verbs that ask for events read alike from their command lines: profiles, provider strings,
 * the runtime's keywords by name. */
#ifndef SN_CLI_PROVIDER_OPTIONS_H
#define SN_CLI_PROVIDER_OPTIONS_H

#include <stdbool.h>

#include "cli/options.h"
#include "sonde/provider.h"

struct sonde_error;

struct sn_provider_choice {
    const struct sn_option_list *profiles;  /* --profile */
    const struct sn_option_list *providers; /* --providers */
    const char *clr_events;                 /* --clrevents */
    const char *clr_level;                  /* --clreventlevel */
};

/* Nothing was asked for. */
bool sn_provider_choice_is_empty(const struct sn_provider_choice *choice);

int sn_provider_choice_add(const struct sn_provider_choice *choice, struct sonde_provider_set *set,
                           struct sonde_error *err);

typedef int sn_provider_add_fn(struct sonde_provider_set *set, const char *text,
                               struct sonde_error *err);

/* Adds every word of a list, up to the first that cannot be. */
int sn_provider_add_each(struct sonde_provider_set *set, const struct sn_option_list *list,
                         sn_provider_add_fn *add, struct sonde_error *err);

static inline void sonde_provider_set_free_auto(struct sonde_provider_set **slot)
{
    sonde_provider_set_free(*slot);
}

#endif
