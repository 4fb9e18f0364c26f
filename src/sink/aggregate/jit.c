/* JIT and tiering: what was compiled, how long it took, at which tier. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/event_fields.h"
#include "sink/aggregate/open_set.h"
#include "sink/aggregate/work_topics.h"
#include "symbol/methods.h"
#include "symbol/names.h"

#define METHOD_MAX 65536u
#define OPEN_MAX   65536u /* compilations under way: nested ones on every thread */
#define NAME_MAX   16384u /* two texts of events, and what makes them readable */

enum {
    METHOD_LOAD = 141,
    METHOD_LOAD_VERBOSE = 143,
    JITTING_STARTED = 145,
    R2R_GET_ENTRY_POINT = 159,
    TIERING_PAUSE = 281,
    TIERING_RESUME = 282,
    BACKGROUND_START = 283,
    BACKGROUND_STOP = 284,
};

#define FLAG_JITTED      8u
#define TIER_PRECOMPILED 8u

struct jit {
    struct sn_sink sink;
    struct sn_report *report;   /* borrows, as below */
    struct sn_methods *methods; /* may be NULL */
    struct sn_table index;      /* hash of a name, or of an id -> index of a method + 1 */
    uint64_t *ids;              /* owns; of methods without name, by their index */
    size_t id_capacity;
    struct sn_open_set compiling; /* by thread and method id; number: IL bytes */
    struct sn_open_set batches;   /* by thread */
    uint64_t paused_since_ns;     /* 0: not paused */
    struct sn_buf type;
    struct sn_buf method;
};

/* --- methods by name --- */

static const char *keep(struct sn_report *report, struct sn_buf *text)
{
    const char *string = sn_buf_string(text);
    const char *copy = sn_arena_copy(&report->arena, string, strlen(string));
    return copy ? copy : "";
}

static struct sn_jit_method *add_method(struct jit *jit, uint64_t *place, uint64_t method_id)
{
    struct sn_jit_report *report = &jit->report->jit;
    struct sn_jit_method *methods =
        sn_array_room(report->methods, report->count, &report->capacity, sizeof(*methods));
    if (!methods)
        return NULL;
    report->methods = methods;
    uint64_t *ids = sn_array_room(jit->ids, report->count, &jit->id_capacity, sizeof(*ids));
    if (!ids)
        return NULL;
    jit->ids = ids;
    ids[report->count] = method_id;
    methods[report->count] = (struct sn_jit_method){.type = "", .method = "", .name = ""};
    *place = ++report->count;
    return &methods[report->count - 1];
}

/* The entry of a loaded method: by its name when the event tells it, else by its id. */
static struct sn_jit_method *method_of(struct jit *jit, const struct sn_event *event,
                                       uint64_t method_id)
{
    sn_buf_clear(&jit->type);
    sn_buf_clear(&jit->method);
    bool is_named = sn_event_text(event, "MethodNamespace", &jit->type) &&
                    sn_event_text(event, "MethodName", &jit->method);
    uint64_t key = sn_event_hash(0, &method_id, sizeof(method_id));
    if (is_named) {
        key = sn_event_hash(1, jit->type.bytes, jit->type.size);
        key = sn_event_hash(key, jit->method.bytes, jit->method.size);
    }
    uint64_t *place = sn_table_put(&jit->index, key);
    if (!place)
        return NULL;
    if (*place)
        return &jit->report->jit.methods[*place - 1];
    struct sn_jit_method *method = add_method(jit, place, is_named ? 0 : method_id);
    if (method && is_named) {
        method->type = keep(jit->report, &jit->type);
        method->method = keep(jit->report, &jit->method);
    }
    return method;
}

/* --- events --- */

static uint64_t compile_key(const struct sn_event *event, uint64_t method_id)
{
    return sn_event_hash(event->thread_id, &method_id, sizeof(method_id));
}

