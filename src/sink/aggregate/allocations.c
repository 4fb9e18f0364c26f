/* Allocations by type and site: one sample in about every 100 KB, by either of the two events that
 * tell of them. */
#include <stdlib.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/aggregates.h"
#include "sink/aggregate/topic_profile.h"
#include "sink/aggregate/topics.h"
#include "sink/aggregate/type_names.h"

#define TICK    10u
#define SAMPLED 303u

#define SAMPLING_MEAN 102400.0 /* bytes between two samples of AllocationSampled, on average */
#define BYTES_MAX     (UINT64_C(1) << 40) /* what one sample can stand for; more is a lie */

enum { SMALL, LARGE, PINNED };

static const uint32_t ids[] = {TICK, SAMPLED};
static const struct sn_request_item items[] = {
    {.provider = "Microsoft-Windows-DotNETRuntime", .ids = ids, .id_count = 2}};
const struct sn_request sn_allocations_request = {.items = items, .item_count = 1};

struct allocations {
    struct sn_sink sink;
    struct sn_allocation_report *report; /* borrows */
    struct sn_topic_profile topic;
    struct sn_type_names types;
};

/* What one event says. */
struct sample {
    uint32_t heap;
    uint64_t bytes;
    struct sn_text16 type;
};

/* The chance that at least one sample falls into so many mean distances: 1 - exp(-distance).
 * Without the mathematical library, which is none of those that others must have: a series for a
 * part of the way, then twice as far as often as it takes. */
static double chance_of(double distance)
{
    int doublings = 0;
    for (; distance > 0.25 && doublings < 64; doublings++)
        distance /= 2;
    double none = 0; /* exp(-distance) - 1 */
    double term = 1;
    for (int i = 1; i <= 12; i++) {
        term *= -distance / i;
        none += term;
    }
    for (; doublings > 0; doublings--)
        none *= none + 2;
    return -none;
}

/* The rate at which an object of this size is sampled is known, so each stands for as many bytes as
 * make up for those that were not. */
static uint64_t estimate(uint64_t size)
{
    if (size > BYTES_MAX)
        return BYTES_MAX;
    double bytes = (double)size;
    return size ? (uint64_t)(bytes / chance_of(bytes / SAMPLING_MEAN) + 0.5)
                : (uint64_t)SAMPLING_MEAN;
}

static void skip_pointer(struct sn_cursor *cur, const struct sn_event *event)
{
    sn_cursor_skip(cur, event->pointer_size);
}

/* Versions 0 and 1 end behind the kind; from 2 on there is an amount without the limit of 32 bits,
 * and a type. */
static bool read_tick(const struct sn_event *event, struct sample *sample)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    sample->bytes = sn_cursor_u32(&cur);
    sample->heap = sn_cursor_u32(&cur);
    if (cur.bad)
        return false;
    if (event->schema->version < 2)
        return true;
    sn_cursor_skip(&cur, sizeof(uint16_t)); /* ClrInstanceID */
    sample->bytes = sn_cursor_u64(&cur);
    skip_pointer(&cur, event); /* TypeID */
    sample->type = sn_text16_read(&cur);
    return !cur.bad;
}

static bool read_sampled(const struct sn_event *event, struct sample *sample)
{
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    sample->heap = sn_cursor_u32(&cur);
    sn_cursor_skip(&cur, sizeof(uint16_t)); /* ClrInstanceID */
    skip_pointer(&cur, event);              /* TypeID */
    sample->type = sn_text16_read(&cur);
    skip_pointer(&cur, event); /* Address */
    sample->bytes = estimate(sn_cursor_u64(&cur));
    return !cur.bad;
}

/* The number of a kind that exists; 0, for all others, when there is no room. */
static uint32_t add_kind(struct allocations *self, uint32_t number)
{
    struct sn_allocation_report *report = self->report;
    if (number < report->count)
        return number;
    if (number > report->count) /* there was no room for those before it */
        return 0;
    struct sn_allocation_kind *kinds =
        sn_array_room(report->kinds, report->count, &report->capacity, sizeof(*kinds));
    if (!kinds)
        return 0;
    report->kinds = kinds;
    struct sn_type_name type = sn_type_names_get(&self->types, number);
    kinds[report->count++] =
        (struct sn_allocation_kind){.type = type.type, .name = type.name, .frame = SN_NO_INDEX};
    return number;
}

