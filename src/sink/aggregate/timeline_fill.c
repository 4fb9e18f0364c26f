#include "sink/aggregate/timeline_fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "model/report.h"
#include "model/timeline.h"
#include "sink/aggregate/timeline_unseen.h"

enum column { CPU, WALL };

/* Threads on their way into the timeline. */
struct filling {
    const struct sn_report *report;
    struct sn_timeline *timeline;
    const struct sn_cpu_slices *cpu;
    const double *row_ns; /* one a thread of the profile */
    double *lane;         /* of the thread at hand; a number a bucket */
};

/* --- one thread --- */

/* Where CPU time is not known, whoever does not wait is taken to run. */
static double time_of(const struct filling *filling, const struct sn_run *run)
{
    const struct sn_profile *profile = filling->report->samples;
    if (filling->timeline->basis == SN_TIMELINE_CPU)
        return (double)run->values[CPU];
    const struct sn_node *node = &profile->nodes[run->node];
    bool is_waiting = node->frame != SN_NO_INDEX && profile->frames[node->frame].is_waiting;
    return is_waiting ? 0 : (double)run->values[WALL];
}

/* Adds the thread's runs to the lane; what they have in all is returned. */
static double add_runs(const struct filling *filling, uint32_t thread)
{
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    double ns = 0;
    while (sn_profile_next_run(filling->report->samples, thread, &cursor, &run)) {
        double part = time_of(filling, &run);
        if (part <= 0)
            continue;
        sn_timeline_spread(filling->timeline, filling->lane, &run, part);
        ns += part;
    }
    return ns;
}

/* A thread cannot run for longer than a bucket lasts. A sample stands for the time before it: what
 * is too much goes there, and behind what is too much even so. */
static void level(const struct sn_timeline *timeline, double *lane)
{
    double most = timeline->bucket_ns;
    double over = 0;
    for (size_t i = timeline->bucket_count; i-- > 0;) {
        lane[i] += over;
        over = lane[i] > most ? lane[i] - most : 0;
        lane[i] -= over;
    }
    for (size_t i = 0; i < timeline->bucket_count && over > 0; i++) {
        lane[i] += over;
        over = lane[i] > most ? lane[i] - most : 0;
        lane[i] -= over;
    }
}

/* What it ran in the window, and when, in the lane. Negative: no memory. */
static double fill_lane(const struct filling *filling, uint32_t thread)
{
    enum { NOTABLE_NS = 1000 };
    const struct sn_timeline *timeline = filling->timeline;
    memset(filling->lane, 0, timeline->bucket_count * sizeof(*filling->lane));
    double seen_ns = add_runs(filling, thread);
    const struct sn_timeline_unseen unseen = {.timeline = timeline,
                                              .profile = filling->report->samples,
                                              .cpu = filling->cpu,
                                              .thread = thread,
                                              .ns = filling->row_ns[thread] - seen_ns};
    if (filling->cpu && timeline->basis == SN_TIMELINE_CPU && unseen.ns > NOTABLE_NS &&
        !sn_timeline_unseen_add(&unseen, filling->lane))
        return -1;
    double ns = 0;
    for (size_t i = 0; i < timeline->bucket_count; i++)
        ns += filling->lane[i];
    return ns;
}

/* --- the heaviest --- */

/* Its place among them, made free; SN_TIMELINE_THREADS_MAX: it is not one of them. */
static size_t place_for(struct sn_timeline *timeline, double ns)
{
    struct sn_timeline_thread *threads = timeline->threads;
    size_t at = timeline->thread_count;
    if (at == SN_TIMELINE_THREADS_MAX) {
        timeline->thread_left_count++;
        if (threads[at - 1].ns >= ns)
            return at;
        timeline->thread_count = --at;
        free(threads[at].running);
    }
    for (; at && threads[at - 1].ns < ns; at--)
        threads[at] = threads[at - 1];
    timeline->thread_count++;
    threads[at] = (struct sn_timeline_thread){.ns = ns};
    return at;
}

static const char *process_of(const struct sn_report *report, uint32_t pid, uint64_t thread_id)
{
    const struct sn_machine_report *machine = &report->machine;
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct sn_thread_time *thread = &report->threads[i];
        if (thread->thread_id == thread_id && thread->pid == pid && thread->process[0])
            return thread->process;
    }
    return machine->is_machine && pid == machine->chosen_pid ? machine->chosen_name : "";
}

static bool keep_thread(const struct filling *filling, uint32_t index, double ns)
{
    struct sn_timeline *timeline = filling->timeline;
    const struct sn_profile_thread *from = &filling->report->samples->threads[index];
    size_t at = place_for(timeline, ns);
    if (at == SN_TIMELINE_THREADS_MAX)
        return true;
    struct sn_timeline_thread *thread = &timeline->threads[at];
    thread->thread_id = from->thread_id;
    thread->pid = from->pid;
    thread->name = from->name;
    thread->process = "";
    thread->running = calloc(timeline->bucket_count + 1, sizeof(*thread->running));
    if (thread->running)
        memcpy(thread->running, filling->lane, timeline->bucket_count * sizeof(*filling->lane));
    return thread->running != NULL;
}

