#include "daemon/trace_settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

#define BUFFER_MB_MAX 4096u

typedef int add_fn(struct sonde_provider_set *set, const char *text, struct sonde_error *err);

static void free_set_auto(struct sonde_provider_set **slot)
{
    sonde_provider_set_free(*slot);
}

static const char *text_of(const json_t *settings, const char *name)
{
    return json_string_value(json_object_get(settings, name));
}

static bool flag_of(const json_t *settings, const char *name, bool standard)
{
    const json_t *value = json_object_get(settings, name);
    return json_is_boolean(value) ? json_is_true(value) : standard;
}

static uint64_t number_of(const json_t *settings, const char *name, uint64_t standard)
{
    const json_t *value = json_object_get(settings, name);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : standard;
}

/* The same cause, with the member before it. */
static int name_member(struct sonde_error *err, const struct sonde_error *cause, const char *member)
{
    return sn_fail_because(err, cause, member);
}

static int keep_ids(struct sonde_provider_set *set, const char *text, struct sonde_error *err)
{
    return sonde_provider_set_filter(set, text, false, err);
}

static int leave_out_ids(struct sonde_provider_set *set, const char *text, struct sonde_error *err)
{
    return sonde_provider_set_filter(set, text, true, err);
}

static int add_each(struct sonde_provider_set *set, const json_t *settings, const char *member,
                    add_fn *add, struct sonde_error *err)
{
    const json_t *list = json_object_get(settings, member);
    if (json_array_size(list) > SN_TRACE_PROVIDERS_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s: at most %u", member, SN_TRACE_PROVIDERS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct sonde_error cause = {0};
        const char *text = json_string_value(json_array_get(list, i));
        if (!text)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s: a list of texts", member);
        if (add(set, text, &cause) != SONDE_OK)
            return name_member(err, &cause, member);
    }
    return SONDE_OK;
}

static int add_profiles(struct sonde_provider_set *set, const json_t *settings,
                        const char *standard, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    const char *profile = text_of(settings, "profile");
    bool is_chosen = (profile && *profile) || text_of(settings, "clrEvents") ||
                     json_array_size(json_object_get(settings, "providers"));
    if (!is_chosen)
        profile = standard;
    if (profile && *profile && sonde_provider_set_add_profiles(set, profile, &cause) != SONDE_OK)
        return name_member(err, &cause, "profile");
    return SONDE_OK;
}

static int add_clr(struct sonde_provider_set *set, const json_t *settings, struct sonde_error *err)
{
    struct sonde_error cause = {0};
    const char *events = text_of(settings, "clrEvents");
    const char *level = text_of(settings, "clrEventLevel");
    if (!events)
        return level ? sn_fail(err, SONDE_E_ARGUMENT, 0, "clrEventLevel: needs clrEvents")
                     : SONDE_OK;
    if (sonde_provider_set_add_clr(set, events, level, &cause) != SONDE_OK)
        return name_member(err, &cause, "clrEvents");
    return SONDE_OK;
}

int sn_trace_settings_events(const json_t *settings, const char *standard,
                             struct sonde_provider_set **ret_set, struct sonde_error *err)
{
    __attribute__((cleanup(free_set_auto))) struct sonde_provider_set *set = NULL;
    int rc = sonde_provider_set_new(&set, err);
    if (rc == SONDE_OK)
        rc = add_profiles(set, settings, standard, err);
    if (rc == SONDE_OK)
        rc = add_each(set, settings, "providers", sonde_provider_set_add, err);
    if (rc == SONDE_OK)
        rc = add_clr(set, settings, err);
    if (rc == SONDE_OK)
        rc = add_each(set, settings, "events", keep_ids, err);
    if (rc == SONDE_OK)
        rc = add_each(set, settings, "excludeEvents", leave_out_ids, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_set = set;
    set = NULL;
    return SONDE_OK;
}

static int read_format(const char *text, uint32_t *ret_format, struct sonde_error *err)
{
    static const struct {
        const char *name;
        uint32_t format;
    } formats[] = {{"nettrace", 0}, {"nettrace4", 4}, {"nettrace6", 6}};
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (!text || strcasecmp(formats[i].name, text) == 0) {
            *ret_format = formats[i].format;
            return SONDE_OK;
        }
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "format: nettrace, nettrace4 or nettrace6");
}

static int read_stop(const json_t *settings, struct sonde_trace_options *options,
                     struct sonde_error *err)
{
    const json_t *stop = json_object_get(settings, "stoppingEvent");
    options->stop_provider = text_of(stop, "provider");
    options->stop_event = text_of(stop, "event");
    options->stop_payload = text_of(stop, "payload");
    if (stop && !options->stop_provider)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "stoppingEvent: needs the name of a provider");
    return SONDE_OK;
}

int sn_trace_settings_read(const json_t *settings, struct sn_trace_settings *ret_settings,
                           struct sonde_error *err)
{
    struct sonde_trace_options options = {.size = sizeof(options)};
    int rc = read_format(text_of(settings, "format"), &options.format, err);
    if (rc == SONDE_OK)
        rc = read_stop(settings, &options, err);
    uint64_t buffer_mb = number_of(settings, "bufferMB", 0);
    if (rc == SONDE_OK && buffer_mb > BUFFER_MB_MAX)
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0, "bufferMB: at most %u", BUFFER_MB_MAX);
    struct sonde_provider_set *set = NULL;
    if (rc == SONDE_OK)
        rc = sn_trace_settings_events(settings, "dotnet-common,dotnet-sampled-thread-time", &set,
                                      err);
    if (rc != SONDE_OK)
        return rc;
    options.providers = sonde_provider_set_get(set, &options.provider_count);
    options.rundown_keyword =
        number_of(settings, "rundownKeyword", sonde_provider_set_rundown(set));
    options.buffer_mb = (uint32_t)buffer_mb;
    options.no_stacks = !flag_of(settings, "stacks", true);
    options.no_rundown = !flag_of(settings, "rundown", true);
    options.no_cpu_record = !flag_of(settings, "cpu", true);
    *ret_settings = (struct sn_trace_settings){
        .set = set, .options = options, .bytes_max = number_of(settings, "maxBytes", UINT64_MAX)};
    return SONDE_OK;
}

void sn_trace_settings_done(struct sn_trace_settings *settings)
{
    sonde_provider_set_free(settings->set);
    settings->set = NULL;
}
