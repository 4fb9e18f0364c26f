/* Exceptions by type and site, with the time from a throw to the catch block that ends it.
 *
 * Each thread has a short pile: exceptions on their way, those in whose catch block it is, and the
 * finally blocks and filters that run in between. A catch block belongs to what lies on top. .NET 9
 * and later do not tell of `throw;`: there a second catch block begins for the same exception. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "model/timeline.h"
#include "sink/aggregate/aggregates.h"
#include "sink/aggregate/topic_profile.h"
#include "sink/aggregate/topics.h"
#include "sink/aggregate/type_names.h"

#define THROWN        80u
#define CATCH_START   250u
#define CATCH_STOP    251u
#define FINALLY_START 252u
#define FINALLY_STOP  253u
#define FILTER_START  254u
#define FILTER_STOP   255u

#define FLAG_NESTED   0x2u
#define FLAG_RETHROWN 0x4u

#define THREAD_LIMIT 16384u
#define PILE_MAX     8u
#define MESSAGE_MAX  1024u /* bytes of UTF-16; the rest is cut off */
#define TEXT_LIMIT   2048u /* the same as UTF-8: at most half as much again */

static const uint32_t ids[] = {THROWN,       CATCH_START,  CATCH_STOP, FINALLY_START,
                               FINALLY_STOP, FILTER_START, FILTER_STOP};
static const struct sn_request_item items[] = {{.provider = "Microsoft-Windows-DotNETRuntime",
                                                .ids = ids,
                                                .id_count = sizeof(ids) / sizeof(*ids)}};
const struct sn_request sn_exceptions_request = {.items = items, .item_count = 1};

enum state {
    FLYING,  /* thrown, no catch block yet */
    CAUGHT,  /* its catch block runs */
    BARRIER, /* a finally block or a filter: what lies below cannot be caught meanwhile */
};

struct flight {
    enum state state;
    uint32_t kind;
    uint64_t thrown_ns;
    struct sn_topic_place place;
};

struct thrower {
    uint32_t depth;
    struct flight pile[PILE_MAX];
};

struct exceptions {
    struct sn_sink sink;
    struct sn_exception_report *report; /* borrows */
    struct sn_timeline *timeline;       /* borrows, as the next; NULL: not asked for */
    struct sn_arena *arena;             /* the report's */
    struct sn_topic_profile topic;
    struct sn_type_names types;
    struct sn_buf text;
    struct sn_table by_thread; /* pid << 32 ^ thread -> index + 1 */
    struct thrower *throwers;  /* owns */
    size_t count;
    size_t capacity;
};

/* NULL over the ceiling or without memory. */
static struct thrower *thrower_of(struct exceptions *self, uint32_t pid, uint64_t thread_id)
{
    uint64_t *place = sn_table_put(&self->by_thread, (uint64_t)pid << 32 ^ thread_id);
    if (!place)
        return NULL;
    if (*place)
        return &self->throwers[*place - 1];
    struct thrower *throwers =
        sn_array_room(self->throwers, self->count, &self->capacity, sizeof(*throwers));
    if (!throwers)
        return NULL;
    self->throwers = throwers;
    throwers[self->count].depth = 0;
    *place = ++self->count;
    return &throwers[self->count - 1];
}

/* The oldest leaves when the pile is full. */
static void push(struct thrower *thrower, struct flight flight)
{
    if (thrower->depth == PILE_MAX) {
        memmove(thrower->pile, thrower->pile + 1, sizeof(*thrower->pile) * (PILE_MAX - 1));
        thrower->depth--;
    }
    thrower->pile[thrower->depth++] = flight;
}

static struct flight *top_of(struct thrower *thrower)
{
    return thrower && thrower->depth ? &thrower->pile[thrower->depth - 1] : NULL;
}

/* --- a throw --- */

