#include "cli/remote_counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/remote.h"
#include "cli/remote_points.h"
#include "cli/remote_processes.h"
#include "net/http_client.h"

#define PROCESSES_MAX  4096u
#define ANSWER_MAX     (64u << 20)
#define SAME_CLOCK_NS  (30ll * SN_NS_PER_SECOND) /* nearer than that it is this machine's clock */
#define ROUNDS_A_VALUE 2u /* asked twice as often as values come, none is missed */

/* One process: what the controller last said of it. */
struct seen {
    uint32_t pid;
    json_t *json; /* owns the texts of `process` */
    struct sonde_process process;
    struct sn_remote_points points;
    bool is_there; /* in the last list */
    bool is_asked; /* and told its counters at least once, or why not */
    bool is_complete;
    uint64_t interval_ns;
    char note[256];
};

enum step { STEP_REST, STEP_LIST, STEP_COUNTERS };

struct source {
    struct sn_counters_source base;
    struct sn_remote *remote; /* borrows */
    const struct sonde_counters_options *options;
    sonde_point_fn *take;
    void *user;
    struct seen *seen; /* owns */
    size_t seen_count;
    enum step step;
    size_t at; /* whose counters are asked for */
    uint64_t due_ns;
    bool has_offset;
    int64_t offset_ns;
    struct sn_buf answer;
    struct sonde_point *latest; /* owns: what was last given out */
};

static const struct source *as_source(const struct sn_counters_source *source)
{
    return (const struct source *)source;
}

/* --- asking --- */

static int take_bytes(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct sn_buf *answer = user;
    sn_buf_append(answer, bytes, size);
    return answer->failed
               ? sn_fail(err, SONDE_E_LIMIT, 0, "the answer has more than %u bytes", ANSWER_MAX)
               : SONDE_OK;
}

static int send(struct source *source, const char *path, enum step step, struct sonde_error *err)
{
    struct sn_http_request request = {.method = "GET",
                                      .path = path,
                                      .accept = "application/json",
                                      .take = take_bytes,
                                      .user = &source->answer};
    sn_buf_clear(&source->answer);
    source->step = step;
    return sn_http_client_send(source->remote->client, &request, err);
}

static bool is_wanted(const struct sonde_counters_options *options,
                      const struct sonde_process *process)
{
    if (options->all)
        return true;
    for (size_t i = 0; i < options->pid_count; i++) {
        if (options->pids[i] == process->pid)
            return true;
    }
    for (size_t i = 0; i < options->name_count; i++) {
        if (sonde_process_is_called(process, options->names[i]))
            return true;
    }
    return false;
}

/* The next process that is there is asked; behind the last one there is a rest. */
static int send_next(struct source *source, struct sonde_error *err)
{
    char path[64];
    while (source->at < source->seen_count && !source->seen[source->at].is_there)
        source->at++;
    if (source->at == source->seen_count) {
        source->step = STEP_REST;
        return SONDE_OK;
    }
    (void)snprintf(path, sizeof(path), "/api/v1/processes/%" PRIu32 "/counters",
                   source->seen[source->at].pid);
    return send(source, path, STEP_COUNTERS, err);
}

/* --- processes --- */

static struct seen *find_seen(struct source *source, uint32_t pid)
{
    for (size_t i = 0; i < source->seen_count; i++) {
        if (source->seen[i].pid == pid)
            return &source->seen[i];
    }
    if (source->seen_count == PROCESSES_MAX)
        return NULL;
    struct seen *seen = &source->seen[source->seen_count++];
    *seen = (struct seen){.pid = pid};
    return seen;
}

static void see_process(struct source *source, json_t *object)
{
    struct sonde_process process;
    sn_remote_process_read(object, &process);
    if (!process.pid || !is_wanted(source->options, &process))
        return;
    struct seen *seen = find_seen(source, process.pid);
    if (!seen)
        return;
    json_decref(seen->json);
    seen->json = json_incref(object);
    seen->process = process;
    seen->is_there = process.is_reachable != 0;
    if (!process.is_reachable)
        (void)snprintf(seen->note, sizeof(seen->note), "%.250s", process.reason);
}

