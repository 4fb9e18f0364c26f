/* Recordings of the machine, or of chosen processes: a worker drives the recorder for as long as it
 * lasts, because naming and packing take long. One at a time. */
#include "daemon/operation_kinds.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_table.h"
#include "daemon/roads.h"
#include "daemon/sight.h"
#include "daemon/trace_settings.h"
#include "daemon/workers.h"
#include "sonde/record.h"

#define LIST_MAX      256u
#define FREQUENCY_MAX 10000
#define LOOK_EVERY_NS (500 * (uint64_t)SN_NS_PER_MS)
#define NOTE_BYTES    256u

struct run {
    struct sn_mailbox_task task;      /* to the worker, and back at its end */
    struct sn_mailbox_task beginning; /* that it runs; is back before its end */
    struct sn_operation *operation;   /* borrows; the worker reads what does not change */
    struct sonde_record_options options;
    struct sonde_provider_set *set; /* owns */
    uint32_t pids[LIST_MAX];
    const char *names[LIST_MAX];       /* borrow of the settings */
    const char *tracepoints[LIST_MAX]; /* likewise */
    uint64_t bytes_max;
    int wake_fd; /* owns: somebody wants it to end */
    atomic_uint stop_count;
    pthread_mutex_t lock;            /* of what follows */
    struct sonde_record_stats stats; /* without texts */
    char way_note[NOTE_BYTES];
    char note[NOTE_BYTES];
    char sampler[32];
    int status;
    struct sonde_error err;
};

/* --- settings --- */

/* What people want to see, as `sonde record --preset` has it. */
static const struct preset {
    const char *name;
    const char *profiles;
    bool with_switches;
    bool with_syscalls;
} presets[] = {
    {"cpu", "light", false, false},
    {"thread-time", "light,threadpool,async", true, false},
    {"everything", "light,threadpool,async,jit,alloc", true, true},
};

static int read_preset(const json_t *settings, const struct preset **ret_preset,
                       struct sonde_error *err)
{
    const char *name = json_string_value(json_object_get(settings, "preset"));
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
        if (!name || strcmp(presets[i].name, name) == 0) {
            *ret_preset = &presets[i];
            return SONDE_OK;
        }
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "preset: cpu, thread-time or everything");
}

static int read_way(const json_t *settings, int *ret_way, struct sonde_error *err)
{
    static const char *const ways[] = {
        [SONDE_RECORD_MACHINE] = "machine",
        [SONDE_RECORD_THREADS] = "threads",
        [SONDE_RECORD_RUNTIME] = "runtime",
    };
    const char *name = json_string_value(json_object_get(settings, "way"));
    *ret_way = SONDE_RECORD_BEST;
    for (int i = SONDE_RECORD_MACHINE; name && i <= SONDE_RECORD_RUNTIME; i++) {
        if (strcmp(ways[i], name) == 0)
            *ret_way = i;
    }
    if (name && *ret_way == SONDE_RECORD_BEST)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "way: machine, threads or runtime");
    return SONDE_OK;
}

static int read_texts(const json_t *settings, const char *member, const char **to,
                      size_t *ret_count, struct sonde_error *err)
{
    const json_t *list = json_object_get(settings, member);
    size_t count = json_array_size(list);
    if (count > LIST_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s: at most %u", member, LIST_MAX);
    for (size_t i = 0; i < count; i++) {
        to[i] = json_string_value(json_array_get(list, i));
        if (!to[i])
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s: a list of texts", member);
    }
    *ret_count = count;
    return SONDE_OK;
}

static int read_pids(struct run *run, struct sonde_error *err)
{
    const json_t *list = json_object_get(run->operation->settings, "pids");
    size_t count = json_array_size(list);
    if (count >= LIST_MAX)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "pids: fewer than %u", LIST_MAX);
    for (size_t i = 0; i < count; i++) {
        json_int_t pid = json_integer_value(json_array_get(list, i));
        if (pid <= 0 || pid > INT32_MAX)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "pids: a list of pids");
        run->pids[i] = (uint32_t)pid;
    }
    if (run->operation->pid)
        run->pids[count++] = run->operation->pid;
    run->options.pids = run->pids;
    run->options.pid_count = count;
    return SONDE_OK;
}

static int read_frequency(const json_t *settings, uint32_t *ret_frequency, struct sonde_error *err)
{
    const json_t *value = json_object_get(settings, "frequency");
    json_int_t frequency = json_integer_value(value);
    if (value && (frequency < 1 || frequency > FREQUENCY_MAX))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "frequency: 1 to %d", FREQUENCY_MAX);
    *ret_frequency = (uint32_t)frequency;
    return SONDE_OK;
}

static bool flag_of(const json_t *settings, const char *name)
{
    return json_is_true(json_object_get(settings, name));
}

static int read_scope(struct run *run, struct sonde_error *err)
{
    const json_t *settings = run->operation->settings;
    int rc = read_pids(run, err);
    if (rc == SONDE_OK)
        rc = read_texts(settings, "names", run->names, &run->options.name_count, err);
    if (rc == SONDE_OK)
        rc = read_texts(settings, "tracepoints", run->tracepoints, &run->options.tracepoint_count,
                        err);
    run->options.names = run->names;
    run->options.tracepoints = run->tracepoints;
    return rc;
}

