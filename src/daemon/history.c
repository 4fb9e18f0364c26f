/* /api/v1/history: what the store knows of counters, methods and processes that were. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/point_text.h"
#include "daemon/query.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "daemon/store_desk.h"

/* The store's thread has other things to do: points come every second. A week of counters takes it
 * seconds, so they are read in slices, between which it does what else there is. */
#define PATIENCE_NS (2ull * SN_NS_PER_SECOND)
#define SLICE_NS    (500ull * SN_NS_PER_MS)
#define SLICES_NS   (20ull * SN_NS_PER_SECOND) /* all of one answer */

/* A time that was given was checked by the router. */
static uint64_t time_of(const struct sn_rest_call *call, const char *name, uint64_t standard)
{
    const char *text = sn_rest_text(call, name);
    uint64_t utc_ns;
    return text && sn_query_time(text, &utc_ns) ? utc_ns : standard;
}

/* False, and the call has its problem: nothing is kept. */
static bool begin(struct sn_rest_call *call, struct sn_store_query *query, bool *ret_is_late,
                  struct sn_store **ret_store)
{
    *ret_is_late = false;
    *query = (struct sn_store_query){.process = sn_rest_text(call, "process"),
                                     .from_ns = time_of(call, "from", 0),
                                     .to_ns = time_of(call, "to", UINT64_MAX),
                                     .limit = (size_t)sn_rest_number(call, "limit"),
                                     .deadline_ns = sn_clock_deadline(PATIENCE_NS),
                                     .ret_is_late = ret_is_late};
    *ret_store = call->daemon->store ? sn_store_desk_store(call->daemon->store) : NULL;
    if (*ret_store && query->from_ns <= query->to_ns) {
        sn_store_desk_catch_up(call->daemon->store); /* of a process that has just ended, too */
        return true;
    }
    if (!*ret_store)
        sn_rest_problem(call, 404, "nothing is kept: the controller runs without a store");
    else
        sn_rest_invalid(call, "from", "it is after 'to'");
    return false;
}

static void put_time(struct sn_json *json, const char *key, uint64_t utc_ns)
{
    char text[32];
    sn_json_text(json, key, sn_clock_rfc3339(utc_ns, text));
}

static void finish(struct sn_rest_call *call, int rc, const struct sonde_error *err)
{
    if (rc != SONDE_OK)
        sn_rest_failed(call, err);
    else if (call->out.failed)
        sn_rest_problem(call, 413,
                        "the answer is too long: ask for less time, fewer counters, "
                        "or a step");
}

/* --- counters --- */

struct counters_answer {
    struct sn_json json;
    struct sn_buf *out;
    bool has_step;
    bool has_series;
    int64_t process_id;
    uint64_t hash; /* of the series under way, with what is kept of it */
    size_t count;
};

static void begin_series(struct counters_answer *answer, const struct sn_store_sample *sample)
{
    struct sn_json *json = &answer->json;
    sn_json_object(json, NULL);
    sn_json_i64(json, "processId", sample->process_id);
    sn_json_u64(json, "pid", sample->pid);
    sn_json_text(json, "process", sample->process);
    sn_json_text(json, "provider", sample->provider);
    sn_json_text(json, "counter", sample->counter);
    sn_json_text(json, "unit", sample->unit);
    sn_json_text(json, "tags", sample->tags);
    sn_json_text(json, "kind", sn_point_kind_name(sample->kind));
    if (sample->kind == SONDE_POINT_HISTOGRAM)
        sn_json_bool(json, "hasMeansOnly", !sample->has_parts);
    sn_json_array(json, "points");
}

static void end_series(struct counters_answer *answer)
{
    if (!answer->has_series)
        return;
    sn_json_close(&answer->json);
    sn_json_close(&answer->json);
}

static bool is_other(const struct counters_answer *answer, const struct sn_store_sample *sample,
                     uint64_t hash)
{
    return !answer->has_series || answer->process_id != sample->process_id || answer->hash != hash;
}

static const struct quantile {
    double at;
    const char *low;
    const char *high;
} quantiles[SN_STORE_QUANTILES] = {
    {0.5, "p50Low", "p50High"}, {0.95, "p95Low", "p95High"}, {0.99, "p99Low", "p99High"}};

/* A percentile of several intervals is nobody's to tell: it lies between the lowest and the highest
 * of theirs. */
