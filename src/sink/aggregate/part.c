#include "sink/aggregate/part.h"

#include <stdlib.h>
#include <string.h>

#include "flow/sink.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/error.h"

/* Says of which process and machine the trace is, wherever that stands. */
#define SESSION_PROVIDER "Microsoft-DotNETCore-EventPipe"

struct part_sink {
    struct sn_sink sink;
    struct sn_part part;
    struct sn_sink *inner; /* owns */
};

uint64_t sn_part_of(const struct sn_part *part, uint64_t end_ns, uint64_t ns)
{
    uint64_t start = end_ns > ns ? end_ns - ns : 0;
    uint64_t end = sn_part_end(part, end_ns);
    if (start < part->from_ns)
        start = part->from_ns;
    return end > start ? end - start : 0;
}

static int pass_on(struct sn_sink *sink, const struct sn_event *event)
{
    struct part_sink *self = (struct part_sink *)sink;
    bool is_wanted = sn_part_has(&self->part, event->time_ns) ||
                     strcmp(event->schema->provider, SESSION_PROVIDER) == 0;
    return is_wanted ? self->inner->ops->event(self->inner, event) : SONDE_OK;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    struct sn_sink *inner = ((struct part_sink *)sink)->inner;
    return inner->ops->finish ? inner->ops->finish(inner, err) : SONDE_OK;
}

static void free_self(struct sn_sink *sink)
{
    struct sn_sink *inner = ((struct part_sink *)sink)->inner;
    inner->ops->free(inner);
    free(sink);
}

static const struct sn_sink_ops ops = {
    .name = "part", .event = pass_on, .finish = finish, .free = free_self};

struct sn_sink *sn_part_sink(const struct sn_part *part, struct sn_sink *inner)
{
    struct part_sink *self = inner ? calloc(1, sizeof(*self)) : NULL;
    if (!self) {
        if (inner)
            inner->ops->free(inner);
        return NULL;
    }
    *self = (struct part_sink){.sink.ops = &ops, .part = *part, .inner = inner};
    return &self->sink;
}
