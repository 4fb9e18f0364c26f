/* Lock contention: which code waited for locks that others held, how long, and who waits for whom
 * when the trace ends. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/aggregates.h"
#include "sink/aggregate/topic_profile.h"
#include "sink/aggregate/topics.h"

#define START 81u
#define STOP  91u

#define THREAD_LIMIT 65536u
#define WAIT_MAX_NS  1e18 /* thirty years; a longer one is a lie */

/* A wait tells who held the lock when it began; since then the lock may have gone to another. Among
 * those who have waited for so long that is not likely. */
#define STUCK_NS (SN_NS_PER_SECOND / 10)

static const uint32_t ids[] = {START, STOP};
static const struct sn_request_item items[] = {
    {.provider = "Microsoft-Windows-DotNETRuntime", .ids = ids, .id_count = 2}};
const struct sn_request sn_contention_request = {.items = items, .item_count = 1};

/* A thread that waits, or did. */
struct waiter {
    bool is_waiting;
    bool is_native; /* for a lock of the runtime itself */
    bool is_deadlocked;
    uint32_t pid;
    uint64_t thread_id;
    uint64_t owner_id; /* 0: not told */
    uint64_t since_ns;
    struct sn_topic_place place;
    size_t walk; /* that came by, see find_deadlocks; 0: none */
};

struct contention {
    struct sn_sink sink;
    struct sn_report *whole;             /* borrows */
    struct sn_contention_report *report; /* borrows: its part */
    struct sn_topic_profile topic;
    struct sn_table by_thread; /* pid << 32 ^ thread -> index + 1 */
    struct waiter *waiters;    /* owns */
    size_t count;
    size_t capacity;
};

/* NULL over the ceiling or without memory. */
static struct waiter *waiter_of(struct contention *self, uint32_t pid, uint64_t thread_id)
{
    uint64_t *place = sn_table_put(&self->by_thread, (uint64_t)pid << 32 ^ thread_id);
    if (!place)
        return NULL;
    if (*place)
        return &self->waiters[*place - 1];
    struct waiter *waiters =
        sn_array_room(self->waiters, self->count, &self->capacity, sizeof(*waiters));
    if (!waiters)
        return NULL;
    self->waiters = waiters;
    waiters[self->count] = (struct waiter){0};
    *place = ++self->count;
    return &waiters[self->count - 1];
}

/* Before version 1 there was no payload. */
static bool read_is_native(const struct sn_event *event)
{
    return event->payload_size && event->payload[0] != 0;
}

/* From version 2 on it is told which thread has the lock. */
static uint64_t read_owner(const struct sn_event *event)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    sn_cursor_skip(&cur, sizeof(uint8_t) + sizeof(uint16_t)); /* flags, ClrInstanceID */
    sn_cursor_skip(&cur, 2 * (size_t)event->pointer_size);    /* lock, object */
    uint64_t owner_id = sn_cursor_u64(&cur);
    return event->schema->version < 2 || cur.bad ? 0 : owner_id;
}

static void begin_wait(struct contention *self, const struct sn_event *event)
{
    struct waiter *waiter = waiter_of(self, event->pid, event->thread_id);
    if (!waiter) {
        self->report->unmatched_count++;
        return;
    }
    self->report->unmatched_count += waiter->is_waiting;
    *waiter = (struct waiter){.is_waiting = true,
                              .is_native = read_is_native(event),
                              .pid = event->pid,
                              .thread_id = event->thread_id,
                              .owner_id = read_owner(event),
                              .since_ns = event->time_ns};
    if (!waiter->is_native)
        waiter->place = sn_topic_profile_place(&self->topic, event, NULL, NULL);
}

/* From version 1 on the runtime tells how long it took. */
static bool read_duration(const struct sn_event *event, uint64_t *ret_ns)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    double ns = 0;
    sn_cursor_skip(&cur, sizeof(uint8_t) + sizeof(uint16_t)); /* flags, ClrInstanceID */
    const uint8_t *bytes = sn_cursor_bytes(&cur, sizeof(ns));
    if (event->schema->version < 1 || !bytes)
        return false;
    memcpy(&ns, bytes, sizeof(ns));
    if (!(ns >= 0 && ns <= WAIT_MAX_NS))
        return false;
    *ret_ns = (uint64_t)ns;
    return true;
}

static void count_wait(struct contention *self, bool is_native, struct sn_topic_place place,
                       uint64_t ns)
{
    struct sn_contention_report *report = self->report;
    if (is_native) {
        report->native_count++;
        report->native_ns += ns;
        return;
    }
    report->count++;
    report->wait_ns += ns;
    sn_series_add(&report->waits, ns);
    sn_topic_profile_add(&self->topic, place, ns, 1);
}

/* A wait that began before the trace has a length of its own if the runtime tells it, and the stack
 * of its end. */
static void end_wait(struct contention *self, const struct sn_event *event)
{
    struct waiter *waiter = waiter_of(self, event->pid, event->thread_id);
    bool has_start = waiter && waiter->is_waiting;
    uint64_t ns = 0;
    bool is_told = read_duration(event, &ns);
    if (!is_told && has_start && event->time_ns > waiter->since_ns)
        ns = event->time_ns - waiter->since_ns;
    if (has_start) {
        waiter->is_waiting = false;
        count_wait(self, waiter->is_native, waiter->place, ns);
    } else if (is_told) {
        bool is_native = read_is_native(event);
        struct sn_topic_place place = {0};
        if (!is_native)
            place = sn_topic_profile_place(&self->topic, event, NULL, NULL);
        count_wait(self, is_native, place, ns);
    } else {
        self->report->unmatched_count++;
    }
}

