#include "cli/monitor_settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_LIMIT (4u << 20)

void sn_monitor_settings_init(struct sn_monitor_settings *settings)
{
    *settings = (struct sn_monitor_settings){.arena = sn_arena_with_limit(TEXT_LIMIT)};
}

void sn_monitor_settings_done(struct sn_monitor_settings *settings)
{
    sn_arena_done(&settings->arena);
    free(settings->items);
    *settings = (struct sn_monitor_settings){0};
}

/* Elements of lists are in the order of their numbers: 2 before 10. */
static int compare(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static size_t find_place(const struct sn_monitor_settings *settings, const char *name,
                         bool *ret_is_there)
{
    size_t index = 0;
    *ret_is_there = false;
    for (; index < settings->count; index++) {
        if (strcasecmp(settings->items[index].name, name) == 0) {
            *ret_is_there = true;
            return index;
        }
    }
    for (index = 0; index < settings->count; index++) {
        if (compare(settings->items[index].name, name) > 0)
            return index;
    }
    return index;
}

static bool make_room(struct sn_monitor_settings *settings, size_t index)
{
    if (settings->count == SN_MONITOR_SETTINGS_MAX)
        return false;
    struct sn_monitor_setting *items =
        reallocarray(settings->items, settings->count + 1, sizeof(*items));
    if (!items)
        return false;
    settings->items = items;
    memmove(&items[index + 1], &items[index], (settings->count - index) * sizeof(*items));
    settings->count++;
    return true;
}

bool sn_monitor_settings_set(struct sn_monitor_settings *settings, const char *name,
                             const char *value, const char *source)
{
    bool is_there;
    size_t index = find_place(settings, name, &is_there);
    struct sn_monitor_setting setting = {
        .name = is_there ? settings->items[index].name
                         : sn_arena_copy(&settings->arena, name, strlen(name)),
        .value = value ? sn_arena_copy(&settings->arena, value, strlen(value)) : NULL,
        .source = sn_arena_copy(&settings->arena, source, strlen(source))};
    if (!setting.name || !setting.source || (value && !setting.value))
        return false;
    if (!is_there && !make_room(settings, index))
        return false;
    settings->items[index] = setting;
    return true;
}

const char *sn_monitor_settings_get(const struct sn_monitor_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcasecmp(settings->items[i].name, name) == 0)
            return settings->items[i].value;
    }
    return NULL;
}

bool sn_monitor_settings_flag(const struct sn_monitor_settings *settings, const char *name,
                              bool standard)
{
    const char *value = sn_monitor_settings_get(settings, name);
    if (!value)
        return standard;
    return standard ? strcasecmp(value, "false") != 0 : strcasecmp(value, "true") == 0;
}

size_t sn_monitor_settings_within(const struct sn_monitor_settings *settings, const char *section,
                                  size_t index)
{
    size_t size = strlen(section);
    for (; index < settings->count; index++) {
        const char *name = settings->items[index].name;
        if (strncasecmp(name, section, size) == 0 && (name[size] == ':' || !name[size]))
            break;
    }
    return index;
}
