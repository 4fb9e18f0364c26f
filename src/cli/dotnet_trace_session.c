/* What dotnet-trace collects: its profiles, its provider strings, and which of them wins. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/dotnet_trace.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define SAMPLER "Microsoft-DotNETCore-SampleProfiler"

/* What .NET's client asks of a provider for which nobody says keywords. */
#define UNSAID_KEYWORDS 0xF00000000000ull

#define DEFAULT_RUNDOWN 0x80020139ull

const struct sn_dotnet_profile sn_dotnet_profiles[] = {
    {"dotnet-common", NULL,
     "The runtime's own events that cost little: collections, loading, JIT,\n"
     "exceptions, thread pool, tiering. The same as\n"
     "--providers \"" RUNTIME ":0x100003801D:4\"."},
    {"dotnet-sampled-thread-time", "collect",
     "Stacks of all managed threads, many times a second: where wall-clock time goes."},
    {"gc-verbose", NULL, "Collections, and a sample of what is allocated."},
    {"gc-collect", NULL, "Collections only; hardly costs anything."},
    {"database", NULL, "Commands of ADO.NET and Entity Framework."},
    {"cpu-sampling", "collect-linux", "CPU samples of the kernel."},
    {"thread-time", "collect-linux", "Context switches of the kernel."},
    {NULL, NULL, NULL},
};

/* --- putting together --- */

static struct sonde_provider *find(struct sn_dotnet_session *session, const char *name)
{
    for (size_t i = 0; i < session->count; i++) {
        if (strcasecmp(session->providers[i].name, name) == 0)
            return &session->providers[i];
    }
    return NULL;
}

static int append(struct sn_dotnet_session *session, const struct sonde_provider *provider,
                  const char *enabled_by)
{
    if (session->count == SN_DOTNET_PROVIDERS_MAX)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "More than %u providers are asked for.",
                              SN_DOTNET_PROVIDERS_MAX);
    session->enabled_by[session->count] = enabled_by;
    session->providers[session->count++] = *provider;
    return SN_DOTNET_OK;
}

/* --- --providers --- */

static bool read_level(const char *text, uint8_t *ret_level)
{
    static const char *const names[] = {"logalways", "critical",      "error",
                                        "warning",   "informational", "verbose"};
    uint64_t number;
    if (sn_text_to_u64(text, INT32_MAX, &number)) {
        *ret_level = number > 5 ? 5 : (uint8_t)number;
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcasecmp(names[i], text) == 0) {
            *ret_level = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static bool read_keywords(const char *text, uint64_t *ret_keywords)
{
    char prefixed[24] = "0x";
    if (text[0] == '0' && (text[1] | 0x20) == 'x')
        text += 2;
    if (!*text || strlen(text) > 16)
        return false;
    memcpy(prefixed + 2, text, strlen(text) + 1);
    return sn_text_to_u64(prefixed, UINT64_MAX, ret_keywords);
}

/* Takes away the backslash before what a shell made people escape. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        if (*text == '\\' && (text[1] == '"' || text[1] == '\\'))
            text++;
        *to++ = *text;
    }
    *to = '\0';
}

/* Cuts `text` at its first colon and returns what is behind it, or NULL. */
static char *cut_at_colon(char *text)
{
    char *colon = text ? strchr(text, ':') : NULL;
    if (colon)
        *colon++ = '\0';
    return colon;
}

static bool is_blank(const char *text)
{
    return !text || text[strspn(text, " \t")] == '\0';
}

static int widen(struct sonde_provider *known, const struct sonde_provider *more)
{
    if (known->arguments && more->arguments)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT,
                              "Provider \"%s\" is named twice, each time with arguments.",
                              known->name);
    bool is_always = !known->level || !more->level;
    known->level = is_always ? 0 : known->level > more->level ? known->level : more->level;
    known->keywords |= more->keywords;
    if (more->arguments)
        known->arguments = more->arguments;
    return SN_DOTNET_OK;
}

static int add_specification(struct sn_dotnet_session *session, char *text)
{
    char *keywords = cut_at_colon(text);
    char *level = cut_at_colon(keywords);
    char *arguments = cut_at_colon(level);
    struct sonde_provider provider = {.name = text, .level = 4};
    if (is_blank(text))
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "A provider has no name.");
    if (!is_blank(keywords) && !read_keywords(keywords, &provider.keywords))
        return sn_dotnet_fail(SN_DOTNET_TRACING,
                              "The keywords '%s' of provider '%s' are not hexadecimal.", keywords,
                              text);
    if (!is_blank(level) && !read_level(level, &provider.level))
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Unknown EventLevel: %s", level);
    if (!is_blank(arguments)) {
        unescape(arguments);
        provider.arguments = arguments;
    }
    struct sonde_provider *known = find(session, provider.name);
    return known ? widen(known, &provider) : append(session, &provider, "--providers");
}

/* Where the specification at `text` ends: at a comma outside double quotes. */
static size_t specification_size(const char *text)
{
    bool is_quoted = false;
    size_t size = 0;
    for (; text[size] && (is_quoted || text[size] != ','); size++) {
        if (text[size] == '"')
            is_quoted = !is_quoted;
    }
    return size;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t size = strlen(text);
    while (size && strchr(" \t", text[size - 1]))
        text[--size] = '\0';
    return text;
}

