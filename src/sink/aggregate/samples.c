#include "sink/aggregate/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/cpu_slices.h"
#include "model/event.h"
#include "model/report.h"
#include "sink/aggregate/unseen.h"

/* A thread stays where it was seen until it is seen again, but no longer than this: beyond, it was
 * away or samples are missing. */
#define LONGEST_STAY_NS SN_NS_PER_SECOND
#define USUAL_STAY_NS   SN_NS_PER_MS

/* Samples of a thread that wait for their interval to end; more are weighed early. */
#define PENDING_MAX  8192u
#define THREAD_LIMIT 65536u

enum column { CPU, WALL, WAIT, SAMPLES };

static const struct sn_column columns[] = {
    {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}, {"samples", SN_UNIT_COUNT}};

static const struct sn_request_item items[] = {{.provider = "Microsoft-DotNETCore-SampleProfiler"}};
const struct sn_request sn_samples_request = {.items = items, .item_count = 1};

/* How sure it is that a sample was on a CPU; the kernel's time is given out in this order. */
enum sureness { IN_MANAGED_CODE, IN_NATIVE_CODE, WAITING, SURENESS_COUNT };

struct sample {
    uint64_t time_ns;
    uint64_t stay_ns;
    uint64_t cpu_ns;
    uint32_t node;
    uint8_t sureness;
};

struct thread {
    uint64_t thread_id;
    uint32_t index; /* in the profile */
    const struct sn_cpu_thread *cpu;
    size_t next_slice;    /* of cpu->slices */
    size_t look;          /* which interval the pending samples are in */
    uint64_t spent_ns;    /* of that interval's slice, given out already */
    uint64_t assigned_ns; /* given to samples, all in all */
    size_t seen_look;     /* the last interval that had samples; 0: none yet */
    uint64_t carried_ns;  /* run while it was only seen waiting, or not at all: for later samples */
    uint64_t last_stay_ns;
    struct sample *pending; /* owns */
    size_t count;
    size_t capacity;
    struct sn_run run; /* the last one, still growing */
    bool has_run;
};

struct samples {
    struct sn_sink sink;
    struct sn_report *report;
    const struct sn_cpu_slices *cpu; /* or NULL */
    struct sn_profile *profile;      /* of the report */
    struct sn_frames *frames;
    struct thread *threads; /* owns */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id; /* thread id -> index + 1 */
    uint64_t first_ns;
    uint64_t last_ns;
};

/* --- weighing --- */

/* The sampler sees every managed thread each time it looks. If it did not come to look for some
 * intervals, a thread seen before and after went on with what it does: that time is carried over.
 */
static void carry_over(const struct samples *samples, struct thread *thread,
                       const struct sn_cpu_slice_entry *slice)
{
    const uint64_t *looks = samples->cpu->looks;
    if (!thread->seen_look || slice->look <= thread->seen_look ||
        looks[slice->look] - looks[thread->seen_look] > LONGEST_STAY_NS)
        return;
    thread->carried_ns += slice->ran_ns;
    thread->assigned_ns += slice->ran_ns;
}

/* What the thread ran in the interval of its pending samples. */
static uint64_t slice_of(const struct samples *samples, struct thread *thread)
{
    const struct sn_cpu_thread *cpu = thread->cpu;
    if (!cpu)
        return 0;
    for (; thread->next_slice < cpu->count && cpu->slices[thread->next_slice].look < thread->look;
         thread->next_slice++)
        carry_over(samples, thread, &cpu->slices[thread->next_slice]);
    thread->seen_look = thread->look;
    bool is_there =
        thread->next_slice < cpu->count && cpu->slices[thread->next_slice].look == thread->look;
    return is_there ? cpu->slices[thread->next_slice].ran_ns : 0;
}

/* What of the interval's CPU time falls to the pending samples: all that is left of it, or, when
 * there are so many that they are weighed before its end, the part until now. */
static uint64_t time_to_give(const struct samples *samples, struct thread *thread, bool is_early)
{
    const struct sn_cpu_slices *cpu = samples->cpu;
    if (!cpu || !thread->look || thread->look >= cpu->look_count)
        return 0;
    uint64_t ran = slice_of(samples, thread);
    if (is_early) {
        uint64_t begin = cpu->looks[thread->look - 1];
        uint64_t end = cpu->looks[thread->look];
        uint64_t now = thread->pending[thread->count - 1].time_ns;
        ran = (uint64_t)((double)ran * (double)(now - begin) / (double)(end - begin));
    }
    return ran > thread->spent_ns ? ran - thread->spent_ns : 0;
}

