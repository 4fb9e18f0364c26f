#include "sink/aggregate/sample_threads.h"

#include <stdlib.h>

#include "model/report.h"

enum column { CPU, WALL, WAIT, SAMPLES };

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
void sn_sample_threads_list(struct sn_report *report)
{
    const struct sn_profile *profile = report->samples;
    report->threads = calloc(profile->thread_count + 1, sizeof(*report->threads));
    if (!report->threads)
        return;
    report->thread_count = profile->thread_count;
    for (size_t i = 0; i < profile->thread_count; i++) {
        report->threads[i].thread_id = profile->threads[i].thread_id;
        report->threads[i].pid = profile->threads[i].pid;
        report->threads[i].name = profile->threads[i].name;
        report->threads[i].process = "";
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        struct sn_thread_time *thread = &report->threads[profile->rows[i].thread];
        thread->cpu_ns += profile->rows[i].values[CPU];
        thread->wall_ns += profile->rows[i].values[WALL];
        thread->sample_count += profile->rows[i].values[SAMPLES];
    }
    qsort(report->threads, report->thread_count, sizeof(*report->threads), most_first);
}
