#include "sonde/provider.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/runtime_events.h"

#define RUNTIME_PROVIDER "Microsoft-Windows-DotNETRuntime"

/* Events asked for by provider have stacks, and stacks want names. */
#define NAMES_RUNDOWN 0x80020139u

/* The runtime takes a thousand providers; ids per filter are ours to bound. */
#define PROVIDER_LIMIT 1000u
#define ID_LIMIT       1024u
#define MEMORY_LIMIT   (1u << 20)

struct sonde_provider_set {
    struct sn_arena arena;
    struct sonde_provider *providers;
    size_t count;
    uint64_t rundown_keyword;
};

int sonde_provider_set_new(struct sonde_provider_set **ret_set, struct sonde_error *err)
{
    struct sonde_provider_set *set = calloc(1, sizeof(*set));
    if (!set)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    set->arena = sn_arena_with_limit(MEMORY_LIMIT);
    *ret_set = set;
    return SONDE_OK;
}

void sonde_provider_set_free(struct sonde_provider_set *set)
{
    if (!set)
        return;
    sn_arena_done(&set->arena);
    free(set->providers);
    free(set);
}

static struct sonde_provider *find(const struct sonde_provider_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcasecmp(set->providers[i].name, name) == 0)
            return &set->providers[i];
    }
    return NULL;
}

static int append(struct sonde_provider_set *set, const struct sonde_provider *provider,
                  struct sonde_error *err)
{
    if (set->count == PROVIDER_LIMIT)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u providers", PROVIDER_LIMIT);
    struct sonde_provider *providers =
        realloc(set->providers, (set->count + 1) * sizeof(*providers));
    if (!providers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for provider '%s'", provider->name);
    set->providers = providers;
    struct sonde_provider copy = *provider;
    copy.name = sn_arena_copy(&set->arena, provider->name, strlen(provider->name));
    if (provider->arguments)
        copy.arguments =
            sn_arena_copy(&set->arena, provider->arguments, strlen(provider->arguments));
    if (!copy.name || (provider->arguments && !copy.arguments))
        return sn_fail(err, SONDE_E_LIMIT, 0, "provider strings are too long");
    set->providers[set->count++] = copy;
    return SONDE_OK;
}

static int merge(struct sonde_provider_set *set, const struct sonde_provider *provider,
                 struct sonde_error *err)
{
    struct sonde_provider *known = find(set, provider->name);
    if (!known)
        return append(set, provider, err);
    if (provider->arguments && known->arguments &&
        strcmp(known->arguments, provider->arguments) != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "provider '%s' is asked for twice with different arguments", provider->name);
    known->keywords |= provider->keywords;
    if (provider->level > known->level)
        known->level = provider->level;
    if (!provider->arguments)
        return SONDE_OK;
    known->arguments = sn_arena_copy(&set->arena, provider->arguments, strlen(provider->arguments));
    if (!known->arguments)
        return sn_fail(err, SONDE_E_LIMIT, 0, "provider arguments are too long");
    return SONDE_OK;
}

/* --- profiles --- */

static const struct sonde_trace_profile *find_profile(const char *name, size_t size)
{
    size_t count;
    const struct sonde_trace_profile *profiles = sonde_trace_profiles(&count);
    for (size_t i = 0; i < count; i++) {
        if (strlen(profiles[i].name) == size && strncasecmp(profiles[i].name, name, size) == 0)
            return &profiles[i];
    }
    return NULL;
}

static int add_profile(struct sonde_provider_set *set, const char *name, size_t size,
                       struct sonde_error *err)
{
    const struct sonde_trace_profile *profile = find_profile(name, size);
    if (!profile)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "there is no profile '%.*s'; 'sonde trace --list-profiles' shows them",
                       (int)(size < 64 ? size : 64), name);
    set->rundown_keyword |= profile->rundown_keyword;
    for (size_t i = 0; i < profile->provider_count; i++) {
        int rc = merge(set, &profile->providers[i], err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sonde_provider_set_add_profiles(struct sonde_provider_set *set, const char *names,
                                    struct sonde_error *err)
{
    while (*names) {
        names += strspn(names, " ");
        size_t size = strcspn(names, ",");
        if (size) {
            int rc = add_profile(set, names, size, err);
            if (rc != SONDE_OK)
                return rc;
        }
        names += size + (names[size] == ',');
    }
    return SONDE_OK;
}

/* --- provider strings --- */

static bool parse_level(const char *text, uint8_t *ret_level)
{
    static const char *const names[] = {"logalways", "critical",      "error",
                                        "warning",   "informational", "verbose"};
    uint64_t number;
    if (sn_text_to_u64(text, UINT64_MAX, &number)) {
        *ret_level = number > 5 ? 5 : (uint8_t)number; /* as dotnet-trace does */
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strcasecmp(text, names[i]) == 0) {
            *ret_level = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* dotnet-trace reads keywords as hexadecimal with or without 0x. */
static bool parse_keywords(const char *text, uint64_t *ret_keywords)
{
    char prefixed[24] = "0x";
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    if (!*text || strlen(text) > 16)
        return false;
    memcpy(prefixed + 2, text, strlen(text) + 1);
    return sn_text_to_u64(prefixed, UINT64_MAX, ret_keywords);
}

/* Where the provider at `text` ends: at a comma outside double quotes. */
static size_t spec_length(const char *text)
{
    bool is_quoted = false;
    size_t length = 0;
    for (; text[length] && (is_quoted || text[length] != ','); length++) {
        if (text[length] == '"')
            is_quoted = !is_quoted;
    }
    return length;
}

/* Cuts `text` at its first colon and returns what is behind it, or NULL. */
static char *cut_at_colon(char *text)
{
    char *colon = text ? strchr(text, ':') : NULL;
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static int add_spec(struct sonde_provider_set *set, char *spec, struct sonde_error *err)
{
    char *keywords = cut_at_colon(spec);
    char *level = cut_at_colon(keywords);
    char *arguments = cut_at_colon(level);
    struct sonde_provider provider = {.name = spec, .keywords = UINT64_MAX, .level = 5};
    if (!*spec)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a provider has no name");
    if (keywords && *keywords && !parse_keywords(keywords, &provider.keywords))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "provider '%.64s': keywords '%.32s' are not hexadecimal", spec, keywords);
    if (level && *level && !parse_level(level, &provider.level))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "provider '%.64s': level '%.32s' is not 0 to 5 or a level's name", spec,
                       level);
    if (arguments && *arguments)
        provider.arguments = arguments;
    set->rundown_keyword |= NAMES_RUNDOWN;
    return merge(set, &provider, err);
}

int sonde_provider_set_add(struct sonde_provider_set *set, const char *specification,
                           struct sonde_error *err)
{
    while (*specification) {
        specification += strspn(specification, " ");
        size_t length = spec_length(specification);
        SN_AUTO(sn_free) char *spec = strndup(specification, length);
        if (!spec)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a provider");
        int rc = add_spec(set, spec, err);
        if (rc != SONDE_OK)
            return rc;
        specification += length + (specification[length] == ',');
    }
    return SONDE_OK;
}

int sonde_provider_set_add_clr(struct sonde_provider_set *set, const char *keywords,
                               const char *level, struct sonde_error *err)
{
    struct sonde_provider provider = {.name = RUNTIME_PROVIDER, .level = 5};
    if (level && *level && !parse_level(level, &provider.level))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "level '%.32s' is not 0 to 5 or a level's name",
                       level);
    if (!*keywords)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "no keyword of the runtime is named");
    while (*keywords) {
        size_t size = strcspn(keywords, "+,");
        uint64_t bit = 0;
        if (sn_clr_keyword_find(keywords, size, &bit) != 0)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "the runtime has no keyword '%.*s'",
                           (int)(size < 64 ? size : 64), keywords);
        provider.keywords |= bit;
        keywords += size + (keywords[size] != '\0');
    }
    set->rundown_keyword |= NAMES_RUNDOWN;
    return merge(set, &provider, err);
}

/* --- event ids --- */

static int parse_ids(const char *text, uint32_t *ids, size_t *ret_count, struct sonde_error *err)
{
    size_t count = 0;
    while (*text) {
        size_t size = strcspn(text, ",");
        char number[16] = "";
        uint64_t id = 0;
        if (size < sizeof(number))
            memcpy(number, text, size);
        if (!sn_text_to_u64(number, UINT32_MAX, &id))
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.32s' is not a list of event ids", text);
        if (count == ID_LIMIT)
            return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u event ids", ID_LIMIT);
        ids[count++] = (uint32_t)id;
        text += size + (text[size] == ',');
    }
    *ret_count = count;
    return count ? SONDE_OK : sn_fail(err, SONDE_E_ARGUMENT, 0, "no event ids are named");
}

/* Joins them with what was asked for before; to keep some and leave others out says nothing. */
static int add_ids(struct sonde_provider *provider, uint32_t *ids, size_t count, bool exclude,
                   struct sonde_error *err)
{
    if (provider->id_count && provider->ids_are_excluded != exclude)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "provider '%.64s': either name the events to keep or those to leave out",
                       provider->name);
    if (provider->id_count > ID_LIMIT - count)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u event ids", ID_LIMIT);
    if (provider->id_count)
        memcpy(ids + count, provider->ids, provider->id_count * sizeof(*ids));
    provider->ids = ids;
    provider->id_count += count;
    provider->ids_are_excluded = exclude;
    return SONDE_OK;
}

