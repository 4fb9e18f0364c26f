#include "source/perf/outlet.h"

#include "base/err.h"
#include "flow/road.h"
#include "model/event.h"

#define PAYLOAD_LIMIT (64u << 10)

int sn_outlet_open(struct sn_outlet *outlet, struct sn_road *road, struct sn_source *source,
                   struct sonde_error *err)
{
    outlet->road = road;
    outlet->source = source;
    outlet->payload = sn_buf_with_limit(PAYLOAD_LIMIT);
    sn_universal_schemas(outlet->schemas);
    int rc = SONDE_OK;
    for (unsigned i = 0; i < SN_UNIVERSAL_COUNT && rc == SONDE_OK; i++)
        rc = sn_road_schema(road, &outlet->schemas[i], err);
    return rc;
}

void sn_outlet_done(struct sn_outlet *outlet)
{
    sn_buf_done(&outlet->payload);
}

static struct sn_event event_at(const struct sn_outlet_at *at)
{
    return (struct sn_event){.time_ns = at->time_ns,
                             .pid = at->pid,
                             .cpu = at->cpu,
                             .thread_id = at->tid,
                             .pointer_size = 8};
}

void sn_outlet_put(struct sn_outlet *outlet, enum sn_universal kind, const struct sn_outlet_at *at,
                   const struct sn_universal_fields *fields)
{
    sn_outlet_put_stack(outlet, kind, at, fields, NULL, 0);
}

void sn_outlet_put_stack(struct sn_outlet *outlet, enum sn_universal kind,
                         const struct sn_outlet_at *at, const struct sn_universal_fields *fields,
                         const uint64_t *stack, uint32_t depth)
{
    struct sn_event event = event_at(at);
    sn_buf_clear(&outlet->payload);
    sn_universal_encode(kind, fields, &outlet->payload);
    event.schema = &outlet->schemas[kind];
    event.payload = outlet->payload.bytes;
    event.payload_size = (uint32_t)outlet->payload.size;
    event.stack = (const uint8_t *)stack;
    event.stack_depth = depth;
    if (outlet->payload.failed)
        sn_road_lost(outlet->road, outlet->source, &event, 1);
    else
        sn_road_event(outlet->road, outlet->source, &event);
}

void sn_outlet_lost(struct sn_outlet *outlet, const struct sn_outlet_at *at, uint64_t count)
{
    struct sn_event event = event_at(at);
    sn_road_lost(outlet->road, outlet->source, &event, count);
}