static int fill_threads(const struct filling *filling, struct sonde_error *err)
{
    struct sn_timeline *timeline = filling->timeline;
    const struct sn_profile *profile = filling->report->samples;
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        bool has_runs = profile->threads[i].runs.size || filling->row_ns[i] > 0;
        double ns = has_runs ? fill_lane(filling, i) : 0;
        if (ns > 0)
            level(timeline, filling->lane);
        for (size_t k = 0; ns > 0 && k < timeline->bucket_count; k++)
            timeline->cpu[k] += filling->lane[k];
        if (ns < 0 || (ns > 0 && !keep_thread(filling, i, ns)))
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the threads of a timeline");
    }
    for (size_t i = 0; i < timeline->thread_count; i++) {
        struct sn_timeline_thread *thread = &timeline->threads[i];
        thread->process = process_of(filling->report, thread->pid, thread->thread_id);
    }
    return SONDE_OK;
}

static int take_threads(const struct sn_report *report, const struct sn_cpu_slices *cpu,
                        struct sonde_error *err)
{
    struct sn_timeline *timeline = report->timeline;
    const struct sn_profile *profile = report->samples;
    if (!profile || !profile->thread_count)
        return SONDE_OK;
    timeline->basis = sn_report_has_cpu(report) ? SN_TIMELINE_CPU : SN_TIMELINE_SAMPLES;
    SN_AUTO(sn_free) double *rows = calloc(profile->thread_count, sizeof(*rows));
    SN_AUTO(sn_free) double *lane = calloc(timeline->bucket_count, sizeof(*lane));
    if (!rows || !lane)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the threads of a timeline");
    for (size_t i = 0; i < profile->row_count; i++)
        rows[profile->rows[i].thread] += (double)profile->rows[i].values[CPU];
    const struct filling filling = {
        .report = report, .timeline = timeline, .cpu = cpu, .row_ns = rows, .lane = lane};
    return fill_threads(&filling, err);
}

/* --- collections --- */

static bool is_shown(const struct sn_report *report, const struct sn_collection *collection)
{
    const struct sn_timeline *timeline = report->timeline;
    uint64_t start_ns =
        collection->pause_start_ns && collection->pause_start_ns < collection->start_ns
            ? collection->pause_start_ns
            : collection->start_ns;
    uint64_t end_ns = collection->start_ns + collection->duration_ns;
    return start_ns <= timeline->shown_to_ns &&
           (!collection->is_ended || end_ns >= timeline->shown_from_ns);
}

static int longest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a == b ? 0 : a < b ? 1 : -1;
}

static int take_collections(struct sn_report *report, struct sonde_error *err)
{
    struct sn_timeline *timeline = report->timeline;
    const struct sn_gc_report *gc = &report->gc;
    SN_AUTO(sn_free) uint64_t *pauses = calloc(gc->count + 1, sizeof(*pauses));
    timeline->collections = calloc(SN_TIMELINE_GC_MAX, sizeof(*timeline->collections));
    if (!pauses || !timeline->collections)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the collections of a timeline");
    size_t count = 0;
    for (size_t i = 0; i < gc->count; i++) {
        if (is_shown(report, &gc->collections[i]))
            pauses[count++] = gc->collections[i].pause_ns;
    }
    qsort(pauses, count, sizeof(*pauses), longest_first);
    /* Of those that stood for as long as the last that is listed, so many have room. */
    uint64_t least = count > SN_TIMELINE_GC_MAX ? pauses[SN_TIMELINE_GC_MAX - 1] : 0;
    size_t room = SN_TIMELINE_GC_MAX;
    for (size_t i = 0; i < count && pauses[i] > least; i++)
        room--;
    for (size_t i = 0; i < gc->count; i++) {
        const struct sn_collection *collection = &gc->collections[i];
        bool is_last = collection->pause_ns == least;
        if (!is_shown(report, collection) || collection->pause_ns < least || (is_last && !room))
            continue;
        room -= is_last;
        timeline->collections[timeline->gc_count++] = (uint32_t)i;
    }
    timeline->gc_left_count = count - timeline->gc_count + gc->dropped_count;
    return SONDE_OK;
}

int sn_timeline_fill(struct sn_report *report, const struct sn_cpu_slices *cpu,
                     struct sonde_error *err)
{
    if (!report->timeline)
        return SONDE_OK;
    int rc = take_threads(report, cpu, err);
    return rc == SONDE_OK ? take_collections(report, err) : rc;
}
