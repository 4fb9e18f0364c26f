#include "sink/export/rule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "sink/export/path_set.h"

#define PATH_LIMIT   1024u
#define HEAPS_MAX    1000u /* put together at the same time */
#define PATHS_MAX    10000u
#define PATHS_BYTES  (4u << 20)
#define RECEIVER_MAX 16u
#define NAME_SIZE    128u

enum aggregate { NONE, COUNT, SUM, MIN, MAX, MEAN };

/* What is put together under one path of one process. */
struct heap {
    size_t path; /* its index in the rule's */
    const struct sn_export_labels *labels;
    uint64_t count;
    double sum;
    double min;
    double max;
};

struct sn_rule {
    struct sn_event_user user;
    const char *name;
    const char *field;
    const char *path;
    enum aggregate aggregate;
    struct sn_exporter *receivers[RECEIVER_MAX]; /* borrows */
    size_t receiver_count;
    struct sn_path_set paths; /* that it ever sent to */
    struct heap *heaps;       /* owns; HEAPS_MAX of them */
    size_t heap_count;
    struct sn_table by_path; /* of path and process to index in `heaps` */
    struct sn_buf text;      /* the path of the present event */
    uint64_t dropped_count;
};

/* --- paths --- */

/* A value is one part of a path: what would divide it becomes an underscore. */
static void append_part(struct sn_buf *to, const char *text)
{
    if (!*text)
        sn_buf_text(to, "none");
    for (; *text; text++) {
        bool divides = *text == '.' || *text == '/' || *text == '\\' || (unsigned char)*text <= ' ';
        sn_buf_u8(to, divides ? '_' : (uint8_t)*text);
    }
}

static void append_value(struct sn_buf *to, const struct sonde_value *value)
{
    char text[32];
    switch (value->type) {
    case SONDE_TYPE_BOOL:
    case SONDE_TYPE_UINT: sn_buf_decimal(to, value->number); break;
    case SONDE_TYPE_INT:
    case SONDE_TYPE_TIME: sn_buf_format(to, "%" PRId64, (int64_t)value->number); break;
    case SONDE_TYPE_REAL: append_part(to, sn_text_real(value->real, text)); break;
    case SONDE_TYPE_TEXT: append_part(to, value->text); break;
    default: sn_buf_text(to, "none"); break;
    }
}

static void append_named(struct sn_rule *rule, const char *name, struct sonde_event *event,
                         const struct sn_export_labels *labels)
{
    struct sonde_event_info info;
    struct sonde_value value;
    sonde_event_info(event, &info);
    if (strcmp(name, "event") == 0)
        append_part(&rule->text, info.name);
    else if (strcmp(name, "provider") == 0)
        append_part(&rule->text, info.provider);
    else if (strcmp(name, "process") == 0)
        append_part(&rule->text, labels->process->name);
    else if (strcmp(name, "pid") == 0)
        sn_buf_decimal(&rule->text, labels->process->pid);
    else if (strcmp(name, "rule") == 0)
        append_part(&rule->text, rule->name);
    else if (strcmp(name, "field") == 0)
        append_part(&rule->text, rule->field);
    else {
        (void)sonde_event_field(event, name, &value);
        append_value(&rule->text, &value);
    }
}

/* The path with its names filled in; "" when it is longer than a path can be. */
static const char *fill_in(struct sn_rule *rule, struct sonde_event *event,
                           const struct sn_export_labels *labels)
{
    const char *at = rule->path;
    sn_buf_clear(&rule->text);
    while (*at) {
        size_t plain = strcspn(at, "{");
        sn_buf_append(&rule->text, at, plain);
        at += plain;
        if (!*at)
            break;
        char name[NAME_SIZE] = "";
        size_t size = strcspn(++at, "}");
        memcpy(name, at, size < NAME_SIZE ? size : NAME_SIZE - 1);
        append_named(rule, name, event, labels);
        at += size + (at[size] == '}');
    }
    return sn_buf_string(&rule->text);
}

/* --- numbers --- */

static bool read_number(const struct sn_rule *rule, struct sonde_event *event, double *ret_number)
{
    struct sonde_value value;
    *ret_number = 1;
    if (!rule->field[0])
        return true;
    if (!sonde_event_field(event, rule->field, &value))
        return false;
    switch (value.type) {
    case SONDE_TYPE_BOOL:
    case SONDE_TYPE_UINT: *ret_number = (double)value.number; return true;
    case SONDE_TYPE_INT: *ret_number = (double)(int64_t)value.number; return true;
    case SONDE_TYPE_REAL: *ret_number = value.real; return true;
    default: return false;
    }
}

static void send_number(struct sn_rule *rule, const char *path,
                        const struct sn_export_labels *labels, double value, uint64_t utc_ns)
{
    for (size_t i = 0; i < rule->receiver_count; i++)
        rule->receivers[i]->ops->number(rule->receivers[i], path, labels, value, utc_ns);
}

static struct heap *find_heap(struct sn_rule *rule, size_t path,
                              const struct sn_export_labels *labels)
{
    uint64_t key = (uint64_t)path << 32 | labels->process->pid;
    uint64_t *index = sn_table_find(&rule->by_path, key);
    if (index)
        return &rule->heaps[*index];
    index = rule->heap_count < HEAPS_MAX ? sn_table_put(&rule->by_path, key) : NULL;
    if (!index)
        return NULL;
    *index = rule->heap_count;
    struct heap *heap = &rule->heaps[rule->heap_count++];
    *heap = (struct heap){.path = path, .labels = labels};
    return heap;
}

