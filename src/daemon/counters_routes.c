/* /api/v1/counters and /api/v1/processes/{pid}/counters: the latest value of everything that is
 * watched, at once. */
#include <stdint.h>
#include <string.h>

#include "daemon/counters_desk.h"
#include "daemon/daemon.h"
#include "daemon/point_shot.h"
#include "daemon/point_text.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/route.h"

/* --- the answer --- */

static bool wants_csv(const struct sn_rest_call *call)
{
    const char *format = sn_rest_text(call, "format");
    return format ? strcmp(format, "csv") == 0
                  : sn_rest_prefers(call, "text/csv") && !sn_rest_prefers(call, "application/json");
}

static void write_one(struct sn_rest_call *call, const struct sn_point_shot *shot,
                      const struct sn_point_filter *filter)
{
    uint32_t pid = (uint32_t)sn_rest_number(call, "pid");
    struct sn_json json = sn_json_to(&call->out);
    const struct sn_shot_process *process = sn_point_shot_find(shot, pid);
    if (!process) {
        sn_rest_problem(call, 404, "there is no .NET process %u that can be watched", pid);
    } else if (wants_csv(call)) {
        call->content_type = "text/csv; charset=utf-8";
        sn_point_csv_head(&call->out);
        sn_point_csv_process(&call->out, process, filter);
    } else {
        sn_point_json_process(&json, process, filter);
    }
}

static void write_all(struct sn_rest_call *call, const struct sn_point_shot *shot,
                      const struct sn_point_filter *filter)
{
    struct sn_json json = sn_json_to(&call->out);
    if (wants_csv(call)) {
        call->content_type = "text/csv; charset=utf-8";
        sn_point_csv_head(&call->out);
        for (size_t i = 0; i < shot->process_count; i++)
            sn_point_csv_process(&call->out, &shot->processes[i], filter);
        return;
    }
    sn_json_object(&json, NULL);
    sn_json_array(&json, "processes");
    for (size_t i = 0; i < shot->process_count; i++)
        sn_point_json_process(&json, &shot->processes[i], filter);
    sn_json_close(&json);
    sn_json_close(&json);
}

static void write_answer(struct sn_rest_call *call, const struct sn_point_shot *shot)
{
    struct sn_point_filter filter = {.provider = sn_rest_text(call, "provider"),
                                     .name = sn_rest_text(call, "name")};
    if (strstr(call->route->path, "{pid}"))
        write_one(call, shot, &filter);
    else
        write_all(call, shot, &filter);
}

/* --- the way to it --- */

/* In a worker: texts take longer than copies. */
static void answer_with_shot(struct sn_rest_call *call)
{
    struct sn_point_shot *shot = sn_counters_desk_last(sn_roads_counters_desk(call->daemon->roads));
    write_answer(call, shot);
    sn_point_shot_release(shot);
}

/* In the roads thread. */
static void shoot(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_point_shot *shot =
        sn_counters_desk_shoot(sn_roads_counters_desk(call->daemon->roads), &err);
    if (shot)
        sn_rest_move(call, SN_SEAT_WORKER, answer_with_shot);
    else
        sn_rest_failed(call, &err);
    sn_point_shot_release(shot);
}

static void get_counters(struct sn_rest_call *call)
{
    struct sn_counters_desk *desk = sn_roads_counters_desk(call->daemon->roads);
    struct sn_point_shot *shot = desk ? sn_counters_desk_fresh(desk) : NULL;
    if (!desk) {
        sn_rest_problem(call, 404,
                        "this controller watches no counters: it runs with "
                        "--no-counters");
    } else if (shot) {
        write_answer(call, shot);
        sn_point_shot_release(shot);
    } else {
        sn_rest_move(call, SN_SEAT_ROADS, shoot);
    }
}

/* --- the tables --- */

#define FILTERS                                                           \
    {.name = "provider",                                                  \
     .summary = "only those of EventSources and meters like this, "       \
                "* for anything"},                                        \
        {.name = "name", .summary = "only counters of names like this"},  \
    {                                                                     \
        .name = "format", .kind = SN_PARAMETER_WORD, .words = "json,csv", \
        .summary = "instead of Accept"                                    \
    }

static const struct sn_parameter all_parameters[] = {FILTERS, {.name = NULL}};
static const struct sn_parameter one_parameters[] = {{.name = "pid",
                                                      .kind = SN_PARAMETER_NUMBER,
                                                      .summary = "the process",
                                                      .min = 1,
                                                      .max = INT32_MAX,
                                                      .is_required = true},
                                                     FILTERS,
                                                     {.name = NULL}};

static const struct sn_response all_responses[] = {
    {200, "application/json,text/csv", "CountersOfAll", "the latest value of every counter"},
    {404, "application/problem+json", "Problem", "no counters are watched"},
    {.status = 0}};
static const struct sn_response one_responses[] = {
    {200, "application/json,text/csv", "Counters", "the latest value of every counter"},
    {404, "application/problem+json", "Problem", "the process is not watched"},
    {.status = 0}};

const struct sn_route sn_counters_routes[] = {
    {.method = "GET",
     .path = "/api/v1/counters",
     .resource = "counters",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .parameters = all_parameters,
     .responses = all_responses,
     .summary = "the latest counters of every process",
     .share_ns = SN_ROUTE_MOMENT_NS,
     .handle = get_counters},
    {.method = "GET",
     .path = "/api/v1/processes/{pid}/counters",
     .resource = "counters",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_HTTP,
     .parameters = one_parameters,
     .responses = one_responses,
     .summary = "the latest counters of one process",
     .handle = get_counters},
    {.method = NULL},
};
