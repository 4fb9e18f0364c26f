/* The series of one process: what comes of each is summed up to the wanted interval and becomes a
 * point. Texts are held once a series. Bounded: a hostile process can make no more of them. One
 * thread. */
#ifndef SN_POINT_SERIES_H
#define SN_POINT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "sonde/counters.h"

struct sn_point_series;

/* One number as it came, over whatever interval; texts are borrowed, but for `description`, which
 * outlives the set. What is not told is NAN. */
struct sn_reading {
    int origin; /* enum sonde_point_origin */
    int kind;   /* enum sonde_point_kind */
    const char *provider;
    const char *version;
    const char *name;
    const char *display_name;
    const char *unit;
    const char *description;
    const char *tag_text;
    uint64_t time_ns;
    uint64_t utc_ns;
    uint64_t interval_ns;
    uint64_t collection; /* readings of one series with the same number are parts of one; 0: none */
    double value;        /* what it is, or what was added */
    double total;        /* where it stands; NAN: counted here */
    bool is_absolute;    /* `total` counts since the start of the process */
    bool is_held;        /* kept, and not handed out before a release or one that is not held */
    uint64_t count;
    double sum;
    double min;
    double max;
    double deviation;
    const struct sonde_quantile *quantiles;
    size_t quantile_count;
};

#define SN_POINT_SERIES_BUCKETS 128u

struct sn_point_series_set {
    uint32_t pid;
    struct sn_point_series *buckets[SN_POINT_SERIES_BUCKETS]; /* all of them, by their hash; owns */
    struct sn_point_series *touched; /* that got something since the last flush */
    struct sn_table refused;         /* hashes of those that found no room */
    size_t count;
    size_t bytes;
};

void sn_point_series_set_init(struct sn_point_series_set *set, uint32_t pid);
void sn_point_series_set_done(struct sn_point_series_set *set);

/* Adds a reading to its series. SONDE_OK; SONDE_E_LIMIT: there is no room for a further series. */
int sn_point_series_add(struct sn_point_series_set *set, const struct sn_reading *reading);

enum sn_points_told {
    SN_POINTS_NONE,  /* no series got anything */
    SN_POINTS_KEPT,  /* what came is not enough for any point yet */
    SN_POINTS_GIVEN, /* points were handed out */
};

/* Hands out the points of series that got something since the last time and have `wanted_ns`
 * together, or whatever they have when `is_provisional`. */
enum sn_points_told sn_point_series_flush(struct sn_point_series_set *set, uint64_t wanted_ns,
                                          bool is_provisional, sonde_point_fn *take, void *user);

/* What was held goes out with the next flush. */
void sn_point_series_release(struct sn_point_series_set *set);

/* Forgets those of a provider, whatever the case. */
void sn_point_series_forget(struct sn_point_series_set *set, int origin, const char *provider);

/* Frees those that have been silent for long. */
void sn_point_series_sweep(struct sn_point_series_set *set, uint64_t now_ns, uint64_t wanted_ns);

/* Calls `take` with the latest point of every series that has been heard of in three intervals. */
void sn_point_series_each(const struct sn_point_series_set *set, uint64_t now_ns,
                          uint64_t wanted_ns, sonde_point_fn *take, void *user);

/* Series that found no room. */
uint64_t sn_point_series_refused_count(const struct sn_point_series_set *set);

#endif