static bool put_together(struct sn_rule *rule, size_t path, const struct sn_export_labels *labels,
                         double number)
{
    struct heap *heap = find_heap(rule, path, labels);
    if (!heap)
        return false;
    heap->min = !heap->count || number < heap->min ? number : heap->min;
    heap->max = !heap->count || number > heap->max ? number : heap->max;
    heap->sum += number;
    heap->count++;
    return true;
}

static void take(struct sn_event_user *user, struct sonde_event *event,
                 const struct sn_export_labels *labels)
{
    struct sn_rule *rule = (struct sn_rule *)user;
    struct sonde_event_info info;
    double number;
    size_t index = 0;
    bool is_taken = read_number(rule, event, &number);
    const char *path = is_taken ? fill_in(rule, event, labels) : "";
    if (!path[0] || !sn_path_set_take(&rule->paths, path, &index))
        is_taken = false;
    else if (rule->aggregate != NONE)
        is_taken = put_together(rule, index, labels, number);
    else {
        sonde_event_info(event, &info);
        send_number(rule, path, labels, number, info.utc_ns ? info.utc_ns : sn_clock_utc_ns());
    }
    rule->dropped_count += !is_taken;
}

static double result_of(const struct sn_rule *rule, const struct heap *heap)
{
    switch (rule->aggregate) {
    case COUNT: return (double)heap->count;
    case MIN: return heap->min;
    case MAX: return heap->max;
    case MEAN: return heap->sum / (double)heap->count;
    default: return heap->sum;
    }
}

void sn_rule_flush(struct sn_rule *rule)
{
    uint64_t now = sn_clock_utc_ns();
    for (size_t i = 0; i < rule->heap_count; i++) {
        const struct heap *heap = &rule->heaps[i];
        send_number(rule, rule->paths.paths[heap->path], heap->labels, result_of(rule, heap), now);
    }
    rule->heap_count = 0;
    sn_table_clear(&rule->by_path);
}

/* --- life --- */

static enum aggregate read_aggregate(const char *word)
{
    static const char *const words[] = {"none", "count", "sum", "min", "max", "mean"};
    size_t i = 0;
    while (i + 1 < sizeof(words) / sizeof(*words) && strcmp(words[i], word) != 0)
        i++;
    return (enum aggregate)i;
}

static int pick_receivers(struct sn_rule *rule, struct sn_configuration *configuration,
                          const struct sn_settings *settings, struct sn_exporter *const *exporters,
                          size_t exporter_count, struct sonde_error *err)
{
    size_t count = 0;
    const char *const *words = sn_settings_list(configuration, settings, "to", &count);
    if (!words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a rule");
    for (size_t i = 0; i < exporter_count; i++) {
        const char *name = exporters[i]->settings->name;
        for (size_t k = 0; k < count && exporters[i]->ops->number; k++) {
            bool is_meant = strcmp(words[k], name[0] ? name : exporters[i]->ops->name) == 0;
            if (is_meant && rule->receiver_count < RECEIVER_MAX)
                rule->receivers[rule->receiver_count++] = exporters[i];
        }
    }
    return SONDE_OK;
}

int sn_rule_open(struct sn_configuration *configuration, const struct sn_settings *settings,
                 struct sn_exporter *const *exporters, size_t exporter_count,
                 struct sn_rule **ret_rule, struct sonde_error *err)
{
    struct sn_rule *rule = calloc(1, sizeof(*rule));
    if (!rule)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a rule");
    const char *event = sn_settings_text(settings, "event");
    rule->user.event = event[0] ? event : NULL;
    rule->user.take = take;
    rule->name = settings->name;
    rule->field = sn_settings_text(settings, "field");
    rule->path = sn_settings_text(settings, "path");
    rule->aggregate = read_aggregate(sn_settings_text(settings, "aggregate"));
    rule->by_path = sn_table_with_limit(HEAPS_MAX);
    rule->paths = sn_path_set_with_limit(PATHS_MAX, PATHS_BYTES);
    rule->text = sn_buf_with_limit(PATH_LIMIT);
    rule->heaps = rule->aggregate == NONE ? NULL : calloc(HEAPS_MAX, sizeof(*rule->heaps));
    int rc = rule->aggregate != NONE && !rule->heaps
                 ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a rule")
                 : sn_event_choice_of_rule(&rule->user.choice, configuration, settings, err);
    if (rc == SONDE_OK)
        rc = pick_receivers(rule, configuration, settings, exporters, exporter_count, err);
    if (rc == SONDE_OK)
        *ret_rule = rule;
    else
        sn_rule_free(rule);
    return rc;
}

void sn_rule_free(struct sn_rule *rule)
{
    if (!rule)
        return;
    free(rule->heaps);
    sn_path_set_done(&rule->paths);
    sn_table_done(&rule->by_path);
    sn_buf_done(&rule->text);
    sn_event_choice_done(&rule->user.choice);
    free(rule);
}

struct sn_event_user *sn_rule_user(struct sn_rule *rule)
{
    return &rule->user;
}

uint64_t sn_rule_dropped(const struct sn_rule *rule)
{
    return rule->dropped_count;
}
