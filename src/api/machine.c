#include "api/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/command.h"
#include "api/machine_port.h"
#include "api/machine_scope.h"
#include "api/machine_way.h"
#include "api/perf_maps.h"
#include "api/process_facts.h"
#include "api/record_options.h"
#include "api/runtimes.h"
#include "api/silent_names.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "flow/request.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/schema_set.h"
#include "sonde/record.h"
#include "source/ipc/call.h"
#include "source/ipc/discover.h"
#include "source/perf/kernel.h"
#include "source/perf/proc_task.h"
#include "source/proc/environment.h"
#include "symbol/objects.h"

#define OPTIONS_LIMIT (8u << 20)

#define SAMPLER       "Microsoft-DotNETCore-SampleProfiler"
#define SAMPLER_LEVEL 5u

/* Events of the kernel wait in it until every runtime has surely told what is older: a second of
 * them. What comes too late gets another time, so that pauses have no length. Memory is taken as it
 * is needed. */
#define WINDOW_BYTES       (4u << 20)
#define LARGE_WINDOW_BYTES (16u << 20)

#define TICK_NS (100ull * SN_NS_PER_MS)

/* Where the kernel says nothing, or its words were lost, new processes are looked for. */
#define SCAN_EVERY_NS (1000ull * SN_NS_PER_MS)

/* Whether those who were chosen live is looked at as often. */
#define CHOSEN_EVERY_NS (200ull * SN_NS_PER_MS)

/* By then a new process is the program that it is going to be. */
#define SETTLED_NS (200ull * SN_NS_PER_MS)

struct sn_machine {
    struct sn_loop *loop;
    struct sn_road *road;
    struct sn_objects *objects;
    struct sn_schema_set *schemas;
    struct sn_perf_maps *perf_maps; /* NULL: no runtimes */
    struct sn_runtimes *runtimes;   /* NULL: they are left alone */
    struct sn_process_facts *facts;
    struct sn_silent_names *silent; /* NULL: no runtimes */
    struct sn_source *kernel;       /* the road's once it was started, ours before; NULL: none */
    struct sn_command *command;
    struct sn_machine_port *port; /* of the command's runtimes; NULL: they do not wait for us */
    struct sn_kernel_scope scope; /* borrows from the options */
    struct sn_machine_way way;
    struct sn_arena arena; /* of the options */
    struct sonde_record_options options;
    struct sn_timer tick;
    uint64_t scan_ns;     /* the next */
    uint64_t kernel_lost; /* at the last */
    bool has_started;
    bool is_stopping;
    bool is_deserted;   /* all chosen have ended */
    uint64_t chosen_ns; /* when they are looked at next */
    sn_machine_runtime_fn *on_runtime;
    void *on_runtime_user;
    char port_note[192]; /* or "" */
    char note[768];
};

/* --- who is told of what --- */

static void runtime_told(void *user, const struct sn_runtime_told *told)
{
    struct sn_machine *machine = user;
    sn_process_facts_tell(machine->facts, told->pid, told->kind, told->version, !machine->kernel);
    if (machine->silent && told->kind == SN_PROCESS_DOTNET_OFF)
        sn_silent_names_add(machine->silent, told->pid);
    if (machine->on_runtime && told->kind == SN_PROCESS_DOTNET)
        machine->on_runtime(machine->on_runtime_user, told->pid);
}

static bool ends_with(struct sn_universal_text text, const char *end)
{
    size_t size = strlen(end);
    return text.size >= size && memcmp(text.bytes + text.size - size, end, size) == 0;
}

static bool starts_with(struct sn_universal_text text, const char *start)
{
    size_t size = strlen(start);
    return text.size >= size && memcmp(text.bytes, start, size) == 0;
}

static void forget_process(struct sn_machine *machine, uint32_t pid, uint64_t time_ns)
{
    sn_runtimes_forget(machine->runtimes, pid, time_ns);
    sn_silent_names_forget(machine->silent, pid);
}

/* What the kernel source tells of processes: the one way in which new runtimes are found while it
 * is there. Every runtime, also within a single file, gives its own threads names of this kind. */
