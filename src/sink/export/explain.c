#include "sink/export/explain.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "net/url.h"

typedef void explain_fn(struct sn_configuration *configuration, const struct sn_settings *settings,
                        struct sn_buf *to);

static size_t say_list(struct sn_configuration *configuration, const struct sn_settings *settings,
                       const char *key, const char *before, struct sn_buf *to)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, key, &count);
    for (size_t i = 0; words && i < count; i++)
        sn_buf_format(to, "%s%s", i ? ", " : before, words[i]);
    return count;
}

static const char *duration(const struct sn_settings *settings, const char *key, char to[32])
{
    return sn_text_duration(sn_settings_number(settings, key), to);
}

static void explain_targets(struct sn_configuration *configuration,
                            const struct sn_settings *settings, struct sn_buf *to)
{
    bool is_named = sn_settings_has(settings, "names") || sn_settings_has(settings, "pids");
    if (sn_settings_flag(settings, "all") || !is_named) {
        sn_buf_text(to, "watches every .NET process that can be reached, those to come too");
        return;
    }
    size_t names = say_list(configuration, settings, "names", "watches processes named ", to);
    if (names)
        sn_buf_text(to, ", those to come too");
    size_t pids = say_list(configuration, settings, "pids",
                           names ? "; and process " : "watches process ", to);
    if (!names && !pids)
        sn_buf_text(to, "watches nothing");
}

static bool takes_points(const struct sn_configuration *configuration)
{
    for (size_t i = 0; i < configuration->section_count; i++) {
        const struct sn_section_kind *kind = configuration->sections[i]->kind;
        if (kind->is_exporter && strcmp(kind->name, "usdt") != 0)
            return true;
    }
    return false;
}

static void explain_counters(struct sn_configuration *configuration,
                             const struct sn_settings *settings, struct sn_buf *to)
{
    char time[32];
    bool has_kernel = sn_settings_flag(settings, "kernel");
    if (!sn_settings_flag(settings, "enabled") || !takes_points(configuration)) {
        sn_buf_text(to, "no counters, only events");
        return;
    }
    if (!sn_settings_flag(settings, "runtime"))
        sn_buf_text(to, "what the kernel tells of each process");
    else {
        if (!say_list(configuration, settings, "counters", "counters and metrics of ", to))
            sn_buf_text(to, "the counters of the runtime and of ASP.NET Core");
        sn_buf_text(to, has_kernel ? ", and what the kernel tells" : "");
    }
    sn_buf_format(to, ", every %s", duration(settings, "interval", time));
}

static void explain_labels(struct sn_configuration *configuration,
                           const struct sn_settings *settings, struct sn_buf *to)
{
    (void)configuration;
    if (!settings->count)
        sn_buf_text(to, "no labels but the process's own");
    for (size_t i = 0; i < settings->count; i++)
        sn_buf_format(to, "%s%s=%s", i ? ", " : "everything is labelled ", settings->items[i].name,
                      settings->items[i].value);
}

static void explain_prometheus(struct sn_configuration *configuration,
                               const struct sn_settings *settings, struct sn_buf *to)
{
    (void)configuration;
    bool is_otel = strcmp(sn_settings_text(settings, "names"), "otel") == 0;
    const char *listen = sn_settings_text(settings, "listen");
    size_t size = strlen(listen);
    bool is_any_port = size >= 2 && strcmp(listen + size - 2, ":0") == 0;
    sn_buf_format(to, "serves http://%s%.*s%s%s, metrics named as %s", listen[0] == ':' ? "*" : "",
                  (int)(is_any_port ? size - 2 : size), listen, sn_settings_text(settings, "path"),
                  is_any_port ? " at a free port" : "",
                  is_otel ? "OpenTelemetry says" : "dotnet-monitor has them");
}

static void explain_waiting(const struct sn_settings *settings, struct sn_buf *to)
{
    char bytes[16];
    sn_buf_format(to, "; up to %s wait when it is away",
                  sn_text_bytes(sn_settings_number(settings, "queue"), bytes));
}

static void explain_graphite(struct sn_configuration *configuration,
                             const struct sn_settings *settings, struct sn_buf *to)
{
    (void)configuration;
    bool is_pickle = strcmp(sn_settings_text(settings, "protocol"), "pickle") == 0;
    const char *prefix = sn_settings_text(settings, "prefix");
    char shown[160];
    sn_buf_format(to, "sends %s to carbon at %s", is_pickle ? "pickles" : "lines",
                  sn_url_shown(sn_settings_text(settings, "address"), shown));
    if (prefix[0])
        sn_buf_format(to, ", paths begin with '%s'", prefix);
    sn_buf_text(to, sn_settings_flag(settings, "tags") ? ", labels are tags"
                                                       : ", labels are parts of the path");
    explain_waiting(settings, to);
}

static void explain_statsd(struct sn_configuration *configuration,
                           const struct sn_settings *settings, struct sn_buf *to)
{
    (void)configuration;
    const char *prefix = sn_settings_text(settings, "prefix");
    char shown[160];
    sn_buf_format(to, "sends to the StatsD server at %s",
                  sn_url_shown(sn_settings_text(settings, "address"), shown));
    if (prefix[0])
        sn_buf_format(to, ", names begin with '%s'", prefix);
    sn_buf_text(to, sn_settings_flag(settings, "tags") ? ", labels as DogStatsD's tags"
                                                       : ", labels are parts of the name");
    explain_waiting(settings, to);
}