static void put_bands(struct sn_json *json, const struct sn_store_sample *sample)
{
    sn_json_array(json, "quantiles");
    for (size_t i = 0; i < SN_STORE_QUANTILES; i++) {
        const struct sn_store_band *band = &sample->quantiles[i];
        if (isnan(band->low))
            continue;
        sn_json_object(json, NULL);
        sn_json_real(json, "at", quantiles[i].at);
        sn_json_exact_real(json, "low", band->low);
        sn_json_exact_real(json, "high", band->high);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void put_parts(struct sn_json *json, const struct sn_store_sample *sample)
{
    sn_json_exact_real(json, "measurements", sample->measurement_count);
    sn_json_exact_real(json, "sum", sample->sum);
    sn_json_exact_real(json, "seconds", sample->seconds);
    if (sample->measurement_count > 0)
        put_bands(json, sample);
}

static bool put_sample(void *user, const struct sn_store_sample *sample)
{
    struct counters_answer *answer = user;
    struct sn_json *json = &answer->json;
    uint64_t hash = sn_text_hash(0, sample->provider);
    hash = sn_text_hash(sn_text_hash(hash, sample->counter), sample->tags);
    hash += (uint64_t)sample->kind * 2 + sample->has_parts;
    if (is_other(answer, sample, hash)) {
        end_series(answer);
        begin_series(answer, sample);
        answer->has_series = true;
        answer->process_id = sample->process_id;
        answer->hash = hash;
    }
    sn_json_object(json, NULL);
    put_time(json, "time", sample->utc_ns);
    sn_json_exact_real(json, "value", sample->value);
    if (answer->has_step) {
        sn_json_exact_real(json, "min", sample->min);
        sn_json_exact_real(json, "max", sample->max);
        sn_json_u64(json, "count", sample->count);
    }
    if (sample->has_parts)
        put_parts(json, sample);
    sn_json_close(json);
    answer->count++;
    return !answer->out->failed;
}

/* A cell whose text cannot end it, nor be taken for a formula. */
static void put_cell(struct sn_buf *out, const char *text)
{
    bool is_formula = *text && strchr("=+-@\t\r", *text);
    sn_buf_text(out, is_formula ? "\"'" : "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"')
            sn_buf_u8(out, '"');
        sn_buf_u8(out, (unsigned char)*at < 0x20 ? ' ' : (uint8_t)*at);
    }
    sn_buf_text(out, "\",");
}

struct lines {
    struct sn_buf *out;
    size_t count;
};

/* Empty where there is none. */
static void put_number(struct sn_buf *out, double value)
{
    char text[32];
    sn_buf_format(out, "%s,", isfinite(value) ? sn_text_exact_real(value, text) : "");
}

static void put_part_cells(struct sn_buf *out, const struct sn_store_sample *sample)
{
    put_number(out, sample->has_parts ? sample->measurement_count : NAN);
    put_number(out, sample->has_parts ? sample->sum : NAN);
    put_number(out, sample->has_parts ? sample->seconds : NAN);
    for (size_t i = 0; i < SN_STORE_QUANTILES; i++) {
        put_number(out, sample->has_parts ? sample->quantiles[i].low : NAN);
        put_number(out, sample->has_parts ? sample->quantiles[i].high : NAN);
    }
}

static void put_csv_head(struct sn_buf *out)
{
    sn_buf_text(out, "time,pid,process,provider,counter,tags,unit,value,min,max,count,"
                     "measurements,sum,seconds");
    for (size_t i = 0; i < SN_STORE_QUANTILES; i++)
        sn_buf_format(out, ",%s,%s", quantiles[i].low, quantiles[i].high);
    sn_buf_text(out, ",kind\r\n");
}

static bool put_line(void *user, const struct sn_store_sample *sample)
{
    struct lines *lines = user;
    struct sn_buf *out = lines->out;
    char time[32];
    sn_buf_format(out, "%s,%u,", sn_clock_rfc3339(sample->utc_ns, time), sample->pid);
    put_cell(out, sample->process);
    put_cell(out, sample->provider);
    put_cell(out, sample->counter);
    put_cell(out, sample->tags);
    put_cell(out, sample->unit);
    put_number(out, sample->value);
    put_number(out, sample->min);
    put_number(out, sample->max);
    sn_buf_format(out, "%llu,", (unsigned long long)sample->count);
    put_part_cells(out, sample);
    sn_buf_format(out, "%s\r\n", sn_point_kind_name(sample->kind));
    lines->count++;
    return !out->failed;
}

static bool wants_csv(const struct sn_rest_call *call)
{
    const char *format = sn_rest_text(call, "format");
    return format ? strcmp(format, "csv") == 0 : sn_rest_prefers(call, "text/csv");
}

/* One answer, however many slices it takes. */
struct counters_history {
    struct sn_store_query query;
    struct sn_store_place place;
    bool is_late;
    bool is_csv;
    struct counters_answer json;
    struct lines csv;
};

static size_t told_count(const struct counters_history *history)
{
    return history->is_csv ? history->csv.count : history->json.count;
}

static void end_json(struct counters_answer *answer, bool is_truncated)
{
    end_series(answer);
    sn_json_close(&answer->json);
    sn_json_bool(&answer->json, "isTruncated", is_truncated);
    sn_json_close(&answer->json);
}

static void read_slice(struct sn_rest_call *call)
{
    struct counters_history *history = call->user;
    struct sn_store *store = sn_store_desk_store(call->daemon->store);
    struct sn_store_query slice = history->query;
    struct sonde_error err = {0};
    slice.pause_ns = sn_clock_deadline(SLICE_NS);
    slice.limit -= told_count(history);
    int rc = history->is_csv ? sn_store_history(store, &slice, put_line, &history->csv, &err)
                             : sn_store_history(store, &slice, put_sample, &history->json, &err);
    if (rc == SONDE_OK && history->place.is_paused && !call->is_gone && !call->out.failed) {
        sn_rest_move(call, SN_SEAT_STORE, read_slice);
        return;
    }
    bool is_truncated = told_count(history) == history->query.limit || history->is_late;
    if (!history->is_csv)
        end_json(&history->json, is_truncated);
    else if (is_truncated)
        sn_rest_header(call, "X-Sonde-Truncated", "true"); /* the lines have no place for it */
    finish(call, rc, &err);
}

static void begin_answer(struct sn_rest_call *call, struct counters_history *history)
{
    history->is_csv = wants_csv(call);
    if (history->is_csv) {
        call->content_type = "text/csv; charset=utf-8";
        put_csv_head(&call->out);
        history->csv.out = &call->out;
        return;
    }
    history->json = (struct counters_answer){
        .json = sn_json_to(&call->out), .out = &call->out, .has_step = history->query.step_ns > 0};
    sn_json_object(&history->json.json, NULL);
    sn_json_array(&history->json.json, "series");
}

static void get_counters(struct sn_rest_call *call)
{
    struct counters_history *history = calloc(1, sizeof(*history));
    struct sn_store *store;
    if (!history) {
        sn_rest_problem(call, 503, "no memory");
        return;
    }
    call->user = history;
    call->free_user = free;
    if (!begin(call, &history->query, &history->is_late, &store))
        return;
    history->query.pid = sn_rest_text(call, "pid") ? (uint32_t)sn_rest_number(call, "pid") : 0;
    history->query.provider = sn_rest_text(call, "provider");
    history->query.counter = sn_rest_text(call, "counter");
    history->query.step_ns = (uint64_t)sn_rest_number(call, "step") * SN_NS_PER_SECOND;
    history->query.deadline_ns = sn_clock_deadline(SLICES_NS);
    history->query.place = &history->place;
    begin_answer(call, history);
    read_slice(call);
}

/* --- methods --- */

struct rows {
    struct sn_json json;
    size_t count;
};

static void end_rows(struct rows *rows, const struct sn_store_query *query)
{
    sn_json_close(&rows->json);
    sn_json_bool(&rows->json, "isTruncated", rows->count == query->limit || *query->ret_is_late);
    sn_json_close(&rows->json);
}

static bool put_hit(void *user, const struct sn_store_hit *hit)
{
    struct rows *rows = user;
    struct sn_json *json = &rows->json;
    rows->count++;
    sn_json_object(json, NULL);
    sn_json_text(json, "recording", hit->recording_id);
    sn_json_text(json, "process", hit->process);
    put_time(json, "createdUtc", hit->created_utc_ns);
    sn_json_text(json, "view", hit->view);
    sn_json_text(json, "method", hit->method);
    sn_json_text(json, "module", hit->module);
    sn_json_u64(json, "self", hit->self);
    sn_json_u64(json, "total", hit->total);
    sn_json_u64(json, "all", hit->all);
    sn_json_close(json);
    return !json->out->failed;
}

static void get_methods(struct sn_rest_call *call)
{
    struct sn_store_query query;
    struct sn_store *store;
    bool is_late;
    struct sonde_error err = {0};
    if (!begin(call, &query, &is_late, &store))
        return;
    query.method = sn_rest_text(call, "method");
    struct rows rows = {.json = sn_json_to(&call->out)};
    sn_json_object(&rows.json, NULL);
    sn_json_array(&rows.json, "methods");
    int rc = sn_store_methods(store, &query, put_hit, &rows, &err);
    end_rows(&rows, &query);
    finish(call, rc, &err);
}

/* --- processes --- */

static bool put_seen(void *user, const struct sn_store_seen *seen)
{
    struct rows *rows = user;
    struct sn_json *json = &rows->json;
    rows->count++;
    sn_json_object(json, NULL);
    sn_json_i64(json, "processId", seen->id);
    sn_json_u64(json, "pid", seen->process.pid);
    sn_json_text(json, "name", seen->process.name);
    sn_json_text(json, "runtime", seen->process.runtime);
    sn_json_text(json, "user", seen->process.user);
    sn_json_text(json, "container", seen->process.container);
    sn_json_text(json, "commandLine", seen->process.command_line);
    put_time(json, "firstUtc", seen->first_utc_ns);
    put_time(json, "lastUtc", seen->last_utc_ns);
    sn_json_close(json);
    return !json->out->failed;
}

static void get_processes(struct sn_rest_call *call)
{
    struct sn_store_query query;
    struct sn_store *store;
    bool is_late;
    struct sonde_error err = {0};
    if (!begin(call, &query, &is_late, &store))
        return;
    struct rows rows = {.json = sn_json_to(&call->out)};
    sn_json_object(&rows.json, NULL);
    sn_json_array(&rows.json, "processes");
    int rc = sn_store_processes(store, &query, put_seen, &rows, &err);
    end_rows(&rows, &query);
    finish(call, rc, &err);
}

/* --- the table --- */

#define PARAMETER_PROCESS                                                          \
    {                                                                              \
        .name = "process", .summary = "names of processes: a part, or a * pattern" \
    }
#define PARAMETER_FROM                                                                             \
    {                                                                                              \
        .name = "from", .kind = SN_PARAMETER_TIME, .summary = "nothing from before then; -5m: ago" \
    }
#define PARAMETER_TO                                                                  \
    {                                                                                 \
        .name = "to", .kind = SN_PARAMETER_TIME, .summary = "nothing from after then" \
    }
#define PARAMETER_LIMIT(most, usual)                                                 \
    {                                                                                \
        .name = "limit", .kind = SN_PARAMETER_NUMBER, .summary = "how many at most", \
        .standard = (usual), .min = 1, .max = (most)                                 \
    }

static const struct sn_parameter counters_parameters[] = {
    {.name = "pid",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "processes that had this pid",
     .min = 1,
     .max = INT32_MAX},
    PARAMETER_PROCESS,
    {.name = "provider", .summary = "names of EventSources and meters: a part, or a * pattern"},
    {.name = "counter", .summary = "names of counters: a part, or a * pattern"},
    PARAMETER_FROM,
    PARAMETER_TO,
    {.name = "step",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "points are put together by steps of so many seconds; 0: as they are",
     .standard = "0",
     .min = 0,
     .max = 604800}, /* a week */
    PARAMETER_LIMIT(100000, "10000"),
    {.name = "format",
     .kind = SN_PARAMETER_WORD,
     .summary = "instead of Accept",
     .words = "json,csv"},
    {.name = NULL},
};

static const struct sn_parameter methods_parameters[] = {
    {.name = "method", .summary = "names of methods: a part, or a * pattern", .is_required = true},
    PARAMETER_PROCESS,
    PARAMETER_FROM,
    PARAMETER_TO,
    PARAMETER_LIMIT(10000, "100"),
    {.name = NULL},
};

static const struct sn_parameter processes_parameters[] = {
    PARAMETER_PROCESS, PARAMETER_FROM, PARAMETER_TO, PARAMETER_LIMIT(100000, "1000"),
    {.name = NULL},
};

#define NOTHING_KEPT                                                                      \
    {                                                                                     \
        404, "application/problem+json", "Problem", "the controller runs without a store" \
    }

static const struct sn_response counters_responses[] = {
    {200, "application/json,text/csv", "CounterHistory", "points by process and counter"},
    NOTHING_KEPT,
    {413, "application/problem+json", "Problem", "more than one answer can hold"},
    {.status = 0},
};

static const struct sn_response methods_responses[] = {
    {200, "application/json", "MethodHistory", "recordings that spent time there, most first"},
    NOTHING_KEPT,
    {413, "application/problem+json", "Problem", "more than one answer can hold"},
    {.status = 0},
};

static const struct sn_response processes_responses[] = {
    {200, "application/json", "ProcessHistory", "processes in the order of their coming"},
    NOTHING_KEPT,
    {413, "application/problem+json", "Problem", "more than one answer can hold"},
    {.status = 0},
};

const struct sn_route sn_history_routes[] = {
    {.method = "GET",
     .path = "/api/v1/history/counters",
     .resource = "history",
     .scope = SN_SCOPE_METRICS,
     .seat = SN_SEAT_STORE,
     .parameters = counters_parameters,
     .responses = counters_responses,
     .summary = "what counters and metrics were, also of processes that have ended",
     .handle = get_counters},
    {.method = "GET",
     .path = "/api/v1/history/methods",
     .resource = "history",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_STORE,
     .parameters = methods_parameters,
     .responses = methods_responses,
     .summary = "which recordings spent time in methods of that name",
     .handle = get_methods},
    {.method = "GET",
     .path = "/api/v1/history/processes",
     .resource = "history",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_STORE,
     .parameters = processes_parameters,
     .responses = processes_responses,
     .summary = "the processes that the store knows",
     .handle = get_processes},
    {.method = NULL},
};
