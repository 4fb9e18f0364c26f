/** @file
 * Counters and metrics, live: the runtimes' EventCounters and meters (System.Diagnostics.Metrics),
 * and what the kernel tells of the process and its cgroup, as points with names, tags and units.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_COUNTERS_H
#define SONDE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/hub.h"
#include "sonde/process.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Who measured. */
enum sonde_point_origin {
    SONDE_POINT_EVENT_COUNTER = 1, /**< an EventCounter of the runtime or the program */
    SONDE_POINT_METER,             /**< an instrument of System.Diagnostics.Metrics */
    SONDE_POINT_KERNEL             /**< /proc and the cgroup: also of a runtime that is stuck */
};

/** What kind of number it is. */
enum sonde_point_kind {
    SONDE_POINT_GAUGE = 1, /**< `value` holds now */
    SONDE_POINT_MEAN,      /**< `value` is a mean over the interval; count, min, max, deviation */
    SONDE_POINT_RATE,      /**< `value` was added in the interval, `rate` is that a second */
    SONDE_POINT_UP_DOWN,   /**< as a rate, but it can go down: `total` is where it stands */
    SONDE_POINT_HISTOGRAM  /**< of one interval: count, sum, quantiles; `rate` is count a second */
};

/** One quantile of a histogram. */
struct sonde_quantile {
    double at;    /**< 0.5, 0.95, 0.99 */
    double value; /**< in the instrument's unit */
};

/** One tag. */
struct sonde_tag {
    const char *name;  /**< "http.route" */
    const char *value; /**< "/orders/{id}" */
};

/** One number at one time. Borrowed until the callback returns, or the next turn of the hub. Texts
 * are UTF-8, never NULL, and come from the process: escape them for wherever they go. Numbers that
 * its kind does not have, or that were not told, are NAN. */
struct sonde_point {
    uint32_t pid;                 /**< whose, as this machine counts it */
    int origin;                   /**< enum sonde_point_origin */
    int kind;                     /**< enum sonde_point_kind */
    const char *provider;         /**< EventSource or meter; "process", "cgroup" of the kernel's */
    const char *version;          /**< of the meter; "" */
    const char *name;             /**< "cpu-usage", "http.server.request.duration" */
    const char *display_name;     /**< for people; the name where there is none */
    const char *unit;             /**< as declared: "MB", "s", "{request}"; "" */
    const char *description;      /**< "" when not told */
    const char *tag_text;         /**< as the runtime writes tags: "k=v,k=v"; "" */
    const struct sonde_tag *tags; /**< the same, one by one */
    size_t tag_count;             /**< how many */
    uint64_t time_ns;             /**< CLOCK_MONOTONIC: the end of the interval */
    uint64_t utc_ns;              /**< the same since 1970 */
    uint64_t interval_ns; /**< what it is over, or how long since the one before, as measured
                             by who measured; 0: a moment */
    bool is_provisional;  /**< the first, over a short interval: rates are weak */
    double value;         /**< see its kind */
    double rate;          /**< a second */
    double total;         /**< since the start of the program or of the watching; see is_absolute */
    bool is_absolute;     /**< `total` counts since the program's start */
    uint64_t count;       /**< measurements in the interval: means and histograms */
    double sum;           /**< of a histogram */
    double min;           /**< of a mean */
    double max;           /**< of a mean */
    double deviation;     /**< standard, of a mean */
    const struct sonde_quantile *quantiles; /**< of a histogram, ascending */
    size_t quantile_count;                  /**< how many */
};

/** The age at which a process that is found is asked for its meters. One that ends just when they
 * are collected for the first time may hang in its runtime; programs that end soon have ended by
 * then.
 */
#define SONDE_METERS_AGE_NS (30000000000ull)

/** The age at which a process that is named is asked for its meters: the least there is. */
#define SONDE_METERS_AGE_LEAST_NS (5000000000ull)

/** What to watch. Set `size` to sizeof; zero the rest for the defaults. Borrowed until
 * sonde_counters_new returns. */
