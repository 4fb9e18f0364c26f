#include "cli/counter_history.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/counter_text.h"
#include "sonde/counters.h"

#define COURSES_MAX 20000u
#define OLD_NS      (300ull * SN_NS_PER_SECOND)

struct sn_counter_course {
    uint64_t key;
    uint64_t seen_ns;
    uint64_t added; /* how many there were */
    double last;    /* the number that says most */
    double change;
    double values[SN_HISTORY_LENGTH];
};

void sn_counter_history_done(struct sn_counter_history *history)
{
    sn_table_done(&history->places);
    free(history->courses);
    *history = (struct sn_counter_history){0};
}

uint64_t sn_counter_key(const struct sonde_point *point)
{
    uint64_t key = sn_text_hash(((uint64_t)point->origin << 32) | point->pid, point->provider);
    key = sn_text_hash(key, point->version);
    key = sn_text_hash(key, point->name);
    return sn_text_hash(key, point->tag_text);
}

/* Drops the courses that had no value for long: of processes and tags that are no more. */
static void forget_old(struct sn_counter_history *history, uint64_t now_ns)
{
    size_t kept = 0;
    sn_table_clear(&history->places);
    for (size_t i = 0; i < history->count; i++) {
        if (now_ns - history->courses[i].seen_ns > OLD_NS)
            continue;
        history->courses[kept] = history->courses[i];
        uint64_t *place = sn_table_put(&history->places, history->courses[kept].key);
        if (place)
            *place = ++kept;
    }
    history->count = kept;
}

static struct sn_counter_course *find_or_add(struct sn_counter_history *history, uint64_t key,
                                             uint64_t now_ns)
{
    const uint64_t *known = sn_table_find(&history->places, key);
    if (known)
        return &history->courses[*known - 1];
    history->places.limit = COURSES_MAX;
    if (history->count == COURSES_MAX)
        forget_old(history, now_ns);
    struct sn_counter_course *courses =
        sn_array_room(history->courses, history->count, &history->capacity, sizeof(*courses));
    if (courses)
        history->courses = courses;
    uint64_t *place = courses ? sn_table_put(&history->places, key) : NULL;
    if (!place)
        return NULL;
    *place = ++history->count;
    courses[history->count - 1] =
        (struct sn_counter_course){.key = key, .last = (double)NAN, .change = (double)NAN};
    return &courses[history->count - 1];
}

void sn_counter_history_add(struct sn_counter_history *history, const struct sonde_point *point)
{
    struct sn_counter_course *course = find_or_add(history, sn_counter_key(point), point->time_ns);
    if (!course || point->is_provisional) /* its rate would dwarf or hide the others */
        return;
    course->values[course->added++ % SN_HISTORY_LENGTH] = sn_counter_course(point);
    course->change = sn_counter_main(point) - course->last;
    course->last = sn_counter_main(point);
    course->seen_ns = point->time_ns;
}

size_t sn_counter_history_get(const struct sn_counter_history *history, uint64_t key, double *to,
                              size_t most)
{
    const uint64_t *place = sn_table_find(&history->places, key);
    const struct sn_counter_course *course = place ? &history->courses[*place - 1] : NULL;
    uint64_t count = course ? course->added : 0;
    count = count < SN_HISTORY_LENGTH ? count : SN_HISTORY_LENGTH;
    count = count < most ? count : most;
    for (uint64_t i = 0; i < count; i++)
        to[i] = course->values[(course->added - count + i) % SN_HISTORY_LENGTH];
    return (size_t)count;
}

double sn_counter_history_change(const struct sn_counter_history *history, uint64_t key)
{
    const uint64_t *place = sn_table_find(&history->places, key);
    return place ? history->courses[*place - 1].change : (double)NAN;
}
