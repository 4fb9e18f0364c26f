#include "sink/aggregate/unseen.h"

#include "format/cpu_slices.h"
#include "model/report.h"
#include "symbol/runtime_threads.h"

/* What the thread ran in the intervals that touch the time from first to last. */
static uint64_t ran_between(const struct sn_cpu_slices *cpu, const struct sn_cpu_thread *thread,
                            uint64_t first_ns, uint64_t last_ns)
{
    uint64_t ran = 0;
    for (size_t i = 0; i < thread->count; i++) {
        uint32_t look = thread->slices[i].look;
        if (cpu->looks[look] >= first_ns && cpu->looks[look - 1] < last_ns)
            ran += thread->slices[i].ran_ns;
    }
    return ran;
}

static void add_row(struct sn_profile *profile, const struct sn_cpu_thread *thread,
                    const char *work, uint64_t ns)
{
    struct sn_frame frame = {.name = work,
                             .full_name = work,
                             .module = "",
                             .name_space = "",
                             .kind = SN_FRAME_RUNTIME,
                             .is_framework = true};
    uint32_t node = sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
    uint32_t index = sn_profile_thread(profile, profile->thread_count ? profile->threads[0].pid : 0,
                                       thread->thread_id, thread->name);
    const uint64_t values[SN_COLUMN_MAX] = {ns};
    sn_profile_add(profile, index, node, values);
}

void sn_unseen_add(struct sn_report *report, const struct sn_unseen *unseen)
{
    const struct sn_cpu_thread *thread = unseen->thread;
    unsigned role = sn_runtime_role(thread->name);
    uint64_t ran = ran_between(unseen->cpu, thread, unseen->first_ns, unseen->last_ns);
    uint64_t left = ran > unseen->assigned_ns ? ran - unseen->assigned_ns : 0;
    report->cpu_ns += unseen->assigned_ns;
    if (sn_runtime_role_is_tracing(role) ||
        unseen->is_sampler) { /* not the program's own: told apart */
        report->tracing_cpu_ns += left;
        return;
    }
    report->cpu_ns += left;
    report->unseen_cpu_ns += left;
    if (left)
        add_row(report->samples, thread, sn_runtime_role_name(role), left);
}

void sn_unseen_ended(struct sn_report *report, uint64_t ns)
{
    static const struct sn_cpu_thread nobody = {.name = "ended"};
    if (ns)
        add_row(report->samples, &nobody, "[threads that have ended]", ns);
}
