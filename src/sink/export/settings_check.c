/* What can be wrong with a configuration as a whole, although each value is what its key takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/export/event_choice.h"
#include "sink/export/settings.h"
#include "sonde/filter.h"
#include "sonde/provider.h"

#define SHORTEST_NS (100ull * SN_NS_PER_MS)
#define LONGEST_NS  (3600ull * SN_NS_PER_SECOND)

typedef int check_fn(struct sn_configuration *configuration, const struct sn_settings *settings,
                     struct sonde_error *err);

static unsigned line_of(const struct sn_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].name, key) == 0)
            return settings->items[i].line;
    }
    return settings->line;
}

static void check_required(struct sn_configuration *configuration,
                           const struct sn_settings *settings)
{
    char title[96];
    for (const struct sn_setting_key *key = settings->kind->keys; key && key->name; key++) {
        if (key->is_required && !sn_settings_has(settings, key->name))
            sn_configuration_problem(
                configuration, settings->line, false, "[%s] needs '%s', such as %s = %s",
                sn_settings_title(settings, title), key->name, key->name, key->example);
    }
}

static int check_targets(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sonde_error *err)
{
    size_t count = 0;
    uint64_t pid;
    const char *const *words = sn_settings_list(configuration, settings, "pids", &count);
    if (!words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the configuration");
    for (size_t i = 0; i < count; i++) {
        if (!sn_text_to_u64(words[i], INT32_MAX, &pid) || !pid)
            sn_configuration_problem(configuration, line_of(settings, "pids"), false,
                                     "pids: '%s' is not a process id", words[i]);
    }
    if (count > SN_PIDS_MAX)
        sn_configuration_problem(configuration, line_of(settings, "pids"), false,
                                 "pids: more than %u; watch by name, or all", SN_PIDS_MAX);
    bool is_named = count || sn_settings_has(settings, "names");
    if (strcasecmp(sn_settings_text(settings, "all"), "no") == 0 && !is_named)
        sn_configuration_problem(configuration, line_of(settings, "all"), false,
                                 "no process is watched: all = no, and neither names nor pids");
    if (sn_settings_flag(settings, "all") && is_named)
        sn_configuration_problem(configuration, line_of(settings, "all"), true,
                                 "all = yes watches every process: names and pids add nothing");
    return SONDE_OK;
}

static int check_counters(struct sn_configuration *configuration,
                          const struct sn_settings *settings, struct sonde_error *err)
{
    (void)err;
    uint64_t interval = sn_settings_number(settings, "interval");
    if (interval < SHORTEST_NS || interval > LONGEST_NS)
        sn_configuration_problem(configuration, line_of(settings, "interval"), false,
                                 "interval: from 100ms to 1h");
    if (sn_settings_flag(settings, "enabled") && !sn_settings_flag(settings, "kernel") &&
        !sn_settings_flag(settings, "runtime"))
        sn_configuration_problem(configuration, line_of(settings, "runtime"), false,
                                 "neither the runtimes nor the kernel: enabled = no says the same");
    return SONDE_OK;
}

static int check_prometheus(struct sn_configuration *configuration,
                            const struct sn_settings *settings, struct sonde_error *err)
{
    (void)err;
    if (sn_settings_text(settings, "path")[0] != '/')
        sn_configuration_problem(configuration, line_of(settings, "path"), false,
                                 "path: begins with a slash, as in /metrics");
    return SONDE_OK;
}

static int check_otlp(struct sn_configuration *configuration, const struct sn_settings *settings,
                      struct sonde_error *err)
{
    (void)err;
    for (size_t i = 0; i < settings->count; i++) {
        const struct sn_setting *item = &settings->items[i];
        size_t name = strcspn(item->value, ": ");
        if (strcmp(item->name, "header") == 0 && (name == 0 || item->value[name] != ':'))
            sn_configuration_problem(configuration, item->line, false,
                                     "header: not 'Name: value'"); /* it may be a secret */
    }
    return SONDE_OK;
}

/* A choice of events that cannot be read is a problem of its section, "KEY: reason". */
static void tell_choice(struct sn_configuration *configuration, const struct sn_settings *settings,
                        const struct sonde_error *cause)
{
    char key[32] = "";
    size_t size = strcspn(cause->text, ":");
    if (size < sizeof(key))
        memcpy(key, cause->text, size);
    sn_configuration_problem(configuration, line_of(settings, key), false, "%s", cause->text);
}

static int check_usdt(struct sn_configuration *configuration, const struct sn_settings *settings,
                      struct sonde_error *err)
{
    SN_AUTO(sn_event_choice_done) struct sn_event_choice choice = {0};
    struct sonde_error cause = {0};
    (void)err;
    if (sn_event_choice_of_probes(&choice, configuration, settings, &cause) != SONDE_OK)
        tell_choice(configuration, settings, &cause);
    return SONDE_OK;
}

static void check_path(struct sn_configuration *configuration, const struct sn_settings *settings)
{
    const char *path = sn_settings_text(settings, "path");
    const char *at = path;
    while ((at = strpbrk(at, "{}"))) {
        size_t size = *at == '{' ? strcspn(at + 1, "{}") : 0;
        if (!size || at[1 + size] != '}') {
            sn_configuration_problem(configuration, line_of(settings, "path"), false,
                                     "path: '{' and '}' stand around a name, as in {process}");
            return;
        }
        at += size + 2;
    }
    if (!path[0] || strpbrk(path, " ;\t"))
        sn_configuration_problem(configuration, line_of(settings, "path"), false,
                                 "path: words with dots between, without blanks and semicolons");
}