static uint64_t stay_of(const struct thread *thread, enum sureness sureness)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < thread->count; i++) {
        if (thread->pending[i].sureness == sureness)
            sum += thread->pending[i].stay_ns;
    }
    return sum;
}

/* Shares `ns` out over the samples of one kind, by how long each stayed; to the last nanosecond. */
static void give(struct thread *thread, enum sureness sureness, uint64_t stay_ns, uint64_t ns)
{
    uint64_t stay_left = stay_ns;
    for (size_t i = 0; i < thread->count && stay_left; i++) {
        struct sample *sample = &thread->pending[i];
        if (sample->sureness != sureness)
            continue;
        uint64_t part =
            (uint64_t)((double)ns * ((double)sample->stay_ns / (double)stay_left) + 0.5);
        part = part > ns ? ns : part;
        sample->cpu_ns += part;
        ns -= part;
        stay_left -= sample->stay_ns;
    }
}

/* Gives each kind as much as its samples stayed, the surest first. What is left over, where samples
 * are missing, goes to the surest there is. A thread that ran while it was only seen waiting ran
 * between two samples: that time is kept for the next ones that are seen running. */
static void weigh(struct thread *thread, uint64_t ns)
{
    uint64_t stays[SURENESS_COUNT];
    int surest = -1;
    for (int kind = SURENESS_COUNT - 1; kind >= 0; kind--) {
        stays[kind] = stay_of(thread, (enum sureness)kind);
        if (stays[kind])
            surest = kind;
    }
    if (surest < 0)
        return;
    thread->spent_ns += ns;
    thread->assigned_ns += ns;
    if (surest == WAITING) {
        thread->carried_ns += ns;
        return;
    }
    ns += thread->carried_ns;
    thread->carried_ns = 0;
    for (int kind = surest; kind < WAITING && ns; kind++) {
        uint64_t part = ns < stays[kind] ? ns : stays[kind];
        give(thread, (enum sureness)kind, stays[kind], part);
        ns -= part;
    }
    if (ns)
        give(thread, (enum sureness)surest, stays[surest], ns);
}

/* --- into the profile --- */

static void end_run(struct samples *samples, struct thread *thread)
{
    if (thread->has_run)
        sn_profile_run(samples->profile, thread->index, &thread->run);
    thread->has_run = false;
}

static void add_to_run(struct samples *samples, struct thread *thread, const struct sn_run *run)
{
    if (thread->has_run && thread->run.node == run->node && thread->run.end_ns == run->start_ns) {
        thread->run.end_ns = run->end_ns;
        for (size_t i = 0; i < SN_COLUMN_MAX; i++)
            thread->run.values[i] += run->values[i];
        return;
    }
    end_run(samples, thread);
    thread->run = *run;
    thread->has_run = true;
}

/* The frame of a node; NULL for the root. */
static const struct sn_frame *frame_at(const struct samples *samples, uint32_t node)
{
    const struct sn_profile *profile = samples->profile;
    return node && node != SN_NO_INDEX ? &profile->frames[profile->nodes[node].frame] : NULL;
}

/* Where the time of a sample is spent: where the thread was stopped, or, if that is the runtime's
 * own place for being stopped, in the code that came there. */
static uint32_t spent_at(const struct samples *samples, uint32_t node)
{
    const struct sn_frame *frame = frame_at(samples, node);
    while (frame && frame->is_stop) {
        node = samples->profile->nodes[node].parent;
        frame = frame_at(samples, node);
    }
    return node;
}

/* The time counts where it was spent, the sample itself where it was taken: as other tools do. */
static void add_row(struct samples *samples, const struct thread *thread, uint32_t taken_at,
                    const struct sn_run *run)
{
    if (run->node == taken_at) {
        sn_profile_add(samples->profile, thread->index, taken_at, run->values);
        return;
    }
    const uint64_t one[SN_COLUMN_MAX] = {[SAMPLES] = 1};
    uint64_t times[SN_COLUMN_MAX];
    memcpy(times, run->values, sizeof(times));
    times[SAMPLES] = 0;
    sn_profile_add(samples->profile, thread->index, run->node, times);
    sn_profile_add(samples->profile, thread->index, taken_at, one);
}

static void take_pending(struct samples *samples, struct thread *thread, bool is_early)
{
    if (!thread->count)
        return;
    weigh(thread, time_to_give(samples, thread, is_early));
    for (size_t i = 0; i < thread->count; i++) {
        const struct sample *sample = &thread->pending[i];
        uint64_t wait = sample->stay_ns > sample->cpu_ns ? sample->stay_ns - sample->cpu_ns : 0;
        struct sn_run run = {
            .start_ns = sample->time_ns,
            .end_ns = sample->time_ns + sample->stay_ns,
            .node = spent_at(samples, sample->node),
            .values = {[CPU] = sample->cpu_ns,
                       [WALL] = sample->stay_ns,
                       [WAIT] = samples->cpu ? wait : 0,
                       [SAMPLES] = 1},
        };
        add_row(samples, thread, sample->node, &run);
        add_to_run(samples, thread, &run);
    }
    thread->count = 0;
}

