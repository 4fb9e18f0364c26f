#include "flow/seam.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "flow/order.h"
#include "model/event.h"
#include "model/schema.h"

#define HELD_LIMIT (64u << 20) /* bytes of events of the second stream */
#define MARK_LIMIT (1u << 20)  /* marks of both streams, of 32 bytes each */
#define MARK_ROOM  (1u << 19)  /* for what comes before the second stream waits */

/* One event of either stream. */
struct mark {
    uint64_t thread_id; /* that wrote it */
    uint64_t time_ns;
    uint64_t key; /* equal for copies */
    uint32_t arrival;
    bool is_second;
    bool is_copy; /* of the second stream, and the first has it */
};

struct sn_seam {
    struct mark *marks;
    size_t count;
    size_t capacity;
    struct sn_order *held;
    uint32_t held_count;
    uint64_t begin_ns;
    uint64_t opened_ns;
    uint64_t complete_ns;
    bool *is_copy;
    sn_seam_fn *release;
    void *user;
};

static void release_held(void *user, const struct sn_event *event, uint64_t number);

int sn_seam_new(uint64_t begin_ns, struct sn_seam **ret_seam, struct sonde_error *err)
{
    struct sn_seam *seam = calloc(1, sizeof(*seam));
    if (!seam)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to join two streams");
    seam->begin_ns = begin_ns;
    seam->opened_ns = UINT64_MAX;
    int rc = sn_order_new(SIZE_MAX, release_held, seam, &seam->held, err);
    if (rc != SONDE_OK) {
        free(seam);
        return rc;
    }
    *ret_seam = seam;
    return SONDE_OK;
}

void sn_seam_free(struct sn_seam *seam)
{
    if (!seam)
        return;
    sn_order_free(seam->held);
    free(seam->marks);
    free(seam->is_copy);
    free(seam);
}

void sn_seam_opened(struct sn_seam *seam, uint64_t time_ns)
{
    seam->opened_ns = time_ns;
}

/* Both streams' kinds stand in one set, so that copies have the same schema. */
static uint64_t key_of(const struct sn_event *event)
{
    uint64_t parts[] = {sn_table_key(event->payload, event->payload_size),
                        (uint64_t)(uintptr_t)event->schema, event->thread_id,
                        event->activity ? sn_table_key(event->activity, 16) : 0};
    return sn_table_key(parts, sizeof(parts));
}

static bool add_mark(struct sn_seam *seam, const struct sn_event *event, bool is_second)
{
    if (seam->count >= MARK_LIMIT + (is_second ? MARK_ROOM : 0))
        return false;
    struct mark *marks = sn_array_room(seam->marks, seam->count, &seam->capacity, sizeof(*marks));
    if (!marks)
        return false;
    seam->marks = marks;
    marks[seam->count] =
        (struct mark){.thread_id = event->capture_thread_id,
                      .time_ns = event->time_ns,
                      .key = key_of(event),
                      .arrival = is_second ? seam->held_count : (uint32_t)seam->count,
                      .is_second = is_second};
    seam->count++;
    return true;
}

bool sn_seam_note(struct sn_seam *seam, const struct sn_event *event)
{
    return event->time_ns < seam->begin_ns || add_mark(seam, event, false) ||
           event->time_ns < seam->opened_ns;
}

int sn_seam_hold(struct sn_seam *seam, const struct sn_event *event)
{
    struct sn_event unsorted = *event;
    if (event->is_sorted && event->time_ns > seam->complete_ns)
        seam->complete_ns = event->time_ns;
    unsorted.is_sorted = false;
    int rc = sn_order_hold(seam->held, &unsorted, seam->held_count);
    if (rc != SONDE_OK)
        return rc;
    (void)add_mark(seam, event, true); /* without its mark it counts as no copy */
    seam->held_count++;
    return SONDE_OK;
}

bool sn_seam_is_full(const struct sn_seam *seam)
{
    return sn_order_size(seam->held) >= HELD_LIMIT || seam->count >= MARK_LIMIT;
}

uint64_t sn_seam_complete_ns(const struct sn_seam *seam)
{
    return seam->complete_ns;
}

/* --- at the end of the first stream --- */

static int by_thread_and_time(const void *left, const void *right)
{
    const struct mark *a = left;
    const struct mark *b = right;
    if (a->thread_id != b->thread_id)
        return a->thread_id < b->thread_id ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->is_second != b->is_second)
        return a->is_second ? 1 : -1;
    return a->arrival < b->arrival ? -1 : a->arrival > b->arrival;
}

/* Whether two neighbours may be copies of one event. An event that came before the second stream
 * was open and one that came after the first was asked to end are two, however alike they are. */
static bool may_be_copies(const struct sn_seam *seam, const struct mark *left,
                          const struct mark *right, uint64_t stop_ns)
{
    return left->thread_id == right->thread_id && left->key == right->key &&
           left->is_second != right->is_second &&
           !(left->time_ns < seam->opened_ns && right->time_ns > stop_ns);
}

/* Which stream a thread writes first: the one whose copies, so read, are nearer to each other. It
 * matters only where a thread says the same again and again. */
static bool is_second_first(const struct sn_seam *seam, uint64_t stop_ns)
{
    uint64_t gap_ns[2] = {0, 0};
    uint64_t count[2] = {0, 0};
    for (size_t i = 1; i < seam->count; i++) {
        const struct mark *mark = &seam->marks[i];
        if (mark->time_ns == mark[-1].time_ns || !may_be_copies(seam, mark - 1, mark, stop_ns))
            continue; /* of equal stamps neither is first */
        bool is_second = mark[-1].is_second;
        gap_ns[is_second] += mark->time_ns - mark[-1].time_ns;
        count[is_second]++;
    }
    if (!count[0] || !count[1])
        return count[1] > 0;
    return gap_ns[1] / count[1] < gap_ns[0] / count[0];
}

static uint64_t mark_copies(struct sn_seam *seam, uint64_t stop_ns)
{
    uint64_t copies = 0;
    bool second_first = is_second_first(seam, stop_ns);
    for (size_t i = 1; i < seam->count; i++) {
        struct mark *left = &seam->marks[i - 1];
        struct mark *right = &seam->marks[i];
        bool is_in_order = left->is_second == second_first || left->time_ns == right->time_ns;
        if (!is_in_order || !may_be_copies(seam, left, right, stop_ns))
            continue;
        (left->is_second ? left : right)->is_copy = true;
        copies++;
        i++; /* neither has another copy */
    }
    return copies;
}

static void release_held(void *user, const struct sn_event *event, uint64_t number)
{
    struct sn_seam *seam = user;
    if (!seam->is_copy || !seam->is_copy[number])
        seam->release(seam->user, event);
}

uint64_t sn_seam_close(struct sn_seam *seam, uint64_t stop_ns, sn_seam_fn *release, void *user)
{
    uint64_t copies = 0;
    seam->release = release;
    seam->user = user;
    seam->is_copy = calloc((size_t)seam->held_count + 1, sizeof(*seam->is_copy));
    if (seam->is_copy && seam->count) {
        qsort(seam->marks, seam->count, sizeof(*seam->marks), by_thread_and_time);
        copies = mark_copies(seam, stop_ns);
        for (size_t i = 0; i < seam->count; i++) {
            const struct mark *mark = &seam->marks[i];
            if (mark->is_copy)
                seam->is_copy[mark->arrival] = true;
        }
    }
    sn_order_release(seam->held, UINT64_MAX);
    return copies;
}
