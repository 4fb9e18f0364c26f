#include "sink/export/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "sink/export/settings_parts.h"
#include "sink/export/settings_value.h"

#define TEXT_LIMIT    (4u << 20)
#define VALUE_LIMIT   (64u << 10)
#define SECTION_LIMIT 1000u
#define ITEM_LIMIT    1000u
#define PROBLEM_LIMIT 100u
#define NAMES_MAX     32u

/* --- the whole --- */

static int no_memory(struct sonde_error *err)
{
    return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the configuration");
}

void sn_configuration_free(struct sn_configuration *configuration)
{
    if (!configuration)
        return;
    for (size_t i = 0; i < configuration->section_count; i++)
        free(configuration->sections[i]->items);
    free(configuration->sections);
    free(configuration->problems);
    sn_arena_done(&configuration->texts);
    free(configuration);
}

static char *keep(struct sn_configuration *configuration, const char *text)
{
    return sn_arena_copy(&configuration->texts, text, strlen(text));
}

void sn_configuration_problem(struct sn_configuration *configuration, unsigned line,
                              bool is_warning, const char *format, ...)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(VALUE_LIMIT);
    va_list args;
    va_start(args, format);
    sn_buf_vformat(&text, format, args);
    va_end(args);
    configuration->error_count += !is_warning;
    if (configuration->problem_count == PROBLEM_LIMIT)
        return;
    struct sn_settings_problem *problems =
        sn_array_room(configuration->problems, configuration->problem_count,
                      &configuration->problem_capacity, sizeof(*problems));
    char *kept = keep(configuration, sn_buf_string(&text));
    if (problems)
        configuration->problems = problems;
    if (problems && kept)
        problems[configuration->problem_count++] =
            (struct sn_settings_problem){line, is_warning, kept};
}

static struct sn_settings *add_section(struct sn_configuration *configuration,
                                       const struct sn_section_kind *kind, const char *name)
{
    if (configuration->section_count == SECTION_LIMIT)
        return NULL;
    struct sn_settings **sections =
        sn_array_room(configuration->sections, configuration->section_count,
                      &configuration->section_capacity, sizeof(struct sn_settings *));
    if (!sections)
        return NULL;
    configuration->sections = sections;
    struct sn_settings *made = sn_arena_alloc(&configuration->texts, sizeof(*made));
    char *kept = keep(configuration, name);
    if (!made || !kept)
        return NULL;
    *made = (struct sn_settings){.kind = kind, .name = kept};
    sections[configuration->section_count++] = made;
    return made;
}

int sn_configuration_new(const char *path, struct sn_configuration **ret_configuration,
                         struct sonde_error *err)
{
    static const char *const always[] = {"targets", "counters", "labels"};
    SN_AUTO(sn_configuration_free) struct sn_configuration *made = calloc(1, sizeof(*made));
    if (!made)
        return no_memory(err);
    made->texts = sn_arena_with_limit(TEXT_LIMIT);
    made->path = keep(made, path);
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
        if (!made->path || !add_section(made, sn_section_kind_find(always[i]), ""))
            return no_memory(err);
    }
    *ret_configuration = SN_TAKE(made);
    return SONDE_OK;
}

int sn_configuration_fault(const struct sn_configuration *configuration, struct sonde_error *err)
{
    size_t at = 0;
    if (!configuration->error_count)
        return SONDE_OK;
    while (at < configuration->problem_count && configuration->problems[at].is_warning)
        at++;
    if (at == configuration->problem_count) /* counted, but there was no room to keep it */
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the configuration has %zu errors",
                       configuration->error_count);
    const struct sn_settings_problem *first = &configuration->problems[at];
    if (!configuration->path[0])
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s", first->text);
    if (!first->line)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s: %s", configuration->path, first->text);
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s:%u: %s", configuration->path, first->line,
                   first->text);
}

struct sn_settings *sn_configuration_find(const struct sn_configuration *configuration,
                                          const char *kind, const char *name)
{
    for (size_t i = 0; i < configuration->section_count; i++) {
        struct sn_settings *section = configuration->sections[i];
        if (strcmp(section->kind->name, kind) == 0 && strcmp(section->name, name) == 0)
            return section;
    }
    return NULL;
}

/* --- values --- */

static const struct sn_setting *find(const struct sn_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].name, key) == 0)
            return &settings->items[i];
    }
    return NULL;
}

bool sn_settings_has(const struct sn_settings *settings, const char *key)
{
    return find(settings, key) != NULL;
}

const char *sn_settings_text(const struct sn_settings *settings, const char *key)
{
    const struct sn_setting *given = find(settings, key);
    if (given)
        return given->value;
    const struct sn_setting_key *known = sn_setting_key_find(settings->kind, key);
    return known && known->fallback ? known->fallback : "";
}

uint64_t sn_settings_number(const struct sn_settings *settings, const char *key)
{
    const struct sn_setting *given = find(settings, key);
    const struct sn_setting_key *known = sn_setting_key_find(settings->kind, key);
    uint64_t number = 0;
    SN_AUTO(sn_buf_done) struct sn_buf ignored = sn_buf_with_limit(VALUE_LIMIT);
    if (given)
        return given->number;
    if (known && known->fallback)
        (void)sn_setting_read(known, known->fallback, &number, &ignored);
    return number;
}

