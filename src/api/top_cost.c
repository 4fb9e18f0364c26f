#include "api/top_cost.h"

#include <stdio.h>
#include <time.h>

#include "sonde/process.h"
#include "source/proc/facts.h"

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
    if (side->count < SN_TOP_COST_SLICES)
        side->percent[side->count++] = percent;
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
    const struct timespec slice = {.tv_nsec = (long)SN_TOP_COST_SLICE_NS};
    *cost = (struct sn_top_cost){0};
    if (!options->baseline_ns)
        return;
    choose(cost, options);
    if (!cost->count)
        return;
    (void)read_clocks(cost, sn_clock_monotonic_ns());
    for (uint64_t passed = 0; passed < options->baseline_ns; passed += SN_TOP_COST_SLICE_NS) {
        (void)nanosleep(&slice, NULL);
        add_slice(&cost->before, read_clocks(cost, sn_clock_monotonic_ns()));
    }
    cost->attached_ns = sn_clock_deadline(SN_TOP_COST_SETTLE_NS / 2);
    cost->settled_ns = sn_clock_deadline(SN_TOP_COST_SETTLE_NS);
}

/* Later slices are no better: what the load does minutes later is not the cost. */
void sn_top_cost_settle(struct sn_top_cost *cost, uint64_t now_ns)
{
    if (!cost->count || cost->since.count == SN_TOP_COST_SLICES ||
        now_ns < cost->read_ns + SN_TOP_COST_SLICE_NS)
        return;
    uint64_t from_ns = cost->read_ns;
    double percent = read_clocks(cost, now_ns);
    if (from_ns >= cost->settled_ns)
        add_slice(&cost->since, percent);
    else if (from_ns >= cost->attached_ns)
        add_slice(&cost->settling, percent);
}

/* --- the rule --- */

struct side_numbers {
    double mean;
    double error2; /* the square of the mean's standard error */
    double drift;  /* between its halves */
};

static double mean_of(const double *percent, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += percent[i];
    return sum / (double)count;
}

static struct side_numbers numbers_of(const struct sn_top_cost_side *side)
{
    size_t half = side->count / 2;
    double squares = 0;
    struct side_numbers numbers = {.mean = mean_of(side->percent, side->count)};
    for (size_t i = 0; i < side->count; i++)
        squares += (side->percent[i] - numbers.mean) * (side->percent[i] - numbers.mean);
    numbers.error2 = squares / (double)(side->count - 1) / (double)side->count;
    double drift = mean_of(side->percent + half, side->count - half) - mean_of(side->percent, half);
    numbers.drift = drift < 0 ? -drift : drift;
    return numbers;
}

/* Of a difference of two means, 95 %: the smaller side's degrees of freedom. */
static double student(size_t count)
{
    static const double factors[] = {3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201};
    return factors[count - SN_TOP_COST_LEAST];
}

_Static_assert(SN_TOP_COST_SLICES - SN_TOP_COST_LEAST == 8, "a factor for each count");

/* By how much `mean` is above the lowest slice while the view settled. */
static double rise_of(const struct sn_top_cost_side *settling, double mean)
{
    double rise = 0;
    for (size_t i = 0; i < settling->count; i++) {
        if (mean - settling->percent[i] > rise)
            rise = mean - settling->percent[i];
    }
    return rise;
}

void sn_top_cost_tell(const struct sn_top_cost *cost, struct sonde_top_cost *ret_cost)
{
    *ret_cost = (struct sonde_top_cost){.process_count = (uint32_t)cost->count};
    (void)snprintf(ret_cost->name, sizeof(ret_cost->name), "%s", cost->name);
    size_t least = cost->before.count < cost->since.count ? cost->before.count : cost->since.count;
    if (least < SN_TOP_COST_LEAST)
        return;
    struct side_numbers before = numbers_of(&cost->before);
    struct side_numbers since = numbers_of(&cost->since);
    double percent = since.mean - before.mean;
    double factor = student(least);
    ret_cost->is_measured = true;
    ret_cost->before_percent = before.mean;
    ret_cost->since_percent = since.mean;
    ret_cost->percent = percent;
    ret_cost->is_known = percent > before.drift && percent > since.drift &&
                         percent > rise_of(&cost->settling, since.mean) &&
                         percent * percent > factor * factor * (before.error2 + since.error2);
}
