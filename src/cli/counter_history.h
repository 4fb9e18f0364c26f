/* The last values of every series that was seen, for lines that show their course. One thread. */
#ifndef SN_CLI_COUNTER_HISTORY_H
#define SN_CLI_COUNTER_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct sonde_point;

#define SN_HISTORY_LENGTH 180u

struct sn_counter_course;

struct sn_counter_history {
    struct sn_table places;            /* by key: the number of its course, and one */
    struct sn_counter_course *courses; /* owns */
    size_t count;
    size_t capacity;
};

void sn_counter_history_done(struct sn_counter_history *history);

/* What tells a series from all others; the same for every point of it. */
uint64_t sn_counter_key(const struct sonde_point *point);

/* Takes a point in. Without memory, and beyond a ceiling when none is old, it is left out. */
void sn_counter_history_add(struct sn_counter_history *history, const struct sonde_point *point);

/* The last `most` values or fewer, the oldest first; how many. */
size_t sn_counter_history_get(const struct sn_counter_history *history, uint64_t key, double *to,
                              size_t most);

/* By how much the number that says most changed with the last point; NAN before the second. */
double sn_counter_history_change(const struct sn_counter_history *history, uint64_t key);

#endif
