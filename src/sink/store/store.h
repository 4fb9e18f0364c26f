/* What the controller keeps: SQLite for what is looked up, columns of counters and samples in zstd
 * chunks, recordings as files beside it. One thread.
 *
 * Acknowledged means: sn_store_commit returned SONDE_OK. That survives our death at any moment, and
 * the machine's. A store that was cut short opens again; what cannot be read any more is set aside
 * and counted, never in the way. Times of points are kept to the millisecond. */
#ifndef SN_STORE_H
#define SN_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/counters.h"
#include "sonde/error.h"

struct sn_store;

/* SONDE_E_UNSUPPORTED: a newer sonde made it; SONDE_E_BUSY: another controller has it; a damaged
 * one is set aside, and a new one begun. Recordings that ran when an earlier life ended are Failed
 * now, with their files. */
struct sn_store_options {
    const char *folder;  /* made if it is not there, 0700; store.db and files/ in it */
    uint64_t bytes_max;  /* of everything together; 0: 2 GB */
    uint64_t age_max_ns; /* 0: seven days */
};

int sn_store_open(const struct sn_store_options *options, struct sn_store **ret_store,
                  struct sonde_error *err);
void sn_store_close(
    struct sn_store *store); /* what was not committed is committed if possible; NULL is fine */

/* Writes what was put since the last commit. SONDE_E_SYSTEM and the like: the disk is full or
 * broken; the store goes on, tries again with the next commit and keeps what it can (bounded,
 * counted) meanwhile. */
int sn_store_commit(struct sn_store *store, struct sonde_error *err);

struct sn_store_health {
    bool is_degraded;
    char why[160];
    uint64_t bytes;         /* of everything */
    uint64_t dropped_count; /* points that could not be kept */
    uint64_t clamped_count; /* points whose times could not be: they got the time they came at */
    uint64_t damaged_count; /* chunks that cannot be read */
    uint32_t schema_version;
    char set_aside[64]; /* the name that a damaged database got since we began; "" */
};
void sn_store_health(const struct sn_store *store, struct sn_store_health *ret_health);

/* What is in it, as committed; 0 for what cannot be read now. Takes a few milliseconds. */
struct sn_store_numbers {
    uint64_t bytes_max;
    uint64_t age_max_ns;
    uint64_t free_bytes;    /* of its disk */
    uint64_t oldest_utc_ns; /* of what is kept; 0: nothing is */
    uint64_t process_count;
    uint64_t series_count;
    uint64_t recording_count;
    uint64_t recording_bytes;
};
void sn_store_numbers(struct sn_store *store, struct sn_store_numbers *ret_numbers);

/* Other limits from now on, until it is closed; 0: as it is. The next sweeps see to them. */
void sn_store_limit(struct sn_store *store, uint64_t bytes_max, uint64_t age_max_ns);

/* --- processes --- */

/* A process is itself by pid and start: pids come back. */
struct sn_store_process {
    uint32_t pid;
    uint64_t start_ticks;
    const char *name;
    const char *runtime;
    const char *user;
    const char *container;
    const char *command_line; /* redacted */
};
int sn_store_process(struct sn_store *store, const struct sn_store_process *process,
                     int64_t *ret_id, struct sonde_error *err);

/* One that was seen, in the order of their coming; what of the query is of processes counts. */
struct sn_store_seen {
    int64_t id;
    struct sn_store_process process;
    uint64_t first_utc_ns;
    uint64_t last_utc_ns; /* of its points */
};
struct sn_store_query;
int sn_store_processes(struct sn_store *store, const struct sn_store_query *query,
                       bool (*each)(void *user, const struct sn_store_seen *seen), void *user,
                       struct sonde_error *err);

/* --- counters --- */

/* Buffers the point of that process. */
int sn_store_point(struct sn_store *store, int64_t process_id, const struct sonde_point *point,
                   struct sonde_error *err);

/* Where a walk through the history paused: behind that series. */
struct sn_store_place {
    int64_t process_id;
    int64_t series_id;
    bool is_paused;
};

struct sn_store_query {
    uint32_t pid;         /* 0: any */
    const char *process;  /* pattern of names; NULL: any */
    const char *provider; /* pattern; NULL */
    const char *counter;  /* pattern; NULL */
    const char *method;   /* of recordings: pattern of method names; NULL */
    uint64_t from_ns;     /* since 1970; 0 */
    uint64_t to_ns;       /* UINT64_MAX */
    uint64_t step_ns;     /* points are put together by steps of this; 0: as they are */
    size_t limit;         /* rows at most; 0: 100000 */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC: what was not found by then is left out; 0: none */
    bool *ret_is_late;    /* set if that happened; NULL */
    uint64_t pause_ns;    /* CLOCK_MONOTONIC: from then on the history pauses between two series */
    struct sn_store_place *place; /* where, and where it goes on; NULL: it never pauses */
};

