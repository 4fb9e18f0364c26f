/* Decodes the events of a running process through a hub, every field of every event, and says how
 * many. Usage: listen SECONDS PID PROVIDER; the peer of bench/watcher's `events`. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sonde/hub.h"

struct counts {
    uint64_t events;
    uint64_t fields;
};

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int take(void *user, struct sonde_event *event)
{
    struct counts *counts = user;
    struct sonde_value value;
    counts->events++;
    while (sonde_event_next(event, &value) == SONDE_OK)
        counts->fields++;
    return SONDE_OK;
}

static int fail(const struct sonde_error *err)
{
    (void)fprintf(stderr, "listen: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct sonde_error err = {0};
    struct sonde_hub *hub = NULL;
    struct sonde_consumer *consumer = NULL;
    struct counts counts = {0};
    struct sonde_provider provider = {.name = argv[3], .keywords = UINT64_MAX, .level = 5};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = (uint32_t)strtoul(argv[2], NULL, 10),
                                             .providers = &provider,
                                             .provider_count = 1,
                                             .stacks = true};
    if (sonde_hub_new(NULL, &hub, &err) != SONDE_OK ||
        sonde_hub_add(hub, &options, take, &counts, &consumer, &err) != SONDE_OK)
        return fail(&err);
    double end = now() + strtod(argv[1], NULL);
    while (now() < end) {
        struct pollfd ready = {.fd = sonde_hub_fd(hub), .events = POLLIN};
        (void)poll(&ready, 1, 100);
        if (sonde_hub_turn(hub, &err) != SONDE_OK)
            return fail(&err);
    }
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    printf("events\t%" PRIu64 "\nfields\t%" PRIu64 "\nlost\t%" PRIu64 "\n", counts.events,
           counts.fields, state.lost_count);
    sonde_hub_free(hub);
    return 0;
}
