#include "sink/export/export_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/own.h"

#define TEXT_LIMIT  (1u << 20) /* of all labels of a point */
#define LABEL_LIMIT 16384u     /* of one, escaped */

/* What a set is built with. */
struct building {
    struct sn_label_set *set;
    const struct sn_label_rules *rules;
    struct sn_buf text;
    size_t fixed; /* how many are not of the point */
    bool failed;
};

static const char *render(struct building *building, const char *text,
                          void (*put)(struct sn_buf *to, const char *text))
{
    sn_buf_clear(&building->text);
    put(&building->text, text);
    if (building->text.failed)
        return NULL;
    return sn_arena_copy(&building->set->arena, building->text.bytes, building->text.size);
}

static bool is_taken(const struct building *building, const char *name)
{
    if (strcmp(name, building->rules->reserved) == 0)
        return true;
    for (size_t i = 0; i < building->fixed; i++) {
        if (strcmp(building->set->items[i].name, name) == 0)
            return true;
    }
    return false;
}

static const char *exported_name(struct building *building, const char *name)
{
    sn_buf_clear(&building->text);
    sn_buf_text(&building->text, "exported_");
    sn_buf_text(&building->text, name);
    return sn_arena_copy(&building->set->arena, building->text.bytes, building->text.size);
}

static void add(struct building *building, const char *name, const char *value)
{
    struct sn_label_set *set = building->set;
    if (!value || !*value || building->failed)
        return;
    struct sonde_tag *items =
        sn_array_room(set->items, set->count, &set->capacity, sizeof(*set->items));
    const char *shown = render(building, name, building->rules->put_name);
    if (items)
        set->items = items;
    if (shown && is_taken(building, shown))
        shown = exported_name(building, shown);
    const char *content = render(building, value, building->rules->put_value);
    building->failed = !items || !shown || !content;
    if (!building->failed && *content)
        set->items[set->count++] = (struct sonde_tag){shown, content};
}

/* What the configuration calls the same stands for it. */
static void add_own(struct building *building, const struct sn_export_labels *labels,
                    const char *name, const char *value)
{
    for (size_t i = 0; i < labels->extra_count; i++) {
        if (strcmp(labels->extra[i].name, name) == 0)
            return;
    }
    add(building, name, value);
}

static void add_process(struct building *building, const struct sn_export_labels *labels)
{
    const struct sonde_process *process = labels->process;
    char pid[16];
    (void)snprintf(pid, sizeof(pid), "%u", process->pid);
    add_own(building, labels, "pid", pid);
    add_own(building, labels, building->rules->process, process->name);
    add_own(building, labels, "user", process->user);
    add_own(building, labels, "container", process->container);
}

static void add_scope(struct building *building, const struct sn_export_labels *labels,
                      const struct sonde_point *point)
{
    add_own(building, labels, "otel_scope_name", point->provider);
    add_own(building, labels, "otel_scope_version", point->version);
}

static void add_all(struct building *building, const struct sonde_point *point,
                    const struct sn_export_labels *labels)
{
    const struct sn_label_rules *rules = building->rules;
    if (labels->process)
        add_process(building, labels);
    add_own(building, labels, "host", labels->host);
    if (point && rules->with_scope && point->origin != SONDE_POINT_KERNEL)
        add_scope(building, labels, point);
    building->fixed = building->set->count;
    for (size_t i = 0; i < labels->extra_count; i++)
        add(building, labels->extra[i].name, labels->extra[i].value);
    building->fixed = building->set->count;
    for (size_t i = 0; point && i < point->tag_count; i++)
        add(building, point->tags[i].name, point->tags[i].value);
}

static int by_name(const void *a, const void *b)
{
    const struct sonde_tag *left = a;
    const struct sonde_tag *right = b;
    int order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->value, right->value);
}

static const char *join(struct building *building, const char *left, const char *right)
{
    sn_buf_clear(&building->text);
    sn_buf_text(&building->text, left);
    sn_buf_text(&building->text, building->rules->joiner);
    sn_buf_text(&building->text, right);
    if (building->text.failed)
        return left; /* many more than anyone can read have become one */
    return sn_arena_copy(&building->set->arena, building->text.bytes, building->text.size);
}

/* Names that were different and became the same are one label with all their values. */
static void merge_same(struct building *building)
{
    struct sn_label_set *set = building->set;
    struct sonde_tag *items = set->items;
    size_t kept = 0;
    for (size_t i = 0; items && i < set->count && !building->failed; i++) {
        struct sonde_tag *last = kept ? &items[kept - 1] : NULL;
        if (last && strcmp(last->name, items[i].name) == 0) {
            last->value = join(building, last->value, items[i].value);
            building->failed = !last->value;
        } else {
            items[kept++] = items[i];
        }
    }
    set->count = kept;
}

bool sn_label_set_init(struct sn_label_set *set, const struct sn_label_rules *rules,
                       const struct sonde_point *point, const struct sn_export_labels *labels)
{
    *set = (struct sn_label_set){.arena = sn_arena_with_limit(TEXT_LIMIT)};
    struct building building = {.set = set, .rules = rules, .text = sn_buf_with_limit(LABEL_LIMIT)};
    add_all(&building, point, labels);
    if (!building.failed && set->count)
        qsort(set->items, set->count, sizeof(*set->items), by_name);
    merge_same(&building);
    sn_buf_done(&building.text);
    if (building.failed)
        sn_label_set_done(set);
    return !building.failed;
}

void sn_label_set_done(struct sn_label_set *set)
{
    free(set->items);
    sn_arena_done(&set->arena);
    *set = (struct sn_label_set){0};
}