/* The end of the word at `text`: a comma that is not inside brackets, or the end. */
static size_t word_size(const char *text)
{
    size_t size = 0;
    for (bool is_inside = false; text[size] && (is_inside || text[size] != ','); size++) {
        if (text[size] == '[' || text[size] == ']')
            is_inside = text[size] == '[';
    }
    return size;
}

static size_t count_words(const struct sn_setting *item)
{
    size_t count = 1;
    for (const char *at = item->value; item->key->type == SN_SETTING_LIST && *at; at++)
        count += *at == ',';
    return count;
}

static bool split(struct sn_configuration *configuration, const struct sn_setting *item,
                  const char **words, size_t *count)
{
    const char *at = item->value;
    while (*at) {
        size_t size = item->key->type == SN_SETTING_LIST ? word_size(at) : strlen(at);
        const char *next = at + size + (at[size] == ',');
        while (size && (*at == ' ' || *at == '\t'))
            at++, size--;
        while (size && (at[size - 1] == ' ' || at[size - 1] == '\t'))
            size--;
        if (size && !(words[(*count)++] = sn_arena_copy(&configuration->texts, at, size)))
            return false;
        at = next;
    }
    return true;
}

const char *const *sn_settings_list(struct sn_configuration *configuration,
                                    const struct sn_settings *settings, const char *key,
                                    size_t *ret_count)
{
    const struct sn_setting_key *known = sn_setting_key_find(settings->kind, key);
    struct sn_setting fallback = {.key = known, .value = sn_settings_text(settings, key)};
    bool is_given = sn_settings_has(settings, key);
    size_t most = is_given ? 0 : count_words(&fallback);
    for (size_t i = 0; i < settings->count; i++) {
        if (settings->items[i].key == known)
            most += count_words(&settings->items[i]);
    }
    const char **words = sn_arena_alloc(&configuration->texts, most * sizeof(*words));
    *ret_count = 0;
    if (!words || (!is_given && !split(configuration, &fallback, words, ret_count)))
        return NULL;
    for (size_t i = 0; i < settings->count; i++) {
        if (settings->items[i].key == known &&
            !split(configuration, &settings->items[i], words, ret_count))
            return NULL;
    }
    return words;
}

const char *sn_settings_title(const struct sn_settings *settings, char to[96])
{
    (void)snprintf(to, 96, "%s%s%.64s", settings->kind->name, settings->name[0] ? " " : "",
                   settings->name);
    return to;
}

int sn_settings_title_width(const struct sn_configuration *configuration)
{
    char title[96];
    size_t width = 16;
    for (size_t i = 0; i < configuration->section_count; i++) {
        size_t size = strlen(sn_settings_title(configuration->sections[i], title));
        width = size > width ? size : width;
    }
    return (int)width;
}

/* --- adding --- */

static void refuse_key(struct sn_configuration *configuration, const struct sn_settings *settings,
                       const char *name, unsigned line)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    SN_AUTO(sn_buf_done) struct sn_buf allowed = sn_buf_with_limit(VALUE_LIMIT);
    for (const struct sn_setting_key *key = settings->kind->keys; key->name; key++) {
        sn_buf_format(&allowed, "%s%s", count ? ", " : "", key->name);
        names[count++] = key->name;
    }
    const char *meant = sn_setting_nearest(name, names, count);
    if (meant)
        sn_configuration_problem(configuration, line, false,
                                 "unknown key '%s' in [%s], did you mean '%s'?", name,
                                 settings->kind->name, meant);
    else
        sn_configuration_problem(configuration, line, false,
                                 "unknown key '%s' in [%s]; it takes %s", name,
                                 settings->kind->name, sn_buf_string(&allowed));
}

static bool may_repeat(const struct sn_setting_key *key)
{
    return key && (key->type == SN_SETTING_LIST || key->type == SN_SETTING_LINES);
}

/* Whether `name` may be put into the section. */
static bool is_welcome(struct sn_configuration *configuration, const struct sn_settings *settings,
                       const char *name, unsigned line)
{
    const struct sn_setting_key *key = sn_setting_key_find(settings->kind, name);
    const struct sn_setting *before = find(settings, name);
    if (settings->kind->keys && !key)
        refuse_key(configuration, settings, name, line);
    else if (before && !may_repeat(key))
        sn_configuration_problem(configuration, line, false,
                                 "'%s' is given twice, first in line %u", name, before->line);
    else if (settings->count == ITEM_LIMIT)
        sn_configuration_problem(configuration, line, false, "more than %u keys in a section",
                                 ITEM_LIMIT);
    else
        return true;
    return false;
}

static int append(struct sn_configuration *configuration, struct sn_settings *settings,
                  const struct sn_setting *setting, struct sonde_error *err)
{
    struct sn_setting *items =
        sn_array_room(settings->items, settings->count, &settings->capacity, sizeof(*items));
    if (!items)
        return no_memory(err);
    settings->items = items;
    struct sn_setting kept = *setting;
    kept.name = keep(configuration, setting->name);
    kept.value = keep(configuration, setting->value);
    if (!kept.name || !kept.value)
        return no_memory(err);
    items[settings->count++] = kept;
    return SONDE_OK;
}

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

