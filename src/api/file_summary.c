/* What is in a saved trace, counted. */
#include "api/file_summary.h"

#include <stdlib.h>
#include <string.h>

#include "api/walk.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/payload.h"

#define DAMAGE_LIMIT 64u
#define KIND_LIMIT   65536u
#define MEMORY_LIMIT (16u << 20)
#define RUNDOWN      "Microsoft-Windows-DotNETRuntimeRundown"

struct sonde_summary {
    struct sn_arena arena;
    struct sonde_file_totals totals;
    struct sonde_event_kind *kinds; /* by schema index until sorted */
    size_t kind_count;
    size_t kind_capacity;
    struct sonde_damage damages[DAMAGE_LIMIT];
    size_t damage_count;
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t program_first_ns; /* without the rundown */
    uint64_t program_last_ns;
};

static const char *keep(struct sonde_summary *summary, const char *text)
{
    const char *copy = sn_arena_copy(&summary->arena, text, strlen(text));
    return copy ? copy : "";
}

void sn_summary_damage(void *user, const struct sn_nettrace_damage *damage)
{
    struct sonde_summary *summary = user;
    if (summary->damage_count == DAMAGE_LIMIT)
        return;
    summary->damages[summary->damage_count++] = (struct sonde_damage){
        .offset = damage->offset, .bytes = damage->bytes, .text = keep(summary, damage->text)};
}

/* --- counting --- */

struct counter {
    struct sn_sink sink;
    struct sonde_summary *summary; /* borrows */
};

static struct sonde_event_kind *kind_of(struct sonde_summary *summary,
                                        const struct sn_schema *schema)
{
    uint32_t index = schema->index;
    if (index >= KIND_LIMIT)
        return NULL;
    if (index >= summary->kind_capacity) {
        size_t capacity = summary->kind_capacity ? summary->kind_capacity : 64;
        while (capacity <= index)
            capacity *= 2;
        struct sonde_event_kind *kinds = realloc(summary->kinds, capacity * sizeof(*kinds));
        if (!kinds)
            return NULL;
        memset(kinds + summary->kind_capacity, 0,
               (capacity - summary->kind_capacity) * sizeof(*kinds));
        summary->kinds = kinds;
        summary->kind_capacity = capacity;
    }
    struct sonde_event_kind *kind = &summary->kinds[index];
    if (!kind->provider) {
        kind->provider = keep(summary, schema->provider);
        kind->name = keep(summary, schema->name);
        kind->id = schema->event_id;
        kind->version = schema->version;
    }
    if (index >= summary->kind_count)
        summary->kind_count = index + 1u;
    return kind;
}

static bool is_decodable(const struct sn_event *event)
{
    if (!event->schema->has_layout)
        return true;
    struct sn_payload payload;
    struct sn_value value;
    int rc;
    sn_payload_start(&payload, event);
    do {
        rc = sn_payload_next(&payload, &value);
    } while (rc == SONDE_OK);
    return rc == SONDE_END;
}

static void widen(uint64_t *first, uint64_t *last, uint64_t time)
{
    if (!*first || time < *first)
        *first = time;
    if (time > *last)
        *last = time;
}

static int count_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct sonde_summary *summary = ((struct counter *)sink)->summary;
    if (event->schema == &sn_lost_schema)
        return SONDE_OK;
    struct sonde_event_kind *kind = kind_of(summary, event->schema);
    if (kind) {
        kind->count++;
        kind->stack_count += event->stack_depth != 0;
        kind->payload_bytes += event->payload_size;
        kind->undecoded_count += !is_decodable(event);
    }
    widen(&summary->first_ns, &summary->last_ns, event->time_ns);
    if (strcmp(event->schema->provider, RUNDOWN) != 0)
        widen(&summary->program_first_ns, &summary->program_last_ns, event->time_ns);
    return SONDE_OK;
}

