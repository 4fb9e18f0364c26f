/* `dotnet-monitor config show`: the settings as JSON, section by section. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/json.h"
#include "cli/monitor_settings.h"

#define DEPTH_MAX 16u
#define NOT_THERE ":NOT PRESENT:"
#define LEFT_OUT  ":REDACTED:"

static const char *const sections[] = {"urls",
                                       "Kestrel",
                                       "Templates",
                                       "CollectionRuleDefaults",
                                       "GlobalCounter",
                                       "CollectionRules",
                                       "CorsConfiguration",
                                       "DiagnosticPort",
                                       "InProcessFeatures",
                                       "Metrics",
                                       "Storage",
                                       "DefaultProcess",
                                       "Logging",
                                       "DotnetMonitorDebug",
                                       "Authentication",
                                       "Egress"};

/* What is open while settings are written in the order of their names. */
struct show {
    const struct sn_monitor_settings *settings;
    struct sn_buf *to;
    bool is_full;
    bool with_sources;
    char path[1024]; /* of the innermost that is open; "" at the top */
    unsigned depth;
    bool is_list[DEPTH_MAX + 1];
    bool has_member;
};

static void put_text(struct sn_buf *to, const char *text)
{
    struct sn_json json = sn_json_to(to);
    sn_json_text(&json, NULL, text);
}

static void put_line(struct show *show)
{
    sn_buf_text(show->to, show->has_member ? ",\n" : "\n");
    sn_buf_fill(show->to, ' ', 2 * (size_t)(show->depth + 1));
    show->has_member = true;
}

/* Whether everything directly in `path` is called 0, 1, 2, ... */
static bool is_list(const struct show *show, const char *path)
{
    char first[1100];
    size_t at;
    (void)snprintf(first, sizeof(first), "%s:0", path);
    at = sn_monitor_settings_within(show->settings, first, 0);
    return at < show->settings->count;
}

static bool is_secret(const struct show *show, const char *name)
{
    if (show->is_full)
        return false;
    if (strncasecmp(name, "Egress:FileSystem:", 18) == 0)
        return false;
    return strncasecmp(name, "Egress:", 7) == 0 || strcasestr(name, "Password") ||
           strcasecmp(name, "Authentication:MonitorApiKey:PublicKey") == 0;
}

static void close_one(struct show *show)
{
    show->depth--;
    sn_buf_u8(show->to, '\n');
    sn_buf_fill(show->to, ' ', 2 * (size_t)(show->depth + 1));
    sn_buf_u8(show->to, show->is_list[show->depth + 1] ? ']' : '}');
    char *colon = strrchr(show->path, ':');
    *(colon ? colon : show->path) = '\0';
    show->has_member = true;
}

/* Closes what `name` is not in. */
static void leave(struct show *show, const char *name)
{
    while (show->depth) {
        size_t size = strlen(show->path);
        if (strncasecmp(show->path, name, size) == 0 && name[size] == ':')
            return;
        close_one(show);
    }
}

static void put_key(struct show *show, const char *key, size_t size)
{
    struct sn_json json = sn_json_to(show->to);
    put_line(show);
    if (show->depth && show->is_list[show->depth])
        return;
    sn_json_bytes(&json, NULL, key, size);
    sn_buf_text(show->to, ": ");
}

/* Opens what leads to `name`; returns its last part. */
static const char *enter(struct show *show, const char *name)
{
    size_t used = strlen(show->path);
    const char *rest = name + used + (used ? 1 : 0);
    const char *colon;
    while ((colon = strchr(rest, ':')) && show->depth < DEPTH_MAX) {
        put_key(show, rest, (size_t)(colon - rest));
        (void)snprintf(show->path, sizeof(show->path), "%.*s", (int)(colon - name), name);
        show->depth++;
        show->is_list[show->depth] = is_list(show, show->path);
        sn_buf_u8(show->to, show->is_list[show->depth] ? '[' : '{');
        show->has_member = false;
        rest = colon + 1;
    }
    return rest;
}

static void put_setting(struct show *show, const struct sn_monitor_setting *setting)
{
    leave(show, setting->name);
    const char *key = enter(show, setting->name);
    put_key(show, key, strlen(key));
    put_text(show->to, is_secret(show, setting->name) ? LEFT_OUT : setting->value);
    if (show->with_sources)
        sn_buf_format(show->to, " /*%s*/", setting->source);
}

static void put_section(struct show *show, const char *section)
{
    size_t at = sn_monitor_settings_within(show->settings, section, 0);
    if (at == show->settings->count) {
        put_key(show, section, strlen(section));
        put_text(show->to, NOT_THERE);
        return;
    }
    for (; at < show->settings->count;
         at = sn_monitor_settings_within(show->settings, section, at + 1))
        put_setting(show, &show->settings->items[at]);
    leave(show, "");
}

void sn_monitor_settings_show(const struct sn_monitor_settings *settings, bool is_full,
                              bool with_sources, struct sn_buf *to)
{
    struct show show = {
        .settings = settings, .to = to, .is_full = is_full, .with_sources = with_sources};
    sn_buf_u8(to, '{');
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
        put_section(&show, sections[i]);
    sn_buf_text(to, "\n}\n");
}