/* Nobody was found at all: by number that is an error, by name one may come. */
static int check_pids(const struct source *source, struct sonde_error *err)
{
    for (size_t i = 0; i < source->options->pid_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < source->seen_count; k++)
            is_known = is_known || source->seen[k].pid == source->options->pids[i];
        if (!is_known)
            return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                           "there is no .NET process %" PRIu32 " where the controller is",
                           source->options->pids[i]);
    }
    return SONDE_OK;
}

static int take_list(struct source *source, json_t *answer, struct sonde_error *err)
{
    json_t *list = json_is_array(answer) ? answer : json_object_get(answer, "processes");
    if (!json_is_array(list))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the controller's list of processes is none");
    for (size_t i = 0; i < source->seen_count; i++)
        source->seen[i].is_there = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        see_process(source, json_array_get(list, i));
    int rc = check_pids(source, err);
    source->at = 0;
    return rc == SONDE_OK ? send_next(source, err) : rc;
}

/* --- their counters --- */

/* Times are of the controller's machine, whose clock may be another than ours: they are moved so
 * that the first ones are of now. */
static int64_t offset_of(struct source *source, const json_t *list)
{
    uint64_t latest = 0;
    for (size_t i = 0; !source->has_offset && i < json_array_size(list); i++) {
        uint64_t utc_ns = sn_remote_points_time(json_array_get(list, i));
        latest = utc_ns > latest ? utc_ns : latest;
    }
    if (source->has_offset || !latest)
        return source->offset_ns;
    int64_t apart = (int64_t)(sn_clock_utc_ns() - latest);
    bool is_same = apart > -SAME_CLOCK_NS && apart < SAME_CLOCK_NS;
    source->offset_ns =
        (int64_t)(sn_clock_monotonic_ns() - sn_clock_utc_ns()) + (is_same ? 0 : apart);
    source->has_offset = true;
    return source->offset_ns;
}

/* Both lists are in order: what is new, or newer than before, has come. */
static void hand_out(struct source *source, const struct sn_remote_points *before,
                     const struct sn_remote_points *now)
{
    size_t k = 0;
    for (size_t i = 0; i < now->count; i++) {
        const struct sonde_point *point = &now->items[i];
        while (k < before->count && sn_remote_points_compare(&before->items[k], point) < 0)
            k++;
        bool is_old = k < before->count &&
                      sn_remote_points_compare(&before->items[k], point) == 0 &&
                      before->items[k].time_ns >= point->time_ns;
        if (!is_old && (!point->is_provisional || !source->options->no_provisional))
            source->take(source->user, point);
    }
}

/* Points say whose they are; those of others are not believed. */
static void own_points(const struct seen *seen, struct sn_remote_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        points->items[i].pid = seen->pid;
}

static int take_counters(struct source *source, const json_t *answer, struct sonde_error *err)
{
    struct seen *seen = &source->seen[source->at];
    const json_t *list = json_is_array(answer) ? answer : json_object_get(answer, "counters");
    struct sn_remote_points points = {0};
    int rc = sn_remote_points_read(list, offset_of(source, list), &points, err);
    if (rc != SONDE_OK)
        return rc;
    own_points(seen, &points);
    (void)snprintf(seen->note, sizeof(seen->note), "%.250s", sn_remote_text(answer, "note"));
    hand_out(source, &seen->points, &points);
    sn_remote_points_done(&seen->points);
    seen->points = points;
    seen->is_asked = seen->is_asked || points.count > 0;
    seen->interval_ns = source->remote->interval_ns;
    seen->is_complete = sn_remote_bool(answer, "isComplete");
    seen->is_there = !sn_remote_bool(answer, "hasEnded");
    source->at++;
    return send_next(source, err);
}