static void explain_otlp(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_buf *to)
{
    size_t headers = 0;
    char shown[160];
    (void)sn_settings_list(configuration, settings, "header", &headers);
    sn_buf_format(to, "sends OTLP metrics to %s",
                  sn_url_shown(sn_settings_text(settings, "url"), shown));
    if (headers)
        sn_buf_format(to, " with %zu header%s of your own", headers, headers == 1 ? "" : "s");
    explain_waiting(settings, to);
}

static void explain_conditions(struct sn_configuration *configuration,
                               const struct sn_settings *settings, struct sn_buf *to)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, "where", &count);
    for (size_t i = 0; words && i < count; i++)
        sn_buf_format(to, "%s%s", i ? " and " : " where ", words[i]);
}

static void explain_usdt(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_buf *to)
{
    sn_buf_text(to, "hands events");
    bool is_chosen = say_list(configuration, settings, "profile", " of profile ", to) > 0;
    is_chosen |= say_list(configuration, settings, "providers", " of ", to) > 0;
    if (sn_settings_has(settings, "clrevents"))
        sn_buf_format(to, " of the runtime (%s)", sn_settings_text(settings, "clrevents"));
    else if (!is_chosen)
        sn_buf_text(to, " of the runtime (gc+exception+contention+threading+jit)");
    explain_conditions(configuration, settings, to);
    sn_buf_text(to, " to the probes of this process, while somebody listens");
}

static void explain_rule(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_buf *to)
{
    const char *aggregate = sn_settings_text(settings, "aggregate");
    const char *event = sn_settings_text(settings, "event");
    const char *keywords = sn_settings_text(settings, "keywords");
    char time[32];
    const struct sn_settings *counters = sn_configuration_find(configuration, "counters", "");
    if (strcmp(aggregate, "none") == 0)
        sn_buf_format(to, "sends %s of every", sn_settings_text(settings, "field"));
    else if (strcmp(aggregate, "count") == 0)
        sn_buf_format(to, "counts, every %s,", duration(counters, "interval", time));
    else
        sn_buf_format(to, "sends, every %s, the %s of %s of every",
                      duration(counters, "interval", time), aggregate,
                      sn_settings_text(settings, "field"));
    sn_buf_format(to, " event%s%s of %s (level %s%s%s)", event[0] ? " " : "", event,
                  sn_settings_text(settings, "provider"), sn_settings_text(settings, "level"),
                  keywords[0] ? ", keywords " : "", keywords);
    explain_conditions(configuration, settings, to);
    sn_buf_format(to, " as %s", sn_settings_text(settings, "path"));
    (void)say_list(configuration, settings, "to", " to ", to);
}

void sn_settings_explain(struct sn_configuration *configuration, const struct sn_settings *settings,
                         struct sn_buf *to)
{
    static const struct {
        const char *kind;
        explain_fn *explain;
    } parts[] = {{"targets", explain_targets},   {"counters", explain_counters},
                 {"labels", explain_labels},     {"prometheus", explain_prometheus},
                 {"graphite", explain_graphite}, {"statsd", explain_statsd},
                 {"otlp", explain_otlp},         {"usdt", explain_usdt},
                 {"rule", explain_rule}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (strcmp(parts[i].kind, settings->kind->name) == 0)
            parts[i].explain(configuration, settings, to);
    }
}

/* --- example --- */

static void write_sample(const struct sn_section_kind *kind, struct sn_buf *to)
{
    for (const char *at = kind->sample; *at;) {
        size_t size = strcspn(at, "\n");
        sn_buf_format(to, "# %.*s\n", (int)size, at);
        at += size + (at[size] == '\n');
    }
}

static void write_section(const struct sn_section_kind *kind, struct sn_buf *to)
{
    bool is_on = !kind->is_exporter || strcmp(kind->name, "prometheus") == 0;
    sn_buf_format(to, "\n# %s\n%s[%s%s]\n", kind->help, is_on && !kind->has_name ? "" : "# ",
                  kind->name, kind->has_name ? " NAME" : "");
    for (const struct sn_setting_key *key = kind->keys; key && key->name; key++) {
        const char *value = key->fallback ? key->fallback : key->example;
        sn_buf_format(to, "#   %s\n", key->help);
        if (value)
            sn_buf_format(to, "# %s = %s\n", key->name, value);
    }
    if (kind->sample) {
        sn_buf_text(to, kind->keys ? "#   for example\n" : "");
        write_sample(kind, to);
    }
}

void sn_settings_example(struct sn_buf *to)
{
    sn_buf_text(to, "# A configuration of sonde export. Every section and key there is; what is "
                    "commented out\n# shows the default, or an example where there is none. "
                    "'sonde config check FILE' explains a file.\n");
    for (const struct sn_section_kind *kind = sn_section_kinds; kind->name; kind++)
        write_section(kind, to);
}
