#include "sink/export/event_choice.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#define RUNTIME    "Microsoft-Windows-DotNETRuntime"
#define SPEC_LIMIT (64u << 10)

void sn_event_choice_done(struct sn_event_choice *choice)
{
    for (size_t i = 0; i < choice->condition_count; i++)
        sonde_filter_free(choice->conditions[i]);
    sonde_provider_set_free(choice->set);
    *choice = (struct sn_event_choice){0};
}

bool sn_event_choice_holds(const struct sn_event_choice *choice, struct sonde_event *event)
{
    for (size_t i = 0; i < choice->condition_count; i++) {
        if (!sonde_filter_holds(choice->conditions[i], event))
            return false;
    }
    return true;
}

static int read_conditions(struct sn_event_choice *choice, struct sn_configuration *configuration,
                           const struct sn_settings *settings, struct sonde_error *err)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, "where", &count);
    if (!words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for conditions");
    if (count > SN_EVENT_CONDITIONS_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "where: more than %u lines",
                       SN_EVENT_CONDITIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct sonde_error cause = {0};
        if (sonde_filter_new(words[i], &choice->conditions[i], &cause) != SONDE_OK)
            return sn_fail_because(err, &cause, "where");
        choice->condition_count++;
    }
    return SONDE_OK;
}

/* Keywords of the runtime have names; those of others are numbers. */
static bool is_number(const char *text)
{
    if (text[0] == '0' && (text[1] | 0x20) == 'x')
        text += 2;
    return text[0] && text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

static int add_rule_provider(struct sonde_provider_set *set, const struct sn_settings *settings,
                             struct sonde_error *err)
{
    const char *provider = sn_settings_text(settings, "provider");
    const char *keywords = sn_settings_text(settings, "keywords");
    const char *level = sn_settings_text(settings, "level");
    if (strpbrk(provider, ",:\""))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "provider: '%s' is not the name of one provider",
                       provider);
    struct sonde_error cause = {0};
    if (strcasecmp(provider, RUNTIME) == 0 && keywords[0] && !is_number(keywords))
        return sonde_provider_set_add_clr(set, keywords, level, &cause) == SONDE_OK
                   ? SONDE_OK
                   : sn_fail_because(err, &cause, "keywords");
    if (keywords[0] && !is_number(keywords))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "keywords: only those of " RUNTIME " have names; '%s' must be hexadecimal",
                       keywords);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(SPEC_LIMIT);
    sn_buf_format(&text, "%s:%s:%s", provider, keywords, level);
    return sonde_provider_set_add(set, sn_buf_string(&text), &cause) == SONDE_OK
               ? SONDE_OK
               : sn_fail_because(err, &cause, "provider");
}

int sn_event_choice_of_rule(struct sn_event_choice *choice, struct sn_configuration *configuration,
                            const struct sn_settings *settings, struct sonde_error *err)
{
    SN_AUTO(sn_event_choice_done) struct sn_event_choice made = {0};
    int rc = sonde_provider_set_new(&made.set, err);
    if (rc == SONDE_OK)
        rc = add_rule_provider(made.set, settings, err);
    if (rc == SONDE_OK)
        rc = read_conditions(&made, configuration, settings, err);
    if (rc != SONDE_OK)
        return rc;
    *choice = made;
    made = (struct sn_event_choice){0};
    return SONDE_OK;
}

typedef int add_fn(struct sonde_provider_set *set, const char *text, struct sonde_error *err);

static int add_each(struct sonde_provider_set *set, struct sn_configuration *configuration,
                    const struct sn_settings *settings, const char *key, add_fn *add,
                    struct sonde_error *err)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, key, &count);
    if (!words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    for (size_t i = 0; i < count; i++) {
        struct sonde_error cause = {0};
        if (add(set, words[i], &cause) != SONDE_OK)
            return sn_fail_because(err, &cause, key);
    }
    return SONDE_OK;
}

/* What the typed probes are made of. */
static int add_usual(struct sonde_provider_set *set, struct sonde_error *err)
{
    return sonde_provider_set_add_clr(set, "gc+exception+contention+threading+jit", "informational",
                                      err);
}

int sn_event_choice_of_probes(struct sn_event_choice *choice,
                              struct sn_configuration *configuration,
                              const struct sn_settings *settings, struct sonde_error *err)
{
    SN_AUTO(sn_event_choice_done) struct sn_event_choice made = {0};
    const char *keywords = sn_settings_text(settings, "clrevents");
    const char *level = sn_settings_text(settings, "clreventlevel");
    size_t count = 0;
    int rc = sonde_provider_set_new(&made.set, err);
    if (rc == SONDE_OK)
        rc = add_each(made.set, configuration, settings, "profile", sonde_provider_set_add_profiles,
                      err);
    if (rc == SONDE_OK)
        rc = add_each(made.set, configuration, settings, "providers", sonde_provider_set_add, err);
    struct sonde_error cause = {0};
    if (rc == SONDE_OK && keywords[0] &&
        sonde_provider_set_add_clr(made.set, keywords, level, &cause) != SONDE_OK)
        rc = sn_fail_because(err, &cause, "clrevents");
    if (rc == SONDE_OK && level[0] && !keywords[0])
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0,
                     "clreventlevel: is the level of clrevents, which is not given");
    if (rc == SONDE_OK)
        (void)sonde_provider_set_get(made.set, &count);
    if (rc == SONDE_OK && count == 0)
        rc = add_usual(made.set, err);
    if (rc == SONDE_OK)
        rc = read_conditions(&made, configuration, settings, err);
    if (rc != SONDE_OK)
        return rc;
    *choice = made;
    made = (struct sn_event_choice){0};
    return SONDE_OK;
}