static void take_start(struct jit *jit, const struct sn_event *event)
{
    uint64_t method_id;
    if (!sn_event_find_number(event, "MethodID", &method_id))
        return;
    struct sn_open *open =
        sn_open_set_begin(&jit->compiling, compile_key(event, method_id), event->time_ns);
    if (open)
        open->number = sn_event_number(event, "MethodILSize");
}

static void add_time(struct jit *jit, struct sn_jit_method *method, const struct sn_open *start,
                     const struct sn_event *event, uint32_t tier)
{
    struct sn_jit_report *report = &jit->report->jit;
    uint64_t time_ns = sn_elapsed(start->since_ns, event->time_ns);
    report->timed_count++;
    report->time_ns += time_ns;
    report->time_by_tier[tier] += time_ns;
    report->il_bytes += start->number;
    sn_series_add(&report->times, time_ns);
    if (sn_open_set_find(&jit->batches, event->thread_id))
        report->background_time_ns += time_ns;
    if (!method)
        return;
    method->timed_count++;
    method->time_ns += time_ns;
    method->il_bytes += start->number;
    if (time_ns > method->max_time_ns)
        method->max_time_ns = time_ns;
}

static void take_load(struct jit *jit, const struct sn_event *event)
{
    struct sn_jit_report *report = &jit->report->jit;
    uint64_t method_id;
    uint64_t flags;
    if (!sn_event_find_number(event, "MethodID", &method_id) ||
        !sn_event_find_number(event, "MethodFlags", &flags))
        return;
    uint64_t native_bytes = sn_event_number(event, "MethodSize");
    bool is_jitted = (flags & FLAG_JITTED) != 0;
    uint32_t tier = is_jitted ? (uint32_t)(flags >> 7) & 7u : TIER_PRECOMPILED;
    report->by_tier[tier]++;
    report->native_by_tier[tier] += native_bytes;
    if (!is_jitted)
        return;
    report->jitted_count++;
    report->native_bytes += native_bytes;
    struct sn_jit_method *method = method_of(jit, event, method_id);
    if (method) {
        method->count++;
        method->native_bytes += native_bytes;
    } else {
        report->dropped_count++;
    }
    struct sn_open start;
    if (sn_open_set_end(&jit->compiling, compile_key(event, method_id), &start))
        add_time(jit, method, &start, event, tier);
}

static void take_batch_end(struct jit *jit, const struct sn_event *event)
{
    struct sn_open start;
    if (!sn_open_set_end(&jit->batches, event->thread_id, &start))
        return;
    jit->report->jit.background_count++;
    jit->report->jit.background_ns += sn_elapsed(start.since_ns, event->time_ns);
}

static void take_pause(struct jit *jit, const struct sn_event *event, bool is_paused)
{
    struct sn_jit_report *report = &jit->report->jit;
    if (is_paused)
        report->paused_count++;
    else if (jit->paused_since_ns)
        report->paused_ns += sn_elapsed(jit->paused_since_ns, event->time_ns);
    jit->paused_since_ns = is_paused ? event->time_ns : 0;
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct jit *jit = (struct jit *)sink;
    struct sn_jit_report *report = &jit->report->jit;
    if (strcmp(event->schema->provider, SN_RUNTIME_PROVIDER) != 0)
        return SONDE_OK;
    report->event_count++;
    switch (event->schema->event_id) {
    case METHOD_LOAD:
    case METHOD_LOAD_VERBOSE: take_load(jit, event); break;
    case JITTING_STARTED: take_start(jit, event); break;
    case R2R_GET_ENTRY_POINT: report->r2r_lookup_count++; break;
    case TIERING_PAUSE: take_pause(jit, event, true); break;
    case TIERING_RESUME: take_pause(jit, event, false); break;
    case BACKGROUND_START:
        (void)sn_open_set_begin(&jit->batches, event->thread_id, event->time_ns);
        break;
    case BACKGROUND_STOP: take_batch_end(jit, event); break;
    default: report->event_count--;
    }
    return SONDE_OK;
}

/* --- the end --- */

