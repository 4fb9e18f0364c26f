/* Watches the counters of processes and writes every point as one line of JSON:
 *
 *   interop_points SECONDS INTERVAL SPECIFICATIONS PID... ("" for the usual ones) */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "sonde/counters.h"

#define PID_MAX 64u

static void put_texts(struct sn_json *json, const struct sonde_point *point)
{
    sn_json_text(json, "provider", point->provider);
    sn_json_text(json, "version", point->version);
    sn_json_text(json, "name", point->name);
    sn_json_text(json, "unit", point->unit);
    sn_json_text(json, "description", point->description);
    sn_json_text(json, "tags", point->tag_text);
}

static void put_real(struct sn_json *json, const char *name, double value)
{
    if (isfinite(value))
        sn_json_exact_real(json, name, value);
}

static void put_numbers(struct sn_json *json, const struct sonde_point *point)
{
    sn_json_u64(json, "time_ns", point->time_ns);
    sn_json_u64(json, "utc_ns", point->utc_ns);
    sn_json_u64(json, "interval_ns", point->interval_ns);
    sn_json_u64(json, "count", point->count);
    sn_json_bool(json, "provisional", point->is_provisional);
    sn_json_bool(json, "absolute", point->is_absolute);
    put_real(json, "value", point->value);
    put_real(json, "rate", point->rate);
    put_real(json, "total", point->total);
    put_real(json, "sum", point->sum);
    put_real(json, "min", point->min);
    put_real(json, "max", point->max);
    put_real(json, "deviation", point->deviation);
}

static void take(void *user, const struct sonde_point *point)
{
    struct sn_buf *to = user;
    sn_buf_clear(to);
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "pid", point->pid);
    sn_json_i64(&json, "origin", point->origin);
    sn_json_i64(&json, "kind", point->kind);
    put_texts(&json, point);
    put_numbers(&json, point);
    sn_json_array(&json, "quantiles");
    for (size_t i = 0; i < point->quantile_count; i++) {
        put_real(&json, NULL, point->quantiles[i].at);
        put_real(&json, NULL, point->quantiles[i].value);
    }
    sn_json_close(&json);
    sn_json_close(&json);
    (void)puts(sn_buf_string(to));
}

static void show_processes(const struct sonde_counters *counters)
{
    for (size_t i = 0; i < sonde_counters_process_count(counters); i++) {
        struct sonde_watched watched;
        sonde_counters_process(counters, i, &watched);
        (void)fprintf(stderr, "pid %u %s phase %d interval %llu lost %llu dropped %llu: %s\n",
                      watched.process->pid, watched.process->name, watched.phase,
                      (unsigned long long)watched.interval_ns,
                      (unsigned long long)watched.lost_count,
                      (unsigned long long)watched.dropped_count, watched.note);
    }
}

static int run(struct sonde_hub *hub, uint64_t until_ns, struct sonde_error *err)
{
    int rc = SONDE_OK;
    while (rc == SONDE_OK && sn_clock_monotonic_ns() < until_ns) {
        struct pollfd fd = {.fd = sonde_hub_fd(hub), .events = POLLIN};
        int wait = sonde_hub_wait_ms(hub);
        int most = sn_clock_poll_ms(until_ns);
        (void)poll(&fd, 1, wait < 0 || wait > most ? most : wait);
        rc = sonde_hub_turn(hub, err);
        (void)fflush(stdout);
    }
    return rc;
}

static uint64_t ns_of(const char *seconds)
{
    return (uint64_t)(strtod(seconds, NULL) * SN_NS_PER_SECOND);
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    uint32_t pids[PID_MAX];
    struct sonde_hub *hub = NULL;
    struct sonde_counters *counters = NULL;
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(1u << 20);
    if (argc < 5 || argc - 4 > (int)PID_MAX)
        return 2;
    const char *specifications = argv[3];
    struct sonde_counters_options options = {.size = sizeof(options),
                                             .pids = pids,
                                             .interval_ns = ns_of(argv[2]),
                                             .counters = &specifications,
                                             .counter_count = specifications[0] != '\0'};
    for (int i = 4; i < argc; i++)
        pids[options.pid_count++] = (uint32_t)strtoul(argv[i], NULL, 10);
    uint64_t until_ns = sn_clock_monotonic_ns() + ns_of(argv[1]);
    struct sonde_hub_options hub_options = {.size = sizeof(hub_options)};
    int rc = sonde_hub_new(&hub_options, &hub, &err);
    if (rc == SONDE_OK)
        rc = sonde_counters_new(hub, &options, take, &line, &counters, &err);
    if (rc == SONDE_OK)
        rc = run(hub, until_ns, &err);
    if (rc == SONDE_OK)
        show_processes(counters);
    else
        (void)fprintf(stderr, "%s\n", err.text);
    sonde_counters_free(counters);
    sonde_hub_free(hub);
    return rc == SONDE_OK ? 0 : 1;
}