struct sonde_counters_options {
    size_t size;              /**< sizeof(struct sonde_counters_options) */
    const uint32_t *pids;     /**< these processes */
    size_t pid_count;         /**< how many */
    const char *const *names; /**< processes of these names (* patterns), those to come included */
    size_t name_count;        /**< how many */
    bool all;                 /**< every .NET process that can be reached, those to come included */
    const char *const *counters; /**< "Provider", "Provider[name,name]", each an EventSource or a
                                    meter; "EventCounters\Provider[...]" or "Meters\..." forces
                                    one. None: those of the runtime and of ASP.NET Core */
    size_t counter_count;        /**< how many */
    uint64_t interval_ns;        /**< between points, 0.1 seconds to a day; 0: one second. Where the
                                    runtime measures more often, for others, points are put together:
                                    what was added is summed up, means are weighed by their counts,
                                    of gauges and of a histogram's quantiles the last ones stand */
    uint32_t max_series;         /**< of meters, in the target; 0: 1000 */
    uint32_t max_histograms;     /**< of meters, in the target; 0: 20 */
    bool no_kernel;              /**< without what the kernel tells */
    bool no_runtime;             /**< without asking the runtimes */
    bool no_provisional;         /**< without the short first interval */
    bool with_unreachable; /**< of all: also those whose runtimes cannot be asked, once they are
                              some seconds old: what the kernel tells of them */
    uint64_t
        meters_age_ns; /**< a process is asked for its meters when it is that old, 5 seconds to
                          a day; 0: 5 seconds for `pids`, 30 seconds for those that are found */
    bool with_rates;   /**< `is_complete` waits for rates that the runtime gives with its second
                          collection only: those of instruments that are polled */
};

/** Called with every point as it comes, from sonde_hub_turn only. */
typedef void sonde_point_fn(void *user, const struct sonde_point *point);

/** How a watched process fares. Texts are borrowed until the next turn. */
struct sonde_watched {
    const struct sonde_process *process; /**< who it is */
    int phase;            /**< enum sonde_consumer_phase; of the kernel's numbers when no runtime */
    uint64_t interval_ns; /**< the true one of its counters; until `is_complete` the longest that
                             its runtime was asked for; 0: not known yet */
    uint64_t lost_count;  /**< events that its runtime dropped */
    uint64_t dropped_count; /**< series for which there was no room here: 4096 of a process are
                               held, in 4 MB. That max_series or max_histograms was reached, in the
                               target, is in `note` */
    const char *note;       /**< what is not as asked for, and why: another tool's settings, limits,
                               errors of instruments; "" */
    bool is_complete;       /**< its runtime has told the first values, provisional ones maybe, of
                               all that was asked for */
};

/** Watched counters; opaque. */
struct sonde_counters;

/** Watches, driven by the hub's turns. `take` may be NULL for who reads the latest points only.
 * Ended by sonde_counters_free, before the hub is freed.
 *
 * SONDE_E_ARGUMENT: a specification cannot be read, or nothing is watched; SONDE_E_NOT_FOUND:
 * a given pid is not there. */
int sonde_counters_new(struct sonde_hub *hub, const struct sonde_counters_options *options,
                       sonde_point_fn *take, void *user, struct sonde_counters **ret_counters,
                       struct sonde_error *err);

/** Ends it; NULL is fine. Not from its callback. */
void sonde_counters_free(struct sonde_counters *counters);

/** How many processes are watched, those that ended in the last minute included. */
size_t sonde_counters_process_count(const struct sonde_counters *counters);

/** Process `index`, in the order of their coming. */
void sonde_counters_process(const struct sonde_counters *counters, size_t index,
                            struct sonde_watched *ret_watched);

/** The process with this pid: the one that runs, or else the one that ended last. False: none is
 * watched, and *ret_watched is not set. Points carry pids only, and a pid can come back within the
 * minute: who keeps things by process compares the process's start_ticks too. */
bool sonde_counters_find(const struct sonde_counters *counters, uint32_t pid,
                         struct sonde_watched *ret_watched);

/** The latest point of every series of a process (0: of all), sorted by provider, name and tags;
 * *ret_count of them. Borrowed until the next call or turn. Series that were silent for three
 * intervals are left out. SONDE_E_NOMEM. */
int sonde_counters_latest(struct sonde_counters *counters, uint32_t pid,
                          const struct sonde_point **ret_points, size_t *ret_count,
                          struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
