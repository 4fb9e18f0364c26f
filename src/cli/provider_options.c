#include "cli/provider_options.h"

#include "base/err.h"

bool sn_provider_choice_is_empty(const struct sn_provider_choice *choice)
{
    return !choice->profiles->count && !choice->providers->count && !choice->clr_events;
}

int sn_provider_add_each(struct sonde_provider_set *set, const struct sn_option_list *list,
                         sn_provider_add_fn *add, struct sonde_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        int rc = add(set, list->items[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sn_provider_choice_add(const struct sn_provider_choice *choice, struct sonde_provider_set *set,
                           struct sonde_error *err)
{
    if (choice->clr_level && !choice->clr_events)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "--clreventlevel needs --clrevents");
    int rc = sn_provider_add_each(set, choice->profiles, sonde_provider_set_add_profiles, err);
    if (rc == SONDE_OK)
        rc = sn_provider_add_each(set, choice->providers, sonde_provider_set_add, err);
    if (rc == SONDE_OK && choice->clr_events)
        rc = sonde_provider_set_add_clr(set, choice->clr_events, choice->clr_level, err);
    return rc;
}
