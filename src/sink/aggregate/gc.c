/* Collections and the pauses they cause.
 *
 * A pause lasts from SuspendEEBegin to RestartEEEnd of the same thread. It belongs to the
 * collection that starts in it; when a second one starts in the same pause, each gets its part. A
 * background collection starts in one pause and stops the program once more later, from a thread of
 * its own. */
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/aggregates.h"
#include "sink/aggregate/topics.h"

#define GC_START       1u
#define GC_END         2u
#define RESTART_END    3u
#define HEAP_STATS     4u
#define SUSPEND_END    8u
#define SUSPEND_BEGIN  9u
#define FINALIZERS_END 13u
#define GLOBAL_HISTORY 205u

#define FOR_SAMPLER \
    0u /* the reason is "other", which the sampler gives a thousand times a second */
#define FOR_GC      1u
#define FOR_GC_PREP 6u /* the second pause of a background collection */

#define TYPE_BACKGROUND 1u

#define MECHANISM_CONCURRENT 1u
#define MECHANISM_COMPACTING 2u

#define COLLECTION_MAX (1u << 17)
#define GROWTH_MIN     ((uint64_t)8 << 20) /* less is no growth to speak of */
#define OPEN_MAX       16u /* pauses, and collections, at a time; there are two of each at most */

static const uint32_t ids[] = {GC_START,    GC_END,        RESTART_END,    HEAP_STATS,
                               SUSPEND_END, SUSPEND_BEGIN, FINALIZERS_END, GLOBAL_HISTORY};
static const struct sn_request_item items[] = {{.provider = "Microsoft-Windows-DotNETRuntime",
                                                .ids = ids,
                                                .id_count = sizeof(ids) / sizeof(*ids)}};
const struct sn_request sn_gc_request = {.items = items, .item_count = 1};

/* A collection that runs, or has just ended. */
struct running {
    uint32_t pid;
    uint32_t place; /* in the report's list; SN_NO_INDEX: not kept */
    struct sn_collection collection;
};

struct pause {
    uint32_t pid;
    uint64_t thread_id;
    uint32_t reason;
    uint64_t start_ns;
    uint64_t share_start_ns; /* of the collection in it */
    bool has_collection;
    uint32_t number; /* of that collection */
    uint8_t generation;
};

struct gc {
    struct sn_sink sink;
    struct sn_gc_report *report; /* borrows */
    struct pause pauses[OPEN_MAX];
    size_t pause_count;
    struct running running[OPEN_MAX]; /* the latest last */
    size_t running_count;
    struct running ended; /* the latest that did */
    bool has_ended;
};