static int read_settings(struct run *run, struct sonde_error *err)
{
    const json_t *settings = run->operation->settings;
    const struct preset *preset = &presets[0];
    struct sonde_record_options *options = &run->options;
    options->size = sizeof(*options);
    options->output = sn_artefact_path(run->operation->artefact);
    int rc = read_preset(settings, &preset, err);
    if (rc == SONDE_OK)
        rc = read_way(settings, &options->way, err);
    if (rc == SONDE_OK)
        rc = read_frequency(settings, &options->frequency, err);
    if (rc == SONDE_OK)
        rc = read_scope(run, err);
    if (rc == SONDE_OK)
        rc = sn_trace_settings_events(settings, preset->profiles, &run->set, err);
    if (rc != SONDE_OK)
        return rc;
    options->with_switches = preset->with_switches || flag_of(settings, "offCpu");
    options->with_syscalls = preset->with_syscalls || flag_of(settings, "syscalls");
    options->providers = sonde_provider_set_get(run->set, &options->provider_count);
    const json_t *most = json_object_get(settings, "maxBytes");
    run->bytes_max = json_is_integer(most) ? (uint64_t)json_integer_value(most)
                                           : sn_operation_quota(run->operation->daemon);
    return SONDE_OK;
}

static int check(const json_t *settings, struct sonde_error *err)
{
    int way;
    uint32_t frequency;
    const struct preset *preset = &presets[0];
    struct sonde_provider_set *set = NULL;
    int rc = read_preset(settings, &preset, err);
    if (rc == SONDE_OK)
        rc = read_way(settings, &way, err);
    if (rc == SONDE_OK)
        rc = read_frequency(settings, &frequency, err);
    if (rc == SONDE_OK)
        rc = sn_trace_settings_events(settings, preset->profiles, &set, err);
    sonde_provider_set_free(set);
    return rc;
}

/* --- in the worker --- */

/* .NET processes that go by these names: the kernel knows them as `dotnet` only. */
static void add_named(struct run *run)
{
    struct sonde_error err = {0};
    struct sn_sight *sight = run->operation->daemon->sight;
    if (!run->options.name_count)
        return;
    struct sonde_process_list *list = sn_sight_hold(sight, &err);
    size_t count = list ? sonde_process_list_count(list) : 0;
    for (size_t i = 0; i < count * run->options.name_count; i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i % count);
        if (sonde_process_is_called(process, run->names[i / count]) &&
            run->options.pid_count < LIST_MAX)
            run->pids[run->options.pid_count++] = process->pid;
    }
    if (list)
        sn_sight_release(sight, list);
}

static void show_stats(struct run *run, const struct sonde_recorder *recorder)
{
    struct sonde_record_stats stats;
    sonde_recorder_stats(recorder, &stats);
    (void)pthread_mutex_lock(&run->lock);
    run->stats = stats;
    (void)snprintf(run->way_note, sizeof(run->way_note), "%s", stats.way_note);
    (void)snprintf(run->note, sizeof(run->note), "%s", stats.note);
    (void)snprintf(run->sampler, sizeof(run->sampler), "%s", stats.sampler);
    (void)pthread_mutex_unlock(&run->lock);
}

/* As often as it was told to since. */
static void heed(struct run *run, struct sonde_recorder *recorder, unsigned *heeded)
{
    eventfd_t unused;
    (void)eventfd_read(run->wake_fd, &unused);
    if (run->stats.byte_count >= run->bytes_max && !atomic_load(&run->stop_count))
        atomic_fetch_add(&run->stop_count, 1);
    for (unsigned wanted = atomic_load(&run->stop_count); *heeded < wanted; (*heeded)++)
        sonde_recorder_stop(recorder);
}

static int drive(struct run *run, struct sonde_recorder *recorder)
{
    unsigned heeded = 0;
    uint64_t shown_ns = 0;
    while (!sonde_recorder_is_done(recorder)) {
        struct pollfd polled[] = {{.fd = sonde_recorder_fd(recorder), .events = POLLIN},
                                  {.fd = run->wake_fd, .events = POLLIN}};
        int wait_ms = sonde_recorder_wait_ms(recorder);
        (void)poll(polled, 2, wait_ms < 0 || wait_ms > 500 ? 500 : wait_ms);
        heed(run, recorder, &heeded);
        int rc = sonde_recorder_turn(recorder, &run->err);
        uint64_t now = sn_clock_monotonic_ns();
        if (rc < 0 || now - shown_ns >= LOOK_EVERY_NS) {
            show_stats(run, recorder);
            shown_ns = now;
        }
        if (rc < 0)
            return rc;
    }
    show_stats(run, recorder);
    return SONDE_OK;
}

static void begun(void *user)
{
    sn_operation_running(((struct run *)user)->operation);
}

