/* Which log messages are wanted: what a runtime is asked for, and what is kept of what it sends. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "sonde/log.h"

#define LOGGING "Microsoft-Extensions-Logging"
#define TASKS   "System.Threading.Tasks.TplEventSource"

#define JSON_MESSAGES      0x8u  /* messages with all there is, and scopes */
#define FLOWING_ACTIVITIES 0x80u /* without which nothing tells in which scope a message is */
#define EVERYTHING         5u
#define INFORMATIONAL      4u

#define RULES_MAX   256u
#define SPECS_LIMIT 65536u

struct rule {
    char *category; /* owns; the beginning of names */
    size_t size;
    int level;
};

struct sonde_log_filter {
    bool is_programs; /* what no rule is about is as the program wants it */
    int level;
    struct rule *rules; /* owns */
    size_t count;
    size_t capacity;
    struct sn_buf specs;
    struct sonde_provider providers[2];
};

static const char *const level_names[] = {"trace", "debug",    "information", "warning",
                                          "error", "critical", "none"};
#define LEVEL_COUNT (sizeof(level_names) / sizeof(*level_names))

const char *sonde_log_level_name(int level)
{
    return level >= 0 && (size_t)level < LEVEL_COUNT ? level_names[level] : "unknown";
}

static int read_level(const char *text, int *ret_level, struct sonde_error *err)
{
    uint64_t number = LEVEL_COUNT;
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        size_t size = strlen(text);
        /* "info", "warn" and "crit" too */
        if (size >= 4 && strncasecmp(level_names[i], text, size) == 0)
            number = i;
    }
    if (number == LEVEL_COUNT && !sn_text_to_u64(text, SONDE_LOG_NONE, &number))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%.32s' is not a level: trace, debug, information, warning, error, "
                       "critical or none",
                       text);
    *ret_level = (int)number;
    return SONDE_OK;
}

int sonde_log_filter_new(const char *level, struct sonde_log_filter **ret_filter,
                         struct sonde_error *err)
{
    struct sonde_log_filter *filter = calloc(1, sizeof(*filter));
    if (!filter)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a filter of messages");
    filter->is_programs = !level;
    filter->specs = sn_buf_with_limit(SPECS_LIMIT);
    int rc = level ? read_level(level, &filter->level, err) : SONDE_OK;
    if (rc != SONDE_OK)
        sonde_log_filter_free(filter);
    else
        *ret_filter = filter;
    return rc;
}

void sonde_log_filter_free(struct sonde_log_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++)
        free(filter->rules[i].category);
    free(filter->rules);
    sn_buf_done(&filter->specs);
    free(filter);
}

int sonde_log_filter_add(struct sonde_log_filter *filter, const char *text, struct sonde_error *err)
{
    const char *equals = strrchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : 0;
    struct rule rule = {0};
    if (size && text[size - 1] == '*')
        size--;
    if (!equals || equals == text)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.64s' is not CATEGORY=LEVEL, as Shop.*=debug",
                       text);
    if (strcspn(text, ":;\"*") < size) /* the runtime has no way to write those */
        return sn_fail(err, SONDE_E_ARGUMENT, strcspn(text, ":;\"*"),
                       "'%.64s': a category has no : ; \" in it, and * only at its end", text);
    int rc = read_level(equals + 1, &rule.level, err);
    if (rc != SONDE_OK)
        return rc;
    if (filter->count == RULES_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u categories", RULES_MAX);
    struct rule *rules =
        sn_array_room(filter->rules, filter->count, &filter->capacity, sizeof(*rules));
    if (rules)
        filter->rules = rules;
    rule.size = size;
    rule.category = strndup(text, size);
    if (!rules || !rule.category) {
        free(rule.category);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a filter of messages");
    }
    filter->rules[filter->count++] = rule;
    return SONDE_OK;
}

/* As the loggers' own rule: the longest beginning, whatever the case. */
bool sonde_log_filter_holds(const struct sonde_log_filter *filter, const char *category, int level)
{
    const struct rule *best = NULL;
    for (size_t i = 0; i < filter->count; i++) {
        const struct rule *rule = &filter->rules[i];
        if (strncasecmp(rule->category, category, rule->size) == 0 &&
            (!best || rule->size >= best->size))
            best = rule;
    }
    if (!best)
        return filter->is_programs || level >= filter->level;
    return level >= best->level;
}

/* Levels as numbers: there is no word for none. */
static void write_specs(struct sonde_log_filter *filter)
{
    struct sn_buf *specs = &filter->specs;
    sn_buf_clear(specs);
    sn_buf_text(specs, "FilterSpecs=\"");
    if (filter->is_programs)
        sn_buf_text(specs, "UseAppFilters");
    else
        sn_buf_format(specs, "*:%d", filter->level);
    for (size_t i = 0; i < filter->count; i++)
        sn_buf_format(specs, ";%s*:%d", filter->rules[i].category, filter->rules[i].level);
    sn_buf_text(specs, "\"");
}

const struct sonde_provider *sonde_log_filter_providers(struct sonde_log_filter *filter,
                                                        size_t *ret_count)
{
    write_specs(filter);
    if (filter->specs.failed)
        return NULL;
    filter->providers[0] = (struct sonde_provider){.name = LOGGING,
                                                   .keywords = JSON_MESSAGES,
                                                   .level = EVERYTHING,
                                                   .arguments = sn_buf_string(&filter->specs)};
    filter->providers[1] = (struct sonde_provider){
        .name = TASKS, .keywords = FLOWING_ACTIVITIES, .level = INFORMATIONAL};
    *ret_count = 2;
    return filter->providers;
}