static uint64_t between(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* --- collections --- */

/* The one in the report, or the copy that only the sums see. */
static struct sn_collection *collection_of(struct gc *self, struct running *running)
{
    return running->place == SN_NO_INDEX ? &running->collection
                                         : &self->report->collections[running->place];
}

static uint32_t keep(struct sn_gc_report *report, const struct sn_collection *collection)
{
    struct sn_collection *list =
        report->count < COLLECTION_MAX
            ? sn_array_room(report->collections, report->count, &report->capacity, sizeof(*list))
            : NULL;
    if (!list) {
        report->dropped_count++;
        return SN_NO_INDEX;
    }
    report->collections = list;
    list[report->count] = *collection;
    return (uint32_t)report->count++;
}

static struct running *find_running(struct gc *self, uint32_t pid, uint32_t number)
{
    for (size_t i = self->running_count; i-- > 0;) {
        if (self->running[i].pid == pid && self->running[i].collection.number == number)
            return &self->running[i];
    }
    return NULL;
}

/* The latest that runs, in the background or not. */
static struct running *latest_running(struct gc *self, uint32_t pid, bool is_background)
{
    for (size_t i = self->running_count; i-- > 0;) {
        struct running *running = &self->running[i];
        if (running->pid == pid && (running->collection.type == TYPE_BACKGROUND) == is_background)
            return running;
    }
    return NULL;
}

static void forget_running(struct gc *self, size_t index)
{
    self->running_count--;
    for (size_t i = index; i < self->running_count; i++)
        self->running[i] = self->running[i + 1];
}

static uint8_t narrow(uint32_t value, uint8_t most)
{
    return value < most ? (uint8_t)value : most;
}

static void count_collection(struct sn_gc_report *report, const struct sn_collection *collection)
{
    report->total_count++;
    report->by_generation[collection->generation]++;
    report->by_reason[collection->reason]++;
    report->by_type[collection->type]++;
}

/* --- pauses --- */

static struct pause *find_pause(struct gc *self, const struct sn_event *event)
{
    for (size_t i = 0; i < self->pause_count; i++) {
        if (self->pauses[i].pid == event->pid && self->pauses[i].thread_id == event->thread_id)
            return &self->pauses[i];
    }
    return NULL;
}

static bool is_for_gc(uint32_t reason)
{
    return reason == FOR_GC || reason == FOR_GC_PREP;
}

/* The pause in which a collection starts: of its own thread, else the latest for a collection. */
static struct pause *pause_around(struct gc *self, const struct sn_event *event)
{
    struct pause *pause = find_pause(self, event);
    for (size_t i = self->pause_count; !pause && i-- > 0;) {
        if (self->pauses[i].pid == event->pid && is_for_gc(self->pauses[i].reason))
            pause = &self->pauses[i];
    }
    return pause && is_for_gc(pause->reason) ? pause : NULL;
}

static void forget_pause(struct gc *self, const struct pause *pause)
{
    size_t index = (size_t)(pause - self->pauses);
    self->pause_count--;
    for (size_t i = index; i < self->pause_count; i++)
        self->pauses[i] = self->pauses[i + 1];
}

/* The collection that a pause belongs to: it runs, or it has just ended in it. */
static struct running *owner_of(struct gc *self, const struct pause *pause)
{
    if (!pause->has_collection)
        return latest_running(self, pause->pid, true);
    struct running *running = find_running(self, pause->pid, pause->number);
    if (!running && self->has_ended && self->ended.pid == pause->pid &&
        self->ended.collection.number == pause->number)
        running = &self->ended;
    return running;
}

/* Gives the time up to now to the pause's collection. */
static void end_share(struct gc *self, struct pause *pause, uint64_t now_ns)
{
    uint64_t ns = between(pause->share_start_ns, now_ns);
    struct running *owner = owner_of(self, pause);
    if (owner) {
        struct sn_collection *collection = collection_of(self, owner);
        collection->pause_ns += ns;
        if (!collection->pause_start_ns)
            collection->pause_start_ns = pause->share_start_ns;
        pause->has_collection = true;
        pause->generation = collection->generation;
        self->report->pause_by_generation[collection->generation] += ns;
    } else {
        self->report->unshared_pause_ns += ns;
    }
    pause->share_start_ns = now_ns;
}

static void begin_pause(struct gc *self, const struct sn_event *event, uint32_t reason)
{
    if (self->pause_count == OPEN_MAX)
        forget_pause(self, &self->pauses[0]);
    self->pauses[self->pause_count++] = (struct pause){.pid = event->pid,
                                                       .thread_id = event->thread_id,
                                                       .reason = reason,
                                                       .start_ns = event->time_ns,
                                                       .share_start_ns = event->time_ns};
}

static void end_pause(struct gc *self, struct pause *pause, uint64_t now_ns)
{
    struct sn_gc_report *report = self->report;
    uint64_t ns = between(pause->start_ns, now_ns);
    if (!is_for_gc(pause->reason)) {
        report->other_pause_count++;
        report->other_pause_ns += ns;
        forget_pause(self, pause);
        return;
    }
    end_share(self, pause, now_ns);
    if (ns >= report->pauses.max)
        report->longest_generation = pause->has_collection ? pause->generation : SN_NO_GENERATION;
    sn_series_add(&report->pauses, ns);
    report->pause_ns += ns;
    forget_pause(self, pause);
}

/* --- events --- */

static void take_start(struct gc *self, const struct sn_event *event, struct sn_cursor *cur)
{
    struct sn_collection new = {.number = sn_cursor_u32(cur), .start_ns = event->time_ns};
    new.generation = narrow(sn_cursor_u32(cur), 2);
    new.reason = narrow(sn_cursor_u32(cur), 31);
    new.type = narrow(sn_cursor_u32(cur), 3);
    if (cur->bad || event->schema->version < 1)
        return;
    struct pause *pause = pause_around(self, event);
    if (pause && pause->has_collection)
        end_share(self, pause, event->time_ns);
    if (pause) {
        pause->has_collection = true;
        pause->number = new.number;
        pause->generation = new.generation;
    }
    count_collection(self->report, &new);
    if (self->running_count == OPEN_MAX)
        forget_running(self, 0);
    self->running[self->running_count++] =
        (struct running){.pid = event->pid, .place = keep(self->report, &new), .collection = new};
}

static void take_end(struct gc *self, const struct sn_event *event, struct sn_cursor *cur)
{
    uint32_t number = sn_cursor_u32(cur);
    struct running *running = cur->bad ? NULL : find_running(self, event->pid, number);
    if (!running)
        return;
    struct sn_collection *collection = collection_of(self, running);
    collection->is_ended = true;
    collection->duration_ns = between(collection->start_ns, event->time_ns);
    self->report->ended_count++;
    self->ended = *running;
    self->has_ended = true;
    forget_running(self, (size_t)(running - self->running));
}

/* The sizes of the heap, told right behind the end of a collection. The pinned object heap came
 * with version 2, behind everything else. */
static void take_heap_stats(struct gc *self, const struct sn_event *event, struct sn_cursor *cur)
{
    struct sn_gc_report *report = self->report;
    uint64_t sizes[SN_GENERATIONS] = {0};
    uint64_t promoted = 0;
    for (size_t i = 0; i < 4; i++) {
        sizes[i] = sn_cursor_u64(cur);
        promoted += sn_cursor_u64(cur);
    }
    sn_cursor_skip(cur, 2 * sizeof(uint64_t)); /* what waits for its finalizer: bytes, count */
    uint32_t pinned_count = sn_cursor_u32(cur);
    if (event->schema->version >= 2) {
        sn_cursor_skip(cur, 2 * sizeof(uint32_t) + sizeof(uint16_t));
        sizes[4] = sn_cursor_u64(cur);
        promoted += sn_cursor_u64(cur);
    }
    if (cur->bad)
        return;
    uint64_t all = 0;
    for (size_t i = 0; i < SN_GENERATIONS; i++)
        all += report->last_generation_bytes[i] = sizes[i];
    if (all > report->heap_max_bytes)
        report->heap_max_bytes = all;
    if (pinned_count > report->pinned_max)
        report->pinned_max = pinned_count;
    report->promoted_bytes += promoted;
    if (!self->has_ended || self->ended.pid != event->pid)
        return;
    struct sn_collection *collection = collection_of(self, &self->ended);
    collection->heap_after_bytes = all;
    collection->promoted_bytes = promoted;
}

/* How a collection went, told right before its end. One that was announced as a background one may
 * have run in the foreground after all. */
static void take_history(struct gc *self, const struct sn_event *event, struct sn_cursor *cur)
{
    sn_cursor_skip(cur, sizeof(uint64_t) + 4 * sizeof(uint32_t));
    uint32_t mechanisms = sn_cursor_u32(cur);
    bool is_background = mechanisms & MECHANISM_CONCURRENT;
    struct running *running = latest_running(self, event->pid, is_background);
    if (!running)
        running = latest_running(self, event->pid, !is_background);
    if (cur->bad || !running || !(mechanisms & MECHANISM_COMPACTING))
        return;
    collection_of(self, running)->is_compacting = true;
    self->report->compacting_count++;
}

static void take_suspend(struct gc *self, const struct sn_event *event)
{
    const struct pause *pause = find_pause(self, event);
    if (pause && is_for_gc(pause->reason))
        self->report->suspend_ns += between(pause->start_ns, event->time_ns);
}

static void take(struct gc *self, const struct sn_event *event)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    struct pause *pause = NULL;
    switch (event->schema->event_id) {
    case GC_START: take_start(self, event, &cur); break;
    case GC_END: take_end(self, event, &cur); break;
    case HEAP_STATS: take_heap_stats(self, event, &cur); break;
    case GLOBAL_HISTORY: take_history(self, event, &cur); break;
    case SUSPEND_END: take_suspend(self, event); break;
    case FINALIZERS_END: self->report->finalized_count += sn_cursor_u32(&cur); break;
    case RESTART_END:
        pause = find_pause(self, event);
        if (pause)
            end_pause(self, pause, event->time_ns);
        break;
    default: break;
    }
}

