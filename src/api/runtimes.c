#include "api/runtimes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/opening.h"
#include "api/perf_maps.h"
#include "api/runtime_session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "format/universal.h"
#include "source/ipc/ipc_commands.h"
#include "source/proc/environment.h"
#include "source/proc/native_aot.h"
#include "source/proc/ns_threads.h"

/* A runtime shows its first thread a moment before its port: looked at again after 10 ms, 20 ms,
 * 40 ms ..., for ten seconds in all. One that is stopped is looked at for as long as it lives. */
#define FIRST_LOOK_NS   (10ull * SN_NS_PER_MS)
#define LONGEST_LOOK_NS (1000ull * SN_NS_PER_MS)
#define MOST_LOOKS      16u

/* What is about to end looks for a moment as if it could not be reached. */
#define SURE_LOOKS 4u

#define NO_ANSWER "no answer until the recording ended"

#define SCRATCH_SIZE (64u << 10)

enum stage {
    LOOKING,        /* for its port */
    ASKING,         /* what it is */
    OPENING_EVENTS, /* the sessions, one behind the other */
    OPENING_NAMES,
    RUNNING,
    KNOWN,  /* nothing is to be had of it; stays, so that it is told once */
    ENDING, /* the last of its sessions end */
    OVER,   /* to be freed */
};

struct runtime {
    struct runtime *next;
    struct sn_runtimes *all; /* borrows */
    struct sn_session_owner owner;
    enum stage stage;
    uint64_t since_ns; /* when it was found */
    bool is_gone;      /* it has ended, or executed another program: its pid is somebody else's */
    bool is_silent;    /* counted as one that cannot be asked */
    bool is_told;
    bool is_aot;  /* native code only: no names to ask for */
    bool is_late; /* the end came before its first answer: a rundown is all that is asked for */
    unsigned looks;
    uint64_t look_ns;
    struct sn_ipc_call asking;
    bool is_held; /* at its start, until it is resumed this way: */
    struct sn_ipc_route hold;
    bool was_resumed;
    struct sn_ipc_call resuming;
    char version[32];
    struct sn_runtime_session sessions[SN_SESSION_KINDS];
};

struct sn_runtimes {
    struct sn_runtimes_options options;
    struct sn_session_place place;
    struct runtime *first; /* owns */
    bool is_stopping;
    uint64_t tended_ns; /* what came before has been read, unless there was more than a reading */
    uint32_t count;
    uint32_t silent_count;
    char silent_reason[256];
};