int sn_settings_add(struct sn_configuration *configuration, struct sn_settings *settings,
                    const char *name, const char *value, unsigned line, struct sonde_error *err)
{
    const struct sn_setting_key *key = sn_setting_key_find(settings->kind, name);
    SN_AUTO(sn_buf_done) struct sn_buf expanded = sn_buf_with_limit(VALUE_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf reason = sn_buf_with_limit(VALUE_LIMIT);
    struct sn_setting made = {.key = key, .name = name, .line = line};
    made.is_literal = !strstr(value, "${");
    if (!is_welcome(configuration, settings, name, line))
        return SONDE_OK;
    bool is_good = sn_setting_expand(value, &expanded, &reason);
    made.value = sn_buf_string(&expanded);
    if (!is_good)
        sn_configuration_problem(configuration, line, false, "%s: %s", name,
                                 sn_buf_string(&reason));
    else if (expanded.failed || has_control(made.value))
        sn_configuration_problem(configuration, line, false,
                                 "%s: longer than 64 KB, or with control characters in it", name);
    else if (key && !sn_setting_read(key, made.value, &made.number, &reason))
        sn_configuration_problem(configuration, line, false, "%s: '%s' is not %s", name,
                                 strpbrk(value, "@?") ? "..." : value, sn_buf_string(&reason));
    return append(configuration, settings, &made, err); /* bad ones too: they are given */
}

static void refuse_section(struct sn_configuration *configuration, const char *name, unsigned line)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    SN_AUTO(sn_buf_done) struct sn_buf allowed = sn_buf_with_limit(VALUE_LIMIT);
    for (const struct sn_section_kind *kind = sn_section_kinds; kind->name; kind++) {
        sn_buf_format(&allowed, "%s[%s]", count ? ", " : "", kind->name);
        names[count++] = kind->name;
    }
    const char *meant = sn_setting_nearest(name, names, count);
    if (meant)
        sn_configuration_problem(configuration, line, false,
                                 "unknown section [%s], did you mean [%s]?", name, meant);
    else
        sn_configuration_problem(configuration, line, false, "unknown section [%s]; there are %s",
                                 name, sn_buf_string(&allowed));
}

/* What is wrong with a section of that kind and name; false when nothing is. */
static bool refuse_name(struct sn_configuration *configuration, const struct sn_section_kind *kind,
                        const char *name, unsigned line)
{
    const struct sn_settings *before = sn_configuration_find(configuration, kind->name, name);
    if (kind->has_name && !name[0])
        sn_configuration_problem(configuration, line, false, "[%s] needs a name: [%s NAME]",
                                 kind->name, kind->name);
    else if (name[0] && !kind->may_repeat)
        sn_configuration_problem(configuration, line, false,
                                 "[%s] takes no name: there is one of them", kind->name);
    else if (name[0] && strpbrk(name, ",[]"))
        sn_configuration_problem(configuration, line, false,
                                 "'%s' is no name: without commas and brackets", name);
    else if (before && before->line)
        sn_configuration_problem(configuration, line, false,
                                 "[%s%s%s] is there twice, first in "
                                 "line %u%s",
                                 kind->name, name[0] ? " " : "", name, before->line,
                                 kind->may_repeat ? "; give each a name of its own" : "");
    else
        return false;
    return true;
}

int sn_settings_open(struct sn_configuration *configuration, const char *title, unsigned line,
                     struct sn_settings **ret_settings, struct sonde_error *err)
{
    char kind_name[NAMES_MAX + 1];
    size_t size = strcspn(title, " \t");
    const char *name = title + size + strspn(title + size, " \t");
    (void)snprintf(kind_name, sizeof(kind_name), "%.*s", (int)(size < 1000 ? size : 1000), title);
    const struct sn_section_kind *kind = sn_section_kind_find(kind_name);
    *ret_settings = NULL;
    if (!kind) {
        refuse_section(configuration, kind_name, line);
        return SONDE_OK;
    }
    if (refuse_name(configuration, kind, name, line))
        return SONDE_OK;
    struct sn_settings *settings = sn_configuration_find(configuration, kind->name, name);
    if (!settings && !(settings = add_section(configuration, kind, name)))
        return sn_fail(err, SONDE_E_LIMIT, line, "more than %u sections, or no memory for them",
                       SECTION_LIMIT);
    settings->line = line;
    *ret_settings = settings;
    return SONDE_OK;
}

int sn_configuration_set(struct sn_configuration *configuration, const char *section,
                         const char *key, const char *value, struct sonde_error *err)
{
    struct sn_settings *settings = NULL;
    int rc = sn_settings_open(configuration, section, 0, &settings, err);
    if (rc != SONDE_OK || !settings)
        return rc;
    return key ? sn_settings_add(configuration, settings, key, value, 0, err) : SONDE_OK;
}