/* One of those that frame each sample, or of a pause that began before the trace. */
static bool is_stray(struct gc *self, const struct sn_event *event)
{
    uint32_t id = event->schema->event_id;
    return (id == SUSPEND_END || id == RESTART_END) && !find_pause(self, event);
}

/* A pause whose end is not told is not one of that thread any more. */
static void forget_unfinished(struct gc *self, const struct sn_event *event)
{
    struct pause *pause = find_pause(self, event);
    if (pause)
        forget_pause(self, pause);
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct gc *self = (struct gc *)sink;
    if (event->schema == &sn_lost_schema) {
        forget_unfinished(self, event);
        return SONDE_OK;
    }
    if (event->schema->event_id == SUSPEND_BEGIN) {
        struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
        uint32_t reason = sn_cursor_u32(&cur);
        forget_unfinished(self, event);
        if (cur.bad || reason == FOR_SAMPLER)
            return SONDE_OK;
        begin_pause(self, event, reason);
    } else if (is_stray(self, event)) {
        return SONDE_OK;
    }
    self->report->event_count++;
    take(self, event);
    return SONDE_OK;
}

/* --- the heap over time --- */

/* The least that any of these left; 0: none tells. */
static uint64_t floor_of(const struct sn_collection *collections, size_t count)
{
    uint64_t least = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = collections[i].heap_after_bytes;
        if (bytes && (!least || bytes < least))
            least = bytes;
    }
    return least;
}