int sonde_provider_set_filter(struct sonde_provider_set *set, const char *specification,
                              bool exclude, struct sonde_error *err)
{
    const char *equals = strchr(specification, '=');
    SN_AUTO(sn_free)
    char *name = strndup(specification, equals ? (size_t)(equals - specification) : 0);
    struct sonde_provider *provider = name ? find(set, name) : NULL;
    if (!equals)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.64s' is not PROVIDER=ID,ID", specification);
    if (!provider)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "provider '%.*s' is filtered but not traced",
                       (int)(equals - specification < 64 ? equals - specification : 64),
                       specification);
    uint32_t *ids = sn_arena_alloc(&set->arena, ID_LIMIT * sizeof(*ids));
    if (!ids)
        return sn_fail(err, SONDE_E_LIMIT, 0, "too many event id filters");
    size_t count = 0;
    int rc = parse_ids(equals + 1, ids, &count, err);
    if (rc != SONDE_OK)
        return rc;
    return add_ids(provider, ids, count, exclude, err);
}

const struct sonde_provider *sonde_provider_set_get(const struct sonde_provider_set *set,
                                                    size_t *ret_count)
{
    *ret_count = set->count;
    return set->providers;
}

uint64_t sonde_provider_set_rundown(const struct sonde_provider_set *set)
{
    return set->rundown_keyword;
}