static int take_process_event(struct sn_machine *machine, const struct sn_event *event)
{
    struct sn_universal_fields fields;
    int kind = sn_universal_kind(event->schema);
    if (kind < 0 || !sn_universal_decode((enum sn_universal)kind, event, &fields))
        return SONDE_AGAIN;
    bool is_runtime =
        (kind == SN_UNIVERSAL_MAPPING && ends_with(fields.texts[0], "/libcoreclr.so")) ||
        (kind == SN_UNIVERSAL_THREAD_NAME && starts_with(fields.texts[0], ".NET "));
    if (is_runtime && machine->runtimes)
        sn_runtimes_look_at(machine->runtimes, event->pid);
    else if (kind == SN_UNIVERSAL_PROCESS_EXIT && machine->runtimes)
        forget_process(machine, event->pid, event->time_ns);
    else if (machine->runtimes && sn_runtimes_have_told(machine->runtimes, event->pid))
        return SONDE_OK; /* better than we could */
    else if (kind == SN_UNIVERSAL_EXISTING_PROCESS)
        sn_process_facts_want(machine->facts, event->pid, 0);
    else if (kind == SN_UNIVERSAL_PROCESS_CREATE)
        sn_process_facts_want(machine->facts, event->pid, event->time_ns + SETTLED_NS);
    return SONDE_OK;
}

struct finder {
    struct sn_sink sink;
    struct sn_machine *machine;
};

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    return take_process_event(((struct finder *)sink)->machine, event);
}

static void free_finder(struct sn_sink *sink)
{
    free(sink);
}

