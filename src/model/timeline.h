/* What a trace says, second by second: which threads ran when, when collections stopped the
 * program, requests, exceptions. A part of a report, made only when asked for.
 *
 * The time that is looked at is cut into buckets of one length. Times are nanoseconds, the window's
 * on the clock of the trace. One thread writes, then many read. */
#ifndef SN_TIMELINE_H
#define SN_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/report.h"

#define SN_TIMELINE_BUCKETS_MIN  10u
#define SN_TIMELINE_BUCKETS_MAX  4000u
#define SN_TIMELINE_THREADS_MAX  64u
#define SN_TIMELINE_GC_MAX       2000u
#define SN_TIMELINE_REQUESTS_MAX 500u

/* What of it is asked for. */
struct sn_timeline_window {
    uint64_t from_ns; /* since the beginning of the trace */
    uint64_t to_ns;   /* UINT64_MAX, or beyond the end: until there */
    uint32_t bucket_count;
};

struct sn_timeline_thread {
    uint64_t thread_id;
    uint32_t pid;
    const char *name;    /* borrows, as below: the profile's */
    const char *process; /* "" unless there are many */
    double ns;           /* it ran, in the window */
    double *running;     /* owns; ns, one a bucket */
};

struct sn_timeline_request {
    uint64_t start_ns;
    uint64_t end_ns;
    const char *method; /* borrow: the report's arena */
    const char *pattern;
    const char *host; /* NULL for those served */
    uint32_t status;  /* 0: not told */
    bool is_failed;
    bool is_open; /* begun and not ended */
};

/* The longest of one source, a heap: the shortest of them first. */
struct sn_timeline_requests {
    struct sn_timeline_request *list; /* owns */
    size_t count;
    uint64_t seen_count; /* in the window */
};

/* What `running` and `cpu` are made of. */
enum sn_timeline_basis {
    SN_TIMELINE_NOTHING, /* there are no samples */
    SN_TIMELINE_CPU,     /* CPU time */
    SN_TIMELINE_SAMPLES, /* the time that samples were seen not waiting: CPU time is not known */
};

struct sn_timeline {
    uint64_t from_ns;
    uint64_t to_ns;
    /* Runtimes go on a little when the trace has ended: to whoever asks for all that counts, too.
     */
    uint64_t shown_from_ns;
    uint64_t shown_to_ns;
    size_t bucket_count;
    double bucket_ns;
    enum sn_timeline_basis basis;
    double *cpu;          /* owns; ns that threads ran, all of them, one a bucket */
    uint64_t *exceptions; /* owns; thrown, one a bucket */
    struct sn_timeline_thread threads[SN_TIMELINE_THREADS_MAX]; /* most first */
    size_t thread_count;
    uint64_t thread_left_count; /* ran, and are not listed */
    uint32_t *collections;      /* owns; indices into the report's, in order of time */
    size_t gc_count;
    uint64_t gc_left_count; /* in the window and not listed */
    struct sn_timeline_requests by_source[SN_REQUEST_SOURCES];
    struct sn_timeline_request *requests; /* owns; in order of time */
    size_t request_count;
    uint64_t request_left_count; /* in the window and not listed */
};

/* Before topics are read, when it is known how long the trace is: becomes report->timeline. */
int sn_timeline_new(struct sn_report *report, const struct sn_timeline_window *window,
                    struct sonde_error *err);
void sn_timeline_free(struct sn_timeline *timeline);

/* --- from the sinks; NULL for the timeline is fine: nobody asked --- */

void sn_timeline_exception(struct sn_timeline *timeline, uint64_t time_ns);
void sn_timeline_request(struct sn_timeline *timeline, enum sn_request_source source,
                         const struct sn_timeline_request *request);
/* Of those that told of requests these two are the best: the others told of the same ones. */
int sn_timeline_take_requests(struct sn_timeline *timeline, enum sn_request_source served,
                              enum sn_request_source sent);

/* A thread ran for `ns` between two times, as evenly as is known: the part in the window goes into
 * `to`, a number a bucket. */
void sn_timeline_spread(const struct sn_timeline *timeline, double *to, const struct sn_run *run,
                        double ns);

#endif