static const char *keep_message(struct exceptions *self, struct sn_text16 message)
{
    uint32_t size = message.size < MESSAGE_MAX ? message.size : MESSAGE_MAX;
    sn_buf_clear(&self->text);
    sn_text_from_utf16(&self->text, message.units, size / sizeof(uint16_t));
    const char *text = sn_buf_string(&self->text);
    const char *copy = sn_arena_copy(self->arena, text, strlen(text));
    return copy ? copy : "";
}

/* The number of a kind that exists; 0, for all others, when there is no room. */
static uint32_t add_kind(struct exceptions *self, uint32_t number)
{
    struct sn_exception_report *report = self->report;
    if (number < report->count)
        return number;
    struct sn_exception_kind *kinds =
        sn_array_room(report->kinds, report->count, &report->capacity, sizeof(*kinds));
    if (number > report->count || !kinds)
        return 0;
    report->kinds = kinds;
    struct sn_type_name type = sn_type_names_get(&self->types, number);
    kinds[report->count++] = (struct sn_exception_kind){
        .type = type.type, .name = type.name, .message = "", .frame = SN_NO_INDEX};
    return number;
}

static void count_throw(struct sn_exception_report *report, struct sn_exception_kind *kind,
                        uint32_t flags)
{
    if (flags & FLAG_RETHROWN) {
        report->rethrown_count++;
        kind->rethrown_count++;
        return;
    }
    report->thrown_count++;
    kind->count++;
    if (flags & FLAG_NESTED) {
        report->nested_count++;
        kind->nested_count++;
    }
}

/* Leaves on the pile what the new one was thrown in the middle of. */
static void clear_pile(struct thrower *thrower, uint32_t kind, uint32_t flags)
{
    const struct flight *top = top_of(thrower);
    if (!(flags & (FLAG_NESTED | FLAG_RETHROWN)))
        thrower->depth = 0;
    else if (flags & FLAG_RETHROWN && top && top->state == CAUGHT && top->kind == kind)
        thrower->depth--; /* its catch block passed it on */
}

static void take_throw(struct exceptions *self, const struct sn_event *event)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    struct sn_text16 type = sn_text16_read(&cur);
    struct sn_text16 message = sn_text16_read(&cur);
    sn_cursor_skip(&cur, event->pointer_size + sizeof(uint32_t)); /* address, HRESULT */
    uint32_t flags = sn_cursor_u16(&cur);
    if (cur.bad)
        return;
    uint32_t number = add_kind(self, sn_type_names_number(&self->types, type));
    struct sn_exception_kind *kind = &self->report->kinds[number];
    if (!kind->count && !kind->rethrown_count)
        kind->message = keep_message(self, message);
    count_throw(self->report, kind, flags);
    struct flight flight = {.state = FLYING, .kind = number, .thrown_ns = event->time_ns};
    flight.place = sn_topic_profile_place(&self->topic, event, kind->name, &kind->frame);
    if (!(flags & FLAG_RETHROWN)) {
        sn_topic_profile_add(&self->topic, flight.place, 1, 0);
        sn_timeline_exception(self->timeline, event->time_ns);
    }
    struct thrower *thrower = thrower_of(self, event->pid, event->thread_id);
    if (!thrower)
        return;
    clear_pile(thrower, number, flags);
    push(thrower, flight);
}

/* --- what follows --- */

static void count_cost(struct exceptions *self, const struct flight *flight, uint64_t now_ns)
{
    struct sn_exception_report *report = self->report;
    struct sn_exception_kind *kind = &report->kinds[flight->kind];
    uint64_t ns = now_ns > flight->thrown_ns ? now_ns - flight->thrown_ns : 0;
    report->caught_count++;
    report->cost_ns += ns;
    sn_series_add(&report->costs, ns);
    kind->caught_count++;
    kind->cost_ns += ns;
    if (ns > kind->max_cost_ns)
        kind->max_cost_ns = ns;
    sn_topic_profile_add(&self->topic, flight->place, 0, ns);
}

static void take_catch(struct exceptions *self, struct flight *top, uint64_t now_ns)
{
    self->report->has_catches = true;
    if (top && top->state == FLYING) {
        count_cost(self, top, now_ns);
        top->state = CAUGHT;
    } else if (top && top->state == CAUGHT) {
        self->report->rethrown_count++;
        self->report->kinds[top->kind].rethrown_count++;
    } else {
        self->report->unmatched_count++;
    }
}

