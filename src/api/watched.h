/* One process whose counters are watched: asked through the hub, polled through the kernel, its
 * series kept. It lives on the hub's loop. One thread. */
#ifndef SN_WATCHED_H
#define SN_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/counter_specs.h"
#include "api/point_series.h"
#include "api/process_sight.h"
#include "base/buf.h"
#include "sonde/counters.h"

struct sn_vitals;
struct sn_vitals_reader;
struct sonde_event;

/* What all processes of one watching have in common. */
struct sn_watching {
    struct sonde_hub *hub; /* borrows */
    struct sn_counter_specs specs;
    uint64_t interval_ns;
    uint32_t max_series;
    uint32_t max_histograms;
    bool no_kernel;
    bool no_runtime;
    bool with_unreachable;
    bool no_provisional;
    bool with_rates;
    sonde_point_fn *take; /* may be NULL */
    void *user;
    struct sn_buf texts;    /* of the record at hand */
    unsigned opening_count; /* processes that have been asked and have not answered yet */
};

/* An instrument, as it was told at its begin. */
struct sn_instrument {
    bool is_observable;
    const char *meter;
    const char *name;
    const char *description;
};

enum sn_watched_stage {
    SN_WATCHED_IDLE,    /* nobody is asked */
    SN_WATCHED_FIRST,   /* over a short interval, for values at once */
    SN_WATCHED_GAP,     /* a session ends: an interval cannot grow while one is open */
    SN_WATCHED_LASTING, /* over the wanted one */
};

struct sn_watched {
    struct sn_watched *next;
    struct sn_watching *common; /* borrows */
    struct sn_process_sight sight;
    struct sn_point_series_set series;       /* the runtime's */
    struct sn_point_series_set vital_series; /* the kernel's */

    enum sn_watched_stage stage;
    uint64_t stage_ns;               /* since when; monotonic */
    uint64_t answered_ns;            /* the first value over a whole interval came; 0: not yet */
    uint64_t heard_ns;               /* and the last */
    uint64_t live_ns;                /* all that is asked for comes; 0: not yet */
    uint64_t meters_age_ns;          /* the age from which meters may be asked for */
    uint64_t old_ns;                 /* when it is reached; see hub_steps.c */
    bool has_meters_asked;           /* they are in it, or nobody wants any */
    bool begins_anew;                /* behind the gap: now with them */
    uint64_t retry_ns;               /* when to ask again; 0: not */
    uint64_t patience_ns;            /* how long to wait before that */
    uint64_t silence_ns;             /* how long a silence may be before the same is asked anew */
    struct sonde_consumer *consumer; /* owns, through the hub; NULL: none */
    bool is_consumer_over;           /* it said so, and is let go after the turn */
    int phase;                       /* enum sonde_consumer_phase */
    uint64_t lost_before;            /* of consumers that went */
    uint64_t ended_ns;               /* the process ended; 0: it runs */

    uint64_t interval_ns;     /* the true one */
    enum sn_points_told told; /* the most that came of the runtime's values so far */
    unsigned collected_count; /* collections since the session began whose values were handed out */
    bool has_rates_later;     /* the first collection had none of what is polled */
    bool is_complete;         /* all that was asked for has told its first values */
    bool is_enumerated;       /* which meters there are is known */
    uint64_t collection;      /* of meters: a number for each */
    uint64_t collection_ns;   /* its interval; 0: none began */
    struct sn_arena instrument_texts;
    struct sn_instrument *instruments;
    size_t instrument_count;
    size_t instrument_capacity;
    struct sn_table instrument_places; /* by meter and name */
    struct sn_table meters;            /* that answered, by name: pointers to that */

    bool is_series_limited;
    bool is_histogram_limited;
    char trouble[192]; /* of asking */
    char mistake[192]; /* of an instrument */
    struct sn_buf note;

    struct sn_vitals_reader *vitals; /* owns; NULL: not polled */
    struct sn_vitals *before;        /* owns: the poll before */
    bool has_before;
};

/* Takes the sight, also on failure. */
int sn_watched_new(struct sn_watching *common, const struct sn_process_sight *sight,
                   uint64_t meters_age_ns, struct sn_watched **ret_watched,
                   struct sonde_error *err);
void sn_watched_free(struct sn_watched *watched);

/* Whether it has been asked and has not answered yet. */
bool sn_watched_is_opening(const struct sn_watched *watched);

/* After each turn of the hub. Returns when it wants to be tended again, monotonic; UINT64_MAX: not
 * by itself. */
uint64_t sn_watched_tend(struct sn_watched *watched, uint64_t now_ns);

/* Asks the kernel, whose points are handed out. */
void sn_watched_poll(struct sn_watched *watched, uint64_t now_ns);

/* Lets series go that have been silent for long. */
void sn_watched_sweep(struct sn_watched *watched, uint64_t now_ns);

/* The latest point of every series that is not silent. */
void sn_watched_each(const struct sn_watched *watched, uint64_t now_ns, sonde_point_fn *take,
                     void *user);

/* Texts are borrowed until the next call. */
void sn_watched_show(struct sn_watched *watched, struct sonde_watched *ret_watched);

/* --- between its files --- */

/* sonde_event_fn: an event of the runtime. */
int sn_watched_event(void *user, struct sonde_event *event);

/* Whether a meter of this name has answered. */
bool sn_watched_has_meter(const struct sn_watched *watched, const char *name);

/* The session begins anew: what was told of it no longer holds. */
void sn_watched_restart(struct sn_watched *watched);

#endif
