#include "daemon/health.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "daemon/audit.h"
#include "daemon/counters_desk.h"
#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/route.h"
#include "daemon/spool.h"
#include "daemon/store_desk.h"
#include "sonde/sonde.h"

static uint64_t counters_left_out(struct sn_daemon *daemon)
{
    struct sn_counters_desk *desk = daemon->roads ? sn_roads_counters_desk(daemon->roads) : NULL;
    return desk ? sn_counters_desk_left_out(desk) : 0;
}

bool sn_health_write(struct sn_daemon *daemon, struct sn_buf *to)
{
    struct sn_store_health store = {0};
    struct sn_json json = sn_json_to(to);
    if (daemon->store)
        sn_store_desk_health(daemon->store, &store);
    bool is_stuck = daemon->roads && sn_roads_is_stuck(daemon->roads);
    bool is_lossy = daemon->audit && !sn_audit_catch_up(daemon->audit);
    bool is_full = sn_spool_is_full(daemon->options->state_folder);
    uint64_t left_out = counters_left_out(daemon);
    bool is_well = !store.is_degraded && !is_stuck && !is_lossy && !is_full && !left_out;
    sn_json_object(&json, NULL);
    sn_json_text(&json, "status", is_well ? "ok" : "degraded");
    sn_json_array(&json, "reasons");
    if (store.is_degraded)
        sn_json_text(&json, NULL, store.why);
    if (store.set_aside[0]) { /* no reason to worry, but to know */
        char text[160];
        (void)snprintf(text, sizeof(text), "a damaged store was set aside as %s", store.set_aside);
        sn_json_text(&json, NULL, text);
    }
    if (is_full)
        sn_json_text(&json, NULL, "the disk of the state folder is full: nothing is recorded");
    if (daemon->options->is_stateless) /* likewise */
        sn_json_text(
            &json, NULL,
            "the state folder cannot be written: there is no audit log, and no key counts");
    if (is_lossy)
        sn_json_text(&json, NULL, "lines of the audit log could not be written");
    if (is_stuck)
        sn_json_text(&json, NULL, "the thread that listens to processes has not moved for seconds");
    if (left_out) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "%llu counters of many processes find no room in the overview: each process "
                       "shows its own",
                       (unsigned long long)left_out);
        sn_json_text(&json, NULL, text);
    }
    sn_json_close(&json);
    sn_json_close(&json);
    return is_well;
}

/* 200 in any case: whoever restarts what is degraded makes it worse. */
static void get_health(struct sn_rest_call *call)
{
    (void)sn_health_write(call->daemon, &call->out);
}

static void get_ready(struct sn_rest_call *call)
{
    struct sn_json json = sn_json_to(&call->out);
    bool is_ready = !call->daemon->roads || sn_roads_is_running(call->daemon->roads);
    if (!is_ready) {
        sn_rest_header(call, "Retry-After", "1");
        sn_rest_problem(call, 503, "the controller is starting");
        return;
    }
    sn_json_object(&json, NULL);
    sn_json_text(&json, "status", "ready");
    sn_json_close(&json);
}

static void get_info(struct sn_rest_call *call)
{
    char host[256] = "";
    char start[32];
    struct sn_daemon *daemon = call->daemon;
    uint64_t up_ns = sn_clock_monotonic_ns() - daemon->start_ns;
    struct sn_json json = sn_json_to(&call->out);
    (void)gethostname(host, sizeof(host) - 1);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "name", "sonde");
    sn_json_text(&json, "version", SONDE_VERSION);
    sn_json_text(&json, "host", host);
    sn_json_u64(&json, "pid", (uint64_t)getpid());
    sn_json_text(&json, "started", sn_clock_rfc3339(sn_clock_utc_ns() - up_ns, start));
    sn_json_real(&json, "upSeconds", (double)up_ns / SN_NS_PER_SECOND);
    sn_json_bool(&json, "hasStore", daemon->store != NULL);
    sn_json_bool(&json, "hasCounters", !daemon->options->no_counters);
    sn_json_bool(&json, "hasUsualCounters", !daemon->options->counter_count);
    sn_json_real(&json, "intervalSeconds", (double)daemon->options->interval_ns / SN_NS_PER_SECOND);
    sn_json_text(&json, "scope", sn_scope_name(call->who.scope));
    sn_json_text(&json, "who", call->who.name);
    sn_json_array(&json, "disabled");
    for (size_t i = 0; i < daemon->options->disabled_count; i++)
        sn_json_text(&json, NULL, daemon->options->disabled[i]);
    sn_json_close(&json);
    sn_json_close(&json);
}

static const struct sn_response health_responses[] = {
    {200, "application/json", "Health", "whether all is well, and what is not"},
    {.status = 0},
};
static const struct sn_response ready_responses[] = {
    {200, "application/json", "Ready", "it serves"},
    {503, "application/problem+json", "Problem", "not yet"},
    {.status = 0},
};
static const struct sn_response info_responses[] = {
    {200, "application/json", "ControllerInfo", "the controller, and who asks"},
    {.status = 0},
};

const struct sn_route sn_health_routes[] = {
    {.method = "GET",
     .path = "/health",
     .resource = "health",
     .scope = SN_SCOPE_NONE,
     .seat = SN_SEAT_HTTP,
     .responses = health_responses,
     .summary = "how the controller fares",
     .handle = get_health},
    {.method = "GET",
     .path = "/ready",
     .resource = "health",
     .scope = SN_SCOPE_NONE,
     .seat = SN_SEAT_HTTP,
     .responses = ready_responses,
     .summary = "whether it serves by now",
     .handle = get_ready},
    {.method = "GET",
     .path = "/api/v1/info",
     .resource = "info",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .responses = info_responses,
     .summary = "what this controller is",
     .handle = get_info},
    {.method = NULL},
};
