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
#include "sink/aggregate/ended_threads.h"
#include "sink/aggregate/sample_threads.h"
#include "sink/aggregate/unseen.h"
#include "sink/aggregate/weighing.h"

/* A thread stays where it was seen until it is seen again, but no longer than this: beyond, it was
 * away or samples are missing. */
#define LONGEST_STAY_NS SN_NS_PER_SECOND
#define USUAL_STAY_NS   SN_NS_PER_MS

/* Samples of a thread that wait for their interval to end; more are weighed early. */
#define PENDING_MAX   8192u
#define THREAD_LIMIT  65536u
#define SAMPLER_LIMIT 64u

enum column { CPU, WALL, WAIT, SAMPLES };

static const struct sn_column columns[] = {
    {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}, {"samples", SN_UNIT_COUNT}};

static const struct sn_request_item items[] = {{.provider = "Microsoft-DotNETCore-SampleProfiler"}};
const struct sn_request sn_samples_request = {.items = items, .item_count = 1};

struct thread {
    uint64_t thread_id;
    uint32_t index; /* in the profile */
    const struct sn_cpu_thread *cpu;
    size_t next_slice;    /* of cpu->slices */
    size_t look;          /* which interval the pending samples are in */
    uint64_t spent_ns;    /* of that interval's slice, given out already */
    uint64_t assigned_ns; /* given to samples, all in all */
    size_t seen_look;     /* the last interval that had samples; 0: none yet */
    uint64_t carried_since_ns;
    uint64_t carried_ns; /* run while it was only seen waiting, or not at all: for later samples */
    uint64_t last_stay_ns;
    struct sn_weighed *pending; /* owns */
    size_t count;
    size_t capacity;
    bool is_ended;     /* its samples are kept until the end */
    struct sn_run run; /* the last one, still growing */
    bool has_run;
    struct sn_weighed before; /* of a part: the last sample before it */
    bool has_before;
    bool is_over; /* seen after the part */
};

struct samples {
    struct sn_sink sink;
    struct sn_report *report;
    const struct sn_cpu_slices *cpu; /* or NULL */
    struct sn_part part;
    struct sn_profile *profile; /* of the report */
    struct sn_frames *frames;
    struct thread *threads; /* owns */
    size_t thread_count;
    size_t thread_capacity;
    struct sn_table by_id;    /* thread id -> index + 1 */
    struct sn_table samplers; /* ids of threads that took samples: the runtime's own */
    struct sn_ended_threads ended;
    uint64_t first_ns;
    uint64_t last_ns;
};

/* The frame of a node; NULL for the root. */
static const struct sn_frame *frame_at(const struct samples *samples, uint32_t node)
{
    const struct sn_profile *profile = samples->profile;
    return node && node != SN_NO_INDEX ? &profile->frames[profile->nodes[node].frame] : NULL;
}

/* Where the time of a sample is spent: where the thread was stopped, or, if that is the runtime's
 * own place for being stopped or a stub without a name, in the code that called it. */
static uint32_t spent_at(const struct samples *samples, uint32_t node)
{
    const struct sn_frame *frame = frame_at(samples, node);
    while (frame && (frame->is_stop || frame->kind == SN_FRAME_NATIVE) &&
           samples->profile->nodes[node].parent) {
        node = samples->profile->nodes[node].parent;
        frame = frame_at(samples, node);
    }
    return node;
}

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

/* A thread that ran while it was only seen waiting ran between two samples: that time is kept for
 * the next ones that are seen running. If none come, it ran where it was seen, spinning. */
static void keep_for_later(const struct samples *samples, struct thread *thread,
                           const struct sn_weighing *weighing, uint64_t ns)
{
    uint64_t now_ns = samples->cpu->looks[thread->look];
    if (!thread->carried_ns)
        thread->carried_since_ns = now_ns;
    thread->carried_ns += ns;
    if (now_ns - thread->carried_since_ns < LONGEST_STAY_NS)
        return;
    sn_weighing_give_waiting(weighing, thread->carried_ns);
    thread->carried_ns = 0;
}