static int subscribe_finder(struct sn_machine *machine, struct sonde_error *err)
{
    static const struct sn_sink_ops ops = {
        .name = "finder", .event = take_event, .free = free_finder};
    static const uint32_t system_ids[] = {0, 1, 2, 3};
    static const struct sn_request_item items[] = {
        {.provider = "Universal.System", .ids = system_ids, .id_count = 4},
        {.provider = "Sonde.Kernel", .name = "ThreadName"}};
    static const struct sn_request request = {.items = items, .item_count = 2};
    struct finder *finder = calloc(1, sizeof(*finder));
    if (!finder)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to find processes");
    *finder = (struct finder){.sink.ops = &ops, .machine = machine};
    int rc = sn_road_subscribe(machine->road, &request, &finder->sink, false, err);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- making it --- */

static int make_parts(struct sn_machine *machine, struct sonde_error *err)
{
    const struct sonde_record_options *options = &machine->options;
    bool is_much = options->with_switches || options->with_syscalls || options->tracepoint_count;
    struct sn_road_options road_options = {.window_bytes =
                                               is_much ? LARGE_WINDOW_BYTES : WINDOW_BYTES};
    int rc = sn_loop_new(&machine->loop, err);
    if (rc == SONDE_OK)
        rc = sn_road_new(machine->loop, &road_options, &machine->road, err);
    if (rc == SONDE_OK)
        rc = sn_schema_set_new(&machine->schemas, err);
    if (rc == SONDE_OK)
        rc = sn_objects_new(&machine->objects, err);
    if (rc == SONDE_OK)
        rc = sn_process_facts_new(machine->road, options->keep_command_lines, &machine->facts, err);
    return rc == SONDE_OK ? subscribe_finder(machine, err) : rc;
}

/* Options have room for one more. */
static void add_sampler(struct sonde_record_options *options)
{
    struct sonde_provider *added =
        (struct sonde_provider *)&options->providers[options->provider_count++];
    *added = (struct sonde_provider){.name = SAMPLER, .level = SAMPLER_LEVEL};
}

static void add_pid(struct sonde_record_options *options, uint32_t pid)
{
    ((uint32_t *)options->pids)[options->pid_count++] = pid;
}

static int make_runtimes(struct sn_machine *machine, struct sonde_error *err)
{
    if (machine->options.no_runtimes)
        return SONDE_OK;
    const struct sn_silent_roads silent = {.heard = machine->road, .told = machine->road};
    int rc = sn_perf_maps_new(machine->loop, &machine->perf_maps, err);
    if (rc == SONDE_OK)
        rc = sn_silent_names_new(&silent, &machine->silent, err);
    struct sn_runtimes_options options = {
        .road = machine->road,
        .schemas = machine->schemas,
        .providers = machine->options.providers,
        .provider_count = machine->options.provider_count,
        .perf_maps = machine->perf_maps,
        .asks_perf_maps = machine->options.perf_map,
        .port_path = machine->port ? sn_machine_port_path(machine->port) : NULL,
        .told = runtime_told,
        .user = machine};
    return rc == SONDE_OK ? sn_runtimes_new(&options, &machine->runtimes, err) : rc;
}

static int make_kernel(struct sn_machine *machine, struct sonde_error *err)
{
    const struct sonde_record_options *options = &machine->options;
    if (machine->way.rung == SN_RUNG_NONE)
        return SONDE_OK;
    struct sn_kernel_options kernel = {.rung = machine->way.rung,
                                       .scope = machine->scope,
                                       .frequency = options->no_cpu ? 0 : options->frequency,
                                       .with_switches = options->with_switches,
                                       .with_wakeups = options->with_switches,
                                       .with_syscalls = options->with_syscalls,
                                       .tracepoints = options->tracepoints,
                                       .tracepoint_count = options->tracepoint_count,
                                       .with_hardware = true,
                                       .objects = machine->objects};
    return sn_kernel_new(&kernel, &machine->kernel, err);
}

static uint32_t command_pid(const struct sn_machine *machine)
{
    return machine->command ? sn_command_pid(machine->command) : 0;
}

/* Without a port its runtimes are found like all others, a moment after they began. */
static int make_command(struct sn_machine *machine, struct sonde_error *err)
{
    struct sonde_error why = {0};
    if (!machine->options.no_runtimes && sn_machine_port_new(&machine->port, &why) != SONDE_OK)
        (void)snprintf(machine->port_note, sizeof(machine->port_note),
                       "the first events of the program may be missing: %.128s", why.text);
    const char *ports = machine->port ? sn_machine_port_setting(machine->port) : NULL;
    return sn_command_new(machine->options.command, ports, &machine->command, err);
}

static int take_options(struct sn_machine *machine, const struct sonde_record_options *given,
                        struct sonde_error *err)
{
    struct sonde_record_options *options = &machine->options;
    machine->arena = sn_arena_with_limit(OPTIONS_LIMIT);
    int rc = sn_record_options_copy(given, &machine->arena, options, err);
    if (rc == SONDE_OK && options->command)
        rc = make_command(machine, err);
    if (rc != SONDE_OK)
        return rc;
    if (machine->command)
        add_pid(options, command_pid(machine));
    machine->scope = (struct sn_kernel_scope){.pids = options->pids,
                                              .pid_count = options->pid_count,
                                              .held_pid = command_pid(machine),
                                              .names = options->names,
                                              .name_count = options->name_count,
                                              .cgroup = options->cgroup};
    rc = sn_machine_way_choose(&machine->scope, options->way, &machine->way, err);
    if (rc == SONDE_OK && machine->way.way == SONDE_RECORD_RUNTIME && !options->no_cpu)
        add_sampler(options);
    return rc;
}

int sn_machine_new(const struct sonde_record_options *options, struct sn_machine **ret_machine,
                   struct sonde_error *err)
{
    struct sn_machine *machine = calloc(1, sizeof(*machine));
    if (!machine)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to record");
    int rc = take_options(machine, options, err);
    if (rc == SONDE_OK)
        rc = make_parts(machine, err);
    if (rc == SONDE_OK)
        rc = make_runtimes(machine, err);
    if (rc == SONDE_OK)
        rc = make_kernel(machine, err);
    if (rc != SONDE_OK) {
        sn_machine_free(machine);
        return rc;
    }
    *ret_machine = machine;
    return SONDE_OK;
}

void sn_machine_free(struct sn_machine *machine)
{
    if (!machine)
        return;
    sn_loop_untimer(&machine->tick);
    sn_runtimes_free(machine->runtimes);
    sn_machine_port_free(machine->port);
    sn_perf_maps_free(machine->perf_maps);
    sn_road_free(machine->road);
    if (machine->kernel && !machine->has_started)
        machine->kernel->ops->free(machine->kernel);
    sn_process_facts_free(machine->facts);
    sn_silent_names_free(machine->silent);
    sn_schema_set_free(machine->schemas);
    sn_objects_free(machine->objects);
    sn_command_free(machine->command);
    sn_arena_done(&machine->arena);
    sn_loop_free(machine->loop);
    free(machine);
}

const struct sonde_record_options *sn_machine_options(const struct sn_machine *machine)
{
    return &machine->options;
}

struct sn_road *sn_machine_road(struct sn_machine *machine)
{
    return machine->road;
}

struct sn_loop *sn_machine_loop(struct sn_machine *machine)
{
    return machine->loop;
}

struct sn_objects *sn_machine_objects(struct sn_machine *machine)
{
    return machine->objects;
}

struct sn_perf_maps *sn_machine_perf_maps(struct sn_machine *machine)
{
    return machine->perf_maps;
}

void sn_machine_on_runtime(struct sn_machine *machine, sn_machine_runtime_fn *on_runtime,
                           void *user)
{
    machine->on_runtime = on_runtime;
    machine->on_runtime_user = user;
}

/* --- running --- */

static int look_at(void *user, const struct sn_ipc_target *target)
{
    struct sn_machine *machine = user;
    if (sn_machine_scope_has(&machine->scope, (uint32_t)target->pid))
        sn_runtimes_look_at(machine->runtimes, (uint32_t)target->pid);
    return SONDE_OK;
}

static void welcome(void *user, const struct sn_ipc_target *target,
                    const struct sn_ipc_guid *cookie)
{
    struct sn_machine *machine = user;
    struct sn_ipc_route route = sn_machine_port_route(machine->port, target, cookie);
    const char *path = sn_machine_port_path(machine->port);
    if (sn_proc_environment_has((uint32_t)target->pid, path)) /* others only pretend */
        sn_runtimes_welcome(machine->runtimes, &route);
}

static void tick(struct sn_timer *timer)
{
    struct sn_machine *machine = timer->user;
    sn_loop_timer(machine->loop, timer, sn_clock_deadline(TICK_NS));
}

int sn_machine_start(struct sn_machine *machine, struct sonde_error *err)
{
    machine->has_started = true;
    int rc = machine->kernel ? sn_road_add_source(machine->road, machine->kernel, err)
                             : sn_machine_scope_check(&machine->scope, err);
    if (rc == SONDE_OK && machine->runtimes)
        rc = sn_ipc_discover(look_at, machine, err);
    machine->scan_ns = sn_clock_deadline(SCAN_EVERY_NS);
    if (rc == SONDE_OK && machine->port)
        rc = sn_machine_port_watch(machine->port, machine->loop, welcome, machine, err);
    if (rc == SONDE_OK && machine->command)
        rc = sn_command_release(machine->command, err);
    machine->tick = (struct sn_timer){.expired = tick, .user = machine};
    sn_loop_timer(machine->loop, &machine->tick, 0);
    return rc;
}

static int scan(struct sn_machine *machine, uint64_t now_ns, struct sonde_error *err)
{
    if (!machine->runtimes || machine->is_stopping || now_ns < machine->scan_ns)
        return SONDE_OK;
    machine->scan_ns = now_ns + SCAN_EVERY_NS;
    struct sn_kernel_state state = {0};
    if (machine->kernel)
        sn_kernel_state(machine->kernel, &state);
    if (machine->kernel && state.lost == machine->kernel_lost)
        return SONDE_OK;
    machine->kernel_lost = state.lost;
    return sn_ipc_discover(look_at, machine, err);
}

int sn_machine_tend(struct sn_machine *machine, struct sonde_error *err)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    int rc = scan(machine, now_ns, err);
    if (machine->runtimes)
        sn_runtimes_tend(machine->runtimes);
    if (machine->silent)
        sn_silent_names_tend(machine->silent, now_ns);
    sn_process_facts_tend(machine->facts, now_ns);
    bool is_silent = !machine->runtimes || sn_runtimes_is_done(machine->runtimes);
    if (machine->is_stopping && machine->silent && is_silent)
        sn_silent_names_stop(machine->silent);
    if (machine->is_stopping && is_silent)
        sn_process_facts_stop(machine->facts);
    return rc;
}

