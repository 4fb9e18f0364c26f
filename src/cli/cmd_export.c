/* sonde export: counters, metrics and events of any number of processes, to those who keep them. */
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/config_problems.h"
#include "cli/export_run_view.h"
#include "cli/open_files.h"
#include "sink/export/settings.h"
#include "sink/export/settings_value.h"

struct arguments {
    const char *config;
    const char *to;
    const char *listen;
    struct sn_option_list pids;
    struct sn_option_list names;
    bool all;
    struct sn_option_list counters;
    const char *interval;
    const char *prefix;
    const char *protocol;
    const char *metric_names;
    struct sn_option_list headers;
    struct sn_option_list labels;
    struct sn_option_list profiles;
    struct sn_option_list providers;
    const char *clr_events;
    const char *clr_level;
    struct sn_option_list where;
    uint64_t duration_ns;
};

#define VALUE_LIMIT (64u << 10)

#define AT(member) offsetof(struct arguments, member)

static const struct sn_option options[] = {
    {'c', "config", SN_OPTION_TEXT, AT(config), "FILE",
     "what a file says; 'sonde config example' prints one"},
    {0, "to", SN_OPTION_TEXT, AT(to), "URL", "the receiver: tcp://host:2003, or host:2003"},
    {0, "listen", SN_OPTION_TEXT, AT(listen), "ADDRESS",
     "prometheus: where to be scraped; 127.0.0.1:9464"},
    {'p', "process-id", SN_OPTION_LIST, AT(pids), "PID,...",
     "these processes; may be given several times"},
    {'n', "name", SN_OPTION_LIST, AT(names), "NAME,...",
     "processes of this name, those to come too; likewise"},
    {'a', "all", SN_OPTION_FLAG, AT(all), NULL, "every .NET process; so if none is given"},
    {0, "counters", SN_OPTION_LIST, AT(counters), "SPEC,...",
     "EventSources and meters: Shop.Orders[placed]"},
    {0, "interval", SN_OPTION_TEXT, AT(interval), "TIME", "between values; 10s"},
    {0, "prefix", SN_OPTION_TEXT, AT(prefix), "TEXT", "graphite, statsd: of every name; sonde"},
    {0, "protocol", SN_OPTION_TEXT, AT(protocol), "WORD", "graphite: plain or pickle"},
    {0, "metric-names", SN_OPTION_TEXT, AT(metric_names), "WORD",
     "prometheus: otel or dotnet-monitor"},
    {0, "header", SN_OPTION_LIST, AT(headers), "TEXT", "otlp: 'Name: value'"},
    {0, "label", SN_OPTION_LIST, AT(labels), "KEY=VALUE",
     "of everything; may be given several times"},
    {0, "profile", SN_OPTION_LIST, AT(profiles), "NAME,...", "usdt: named choices of events"},
    {0, "providers", SN_OPTION_LIST, AT(providers), "SPEC",
     "usdt: Name[:Keywords[:Level[:key=value;...]]]"},
    {0, "clrevents", SN_OPTION_TEXT, AT(clr_events), "NAME+...",
     "usdt: the runtime's events, by keyword"},
    {0, "clreventlevel", SN_OPTION_TEXT, AT(clr_level), "LEVEL", "usdt: how verbose those are"},
    {0, "where", SN_OPTION_LIST, AT(where), "CONDITION", "usdt: only events for which it holds"},
    {0, "duration", SN_OPTION_DURATION, AT(duration_ns), "TIME", "stop after 30s, 5m"},
    SN_OPTIONS_END,
};

