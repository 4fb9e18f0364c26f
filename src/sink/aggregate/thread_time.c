#include "sink/aggregate/thread_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/report.h"
#include "model/schema.h"

#define RUNTIME   "Microsoft-Windows-DotNETRuntime"
#define SAMPLER   "Microsoft-DotNETCore-SampleProfiler"
#define FRAMEWORK "System.Diagnostics.Eventing.FrameworkEventSource"
#define TASKS     "System.Threading.Tasks.TplEventSource"
#define EVENTPIPE "Microsoft-DotNETCore-EventPipe"

#define THREAD_LIMIT 65536u
#define NAME_LIMIT   65536u

static const struct sn_column columns[] = {{"wall", SN_UNIT_NS}};

static const struct sn_request_item items[] = {
    {.provider = SAMPLER},
    {.provider = RUNTIME, .name = "GCAllocationTick"},
    {.provider = RUNTIME, .name = "GCSampledObjectAllocationHigh"},
    {.provider = RUNTIME, .name = "GCSampledObjectAllocationLow"},
    {.provider = RUNTIME, .name = "ThreadPoolWorkerThreadAdjustmentSample"},
    {.provider = RUNTIME, .name = "ThreadPoolIODequeue"},
    {.provider = RUNTIME, .name = "GCFinalizersBegin"},
    {.provider = RUNTIME, .name = "GCFinalizersEnd"},
    {.provider = FRAMEWORK, .name = "ThreadPoolDequeueWork"},
    {.provider = FRAMEWORK, .name = "ThreadTransferReceive"},
    {.provider = EVENTPIPE, .name = "ProcessInfo"},
};
const struct sn_request sn_thread_time_request = {.items = items,
                                                  .item_count = sizeof(items) / sizeof(*items)};

/* What an event that only one kind of thread writes says about its thread. */
static const struct {
    const char *event;
    const char *category;
    bool overrides;
} categories[] = {
    {"ThreadPoolWorkerThreadAdjustmentSample", ".NET ThreadPool", false},
    {"ThreadPoolIODequeue", ".NET IO ThreadPool Worker", true},
    {"GCFinalizersBegin", ".NET Finalizer Thread", false},
    {"GCFinalizersEnd", ".NET Finalizer Thread", false},
    {"ThreadPoolDequeueWork", ".NET ThreadPool Worker", false},
    {"ThreadTransferReceive", ".NET ThreadPool Worker", false},
};

struct thread {
    uint64_t thread_id;
    uint32_t pid;
    const char *category; /* NULL: none */
    uint32_t index;       /* in the profile; SN_NO_INDEX before its time begins */
    uint32_t frame;       /* its own */
    uint32_t place;       /* where it was seen last; SN_NO_INDEX: nowhere yet */
    uint64_t seen_ns;
    struct sn_run run; /* the last one, still growing */
    bool has_run;
};

struct thread_time {
    struct sn_sink sink;
    bool with_events;
    struct sn_profile *profile; /* of the report */
    struct sn_frames *frames;
    struct thread *threads; /* owns */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id; /* thread id -> index + 1 */
    struct sn_buf command; /* the process's command line */
    uint32_t process_frame;
    uint32_t cpu_frame;
    uint32_t unmanaged_frame;
    uint32_t pid;
    uint8_t pointer_size;
    uint64_t first_ns;
    uint64_t last_ns;
};

/* --- frames that stand for no code --- */

static uint32_t stand_in(struct sn_profile *profile, const char *name)
{
    return sn_profile_frame(profile, &(struct sn_frame){.name = name,
                                                        .full_name = name,
                                                        .module = "",
                                                        .name_space = "",
                                                        .kind = SN_FRAME_RUNTIME});
}

/* Names that depend on the whole trace are put in at its end. */
static void rename_frame(struct sn_profile *profile, uint32_t frame, const char *name)
{
    char *copy = sn_arena_copy(&profile->arena, name, strlen(name));
    if (!copy || frame == SN_NO_INDEX)
        return;
    profile->frames[frame].name = copy;
    profile->frames[frame].full_name = copy;
}

