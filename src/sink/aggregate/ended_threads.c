#include "sink/aggregate/ended_threads.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/own.h"
#include "format/cpu_slices.h"

#define SAMPLE_LIMIT (1u << 20)
#define SURENESSES   4u

void sn_ended_threads_done(struct sn_ended_threads *ended)
{
    free(ended->samples);
    *ended = (struct sn_ended_threads){0};
}

bool sn_ended_threads_keep(struct sn_ended_threads *ended, const struct sn_ended_sample *sample)
{
    struct sn_ended_sample *grown =
        ended->count == SAMPLE_LIMIT
            ? NULL
            : sn_array_room(ended->samples, ended->count, &ended->capacity, sizeof(*grown));
    if (!grown)
        return false;
    ended->samples = grown;
    grown[ended->count++] = *sample;
    return true;
}

static uint64_t stay_of(const struct sn_ended_sample *sample)
{
    return sample->run.end_ns - sample->run.start_ns;
}

/* Samples of one interval, by how sure they are: what they stand for, and what they get of it. */
struct share {
    uint64_t stays[SURENESSES];
    uint64_t parts[SURENESSES];
};

/* The surest get theirs first, up to the time they stand for. Returns the rest. */
static uint64_t divide(struct share *share, uint64_t ns)
{
    for (size_t kind = 0; kind < SURENESSES; kind++) {
        share->parts[kind] = ns < share->stays[kind] ? ns : share->stays[kind];
        ns -= share->parts[kind];
    }
    return ns;
}

static int by_look(const void *left, const void *right)
{
    const struct sn_ended_sample *a = *(const struct sn_ended_sample *const *)left;
    const struct sn_ended_sample *b = *(const struct sn_ended_sample *const *)right;
    return (a->look > b->look) - (a->look < b->look);
}

/* The samples from `from` on that are of one interval share `ns`; returns what is left. */
static uint64_t share_interval(struct sn_ended_sample **from, size_t count, uint64_t ns, int column)
{
    struct share share = {0};
    for (size_t i = 0; i < count; i++)
        share.stays[from[i]->sureness % SURENESSES] += stay_of(from[i]);
    uint64_t left = divide(&share, ns);
    for (size_t i = 0; i < count; i++) {
        size_t kind = from[i]->sureness % SURENESSES;
        double part = share.stays[kind] ? (double)stay_of(from[i]) / (double)share.stays[kind] : 0;
        from[i]->run.values[column] += (uint64_t)(part * (double)share.parts[kind]);
    }
    return left;
}

uint64_t sn_ended_threads_share(struct sn_ended_threads *ended, const struct sn_cpu_slices *cpu,
                                int column, uint64_t first_ns, uint64_t last_ns)
{
    SN_AUTO(sn_free)
    struct sn_ended_sample **order = calloc(ended->count + 1, sizeof(struct sn_ended_sample *));
    uint64_t left = 0;
    size_t at = 0;
    if (!order)
        return 0;
    for (size_t i = 0; i < ended->count; i++)
        order[i] = &ended->samples[i];
    qsort(order, ended->count, sizeof(struct sn_ended_sample *), by_look);
    for (size_t look = 1; look < cpu->look_count; look++) {
        bool is_inside = cpu->looks[look] >= first_ns && cpu->looks[look - 1] < last_ns;
        while (at < ended->count && order[at]->look < look)
            at++;
        size_t end = at;
        while (end < ended->count && order[end]->look == look)
            end++;
        left += share_interval(&order[at], end - at, is_inside ? cpu->ended[look] : 0, column);
    }
    return left;
}
