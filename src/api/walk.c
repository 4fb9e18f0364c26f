#include "api/walk.h"

#include "base/err.h"
#include "base/loop.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "source/file/nettrace_file.h"

int sn_walk_init(struct sn_walk *walk, const char *path, struct sonde_error *err)
{
    *walk = (struct sn_walk){.path = path};
    int rc = sn_loop_new(&walk->loop, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(walk->loop, NULL, &walk->road, err);
    if (rc != SONDE_OK)
        sn_walk_done(walk);
    return rc;
}

void sn_walk_done(struct sn_walk *walk)
{
    sn_road_free(walk->road);
    sn_loop_free(walk->loop);
    *walk = (struct sn_walk){0};
}

int sn_walk_subscribe(struct sn_walk *walk, const struct sn_request *request, struct sn_sink *sink,
                      bool needs_order, struct sonde_error *err)
{
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to read '%s'", walk->path);
    int number = sn_road_subscribe(walk->road, request, sink, needs_order, err);
    return number < 0 ? number : SONDE_OK;
}

/* The first sink that broke ends the walk: what it was to make would be missing something. */
static int broken_sink(const struct sn_walk *walk)
{
    for (int number = 0; number < (int)SN_SUBSCRIPTION_MAX; number++) {
        const struct sn_subscription *subscription = sn_road_subscription(walk->road, number);
        if (subscription && subscription->is_leaving && subscription->status < 0)
            return number;
    }
    return -1;
}

static int end_of(struct sn_walk *walk, int finished, struct sonde_error *err)
{
    int status = walk->source->status;
    if (finished != SONDE_OK || status == SONDE_OK)
        return finished;
    const struct sonde_error *cause = sn_nettrace_file_error(walk->source);
    return sn_fail(err, status, cause->offset, "'%s': %s", walk->path, cause->text);
}

int sn_walk_run(struct sn_walk *walk, sn_damage_fn *damaged, void *user, struct sonde_error *err)
{
    int rc = sn_nettrace_file_new(walk->path, damaged, user, &walk->source, err);
    if (rc == SONDE_OK)
        rc = sn_road_add_source(walk->road, walk->source, err);
    int broken = -1;
    while (rc == SONDE_OK && broken < 0 && !sn_road_is_done(walk->road)) {
        rc = sn_loop_turn(walk->loop, UINT64_MAX, err);
        broken = broken_sink(walk);
    }
    if (rc != SONDE_OK)
        return rc;
    if (broken >= 0) {
        int status = sn_road_subscription(walk->road, broken)->status;
        int told = sn_road_unsubscribe(walk->road, broken, err);
        return told < 0 ? told : sn_fail(err, status, 0, "reading '%s' failed", walk->path);
    }
    return end_of(walk, sn_road_finish(walk->road, err), err);
}

const struct sn_trace_info *sn_walk_info(const struct sn_walk *walk)
{
    return walk->source ? sn_decoder_info(sn_nettrace_file_decoder(walk->source)) : NULL;
}

struct sn_nettrace_counters sn_walk_counters(const struct sn_walk *walk)
{
    return walk->source ? sn_decoder_counters(sn_nettrace_file_decoder(walk->source))
                        : (struct sn_nettrace_counters){0}; /* it ended before it could be opened */
}

enum sn_input_kind sn_walk_kind(const struct sn_walk *walk)
{
    return walk->source ? sn_nettrace_file_kind(walk->source) : SN_INPUT_FILE;
}