/* --- samples --- */

static struct thread *thread_of(struct samples *samples, const struct sn_event *event)
{
    uint64_t *place = sn_table_put(&samples->by_id, event->thread_id);
    if (!place)
        return NULL;
    if (!*place) {
        struct thread *threads = sn_array_room(samples->threads, samples->thread_count,
                                               &samples->thread_capacity, sizeof(*threads));
        if (!threads)
            return NULL;
        samples->threads = threads;
        const struct sn_cpu_thread *cpu =
            samples->cpu ? sn_cpu_slices_thread(samples->cpu, event->thread_id) : NULL;
        threads[samples->thread_count] = (struct thread){
            .thread_id = event->thread_id,
            .cpu = cpu,
            .last_stay_ns = USUAL_STAY_NS,
            .index = sn_profile_thread(samples->profile, event->pid, event->thread_id,
                                       cpu ? cpu->name : ""),
        };
        *place = ++samples->thread_count;
    }
    return &samples->threads[*place - 1];
}

/* Whether the thread waits there. A stub without a name waits if whoever called it does. */
static bool is_waiting_at(const struct samples *samples, uint32_t node)
{
    const struct sn_frame *frame = frame_at(samples, node);
    if (frame && frame->kind == SN_FRAME_NATIVE)
        frame = frame_at(samples, samples->profile->nodes[node].parent);
    return frame && frame->is_waiting;
}

static enum sureness sureness_of(const struct samples *samples, const struct sn_event *event,
                                 uint32_t node)
{
    enum { MANAGED = 2 };
    uint32_t mode = 0;
    if (event->payload_size >= sizeof(mode))
        memcpy(&mode, event->payload, sizeof(mode));
    if (is_waiting_at(samples, node))
        return WAITING; /* in either mode: who wakes up is back in managed code before it runs */
    return mode == MANAGED ? IN_MANAGED_CODE : IN_NATIVE_CODE;
}

/* The last sample stayed until now. */
static void close_stay(struct thread *thread, uint64_t now_ns)
{
    if (!thread->count)
        return;
    struct sample *last = &thread->pending[thread->count - 1];
    uint64_t stay = now_ns > last->time_ns ? now_ns - last->time_ns : 0;
    last->stay_ns = stay < LONGEST_STAY_NS ? stay : LONGEST_STAY_NS;
    thread->last_stay_ns = last->stay_ns;
}

static uint64_t interval_of(struct samples *samples, const struct thread *thread, uint64_t time_ns)
{
    const struct sn_cpu_slices *cpu = samples->cpu;
    if (!cpu)
        return 0;
    size_t look = thread->look; /* mostly the same as before */
    if (look && look < cpu->look_count && time_ns > cpu->looks[look - 1] &&
        time_ns <= cpu->looks[look])
        return look;
    return sn_cpu_slices_look(cpu, time_ns);
}

static int take_sample(struct sn_sink *sink, const struct sn_event *event)
{
    struct samples *samples = (struct samples *)sink;
    if (event->schema == &sn_lost_schema)
        return SONDE_OK;
    struct thread *thread = thread_of(samples, event);
    if (!thread) {
        samples->profile->dropped_count++;
        return SONDE_OK;
    }
    close_stay(thread, event->time_ns);
    uint64_t look = interval_of(samples, thread, event->time_ns);
    if (look != thread->look) {
        take_pending(samples, thread, false);
        thread->look = look;
        thread->spent_ns = 0;
    } else if (thread->count == (samples->cpu ? PENDING_MAX : 1)) {
        take_pending(samples, thread, true);
    }
    struct sample *pending =
        sn_array_room(thread->pending, thread->count, &thread->capacity, sizeof(*pending));
    if (!pending)
        return SONDE_E_NOMEM;
    thread->pending = pending;
    uint32_t node = sn_frames_node(samples->frames, event);
    pending[thread->count++] =
        (struct sample){.time_ns = event->time_ns,
                        .node = node,
                        .sureness = (uint8_t)sureness_of(samples, event, node)};
    if (!samples->first_ns || event->time_ns < samples->first_ns)
        samples->first_ns = event->time_ns;
    if (event->time_ns > samples->last_ns)
        samples->last_ns = event->time_ns;
    return SONDE_OK;
}