static int add_specifications(struct sn_dotnet_session *session, char *text)
{
    while (*text) {
        size_t size = specification_size(text);
        char *next = text + size + (text[size] == ',');
        text[size] = '\0';
        text = trim(text);
        int code = *text ? add_specification(session, text) : SN_DOTNET_OK;
        if (code != SN_DOTNET_OK)
            return code;
        text = next;
    }
    return SN_DOTNET_OK;
}

/* --- --profile --- */

static const struct sonde_trace_profile *find_ours(const char *name)
{
    size_t count;
    const struct sonde_trace_profile *profiles = sonde_trace_profiles(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(profiles[i].name, name) == 0)
            return &profiles[i];
    }
    return NULL;
}

static const struct sn_dotnet_profile *find_theirs(const char *name)
{
    for (const struct sn_dotnet_profile *profile = sn_dotnet_profiles; profile->name; profile++) {
        if (strcasecmp(profile->name, name) == 0)
            return profile;
    }
    return NULL;
}

static int add_profile(struct sn_dotnet_session *session, const char *name)
{
    const struct sn_dotnet_profile *theirs = find_theirs(name);
    const struct sonde_trace_profile *ours = find_ours(name);
    if (!theirs)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Invalid profile name: %s", name);
    if (!ours || (theirs->verb && strcmp(theirs->verb, "collect") != 0))
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "The profile '%s' is for `dotnet-trace %s` only.",
                              theirs->name, theirs->verb ? theirs->verb : "collect-linux");
    session->rundown_keyword |= ours->rundown_keyword;
    for (size_t i = 0; i < ours->provider_count; i++) {
        struct sonde_provider provider = ours->providers[i];
        if (strcmp(provider.name, SAMPLER) == 0)
            provider.keywords = UNSAID_KEYWORDS;
        int code =
            find(session, provider.name) ? SN_DOTNET_OK : append(session, &provider, "--profile");
        if (code != SN_DOTNET_OK)
            return code;
    }
    return SN_DOTNET_OK;
}

static int add_profiles(struct sn_dotnet_session *session, const char *names)
{
    SN_AUTO(sn_free) char *copy = strdup(names);
    char *rest = NULL;
    if (!copy)
        return sn_dotnet_fail(SN_DOTNET_UNKNOWN, "Out of memory.");
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        const char *name = trim(part);
        int code = *name ? add_profile(session, name) : SN_DOTNET_OK;
        if (code != SN_DOTNET_OK)
            return code;
    }
    return SN_DOTNET_OK;
}

/* --- --clrevents --- */

static void sonde_provider_set_free_auto(struct sonde_provider_set **slot)
{
    sonde_provider_set_free(*slot);
}

static int add_clr_events(struct sn_dotnet_session *session, const char *events, const char *level)
{
    struct sonde_error err = {0};
    SN_AUTO(sonde_provider_set_free) struct sonde_provider_set *set = NULL;
    uint8_t ignored;
    if (level && *level && !read_level(level, &ignored))
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "Unknown EventLevel: %s", level);
    if (sonde_provider_set_new(&set, &err) != SONDE_OK ||
        sonde_provider_set_add_clr(set, events, level && *level ? level : "4", &err) != SONDE_OK)
        return sn_dotnet_fail(SN_DOTNET_ARGUMENT, "%s", err.text);
    size_t count;
    struct sonde_provider provider = *sonde_provider_set_get(set, &count);
    provider.name = RUNTIME;
    session->clr_events_ignored = find(session, RUNTIME);
    return session->clr_events_ignored ? SN_DOTNET_OK : append(session, &provider, "--clrevents");
}

/* --- the whole --- */

int sn_dotnet_session_choose(struct sn_dotnet_session *session, const char *providers,
                             const char *profiles, const char *clr_events, const char *clr_level)
{
    session->text = strdup(providers ? providers : "");
    if (!session->text)
        return sn_dotnet_fail(SN_DOTNET_UNKNOWN, "Out of memory.");
    int code = add_specifications(session, session->text);
    if (code == SN_DOTNET_OK && profiles)
        code = add_profiles(session, profiles);
    if (code == SN_DOTNET_OK && clr_events && *clr_events)
        code = add_clr_events(session, clr_events, clr_level);
    if (!session->rundown_keyword)
        session->rundown_keyword = DEFAULT_RUNDOWN;
    return code;
}

void sn_dotnet_session_print(const struct sn_dotnet_session *session)
{
    static const char *const levels[] = {"LogAlways", "Critical",      "Error",
                                         "Warning",   "Informational", "Verbose"};
    if (session->clr_events_ignored)
        (void)puts("Warning: --providers or --profile has chosen the CLR provider already. "
                   "Ignoring --clrevents.");
    (void)printf("\n%-40s%-20s%-20s%s\n", "Provider Name", "Keywords", "Level", "Enabled By");
    for (size_t i = 0; i < session->count; i++) {
        const struct sonde_provider *provider = &session->providers[i];
        char level[32];
        (void)snprintf(level, sizeof(level), "%s(%u)", levels[provider->level], provider->level);
        (void)printf("%-40s0x%016" PRIX64 "  %-20s%s\n", provider->name, provider->keywords, level,
                     session->enabled_by[i]);
    }
    (void)putchar('\n');
}