/* Where an option goes in a configuration. Section NULL: that of the exporter. */
static const struct {
    const char *option;
    const char *section;
    const char *key;
} places[] = {
    {"to", NULL, "address"},
    {"listen", NULL, "listen"},
    {"process-id", "targets", "pids"},
    {"name", "targets", "names"},
    {"all", "targets", "all"},
    {"counters", "counters", "counters"},
    {"interval", "counters", "interval"},
    {"prefix", NULL, "prefix"},
    {"protocol", NULL, "protocol"},
    {"metric-names", NULL, "names"},
    {"header", NULL, "header"},
    {"profile", NULL, "profile"},
    {"providers", NULL, "providers"},
    {"clrevents", NULL, "clrevents"},
    {"clreventlevel", NULL, "clreventlevel"},
    {"where", NULL, "where"},
};

#define PLACE_COUNT (sizeof(places) / sizeof(*places))

static const struct sn_option *find_option(const char *name)
{
    const struct sn_option *option = options;
    while (strcmp(option->name, name) != 0)
        option++;
    return option;
}

/* The values of an option, one at a time; NULL past the last. */
static const char *value_of(const struct arguments *arguments, const struct sn_option *option,
                            size_t index)
{
    const void *place = (const char *)arguments + option->offset;
    if (option->kind == SN_OPTION_LIST) {
        const struct sn_option_list *list = place;
        return index < list->count ? list->items[index] : NULL;
    }
    if (index)
        return NULL;
    if (option->kind == SN_OPTION_FLAG)
        return *(const bool *)place ? "yes" : NULL;
    return *(const char *const *)place;
}

/* host:port is enough where the example says how one sends. */
static void complete_url(const struct sn_setting_key *key, const char *value, struct sn_buf *to)
{
    const char *scheme_end = key->example ? strstr(key->example, "://") : NULL;
    bool lacks_scheme = key->type == SN_SETTING_URL && scheme_end && !strstr(value, "://") &&
                        strncmp(key->example, "http", 4) != 0;
    if (lacks_scheme)
        sn_buf_append(to, key->example, (size_t)(scheme_end + 3 - key->example));
    sn_buf_text(to, value);
}

/* Who writes options has no keys in mind: what is wrong is told with the option's name. */
static bool is_good(const struct sn_setting_key *key, const char *value,
                    const struct sn_option *option, struct sonde_error *err)
{
    uint64_t number;
    SN_AUTO(sn_buf_done) struct sn_buf reason = sn_buf_with_limit(VALUE_LIMIT);
    if (strstr(value, "${") || sn_setting_read(key, value, &number, &reason))
        return true; /* a variable is judged when it is known */
    (void)sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s: '%s' is not %s", option->name,
                  strpbrk(value, "@?") ? "..." : value, sn_buf_string(&reason)); /* secrets */
    return false;
}