/* --- the end --- */

static int most_first(const void *left, const void *right)
{
    const struct sn_thread_time *a = left;
    const struct sn_thread_time *b = right;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns < b->cpu_ns ? 1 : -1;
    if (a->sample_count != b->sample_count)
        return a->sample_count < b->sample_count ? 1 : -1;
    return (a->thread_id > b->thread_id) - (a->thread_id < b->thread_id);
}

/* One entry a thread of the profile: what its rows add up to. */
static void list_threads(struct sn_report *report)
{
    const struct sn_profile *profile = report->samples;
    report->threads = calloc(profile->thread_count + 1, sizeof(*report->threads));
    if (!report->threads)
        return;
    report->thread_count = profile->thread_count;
    for (size_t i = 0; i < profile->thread_count; i++) {
        report->threads[i].thread_id = profile->threads[i].thread_id;
        report->threads[i].name = profile->threads[i].name;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        struct sn_thread_time *thread = &report->threads[profile->rows[i].thread];
        thread->cpu_ns += profile->rows[i].values[CPU];
        thread->wall_ns += profile->rows[i].values[WALL];
        thread->sample_count += profile->rows[i].values[SAMPLES];
    }
    qsort(report->threads, report->thread_count, sizeof(*report->threads), most_first);
}

static uint64_t assigned_to(const struct samples *samples, uint64_t thread_id)
{
    const uint64_t *place = sn_table_find(&samples->by_id, thread_id);
    return place && *place ? samples->threads[*place - 1].assigned_ns : 0;
}

/* It never was seen running again: it ran where it was seen last. */
static void give_carried(struct samples *samples, struct thread *thread)
{
    const uint64_t values[SN_COLUMN_MAX] = {[CPU] = thread->carried_ns};
    if (!thread->carried_ns || !thread->has_run)
        return;
    sn_profile_add(samples->profile, thread->index, thread->run.node, values);
    thread->run.values[CPU] += thread->carried_ns;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct samples *samples = (struct samples *)sink;
    struct sn_report *report = samples->report;
    for (size_t i = 0; i < samples->thread_count; i++) {
        struct thread *thread = &samples->threads[i];
        if (thread->count)
            thread->pending[thread->count - 1].stay_ns = thread->last_stay_ns;
        take_pending(samples, thread, false);
        give_carried(samples, thread);
        end_run(samples, thread);
    }
    samples->profile->start_ns = samples->first_ns;
    samples->profile->end_ns = samples->last_ns;
    if (!samples->thread_count) {
        report->cpu_truth = SN_CPU_NO_SAMPLES;
        return SONDE_OK;
    }
    if (samples->cpu) {
        bool overlaps = samples->cpu->look_count > 1 && samples->last_ns > samples->cpu->looks[0] &&
                        samples->first_ns <= samples->cpu->looks[samples->cpu->look_count - 1];
        report->cpu_truth = overlaps ? SN_CPU_KNOWN : SN_CPU_BAD_RECORD;
        if (!overlaps)
            report->cpu_note = "the CPU record is of another time than the samples";
        else
            for (size_t i = 0; i < samples->cpu->thread_count; i++)
                sn_unseen_add(report, samples->cpu, &samples->cpu->threads[i],
                              assigned_to(samples, samples->cpu->threads[i].thread_id),
                              samples->first_ns, samples->last_ns);
    }
    list_threads(report);
    return SONDE_OK;
}

static void free_samples(struct sn_sink *sink)
{
    struct samples *samples = (struct samples *)sink;
    for (size_t i = 0; i < samples->thread_count; i++)
        free(samples->threads[i].pending);
    free(samples->threads);
    sn_table_done(&samples->by_id);
    sn_frames_free(samples->frames);
    free(samples);
}

static const struct sn_sink_ops samples_ops = {
    .name = "samples", .event = take_sample, .finish = finish, .free = free_samples};

struct sn_sink *sn_samples_sink(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    struct samples *samples = calloc(1, sizeof(*samples));
    if (!samples) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for samples");
        return NULL;
    }
    samples->sink.ops = &samples_ops;
    samples->report = context->report;
    samples->cpu = context->cpu;
    samples->by_id = sn_table_with_limit(THREAD_LIMIT);
    int rc = sn_profile_new(columns, sizeof(columns) / sizeof(*columns), &samples->profile, err);
    context->report->samples = samples->profile;
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->methods, samples->profile, &samples->frames, err);
    if (rc != SONDE_OK) {
        free_samples(&samples->sink);
        return NULL;
    }
    if (context->find_line)
        sn_frames_set_lines(samples->frames, context->find_line, context->line_user);
    return &samples->sink;
}
