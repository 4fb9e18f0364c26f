/* Flame graphs of recordings, also of those that run: read in a worker, shared by all who ask, at
 * most once in two seconds each (and less often where reading takes long). Roads thread, but what
 * is marked. */
#include "daemon/recording_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/flame.h"
#include "daemon/operation_kinds.h"
#include "daemon/operation_table.h"
#include "daemon/profile_names.h"
#include "daemon/profile_resource.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/workers.h"
#include "sonde/profile.h"

#define GRAPHS_MAX     16u
#define EVERY_NS       (2 * (uint64_t)SN_NS_PER_SECOND)
#define NAMES_EVERY_NS (30 * (uint64_t)SN_NS_PER_SECOND)
#define FIRST_NS       (5 * (uint64_t)SN_NS_PER_SECOND) /* patience for a first version */
#define AGAIN_NS       (200 * (uint64_t)SN_NS_PER_MS)
#define REST_FACTOR    4u /* it rests so many times as long as reading took */

/* One view of one recording. */
struct sn_profile_graph {
    struct sn_profile_graph *next;
    char id[37];
    int view;
    char process[128];
    struct sn_flame *flame; /* the newest; NULL */
    int status;             /* of the last reading */
    struct sonde_error err;
    uint64_t made_ns;
    uint64_t next_ns; /* not to be read again before */
    uint64_t used_ns;
    uint64_t first_ns; /* who asks waits until then for something to show */
    uint64_t again_ns; /* those who wait have it read again then; 0: they wait for a reading */
    uint64_t names_ns; /* when names were last asked for; 0: never */
    bool is_final;     /* it was read when the recording had ended */
    bool is_busy;
    struct sn_rest_call *waiting; /* parked; by their `next` */
};

/* A reading, in a worker. */
struct reading {
    struct sn_daemon *daemon;
    struct sn_profile_graph *graph; /* borrows; busy until this is back */
    struct sn_artefact *artefact;   /* owns a reference */
    struct sn_flame *before;        /* owns a reference */
    struct sn_flame *flame;         /* the result */
    uint32_t names_pid;             /* 0: names are not asked for now */
    bool is_final;
    int view;
    char process[128];
    char path[4096];
    char names[4096];
    int status;
    struct sonde_error err;
    uint64_t start_ns;
};

/* What a call is sent, written in a worker. */
struct showing {
    struct sn_flame *flame; /* owns a reference; NULL: there is nothing yet */
    struct sn_flame_show show;
};

static void free_showing(void *user)
{
    struct showing *showing = user;
    sn_flame_release(showing->flame);
    free(showing);
}

/* --- the answer --- */

/* In a worker. */
static void write_answer(struct sn_rest_call *call)
{
    const struct showing *showing = call->user;
    if (showing->flame) {
        sn_flame_write(showing->flame, &showing->show, &call->out);
        return;
    }
    struct sn_json json = sn_json_to(&call->out);
    sn_json_object(&json, NULL);
    sn_json_u64(&json, "version", 0);
    sn_json_u64(&json, "since", 0);
    sn_json_text(&json, "view", showing->show.view);
    sn_json_text(&json, "unit", "");
    sn_json_u64(&json, "total", 0);
    sn_json_real(&json, "durationSeconds", 0);
    sn_json_u64(&json, "lost", 0);
    sn_json_bool(&json, "complete", false);
    sn_json_array(&json, "frames");
    sn_json_close(&json);
    sn_json_array(&json, "nodes");
    sn_json_close(&json);
    sn_json_close(&json);
}

/* True: the call goes on; false: it has its problem. */
static bool answer(struct sn_rest_call *call, const struct sn_profile_graph *graph)
{
    if (graph->status < 0 && graph->is_final) {
        sn_rest_failed(call, &graph->err);
        return false;
    }
    struct showing *showing = calloc(1, sizeof(*showing));
    if (!showing) {
        sn_rest_problem(call, 503, "no memory");
        return false;
    }
    showing->flame = graph->flame ? sn_flame_hold(graph->flame) : NULL;
    showing->show = (struct sn_flame_show){.since = (uint64_t)sn_rest_number(call, "since"),
                                           .view = sonde_view_name(graph->view),
                                           .is_complete = graph->is_final};
    call->user = showing;
    call->free_user = free_showing;
    sn_rest_move(call, SN_SEAT_WORKER, write_answer);
    return true;
}

/* --- reading --- */

static void free_reading(struct reading *reading)
{
    sn_artefact_release(reading->artefact);
    sn_flame_release(reading->before);
    sn_flame_release(reading->flame);
    free(reading);
}

