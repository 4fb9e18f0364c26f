/* watch-gc PID [COUNT]: prints each garbage collection of a running .NET process as it happens: its
 * generation, why it began, and how long all threads stood still. Ends after COUNT, or with Ctrl-C.
 *
 *   cc watch-gc.c $(pkg-config --cflags --libs sonde) -o watch-gc */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#define GC_KEYWORD    0x1
#define INFORMATIONAL 4

struct watch {
    uint64_t suspend_ns; /* when the runtime began to stop its threads */
    uint64_t pause_ns;   /* of the pause that is over */
    uint64_t number;     /* of the collection that began last; 0: none is waiting to be printed */
    uint64_t generation;
    uint64_t reason;
    unsigned long printed;
    unsigned long wanted; /* 0: all */
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static const char *reason_name(uint64_t reason)
{
    static const char *const names[] = {"small objects",
                                        "induced",
                                        "low memory",
                                        "empty",
                                        "large objects",
                                        "out of space",
                                        "out of space for large objects",
                                        "induced, no force",
                                        "stress",
                                        "low memory, blocking",
                                        "induced, compacting"};
    return reason < sizeof(names) / sizeof(*names) ? names[reason] : "other";
}

static uint64_t number_of(struct sonde_event *event, const char *name)
{
    struct sonde_value value;
    return sonde_event_field(event, name, &value) ? value.number : 0;
}

static void print_collection(struct watch *watch)
{
    printf("gc %" PRIu64 ": generation %" PRIu64 ", %s, paused %" PRIu64 " us\n", watch->number,
           watch->generation, reason_name(watch->reason), watch->pause_ns / 1000);
    fflush(stdout);
    watch->number = 0;
    watch->printed++;
}

/* A pause begins with GCSuspendEEBegin and ends with GCRestartEEEnd; GCStart comes in between. */
static int take(void *user, struct sonde_event *event)
{
    struct watch *watch = user;
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    if (strcmp(info.name, "GCSuspendEEBegin") == 0) {
        watch->suspend_ns = info.time_ns;
    } else if (strcmp(info.name, "GCStart") == 0) {
        watch->number = number_of(event, "Count");
        watch->generation = number_of(event, "Depth");
        watch->reason = number_of(event, "Reason");
    } else if (strcmp(info.name, "GCRestartEEEnd") == 0 && watch->suspend_ns) {
        watch->pause_ns = info.time_ns - watch->suspend_ns;
        if (watch->number)
            print_collection(watch);
    }
    return watch->wanted && watch->printed == watch->wanted ? SONDE_END : SONDE_OK;
}

static int run(struct sonde_subscription *subscription, struct sonde_error *err)
{
    int rc = SONDE_OK;
    while (rc == SONDE_OK) {
        struct pollfd waiting = {.fd = sonde_subscription_fd(subscription), .events = POLLIN};
        poll(&waiting, 1, sonde_subscription_wait_ms(subscription));
        if (is_interrupted)
            sonde_subscription_stop(subscription);
        rc = sonde_subscription_turn(subscription, err);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct watch watch = {0};
    struct sonde_error err = {0};
    struct sonde_subscription *subscription = NULL;
    const struct sonde_provider gc = {
        .name = "Microsoft-Windows-DotNETRuntime", .keywords = GC_KEYWORD, .level = INFORMATIONAL};
    const struct sonde_subscribe_options options = {.size = sizeof(options),
                                                    .providers = &gc,
                                                    .provider_count = 1,
                                                    .no_stacks = true,
                                                    .in_order = true};

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: watch-gc PID [COUNT]\n");
        return 2;
    }
    watch.wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    signal(SIGINT, interrupt);
    int rc = sonde_subscribe((uint32_t)strtoul(argv[1], NULL, 10), &options, take, &watch,
                             &subscription, &err);
    if (rc == SONDE_OK)
        rc = run(subscription, &err);
    if (rc == SONDE_END && sonde_subscription_lost(subscription))
        fprintf(stderr, "watch-gc: %" PRIu64 " events were lost\n",
                sonde_subscription_lost(subscription));
    sonde_subscription_free(subscription);
    if (rc == SONDE_END)
        return 0;
    fprintf(stderr, "watch-gc: %s\n", err.text);
    return 1;
}
