/* Events of a saved trace: a walk over it with the caller at its end. */
#include <string.h>

#include "api/event_internal.h"
#include "api/options_in.h"
#include "api/walk.h"
#include "base/err.h"

struct reading {
    struct sonde_read_options options;
    sonde_event_fn *take;
    void *user;
    int answer; /* the last one of `take` */
};

static const struct sn_trace_info *file_info(const void *walk)
{
    return sn_walk_info(walk);
}

/* Only what fails ends a walk at once; a caller who has enough shall not wait for the rest. */
static int take_event(void *user, struct sonde_event *event)
{
    struct reading *reading = user;
    reading->answer = reading->take(reading->user, event);
    return reading->answer == SONDE_END ? SONDE_E_GONE : reading->answer;
}

static void take_loss(void *user, uint64_t thread_id, uint64_t count)
{
    const struct reading *reading = user;
    if (reading->options.lost)
        reading->options.lost(reading->user, thread_id, count);
}

static void take_damage(void *user, const struct sn_nettrace_damage *damage)
{
    const struct reading *reading = user;
    struct sonde_damage given = {
        .offset = damage->offset, .bytes = damage->bytes, .text = damage->text};
    if (reading->options.damaged)
        reading->options.damaged(reading->user, &given);
}

static int walk_file(struct sn_walk *walk, struct reading *reading, struct sonde_error *err)
{
    struct sn_request_item item = {.provider = reading->options.provider,
                                   .name = reading->options.name};
    struct sn_request request = {.item_count = 1, .items = &item};
    struct sn_receiver receiver = {
        .take = take_event, .lost = take_loss, .user = reading, .info = file_info, .stream = walk};
    struct sn_sink *sink = NULL;
    int rc = sn_event_sink_new(&receiver, &sink, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(walk, &request, sink, reading->options.in_order, err);
    return rc == SONDE_OK ? sn_walk_run(walk, take_damage, reading, err) : rc;
}

int sonde_file_read(const char *path, const struct sonde_read_options *options,
                    sonde_event_fn *take, void *user, struct sonde_error *err)
{
    struct reading reading = {.take = take, .user = user};
    struct sonde_error cause = {0};
    struct sn_walk walk;
    int rc = sn_options_in(options, &reading.options, sizeof(reading.options), "read options", err);
    if (rc == SONDE_OK)
        rc = sn_walk_init(&walk, path, err);
    if (rc != SONDE_OK)
        return rc;
    rc = walk_file(&walk, &reading, &cause);
    sn_walk_done(&walk);
    if (reading.answer == SONDE_END)
        return SONDE_OK;
    if (reading.answer < 0)
        return sn_fail(err, reading.answer, 0, "reading '%s' was given up by who takes its events",
                       path);
    if (err && !err->status)
        *err = cause;
    return rc;
}