void sn_machine_stop(struct sn_machine *machine)
{
    machine->is_stopping = true;
    if (machine->kernel)
        machine->kernel->ops->stop(machine->kernel);
    if (machine->perf_maps)
        sn_perf_maps_end(machine->perf_maps);
    if (machine->port)
        sn_machine_port_leave(machine->port);
    if (machine->runtimes)
        sn_runtimes_stop(machine->runtimes);
}

bool sn_machine_is_done(const struct sn_machine *machine)
{
    return machine->is_stopping && sn_road_is_done(machine->road);
}

int sn_machine_command_status(const struct sn_machine *machine)
{
    return machine->command ? sn_command_status(machine->command) : -1;
}

static bool some_chosen_live(const struct sn_kernel_scope *scope)
{
    for (size_t i = 0; i < scope->pid_count; i++) {
        if (sn_proc_task_lives(scope->pids[i]))
            return true;
    }
    return false;
}

bool sn_machine_is_deserted(struct sn_machine *machine)
{
    const struct sn_kernel_scope *scope = &machine->scope;
    bool is_closed = scope->pid_count && !scope->name_count && !scope->cgroup && !machine->command;
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (!is_closed || machine->is_stopping || now_ns < machine->chosen_ns)
        return machine->is_deserted;
    machine->chosen_ns = now_ns + CHOSEN_EVERY_NS;
    machine->is_deserted = !some_chosen_live(scope);
    return machine->is_deserted;
}

