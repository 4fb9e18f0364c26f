#include "cli/monitor_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"

#define TEXT_LIMIT     (1u << 20)
#define INTERVAL_S     5.0
#define INTERVAL_S_MAX 86400.0
#define HTTP_PORT      "80"
#define HTTPS_PORT     "443"

static const char *const standard_counters[] = {"EventCounters\\System.Runtime",
                                                "EventCounters\\Microsoft.AspNetCore.Hosting",
                                                "EventCounters\\Grpc.AspNetCore.Server"};

void sn_monitor_plan_done(struct sn_monitor_plan *plan)
{
    sn_arena_done(&plan->arena);
}

static const char *keep(struct sn_monitor_plan *plan, struct sn_buf *text)
{
    return text->failed ? NULL : sn_arena_copy(&plan->arena, text->bytes, text->size);
}

/* --- where it listens --- */

/* "https://localhost:52323" as "localhost:52323"; * and + are every address. */
static const char *read_address(struct sn_monitor_plan *plan, const char *url, size_t size,
                                bool is_tls)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    const char *host = strstr(url, "://") + 3;
    size_t length = size - (size_t)(host - url);
    length = strcspn(host, "/;") < length ? strcspn(host, "/;") : length;
    const char *bracket = memchr(host, ']', length);
    const char *colon = memrchr(host, ':', length);
    bool has_port = colon && (!bracket || colon > bracket);
    size_t host_size = has_port ? (size_t)(colon - host) : length;
    bool is_any = host_size == 1 && (*host == '*' || *host == '+');
    if (!is_any)
        sn_buf_append(&text, host, host_size);
    sn_buf_u8(&text, ':');
    if (has_port)
        sn_buf_append(&text, colon + 1, length - host_size - 1);
    else
        sn_buf_text(&text, is_tls ? HTTPS_PORT : HTTP_PORT);
    return keep(plan, &text);
}

static int add_place(struct sn_monitor_plan *plan, const char *url, size_t size,
                     enum sn_place_tag tag, struct sonde_error *err)
{
    bool is_tls = strncasecmp(url, "https://", 8) == 0;
    if (!is_tls && strncasecmp(url, "http://", 7) != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.*s' is not an http or https address",
                       (int)(size < 64 ? size : 64), url);
    if (plan->options.place_count == SN_PLACES_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u addresses", SN_PLACES_MAX);
    size_t at = plan->options.place_count++;
    struct sn_http_place *place = &plan->options.places[at];
    place->address = read_address(plan, url, size, is_tls);
    place->tag = tag;
    if (!place->address)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an address");
    plan->options.is_tls[at] = is_tls;
    return SONDE_OK;
}

static int add_places(struct sn_monitor_plan *plan, const char *urls, enum sn_place_tag tag,
                      struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (const char *at = urls ? urls : ""; *at && rc == SONDE_OK;) {
        size_t size = strcspn(at, ";");
        if (size)
            rc = add_place(plan, at, size, tag, err);
        at += size + (at[size] == ';');
    }
    return rc;
}

/* The administrator's certificate, if there is one. */
static int read_certificate(const struct sn_monitor_settings *settings,
                            struct sn_monitor_plan *plan, struct sonde_error *err)
{
    const char *path = sn_monitor_settings_get(settings, "Kestrel:Certificates:Default:Path");
    const char *key = sn_monitor_settings_get(settings, "Kestrel:Certificates:Default:KeyPath");
    if (path && !key)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "Kestrel:Certificates:Default:KeyPath: certificates are taken as PEM files "
                       "with the key in a file of its own: openssl pkcs12 makes them of a .pfx");
    plan->options.tls_certificate = path;
    plan->options.tls_key = path ? key : NULL;
    return SONDE_OK;
}

/* --- lists of settings --- */

/* The value of SECTION:INDEX:MEMBER. */
static const char *member_of(const struct sn_monitor_settings *settings, const char *section,
                             size_t index, const char *member)
{
    char name[256];
    (void)snprintf(name, sizeof(name), "%s:%zu:%s", section, index, member);
    return sn_monitor_settings_get(settings, name);
}

static int read_filter(const struct sn_monitor_settings *settings, size_t index,
                       struct sn_process_filter *filter, struct sonde_error *err)
{
    static const char *const short_keys[] = {"ProcessId", "ProcessName", "CommandLine",
                                             "ManagedEntryPointAssemblyName"};
    const char *section = "DefaultProcess:Filters";
    const char *match = member_of(settings, section, index, "MatchType");
    const char *key = member_of(settings, section, index, "Key");
    filter->is_contained = match && strcasecmp(match, "Contains") == 0;
    filter->value = member_of(settings, section, index, "Value");
    for (size_t i = 0; i < 4 && !filter->value; i++) {
        key = short_keys[i];
        filter->value = member_of(settings, section, index, key);
    }
    int found = key ? sn_process_filter_find(key) : SN_PROCESS_ID;
    if (!filter->value || found < 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "DefaultProcess:Filters:%zu: it needs a Key (ProcessId, ProcessName, "
                       "CommandLine, ManagedEntryPointAssemblyName) and a Value",
                       index);
    filter->key = (enum sn_process_key)found;
    return SONDE_OK;
}

static bool has_element(const struct sn_monitor_settings *settings, const char *section,
                        size_t index)
{
    char name[256];
    (void)snprintf(name, sizeof(name), "%s:%zu", section, index);
    return sn_monitor_settings_within(settings, name, 0) < settings->count;
}

