#include "model/timeline.h"

#include <stdlib.h>

#include "base/err.h"

/* --- all of it --- */

static int make_room(struct sn_timeline *timeline, struct sonde_error *err)
{
    timeline->cpu = calloc(timeline->bucket_count, sizeof(*timeline->cpu));
    timeline->exceptions = calloc(timeline->bucket_count, sizeof(*timeline->exceptions));
    if (!timeline->cpu || !timeline->exceptions)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a timeline");
    return SONDE_OK;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

int sn_timeline_new(struct sn_report *report, const struct sn_timeline_window *window,
                    struct sonde_error *err)
{
    struct sn_timeline *timeline = calloc(1, sizeof(*timeline));
    if (!timeline)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a timeline");
    report->timeline = timeline;
    uint64_t from_ns = at_most(window->from_ns, report->duration_ns);
    uint64_t to_ns = at_most(window->to_ns, report->duration_ns);
    timeline->from_ns = report->first_ns + from_ns;
    timeline->to_ns = report->first_ns + (to_ns > from_ns ? to_ns : from_ns);
    timeline->shown_from_ns = from_ns ? timeline->from_ns : 0;
    timeline->shown_to_ns = to_ns < report->duration_ns ? timeline->to_ns : UINT64_MAX;
    timeline->bucket_count = window->bucket_count < SN_TIMELINE_BUCKETS_MIN
                                 ? SN_TIMELINE_BUCKETS_MIN
                                 : at_most(window->bucket_count, SN_TIMELINE_BUCKETS_MAX);
    timeline->bucket_ns =
        (double)(timeline->to_ns - timeline->from_ns) / (double)timeline->bucket_count;
    return make_room(timeline, err);
}

void sn_timeline_free(struct sn_timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->thread_count; i++)
        free(timeline->threads[i].running);
    for (size_t i = 0; i < SN_REQUEST_SOURCES; i++)
        free(timeline->by_source[i].list);
    free(timeline->cpu);
    free(timeline->exceptions);
    free(timeline->collections);
    free(timeline->requests);
    free(timeline);
}

/* --- buckets --- */

/* The one that a time is in; the first or the last when it is outside. */
static size_t bucket_of(const struct sn_timeline *timeline, uint64_t time_ns)
{
    if (time_ns <= timeline->from_ns)
        return 0;
    double at = (double)(time_ns - timeline->from_ns) / timeline->bucket_ns;
    size_t most = timeline->bucket_count - 1;
    return at >= (double)most ? most : (size_t)at;
}

static bool is_inside(const struct sn_timeline *timeline, uint64_t time_ns)
{
    return timeline->bucket_ns > 0 && time_ns >= timeline->shown_from_ns &&
           time_ns <= timeline->shown_to_ns;
}

void sn_timeline_exception(struct sn_timeline *timeline, uint64_t time_ns)
{
    if (timeline && is_inside(timeline, time_ns))
        timeline->exceptions[bucket_of(timeline, time_ns)]++;
}

/* What of the run lies in a bucket, by its length. */
static double overlap(const struct sn_timeline *timeline, size_t bucket, uint64_t start_ns,
                      uint64_t end_ns)
{
    double begin = (double)bucket * timeline->bucket_ns;
    double end = begin + timeline->bucket_ns;
    double from = (double)(start_ns - timeline->from_ns);
    double to = (double)(end_ns - timeline->from_ns);
    from = from > begin ? from : begin;
    to = to < end ? to : end;
    return to > from ? to - from : 0;
}

void sn_timeline_spread(const struct sn_timeline *timeline, double *to, const struct sn_run *run,
                        double ns)
{
    if (run->end_ns <= run->start_ns) {
        if (is_inside(timeline, run->end_ns))
            to[bucket_of(timeline, run->end_ns)] += ns;
        return;
    }
    double rate = ns / (double)(run->end_ns - run->start_ns);
    uint64_t start_ns = run->start_ns > timeline->from_ns ? run->start_ns : timeline->from_ns;
    uint64_t end_ns = at_most(run->end_ns, timeline->to_ns);
    if (timeline->bucket_ns <= 0 || end_ns <= start_ns)
        return;
    size_t last = bucket_of(timeline, end_ns);
    for (size_t i = bucket_of(timeline, start_ns); i <= last; i++)
        to[i] += rate * overlap(timeline, i, start_ns, end_ns);
}

/* --- requests --- */

static uint64_t length_of(const struct sn_timeline_request *request)
{
    return request->end_ns - request->start_ns;
}

/* Puts `request` into the heap from the hole at `at` downwards. */
static void sift_down(struct sn_timeline_requests *heap, size_t at,
                      const struct sn_timeline_request *request)
{
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count &&
            length_of(&heap->list[child + 1]) < length_of(&heap->list[child]))
            child++;
        if (length_of(&heap->list[child]) >= length_of(request))
            break;
        heap->list[at] = heap->list[child];
    }
    heap->list[at] = *request;
}

static void sift_up(struct sn_timeline_requests *heap, const struct sn_timeline_request *request)
{
    size_t at = heap->count++;
    for (; at && length_of(&heap->list[(at - 1) / 2]) > length_of(request); at = (at - 1) / 2)
        heap->list[at] = heap->list[(at - 1) / 2];
    heap->list[at] = *request;
}

static void keep_longest(struct sn_timeline_requests *heap,
                         const struct sn_timeline_request *request)
{
    if (!heap->list)
        heap->list = calloc(SN_TIMELINE_REQUESTS_MAX, sizeof(*heap->list));
    if (!heap->list)
        return;
    if (heap->count < SN_TIMELINE_REQUESTS_MAX)
        sift_up(heap, request);
    else if (length_of(request) > length_of(heap->list))
        sift_down(heap, 0, request);
}

void sn_timeline_request(struct sn_timeline *timeline, enum sn_request_source source,
                         const struct sn_timeline_request *request)
{
    if (!timeline || request->end_ns < timeline->shown_from_ns ||
        request->start_ns > timeline->shown_to_ns || request->end_ns < request->start_ns)
        return;
    timeline->by_source[source].seen_count++;
    keep_longest(&timeline->by_source[source], request);
}

static int longest_first(const void *left, const void *right)
{
    uint64_t a = length_of(left);
    uint64_t b = length_of(right);
    return a == b ? 0 : a < b ? 1 : -1;
}

static int by_time(const void *left, const void *right)
{
    const struct sn_timeline_request *a = left;
    const struct sn_timeline_request *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns > b->start_ns ? 1 : -1;
    return longest_first(left, right);
}

int sn_timeline_take_requests(struct sn_timeline *timeline, enum sn_request_source served,
                              enum sn_request_source sent)
{
    const enum sn_request_source best[] = {served, sent};
    uint64_t seen = 0;
    if (!timeline)
        return SONDE_OK;
    struct sn_timeline_request *all = calloc(2 * (size_t)SN_TIMELINE_REQUESTS_MAX, sizeof(*all));
    if (!all)
        return SONDE_E_NOMEM;
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        const struct sn_timeline_requests *heap = &timeline->by_source[best[i]];
        seen += heap->seen_count;
        for (size_t k = 0; k < heap->count; k++)
            all[count++] = heap->list[k];
    }
    qsort(all, count, sizeof(*all), longest_first);
    count = at_most(count, SN_TIMELINE_REQUESTS_MAX);
    qsort(all, count, sizeof(*all), by_time);
    timeline->requests = all;
    timeline->request_count = count;
    timeline->request_left_count = seen - count;
    return SONDE_OK;
}