static void add_to_sums(struct sn_allocation_report *report, const struct sample *sample)
{
    report->sample_count++;
    report->bytes += sample->bytes;
    if (sample->heap == LARGE) {
        report->large_count++;
        report->large_bytes += sample->bytes;
    } else if (sample->heap == PINNED) {
        report->pinned_count++;
        report->pinned_bytes += sample->bytes;
    }
}

static void add_to_kind(struct allocations *self, const struct sn_event *event,
                        const struct sample *sample)
{
    uint32_t number = add_kind(self, sn_type_names_number(&self->types, sample->type));
    struct sn_allocation_kind *kind = &self->report->kinds[number];
    kind->sample_count++;
    kind->bytes += sample->bytes;
    if (sample->heap == LARGE) {
        kind->large_count++;
        kind->large_bytes += sample->bytes;
    }
    struct sn_topic_place place =
        sn_topic_profile_place(&self->topic, event, kind->name, &kind->frame);
    sn_topic_profile_add(&self->topic, place, sample->bytes, 1);
}

/* Whichever sort comes first is used: they tell of the same bytes. */
static bool is_used(struct sn_allocation_report *report, bool is_sampled)
{
    if (!report->sample_count)
        report->is_sampled = is_sampled;
    return report->is_sampled == is_sampled;
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct allocations *self = (struct allocations *)sink;
    struct sample sample = {0};
    if (event->schema->event_id != TICK && event->schema->event_id != SAMPLED)
        return SONDE_OK;
    bool is_sampled = event->schema->event_id == SAMPLED;
    self->report->event_count++;
    if (!(is_sampled ? read_sampled(event, &sample) : read_tick(event, &sample)))
        return SONDE_OK;
    if (!is_used(self->report, is_sampled)) {
        self->report->ignored_count++;
        return SONDE_OK;
    }
    add_to_sums(self->report, &sample);
    add_to_kind(self, event, &sample);
    return SONDE_OK;
}

static int most_bytes_first(const void *left, const void *right)
{
    const struct sn_allocation_kind *a = left;
    const struct sn_allocation_kind *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->frame > b->frame) - (a->frame < b->frame); /* as they were first seen */
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct sn_allocation_report *report = ((struct allocations *)sink)->report;
    size_t used = 0;
    for (size_t i = 0; i < report->count; i++) {
        if (report->kinds[i].sample_count)
            report->kinds[used++] = report->kinds[i];
    }
    report->count = used;
    if (used)
        qsort(report->kinds, used, sizeof(*report->kinds), most_bytes_first);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *sink)
{
    struct allocations *self = (struct allocations *)sink;
    sn_topic_profile_done(&self->topic);
    sn_type_names_done(&self->types);
    free(self);
}

static const struct sn_sink_ops ops = {
    .name = "allocations", .event = take_event, .finish = finish, .free = free_sink};

/* Room for the kind of all others comes first: a number is always one of a kind that exists. */
static int prepare(struct allocations *self, const struct sn_aggregate_context *context,
                   struct sonde_error *err)
{
    static const struct sn_column columns[] = {{"bytes", SN_UNIT_BYTES}, {"count", SN_UNIT_COUNT}};
    (void)add_kind(self, 0);
    if (!self->report->count)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for allocations");
    return sn_topic_profile_init(&self->topic, context, columns, &self->report->profile, err);
}

struct sn_sink *sn_allocations_sink(const struct sn_aggregate_context *context,
                                    struct sonde_error *err)
{
    struct allocations *self = calloc(1, sizeof(*self));
    if (!self) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for allocations");
        return NULL;
    }
    *self = (struct allocations){.sink.ops = &ops, .report = &context->report->allocations};
    sn_type_names_init(&self->types, &context->report->arena);
    if (prepare(self, context, err) != SONDE_OK) {
        free_sink(&self->sink);
        return NULL;
    }
    return &self->sink;
}