/* What is above all stacks. Threads share one tree, or its size would be that of all stacks times
 * that of all threads; what each has of its own, one frame, is put in by who shows it. */
static void make_top(struct thread_time *time)
{
    struct sn_profile *profile = time->profile;
    time->process_frame = stand_in(profile, "Process");
    uint32_t node = sn_profile_node(profile, 0, time->process_frame);
    node = sn_profile_node(profile, node, stand_in(profile, "(Non-Activities)"));
    profile->threads_node = sn_profile_node(profile, node, stand_in(profile, "Threads"));
}

/* Stacks are looked up below the root; at the end they move below the frames that were there first.
 */
static void move_below_top(struct sn_profile *profile)
{
    for (uint32_t i = profile->threads_node + 1; i < profile->node_count; i++) {
        if (!profile->nodes[i].parent)
            profile->nodes[i].parent = profile->threads_node;
    }
}

static void name_thread(const struct thread *thread, struct sn_buf *to)
{
    sn_buf_format(to, "Thread (%" PRIu64 ")", thread->thread_id);
    if (thread->category)
        sn_buf_format(to, " (%s)", thread->category);
}

/* "Process64 dotnet (123) Args: shop.dll": the program's name, then what stands behind its path. */
static void name_process(struct thread_time *time, struct sn_buf *to)
{
    const char *line = sn_buf_string(&time->command);
    bool is_quoted = *line == '"';
    size_t size = is_quoted ? strcspn(line + 1, "\"") + 2 : strcspn(line, " ");
    size = size > strlen(line) ? strlen(line) : size;
    sn_buf_format(to, "Process%u ", time->pointer_size == 4 ? 32u : 64u);
    if (!*line) {
        sn_buf_format(to, "Process(%" PRIu32 ") (%" PRIu32 ") Args: ", time->pid, time->pid);
        return;
    }
    size_t start = is_quoted;
    size_t end = size - (size > 1 && is_quoted && line[size - 1] == '"');
    for (size_t i = start; i < end; i++) {
        if (line[i] == '/')
            start = i + 1;
    }
    const char *dot = memrchr(line + start, '.', end - start);
    size_t length = dot ? (size_t)(dot - line) - start : end - start;
    sn_buf_format(to, "%.*s (%" PRIu32 ") Args: %s", (int)length, line + start, time->pid,
                  line[size] ? line + size + 1 : line);
}

/* --- threads --- */

static struct thread *thread_of(struct thread_time *time, const struct sn_event *event)
{
    uint64_t *place = sn_table_put(&time->by_id, event->thread_id);
    if (!place)
        return NULL;
    if (!*place) {
        struct thread *threads = sn_array_room(time->threads, time->thread_count,
                                               &time->thread_capacity, sizeof(*threads));
        if (!threads)
            return NULL;
        time->threads = threads;
        threads[time->thread_count] = (struct thread){.thread_id = event->thread_id,
                                                      .pid = event->pid,
                                                      .index = SN_NO_INDEX,
                                                      .place = SN_NO_INDEX};
        *place = ++time->thread_count;
    }
    return &time->threads[*place - 1];
}

static void begin(struct thread_time *time, struct thread *thread)
{
    char name[40];
    (void)snprintf(name, sizeof(name), "Thread (%" PRIu64 ")", thread->thread_id);
    thread->index = sn_profile_thread(time->profile, thread->pid, thread->thread_id, "");
    thread->frame = stand_in(time->profile, name);
}

/* --- which events count --- */

static bool is_wanted(const struct sn_schema *schema)
{
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
        if (strcmp(schema->provider, items[i].provider) == 0 &&
            (!items[i].name || strcmp(schema->name, items[i].name) == 0))
            return true;
    }
    return false;
}

/* What TraceEvent takes for an EventSource's; of tasks there are too many, of the framework's only
 * requests count. */
