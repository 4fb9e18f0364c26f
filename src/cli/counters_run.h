/* Watching counters: where they come from and what drives it, until a signal, a time or the end of
 * what is watched. What comes of it goes to a view: a terminal, lines, a file. */
#ifndef SN_CLI_COUNTERS_RUN_H
#define SN_CLI_COUNTERS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/counters_absent.h"
#include "cli/counters_source.h"
#include "sonde/counters.h"

struct sonde_error;
struct sn_counters_run;
struct sn_entrance;

/* What a view does; any but `show` may be NULL. All return a status; SONDE_END ends it all well. */
struct sn_counters_view {
    /* With every point as it comes. */
    void (*take)(void *user, const struct sonde_point *point);
    /* Drives the run to its end, by sn_counters_wait. */
    int (*show)(struct sn_counters_run *run, void *user, struct sonde_error *err);
};

struct sn_counters_run {
    struct sonde_counters_options options;
    uint64_t duration_ns;         /* 0: until it is stopped */
    bool once;                    /* until every process has told its first values */
    struct sn_entrance *entrance; /* what was started or waited for; NULL: nothing */
    struct sn_remote *remote;     /* borrows: a controller that watches; NULL: we do */
    bool reads_keys;              /* q on standard input ends it, where no view takes keys */
    bool is_terse;                /* no last line on what it cost */
    const struct sn_counters_view *view;
    void *user; /* of the view */

    /* While it runs. */
    struct sn_counters_source *source;
    int signals; /* of cli/signals.h; the caller's */
    uint64_t started_ns;
    uint64_t end_ns;
    bool has_begun; /* the runtimes are heard: `end_ns` moves no more */
    uint64_t value_count;
    uint64_t runtime_value_count; /* of those the ones that no kernel told */
    uint64_t first_value_ns;      /* when the first of them came; 0: none */
    struct sn_counters_asked_list asked;
    uint64_t live_ns;     /* when every runtime's session was there; 0: not yet */
    bool has_told_nobody; /* that no process is there yet */
    bool found_nobody;    /* at the end: no process, or none that told anything and lives */
    bool has_provisional; /* some of them are over a short first interval */
    bool was_stopped;     /* by a signal, a key, or a reader that left */
};

/* Opens everything, lets the view show it, closes it. */
int sn_counters_run(struct sn_counters_run *run, struct sonde_error *err);

/* Turns the source until `until_ns`, input on `input` (-1: none), something has come, or it is
 * over.
 */
enum sn_counters_wait { SN_COUNTERS_TIME, SN_COUNTERS_INPUT, SN_COUNTERS_TURNED, SN_COUNTERS_OVER };
int sn_counters_wait(struct sn_counters_run *run, uint64_t until_ns, int input,
                     struct sonde_error *err);

/* For views that show something every interval: calls `tick` so until it is over, and a last time
 * for what came since, and `turned` (may be NULL) whenever something has come. */
typedef int sn_counters_step_fn(struct sn_counters_run *run, void *user, struct sonde_error *err);
int sn_counters_each_interval(struct sn_counters_run *run, sn_counters_step_fn *turned,
                              sn_counters_step_fn *tick, struct sonde_error *err);

/* The interval that was asked for. */
uint64_t sn_counters_interval_ns(const struct sn_counters_run *run);

/* The process of a point; NULL when it is not known any more. Borrowed until the next turn. */
const struct sonde_process *sn_counters_process_of(const struct sn_counters_run *run, uint32_t pid);

/* The last lines on standard error: what was not as asked for, and what it cost. */
void sn_counters_tell(const struct sn_counters_run *run);

/* What was watched had nothing to tell at all. */
bool sn_counters_is_fruitless(const struct sn_counters_run *run);

#endif