static void ended(void *user)
{
    struct run *run = user;
    if (run->stats.byte_count >= run->bytes_max &&
        !json_object_get(run->operation->settings, "maxBytes"))
        run->operation->cause = "the quota was reached: it ended with what it has";
    sn_operation_ended(run->operation, run->status, run->err.text);
}

/* On a busy machine a reader that waits its turn loses what it reads. Of this thread only; where we
 * may not, it goes without. */
static void stay_ahead(void)
{
    enum { AHEAD_OF_MOST = -10 };
    (void)setpriority(PRIO_PROCESS, 0, AHEAD_OF_MOST);
}

static void record(void *user)
{
    struct run *run = user;
    struct sn_daemon *daemon = run->operation->daemon;
    struct sonde_recorder *recorder = NULL;
    add_named(run);
    int rc = sonde_recorder_new(&run->options, &recorder, &run->err);
    if (rc >= 0) {
        show_stats(run, recorder);
        sn_roads_post(daemon->roads, &run->beginning, begun, run);
        int before = getpriority(PRIO_PROCESS, 0);
        stay_ahead();
        rc = drive(run, recorder);
        (void)setpriority(PRIO_PROCESS, 0, before);
    }
    sonde_recorder_free(recorder);
    run->status = rc < 0 ? rc : SONDE_OK;
    sn_roads_post(daemon->roads, &run->task, ended, run);
}

/* --- in the roads thread --- */

static void free_run(struct run *run)
{
    if (!run)
        return;
    sonde_provider_set_free(run->set);
    sn_close(run->wake_fd);
    (void)pthread_mutex_destroy(&run->lock);
    free(run);
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a recording");
    run->operation = operation;
    (void)pthread_mutex_init(&run->lock, NULL);
    run->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc =
        run->wake_fd < 0 ? sn_fail_errno(err, "cannot make a descriptor") : read_settings(run, err);
    if (rc == SONDE_OK && !sn_workers_offer(operation->daemon->workers, &run->task, record, run))
        rc = sn_fail(err, SONDE_E_LIMIT, 0, "too much is under way: try again later");
    if (rc != SONDE_OK)
        free_run(run);
    else
        operation->user = run;
    return rc;
}

static void stop(struct sn_operation *operation)
{
    struct run *run = operation->user;
    atomic_fetch_add(&run->stop_count, 1);
    (void)eventfd_write(run->wake_fd, 1);
}

/* Its journal is zipped in any case: that is soon done, and removes it. */
static void cancel(struct sn_operation *operation)
{
    stop(operation);
    stop(operation);
}

static const char *stage_name(int stage)
{
    static const char *const names[] = {
        [SONDE_RECORD_RECORDING] = "recording", [SONDE_RECORD_STOPPING] = "stopping",
        [SONDE_RECORD_NAMING] = "naming",       [SONDE_RECORD_PACKING] = "packing",
        [SONDE_RECORD_DONE] = "done",
    };
    return stage >= 0 && stage <= SONDE_RECORD_DONE ? names[stage] : "";
}

static void write_counts(struct sn_json *json, const struct sonde_record_stats *stats)
{
    sn_json_u64(json, "events",
                stats->sample_count + stats->switch_count + stats->syscall_count +
                    stats->tracepoint_count + stats->event_count);
    sn_json_u64(json, "lost", stats->kernel_lost_count + stats->event_lost_count);
    sn_json_u64(json, "bytes", stats->archive_bytes ? stats->archive_bytes : stats->byte_count);
    sn_json_u64(json, "samples", stats->sample_count);
    sn_json_u64(json, "switches", stats->switch_count);
    sn_json_u64(json, "systemCalls", stats->syscall_count);
    sn_json_u64(json, "runtimeEvents", stats->event_count);
    sn_json_u64(json, "processes", stats->process_count);
    sn_json_u64(json, "runtimes", stats->runtime_count);
    sn_json_object(json, "cost");
    sn_json_real(json, "ownCpuSeconds", (double)stats->own_cpu_ns / 1e9);
    sn_json_close(json);
}

static void progress(struct sn_operation *operation, struct sn_json *json)
{
    struct run *run = operation->user;
    if (!run)
        return;
    (void)pthread_mutex_lock(&run->lock);
    sn_json_real(json, "durationSeconds", (double)run->stats.duration_ns / 1e9);
    sn_json_text(json, "stage", stage_name(run->stats.stage));
    sn_json_text(json, "wayNote", run->way_note);
    sn_json_text(json, "note", run->note);
    sn_json_text(json, "sampler", run->sampler);
    write_counts(json, &run->stats);
    (void)pthread_mutex_unlock(&run->lock);
}

static void free_it(struct sn_operation *operation)
{
    free_run(SN_TAKE(operation->user));
}

const struct sn_operation_kind sn_record_operation = {
    .name = "record",
    .extension = "sonde.zip",
    .content_type = "application/zip",
    .concurrent_max = 1,
    .recording_max = 1,
    .is_stoppable = true,
    .is_whole = true,
    .check = check,
    .start = start,
    .stop = stop,
    .cancel = cancel,
    .progress = progress,
    .free = free_it,
};
