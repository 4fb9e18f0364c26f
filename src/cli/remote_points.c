#include "cli/remote_points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/remote.h"

#define ARENA_LIMIT   (256u << 20)
#define TAGS_MAX      64u
#define QUANTILES_MAX 64u
#define TEXT_LIMIT    (64u << 10)

static const struct {
    const char *name;
    int value;
} origins[] = {{"eventCounter", SONDE_POINT_EVENT_COUNTER},
               {"meter", SONDE_POINT_METER},
               {"kernel", SONDE_POINT_KERNEL}},
  kinds[] = {{"gauge", SONDE_POINT_GAUGE},
             {"mean", SONDE_POINT_MEAN},
             {"rate", SONDE_POINT_RATE},
             {"upDown", SONDE_POINT_UP_DOWN},
             {"histogram", SONDE_POINT_HISTOGRAM}};

static int find_origin(const char *name)
{
    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
        if (strcmp(origins[i].name, name) == 0)
            return origins[i].value;
    }
    return SONDE_POINT_METER;
}

static int find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].value;
    }
    return SONDE_POINT_GAUGE;
}

static const char *copy(struct sn_arena *arena, const char *text)
{
    size_t size = strnlen(text, TEXT_LIMIT);
    const char *kept = size ? sn_arena_copy(arena, text, size) : "";
    return kept ? kept : "";
}

uint64_t sn_remote_points_time(const json_t *object)
{
    const char *text = sn_remote_text(object, "time");
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    uint64_t scale = SN_NS_PER_SECOND;
    uint64_t fraction = 0;
    if (!rest)
        return 0;
    for (const char *at = rest + (*rest == '.'); *rest == '.' && *at >= '0' && *at <= '9'; at++) {
        scale /= 10;
        fraction += scale * (uint64_t)(*at - '0');
    }
    time_t seconds = timegm(&parts);
    return seconds > 0 ? (uint64_t)seconds * SN_NS_PER_SECOND + fraction : 0;
}

/* Tags one by one, and as the runtime writes them. */
static void read_tags(struct sn_arena *arena, const json_t *object, struct sonde_point *to)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    json_t *tags = json_object_get(object, "tags");
    const char *name;
    json_t *value;
    size_t room = json_object_size(tags) < TAGS_MAX ? json_object_size(tags) : TAGS_MAX;
    struct sonde_tag *items = room ? sn_arena_alloc(arena, room * sizeof(*items)) : NULL;
    to->tag_text = "";
    if (!items)
        return;
    json_object_foreach(tags, name, value)
    {
        if (!json_is_string(value) || to->tag_count == room)
            continue;
        sn_buf_format(&text, "%s%s=%s", to->tag_count ? "," : "", name, json_string_value(value));
        items[to->tag_count++] =
            (struct sonde_tag){copy(arena, name), copy(arena, json_string_value(value))};
    }
    to->tags = items;
    to->tag_text = copy(arena, sn_buf_string(&text));
}

static int compare_quantiles(const void *left, const void *right)
{
    const struct sonde_quantile *a = left;
    const struct sonde_quantile *b = right;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void read_quantiles(struct sn_arena *arena, const json_t *object, struct sonde_point *to)
{
    json_t *quantiles = json_object_get(object, "quantiles");
    const char *name;
    json_t *value;
    size_t size = json_object_size(quantiles);
    size_t room = size < QUANTILES_MAX ? size : QUANTILES_MAX;
    struct sonde_quantile *items = room ? sn_arena_alloc(arena, room * sizeof(*items)) : NULL;
    if (!items)
        return;
    json_object_foreach(quantiles, name, value)
    {
        char *end;
        double at = strtod(name, &end);
        if (json_is_number(value) && !*end && at >= 0 && at <= 1 && to->quantile_count < room)
            items[to->quantile_count++] = (struct sonde_quantile){at, json_number_value(value)};
    }
    qsort(items, to->quantile_count, sizeof(*items), compare_quantiles);
    to->quantiles = items;
}

static void read_point(struct sn_arena *arena, const json_t *object, int64_t offset_ns,
                       struct sonde_point *to)
{
    uint64_t pid = sn_remote_u64(object, "pid");
    uint64_t utc_ns = sn_remote_points_time(object);
    double seconds = sn_remote_real(object, "intervalSeconds");
    const char *display = sn_remote_text(object, "displayName");
    *to = (struct sonde_point){
        .pid = pid <= UINT32_MAX ? (uint32_t)pid : 0,
        .origin = find_origin(sn_remote_text(object, "origin")),
        .kind = find_kind(sn_remote_text(object, "kind")),
        .provider = copy(arena, sn_remote_text(object, "provider")),
        .version = copy(arena, sn_remote_text(object, "version")),
        .name = copy(arena, sn_remote_text(object, "name")),
        .unit = copy(arena, sn_remote_text(object, "unit")),
        .description = copy(arena, sn_remote_text(object, "description")),
        .time_ns = utc_ns + (uint64_t)offset_ns,
        .utc_ns = utc_ns,
        .interval_ns = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0,
        .is_provisional = sn_remote_bool(object, "provisional"),
        .value = sn_remote_real(object, "value"),
        .rate = sn_remote_real(object, "rate"),
        .total = sn_remote_real(object, "total"),
        .is_absolute = sn_remote_bool(object, "absolute"),
        .count = sn_remote_u64(object, "count"),
        .sum = sn_remote_real(object, "sum"),
        .min = sn_remote_real(object, "min"),
        .max = sn_remote_real(object, "max"),
        .deviation = sn_remote_real(object, "deviation"),
    };
    /* There, the value of one that goes both ways is where it stands. */
    if (to->kind == SONDE_POINT_UP_DOWN)
        to->value = sn_remote_real(object, "change");
    to->display_name = *display ? copy(arena, display) : to->name;
    read_tags(arena, object, to);
    read_quantiles(arena, object, to);
}

int sn_remote_points_compare(const struct sonde_point *left, const struct sonde_point *right)
{
    int order = strcmp(left->provider, right->provider);
    if (!order)
        order = strcmp(left->name, right->name);
    if (!order)
        order = strcmp(left->tag_text, right->tag_text);
    if (!order)
        order = left->pid < right->pid ? -1 : left->pid > right->pid;
    return order ? order : left->origin - right->origin;
}

static int compare(const void *left, const void *right)
{
    return sn_remote_points_compare(left, right);
}

int sn_remote_points_read(const json_t *list, int64_t offset_ns,
                          struct sn_remote_points *ret_points, struct sonde_error *err)
{
    size_t count = json_array_size(list);
    struct sn_remote_points points = {.arena = sn_arena_with_limit(ARENA_LIMIT)};
    if (!json_is_array(list))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the controller's counters are no list");
    if (count > SN_REMOTE_POINTS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the controller told more than %u counters",
                       SN_REMOTE_POINTS_MAX);
    points.items = sn_arena_alloc(&points.arena, (count + 1) * sizeof(*points.items));
    if (!points.items)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    for (size_t i = 0; i < count; i++) {
        const json_t *object = json_array_get(list, i);
        read_point(&points.arena, object, offset_ns, &points.items[points.count]);
        if (points.items[points.count].name[0])
            points.count++;
    }
    qsort(points.items, points.count, sizeof(*points.items), compare);
    *ret_points = points;
    return SONDE_OK;
}

void sn_remote_points_done(struct sn_remote_points *points)
{
    sn_arena_done(&points->arena);
    *points = (struct sn_remote_points){0};
}
