#include "api/top_cost.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "sonde/process.h"
#include "source/proc/facts.h"

#define SLICE_NS     (250ull * SN_NS_PER_MS)
#define SETTLE_NS    (2ull * SN_NS_PER_SECOND) /* names are asked for at the start */
#define LEAST_SLICES 3u
#define SURE         2.0 /* standard errors */

/* --- the clocks --- */

/* Since the last reading, as percent of a CPU. One that has ended is left out from then on. */
static double read_clocks(struct sn_top_cost *cost, uint64_t now_ns)
{
    uint64_t used_ns = 0;
    for (size_t i = 0; i < cost->count; i++) {
        struct sn_proc_facts facts;
        if (!sn_proc_facts_read(cost->pids[i], &facts))
            continue;
        if (cost->cpu_ns[i] && facts.cpu_ns > cost->cpu_ns[i])
            used_ns += facts.cpu_ns - cost->cpu_ns[i];
        cost->cpu_ns[i] = facts.cpu_ns;
    }
    uint64_t passed_ns = now_ns - cost->read_ns;
    cost->read_ns = now_ns;
    return passed_ns ? 100.0 * (double)used_ns / (double)passed_ns : 0.0;
}

static void add_slice(struct sn_top_cost_side *side, double percent)
{
    side->percent[side->count++ % SN_TOP_COST_SLICES] = percent;
}

/* --- which processes --- */

static bool is_meant(const struct sonde_process *process, const struct sonde_top_options *options)
{
    for (size_t i = 0; i < options->pid_count; i++) {
        if (options->pids[i] == process->pid)
            return true;
    }
    for (size_t i = 0; i < options->name_count; i++) {
        if (sonde_process_is_called(process, options->names[i]))
            return true;
    }
    return !options->pid_count && !options->name_count && !options->cgroup;
}

static void choose(struct sn_top_cost *cost, const struct sonde_top_options *options)
{
    struct sonde_process_list *list = NULL;
    if (sonde_process_list_new(&list, NULL) != SONDE_OK)
        return;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (cost->count == SN_TOP_COST_PROCESSES || !is_meant(process, options))
            continue;
        cost->pids[cost->count++] = process->pid;
        (void)snprintf(cost->name, sizeof(cost->name), "%.79s", process->name);
    }
    sonde_process_list_free(list);
    if (cost->count > 1)
        (void)snprintf(cost->name, sizeof(cost->name), "these %zu processes", cost->count);
}

/* --- both sides --- */

void sn_top_cost_before(struct sn_top_cost *cost, const struct sonde_top_options *options)
{
    const struct timespec slice = {.tv_nsec = (long)SLICE_NS};
    *cost = (struct sn_top_cost){0};
    if (!options->baseline_ns)
        return;
    choose(cost, options);
    if (!cost->count)
        return;
    (void)read_clocks(cost, sn_clock_monotonic_ns());
    for (uint64_t passed = 0; passed < options->baseline_ns; passed += SLICE_NS) {
        (void)nanosleep(&slice, NULL);
        add_slice(&cost->before, read_clocks(cost, sn_clock_monotonic_ns()));
    }
    cost->settled_ns = sn_clock_deadline(SETTLE_NS);
}

void sn_top_cost_settle(struct sn_top_cost *cost, uint64_t now_ns)
{
    if (!cost->count || now_ns < cost->read_ns + SLICE_NS)
        return;
    bool is_settled = cost->read_ns >= cost->settled_ns;
    double percent = read_clocks(cost, now_ns);
    if (is_settled)
        add_slice(&cost->since, percent);
}

/* Its mean, and the standard error of that. */
static double mean_of(const struct sn_top_cost_side *side, double *ret_error)
{
    size_t count = side->count < SN_TOP_COST_SLICES ? side->count : SN_TOP_COST_SLICES;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += side->percent[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (side->percent[i] - mean) * (side->percent[i] - mean);
    *ret_error = sqrt(squares / (double)(count - 1) / (double)count);
    return mean;
}

void sn_top_cost_tell(const struct sn_top_cost *cost, struct sonde_top_cost *ret_cost)
{
    *ret_cost = (struct sonde_top_cost){.process_count = (uint32_t)cost->count};
    (void)snprintf(ret_cost->name, sizeof(ret_cost->name), "%s", cost->name);
    if (cost->before.count < LEAST_SLICES || cost->since.count < LEAST_SLICES)
        return;
    double before_error;
    double since_error;
    ret_cost->is_measured = true;
    ret_cost->before_percent = mean_of(&cost->before, &before_error);
    ret_cost->since_percent = mean_of(&cost->since, &since_error);
    ret_cost->percent = ret_cost->since_percent - ret_cost->before_percent;
    ret_cost->is_known = ret_cost->percent > SURE * hypot(before_error, since_error);
}
