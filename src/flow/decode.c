#include "flow/decode.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "clr/runtime_events.h"
#include "flow/road.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"

struct sn_decoder {
    struct sn_road *road;
    struct sn_source *source;
    struct sn_nettrace_reader *reader;
    sn_damage_fn *damaged;
    void *user;
    bool has_info;
    struct sn_trace_info info;
    struct sonde_error err; /* why the road refused something */
    struct sn_decode_filter filter;
    const struct sn_schema **stand_ins; /* owns; by the index of the stream's own schema */
    size_t stand_in_count;
    size_t stand_in_capacity;
};

static int take_info(void *user, const struct sn_trace_info *info)
{
    struct sn_decoder *decoder = user;
    decoder->info = *info;
    decoder->has_info = true;
    return SONDE_OK;
}

/* The reader numbers its schemas from 0, without gaps, in the order of their declaration. */
static int take_stand_in(struct sn_decoder *decoder, const struct sn_schema *schema)
{
    const struct sn_schema **grown =
        sn_array_room(decoder->stand_ins, decoder->stand_in_count, &decoder->stand_in_capacity,
                      sizeof(const struct sn_schema *));
    if (!grown)
        return sn_fail(&decoder->err, SONDE_E_NOMEM, 0, "no memory for another kind of event");
    decoder->stand_ins = grown;
    grown[decoder->stand_in_count++] = decoder->filter.schema(decoder->filter.user, schema);
    return SONDE_OK;
}

static int take_schema(void *user, struct sn_schema *schema)
{
    struct sn_decoder *decoder = user;
    if (decoder->filter.schema)
        return take_stand_in(decoder, schema);
    return sn_road_schema(decoder->road, schema, &decoder->err);
}

static void take_filtered(struct sn_decoder *decoder, const struct sn_event *event)
{
    uint32_t index = event->schema->index;
    const struct sn_schema *stand_in =
        index < decoder->stand_in_count ? decoder->stand_ins[index] : NULL;
    if (!stand_in || (decoder->filter.skips_unwanted && !stand_in->wanted))
        return;
    struct sn_event changed = *event;
    changed.schema = stand_in;
    if (decoder->filter.event(decoder->filter.user, &changed, 0))
        sn_road_event(decoder->road, decoder->source, &changed);
}

static int take_event(void *user, const struct sn_event *event)
{
    struct sn_decoder *decoder = user;
    if (decoder->filter.schema)
        take_filtered(decoder, event);
    else
        sn_road_event(decoder->road, decoder->source, event);
    return SONDE_OK;
}

static int take_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct sn_decoder *decoder = user;
    struct sn_event where = {.time_ns = loss->time_ns,
                             .pid = loss->pid,
                             .cpu = UINT32_MAX,
                             .thread_id = loss->capture_thread_id,
                             .capture_thread_id = loss->capture_thread_id,
                             .pointer_size = (uint8_t)decoder->info.pointer_size};
    if (decoder->filter.schema && !decoder->filter.event(decoder->filter.user, &where, loss->count))
        return SONDE_OK;
    sn_road_lost(decoder->road, decoder->source, &where, loss->count);
    return SONDE_OK;
}

static int take_sequence_point(void *user, uint64_t time_ns)
{
    struct sn_decoder *decoder = user;
    sn_road_complete(decoder->road, decoder->source, time_ns);
    return SONDE_OK;
}

static int take_damage(void *user, const struct sn_nettrace_damage *damage)
{
    struct sn_decoder *decoder = user;
    if (decoder->damaged)
        decoder->damaged(decoder->user, damage);
    return SONDE_OK;
}

static bool describe(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    (void)user;
    (void)arena; /* the runtime's table is static */
    return sn_clr_describe(schema);
}

static const struct sn_nettrace_ops ops = {
    .trace = take_info,
    .schema = take_schema,
    .event = take_event,
    .lost = take_loss,
    .sequence_point = take_sequence_point,
    .damage = take_damage,
};

int sn_decoder_new(struct sn_road *road, struct sn_source *source, sn_damage_fn *damaged,
                   void *user, struct sn_decoder **ret_decoder, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a decoder");
    decoder->road = road;
    decoder->source = source;
    decoder->damaged = damaged;
    decoder->user = user;
    int rc = sn_nettrace_reader_new(&ops, decoder, &decoder->reader, err);
    if (rc != SONDE_OK)
        return rc;
    sn_nettrace_reader_set_layouts(decoder->reader, describe, NULL);
    *ret_decoder = SN_TAKE(decoder);
    return SONDE_OK;
}

void sn_decoder_free(struct sn_decoder *decoder)
{
    if (!decoder)
        return;
    sn_nettrace_reader_free(decoder->reader);
    free(decoder->stand_ins);
    free(decoder);
}

void sn_decoder_set_filter(struct sn_decoder *decoder, const struct sn_decode_filter *filter)
{
    decoder->filter = *filter;
}

int sn_decoder_feed(struct sn_decoder *decoder, const void *bytes, size_t size,
                    struct sonde_error *err)
{
    int rc = sn_nettrace_reader_feed(decoder->reader, bytes, size, err);
    return decoder->err.status ? sn_fail_because(err, &decoder->err, "cannot decode") : rc;
}

int sn_decoder_finish(struct sn_decoder *decoder, struct sonde_error *err)
{
    return sn_nettrace_reader_finish(decoder->reader, err);
}

const struct sn_trace_info *sn_decoder_info(const struct sn_decoder *decoder)
{
    return decoder->has_info ? &decoder->info : NULL;
}

struct sn_nettrace_counters sn_decoder_counters(const struct sn_decoder *decoder)
{
    return sn_nettrace_reader_counters(decoder->reader);
}