static bool is_from_event_source(const struct sn_schema *schema)
{
    enum { FIRST_REQUEST = 140, LAST_REQUEST = 143, MANIFEST = 0xFFFE };
    if (strncmp(schema->provider, RUNTIME, strlen(RUNTIME)) == 0 ||
        strcmp(schema->provider, SAMPLER) == 0 || strcmp(schema->provider, TASKS) == 0 ||
        schema->event_id == MANIFEST)
        return false;
    return strcmp(schema->provider, FRAMEWORK) != 0 ||
           (schema->event_id >= FIRST_REQUEST && schema->event_id <= LAST_REQUEST);
}

/* --- samples --- */

static void end_run(struct thread_time *time, struct thread *thread)
{
    if (thread->has_run)
        sn_profile_run(time->profile, thread->index, &thread->run);
    thread->has_run = false;
}

/* It stayed where it was last until now. */
static void close_stay(struct thread_time *time, struct thread *thread, uint64_t now_ns)
{
    if (thread->place == SN_NO_INDEX || now_ns <= thread->seen_ns)
        return;
    uint64_t stay = now_ns - thread->seen_ns;
    const uint64_t values[SN_COLUMN_MAX] = {stay};
    sn_profile_add(time->profile, thread->index, thread->place, values);
    if (thread->has_run && thread->run.node == thread->place) {
        thread->run.end_ns = now_ns;
        thread->run.values[0] += stay;
        return;
    }
    end_run(time, thread);
    thread->run = (struct sn_run){
        .start_ns = thread->seen_ns, .end_ns = now_ns, .node = thread->place, .values = {stay}};
    thread->has_run = true;
}

static bool is_sample(const struct sn_event *event)
{
    return strcmp(event->schema->provider, SAMPLER) == 0;
}

/* What the runtime wrote was written by code that ran. */
static bool is_on_cpu(const struct sn_event *event)
{
    enum { MANAGED = 2 };
    uint32_t mode = MANAGED;
    if (!is_sample(event))
        return !is_from_event_source(event->schema);
    if (event->payload_size >= sizeof(mode))
        memcpy(&mode, event->payload, sizeof(mode));
    return mode == MANAGED;
}

static uint32_t below_event(struct thread_time *time, uint32_t node, const struct sn_schema *schema)
{
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    sn_buf_format(&name, "EventName: %s/%s", schema->provider, schema->name);
    return sn_profile_node(time->profile, node, stand_in(time->profile, sn_buf_string(&name)));
}

static int take_sample(struct thread_time *time, struct thread *thread,
                       const struct sn_event *event)
{
    if (thread->index == SN_NO_INDEX)
        begin(time, thread);
    close_stay(time, thread, event->time_ns);
    uint32_t node = sn_frames_node(time->frames, event);
    if (!is_sample(event) && is_from_event_source(event->schema))
        node = below_event(time, node, event->schema);
    thread->place = sn_profile_node(time->profile, node,
                                    is_on_cpu(event) ? time->cpu_frame : time->unmanaged_frame);
    thread->seen_ns = event->time_ns;
    time->pid = event->pid;
    time->pointer_size = event->pointer_size;
    if (!time->first_ns || event->time_ns < time->first_ns)
        time->first_ns = event->time_ns;
    if (event->time_ns > time->last_ns)
        time->last_ns = event->time_ns;
    return SONDE_OK;
}

static void take_command(struct thread_time *time, const struct sn_event *event)
{
    struct sn_value value;
    if (!sn_payload_find(event, "CommandLine", &value) || value.kind != SN_VALUE_TEXT16)
        return;
    sn_buf_clear(&time->command);
    sn_text_from_utf16(&time->command, value.bytes, value.size / 2);
}

static bool take_category(struct thread *thread, const char *event)
{
    for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
        if (strcmp(categories[i].event, event) != 0)
            continue;
        if (!thread->category || categories[i].overrides)
            thread->category = categories[i].category;
        return true;
    }
    return false;
}

