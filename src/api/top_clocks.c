#include "api/top_clocks.h"

#include <stdlib.h>

#include "api/top_window.h"
#include "base/array.h"
#include "base/clock.h"
#include "source/proc/facts.h"

#define PROCESSES_MAX 65536u

struct reading {
    uint64_t time_ns;
    uint64_t cpu_ns;
};

struct sn_top_clock {
    uint32_t pid;
    struct reading before; /* about as old as the window */
    struct reading latest; /* takes its place when that is too old */
    uint64_t sampled_ns;   /* that the window holds */
    double share;          /* of it that ran */
};

void sn_top_clocks_init(struct sn_top_clocks *clocks)
{
    *clocks = (struct sn_top_clocks){.index = sn_table_with_limit(PROCESSES_MAX)};
}

void sn_top_clocks_done(struct sn_top_clocks *clocks)
{
    sn_table_done(&clocks->index);
    free(clocks->clocks);
}

static struct sn_top_clock *find(const struct sn_top_clocks *clocks, uint32_t pid)
{
    const uint64_t *number = sn_table_find(&clocks->index, pid);
    return number && *number ? &clocks->clocks[*number - 1] : NULL;
}

static struct reading look(uint32_t pid, struct reading otherwise)
{
    struct sn_proc_facts facts;
    if (!sn_proc_facts_read(pid, &facts))
        return otherwise;
    return (struct reading){.time_ns = sn_clock_monotonic_ns(), .cpu_ns = facts.cpu_ns};
}

void sn_top_clocks_watch(struct sn_top_clocks *clocks, uint32_t pid)
{
    if (find(clocks, pid))
        return;
    struct sn_top_clock *items =
        sn_array_room(clocks->clocks, clocks->count, &clocks->capacity, sizeof(*items));
    uint64_t *number = items ? sn_table_put(&clocks->index, pid) : NULL;
    if (items)
        clocks->clocks = items;
    if (!number)
        return;
    struct reading now = look(pid, (struct reading){.time_ns = sn_clock_monotonic_ns()});
    items[clocks->count++] =
        (struct sn_top_clock){.pid = pid, .before = now, .latest = now, .share = 1.0};
    *number = clocks->count;
}

bool sn_top_clocks_has(const struct sn_top_clocks *clocks, uint32_t pid)
{
    return find(clocks, pid) != NULL;
}

static void sum_sampled(void *user, const struct sn_top_stack *stack)
{
    struct sn_top_clock *clock = find(user, stack->pid);
    if (clock && stack->kind == SN_TOP_RUN)
        clock->sampled_ns += stack->weight_ns;
}

/* What ran since the reading before, as much as that is of the window's time. */
static void find_share(struct sn_top_clock *clock, uint64_t span_ns, uint64_t window_ns)
{
    struct reading now = look(clock->pid, clock->latest);
    uint64_t passed = now.time_ns - clock->before.time_ns;
    double ran = passed ? (double)(now.cpu_ns - clock->before.cpu_ns) / (double)passed : 0.0;
    double sampled = span_ns ? (double)clock->sampled_ns / (double)span_ns : 0.0;
    clock->share = passed && sampled > ran ? ran / sampled : 1.0;
    if (now.time_ns - clock->latest.time_ns < window_ns)
        return;
    clock->before = clock->latest;
    clock->latest = now;
}

void sn_top_clocks_settle(struct sn_top_clocks *clocks, const struct sn_top_window *window,
                          uint64_t window_ns)
{
    for (size_t i = 0; i < clocks->count; i++)
        clocks->clocks[i].sampled_ns = 0;
    sn_top_window_each(window, sum_sampled, clocks);
    for (size_t i = 0; i < clocks->count; i++) {
        if (clocks->clocks[i].sampled_ns)
            find_share(&clocks->clocks[i], sn_top_window_span(window), window_ns);
    }
}

uint64_t sn_top_clocks_real(const struct sn_top_clocks *clocks, uint32_t pid, uint64_t run_ns)
{
    const struct sn_top_clock *clock = find(clocks, pid);
    return clock ? (uint64_t)((double)run_ns * clock->share) : run_ns;
}