/* One that has gone between the list and the question, or is not watched, is no failure. */
static int pass_over(struct source *source, const struct sonde_error *cause,
                     struct sonde_error *err)
{
    struct seen *seen = &source->seen[source->at];
    if (source->step != STEP_COUNTERS ||
        sn_http_client_answer(source->remote->client)->status != 404)
        return sn_remote_fail(source->remote, cause, err);
    struct sonde_error why = {0};
    (void)sn_remote_fail(source->remote, cause, &why);
    (void)snprintf(seen->note, sizeof(seen->note), "%.250s", why.text);
    seen->is_asked = true;
    source->at++;
    return send_next(source, err);
}

static int take_answer(struct source *source, struct sonde_error *err)
{
    json_t *answer = json_loadb((const char *)source->answer.bytes, source->answer.size, 0, NULL);
    if (!answer)
        return sn_fail(err, SONDE_E_FORMAT, 0, "%.200s: the answer is no JSON",
                       sn_http_client_url(source->remote->client));
    int rc = source->step == STEP_LIST ? take_list(source, answer, err)
                                       : take_counters(source, answer, err);
    json_decref(answer);
    return rc;
}

/* --- as a source --- */

static int source_fd(const struct sn_counters_source *base)
{
    const struct source *source = as_source(base);
    return source->step == STEP_REST ? -1 : sn_http_client_fd(source->remote->client);
}

static int source_wait_ms(const struct sn_counters_source *base)
{
    const struct source *source = as_source(base);
    return source->step == STEP_REST ? sn_clock_poll_ms(source->due_ns) : 1000;
}

static int begin_round(struct source *source, struct sonde_error *err)
{
    uint64_t interval =
        source->remote->interval_ns ? source->remote->interval_ns : SN_NS_PER_SECOND;
    if (sn_clock_monotonic_ns() < source->due_ns)
        return SONDE_OK;
    source->due_ns = sn_clock_deadline(interval / ROUNDS_A_VALUE);
    return send(source, "/api/v1/processes", STEP_LIST, err);
}

static int source_turn(struct sn_counters_source *base, struct sonde_error *err)
{
    struct source *source = (struct source *)base;
    if (sn_http_client_is_stopped(source->remote->client))
        return SONDE_OK; /* who waits for us sees it too */
    int rc = source->step == STEP_REST ? begin_round(source, err) : SONDE_OK;
    while (rc == SONDE_OK && source->step != STEP_REST) {
        struct sonde_error cause = {0};
        rc = sn_http_client_receive(source->remote->client, 0, &cause);
        if (rc == SONDE_AGAIN)
            return SONDE_OK;
        rc = rc == SONDE_OK ? take_answer(source, err) : pass_over(source, &cause, err);
    }
    return rc;
}

static size_t source_process_count(const struct sn_counters_source *base)
{
    return as_source(base)->seen_count;
}

static void watch(const struct seen *seen, struct sonde_watched *ret_watched)
{
    *ret_watched = (struct sonde_watched){
        .process = &seen->process,
        .phase = seen->is_there ? seen->is_asked ? SONDE_CONSUMER_LIVE : SONDE_CONSUMER_OPENING
                                : SONDE_CONSUMER_ENDED,
        .note = seen->note,
        .interval_ns = seen->is_asked ? seen->interval_ns : 0,
        .is_complete = seen->is_complete,
    };
}

static void source_process(const struct sn_counters_source *base, size_t index,
                           struct sonde_watched *ret_watched)
{
    watch(&as_source(base)->seen[index], ret_watched);
}

static bool source_find(const struct sn_counters_source *base, uint32_t pid,
                        struct sonde_watched *ret_watched)
{
    const struct source *source = as_source(base);
    for (size_t i = 0; i < source->seen_count; i++) {
        if (source->seen[i].pid == pid) {
            watch(&source->seen[i], ret_watched);
            return true;
        }
    }
    return false;
}

static int compare(const void *left, const void *right)
{
    return sn_remote_points_compare(left, right);
}