static void free_counter(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops counter_ops = {
    .name = "counter", .event = count_event, .free = free_counter};

struct sn_sink *sn_summary_sink(struct sonde_summary *summary)
{
    struct counter *counter = calloc(1, sizeof(*counter));
    if (!counter)
        return NULL;
    *counter = (struct counter){.sink.ops = &counter_ops, .summary = summary};
    return &counter->sink;
}

/* --- reading --- */

static int most_first(const void *left, const void *right)
{
    const struct sonde_event_kind *a = left;
    const struct sonde_event_kind *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    int order = strcmp(a->provider, b->provider);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

static void sort_kinds(struct sonde_summary *summary)
{
    size_t used = 0;
    for (size_t i = 0; i < summary->kind_count; i++) {
        if (summary->kinds[i].count)
            summary->kinds[used++] = summary->kinds[i];
    }
    summary->kind_count = used;
    if (used)
        qsort(summary->kinds, used, sizeof(*summary->kinds), most_first);
}

void sn_summary_end(struct sonde_summary *summary, const struct sn_walk *walk, int status)
{
    if (!summary)
        return;
    const struct sn_trace_info *info = sn_walk_info(walk);
    struct sn_nettrace_counters counters = sn_walk_counters(walk);
    summary->totals = (struct sonde_file_totals){
        .duration_ns = summary->last_ns - summary->first_ns,
        .byte_count = counters.bytes,
        .event_count = counters.events,
        .lost_count = counters.lost,
        .damage_count = counters.damages,
        .unknown_count = counters.undecodable,
        .is_cut = status == SONDE_E_TRUNCATED,
    };
    sort_kinds(summary);
    if (!info)
        return;
    summary->totals.format = info->format_version;
    summary->totals.pid = info->pid;
    summary->totals.processor_count = info->processor_count;
    summary->totals.start_utc_ns = info->start_utc_ns;
}

void sn_summary_program_time(const struct sonde_summary *summary, uint64_t *ret_first_ns,
                             uint64_t *ret_last_ns)
{
    *ret_first_ns = summary->program_first_ns;
    *ret_last_ns = summary->program_last_ns;
}

int sn_summary_new(struct sonde_summary **ret_summary, struct sonde_error *err)
{
    struct sonde_summary *summary = calloc(1, sizeof(*summary));
    if (!summary)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a summary");
    summary->arena = sn_arena_with_limit(MEMORY_LIMIT);
    *ret_summary = summary;
    return SONDE_OK;
}

int sonde_file_summarize(const char *path, struct sonde_summary **ret_summary,
                         struct sonde_error *err)
{
    SN_AUTO(sn_summary_free) struct sonde_summary *summary = NULL;
    SN_AUTO(sn_walk_done) struct sn_walk walk = {0};
    struct sonde_error why = {0};
    int rc = sn_summary_new(&summary, err);
    if (rc == SONDE_OK)
        rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_everything, sn_summary_sink(summary), false, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_walk_run(&walk, sn_summary_damage, summary, &why);
    if (rc != SONDE_OK && rc != SONDE_E_TRUNCATED)
        return sn_fail_as(err, &why);
    sn_summary_end(summary, &walk, rc);
    *ret_summary = SN_TAKE(summary);
    return SONDE_OK;
}

void sonde_summary_free(struct sonde_summary *summary)
{
    if (!summary)
        return;
    sn_arena_done(&summary->arena);
    free(summary->kinds);
    free(summary);
}

void sonde_summary_totals(const struct sonde_summary *summary, struct sonde_file_totals *ret_totals)
{
    *ret_totals = summary->totals;
}

size_t sonde_summary_kind_count(const struct sonde_summary *summary)
{
    return summary->kind_count;
}

const struct sonde_event_kind *sonde_summary_kind(const struct sonde_summary *summary, size_t index)
{
    return index < summary->kind_count ? &summary->kinds[index] : NULL;
}

size_t sonde_summary_damage_count(const struct sonde_summary *summary)
{
    return summary->damage_count;
}

const struct sonde_damage *sonde_summary_damage(const struct sonde_summary *summary, size_t index)
{
    return index < summary->damage_count ? &summary->damages[index] : NULL;
}