int sn_runtimes_new(const struct sn_runtimes_options *options, struct sn_runtimes **ret_runtimes,
                    struct sonde_error *err)
{
    struct sn_runtimes *runtimes = calloc(1, sizeof(*runtimes));
    if (!runtimes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for .NET processes");
    runtimes->options = *options;
    runtimes->place = (struct sn_session_place){
        .road = options->road,
        .schemas = options->schemas,
        .providers = options->providers,
        .provider_count = options->provider_count,
        .ipc_providers = sn_opening_providers(options->providers, options->provider_count),
        .scratch = {malloc(SCRATCH_SIZE), SCRATCH_SIZE},
    };
    if (!runtimes->place.ipc_providers || !runtimes->place.scratch.bytes) {
        sn_runtimes_free(runtimes);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for .NET processes");
    }
    *ret_runtimes = runtimes;
    return SONDE_OK;
}

static void close_sessions(struct runtime *runtime)
{
    for (size_t kind = 0; kind < SN_SESSION_KINDS; kind++)
        sn_runtime_session_close(&runtime->sessions[kind]);
}

static void free_runtime(struct runtime *runtime)
{
    sn_ipc_call_cancel(&runtime->asking);
    sn_ipc_call_cancel(&runtime->resuming);
    close_sessions(runtime);
    sn_ns_threads_free(runtime->owner.threads);
    free(runtime);
}

void sn_runtimes_free(struct sn_runtimes *runtimes)
{
    if (!runtimes)
        return;
    while (runtimes->first) {
        struct runtime *runtime = runtimes->first;
        runtimes->first = runtime->next;
        free_runtime(runtime);
    }
    free(runtimes->place.ipc_providers);
    free(runtimes->place.scratch.bytes);
    free(runtimes);
}

/* --- finding --- */

static struct runtime *find(const struct sn_runtimes *runtimes, uint32_t pid)
{
    struct runtime *runtime = runtimes->first;
    while (runtime && (runtime->is_gone || runtime->owner.pid != pid))
        runtime = runtime->next;
    return runtime;
}

/* NULL: no memory; it stays without names. */
static struct runtime *find_or_add(struct sn_runtimes *runtimes, uint32_t pid)
{
    struct runtime *runtime = find(runtimes, pid);
    if (runtime)
        return runtime;
    runtime = calloc(1, sizeof(*runtime));
    if (!runtime)
        return NULL;
    runtime->all = runtimes;
    runtime->owner.pid = pid;
    runtime->since_ns = sn_clock_monotonic_ns();
    runtime->next = runtimes->first;
    runtimes->first = runtime;
    return runtime;
}

void sn_runtimes_look_at(struct sn_runtimes *runtimes, uint32_t pid)
{
    if (!runtimes->is_stopping)
        (void)find_or_add(runtimes, pid);
}

bool sn_runtimes_have_told(const struct sn_runtimes *runtimes, uint32_t pid)
{
    const struct runtime *runtime = find(runtimes, pid);
    return runtime && runtime->is_told;
}

static bool has_gone(const struct runtime *runtime)
{
    return runtime->is_gone || (kill((pid_t)runtime->owner.pid, 0) != 0 && errno == ESRCH);
}

void sn_runtimes_forget(struct sn_runtimes *runtimes, uint32_t pid, uint64_t time_ns)
{
    struct runtime *runtime = find(runtimes, pid);
    if (!runtime || runtime->since_ns > time_ns)
        return; /* the next of this pid may have been found already */
    runtime->is_gone = true;
    if (runtime->stage == LOOKING || runtime->stage == KNOWN)
        runtime->stage = OVER; /* otherwise its streams end by themselves, with what is in them */
}

static void tell(struct runtime *runtime, uint8_t kind, const char *version)
{
    runtime->is_told = true;
    const struct sn_runtimes_options *options = &runtime->all->options;
    struct sn_runtime_told told = {.pid = runtime->owner.pid, .kind = kind, .version = version};
    options->told(options->user, &told);
}

/* `reason` with what would help, `cause` without. */
static void count_silent(struct runtime *runtime, const char *reason, const char *cause)
{
    struct sn_runtimes *all = runtime->all;
    if (runtime->is_silent)
        return;
    runtime->is_silent = true;
    if (!all->silent_count++)
        (void)snprintf(all->silent_reason, sizeof(all->silent_reason), "%s", reason);
    tell(runtime, SN_PROCESS_DOTNET_OFF, cause);
}

static void fall_silent(struct runtime *runtime, const char *reason, const char *cause)
{
    count_silent(runtime, reason, cause);
    runtime->stage = KNOWN;
}

/* --- the sessions, one behind the other --- */

static void look_later(struct runtime *runtime, uint64_t now_ns)
{
    uint64_t pause = FIRST_LOOK_NS << (runtime->looks < 7 ? runtime->looks : 7);
    runtime->looks++;
    runtime->look_ns = now_ns + (pause < LONGEST_LOOK_NS ? pause : LONGEST_LOOK_NS);
    runtime->stage = LOOKING;
}

static void begin_perf_map(const struct runtime *runtime)
{
    struct sn_perf_maps *perf_maps = runtime->all->options.perf_maps;
    if (runtime->all->options.asks_perf_maps && runtime->stage == RUNNING && !runtime->is_aot)
        sn_perf_maps_begin(perf_maps, &runtime->owner.route);
}

static void resumed(struct sn_ipc_call *call, int status)
{
    sn_ipc_reply_done(&call->reply);
    if (status == SONDE_OK)
        begin_perf_map(call->user);
}

static void resume(struct runtime *runtime)
{
    static const struct sn_ipc_request request = {.command = SN_IPC_RESUME_RUNTIME};
    if (!runtime->is_held)
        return;
    runtime->is_held = false;
    runtime->was_resumed = true;
    sn_ipc_call_cancel(&runtime->resuming);
    runtime->resuming = (struct sn_ipc_call){.done = resumed, .user = runtime};
    /* One that cannot be told connects anew when we are gone, and is let go then. */
    (void)sn_ipc_call_start(&runtime->resuming, sn_road_loop(runtime->all->place.road),
                            &runtime->hold, &request, SN_IPC_USUAL_TIMEOUT_NS, NULL);
}

/* It may be about to end, which does not show at once. */
static void fail(struct runtime *runtime, const struct sonde_error *err)
{
    struct sonde_error cause = *err; /* it may be a session's own */
    bool is_gone = cause.status == SONDE_E_GONE || has_gone(runtime);
    resume(runtime);
    close_sessions(runtime);
    if (!is_gone && runtime->all->is_stopping && runtime->stage != ENDING)
        count_silent(runtime, cause.text, "it does not answer as it should");
    if (is_gone || runtime->all->is_stopping)
        runtime->stage = OVER;
    else if (runtime->looks < SURE_LOOKS)
        look_later(runtime, sn_clock_monotonic_ns());
    else
        fall_silent(runtime, cause.text, "it does not answer as it should");
}

static bool open_session(struct runtime *runtime, enum sn_session_kind kind)
{
    struct sonde_error err = {0};
    int rc = sn_runtime_session_open(&runtime->sessions[kind], kind, &runtime->all->place,
                                     &runtime->owner, &err);
    if (rc != SONDE_OK)
        fail(runtime, &err);
    return rc == SONDE_OK;
}

/* Its sessions, as far as there are any, are open. */
static void make_known(struct runtime *runtime, enum stage stage)
{
    runtime->all->count++;
    runtime->all->silent_count -= runtime->is_silent; /* it was stopped, and goes on */
    runtime->is_silent = false;
    runtime->stage = stage;
    tell(runtime, runtime->is_aot ? SN_PROCESS_AOT : SN_PROCESS_DOTNET, runtime->version);
}

static void open_names(struct runtime *runtime)
{
    if (runtime->is_aot) {
        make_known(runtime, runtime->sessions[SN_SESSION_EVENTS].source ? RUNNING : KNOWN);
        resume(runtime);
    } else if (open_session(runtime, SN_SESSION_NAMES)) {
        runtime->stage = OPENING_NAMES;
    }
}

static void open_events(struct runtime *runtime)
{
    if (!runtime->all->place.provider_count)
        open_names(runtime);
    else if (open_session(runtime, SN_SESSION_EVENTS))
        runtime->stage = OPENING_EVENTS;
}

/* Names of what runs by now, which is what was recorded. */
static void open_last_rundown(struct runtime *runtime)
{
    if (runtime->is_aot) {
        make_known(runtime, ENDING);
        return;
    }
    runtime->is_late = true;
    if (open_session(runtime, SN_SESSION_RUNDOWN))
        runtime->stage = ENDING;
}

static void take_info(struct sn_ipc_call *call, int status)
{
    struct runtime *runtime = call->user;
    SN_AUTO(sn_ipc_process_info_done) struct sn_ipc_process_info info = {0};
    if (status == SONDE_OK)
        status = sn_ipc_decode_process_info(call->reply.payload.bytes, call->reply.payload.size, 2,
                                            &info, &call->err);
    if (status == SONDE_OK) {
        runtime->owner.major = info.major;
        (void)snprintf(runtime->version, sizeof(runtime->version), "%s", info.version);
    }
    sn_ipc_reply_done(&call->reply);
    if (status != SONDE_OK && status != SONDE_E_REFUSED) /* .NET 5 knows no such question */
        fail(runtime, &call->err);
    else if (runtime->all->is_stopping)
        open_last_rundown(runtime);
    else
        open_events(runtime);
}

static void ask(struct runtime *runtime, const struct sn_ipc_target *target)
{
    static const struct sn_ipc_request request = {.command = SN_IPC_PROCESS_INFO2};
    struct sonde_error err = {0};
    runtime->owner.route = sn_ipc_route_to(target);
    if (!runtime->owner.threads)
        runtime->owner.threads = sn_ns_threads_new(runtime->owner.pid);
    if (!runtime->owner.threads) {
        runtime->stage = OVER;
        return;
    }
    runtime->is_aot = sn_proc_is_native_aot(runtime->owner.pid);
    runtime->stage = ASKING;
    runtime->asking = (struct sn_ipc_call){.done = take_info, .user = runtime};
    if (sn_ipc_call_start(&runtime->asking, sn_road_loop(runtime->all->place.road),
                          &runtime->owner.route, &request, SN_IPC_USUAL_TIMEOUT_NS,
                          &err) != SONDE_OK)
        fail(runtime, &err);
}

/* Of the right kind, but out of reach: for a moment, as long as it is stopped, or for good. */
static void wait_for_reach(struct runtime *runtime, const struct sn_ipc_target *target,
                           uint64_t now_ns)
{
    struct sonde_error err = {0};
    bool may_come = target->reach == SN_IPC_REACH_NO_SOCKET || target->reach == SN_IPC_REACH_STALE;
    (void)sn_ipc_reach_fail(target, target->reach, &err);
    if (target->reach == SN_IPC_REACH_ZOMBIE) {
        runtime->stage = OVER;
    } else if (target->reach == SN_IPC_REACH_STOPPED) {
        count_silent(runtime, err.text, sn_ipc_reach_reason(target->reach));
        look_later(runtime, now_ns);
    } else if (runtime->looks < (may_come ? MOST_LOOKS : SURE_LOOKS)) {
        look_later(runtime, now_ns);
    } else {
        fall_silent(runtime, err.text, sn_ipc_reach_reason(target->reach));
        sn_perf_maps_find(runtime->all->options.perf_maps, target);
    }
}

static void look(struct runtime *runtime, uint64_t now_ns)
{
    struct sn_ipc_target target;
    if (now_ns < runtime->look_ns)
        return;
    int rc = sn_ipc_target_inspect((int)runtime->owner.pid, &target, NULL);
    if (rc == SONDE_OK && target.reach == SN_IPC_REACH_OK)
        ask(runtime, &target);
    else if (has_gone(runtime) || (rc != SONDE_OK && runtime->looks >= MOST_LOOKS))
        runtime->stage = OVER;
    else if (rc == SONDE_OK)
        wait_for_reach(runtime, &target, now_ns);
    else
        look_later(runtime, now_ns);
}

/* It is held, or about to be and found before it came to the port. */
static bool is_at_start(const struct runtime *runtime)
{
    const char *path = runtime->all->options.port_path;
    return runtime->is_held ||
           (path && !runtime->was_resumed && sn_proc_environment_has(runtime->owner.pid, path));
}

/* At its start it has no code yet that a rundown could tell of; asked for one, it would wait for
 * itself. */
static void names_opened(struct runtime *runtime)
{
    make_known(runtime, RUNNING);
    if (is_at_start(runtime)) {
        resume(runtime);
        return;
    }
    begin_perf_map(runtime);
    (void)open_session(runtime, SN_SESSION_RUNDOWN);
}

void sn_runtimes_welcome(struct sn_runtimes *runtimes, const struct sn_ipc_route *route)
{
    struct sn_ipc_target target;
    struct runtime *runtime = find_or_add(runtimes, (uint32_t)route->target.pid);
    if (!runtime)
        return;
    runtime->is_held = true;
    runtime->hold = *route;
    if (runtime->stage != LOOKING && runtime->stage < RUNNING)
        return;
    if (runtime->stage == LOOKING &&
        sn_ipc_target_inspect(route->target.pid, &target, NULL) == SONDE_OK &&
        target.reach == SN_IPC_REACH_OK)
        ask(runtime, &target);
    else
        resume(runtime);
}

static void go_on(struct runtime *runtime, enum sn_session_kind kind,
                  void (*next)(struct runtime *runtime))
{
    struct sn_runtime_session *session = &runtime->sessions[kind];
    if (sn_runtime_session_is_open(session)) {
        next(runtime);
    } else if (sn_runtime_session_is_over(session)) {
        struct sn_eventpipe_state state;
        sn_eventpipe_state(session->source, &state);
        fail(runtime, state.err);
    }
}

static bool close_those_over(struct runtime *runtime)
{
    bool all_over = true;
    for (size_t kind = 0; kind < SN_SESSION_KINDS; kind++) {
        struct sn_runtime_session *session = &runtime->sessions[kind];
        if (sn_runtime_session_is_over(session))
            sn_runtime_session_close(session);
        all_over = all_over && !session->source;
    }
    return all_over;
}

static void tend_end(struct runtime *runtime)
{
    struct sn_runtime_session *rundown = &runtime->sessions[SN_SESSION_RUNDOWN];
    if (runtime->is_late && sn_runtime_session_is_open(rundown)) {
        runtime->is_late = false;
        make_known(runtime, ENDING);
    }
    if (!close_those_over(runtime))
        return;
    if (runtime->is_late && !has_gone(runtime))
        count_silent(runtime, NO_ANSWER, NO_ANSWER);
    runtime->stage = OVER;
}

static void tend(struct runtime *runtime, uint64_t now_ns)
{
    for (size_t kind = 0; kind < SN_SESSION_KINDS; kind++)
        sn_runtime_session_tend(&runtime->sessions[kind], runtime->all->tended_ns);
    switch (runtime->stage) {
    case LOOKING: look(runtime, now_ns); break;
    case OPENING_EVENTS: go_on(runtime, SN_SESSION_EVENTS, open_names); break;
    case OPENING_NAMES: go_on(runtime, SN_SESSION_NAMES, names_opened); break;
    case RUNNING:
        if (close_those_over(runtime))
            runtime->stage = OVER;
        break;
    case ENDING: tend_end(runtime); break;
    case KNOWN:
        (void)close_those_over(runtime);
        if (has_gone(runtime))
            runtime->stage = OVER;
        break;
    case ASKING:
    case OVER: break;
    }
}

static void remove_runtime(struct runtime *runtime)
{
    struct runtime **at = &runtime->all->first;
    while (*at != runtime)
        at = &(*at)->next;
    *at = runtime->next;
    free_runtime(runtime);
}

void sn_runtimes_tend(struct sn_runtimes *runtimes)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    for (struct runtime *runtime = runtimes->first, *next; runtime; runtime = next) {
        tend(runtime, now_ns); /* others may arrive in it */
        next = runtime->next;
        if (runtime->stage == OVER)
            remove_runtime(runtime);
    }
    runtimes->tended_ns = now_ns;
}