/* What of the interval no sample of the thread stands for. */
static uint64_t unseen_time(const struct samples *samples, const struct thread *thread)
{
    const uint64_t *looks = samples->cpu ? samples->cpu->looks : NULL;
    uint64_t interval = looks && thread->look && thread->look < samples->cpu->look_count
                            ? looks[thread->look] - looks[thread->look - 1]
                            : 0;
    for (size_t i = 0; i < thread->count; i++) {
        uint64_t stay = thread->pending[i].stay_ns;
        interval -= stay < interval ? stay : interval;
    }
    return interval;
}

/* How long the thread had been in the place of its first pending sample when that was taken. */
static uint64_t went_on(const struct samples *samples, const struct thread *thread)
{
    const struct sn_weighed *first = thread->pending;
    bool is_same = thread->has_run && thread->run.end_ns == first->time_ns &&
                   thread->run.node == spent_at(samples, first->node);
    return is_same ? thread->run.end_ns - thread->run.start_ns : 0;
}

static void weigh(const struct samples *samples, struct thread *thread, uint64_t ns)
{
    const struct sn_weighing weighing = {.samples = thread->pending,
                                         .count = thread->count,
                                         .unseen_ns = unseen_time(samples, thread),
                                         .went_on_ns = went_on(samples, thread)};
    int surest = sn_weighing_surest(&weighing);
    if (surest < 0)
        return;
    thread->spent_ns += ns;
    thread->assigned_ns += ns;
    if (surest == SN_WAITING) {
        if (ns)
            keep_for_later(samples, thread, &weighing, ns);
        return;
    }
    sn_weighing_share(&weighing, ns + thread->carried_ns);
    thread->carried_ns = 0;
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

/* Whether the record says nothing more of the thread: it has ended, or was never seen. */
static bool is_past_record(const struct samples *samples, const struct thread *thread)
{
    const struct sn_cpu_slices *cpu = samples->cpu;
    return cpu && thread->look && thread->look < cpu->look_count &&
           (!thread->cpu || thread->next_slice >= thread->cpu->count);
}

/* Samples that look like running of a thread that may have ended wait for what the record says of
 * all such; and once one does, those behind it, so that they stay in order. */
static bool keep_ended(struct samples *samples, struct thread *thread,
                       const struct sn_weighed *sample, const struct sn_run *run)
{
    thread->is_ended |= sample->sureness < SN_WAITING && is_past_record(samples, thread);
    if (!thread->is_ended)
        return false;
    const struct sn_ended_sample kept = {.thread = thread->index,
                                         .taken_at = sample->node,
                                         .look = thread->look,
                                         .sureness = sample->sureness,
                                         .run = *run};
    return sn_ended_threads_keep(&samples->ended, &kept);
}

static void add_sample(struct samples *samples, struct thread *thread, uint32_t taken_at,
                       struct sn_run *run)
{
    uint64_t stay = run->values[WALL];
    uint64_t cpu = run->values[CPU];
    run->values[WAIT] = samples->cpu && stay > cpu ? stay - cpu : 0;
    add_row(samples, thread, taken_at, run);
    run->values[SAMPLES] = run->node == taken_at; /* else it is a row only */
    add_to_run(samples, thread, run);
}

static void take_pending(struct samples *samples, struct thread *thread, bool is_early)
{
    if (!thread->count)
        return;
    weigh(samples, thread, time_to_give(samples, thread, is_early));
    for (size_t i = 0; i < thread->count; i++) {
        const struct sn_weighed *sample = &thread->pending[i];
        struct sn_run run = {
            .start_ns = sample->time_ns,
            .end_ns = sample->time_ns + sample->stay_ns,
            .node = spent_at(samples, sample->node),
            .values =
                {[CPU] = sample->cpu_ns, [WALL] = sample->stay_ns, [SAMPLES] = !sample->is_old},
        };
        if (!keep_ended(samples, thread, sample, &run))
            add_sample(samples, thread, sample->node, &run);
    }
    thread->count = 0;
}

/* What threads ran that have ended goes to their samples, and these into the profile at last. */
static void take_ended(struct samples *samples)
{
    struct sn_report *report = samples->report;
    if (!samples->cpu)
        return;
    uint64_t left = sn_ended_threads_share(&samples->ended, samples->cpu, CPU, samples->first_ns,
                                           samples->last_ns);
    for (size_t i = 0; i < samples->ended.count; i++) {
        struct sn_ended_sample *sample = &samples->ended.samples[i];
        const uint64_t *place =
            sn_table_find(&samples->by_id, samples->profile->threads[sample->thread].thread_id);
        struct thread *thread = &samples->threads[*place - 1];
        report->cpu_ns += sample->run.values[CPU];
        add_sample(samples, thread, sample->taken_at, &sample->run);
    }
    report->cpu_ns += left;
    report->unseen_cpu_ns += left;
    sn_unseen_ended(report, left);
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

/* What says whether the thread waits there: a stub without a name does if whoever called it does.
 */
static const struct sn_frame *telling_frame(const struct samples *samples, uint32_t node)
{
    const struct sn_frame *frame = frame_at(samples, node);
    if (frame && frame->kind == SN_FRAME_NATIVE)
        frame = frame_at(samples, samples->profile->nodes[node].parent);
    return frame;
}

static enum sn_sureness sureness_of(const struct samples *samples, const struct sn_event *event,
                                    uint32_t node)
{
    enum { MANAGED = 2 };
    uint32_t mode = 0;
    if (event->payload_size >= sizeof(mode))
        memcpy(&mode, event->payload, sizeof(mode));
    const struct sn_frame *frame = telling_frame(samples, node);
    if (frame && frame->is_waiting) /* in either mode: who wakes up is in managed code at once */
        return frame->is_moving_data ? SN_MOVING_DATA : SN_WAITING;
    return mode == MANAGED ? SN_IN_MANAGED_CODE : SN_IN_NATIVE_CODE;
}

/* The last sample stayed until now. */
static void close_stay(struct thread *thread, uint64_t now_ns)
{
    if (!thread->count)
        return;
    struct sn_weighed *last = &thread->pending[thread->count - 1];
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

static int add_pending(struct samples *samples, struct thread *thread,
                       const struct sn_weighed *sample)
{
    uint64_t look = interval_of(samples, thread, sample->time_ns);
    if (look != thread->look) {
        take_pending(samples, thread, false);
        thread->look = look;
        thread->spent_ns = 0;
    } else if (thread->count == (samples->cpu ? PENDING_MAX : 1)) {
        take_pending(samples, thread, true);
    }
    struct sn_weighed *pending =
        sn_array_room(thread->pending, thread->count, &thread->capacity, sizeof(*pending));
    if (!pending)
        return SONDE_E_NOMEM;
    thread->pending = pending;
    pending[thread->count++] = *sample;
    if (!samples->first_ns || sample->time_ns < samples->first_ns)
        samples->first_ns = sample->time_ns;
    if (sample->time_ns > samples->last_ns)
        samples->last_ns = sample->time_ns;
    return SONDE_OK;
}

/* Of a part: where the thread was seen last before it, it was when that began. */
static int begin_part(struct samples *samples, struct thread *thread, uint64_t now_ns)
{
    struct sn_weighed sample = thread->before;
    if (!thread->has_before)
        return SONDE_OK;
    thread->has_before = false;
    if (now_ns - sample.time_ns > LONGEST_STAY_NS)
        return SONDE_OK;
    sample.time_ns = samples->part.from_ns + 1; /* in the first interval, not before it */
    sample.is_old = true;
    return add_pending(samples, thread, &sample);
}

static int take_sample(struct sn_sink *sink, const struct sn_event *event)
{
    struct samples *samples = (struct samples *)sink;
    uint64_t from_ns = samples->part.from_ns;
    if (event->schema == &sn_lost_schema || event->time_ns + LONGEST_STAY_NS < from_ns)
        return SONDE_OK;
    struct thread *thread = thread_of(samples, event);
    if (!thread) {
        samples->profile->dropped_count++;
        return SONDE_OK;
    }
    if (event->capture_thread_id != event->thread_id)
        (void)sn_table_put(&samples->samplers, event->capture_thread_id); /* one, hardly ever two */
    if (thread->is_over)
        return SONDE_OK;
    uint32_t node = sn_frames_node(samples->frames, event);
    const struct sn_weighed sample = {.time_ns = event->time_ns,
                                      .node = node,
                                      .sureness = (uint8_t)sureness_of(samples, event, node)};
    if (event->time_ns < from_ns) {
        thread->before = sample;
        thread->has_before = true;
        return SONDE_OK;
    }
    int rc = begin_part(samples, thread, event->time_ns);
    close_stay(thread, sn_part_end(&samples->part, event->time_ns));
    thread->is_over = !sn_part_has(&samples->part, event->time_ns);
    return rc != SONDE_OK || thread->is_over ? rc : add_pending(samples, thread, &sample);
}

/* --- the end --- */

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

/* What the kernel counted and no sample stands for. */
static void add_unseen(struct samples *samples)
{
    for (size_t i = 0; i < samples->cpu->thread_count; i++) {
        const struct sn_cpu_thread *thread = &samples->cpu->threads[i];
        const struct sn_unseen unseen = {
            .cpu = samples->cpu,
            .thread = thread,
            .assigned_ns = assigned_to(samples, thread->thread_id),
            .first_ns = samples->first_ns,
            .last_ns = samples->last_ns,
            .is_sampler = sn_table_find(&samples->samplers, thread->thread_id) != NULL,
        };
        sn_unseen_add(samples->report, &unseen);
    }
}

static void settle_cpu(struct samples *samples)
{
    struct sn_report *report = samples->report;
    const struct sn_cpu_slices *cpu = samples->cpu;
    if (cpu->look_count > 1 && samples->last_ns > cpu->looks[0] &&
        samples->first_ns <= cpu->looks[cpu->look_count - 1]) {
        report->cpu_truth = SN_CPU_KNOWN;
        if (samples->last_ns > cpu->looks[cpu->look_count - 1] + LONGEST_STAY_NS ||
            samples->first_ns + LONGEST_STAY_NS < cpu->looks[0])
            report->cpu_note = "the CPU record covers only a part of the samples: it was cut, or "
                               "sonde was killed; CPU times are too small";
        add_unseen(samples);
        return;
    }
    report->cpu_truth = SN_CPU_BAD_RECORD;
    report->cpu_note = "the CPU record is of another time than the samples";
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct samples *samples = (struct samples *)sink;
    struct sn_report *report = samples->report;
    for (size_t i = 0; i < samples->thread_count; i++) {
        struct thread *thread = &samples->threads[i];
        if (thread->count && !thread->is_over)
            thread->pending[thread->count - 1].stay_ns = thread->last_stay_ns;
        take_pending(samples, thread, false);
    }
    take_ended(samples);
    for (size_t i = 0; i < samples->thread_count; i++) {
        give_carried(samples, &samples->threads[i]);
        end_run(samples, &samples->threads[i]);
    }
    samples->profile->start_ns = samples->first_ns;
    samples->profile->end_ns = samples->last_ns;
    if (!samples->thread_count) {
        report->cpu_truth = SN_CPU_NO_SAMPLES;
        return SONDE_OK;
    }
    if (samples->cpu)
        settle_cpu(samples);
    sn_sample_threads_list(report);
    return SONDE_OK;
}

static void free_samples(struct sn_sink *sink)
{
    struct samples *samples = (struct samples *)sink;
    for (size_t i = 0; i < samples->thread_count; i++)
        free(samples->threads[i].pending);
    free(samples->threads);
    sn_table_done(&samples->by_id);
    sn_table_done(&samples->samplers);
    sn_ended_threads_done(&samples->ended);
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
    samples->part = context->part;
    samples->by_id = sn_table_with_limit(THREAD_LIMIT);
    samples->samplers = sn_table_with_limit(SAMPLER_LIMIT);
    int rc = sn_profile_new(columns, sizeof(columns) / sizeof(*columns), &samples->profile, err);
    context->report->samples = samples->profile;
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, samples->profile, &samples->frames, err);
    if (rc != SONDE_OK) {
        free_samples(&samples->sink);
        return NULL;
    }
    if (context->find_line)
        sn_frames_set_lines(samples->frames, context->find_line, context->line_user);
    return &samples->sink;
}
