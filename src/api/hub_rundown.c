/* A short session, stopped as soon as it is open, for what its runtime tells at the end. It is the
 * one session that a process may have beyond its lanes', so it waits until no lane exchanges its
 * own, and lanes wait for it. */
#include <stdlib.h>

#include "api/hub_parts.h"
#include "api/method_event.h"
#include "api/opening.h"
#include "base/clock.h"
#include "base/err.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"

#define RUNDOWN_KEYWORDS   0x38u /* Loader, JIT, NGen */
#define RUNDOWN_BUFFER_MB  64u
#define RUNDOWN_TIMEOUT_NS (30ull * SN_NS_PER_SECOND)

static const uint32_t rundown_ids[] = {143, 144, 153, 154};

struct rundown_sink {
    struct sn_sink sink;
    struct sn_hub_rundown *rundown; /* borrows */
};

static int take(struct sn_sink *base, const struct sn_event *event)
{
    const struct sn_hub_rundown *rundown = ((struct rundown_sink *)base)->rundown;
    rundown->take(rundown->user, event);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *base)
{
    free(base);
}

static int subscribe(struct sn_hub_rundown *rundown, struct sonde_error *err)
{
    static const struct sn_sink_ops ops = {.name = "rundown", .event = take, .free = free_sink};
    static const struct sn_request_item item = {.provider = SN_RUNDOWN_PROVIDER,
                                                .ids = rundown_ids,
                                                .id_count =
                                                    sizeof(rundown_ids) / sizeof(*rundown_ids)};
    static const struct sn_request request = {.item_count = 1, .items = &item};
    struct rundown_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a rundown");
    sink->sink.ops = &ops;
    sink->rundown = rundown;
    int number = sn_road_subscribe(rundown->road, &request, &sink->sink, false, err);
    return number < 0 ? number : SONDE_OK;
}

static int start(struct sn_hub_rundown *rundown, struct sonde_error *err)
{
    /* A session needs some provider. */
    static const struct sn_ipc_provider nothing = {.name = SN_RUNTIME_PROVIDER, .level = 1};
    struct sn_hub_target *target = rundown->target;
    struct sn_eventpipe_options options = {
        .route = target->route,
        .wants = {.providers = &nothing,
                  .provider_count = 1,
                  .buffer_mb = sn_opening_buffer_mb(RUNDOWN_BUFFER_MB, target->pid),
                  .rundown_keyword = RUNDOWN_KEYWORDS,
                  .runtime_major = target->major},
        .stops_at_once = true,
        .stop_timeout_ns = RUNDOWN_TIMEOUT_NS,
        .part = sn_hub_part,
        .user = target->hub,
        .scratch = &target->hub->scratch,
    };
    struct sn_source *source = NULL;
    int rc = sn_road_new(target->hub->loop, NULL, &rundown->road, err);
    if (rc == SONDE_OK)
        rc = subscribe(rundown, err);
    if (rc == SONDE_OK)
        rc = sn_eventpipe_new(&options, &source, err);
    if (rc == SONDE_OK)
        rc = sn_road_add_source(rundown->road, source, err);
    if (rc == SONDE_OK)
        target->opened_count++;
    return rc;
}

void sn_hub_rundown_cancel(struct sn_hub_rundown *rundown)
{
    if (!rundown->target)
        return;
    struct sn_hub_rundown **at = &rundown->target->rundowns;
    while (*at != rundown)
        at = &(*at)->next;
    *at = rundown->next;
    rundown->target->hub->must_tend = true; /* whoever waits may go on */
    sn_road_free(rundown->road);
    rundown->road = NULL;
    rundown->target = NULL;
}

static void end(struct sn_hub_rundown *rundown)
{
    sn_hub_rundown_cancel(rundown);
    rundown->done(rundown->user);
}

void sn_rundown_add(struct sn_hub_target *target, struct sn_hub_rundown *rundown)
{
    struct sn_hub_rundown **at = &target->rundowns;
    while (*at)
        at = &(*at)->next;
    rundown->target = target;
    rundown->next = NULL;
    *at = rundown;
    target->hub->must_tend = true;
}

bool sn_rundown_runs(const struct sn_hub_target *target)
{
    return target->rundowns && target->rundowns->road;
}

void sn_rundown_tend(struct sn_hub_target *target)
{
    struct sn_hub_rundown *first = target->rundowns;
    if (sn_rundown_runs(target) && sn_road_is_done(first->road))
        end(first);
    first = target->rundowns;
    if (first && !first->road && sn_target_has_room(target) && start(first, NULL) != SONDE_OK)
        end(first);
}

void sn_rundown_end_all(struct sn_hub_target *target)
{
    while (target->rundowns)
        end(target->rundowns);
}