static int source_latest(struct sn_counters_source *base, uint32_t pid,
                         const struct sonde_point **ret_points, size_t *ret_count,
                         struct sonde_error *err)
{
    struct source *source = (struct source *)base;
    size_t total = 0;
    size_t count = 0;
    for (size_t i = 0; i < source->seen_count; i++)
        total += source->seen[i].points.count;
    free(source->latest);
    source->latest = calloc(total + 1, sizeof(*source->latest));
    if (!source->latest)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for values");
    for (size_t i = 0; i < source->seen_count; i++) {
        const struct seen *seen = &source->seen[i];
        if (!seen->is_there || (pid && seen->pid != pid) || !seen->points.count)
            continue;
        memcpy(source->latest + count, seen->points.items,
               seen->points.count * sizeof(*source->latest));
        count += seen->points.count;
    }
    if (count)
        qsort(source->latest, count, sizeof(*source->latest), compare);
    *ret_points = source->latest;
    *ret_count = count;
    return SONDE_OK;
}

static void source_free(struct sn_counters_source *base)
{
    struct source *source = (struct source *)base;
    for (size_t i = 0; i < source->seen_count; i++) {
        json_decref(source->seen[i].json);
        sn_remote_points_done(&source->seen[i].points);
    }
    sn_buf_done(&source->answer);
    free(source->seen);
    free(source->latest);
    free(source);
}

static const struct sn_counters_source_ops source_ops = {
    .fd = source_fd,
    .wait_ms = source_wait_ms,
    .turn = source_turn,
    .process_count = source_process_count,
    .process = source_process,
    .find = source_find,
    .latest = source_latest,
    .free = source_free,
};

bool sn_remote_counters_suit(const struct sonde_counters_options *options)
{
    return !options->counter_count && !options->max_series && !options->max_histograms &&
           !options->meters_age_ns && !options->no_kernel && !options->no_runtime;
}

bool sn_remote_counters_are_same(const struct sn_remote *remote,
                                 const struct sonde_counters_options *options)
{
    uint64_t interval = options->interval_ns ? options->interval_ns : SN_NS_PER_SECOND;
    return remote->has_counters && remote->has_usual_counters && remote->interval_ns == interval;
}

/* Named: what it watches is told, unless that is not what was asked for. */
static int check_options(const struct sn_remote *remote,
                         const struct sonde_counters_options *options, struct sonde_error *err)
{
    if (!sn_remote_counters_suit(options))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a controller watches what it was told to: --counters, --max-series, "
                       "--max-histograms, --meters-age, --no-kernel and --no-runtimes are for "
                       "'sonde serve'");
    if (!remote->has_counters)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "%.200s watches no counters",
                       sn_http_client_url(remote->client));
    if (options->interval_ns && options->interval_ns != remote->interval_ns)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "%.200s has a value every %.3g s: leave --interval out",
                       sn_http_client_url(remote->client), (double)remote->interval_ns / 1e9);
    return SONDE_OK;
}

/* Who is there is known before anything is shown. */
static int begin(struct source *source, struct sonde_error *err)
{
    json_t *list = NULL;
    source->seen = calloc(PROCESSES_MAX, sizeof(*source->seen));
    if (!source->seen)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for processes");
    int rc = sn_remote_ask(source->remote, "GET", "/api/v1/processes", NULL, &list, err);
    if (rc == SONDE_OK)
        rc = take_list(source, list, err);
    json_decref(list);
    return rc;
}

int sn_remote_counters_source(struct sn_remote *remote,
                              const struct sonde_counters_options *options, sonde_point_fn *take,
                              void *user, struct sn_counters_source **ret_source,
                              struct sonde_error *err)
{
    int rc = check_options(remote, options, err);
    if (rc != SONDE_OK)
        return rc;
    struct source *source = calloc(1, sizeof(*source));
    if (!source)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    source->base = (struct sn_counters_source){.ops = &source_ops, .is_remote = true};
    source->remote = remote;
    source->options = options;
    source->take = take;
    source->user = user;
    source->answer = sn_buf_with_limit(ANSWER_MAX);
    rc = begin(source, err);
    if (rc != SONDE_OK) {
        source_free(&source->base);
        return rc;
    }
    *ret_source = &source->base;
    return SONDE_OK;
}
