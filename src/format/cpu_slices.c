#include "format/cpu_slices.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

/* Ceilings: a day at twenty looks a second is 1.7 million of them. */
#define LOOK_LIMIT   (16u << 20)
#define SLICE_LIMIT  (16u << 20)
#define THREAD_LIMIT (1u << 16)
#define NAMES_LIMIT  (16u << 20)

/* A look takes a while; what a thread runs meanwhile is in its slice, and not in the look's time.
 */
#define PROCESSORS_MAX 4096u
#define MOST_LATE_NS   (1000ull * 1000 * 1000)

static const char magic[] = "sonde-cpu ";

struct reading {
    struct sn_cpu_slices *slices;
    size_t slice_count; /* of all threads */
};

/* Digits up to `end`; false when there are none or too many. Moves *at behind them. */
static bool take_number(const char **at, const char *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        unsigned digit = (unsigned)(**at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return *at > start;
}

static bool take_header(struct reading *reading, const char *at, const char *end,
                        struct sonde_error *err)
{
    uint64_t version = 0;
    uint64_t pid = 0;
    static const char before_pid[] = " pid=";
    if ((size_t)(end - at) < strlen(magic) || memcmp(at, magic, strlen(magic)) != 0) {
        (void)sn_fail(err, SONDE_E_FORMAT, 0, "this is no CPU record");
        return false;
    }
    at += strlen(magic);
    if (!take_number(&at, end, &version) || version != 1) {
        (void)sn_fail(err, SONDE_E_UNSUPPORTED, 0,
                      "the CPU record is of a version that this sonde does not know");
        return false;
    }
    if ((size_t)(end - at) > strlen(before_pid) &&
        memcmp(at, before_pid, strlen(before_pid)) == 0) {
        at += strlen(before_pid);
        (void)take_number(&at, end, &pid); /* 0 when it is not there */
    }
    reading->slices->pid = (uint32_t)pid;
    return true;
}

static struct sn_cpu_thread *thread_of(struct reading *reading, uint64_t thread_id)
{
    struct sn_cpu_slices *slices = reading->slices;
    uint64_t *index = sn_table_put(&slices->by_id, thread_id);
    if (index && !*index) {
        struct sn_cpu_thread *threads = sn_array_room(slices->threads, slices->thread_count,
                                                      &slices->thread_capacity, sizeof(*threads));
        if (threads) {
            slices->threads = threads;
            threads[slices->thread_count] =
                (struct sn_cpu_thread){.thread_id = thread_id, .name = ""};
            *index = ++slices->thread_count;
        }
    }
    return index && *index ? &slices->threads[*index - 1] : NULL;
}

static bool take_look(struct reading *reading, const char *at, const char *end)
{
    struct sn_cpu_slices *slices = reading->slices;
    uint64_t time;
    if (!take_number(&at, end, &time) || at != end || slices->look_count == LOOK_LIMIT ||
        (slices->look_count && time < slices->looks[slices->look_count - 1]))
        return false;
    uint64_t *looks =
        sn_array_room(slices->looks, slices->look_count, &slices->look_capacity, sizeof(*looks));
    if (!looks)
        return false;
    slices->looks = looks;
    uint64_t *ended =
        sn_array_room(slices->ended, slices->look_count, &slices->ended_capacity, sizeof(*ended));
    if (!ended)
        return false;
    slices->ended = ended;
    ended[slices->look_count] = 0;
    looks[slices->look_count++] = time;
    return true;
}

/* Time that goes by in an interval; none before there is one. */
static uint64_t interval_ns(const struct sn_cpu_slices *slices)
{
    size_t last = slices->look_count - 1;
    return slices->look_count < 2 ? 0 : slices->looks[last] - slices->looks[last - 1];
}

static bool take_ended(struct reading *reading, const char *at, const char *end)
{
    struct sn_cpu_slices *slices = reading->slices;
    uint64_t ran;
    if (!take_number(&at, end, &ran) || at != end || slices->look_count < 2 ||
        ran / PROCESSORS_MAX > interval_ns(slices) + MOST_LATE_NS)
        return false;
    slices->ended[slices->look_count - 1] = ran;
    return true;
}

static bool take_name(struct reading *reading, const char *at, const char *end)
{
    uint64_t thread_id;
    if (!take_number(&at, end, &thread_id) || at == end || *at != ' ')
        return false;
    struct sn_cpu_thread *thread = thread_of(reading, thread_id);
    char *name = sn_arena_copy(&reading->slices->arena, at + 1, (size_t)(end - at - 1));
    if (!thread || !name)
        return false;
    thread->name = name;
    return true;
}

static bool take_slice(struct reading *reading, const char *at, const char *end)
{
    struct sn_cpu_slices *slices = reading->slices;
    uint64_t thread_id;
    uint64_t ran;
    if (!take_number(&at, end, &thread_id) || at == end || *at++ != ' ' ||
        !take_number(&at, end, &ran) || at != end || slices->look_count < 2 ||
        reading->slice_count == SLICE_LIMIT)
        return false;
    struct sn_cpu_thread *thread = thread_of(reading, thread_id);
    if (!thread || ran > interval_ns(slices) + MOST_LATE_NS)
        return false; /* no thread runs longer than time goes by */
    struct sn_cpu_slice_entry *entries =
        sn_array_room(thread->slices, thread->count, &thread->capacity, sizeof(*entries));
    if (!entries)
        return false;
    thread->slices = entries;
    entries[thread->count++] =
        (struct sn_cpu_slice_entry){.look = (uint32_t)(slices->look_count - 1), .ran_ns = ran};
    thread->ran_ns += ran;
    reading->slice_count++;
    return true;
}

static bool take_line(struct reading *reading, const char *at, const char *end)
{
    if (at == end)
        return false;
    if (*at >= '0' && *at <= '9')
        return take_slice(reading, at, end);
    if (end - at < 2 || at[1] != ' ')
        return true; /* of a later version */
    switch (*at) {
    case 't': return take_look(reading, at + 2, end);
    case 'n': return take_name(reading, at + 2, end);
    case 'e': return take_ended(reading, at + 2, end);
    default: return true;
    }
}

static int read_lines(struct reading *reading, const char *text, size_t size,
                      struct sonde_error *err)
{
    const char *end = text + size;
    bool is_first = true;
    for (const char *at = text; at < end || is_first;) {
        const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        const char *line_end = newline ? newline : end;
        if (is_first && !take_header(reading, at, line_end, err))
            return err ? err->status : SONDE_E_FORMAT;
        if (!newline) {
            reading->slices->is_cut = at < end; /* half a line says nothing sure */
            break;
        }
        if (!is_first && !take_line(reading, at, line_end))
            reading->slices->skipped_count++;
        is_first = false;
        at = newline + 1;
    }
    return SONDE_OK;
}

int sn_cpu_slices_read(const char *text, size_t size, struct sn_cpu_slices **ret_slices,
                       struct sonde_error *err)
{
    struct sn_cpu_slices *slices = calloc(1, sizeof(*slices));
    if (!slices)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for CPU times");
    slices->arena = sn_arena_with_limit(NAMES_LIMIT);
    slices->by_id = sn_table_with_limit(THREAD_LIMIT);
    struct reading reading = {.slices = slices};
    struct sonde_error own = {0};
    int rc = read_lines(&reading, text, size, &own);
    if (rc != SONDE_OK) {
        sn_cpu_slices_free(slices);
        return sn_fail_as(err, &own);
    }
    *ret_slices = slices;
    return SONDE_OK;
}

void sn_cpu_slices_free(struct sn_cpu_slices *slices)
{
    if (!slices)
        return;
    for (size_t i = 0; i < slices->thread_count; i++)
        free(slices->threads[i].slices);
    sn_arena_done(&slices->arena);
    sn_table_done(&slices->by_id);
    free(slices->threads);
    free(slices->looks);
    free(slices->ended);
    free(slices);
}

const struct sn_cpu_thread *sn_cpu_slices_thread(const struct sn_cpu_slices *slices,
                                                 uint64_t thread_id)
{
    const uint64_t *index = sn_table_find(&slices->by_id, thread_id);
    return index && *index ? &slices->threads[*index - 1] : NULL;
}

size_t sn_cpu_slices_look(const struct sn_cpu_slices *slices, uint64_t time_ns)
{
    size_t low = 0;
    size_t high = slices->look_count;
    while (low < high) { /* the first look that is not before it */
        size_t middle = low + (high - low) / 2;
        if (slices->looks[middle] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- a part of it --- */

/* The looks that stay. */
struct cut {
    size_t first; /* becomes the one at from_ns */
    size_t last;  /* and this the one at to_ns */
    uint64_t from_ns;
    uint64_t to_ns;
};

static uint64_t clamp(const struct cut *cut, uint64_t time_ns)
{
    uint64_t least = time_ns > cut->from_ns ? time_ns : cut->from_ns;
    return least < cut->to_ns ? least : cut->to_ns;
}

/* What of an interval's time is in it. */
static uint64_t share(const struct sn_cpu_slices *slices, const struct cut *cut, size_t look,
                      uint64_t ns)
{
    uint64_t begin = slices->looks[look - 1];
    uint64_t end = slices->looks[look];
    uint64_t left = clamp(cut, end) - clamp(cut, begin);
    return left == end - begin ? ns : (uint64_t)((double)ns * (double)left / (double)(end - begin));
}

static void cut_thread(const struct sn_cpu_slices *slices, const struct cut *cut,
                       struct sn_cpu_thread *thread)
{
    size_t count = 0;
    bool goes_on = false;
    thread->ran_ns = 0;
    for (size_t i = 0; i < thread->count; i++) {
        struct sn_cpu_slice_entry slice = thread->slices[i];
        goes_on |= slice.look > cut->last;
        if (slice.look <= cut->first || slice.look > cut->last)
            continue;
        slice.ran_ns = share(slices, cut, slice.look, slice.ran_ns);
        slice.look -= (uint32_t)cut->first;
        thread->ran_ns += slice.ran_ns;
        thread->slices[count++] = slice;
    }
    /* Else it would seem to have ended in the part. What stood for later leaves room for it. */
    uint32_t end = (uint32_t)(cut->last - cut->first);
    if (goes_on && end && (!count || thread->slices[count - 1].look < end))
        thread->slices[count++] = (struct sn_cpu_slice_entry){.look = end};
    thread->count = count;
}

void sn_cpu_slices_cut(struct sn_cpu_slices *slices, uint64_t from_ns, uint64_t to_ns)
{
    struct cut cut = {.from_ns = from_ns, .to_ns = to_ns};
    if (!slices->look_count)
        return;
    while (cut.first + 1 < slices->look_count && slices->looks[cut.first + 1] <= from_ns)
        cut.first++;
    cut.last = cut.first;
    while (cut.last + 1 < slices->look_count && slices->looks[cut.last] < to_ns)
        cut.last++;
    for (size_t i = 0; i < slices->thread_count; i++)
        cut_thread(slices, &cut, &slices->threads[i]);
    slices->look_count = cut.last - cut.first + 1;
    slices->ended[cut.first] = 0;
    for (size_t look = cut.first + 1; look <= cut.last; look++)
        slices->ended[look] = share(slices, &cut, look, slices->ended[look]);
    for (size_t i = 0; i < slices->look_count; i++) {
        slices->ended[i] = slices->ended[cut.first + i];
        slices->looks[i] = clamp(&cut, slices->looks[cut.first + i]);
    }
}
