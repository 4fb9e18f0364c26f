#include "sink/export/event_group.h"

#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"

static bool add_provider(struct sn_event_group *group, const struct sonde_provider *provider)
{
    struct sonde_provider *providers = sn_array_room(group->providers, group->provider_count,
                                                     &group->provider_capacity, sizeof(*providers));
    if (!providers)
        return false;
    group->providers = providers;
    providers[group->provider_count++] = *provider;
    return true;
}

int sn_event_group_add(struct sn_event_group *group, struct sn_event_user *user,
                       struct sonde_error *err)
{
    size_t count = 0;
    const struct sonde_provider *providers = sonde_provider_set_get(user->choice.set, &count);
    struct sn_event_user **users = sn_array_room(
        group->users, group->user_count, &group->user_capacity, sizeof(struct sn_event_user *));
    if (!users)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for who wants events");
    group->users = users;
    users[group->user_count++] = user;
    for (size_t i = 0; i < count; i++) {
        if (!add_provider(group, &providers[i]))
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    }
    return SONDE_OK;
}

void sn_event_group_done(struct sn_event_group *group)
{
    free(group->users);
    free(group->providers);
    *group = (struct sn_event_group){0};
}

bool sn_event_group_is_wanted(const struct sn_event_group *group)
{
    for (size_t i = 0; i < group->user_count; i++) {
        const struct sn_event_user *user = group->users[i];
        if (!user->is_wanted || user->is_wanted(user))
            return true;
    }
    return false;
}

static bool has_id(const struct sonde_provider *provider, uint32_t id)
{
    for (size_t i = 0; i < provider->id_count; i++) {
        if (provider->ids[i] == id)
            return true;
    }
    return false;
}

/* As the runtime chooses: an event without keywords is for all. */
static bool is_of(const struct sonde_provider *provider, const struct sonde_event_info *info)
{
    return info->level <= provider->level &&
           (!info->keywords || (info->keywords & provider->keywords)) &&
           strcasecmp(provider->name, info->provider) == 0 &&
           (!provider->id_count || has_id(provider, info->id) != provider->ids_are_excluded);
}

static bool is_for(const struct sn_event_user *user, const struct sonde_event_info *info)
{
    size_t count = 0;
    const struct sonde_provider *providers = sonde_provider_set_get(user->choice.set, &count);
    if (user->event && strcasecmp(user->event, info->name) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (is_of(&providers[i], info))
            return true;
    }
    return false;
}

size_t sn_event_group_take(const struct sn_event_group *group, struct sonde_event *event,
                           const struct sn_export_labels *labels)
{
    struct sonde_event_info info;
    size_t taken = 0;
    sonde_event_info(event, &info);
    for (size_t i = 0; i < group->user_count; i++) {
        struct sn_event_user *user = group->users[i];
        if (!is_for(user, &info) || !sn_event_choice_holds(&user->choice, event))
            continue;
        user->event_count++;
        user->take(user, event, labels);
        taken++;
    }
    return taken;
}