/* What was thrown inside the block and not caught there is gone with it. */
static void end_barrier(struct thrower *thrower)
{
    for (uint32_t i = thrower->depth; i-- > 0;) {
        if (thrower->pile[i].state == BARRIER) {
            thrower->depth = i;
            return;
        }
    }
}

static void take_block(struct exceptions *self, const struct sn_event *event)
{
    struct thrower *thrower = thrower_of(self, event->pid, event->thread_id);
    struct flight *top = top_of(thrower);
    if (event->schema->event_id == CATCH_START) {
        take_catch(self, top, event->time_ns);
        return;
    }
    if (!thrower)
        return;
    switch (event->schema->event_id) {
    case CATCH_STOP: thrower->depth -= top && top->state == CAUGHT; break;
    case FINALLY_START:
    case FILTER_START: push(thrower, (struct flight){.state = BARRIER}); break;
    default: end_barrier(thrower); break;
    }
}

static bool is_wanted(uint32_t id)
{
    return id == THROWN || (id >= CATCH_START && id <= FILTER_STOP);
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct exceptions *self = (struct exceptions *)sink;
    if (event->schema == &sn_lost_schema) {
        struct thrower *thrower = thrower_of(self, event->pid, event->capture_thread_id);
        if (thrower)
            thrower->depth = 0;
        return SONDE_OK;
    }
    if (!is_wanted(event->schema->event_id))
        return SONDE_OK;
    self->report->event_count++;
    if (event->schema->event_id == THROWN)
        take_throw(self, event);
    else
        take_block(self, event);
    return SONDE_OK;
}

static int dearest_first(const void *left, const void *right)
{
    const struct sn_exception_kind *a = left;
    const struct sn_exception_kind *b = right;
    if (a->cost_ns != b->cost_ns)
        return a->cost_ns < b->cost_ns ? 1 : -1;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->type, b->type);
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct sn_exception_report *report = ((struct exceptions *)sink)->report;
    size_t used = 0;
    for (size_t i = 0; i < report->count; i++) {
        if (report->kinds[i].count || report->kinds[i].rethrown_count)
            report->kinds[used++] = report->kinds[i];
    }
    report->count = used;
    if (used)
        qsort(report->kinds, used, sizeof(*report->kinds), dearest_first);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    struct exceptions *self = (struct exceptions *)sink;
    sn_topic_profile_done(&self->topic);
    sn_type_names_done(&self->types);
    sn_buf_done(&self->text);
    sn_table_done(&self->by_thread);
    free(self->throwers);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "exceptions", .event = take_event, .finish = finish, .free = free_sink};

/* Room for the kind of all others comes first: a number is always one of a kind that exists. */
static int prepare(struct exceptions *self, const struct sn_aggregate_context *context,
                   struct sonde_error *err)
{
    static const struct sn_column columns[] = {{"count", SN_UNIT_COUNT}, {"time", SN_UNIT_NS}};
    (void)add_kind(self, 0);
    if (!self->report->count)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
    return sn_topic_profile_init(&self->topic, context, columns, &self->report->profile, err);
}

struct sn_sink *sn_exceptions_sink(const struct sn_aggregate_context *context,
                                   struct sonde_error *err)
{
    struct exceptions *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
        return NULL;
    }
    *self = (struct exceptions){.sink.ops = &ops,
                                .report = &context->report->exceptions,
                                .timeline = context->report->timeline,
                                .arena = &context->report->arena,
                                .text = sn_buf_with_limit(TEXT_LIMIT),
                                .by_thread = sn_table_with_limit(THREAD_LIMIT)};
    sn_type_names_init(&self->types, &context->report->arena);
    if (prepare(self, context, err) != SONDE_OK) {
        free_sink(&self->sink);
        return NULL;
    }
    return &self->sink;
}