static int apply_option(struct sn_configuration *configuration, const char *kind,
                        const struct arguments *arguments, size_t index, struct sonde_error *err)
{
    const struct sn_option *option = find_option(places[index].option);
    const char *section = places[index].section ? places[index].section : kind;
    const char *key = places[index].key;
    if (strcmp(kind, "otlp") == 0 && strcmp(key, "address") == 0)
        key = "url";
    const char *value;
    for (size_t i = 0; (value = value_of(arguments, option, i)); i++) {
        const struct sn_setting_key *known =
            sn_setting_key_find(sn_section_kind_find(section), key);
        if (!known)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s is not for %s", option->name, kind);
        SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(VALUE_LIMIT);
        complete_url(known, value, &whole);
        if (!is_good(known, sn_buf_string(&whole), option, err))
            return SONDE_E_ARGUMENT;
        int rc = sn_configuration_set(configuration, section, key, sn_buf_string(&whole), err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static int apply_labels(struct sn_configuration *configuration, const struct sn_option_list *labels,
                        struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < labels->count && rc == SONDE_OK; i++) {
        size_t size = strcspn(labels->items[i], "=");
        SN_AUTO(sn_free) char *key = strndup(labels->items[i], size);
        if (!key)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for labels");
        if (!size || !labels->items[i][size])
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--label: '%s' is not key=value",
                           labels->items[i]);
        rc = sn_configuration_set(configuration, "labels", key, labels->items[i] + size + 1, err);
    }
    return rc;
}

static int configure(const char *kind, const struct arguments *arguments,
                     struct sn_configuration **ret_configuration, struct sonde_error *err)
{
    const struct sn_section_kind *known = sn_section_kind_find(kind);
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    if (!known || !known->is_exporter)
        return sn_fail(
            err, SONDE_E_ARGUMENT, 0,
            "%s%.64s%sexport to whom? prometheus, graphite, statsd, otlp, usdt, or --config FILE",
            kind[0] ? "'" : "", kind, kind[0] ? "' is nobody: " : "");
    int rc = sn_configuration_new("", &made, err);
    if (rc == SONDE_OK)
        rc = sn_configuration_set(made, kind, NULL, NULL, err);
    for (size_t i = 0; i < PLACE_COUNT && rc == SONDE_OK; i++)
        rc = apply_option(made, kind, arguments, i, err);
    if (rc == SONDE_OK)
        rc = apply_labels(made, &arguments->labels, err);
    if (rc == SONDE_OK && !arguments->to && sn_setting_key_find(known, "queue"))
        rc = sn_fail(err, SONDE_E_ARGUMENT, 0, "where to? give --to URL, such as --to %s",
                     known->keys[0].example);
    if (rc == SONDE_OK)
        *ret_configuration = SN_TAKE(made);
    return rc;
}

/* A file says everything, but for when to stop. */
static int refuse_others(const struct arguments *arguments, const struct sn_operands *operands,
                         struct sonde_error *err)
{
    if (operands->count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "--config FILE or '%s', not both: the file says to whom",
                       operands->words[0]);
    for (size_t i = 0; i < PLACE_COUNT; i++) {
        if (value_of(arguments, find_option(places[i].option), 0))
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "--%s stands in the file of --config",
                           places[i].option);
    }
    return arguments->labels.count
               ? sn_fail(err, SONDE_E_ARGUMENT, 0, "--label stands in the file of --config")
               : SONDE_OK;
}

static int read_configuration(const struct arguments *arguments, const struct sn_operands *operands,
                              struct sn_configuration **ret_configuration, struct sonde_error *err)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = NULL;
    int rc = arguments->config
                 ? refuse_others(arguments, operands, err)
                 : configure(operands->count ? operands->words[0] : "", arguments, &made, err);
    if (rc == SONDE_OK && arguments->config)
        rc = sn_configuration_read(arguments->config, &made, err);
    if (rc == SONDE_OK)
        rc = sn_configuration_check(made, err);
    if (rc == SONDE_OK)
        *ret_configuration = SN_TAKE(made);
    return rc;
}

static int run(const void *given, const struct sn_operands *operands)
{
    const struct arguments *arguments = given;
    SN_AUTO(sn_configuration_free) struct sn_configuration *configuration = NULL;
    struct sonde_error err = {0};
    if (read_configuration(arguments, operands, &configuration, &err) < 0 || !configuration)
        return sn_command_fail(&err);
    sn_config_print_problems(configuration);
    if (configuration->error_count)
        return SN_EXIT_USAGE;
    sn_open_files_raise();
    int code = SN_EXIT_DONE;
    int rc = sn_export_run_show(SN_TAKE(configuration), arguments->duration_ns, &code, &err);
    return rc == SONDE_OK ? code : sn_command_fail(&err);
}

const struct sn_command sn_cmd_export = {
    .name = "export",
    .usage = "(--config FILE | prometheus | graphite | statsd | otlp | usdt) [options]",
    .summary = "send counters, metrics and events to Prometheus, Graphite, StatsD, OTLP or BPF",
    .examples = "  sonde export prometheus --listen :9464 -n shop\n"
                "  sonde export graphite --to tcp://carbon:2003 --prefix dotnet\n"
                "  sonde export --config sonde.ini\n"
                "  sonde export usdt -n shop --clrevents gc+exception\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 1,
    .words = "prometheus graphite statsd otlp usdt",
    .run = run,
};
