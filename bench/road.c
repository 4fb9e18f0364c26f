/* What an event costs on the road: nobody wants it, one does, twelve do. Prints nanoseconds an
 * event. Usage: road [MILLIONS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/loop.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/error.h"

static int take(struct sn_sink *sink, const struct sn_event *event)
{
    (void)sink;
    (void)event;
    return SONDE_OK;
}

static void forget(struct sn_sink *sink)
{
    (void)sink;
}

static int begin(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)source;
    (void)road;
    (void)err;
    return SONDE_OK;
}

static void leave(struct sn_source *source)
{
    (void)source;
}

static const struct sn_sink_ops sink_ops = {.name = "nothing", .event = take, .free = forget};
static const struct sn_source_ops source_ops = {
    .name = "nothing", .start = begin, .stop = leave, .free = leave};

static double now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double cost(struct sn_road *road, struct sn_source *source, struct sn_schema *schema,
                   uint64_t count)
{
    static const uint8_t payload[44];
    struct sn_event event = {.schema = schema, .payload = payload, .payload_size = sizeof(payload)};
    double start = now_ns();
    for (uint64_t i = 0; i < count; i++)
        sn_road_event(road, source, &event);
    return (now_ns() - start) / (double)count;
}

int main(int argc, char **argv)
{
    uint64_t count = 1000000ull * strtoull(argc > 1 ? argv[1] : "50", NULL, 10);
    struct sonde_error err = {0};
    struct sn_loop *loop = NULL;
    struct sn_road *road = NULL;
    static struct sn_source source = {.ops = &source_ops};
    static struct sn_schema schema = {.provider = "Bench", .name = "Tick"};
    static struct sn_sink sinks[12];
    static const struct sn_request_item other = {.provider = "Another"};
    static const struct sn_request elsewhere = {.item_count = 1, .items = &other};
    static struct sn_sink stranger = {.ops = &sink_ops};
    if (sn_loop_new(&loop, &err) != SONDE_OK || sn_road_new(loop, NULL, &road, &err) != SONDE_OK ||
        sn_road_add_source(road, &source, &err) != SONDE_OK ||
        sn_road_schema(road, &schema, &err) != SONDE_OK ||
        sn_road_subscribe(road, &elsewhere, &stranger, false, &err) < 0)
        return 1;
    printf("nobody\t%.2f\n", cost(road, &source, &schema, count));
    for (size_t i = 0; i < 12; i++) {
        sinks[i].ops = &sink_ops;
        if (sn_road_subscribe(road, &sn_everything, &sinks[i], false, &err) < 0)
            return 1;
        if (i == 0)
            printf("one\t%.2f\n", cost(road, &source, &schema, count));
    }
    printf("twelve\t%.2f\n", cost(road, &source, &schema, count));
    sn_road_free(road);
    sn_loop_free(loop);
    return 0;
}
