/* What was: the points of processes and counters over a time, from chunks and from memory, as they
 * are or put together by steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define LIMIT 100000u

typedef bool each_sample_fn(void *user, const struct sn_store_sample *sample);

struct walk {
    struct sn_store *store;
    const struct sn_store_query *query;
    uint64_t from_ms;
    uint64_t to_ms;
    size_t left; /* rows that may still be told */
    each_sample_fn *each;
    void *user;
    sqlite3_stmt *series;
    sqlite3_stmt *chunks;
    struct sn_store_sample sample; /* of the series under way; its step is filled up */
    enum sn_store_shape shape;     /* of the same */
    double sum;                    /* of values; of a histogram in sample.sum */
    struct sn_store_columns columns;
};

static bool matches(const char *pattern, const char *text)
{
    return !pattern || sn_pattern_matches(pattern, text);
}

bool sn_store_is_late(const struct sn_store_query *query)
{
    if (!query->deadline_ns || sn_clock_monotonic_ns() < query->deadline_ns)
        return false;
    if (query->ret_is_late)
        *query->ret_is_late = true;
    return true;
}

/* For the rest of the walk there is no time. */
static bool has_time(struct walk *walk)
{
    if (walk->left && sn_store_is_late(walk->query))
        walk->left = 0;
    return walk->left > 0;
}

/* --- pauses --- */

static bool is_behind(const struct walk *walk, int64_t series_id)
{
    const struct sn_store_place *place = walk->query->place;
    return place && place->process_id == walk->sample.process_id && series_id <= place->series_id;
}

static void pass(struct walk *walk, int64_t series_id)
{
    struct sn_store_place *place = walk->query->place;
    if (!place)
        return;
    place->process_id = walk->sample.process_id;
    place->series_id = series_id;
    place->is_paused = walk->left && sn_clock_monotonic_ns() >= walk->query->pause_ns;
    if (place->is_paused)
        walk->left = 0;
}

/* --- points --- */

static void tell(struct walk *walk)
{
    struct sn_store_sample *sample = &walk->sample;
    if (!sample->count || !walk->left)
        return;
    sample->value = walk->sum / (double)sample->count;
    if (walk->shape == SN_STORE_HISTOGRAM)
        sample->value =
            sample->measurement_count > 0 ? sample->sum / sample->measurement_count : NAN;
    walk->left = walk->each(walk->user, sample) ? walk->left - 1 : 0;
    sample->count = 0;
}

/* The numbers that tell nothing leave the others as they are. */
static void widen(double value, double *low, double *high)
{
    if (isnan(value))
        return;
    *low = isnan(*low) || value < *low ? value : *low;
    *high = isnan(*high) || value > *high ? value : *high;
}

static void begin_step(struct sn_store_sample *sample, uint64_t utc_ns)
{
    sample->utc_ns = utc_ns;
    sample->min = sample->max = NAN;
    sample->measurement_count = sample->sum = sample->seconds = 0;
    for (size_t i = 0; i < SN_STORE_QUANTILES; i++)
        sample->quantiles[i] = (struct sn_store_band){NAN, NAN};
}

static void add_parts(struct sn_store_sample *sample, const double *parts)
{
    double count = parts[SN_STORE_PART_COUNT];
    sample->measurement_count += count;
    sample->sum += parts[SN_STORE_PART_SUM];
    sample->seconds += parts[SN_STORE_PART_SECONDS];
    if (count <= 0)
        return;
    widen(parts[SN_STORE_PART_SUM] / count, &sample->min, &sample->max);
    for (size_t i = 0; i < SN_STORE_QUANTILES; i++)
        widen(parts[SN_STORE_PART_P50 + i], &sample->quantiles[i].low, &sample->quantiles[i].high);
}

static void take(struct walk *walk, uint64_t time_ms, const double *values)
{
    struct sn_store_sample *sample = &walk->sample;
    uint64_t utc_ns = time_ms * SN_STORE_NS_PER_MS;
    uint64_t step_ns = walk->query->step_ns;
    if (step_ns)
        utc_ns -= utc_ns % step_ns;
    if (!step_ns || utc_ns != sample->utc_ns)
        tell(walk);
    if (!sample->count) {
        begin_step(sample, utc_ns);
        walk->sum = 0;
    }
    if (walk->shape == SN_STORE_HISTOGRAM) {
        add_parts(sample, values);
    } else {
        walk->sum += *values;
        widen(*values, &sample->min, &sample->max);
    }
    sample->count++;
}

static void take_columns(struct walk *walk)
{
    const struct sn_store_columns *columns = &walk->columns;
    for (size_t i = 0; i < columns->count && walk->left; i += columns->width)
        if (columns->times_ms[i] >= walk->from_ms && columns->times_ms[i] <= walk->to_ms)
            take(walk, columns->times_ms[i], &columns->values[i]);
}

static bool is_of_shape(const struct walk *walk)
{
    return walk->columns.width == (walk->shape == SN_STORE_HISTOGRAM ? SN_STORE_PARTS : 1);
}