static void answer_all(struct sn_profile_graph *graph)
{
    struct sn_rest_call *call = SN_TAKE(graph->waiting);
    while (call) {
        struct sn_rest_call *next = call->next;
        call->next = NULL;
        if (!answer(call, graph))
            sn_rest_finish(call);
        call = next;
    }
}

/* Back in the roads thread. */
static void has_read(void *user)
{
    struct reading *reading = user;
    struct sn_profile_graph *graph = reading->graph;
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t rest_ns = (now - reading->start_ns) * REST_FACTOR;
    graph->is_busy = false;
    graph->status = reading->status;
    graph->err = reading->err;
    graph->is_final = reading->is_final;
    graph->made_ns = now;
    graph->next_ns = now + (rest_ns > EVERY_NS ? rest_ns : EVERY_NS);
    if (reading->flame) {
        sn_flame_release(graph->flame);
        graph->flame = SN_TAKE(reading->flame);
    } else if (reading->names_pid) {
        graph->names_ns = 0;
    }
    free_reading(reading);
    graph->again_ns =
        !graph->flame && !graph->is_final && now < graph->first_ns ? now + AGAIN_NS : 0;
    if (!graph->again_ns)
        answer_all(graph);
}

/* In a worker. */
static int read_profile(struct reading *reading, struct sonde_profile **ret_profile)
{
    struct sonde_profile_options options = {.size = sizeof(options),
                                            .view = reading->view,
                                            .process =
                                                reading->process[0] ? reading->process : NULL,
                                            .names = reading->names};
    return sonde_profile_read(reading->path, &options, ret_profile, &reading->err);
}

/* In a worker. Names are asked for when there is something to name. */
static void read_it(void *user)
{
    struct reading *reading = user;
    struct sonde_error unnamed = {0};
    struct sonde_profile *profile = NULL;
    int rc = read_profile(reading, &profile);
    if (rc >= 0 && reading->names_pid &&
        sn_profile_names_fetch(reading->names_pid, reading->names, &unnamed) == SONDE_OK) {
        sonde_profile_free(SN_TAKE(profile));
        rc = read_profile(reading, &profile);
    }
    if (rc >= 0)
        rc = sn_flame_new(reading->before, profile, &reading->flame, &reading->err);
    sonde_profile_free(profile);
    reading->status = rc;
    sn_roads_post_sure(reading->daemon->roads, has_read, reading);
}

/* While it records, a recording of the machine is a journal: its archive's name without .zip. */
static void set_paths(struct reading *reading, const struct sn_operation *operation)
{
    struct stat status;
    const char *path = sn_artefact_path(operation->artefact);
    (void)snprintf(reading->path, sizeof(reading->path), "%s", path);
    (void)snprintf(reading->names, sizeof(reading->names), "%s.names", path);
    size_t size = strlen(reading->path);
    if (operation->kind == &sn_record_operation && !reading->is_final && size > 4 &&
        stat(path, &status) != 0)
        reading->path[size - 4] = 0;
}

/* One reading of names serves all views of a recording. */
static bool needs_names(struct sn_operations *operations, struct sn_profile_graph *graph,
                        const struct sn_operation *operation)
{
    uint64_t now = sn_clock_monotonic_ns();
    if (operation->kind != &sn_trace_operation || operation->state != SN_OPERATION_RUNNING)
        return false;
    for (const struct sn_profile_graph *one = operations->graphs; one; one = one->next) {
        if (one->names_ns && now - one->names_ns < NAMES_EVERY_NS &&
            strcmp(one->id, graph->id) == 0)
            return false;
    }
    graph->names_ns = now;
    return true;
}

static bool start_reading(struct sn_profile_graph *graph, struct sn_operation *operation)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading)
        return false;
    reading->daemon = operation->daemon;
    reading->graph = graph;
    reading->artefact = sn_artefact_hold(operation->artefact);
    reading->before = graph->flame ? sn_flame_hold(graph->flame) : NULL;
    reading->is_final = !sn_operation_is_active(operation);
    reading->view = graph->view;
    reading->start_ns = sn_clock_monotonic_ns();
    memcpy(reading->process, graph->process, sizeof(reading->process));
    set_paths(reading, operation);
    if (needs_names(operation->daemon->operations, graph, operation))
        reading->names_pid = operation->pid;
    graph->is_busy = sn_workers_post(operation->daemon->workers, read_it, reading);
    if (!graph->is_busy)
        free_reading(reading);
    return graph->is_busy;
}

/* --- graphs --- */

static void free_graph(struct sn_profile_graph *graph)
{
    sn_flame_release(graph->flame);
    free(graph);
}