/* --- the end --- */

static void stop_sessions(struct runtime *runtime)
{
    sn_runtime_session_stop(&runtime->sessions[SN_SESSION_EVENTS]);
    sn_runtime_session_stop(&runtime->sessions[SN_SESSION_NAMES]);
}

/* What a session of names had no room for, a rundown tells once more. */
static void repair_names(struct runtime *runtime)
{
    bool has_lost = sn_runtime_session_lost(&runtime->sessions[SN_SESSION_NAMES]) ||
                    sn_runtime_session_lost(&runtime->sessions[SN_SESSION_EVENTS]);
    if (has_lost && !runtime->is_aot && !runtime->sessions[SN_SESSION_RUNDOWN].source)
        (void)open_session(runtime, SN_SESSION_RUNDOWN);
}

/* It has run nothing yet; if it is not told any more, it connects anew and is let go then. */
static void stop_held(struct runtime *runtime)
{
    resume(runtime);
    stop_sessions(runtime);
    sn_ipc_call_cancel(&runtime->asking);
    runtime->stage = ENDING;
}

static void stop_runtime(struct runtime *runtime)
{
    if (runtime->is_held) {
        stop_held(runtime);
        return;
    }
    switch (runtime->stage) {
    case LOOKING:
        if (!has_gone(runtime))
            count_silent(runtime, NO_ANSWER, NO_ANSWER);
        runtime->stage = OVER;
        break;
    case KNOWN:
    case OVER: runtime->stage = OVER; break;
    case ASKING: break; /* a rundown comes behind its answer */
    case OPENING_EVENTS:
    case OPENING_NAMES:
        stop_sessions(runtime);
        open_last_rundown(runtime);
        break;
    case RUNNING:
    case ENDING:
        runtime->stage = ENDING;
        repair_names(runtime);
        stop_sessions(runtime);
        break;
    }
}