/* An event that is no sample: what it tells, and whether its thread was seen in it. */
static bool take_other(struct thread_time *time, const struct sn_event *event)
{
    if (strcmp(event->schema->provider, EVENTPIPE) == 0)
        take_command(time, event);
    if (is_from_event_source(event->schema))
        return time->with_events;
    if (!is_wanted(event->schema))
        return false;
    struct thread *thread = thread_of(time, event);
    return thread && !take_category(thread, event->schema->name);
}

static int take(struct sn_sink *sink, const struct sn_event *event)
{
    struct thread_time *time = (struct thread_time *)sink;
    if (event->schema == &sn_lost_schema || (!is_sample(event) && !take_other(time, event)))
        return SONDE_OK;
    struct thread *thread = thread_of(time, event);
    if (thread)
        return take_sample(time, thread, event);
    time->profile->dropped_count++;
    return SONDE_OK;
}

/* --- the end --- */

/* Code that nobody knows, as TraceEvent calls it. */
static void rename_unknown(struct sn_profile *profile)
{
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        if (profile->frames[i].kind == SN_FRAME_NATIVE)
            rename_frame(profile, i, "?!?");
    }
}

static void name_in_profile(struct sn_profile *profile, const struct thread *thread)
{
    struct sn_profile_thread *to = &profile->threads[thread->index];
    to->frame = thread->frame;
    if (thread->frame != SN_NO_INDEX)
        to->name = profile->frames[thread->frame].full_name;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct thread_time *time = (struct thread_time *)sink;
    SN_AUTO(sn_buf_done) struct sn_buf name = sn_buf_with_limit(NAME_LIMIT);
    for (size_t i = 0; i < time->thread_count; i++) {
        struct thread *thread = &time->threads[i];
        end_run(time, thread);
        if (thread->index == SN_NO_INDEX)
            continue;
        sn_buf_clear(&name);
        name_thread(thread, &name);
        rename_frame(time->profile, thread->frame, sn_buf_string(&name));
        name_in_profile(time->profile, thread);
    }
    sn_buf_clear(&name);
    name_process(time, &name);
    rename_frame(time->profile, time->process_frame, sn_buf_string(&name));
    rename_unknown(time->profile);
    move_below_top(time->profile);
    time->profile->start_ns = time->first_ns;
    time->profile->end_ns = time->last_ns;
    return SONDE_OK;
}

static void free_thread_time(struct sn_sink *sink)
{
    struct thread_time *time = (struct thread_time *)sink;
    free(time->threads);
    sn_table_done(&time->by_id);
    sn_buf_done(&time->command);
    sn_frames_free(time->frames);
    free(time);
}

static const struct sn_sink_ops ops = {
    .name = "thread time", .event = take, .finish = finish, .free = free_thread_time};

static struct sn_sink *make(const struct sn_aggregate_context *context, bool with_events,
                            struct sonde_error *err)
{
    struct thread_time *time = calloc(1, sizeof(*time));
    if (!time) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for thread time");
        return NULL;
    }
    time->sink.ops = &ops;
    time->with_events = with_events;
    time->by_id = sn_table_with_limit(THREAD_LIMIT);
    time->command = sn_buf_with_limit(NAME_LIMIT);
    int rc = sn_profile_new(columns, sizeof(columns) / sizeof(*columns), &time->profile, err);
    context->report->thread_time = time->profile;
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, time->profile, &time->frames, err);
    if (rc != SONDE_OK) {
        free_thread_time(&time->sink);
        return NULL;
    }
    time->cpu_frame = stand_in(time->profile, "CPU_TIME");
    time->unmanaged_frame = stand_in(time->profile, "UNMANAGED_CODE_TIME");
    make_top(time);
    if (time->profile->threads_node == SN_NO_INDEX) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for thread time");
        free_thread_time(&time->sink);
        return NULL;
    }
    return &time->sink;
}

struct sn_sink *sn_thread_time_sink(const struct sn_aggregate_context *context,
                                    struct sonde_error *err)
{
    return make(context, false, err);
}

struct sn_sink *sn_thread_time_events_sink(const struct sn_aggregate_context *context,
                                           struct sonde_error *err)
{
    return make(context, true, err);
}