static int take_chunks(struct walk *walk, int64_t series_id, struct sonde_error *err)
{
    sqlite3_stmt *row = walk->chunks;
    int rc = SONDE_OK;
    (void)sqlite3_bind_int64(row, 1, series_id);
    (void)sqlite3_bind_int64(row, 2, (int64_t)walk->to_ms);
    (void)sqlite3_bind_int64(row, 3, (int64_t)walk->from_ms);
    while (has_time(walk) && (rc = sn_store_sql_row(row, err)) == SONDE_OK) {
        const void *data = sqlite3_column_blob(row, 2);
        size_t size = (size_t)sqlite3_column_bytes(row, 2);
        struct sonde_error damage = {0};
        if (sn_store_pack_checksum(data, size) == (uint32_t)sqlite3_column_int64(row, 1) &&
            sn_store_chunk_decode(&walk->store->packer, data, size, &walk->columns, &damage) ==
                SONDE_OK &&
            is_of_shape(walk))
            take_columns(walk);
        else
            sn_store_count_damaged(walk->store, sqlite3_column_int64(row, 0));
    }
    (void)sqlite3_reset(row); /* what failed was told */
    return rc < 0 ? rc : SONDE_OK;
}

/* --- series --- */

static const struct sn_store_series *in_memory(const struct sn_store_live *live, int64_t id)
{
    const struct sn_store_series *series = live ? live->series : NULL;
    while (series && series->id != id)
        series = series->next;
    return series;
}

static void take_memory(struct walk *walk, const struct sn_store_series *series)
{
    if (!series)
        return;
    sn_store_points_read(&series->points, &walk->columns);
    take_columns(walk);
}

static void set_shape(struct walk *walk, int kind, enum sn_store_shape shape)
{
    walk->shape = shape;
    walk->sample.kind = kind;
    walk->sample.has_parts = shape == SN_STORE_HISTOGRAM;
}

/* A row: id, provider, counter, tags, unit, kind, shape. */
static int walk_row(struct walk *walk, sqlite3_stmt *row, const struct sn_store_live *live,
                    struct sonde_error *err)
{
    walk->sample.provider = sn_store_sql_column(row, 1);
    walk->sample.counter = sn_store_sql_column(row, 2);
    walk->sample.tags = sn_store_sql_column(row, 3);
    walk->sample.unit = sn_store_sql_column(row, 4);
    set_shape(walk, sqlite3_column_int(row, 5), (enum sn_store_shape)sqlite3_column_int(row, 6));
    int64_t id = sqlite3_column_int64(row, 0);
    int rc = SONDE_OK;
    if (is_behind(walk, id))
        return SONDE_OK;
    if (matches(walk->query->provider, walk->sample.provider) &&
        matches(walk->query->counter, walk->sample.counter)) {
        rc = take_chunks(walk, id, err);
        if (rc == SONDE_OK)
            take_memory(walk, in_memory(live, id));
        tell(walk);
    }
    pass(walk, id);
    return rc;
}

/* Those whose rows were not written yet. */
static void walk_pending(struct walk *walk, const struct sn_store_live *live)
{
    for (const struct sn_store_series *series = live ? live->series : NULL; series && walk->left;
         series = series->next) {
        if (!series->is_pending || is_behind(walk, series->id) ||
            !matches(walk->query->provider, series->texts[0]) ||
            !matches(walk->query->counter, series->texts[1]))
            continue;
        walk->sample.provider = series->texts[0];
        walk->sample.counter = series->texts[1];
        walk->sample.tags = series->texts[2];
        walk->sample.unit = series->texts[3];
        set_shape(walk, series->kind, series->shape);
        take_memory(walk, series);
        tell(walk);
    }
}

