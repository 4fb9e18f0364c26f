/* Events of a saved trace: a road with the file as its source and the caller behind it. */
#include <string.h>

#include "api/event.h"
#include "base/err.h"
#include "base/loop.h"
#include "flow/decode.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "source/file/nettrace_file.h"

struct reading {
    const char *path;
    struct sonde_read_options options;
    struct sn_receiver receiver;
    struct sn_loop *loop;
    struct sn_road *road;
    struct sn_source *source; /* borrows from the road */
    int number;               /* of our subscription */
};

static int read_options(const struct sonde_read_options *given,
                        struct sonde_read_options *ret_options, struct sonde_error *err)
{
    *ret_options = (struct sonde_read_options){0};
    if (!given)
        return SONDE_OK;
    if (given->size < sizeof(size_t) || given->size > sizeof(*given))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "options for reading events are of another version of this library");
    memcpy(ret_options, given, given->size);
    return SONDE_OK;
}

static const struct sn_trace_info *file_info(const struct sn_source *source)
{
    return sn_decoder_info(sn_nettrace_file_decoder(source));
}

static void take_damage(void *user, const struct sn_nettrace_damage *damage)
{
    const struct reading *reading = user;
    struct sonde_damage given = {
        .offset = damage->offset, .bytes = damage->bytes, .text = damage->text};
    if (reading->options.damaged)
        reading->options.damaged(reading->receiver.user, &given);
}

static int open_road(struct reading *reading, const struct sn_request *request,
                     struct sonde_error *err)
{
    struct sn_sink *sink = NULL;
    int rc = sn_loop_new(&reading->loop, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(reading->loop, NULL, &reading->road, err);
    if (rc == SONDE_OK)
        rc = sn_event_sink_new(&reading->receiver, &sink, err);
    if (rc != SONDE_OK)
        return rc;
    reading->number =
        sn_road_subscribe(reading->road, request, sink, reading->options.in_order, err);
    if (reading->number < 0)
        return reading->number;
    rc = sn_nettrace_file_new(reading->path, take_damage, reading, &reading->source, err);
    reading->receiver.source = reading->source;
    return rc == SONDE_OK ? sn_road_add_source(reading->road, reading->source, err) : rc;
}

/* How the caller's callback left; SONDE_OK as long as it wants more. */
static int left_with(const struct reading *reading)
{
    const struct sn_subscription *subscription =
        sn_road_subscription(reading->road, reading->number);
    return subscription->is_leaving ? subscription->status : SONDE_OK;
}

static int outcome(const struct reading *reading, struct sonde_error *err)
{
    int left = left_with(reading);
    if (left < 0)
        return sn_fail(err, left, 0, "reading '%s' was given up by who takes its events",
                       reading->path);
    int status = reading->source->status;
    if (left == SONDE_END || status == SONDE_OK)
        return SONDE_OK;
    const struct sonde_error *cause = sn_nettrace_file_error(reading->source);
    return sn_fail(err, status, cause->offset, "'%s': %s", reading->path, cause->text);
}

static int read_all(struct reading *reading, struct sonde_error *err)
{
    while (!sn_road_is_done(reading->road)) {
        int rc = sn_loop_turn(reading->loop, UINT64_MAX, err);
        if (rc != SONDE_OK)
            return rc;
        if (left_with(reading) != SONDE_OK)
            sn_road_stop(reading->road);
    }
    return outcome(reading, err);
}

int sonde_file_read(const char *path, const struct sonde_read_options *options,
                    sonde_event_fn *take, void *user, struct sonde_error *err)
{
    struct reading reading = {.path = path,
                              .receiver = {.take = take, .user = user, .info = file_info}};
    int rc = read_options(options, &reading.options, err);
    if (rc != SONDE_OK)
        return rc;
    reading.receiver.lost = reading.options.lost;
    struct sn_request_item item = {.provider = reading.options.provider,
                                   .name = reading.options.name};
    struct sn_request request = {.item_count = 1, .items = &item};
    rc = open_road(&reading, &request, err);
    if (rc == SONDE_OK)
        rc = read_all(&reading, err);
    sn_road_free(reading.road);
    sn_loop_free(reading.loop);
    return rc;
}
