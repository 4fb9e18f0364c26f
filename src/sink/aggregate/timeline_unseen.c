#include "sink/aggregate/timeline_unseen.h"

#include <stdlib.h>

#include "base/own.h"
#include "format/cpu_slices.h"
#include "model/profile.h"
#include "model/timeline.h"

enum column { CPU };

/* An interval of the record, and what ran in it unseen. */
struct stretch {
    uint64_t start_ns;
    uint64_t end_ns;
    double ns;
};

/* Those in which samples were taken at all: the report counts no others. */
static bool is_counted(const struct sn_timeline_unseen *unseen, uint32_t look)
{
    const uint64_t *looks = unseen->cpu->looks;
    return look && looks[look] >= unseen->profile->start_ns &&
           looks[look - 1] < unseen->profile->end_ns;
}

static struct stretch stretch_of(const struct sn_timeline_unseen *unseen, uint32_t look, double ns)
{
    const uint64_t *looks = unseen->cpu->looks;
    return (struct stretch){.start_ns = looks[look - 1], .end_ns = looks[look], .ns = ns};
}

/* What the thread's runs have of each stretch is seen. */
static void take_away_runs(const struct sn_timeline_unseen *unseen, struct stretch *stretches,
                           size_t count)
{
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    size_t first = 0;
    while (sn_profile_next_run(unseen->profile, unseen->thread, &cursor, &run)) {
        while (first < count && stretches[first].end_ns <= run.start_ns)
            first++;
        double length = (double)(run.end_ns - run.start_ns);
        for (size_t i = first; i < count && stretches[i].start_ns < run.end_ns && length > 0; i++) {
            uint64_t from =
                run.start_ns > stretches[i].start_ns ? run.start_ns : stretches[i].start_ns;
            uint64_t to = run.end_ns < stretches[i].end_ns ? run.end_ns : stretches[i].end_ns;
            stretches[i].ns -= (double)run.values[CPU] * (double)(to - from) / length;
        }
    }
}

/* All of `ns`, in the proportion that the stretches have. */
static void share_out(const struct sn_timeline_unseen *unseen, const struct stretch *stretches,
                      size_t count, double *to)
{
    double whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += stretches[i].ns > 0 ? stretches[i].ns : 0;
    for (size_t i = 0; i < count && whole > 0; i++) {
        const struct sn_run run = {.start_ns = stretches[i].start_ns,
                                   .end_ns = stretches[i].end_ns};
        if (stretches[i].ns > 0)
            sn_timeline_spread(unseen->timeline, to, &run, unseen->ns * stretches[i].ns / whole);
    }
}

static bool add_thread(const struct sn_timeline_unseen *unseen, const struct sn_cpu_thread *thread,
                       double *to)
{
    SN_AUTO(sn_free) struct stretch *stretches = calloc(thread->count + 1, sizeof(*stretches));
    size_t count = 0;
    if (!stretches)
        return false;
    for (size_t i = 0; i < thread->count; i++) {
        const struct sn_cpu_slice_entry *slice = &thread->slices[i];
        if (is_counted(unseen, slice->look))
            stretches[count++] = stretch_of(unseen, slice->look, (double)slice->ran_ns);
    }
    take_away_runs(unseen, stretches, count);
    share_out(unseen, stretches, count, to);
    return true;
}

/* Threads that had ended at the next look are told of all together. */
static bool add_ended(const struct sn_timeline_unseen *unseen, double *to)
{
    const struct sn_cpu_slices *cpu = unseen->cpu;
    SN_AUTO(sn_free) struct stretch *stretches = calloc(cpu->look_count + 1, sizeof(*stretches));
    size_t count = 0;
    if (!stretches)
        return false;
    for (uint32_t look = 1; look < cpu->look_count; look++) {
        if (cpu->ended[look] && is_counted(unseen, look))
            stretches[count++] = stretch_of(unseen, look, (double)cpu->ended[look]);
    }
    share_out(unseen, stretches, count, to);
    return true;
}

bool sn_timeline_unseen_add(const struct sn_timeline_unseen *unseen, double *to)
{
    uint64_t thread_id = unseen->profile->threads[unseen->thread].thread_id;
    const struct sn_cpu_thread *thread = sn_cpu_slices_thread(unseen->cpu, thread_id);
    return thread ? add_thread(unseen, thread, to) : add_ended(unseen, to);
}