static int read_filters(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan,
                        struct sonde_error *err)
{
    size_t count = 0;
    int rc = SONDE_OK;
    while (rc == SONDE_OK && count < SN_MONITOR_PLAN_LIST_MAX &&
           has_element(settings, "DefaultProcess:Filters", count))
        rc = read_filter(settings, count, &plan->filters[count], err), count++;
    plan->options.default_process = plan->filters;
    plan->options.default_process_count = count;
    return rc;
}

/* --- counters --- */

static void add_counter(struct sn_monitor_plan *plan, const char *text)
{
    if (text && plan->options.counter_count < SN_MONITOR_PLAN_LIST_MAX)
        plan->counters[plan->options.counter_count++] = text;
}

/* "Meters\Name[a,b]" of Metrics:Meters:INDEX, and the same of providers. */
static void add_group(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan,
                      bool is_meter, size_t index)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    const char *section = is_meter ? "Metrics:Meters" : "Metrics:Providers";
    const char *name = member_of(settings, section, index, is_meter ? "MeterName" : "ProviderName");
    char member[64];
    const char *item;
    if (!name)
        return;
    sn_buf_format(&text, "%s\\%s", is_meter ? "Meters" : "EventCounters", name);
    for (size_t i = 0;; i++) {
        (void)snprintf(member, sizeof(member), "%s:%zu",
                       is_meter ? "InstrumentNames" : "CounterNames", i);
        item = member_of(settings, section, index, member);
        if (!item) {
            sn_buf_text(&text, i ? "]" : "");
            break;
        }
        sn_buf_format(&text, "%s%s", i ? "," : "[", item);
    }
    add_counter(plan, keep(plan, &text));
}

static void read_counters(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan)
{
    for (size_t i = 0; has_element(settings, "Metrics:Providers", i); i++)
        add_group(settings, plan, false, i);
    for (size_t i = 0; has_element(settings, "Metrics:Meters", i); i++)
        add_group(settings, plan, true, i);
    bool with_standard =
        sn_monitor_settings_flag(settings, "Metrics:IncludeDefaultProviders", true);
    for (size_t i = 0; with_standard && i < 3; i++)
        add_counter(plan, standard_counters[i]);
    plan->options.counters = plan->counters;
}

static int read_interval(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan,
                         struct sonde_error *err)
{
    const char *text = sn_monitor_settings_get(settings, "GlobalCounter:IntervalSeconds");
    double seconds = INTERVAL_S;
    if (text && (!sn_text_to_real(text, strlen(text), &seconds) || !(seconds >= 1) ||
                 seconds > INTERVAL_S_MAX))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "GlobalCounter:IntervalSeconds: '%.32s' is not between 1 and 86400", text);
    plan->options.interval_ns = (uint64_t)(seconds * SN_NS_PER_SECOND);
    return SONDE_OK;
}

/* --- where artefacts go --- */

/* "name=folder" of Egress:FileSystem:NAME:DirectoryPath. */
static void read_egress(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan)
{
    static const char section[] = "Egress:FileSystem";
    static const char ending[] = ":DirectoryPath";
    size_t at = sn_monitor_settings_within(settings, section, 0);
    for (; at < settings->count; at = sn_monitor_settings_within(settings, section, at + 1)) {
        const struct sn_monitor_setting *setting = &settings->items[at];
        size_t size = strlen(setting->name);
        size_t prefix = sizeof(section); /* with its colon */
        size_t suffix = sizeof(ending) - 1;
        if (size <= prefix + suffix || !setting->value ||
            strcasecmp(setting->name + size - suffix, ending) != 0 ||
            plan->options.egress_count == SN_MONITOR_PLAN_LIST_MAX)
            continue;
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
        sn_buf_append(&text, setting->name + prefix, size - prefix - suffix);
        sn_buf_format(&text, "=%s", setting->value);
        const char *kept = keep(plan, &text);
        if (kept)
            plan->egress[plan->options.egress_count++] = kept;
    }
    plan->options.egress = plan->egress;
}

/* --- all of it --- */

int sn_monitor_plan_make(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan,
                         struct sonde_error *err)
{
    bool has_metrics = sn_monitor_settings_flag(settings, "Metrics:Enabled", true);
    *plan = (struct sn_monitor_plan){.arena = sn_arena_with_limit(TEXT_LIMIT)};
    plan->options.is_dotnet_monitor = true;
    plan->options.prefix = "";
    plan->options.access.prefix = "";
    plan->options.no_store = true;
    plan->options.allows_plain = sn_monitor_settings_flag(settings, "AllowPlainHttp", false);
    plan->options.no_counters = !has_metrics;
    int rc = add_places(plan, sn_monitor_settings_get(settings, "urls"), SN_PLACE_API, err);
    if (rc == SONDE_OK && has_metrics)
        rc = add_places(plan, sn_monitor_settings_get(settings, "Metrics:Endpoints"),
                        SN_PLACE_METRICS, err);
    if (rc == SONDE_OK)
        rc = read_certificate(settings, plan, err);
    if (rc == SONDE_OK)
        rc = read_filters(settings, plan, err);
    if (rc == SONDE_OK)
        rc = read_interval(settings, plan, err);
    read_counters(settings, plan);
    read_egress(settings, plan);
    return rc;
}