static int walk_process(struct walk *walk, const struct sn_store_seen *seen,
                        struct sonde_error *err)
{
    const uint64_t *place = sn_table_find(&walk->store->live_by_id, (uint64_t)seen->id);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const struct sn_store_live *live = place ? (struct sn_store_live *)(uintptr_t)*place : NULL;
    int rc = SONDE_OK;
    walk->sample.process_id = seen->id;
    walk->sample.pid = seen->process.pid;
    walk->sample.process = seen->process.name;
    (void)sqlite3_bind_int64(walk->series, 1, seen->id);
    while (rc == SONDE_OK && has_time(walk) &&
           (rc = sn_store_sql_row(walk->series, err)) == SONDE_OK)
        rc = walk_row(walk, walk->series, live, err);
    (void)sqlite3_reset(walk->series); /* what failed was told */
    if (rc >= 0)
        walk_pending(walk, live);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- processes --- */

static bool is_wanted(const struct sn_store_query *query, const struct sn_store_seen *seen)
{
    return (!query->pid || query->pid == seen->process.pid) &&
           matches(query->process, seen->process.name) &&
           (!query->to_ns || seen->first_utc_ns <= query->to_ns) &&
           seen->last_utc_ns >= query->from_ns;
}

static void of_live(const struct sn_store_live *live, struct sn_store_seen *seen)
{
    *seen = (struct sn_store_seen){.id = live->id,
                                   .process = {.pid = live->pid,
                                               .start_ticks = live->start_ticks,
                                               .name = live->texts[0],
                                               .runtime = live->texts[1],
                                               .user = live->texts[2],
                                               .container = live->texts[3],
                                               .command_line = live->texts[4]},
                                   .first_utc_ns = live->first_ms * SN_STORE_NS_PER_MS,
                                   .last_utc_ns = live->last_ms * SN_STORE_NS_PER_MS};
}

static void of_row(const struct sn_store *store, sqlite3_stmt *row, struct sn_store_seen *seen)
{
    *seen = (struct sn_store_seen){
        .id = sqlite3_column_int64(row, 0),
        .process = {.pid = (uint32_t)sqlite3_column_int64(row, 1),
                    .start_ticks = (uint64_t)sqlite3_column_int64(row, 2),
                    .name = sn_store_sql_column(row, 3),
                    .runtime = sn_store_sql_column(row, 4),
                    .user = sn_store_sql_column(row, 5),
                    .container = sn_store_sql_column(row, 6),
                    .command_line = sn_store_sql_column(row, 7)},
        .first_utc_ns = (uint64_t)sqlite3_column_int64(row, 8) * SN_STORE_NS_PER_MS,
        .last_utc_ns = (uint64_t)sqlite3_column_int64(row, 9) * SN_STORE_NS_PER_MS};
    const uint64_t *place = sn_table_find(&store->live_by_id, (uint64_t)seen->id);
    if (place) /* its row is behind */
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        seen->last_utc_ns =
            ((struct sn_store_live *)(uintptr_t)*place)->last_ms * SN_STORE_NS_PER_MS;
}

struct visit {
    bool (*each)(void *user, const struct sn_store_seen *seen);
    void *user;
    size_t left;
};

static void visit(struct visit *visit, const struct sn_store_query *query,
                  const struct sn_store_seen *seen)
{
    if (visit->left && is_wanted(query, seen))
        visit->left = visit->each(visit->user, seen) ? visit->left - 1 : 0;
}

int sn_store_processes(struct sn_store *store, const struct sn_store_query *query,
                       bool (*each)(void *user, const struct sn_store_seen *seen), void *user,
                       struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    struct visit to = {.each = each, .user = user, .left = query->limit ? query->limit : LIMIT};
    struct sn_store_seen seen;
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db,
                                  "SELECT id, pid, start_ticks, name, runtime, user, container, "
                                  "command_line, first_ms, last_ms FROM process ORDER BY id",
                                  &row, err);
    while (to.left && rc == SONDE_OK && !sn_store_is_late(query) &&
           (rc = sn_store_sql_row(row, err)) == SONDE_OK) {
        of_row(store, row, &seen);
        visit(&to, query, &seen);
    }
    for (struct sn_store_live *live = store->lives; live && rc >= 0; live = live->next) {
        if (!live->is_pending)
            continue;
        of_live(live, &seen);
        visit(&to, query, &seen);
    }
    return rc < 0 ? rc : SONDE_OK;
}

/* --- the question --- */

struct asking {
    struct walk *walk;
    struct sonde_error *err;
    int rc;
};

static bool ask_process(void *user, const struct sn_store_seen *seen)
{
    struct asking *asking = user;
    const struct sn_store_place *place = asking->walk->query->place;
    if (place && seen->id < place->process_id)
        return true;
    asking->rc = walk_process(asking->walk, seen, asking->err);
    return asking->rc == SONDE_OK && asking->walk->left;
}

static int prepare(struct walk *walk, struct sonde_error *err)
{
    sqlite3 *db = walk->store->db;
    int rc = sn_store_sql_prepare(
        db,
        "SELECT id, provider, counter, tags, unit, kind, shape FROM series WHERE "
        "process_id = ? ORDER BY id",
        &walk->series, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(db,
                                  "SELECT id, checksum, data FROM chunk WHERE series_id = ? AND "
                                  "from_ms <= ? AND to_ms >= ? ORDER BY from_ms",
                                  &walk->chunks, err);
    return rc;
}

int sn_store_history(struct sn_store *store, const struct sn_store_query *query,
                     bool (*each)(void *user, const struct sn_store_sample *sample), void *user,
                     struct sonde_error *err)
{
    SN_AUTO(sn_free) struct walk *walk = calloc(1, sizeof(*walk));
    if (!walk)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to look into the store");
    walk->store = store;
    walk->query = query;
    walk->each = each;
    walk->user = user;
    walk->left = query->limit ? query->limit : LIMIT;
    walk->from_ms = query->from_ns / SN_STORE_NS_PER_MS;
    walk->to_ms = (query->to_ns ? query->to_ns : UINT64_MAX) / SN_STORE_NS_PER_MS;
    struct asking asking = {.walk = walk, .err = err};
    struct sn_store_query processes = *query;
    processes.limit = SIZE_MAX;
    if (query->place)
        query->place->is_paused = false;
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = prepare(walk, err);
    if (rc == SONDE_OK)
        rc = sn_store_processes(store, &processes, ask_process, &asking, err);
    (void)sqlite3_finalize(walk->series);
    (void)sqlite3_finalize(walk->chunks);
    return rc == SONDE_OK ? asking.rc : rc;
}