/* A percentile over several intervals: it lies between the lowest and the highest of theirs. NAN:
 * nothing was measured. */
struct sn_store_band {
    double low;
    double high;
};
#define SN_STORE_QUANTILES 3 /* 0.5, 0.95, 0.99 */

struct sn_store_sample {
    int64_t process_id;
    uint32_t pid;
    const char *process;
    const char *provider;
    const char *counter;
    const char *unit;
    const char *tags;
    uint64_t utc_ns;
    int kind;     /* enum sonde_point_kind, as it is kept: levels are SONDE_POINT_UP_DOWN */
    double value; /* a rate's rate, a gauge's value, a mean's mean, a histogram's sum / count, NAN
                     where nothing was measured */
    double min;   /* of the points in the step; of a histogram: of their means */
    double max;
    uint64_t count;           /* points in the step */
    bool has_parts;           /* a histogram with what follows; without: its means only */
    double measurement_count; /* of the histogram, in the step */
    double sum;               /* of them */
    double seconds;           /* that were measured */
    struct sn_store_band quantiles[SN_STORE_QUANTILES];
};
/* Also what was not committed yet. Ordered by process, series, time. `each` returns false to end.
 */
int sn_store_history(struct sn_store *store, const struct sn_store_query *query,
                     bool (*each)(void *user, const struct sn_store_sample *sample), void *user,
                     struct sonde_error *err);

/* --- recordings and artefacts --- */

struct sn_store_recording {
    const char *id;        /* GUID */
    const char *kind;      /* "trace" */
    const char *file;      /* its name in files/; "" while it has none */
    const char *file_name; /* as people get it */
    const char *state;
    const char *settings; /* JSON */
    const char *summary;  /* JSON: progress at its end */
    const char *owner;
    uint32_t pid;
    const char *process;
    uint64_t created_utc_ns;
    uint64_t ended_utc_ns; /* 0: runs */
    uint64_t bytes;
};
/* Puts or replaces one, and commits. While `ended_utc_ns` is 0 nothing sweeps it away. */
int sn_store_recording_put(struct sn_store *store, const struct sn_store_recording *recording,
                           struct sonde_error *err);
int sn_store_recording_delete(struct sn_store *store, const char *id,
                              struct sonde_error *err); /* its files too */
int sn_store_recordings(struct sn_store *store, const struct sn_store_query *query,
                        bool (*each)(void *user, const struct sn_store_recording *recording),
                        void *user, struct sonde_error *err);
/* Where files of recordings live; the caller makes them. */
const char *sn_store_files(const struct sn_store *store);

/* The profile of a recording, for looking up methods and for flame graphs without its file: frames
 * and call tree as columns, compressed. */
struct sn_store_method {
    const char *name;
    const char *module;
    uint64_t self;
    uint64_t total;
};
struct sn_store_profile_node {
    uint32_t parent; /* index; of the root itself */
    uint32_t method; /* UINT32_MAX for the root */
    uint64_t self;
};
struct sn_store_profile {
    const char *view; /* "cpu" */
    const char *unit;
    const struct sn_store_method *methods;
    size_t method_count;
    const struct sn_store_profile_node *nodes;
    size_t node_count;
};
int sn_store_profile_put(struct sn_store *store, const char *recording_id,
                         const struct sn_store_profile *profile, struct sonde_error *err);
/* Borrowed during the call of `with`. SONDE_E_NOT_FOUND. */
int sn_store_profile_get(struct sn_store *store, const char *recording_id, const char *view,
                         void (*with)(void *user, const struct sn_store_profile *profile),
                         void *user, struct sonde_error *err);

/* Which recordings spent time in methods of that name, most first. */
struct sn_store_hit {
    const char *recording_id;
    const char *process;
    const char *view;
    const char *method;
    const char *module;
    uint64_t self;
    uint64_t total;
    uint64_t all;
    uint64_t created_utc_ns;
};
int sn_store_methods(struct sn_store *store, const struct sn_store_query *query,
                     bool (*each)(void *user, const struct sn_store_hit *hit), void *user,
                     struct sonde_error *err);

/* Removes what is older or more than allowed, oldest first, in small steps: at most a few
 * milliseconds a call. *ret_more: there is more to do. Never what is being written. */
int sn_store_sweep(struct sn_store *store, uint64_t now_utc_ns, bool *ret_more,
                   struct sonde_error *err);

#endif