static void abandon_runtime(struct runtime *runtime)
{
    if (runtime->stage == ASKING) {
        sn_ipc_call_cancel(&runtime->asking);
        runtime->stage = OVER;
    }
    for (size_t kind = 0; kind < SN_SESSION_KINDS; kind++)
        sn_runtime_session_abandon(&runtime->sessions[kind]);
}

void sn_runtimes_stop(struct sn_runtimes *runtimes)
{
    void (*end)(struct runtime *) = runtimes->is_stopping ? abandon_runtime : stop_runtime;
    runtimes->is_stopping = true;
    for (struct runtime *runtime = runtimes->first; runtime; runtime = runtime->next)
        end(runtime);
}

bool sn_runtimes_is_done(const struct sn_runtimes *runtimes)
{
    return runtimes->is_stopping && !runtimes->first;
}

void sn_runtimes_state(const struct sn_runtimes *runtimes, struct sn_runtimes_state *ret_state)
{
    *ret_state = (struct sn_runtimes_state){
        .count = runtimes->count,
        .silent_count = runtimes->silent_count,
        .silent_reason = runtimes->silent_reason,
        .sample_count = runtimes->place.sample_count,
        .event_count = runtimes->place.event_count,
        .lost_count = runtimes->place.lost_count,
        .clock_error_ns = runtimes->place.clock_error_ns,
        .unknown_kinds = runtimes->place.unknown_kinds,
    };
    for (const struct runtime *runtime = runtimes->first; runtime; runtime = runtime->next) {
        for (size_t kind = 0; kind < SN_SESSION_KINDS; kind++)
            ret_state->lost_count += sn_runtime_session_lost(&runtime->sessions[kind]);
    }
}