/* --- numbers --- */

static void add_kernel(const struct sn_machine *machine, struct sonde_record_stats *stats)
{
    struct sn_kernel_state state;
    sn_kernel_state(machine->kernel, &state);
    stats->sampler = machine->options.no_cpu ? "" : state.sampler;
    stats->sample_count = state.samples;
    stats->switch_count = state.switches;
    stats->syscall_count = state.syscalls;
    stats->tracepoint_count = state.tracepoint_events;
    stats->kernel_lost_count = state.lost;
    stats->throttled_ns = state.throttled_ns;
    stats->process_count = state.processes;
    stats->note = state.note ? state.note : "";
}

static void add_runtimes(const struct sn_machine *machine, struct sonde_record_stats *stats)
{
    struct sn_runtimes_state state;
    sn_runtimes_state(machine->runtimes, &state);
    stats->event_count = state.event_count;
    stats->event_lost_count = state.lost_count;
    stats->runtime_count = state.count;
    stats->silent_count = state.silent_count;
    stats->clock_error_ns = state.clock_error_ns;
    if (machine->way.way == SONDE_RECORD_RUNTIME)
        stats->sample_count = state.sample_count;
    if (!machine->kernel)
        stats->process_count = state.count + state.silent_count;
}

static void note(struct sn_machine *machine, const char *text)
{
    size_t used = strlen(machine->note);
    (void)snprintf(machine->note + used, sizeof(machine->note) - used, "%s%s", used ? "; " : "",
                   text);
}

static void note_ends(struct sn_machine *machine)
{
    char text[96];
    uint32_t pid = command_pid(machine);
    if (machine->is_deserted)
        note(machine, machine->scope.pid_count == 1
                          ? "the chosen process has ended, and with it the recording"
                          : "all chosen processes have ended, and with them the recording");
    if (!pid || !machine->is_stopping || sn_machine_command_status(machine) >= 0)
        return;
    (void)snprintf(text, sizeof(text), "process %" PRIu32 " goes on running", pid);
    note(machine, text);
}

static void write_note(struct sn_machine *machine, const char *of_kernel)
{
    struct sn_runtimes_state state = {0};
    char text[384];
    machine->note[0] = '\0';
    if (*of_kernel)
        note(machine, of_kernel);
    if (*machine->port_note)
        note(machine, machine->port_note);
    note_ends(machine);
    if (machine->runtimes)
        sn_runtimes_state(machine->runtimes, &state);
    if (state.unknown_kinds) {
        (void)snprintf(text, sizeof(text),
                       "%" PRIu64 " kinds of events left out: runtimes declared too many",
                       state.unknown_kinds);
        note(machine, text);
    }
    if (!state.silent_count)
        return;
    (void)snprintf(text, sizeof(text),
                   "%u .NET process%s could not be asked for events and names: %s",
                   state.silent_count, state.silent_count == 1 ? "" : "es", state.silent_reason);
    note(machine, text);
}

void sn_machine_stats(struct sn_machine *machine, struct sonde_record_stats *ret_stats)
{
    *ret_stats = (struct sonde_record_stats){
        .way = machine->way.way,
        .way_note = machine->way.note,
        .note = "",
        .sampler = machine->way.way == SONDE_RECORD_RUNTIME ? "runtime" : "",
    };
    if (machine->kernel)
        add_kernel(machine, ret_stats);
    if (machine->runtimes)
        add_runtimes(machine, ret_stats);
    write_note(machine, ret_stats->note);
    ret_stats->note = machine->note;
}

uint64_t sn_machine_redactions(const struct sn_machine *machine)
{
    return sn_process_facts_redactions(machine->facts);
}
