#include "api/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cpu_record.h"
#include "api/launch.h"
#include "api/opening.h"
#include "api/options_in.h"
#include "api/stop_condition.h"
#include "api/trace_names.h"
#include "api/trace_output.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/source.h"
#include "source/ipc/eventpipe.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/neighbour.h"
#include "source/proc/facts.h"

#define DEFAULT_BUFFER_MB 256u

/* The runtime filters event ids itself from this version on. */
#define FILTERING_MAJOR 10u

/* How long a launched program may take to end after its stream did, and how often to look. */
#define CHILD_WAIT_NS (5ull * SN_NS_PER_SECOND)
#define CHILD_LOOK_NS (10ull * SN_NS_PER_MS)

int sonde_tracer_new(struct sonde_tracer **ret_tracer, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sonde_tracer *tracer = calloc(1, sizeof(*tracer));
    if (!tracer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a tracer");
    int rc = sn_loop_new(&tracer->loop, err);
    if (rc != SONDE_OK)
        return rc;
    *ret_tracer = SN_TAKE(tracer);
    return SONDE_OK;
}

static void free_trace(struct sn_trace *trace)
{
    if (!trace)
        return;
    sn_loop_untimer(&trace->child_wait);
    sn_road_free(trace->road);
    sn_trace_names_free(trace->names);
    sn_trace_output_free(trace->output);
    sn_cpu_record_free(trace->cpu);
    sn_launch_free(trace->launch);
    for (size_t i = 0; i < trace->provider_count; i++)
        free(trace->providers[i]);
    free(trace->providers);
    for (size_t i = 0; i < sizeof(trace->stop_texts) / sizeof(*trace->stop_texts); i++)
        free(trace->stop_texts[i]);
    free(trace);
}

void sonde_tracer_free(struct sonde_tracer *tracer)
{
    if (!tracer)
        return;
    for (size_t i = 0; i < tracer->count; i++)
        free_trace(tracer->traces[i]);
    free(tracer->traces);
    sn_loop_free(tracer->loop);
    free(tracer);
}

/* --- starting --- */

static bool has_filters(const struct sonde_trace_options *options)
{
    for (size_t i = 0; i < options->provider_count; i++) {
        if (options->providers[i].id_count)
            return true;
    }
    return false;
}

static int ask_runtime(struct sn_trace *trace, struct sonde_error *err)
{
    SN_AUTO(sn_ipc_process_info_done) struct sn_ipc_process_info info = {0};
    int rc = sn_ipc_get_process_info(&trace->route, SN_IPC_USUAL_TIMEOUT_NS, &info, err);
    if (rc != SONDE_OK)
        return rc;
    trace->major = info.major;
    (void)snprintf(trace->runtime, sizeof(trace->runtime), "%s", info.version);
    return SONDE_OK;
}

static int add_stop_condition(struct sn_trace *trace, const struct sonde_trace_options *options,
                              struct sonde_error *err)
{
    const char *given[] = {options->stop_provider, options->stop_event, options->stop_payload};
    if (!options->stop_provider)
        return options->stop_event || options->stop_payload
                   ? sn_fail(err, SONDE_E_ARGUMENT, 0, "a stopping event needs its provider's name")
                   : SONDE_OK;
    for (size_t i = 0; i < 3; i++) {
        trace->stop_texts[i] = given[i] ? strdup(given[i]) : NULL;
        if (given[i] && !trace->stop_texts[i])
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a stop condition");
    }
    return sn_stop_condition_add(trace->road, trace->stop_texts[0], trace->stop_texts[1],
                                 trace->stop_texts[2], &trace->stop_event_met, err);
}

static const struct sn_trace_info *info_of(void *user)
{
    const struct sn_trace *trace = user;
    return sn_eventpipe_info(trace->source);
}

static uint64_t rundown_of(const struct sonde_trace_options *options)
{
    if (options->no_rundown)
        return 0;
    return options->rundown_keyword ? options->rundown_keyword : SN_IPC_DEFAULT_RUNDOWN;
}

static int open_output(struct sonde_tracer *tracer, struct sn_trace *trace,
                       const struct sonde_trace_options *options, struct sonde_error *err)
{
    bool filters_here = has_filters(options) && trace->major < FILTERING_MAJOR;
    trace->is_raw = !options->roll_bytes && !options->format && !filters_here;
    struct sn_trace_output_options output = {.path = options->output,
                                             .version = options->format ? options->format : 4,
                                             .roll_bytes = options->roll_bytes,
                                             .roll_keep = options->roll_keep,
                                             .is_raw = trace->is_raw,
                                             .rundown_keyword = rundown_of(options),
                                             .providers = options->providers,
                                             .provider_count = options->provider_count,
                                             .route = trace->route,
                                             .info = info_of,
                                             .user = trace};
    int rc = sn_trace_output_new(tracer->loop, &output, &trace->output, err);
    if (rc != SONDE_OK || trace->is_raw)
        return rc;
    static const struct sn_request everything = {0};
    struct sn_sink *sink = NULL;
    rc = sn_trace_output_sink_new(trace->output, &sink, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sn_road_subscribe(trace->road, &everything, sink, false, err);
    return rc < 0 ? rc : SONDE_OK;
}

static int open_session(struct sonde_tracer *tracer, struct sn_trace *trace,
                        const struct sonde_trace_options *options, struct sonde_error *err)
{
    SN_AUTO(sn_free)
    struct sn_ipc_provider *providers =
        sn_opening_providers(options->providers, options->provider_count);
    if (!providers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
    trace->buffer_mb = options->buffer_mb ? options->buffer_mb
                                          : sn_opening_buffer_mb(DEFAULT_BUFFER_MB, trace->pid);
    struct sn_eventpipe_options source = {.route = trace->route,
                                          .wants = {.providers = providers,
                                                    .provider_count = options->provider_count,
                                                    .buffer_mb = trace->buffer_mb,
                                                    .rundown_keyword = rundown_of(options),
                                                    .stacks = !options->no_stacks,
                                                    .runtime_major = trace->major},
                                          .tap = trace->is_raw ? sn_trace_output_tap : NULL,
                                          .user = trace->output};
    int rc = sn_eventpipe_new(&source, &trace->source, err);
    if (rc == SONDE_OK)
        rc = sn_road_add_source(trace->road, trace->source, err);
    return rc == SONDE_OK ? sn_opening_wait(tracer->loop, trace->source, err) : rc;
}

static int start_cpu_record(struct sonde_tracer *tracer, struct sn_trace *trace,
                            const struct sonde_trace_options *options, struct sonde_error *err)
{
    if (sn_ipc_is_neighbour((int)trace->pid))
        return SONDE_OK; /* its threads are out of sight */
    int rc = sn_cpu_record_new(tracer->loop, trace->pid, false, &trace->cpu, err);
    trace->has_cpu_file = !options->no_cpu_record;
    if (rc == SONDE_OK && trace->has_cpu_file)
        rc = sn_cpu_record_open(trace->cpu, sn_trace_output_path(trace->output), err);
    return rc;
}

/* A target that dies tells no names: they are looked for while it lives. */
static int start_names(struct sn_trace *trace, const struct sonde_trace_options *options,
                       struct sonde_error *err)
{
    sn_trace_names_remove(sn_trace_output_path(trace->output));
    if (options->no_rundown || options->no_stacks || sn_ipc_is_neighbour((int)trace->pid))
        return SONDE_OK;
    return sn_trace_names_new(trace->road, trace->pid, &trace->names, err);
}

static int keep_provider_names(struct sn_trace *trace, const struct sonde_trace_options *options,
                               struct sonde_error *err)
{
    trace->providers = calloc(options->provider_count + 1, sizeof(char *));
    for (size_t i = 0; trace->providers && i < options->provider_count; i++) {
        trace->providers[i] = strdup(options->providers[i].name);
        if (trace->providers[i])
            trace->provider_count++;
    }
    return trace->provider_count == options->provider_count
               ? SONDE_OK
               : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for providers");
}

static int start_trace(struct sonde_tracer *tracer, struct sn_trace *trace,
                       const struct sonde_trace_options *options, struct sonde_error *err)
{
    int rc = keep_provider_names(trace, options, err);
    if (rc == SONDE_OK)
        rc = ask_runtime(trace, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(tracer->loop, NULL, &trace->road, err);
    if (rc == SONDE_OK)
        rc = add_stop_condition(trace, options, err);
    if (rc == SONDE_OK)
        rc = open_output(tracer, trace, options, err);
    if (rc == SONDE_OK)
        rc = start_names(trace, options, err);
    trace->start_ns = sn_clock_monotonic_ns();
    if (rc == SONDE_OK)
        rc = open_session(tracer, trace, options, err);
    if (rc == SONDE_OK)
        rc = start_cpu_record(tracer, trace, options, err);
    if (rc == SONDE_OK && trace->launch && !options->leave_suspended)
        rc = sn_launch_resume(trace->launch, tracer->loop, err);
    return rc;
}

static int read_options(const struct sonde_trace_options *given,
                        struct sonde_trace_options *ret_options, struct sonde_error *err)
{
    int rc = sn_options_in(given, ret_options, sizeof(*ret_options), "trace options", err);
    if (rc != SONDE_OK)
        return rc;
    if (!ret_options->output)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a trace needs a file to go to");
    if (!ret_options->provider_count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a trace needs at least one provider");
    if (ret_options->format && ret_options->format != 4 && ret_options->format != 6)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "NetTrace versions are 4 and 6");
    return SONDE_OK;
}

int sn_tracer_add_route(struct sonde_tracer *tracer, const struct sn_ipc_route *route,
                        const struct sonde_trace_options *options, struct sn_launch *launch,
                        struct sonde_error *err)
{
    struct sn_trace *trace = calloc(1, sizeof(*trace));
    struct sn_trace **traces =
        realloc(tracer->traces, (tracer->count + 1) * sizeof(struct sn_trace *));
    if (traces)
        tracer->traces = traces;
    if (!traces || !trace) {
        sn_launch_free(launch);
        free(trace);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a trace");
    }
    trace->route = *route;
    trace->pid = (uint32_t)route->target.pid;
    trace->launch = launch;
    trace->stop_cause = "";
    int rc = start_trace(tracer, trace, options, err);
    if (rc != SONDE_OK) {
        free_trace(trace);
        return rc;
    }
    tracer->traces[tracer->count] = trace;
    return (int)tracer->count++;
}

int sonde_tracer_add(struct sonde_tracer *tracer, uint32_t pid,
                     const struct sonde_trace_options *options, struct sonde_error *err)
{
    struct sonde_trace_options known;
    int rc = read_options(options, &known, err);
    struct sn_ipc_target target;
    if (rc == SONDE_OK)
        rc = sn_ipc_target_of_pid((int)pid, &target, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_ipc_route route = sn_ipc_route_to(&target);
    return sn_tracer_add_route(tracer, &route, &known, NULL, err);
}

int sonde_tracer_launch(struct sonde_tracer *tracer, char *const argv[],
                        const struct sonde_trace_options *options, struct sonde_error *err)
{
    struct sonde_trace_options known;
    int rc = read_options(options, &known, err);
    struct sn_launch *launch = NULL;
    struct sn_ipc_route route;
    if (rc == SONDE_OK)
        rc = sn_launch_new(argv, &known, &launch, &route, err);
    if (rc != SONDE_OK)
        return rc;
    return sn_tracer_add_route(tracer, &route, &known, launch, err);
}

int sonde_tracer_listen(struct sonde_tracer *tracer, const char *path,
                        const struct sonde_trace_options *options, struct sonde_error *err)
{
    struct sonde_trace_options known;
    int rc = read_options(options, &known, err);
    struct sn_launch *launch = NULL;
    struct sn_ipc_route route;
    if (rc == SONDE_OK)
        rc = sn_launch_await(path, &known, &launch, &route, err);
    if (rc != SONDE_OK)
        return rc;
    return sn_tracer_add_route(tracer, &route, &known, launch, err);
}

/* --- running --- */

static void end_trace(struct sn_trace *trace)
{
    struct sn_eventpipe_state state;
    sn_eventpipe_state(trace->source, &state);
    if (!trace->err.status)
        trace->err = *state.err;
    trace->status = trace->err.status ? trace->err.status : trace->source->status;
    int rc = sn_road_finish(trace->road, &trace->err);
    if (trace->status == SONDE_OK)
        trace->status = rc;
    rc = sn_trace_output_finish(trace->output, &trace->err);
    if (trace->status == SONDE_OK)
        trace->status = rc;
    if (trace->names && state.err->status)
        (void)sn_trace_names_write(trace->names, sn_trace_output_path(trace->output),
                                   sn_eventpipe_info(trace->source),
                                   NULL); /* the trace itself is there */
    if (trace->cpu)
        sn_cpu_record_stop(trace->cpu);
    trace->end_ns = sn_clock_monotonic_ns();
    trace->is_ended = true;
}

/* A sink that broke (disk full) ends the trace: there is nowhere left to write. */
static bool output_is_broken(const struct sn_trace *trace)
{
    for (int number = 0; number < 2; number++) {
        const struct sn_subscription *subscription = sn_road_subscription(trace->road, number);
        if (subscription && subscription->is_leaving && subscription->status < 0)
            return true;
    }
    return false;
}

/* The rundown that comes now belongs to the present file. */
static void stop_trace(struct sn_trace *trace)
{
    sn_trace_output_stop_rolling(trace->output);
    sn_road_stop(trace->road);
}

static void look_again(struct sn_timer *timer)
{
    (void)timer; /* the turn that this timer causes does the looking */
}

/* A stream ends a moment before its process does; the exit status is worth that moment. A shell
 * around it may start more runtimes, which would wait for us to let them run: as long as it lives,
 * we stay. */
static bool waits_for_child(struct sn_trace *trace)
{
    if (!trace->launch || !sn_launch_has_program(trace->launch) || trace->stop_cause[0] ||
        sn_launch_status(trace->launch) >= 0)
        return false;
    uint64_t now = sn_clock_monotonic_ns();
    if (!trace->child_deadline_ns)
        trace->child_deadline_ns =
            sn_launch_is_wrapped(trace->launch) ? UINT64_MAX : now + CHILD_WAIT_NS;
    trace->child_wait.expired = look_again;
    sn_loop_timer(sn_road_loop(trace->road), &trace->child_wait, now + CHILD_LOOK_NS);
    return now < trace->child_deadline_ns;
}

static void tend_trace(struct sn_trace *trace)
{
    if (trace->is_ended)
        return;
    sn_trace_output_tend(trace->output);
    if (trace->names)
        sn_trace_names_tend(trace->names);
    if (trace->has_cpu_file)
        (void)sn_cpu_record_open(trace->cpu, sn_trace_output_path(trace->output),
                                 NULL); /* follows the rolls */
    if (trace->stop_event_met && !trace->stop_cause[0]) {
        trace->stop_cause = "stopping event";
        stop_trace(trace);
    }
    if (output_is_broken(trace)) {
        (void)sn_trace_output_finish(trace->output, &trace->err); /* says why */
        sn_eventpipe_abandon(trace->source);
    }
    if (sn_road_is_done(trace->road) && sn_trace_output_is_idle(trace->output) &&
        !waits_for_child(trace))
        end_trace(trace);
}

int sonde_tracer_fd(const struct sonde_tracer *tracer)
{
    return sn_loop_fd(tracer->loop);
}

int sonde_tracer_wait_ms(const struct sonde_tracer *tracer)
{
    return sn_loop_wait_ms(tracer->loop);
}

int sonde_tracer_turn(struct sonde_tracer *tracer, struct sonde_error *err)
{
    int rc = sn_loop_turn(tracer->loop, 0, err);
    for (size_t i = 0; i < tracer->count; i++)
        tend_trace(tracer->traces[i]);
    return rc;
}

void sonde_tracer_stop(struct sonde_tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++) {
        struct sn_trace *trace = tracer->traces[i];
        if (tracer->is_stopping) {
            sn_eventpipe_abandon(trace->source);
            sn_trace_output_abandon(trace->output);
        } else
            stop_trace(trace);
        if (!trace->stop_cause[0])
            trace->stop_cause = "request";
    }
    tracer->is_stopping = true;
}

bool sonde_tracer_is_done(const struct sonde_tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++) {
        if (!tracer->traces[i]->is_ended)
            return false;
    }
    return true;
}

/* --- what came of it --- */

size_t sonde_tracer_count(const struct sonde_tracer *tracer)
{
    return tracer->count;
}

void sonde_tracer_stats(const struct sonde_tracer *tracer, size_t index,
                        struct sonde_trace_stats *ret_stats)
{
    *ret_stats =
        (struct sonde_trace_stats){.message = "", .stop_cause = "", .output = "", .runtime = ""};
    if (index >= tracer->count)
        return;
    const struct sn_trace *trace = tracer->traces[index];
    struct sn_eventpipe_state state;
    sn_eventpipe_state(trace->source, &state);
    *ret_stats = (struct sonde_trace_stats){
        .pid = trace->pid,
        .is_ended = trace->is_ended,
        .status = trace->status,
        .message = trace->err.text,
        .stop_cause = trace->stop_cause,
        .output = sn_trace_output_path(trace->output),
        .runtime = trace->runtime,
        .duration_ns =
            (trace->is_ended ? trace->end_ns : sn_clock_monotonic_ns()) - trace->start_ns,
        .event_count = trace->is_raw ? sn_road_event_count(trace->road)
                                     : sn_trace_output_event_count(trace->output),
        .lost_count = sn_road_tracker(trace->road)->lost_count,
        .byte_count = sn_trace_output_bytes(trace->output),
        .damage_count = state.counters.damages,
        .file_count = sn_trace_output_file_count(trace->output),
        .buffer_mb = trace->buffer_mb,
        .is_raw = trace->is_raw,
        .has_stacks = state.has_stacks,
        .target_cpu_ns = trace->cpu ? sn_cpu_record_total_ns(trace->cpu) : 0,
        .tracing_cpu_ns = trace->cpu ? sn_cpu_record_tracing_ns(trace->cpu) : 0,
    };
}

static int most_lost_first(const void *left, const void *right)
{
    const struct sonde_thread_loss *a = left;
    const struct sonde_thread_loss *b = right;
    return (a->lost_count < b->lost_count) - (a->lost_count > b->lost_count);
}

size_t sonde_tracer_losses(const struct sonde_tracer *tracer, size_t index,
                           struct sonde_thread_loss *to, size_t size)
{
    const struct sn_tracker *tracker = sn_road_tracker(tracer->traces[index]->road);
    size_t count = tracker->thread_count;
    SN_AUTO(sn_free) struct sonde_thread_loss *all = calloc(count + 1, sizeof(*all));
    if (!all)
        return 0;
    for (size_t i = 0; i < count; i++)
        all[i] = (struct sonde_thread_loss){tracker->threads[i].thread_id,
                                            tracker->threads[i].lost_count};
    qsort(all, count, sizeof(*all), most_lost_first);
    memcpy(to, all, (size < count ? size : count) * sizeof(*to));
    return count;
}

size_t sonde_tracer_silent(const struct sonde_tracer *tracer, size_t index, const char **to,
                           size_t size)
{
    const struct sn_trace *trace = tracer->traces[index];
    size_t count = 0;
    for (size_t i = 0; i < trace->provider_count; i++) {
        if (sn_road_has_provider(trace->road, trace->providers[i]))
            continue;
        if (count < size)
            to[count] = trace->providers[i];
        count++;
    }
    return count;
}

bool sonde_tracer_is_needed(const struct sonde_tracer *tracer)
{
    for (size_t i = 0; i < tracer->count; i++) {
        struct sn_launch *launch = tracer->traces[i]->launch;
        if (launch && sn_launch_is_wrapped(launch) && sn_launch_status(launch) < 0)
            return true;
    }
    return false;
}

bool sonde_tracer_file(const struct sonde_tracer *tracer, size_t index, uint32_t number, char *to,
                       size_t size)
{
    return index < tracer->count &&
           sn_trace_output_file(tracer->traces[index]->output, number, to, size);
}

int sonde_tracer_child_status(const struct sonde_tracer *tracer, size_t index)
{
    struct sn_launch *launch = tracer->traces[index]->launch;
    return launch ? sn_launch_status(launch) : -1;
}