/* As much of it as an event's text may have. */
static void put_part(struct sn_buf *to, const char *text)
{
    size_t size = strnlen(text, SN_EVENT_TEXT_MAX + 1);
    if (size > SN_EVENT_TEXT_MAX) {
        size = SN_EVENT_TEXT_MAX;
        while (size && ((unsigned char)text[size] & 0xC0u) == 0x80u)
            size--;
    }
    sn_buf_append(to, text, size);
}

static void name_by_id(struct jit *jit, struct sn_jit_method *method, uint64_t method_id)
{
    const struct sn_method *known = jit->methods ? sn_methods_by_id(jit->methods, method_id) : NULL;
    sn_buf_clear(&jit->type);
    sn_buf_clear(&jit->method);
    if (known) {
        put_part(&jit->type, known->type);
        put_part(&jit->method, known->name);
    } else {
        sn_buf_format(&jit->method, "method 0x%" PRIx64, method_id);
    }
    method->type = keep(jit->report, &jit->type);
    method->method = keep(jit->report, &jit->method);
}

static void name_methods(struct jit *jit)
{
    struct sn_jit_report *report = &jit->report->jit;
    for (size_t i = 0; i < report->count; i++) {
        struct sn_jit_method *method = &report->methods[i];
        if (jit->ids[i])
            name_by_id(jit, method, jit->ids[i]);
        if (!*method->type) {
            method->name = method->method;
            continue;
        }
        sn_buf_clear(&jit->type);
        sn_name_readable(&jit->type, method->type, method->method);
        method->name = keep(jit->report, &jit->type);
    }
}

static int dearest_first(const void *left, const void *right)
{
    const struct sn_jit_method *a = left;
    const struct sn_jit_method *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    if (a->native_bytes != b->native_bytes)
        return a->native_bytes < b->native_bytes ? 1 : -1;
    int order = strcmp(a->type, b->type);
    return order ? order : strcmp(a->method, b->method);
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct jit *jit = (struct jit *)sink;
    struct sn_jit_report *report = &jit->report->jit;
    report->open_count = jit->compiling.index.count;
    name_methods(jit);
    if (report->count)
        qsort(report->methods, report->count, sizeof(*report->methods), dearest_first);
    return SONDE_OK;
}

static void free_jit(struct sn_sink *sink)
{
    struct jit *jit = (struct jit *)sink;
    sn_table_done(&jit->index);
    free(jit->ids);
    sn_open_set_done(&jit->compiling);
    sn_open_set_done(&jit->batches);
    sn_buf_done(&jit->type);
    sn_buf_done(&jit->method);
    free(jit);
}

static const struct sn_sink_ops ops = {
    .name = "jit", .event = take_event, .finish = finish, .free = free_jit};

struct sn_sink *sn_jit_make(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    struct jit *jit = calloc(1, sizeof(*jit));
    if (!jit) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the JIT's part of a report");
        return NULL;
    }
    *jit = (struct jit){.sink.ops = &ops,
                        .report = context->report,
                        .methods = context->methods,
                        .index = sn_table_with_limit(METHOD_MAX),
                        .compiling = sn_open_set_with_limit(OPEN_MAX),
                        .batches = sn_open_set_with_limit(OPEN_MAX),
                        .type = sn_buf_with_limit(NAME_MAX),
                        .method = sn_buf_with_limit(NAME_MAX)};
    return &jit->sink;
}

static const uint32_t ids[] = {METHOD_LOAD,         METHOD_LOAD_VERBOSE, JITTING_STARTED,
                               R2R_GET_ENTRY_POINT, TIERING_PAUSE,       TIERING_RESUME,
                               BACKGROUND_START,    BACKGROUND_STOP};
static const struct sn_request_item items[] = {
    {.provider = SN_RUNTIME_PROVIDER, .ids = ids, .id_count = sizeof(ids) / sizeof(*ids)},
};
const struct sn_request sn_jit_request = {.items = items, .item_count = 1};
