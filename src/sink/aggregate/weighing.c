#include "sink/aggregate/weighing.h"

#include <stdlib.h>

/* So many times what its samples stand for may a thread have run unseen, by chance. */
#define CHANCE 9u

/* More samples than this in an interval are not told apart by calls. */
#define CALLS_MAX 512u

/* What a sample usually stands for: no length of a call is known better. */
#define USUAL_STAY_NS 1000000u

static uint64_t stay_of(const struct sn_weighing *weighing, enum sn_sureness sureness)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < weighing->count; i++) {
        if (weighing->samples[i].sureness == sureness)
            sum += weighing->samples[i].stay_ns;
    }
    return sum;
}

int sn_weighing_surest(const struct sn_weighing *weighing)
{
    for (int kind = 0; kind < SN_SURENESS_COUNT; kind++) {
        if (stay_of(weighing, (enum sn_sureness)kind))
            return kind;
    }
    return -1;
}

/* Shares `ns` out over the samples of one kind that are not full, by how long each stayed; to the
 * last nanosecond. */
static void give(const struct sn_weighing *weighing, enum sn_sureness sureness, uint64_t ns)
{
    uint64_t stay_left = 0;
    for (size_t i = 0; i < weighing->count; i++) {
        const struct sn_weighed *sample = &weighing->samples[i];
        if (sample->sureness == sureness && !sample->is_full)
            stay_left += sample->stay_ns;
    }
    for (size_t i = 0; i < weighing->count && stay_left; i++) {
        struct sn_weighed *sample = &weighing->samples[i];
        if (sample->sureness != sureness || sample->is_full)
            continue;
        double share = (double)sample->stay_ns / (double)stay_left;
        uint64_t part = (uint64_t)((double)ns * share + 0.5);
        part = part > ns ? ns : part;
        sample->cpu_ns += part;
        ns -= part;
        stay_left -= sample->stay_ns;
    }
}

void sn_weighing_give_waiting(const struct sn_weighing *weighing, uint64_t ns)
{
    give(weighing, SN_WAITING, ns);
}

/* --- calls --- */

/* Neighbouring samples in the same place: one call into native code, as far as anyone can see. */
struct call {
    size_t first;
    size_t end;
    uint64_t stay_ns;   /* in this interval */
    uint64_t length_ns; /* as far as is known */
    bool is_at_edge;    /* it may go on beyond the interval */
};

/* Calls that are seen whole come first, the longest of them first of all. */
static int surest_first(const void *left, const void *right)
{
    const struct call *a = left;
    const struct call *b = right;
    if (a->is_at_edge != b->is_at_edge)
        return a->is_at_edge ? 1 : -1;
    if (a->stay_ns != b->stay_ns)
        return a->stay_ns < b->stay_ns ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static size_t find_calls(const struct sn_weighing *weighing, enum sn_sureness sureness,
                         struct call *calls)
{
    size_t count = 0;
    for (size_t i = 0; i < weighing->count; i++) {
        const struct sn_weighed *sample = &weighing->samples[i];
        if (sample->sureness != sureness)
            continue;
        bool goes_on = count && calls[count - 1].end == i && sample[-1].node == sample->node;
        if (!goes_on)
            calls[count++] = (struct call){.first = i, .length_ns = i ? 0 : weighing->went_on_ns};
        struct call *call = &calls[count - 1];
        call->end = i + 1;
        call->stay_ns += sample->stay_ns;
        call->length_ns += sample->stay_ns;
        call->is_at_edge = call->first == 0 || call->end == weighing->count;
    }
    return count;
}

static uint64_t fill(const struct sn_weighing *weighing, const struct call *call, uint64_t ns)
{
    for (size_t i = call->first; i < call->end && ns; i++) {
        struct sn_weighed *sample = &weighing->samples[i];
        uint64_t part = sample->stay_ns < ns ? sample->stay_ns : ns;
        sample->cpu_ns += part;
        sample->is_full = true;
        ns -= part;
    }
    return ns;
}

/* Of the calls that got nothing, the one that most likely ran for the little that is left: one that
 * was seen whole rather than not, the shortest rather than a longer one. */
static const struct call *likeliest(const struct sn_weighing *weighing, const struct call *calls,
                                    size_t count)
{
    const struct call *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &calls[i];
        if (weighing->samples[call->first].is_full)
            continue;
        if (!best || (best->is_at_edge && !call->is_at_edge) ||
            (best->is_at_edge == call->is_at_edge && call->length_ns < best->length_ns))
            best = call;
    }
    return best;
}

/* A call into native code computes, or waits where no name says so; seldom both. So each call that
 * the time there is can hold is taken to have run; what then is left, too little for any other, is
 * taken to be of one call that did not get a CPU all the time. */
static void give_by_calls(const struct sn_weighing *weighing, enum sn_sureness sureness,
                          uint64_t ns)
{
    struct call calls[CALLS_MAX];
    size_t count = weighing->count > CALLS_MAX ? 0 : find_calls(weighing, sureness, calls);
    if (count)
        qsort(calls, count, sizeof(*calls), surest_first);
    for (size_t i = 0; i < count && ns; i++) {
        if (calls[i].length_ns <= ns + ns / 10 + USUAL_STAY_NS)
            ns = fill(weighing, &calls[i], ns);
    }
    const struct call *call = ns ? likeliest(weighing, calls, count) : NULL;
    if (!call) {
        give(weighing, sureness, ns);
        return;
    }
    const struct sn_weighing one = {.samples = &weighing->samples[call->first],
                                    .count = call->end - call->first};
    uint64_t part = ns < call->stay_ns ? ns : call->stay_ns;
    give(&one, sureness, part);
    for (size_t i = call->first; i < call->end; i++)
        weighing->samples[i].is_full = true;
    give(weighing, sureness, ns - part);
}

/* --- sharing --- */

/* Each kind gets as much as its samples stayed, the surest first. Of what is left over the surest
 * get as much as was not seen, and some times more for chance; the rest was spent where the thread
 * was seen waiting. */
void sn_weighing_share(const struct sn_weighing *weighing, uint64_t ns)
{
    enum sn_sureness surest = (enum sn_sureness)sn_weighing_surest(weighing);
    bool has_waited = stay_of(weighing, SN_WAITING) > 0;
    uint64_t most = weighing->unseen_ns;
    for (int kind = (int)surest; kind < SN_WAITING; kind++) {
        uint64_t stay = stay_of(weighing, (enum sn_sureness)kind);
        uint64_t part = ns < stay ? ns : stay;
        if (kind == SN_IN_MANAGED_CODE)
            give(weighing, SN_IN_MANAGED_CODE, part);
        else
            give_by_calls(weighing, (enum sn_sureness)kind, part);
        most += stay * CHANCE;
        ns -= part;
    }
    for (size_t i = 0; i < weighing->count; i++)
        weighing->samples[i].is_full = false; /* what is more than they stand for goes to all */
    uint64_t part = ns < most || !has_waited ? ns : most;
    give(weighing, surest, part);
    give(weighing, SN_WAITING, ns - part);
}