void sn_profile_resource_done(struct sn_operations *operations)
{
    while (operations->graphs) {
        struct sn_profile_graph *graph = operations->graphs;
        operations->graphs = graph->next;
        free_graph(graph);
    }
}

/* The one that was not used for longest makes room; false: all are being read. */
static bool make_room(struct sn_operations *operations)
{
    size_t count = 0;
    struct sn_profile_graph **oldest = NULL;
    for (struct sn_profile_graph **at = &operations->graphs; *at; at = &(*at)->next) {
        count++;
        if (!(*at)->is_busy && !(*at)->again_ns && (!oldest || (*at)->used_ns < (*oldest)->used_ns))
            oldest = at;
    }
    if (count < GRAPHS_MAX || !oldest)
        return count < GRAPHS_MAX;
    struct sn_profile_graph *graph = *oldest;
    *oldest = graph->next;
    free_graph(graph);
    return true;
}

static struct sn_profile_graph *find_graph(struct sn_rest_call *call,
                                           const struct sn_operation *operation)
{
    struct sn_operations *operations = call->daemon->operations;
    int view = sonde_view_find(sn_rest_text(call, "view"));
    const char *process = sn_rest_text(call, "process");
    struct sn_profile_graph *graph = operations->graphs;
    char wanted[128];
    (void)snprintf(wanted, sizeof(wanted), "%s", process ? process : "");
    while (graph && (strcmp(graph->id, operation->id) != 0 || graph->view != view ||
                     strcmp(graph->process, wanted) != 0))
        graph = graph->next;
    if (!graph) {
        graph = make_room(operations) ? calloc(1, sizeof(*graph)) : NULL;
        if (!graph)
            return NULL;
        memcpy(graph->id, operation->id, sizeof(graph->id));
        memcpy(graph->process, wanted, sizeof(graph->process));
        graph->view = view;
        graph->first_ns = sn_clock_deadline(FIRST_NS);
        graph->next = operations->graphs;
        operations->graphs = graph;
    }
    graph->used_ns = sn_clock_monotonic_ns();
    return graph;
}

/* --- a first version, as soon as there is one --- */

uint64_t sn_profile_resource_next_ns(const struct sn_operations *operations)
{
    uint64_t next_ns = UINT64_MAX;
    for (const struct sn_profile_graph *one = operations->graphs; one; one = one->next) {
        if (one->again_ns && one->again_ns < next_ns)
            next_ns = one->again_ns;
    }
    return next_ns;
}

void sn_profile_resource_turn(struct sn_operations *operations, uint64_t now_ns)
{
    for (struct sn_profile_graph *one = operations->graphs; one; one = one->next) {
        if (!one->again_ns || one->again_ns > now_ns)
            continue;
        one->again_ns = 0;
        struct sn_operation *operation = sn_operation_find(operations->daemon, one->id);
        if (!one->waiting || (operation && start_reading(one, operation)))
            continue;
        answer_all(one); /* it was deleted, or there is no room: with what there is */
    }
}

/* --- requests --- */

/* Who has left waits no more. */
static void client_left(struct sn_rest_call *call)
{
    struct sn_profile_graph *graph = call->user;
    struct sn_rest_call **at = &graph->waiting;
    while (*at && *at != call)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = call->next;
    call->next = NULL;
    sn_rest_finish(call);
}

static void wait_for(struct sn_rest_call *call, struct sn_profile_graph *graph)
{
    call->next = graph->waiting;
    graph->waiting = call;
    sn_rest_park(call, client_left, graph);
}

static bool is_fresh(const struct sn_profile_graph *graph, const struct sn_operation *operation)
{
    if (graph->is_final)
        return true;
    return sn_operation_is_active(operation) && graph->made_ns &&
           sn_clock_monotonic_ns() < graph->next_ns;
}

void sn_profile_resource_get(struct sn_rest_call *call)
{
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation)
        return;
    if (operation->state == SN_OPERATION_CONFIGURED || operation->state == SN_OPERATION_STARTING) {
        sn_rest_problem(call, 409, "it is %s and has no data yet",
                        sn_operation_state_name(operation->state));
        return;
    }
    struct sn_profile_graph *graph = find_graph(call, operation);
    if (!graph) {
        sn_rest_header(call, "Retry-After", "2");
        sn_rest_problem(call, 429, "%u flame graphs are being read: try again later", GRAPHS_MAX);
        return;
    }
    bool is_coming = graph->is_busy || graph->again_ns;
    if (!is_coming && is_fresh(graph, operation))
        (void)answer(call, graph);
    else if (is_coming || start_reading(graph, operation))
        wait_for(call, graph);
    else
        sn_rest_problem(call, 503, "too much is under way: try again later");
}