static int check_receivers(struct sn_configuration *configuration,
                           const struct sn_settings *settings, struct sonde_error *err)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, "to", &count);
    if (!words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the configuration");
    for (size_t i = 0; i < count; i++) {
        const char *name = strcmp(words[i], "graphite") == 0 ? "" : words[i];
        if (sn_configuration_find(configuration, "graphite", name))
            continue;
        sn_configuration_problem(configuration, line_of(settings, "to"), false,
                                 name[0] ? "to: there is no [graphite %s]"
                                         : "to: there is no [graphite] to send to%s",
                                 name);
    }
    return SONDE_OK;
}

/* Each condition, with its own line. */
static bool are_conditions_good(struct sn_configuration *configuration,
                                const struct sn_settings *settings)
{
    bool are_good = true;
    for (size_t i = 0; i < settings->count; i++) {
        struct sonde_filter *filter = NULL;
        struct sonde_error cause = {0};
        if (strcmp(settings->items[i].name, "where") != 0)
            continue;
        if (sonde_filter_new(settings->items[i].value, &filter, &cause) != SONDE_OK) {
            sn_configuration_problem(configuration, settings->items[i].line, false, "where: %s",
                                     cause.text);
            are_good = false;
        }
        sonde_filter_free(filter);
    }
    return are_good;
}

static bool is_level_good(struct sn_configuration *configuration,
                          const struct sn_settings *settings)
{
    char spec[64];
    struct sonde_provider_set *set = NULL;
    const char *level = sn_settings_text(settings, "level");
    size_t size = strcspn(level, ":,\"");
    int wanted = snprintf(spec, sizeof(spec), "Any:1:%s", level);
    bool is_good = !level[size] && wanted < (int)sizeof(spec) &&
                   sonde_provider_set_new(&set, NULL) == SONDE_OK &&
                   sonde_provider_set_add(set, spec, NULL) == SONDE_OK;
    sonde_provider_set_free(set);
    if (!is_good)
        sn_configuration_problem(configuration, line_of(settings, "level"), false,
                                 "level: '%.64s' is not 0 to 5, or critical, error, warning, "
                                 "informational, verbose",
                                 level);
    return is_good;
}

static int check_rule(struct sn_configuration *configuration, const struct sn_settings *settings,
                      struct sonde_error *err)
{
    SN_AUTO(sn_event_choice_done) struct sn_event_choice choice = {0};
    struct sonde_error cause = {0};
    bool is_good = is_level_good(configuration, settings);
    is_good &= are_conditions_good(configuration, settings);
    if (is_good && sn_event_choice_of_rule(&choice, configuration, settings, &cause) != SONDE_OK)
        tell_choice(configuration, settings, &cause);
    if (!sn_settings_has(settings, "field") &&
        strcmp(sn_settings_text(settings, "aggregate"), "count") != 0)
        sn_configuration_problem(configuration, settings->line, false,
                                 "[rule %s] needs 'field': which number of the event? Or aggregate "
                                 "= count",
                                 settings->name);
    check_path(configuration, settings);
    return check_receivers(configuration, settings, err);
}

static int check_labels(struct sn_configuration *configuration, const struct sn_settings *settings,
                        struct sonde_error *err)
{
    (void)err;
    if (settings->count > SN_LABELS_MAX)
        sn_configuration_problem(configuration, settings->line, false, "more than %u labels",
                                 SN_LABELS_MAX);
    return SONDE_OK;
}

static int check_section(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sonde_error *err)
{
    static const struct {
        const char *kind;
        check_fn *check;
    } checks[] = {{"labels", check_labels},     {"targets", check_targets},
                  {"counters", check_counters}, {"prometheus", check_prometheus},
                  {"otlp", check_otlp},         {"usdt", check_usdt},
                  {"rule", check_rule}};
    check_required(configuration, settings);
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        if (strcmp(checks[i].kind, settings->kind->name) == 0)
            return checks[i].check(configuration, settings, err);
    }
    return SONDE_OK;
}

static void check_whole(struct sn_configuration *configuration)
{
    const struct sn_settings *counters = sn_configuration_find(configuration, "counters", "");
    size_t exporters = 0;
    size_t for_points = 0;
    size_t rules = 0;
    for (size_t i = 0; i < configuration->section_count; i++) {
        const struct sn_section_kind *kind = configuration->sections[i]->kind;
        exporters += kind->is_exporter;
        for_points += kind->is_exporter && strcmp(kind->name, "usdt") != 0;
        rules += strcmp(kind->name, "rule") == 0;
    }
    if (rules > SN_RULES_MAX)
        sn_configuration_problem(configuration, 0, false, "%zu rules: at most %u", rules,
                                 SN_RULES_MAX);
    if (for_points > SN_EXPORTERS_MAX)
        sn_configuration_problem(configuration, 0, false, "%zu receivers: at most %u", for_points,
                                 SN_EXPORTERS_MAX);
    if (!exporters)
        sn_configuration_problem(configuration, 0, false,
                                 "nothing is exported: there is none of [prometheus], [graphite], "
                                 "[statsd], [otlp], [usdt]");
    else if (for_points && !rules && !sn_settings_flag(counters, "enabled"))
        sn_configuration_problem(configuration, line_of(counters, "enabled"), true,
                                 "counters are off, and no rule makes numbers of events");
}

static int by_line(const void *left, const void *right)
{
    const struct sn_settings_problem *a = left;
    const struct sn_settings_problem *b = right;
    return a->line < b->line ? -1 : a->line > b->line;
}

int sn_configuration_check(struct sn_configuration *configuration, struct sonde_error *err)
{
    for (size_t i = 0; i < configuration->section_count; i++) {
        int rc = check_section(configuration, configuration->sections[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    check_whole(configuration);
    if (configuration->problem_count)
        qsort(configuration->problems, configuration->problem_count,
              sizeof(*configuration->problems), by_line);
    return SONDE_OK;
}