/* What a thread lost may have been the end of its wait. */
static void forget_wait(struct contention *self, const struct sn_event *event)
{
    struct waiter *waiter = waiter_of(self, event->pid, event->capture_thread_id);
    if (!waiter || !waiter->is_waiting)
        return;
    waiter->is_waiting = false;
    self->report->unmatched_count++;
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct contention *self = (struct contention *)sink;
    if (event->schema == &sn_lost_schema) {
        forget_wait(self, event);
        return SONDE_OK;
    }
    if (event->schema->event_id == START) {
        self->report->event_count++;
        begin_wait(self, event);
    } else if (event->schema->event_id == STOP) {
        self->report->event_count++;
        end_wait(self, event);
    }
    return SONDE_OK;
}

/* --- waits that have not ended when the trace has --- */

static bool is_open(const struct waiter *waiter)
{
    return waiter->is_waiting && !waiter->is_native;
}

static uint64_t age_of(const struct contention *self, const struct waiter *waiter)
{
    uint64_t end_ns = self->whole->first_ns + self->whole->duration_ns;
    return end_ns > waiter->since_ns ? end_ns - waiter->since_ns : 0;
}

static bool is_stuck(const struct contention *self, const struct waiter *waiter)
{
    return is_open(waiter) && age_of(self, waiter) >= STUCK_NS;
}

/* Who has the lock that a stuck one waits for, if that one is stuck as well; else NULL. */
static struct waiter *stuck_owner(const struct contention *self, const struct waiter *waiter)
{
    const uint64_t *place =
        sn_table_find(&self->by_thread, (uint64_t)waiter->pid << 32 ^ waiter->owner_id);
    struct waiter *owner = place && *place ? &self->waiters[*place - 1] : NULL;
    return owner && owner != waiter && is_stuck(self, owner) ? owner : NULL;
}

static void mark_circle(const struct contention *self, struct waiter *waiter)
{
    for (; waiter && !waiter->is_deadlocked; waiter = stuck_owner(self, waiter)) {
        waiter->is_deadlocked = true;
        self->report->deadlocked_count++;
    }
}

/* A lock has one owner, so the way from waiter to owner never forks: a walk that comes back to
 * where it has been is in a circle. No one is visited twice. */
static void find_deadlocks(const struct contention *self)
{
    for (size_t walk = 1; walk <= self->count; walk++) {
        struct waiter *waiter = &self->waiters[walk - 1];
        if (!is_stuck(self, waiter))
            continue;
        for (; waiter && !waiter->walk; waiter = stuck_owner(self, waiter))
            waiter->walk = walk;
        if (waiter && waiter->walk == walk)
            mark_circle(self, waiter);
    }
}

static int worst_first(const void *left, const void *right)
{
    const struct sn_open_wait *a = left;
    const struct sn_open_wait *b = right;
    if (a->is_deadlocked != b->is_deadlocked)
        return a->is_deadlocked ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return (a->thread_id > b->thread_id) - (a->thread_id < b->thread_id);
}

/* "" when it has none that we know of. */
static const char *thread_name(const struct contention *self, uint64_t thread_id)
{
    const char *name = sn_topic_profile_thread_name(&self->topic, thread_id);
    const char *copy = sn_arena_copy(&self->whole->arena, name, strlen(name));
    return copy ? copy : "";
}

static void tell_open_wait(struct contention *self, const struct waiter *waiter)
{
    struct sn_contention_report *report = self->report;
    uint64_t ns = age_of(self, waiter);
    count_wait(self, false, waiter->place, ns);
    report->open_ns += ns;
    if (ns > report->longest_open_ns)
        report->longest_open_ns = ns;
    report->open_waits[report->open_count++] =
        (struct sn_open_wait){.thread_id = waiter->thread_id,
                              .thread_name = thread_name(self, waiter->thread_id),
                              .owner_id = waiter->owner_id,
                              .owner_name = thread_name(self, waiter->owner_id),
                              .ns = ns,
                              .node = waiter->place.node,
                              .is_deadlocked = waiter->is_deadlocked};
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    struct contention *self = (struct contention *)sink;
    struct sn_contention_report *report = self->report;
    report->open_waits = calloc(self->count + 1, sizeof(*report->open_waits));
    if (!report->open_waits)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for open waits");
    find_deadlocks(self);
    for (size_t i = 0; i < self->count; i++) {
        if (is_open(&self->waiters[i]))
            tell_open_wait(self, &self->waiters[i]);
    }
    qsort(report->open_waits, report->open_count, sizeof(*report->open_waits), worst_first);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    struct contention *self = (struct contention *)sink;
    sn_topic_profile_done(&self->topic);
    sn_table_done(&self->by_thread);
    free(self->waiters);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "contention", .event = take_event, .finish = finish, .free = free_sink};

struct sn_sink *sn_contention_sink(const struct sn_aggregate_context *context,
                                   struct sonde_error *err)
{
    static const struct sn_column columns[] = {{"time", SN_UNIT_NS}, {"count", SN_UNIT_COUNT}};
    struct contention *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for lock contention");
        return NULL;
    }
    *self = (struct contention){.sink.ops = &ops,
                                .whole = context->report,
                                .report = &context->report->contention,
                                .by_thread = sn_table_with_limit(THREAD_LIMIT)};
    if (sn_topic_profile_init(&self->topic, context, columns, &self->report->profile, err) !=
        SONDE_OK) {
        free_sink(&self->sink);
        return NULL;
    }
    return &self->sink;
}