/* A heap rises and falls by itself: young objects are promoted until an old generation is
 * collected. Only if no collection of the second half comes down to a quarter above what the first
 * half came down to, more stays alive. */
static bool is_growing(const struct sn_gc_report *report)
{
    size_t half = report->count / 2;
    uint64_t before = floor_of(report->collections, half);
    uint64_t after = floor_of(report->collections + half, report->count - half);
    return report->count >= 3 && before && report->heap_last_bytes > report->heap_first_bytes &&
           after > before + before / 4 && after - before >= GROWTH_MIN;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct sn_gc_report *report = ((struct gc *)sink)->report;
    const struct sn_collection *first = NULL;
    const struct sn_collection *last = NULL;
    for (size_t i = 0; i < report->count; i++) {
        if (!report->collections[i].heap_after_bytes)
            continue;
        last = &report->collections[i];
        if (!first)
            first = last;
    }
    if (!first)
        return SONDE_OK;
    report->heap_first_bytes = first->heap_after_bytes;
    report->heap_last_bytes = last->heap_after_bytes;
    report->heap_span_ns =
        between(first->start_ns + first->duration_ns, last->start_ns + last->duration_ns);
    report->is_heap_growing = is_growing(report);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    free(sink);
}

static const struct sn_sink_ops ops = {
    .name = "gc", .event = take_event, .finish = finish, .free = free_sink};

struct sn_sink *sn_gc_sink(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    struct gc *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for collections");
        return NULL;
    }
    self->sink.ops = &ops;
    self->report = &context->report->gc;
    self->report->longest_generation = SN_NO_GENERATION;
    return &self->sink;
}
