/* The processes and series that points come for: found by name, numbered here, so that a disk that
 * takes nothing holds up nobody; their rows follow with the next commit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define TEXT_MAX     4096u /* bytes of a name, of tags */
#define FULL_COUNT   120u  /* points after which a series becomes a chunk */
#define SILENT_MS    (5ull * 60 * 1000)
#define LIVE_TEXTS   5u
#define SERIES_TEXTS 4u

/* Copies of `count` texts in one block, which the first one owns. False without memory. */
static bool copy_texts(const char *const *from, size_t count, char **to)
{
    size_t sizes[LIVE_TEXTS];
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        sizes[i] = from[i] ? strnlen(from[i], TEXT_MAX) : 0;
        total += sizes[i] + 1;
    }
    char *at = malloc(total);
    if (!at)
        return false;
    for (size_t i = 0; i < count; i++) {
        to[i] = at;
        if (sizes[i])
            memcpy(at, from[i], sizes[i]);
        at[sizes[i]] = '\0';
        at += sizes[i] + 1;
    }
    return true;
}

/* --- processes --- */

static void free_live(struct sn_store_live *live)
{
    free(live->texts[0]);
    free(live);
}

static void free_live_auto(struct sn_store_live *const *slot)
{
    if (*slot)
        free_live(*slot);
}

static int add_live(struct sn_store *store, struct sn_store_live *live, struct sonde_error *err)
{
    uint64_t *place = sn_table_put(&store->live_by_id, (uint64_t)live->id);
    if (!place)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the store holds %zu processes at a time",
                       store->live_count);
    *place = (uint64_t)(uintptr_t)live;
    live->next = store->lives;
    store->lives = live;
    store->live_count++;
    return SONDE_OK;
}

/* Of a row of `process`: id, pid, start_ticks, the texts, first_ms, last_ms. */
static int add_row(struct sn_store *store, sqlite3_stmt *row, struct sn_store_live **ret_live,
                   struct sonde_error *err)
{
    SN_AUTO(free_live) struct sn_store_live *live = calloc(1, sizeof(*live));
    const char *texts[LIVE_TEXTS];
    for (size_t i = 0; i < LIVE_TEXTS; i++)
        texts[i] = sn_store_sql_column(row, 3 + (int)i);
    if (!live || !copy_texts(texts, LIVE_TEXTS, live->texts))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a process of the store");
    live->id = sqlite3_column_int64(row, 0);
    live->pid = (uint32_t)sqlite3_column_int64(row, 1);
    live->start_ticks = (uint64_t)sqlite3_column_int64(row, 2);
    live->first_ms = (uint64_t)sqlite3_column_int64(row, 8);
    live->last_ms = (uint64_t)sqlite3_column_int64(row, 9);
    int rc = add_live(store, live, err);
    if (rc == SONDE_OK)
        *ret_live = SN_TAKE(live);
    return rc;
}

#define PROCESS_COLUMNS                                                                     \
    "SELECT id, pid, start_ticks, name, runtime, user, container, command_line, first_ms, " \
    "last_ms FROM process "

struct sn_store_live *sn_store_live_find(struct sn_store *store, int64_t id,
                                         struct sonde_error *err)
{
    const uint64_t *place = sn_table_find(&store->live_by_id, (uint64_t)id);
    if (place)
        return (struct sn_store_live *)(uintptr_t)*place; /* NOLINT(performance-no-int-to-ptr) */
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    struct sn_store_live *live = NULL;
    if (!store->db) {
        (void)sn_store_ready(store, err); /* says why */
        return NULL;
    }
    if (sn_store_sql_prepare(store->db, PROCESS_COLUMNS "WHERE id = ?", &row, err) != SONDE_OK)
        return NULL;
    (void)sqlite3_bind_int64(row, 1, id);
    int rc = sn_store_sql_row(row, err);
    if (rc == SONDE_OK)
        rc = add_row(store, row, &live, err);
    if (rc == SONDE_END)
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "the store knows no process %lld", (long long)id);
    return rc == SONDE_OK ? live : NULL;
}

/* SONDE_END: there is no such row. */
static int find_row(struct sn_store *store, const struct sn_store_process *process,
                    struct sn_store_live **ret_live, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(
        store->db, PROCESS_COLUMNS "WHERE boot = ? AND pid = ? AND start_ticks = ?", &row, err);
    if (rc != SONDE_OK)
        return rc;
    sn_store_sql_text(row, 1, store->boot);
    (void)sqlite3_bind_int64(row, 2, process->pid);
    (void)sqlite3_bind_int64(row, 3, (int64_t)process->start_ticks);
    rc = sn_store_sql_row(row, err);
    return rc == SONDE_OK ? add_row(store, row, ret_live, err) : rc;
}

static int add_new(struct sn_store *store, const struct sn_store_process *process,
                   struct sn_store_live **ret_live, struct sonde_error *err)
{
    SN_AUTO(free_live) struct sn_store_live *live = calloc(1, sizeof(*live));
    const char *const texts[LIVE_TEXTS] = {process->name, process->runtime, process->user,
                                           process->container, process->command_line};
    if (!live || !copy_texts(texts, LIVE_TEXTS, live->texts))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a process of the store");
    live->id = store->next_process_id;
    live->pid = process->pid;
    live->start_ticks = process->start_ticks;
    live->first_ms = sn_clock_utc_ns() / SN_STORE_NS_PER_MS;
    live->last_ms = live->first_ms;
    live->is_pending = true;
    int rc = add_live(store, live, err);
    if (rc != SONDE_OK)
        return rc;
    store->next_process_id++;
    store->has_news = true;
    *ret_live = SN_TAKE(live);
    return SONDE_OK;
}

int sn_store_process(struct sn_store *store, const struct sn_store_process *process,
                     int64_t *ret_id, struct sonde_error *err)
{
    struct sn_store_live *live = store->lives;
    while (live && (live->pid != process->pid || live->start_ticks != process->start_ticks))
        live = live->next;
    int rc = SONDE_END;
    if (!store->is_loaded)
        return sn_store_ready(store, err);
    struct sonde_error unread = {0}; /* then it is a new one: to know it twice does no harm */
    if (!live && store->db)
        rc = find_row(store, process, &live, &unread);
    if (!live)
        rc = add_new(store, process, &live, err);
    if (!live)
        return rc;
    *ret_id = live->id;
    return SONDE_OK;
}

/* --- series --- */

static uint64_t hash_of(int64_t process_id, const char *const *texts)
{
    uint64_t hash = sn_table_key(&process_id, sizeof(process_id));
    for (size_t i = 0; i < 3; i++)
        hash = sn_text_hash(hash, texts[i]);
    return hash;
}

static struct sn_store_series *first_of_hash(struct sn_store *store, uint64_t hash)
{
    const uint64_t *place = sn_table_find(&store->series_table, hash);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return place ? (struct sn_store_series *)(uintptr_t)*place : NULL;
}

static bool is_same(const struct sn_store_series *series, const struct sn_store_live *live,
                    const char *const *texts, enum sn_store_shape shape)
{
    return series->live == live && series->shape == shape &&
           strcmp(series->texts[0], texts[0]) == 0 && strcmp(series->texts[1], texts[1]) == 0 &&
           strcmp(series->texts[2], texts[2]) == 0;
}

/* Its row's number; 0: it has none. */
static int find_id(struct sn_store *store, const struct sn_store_live *live,
                   const char *const *texts, enum sn_store_shape shape, int64_t *ret_id,
                   struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    *ret_id = 0;
    if (live->is_pending || !store->db)
        return SONDE_OK;
    int rc = sn_store_sql_prepare(store->db,
                                  "SELECT id FROM series WHERE process_id = ? AND provider = ? AND "
                                  "counter = ? AND tags = ? AND shape = ?",
                                  &row, err);
    if (rc != SONDE_OK)
        return rc;
    (void)sqlite3_bind_int64(row, 1, live->id);
    for (int i = 0; i < 3; i++)
        sn_store_sql_text(row, 2 + i, texts[i]);
    (void)sqlite3_bind_int(row, 5, (int)shape);
    rc = sn_store_sql_row(row, err);
    if (rc == SONDE_OK)
        *ret_id = sqlite3_column_int64(row, 0);
    return rc < 0 ? rc : SONDE_OK;
}

/* What is known of a series that is not in memory yet. */
struct row {
    const char *const *texts;
    int64_t id; /* 0: it has none */
    int64_t sealed_block;
    int kind;
    enum sn_store_shape shape;
};

static unsigned width_of(enum sn_store_shape shape)
{
    return shape == SN_STORE_HISTOGRAM ? SN_STORE_PARTS : 1;
}

static int add_series(struct sn_store *store, struct sn_store_live *live, const struct row *row,
                      struct sn_store_series **ret_series, struct sonde_error *err)
{
    if (store->series_count >= SN_STORE_SERIES_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "the store holds %u series at a time",
                       SN_STORE_SERIES_MAX);
    SN_AUTO(sn_free) struct sn_store_series *series = calloc(1, sizeof(*series));
    uint64_t hash = hash_of(live->id, row->texts);
    uint64_t *place = series ? sn_table_put(&store->series_table, hash) : NULL;
    if (!place || !copy_texts(row->texts, SERIES_TEXTS, series->texts))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a series of the store");
    series->live = live;
    series->hash = hash;
    series->id = row->id ? row->id : store->next_series_id++;
    series->is_pending = !row->id;
    series->sealed_block = row->sealed_block;
    series->kind = row->kind;
    series->shape = row->shape;
    series->points = sn_store_points_none(width_of(row->shape));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    series->same_hash = (struct sn_store_series *)(uintptr_t)*place;
    *place = (uint64_t)(uintptr_t)series;
    struct sn_store_series **end = &live->series;
    while (*end)
        end = &(*end)->next;
    *end = series;
    store->series_count++;
    store->has_news |= series->is_pending;
    *ret_series = SN_TAKE(series);
    return SONDE_OK;
}

/* Levels that .NET 9 and 10 declare as counters, so that they come as changes a second: what people
 * look for is where they stand. */
static bool is_level(const struct sonde_point *point)
{
    return point->kind == SONDE_POINT_RATE && isfinite(point->total) &&
           strcmp(point->provider, "System.Runtime") == 0 &&
           (strcmp(point->name, "dotnet.thread_pool.thread.count") == 0 ||
            strcmp(point->name, "dotnet.thread_pool.queue.length") == 0);
}

static enum sn_store_shape shape_of(const struct sonde_point *point)
{
    if (point->kind == SONDE_POINT_HISTOGRAM)
        return SN_STORE_HISTOGRAM;
    return is_level(point) ? SN_STORE_LEVEL : SN_STORE_NUMBER;
}

static int find_series(struct sn_store *store, struct sn_store_live *live,
                       const struct sonde_point *point, struct sn_store_series **ret_series,
                       struct sonde_error *err)
{
    enum sn_store_shape shape = shape_of(point);
    const char *const texts[SERIES_TEXTS] = {point->provider, point->name, point->tag_text,
                                             point->unit};
    /* Counters come in the same order every time: mostly it is the next one. */
    struct sn_store_series *series = live->latest ? live->latest->next : NULL;
    series = series ? series : live->series;
    if (!series || !is_same(series, live, texts, shape)) {
        series = first_of_hash(store, hash_of(live->id, texts));
        while (series && !is_same(series, live, texts, shape))
            series = series->same_hash;
    }
    if (series) {
        *ret_series = live->latest = series;
        return SONDE_OK;
    }
    for (size_t i = 0; i < SERIES_TEXTS; i++)
        if (strnlen(texts[i], TEXT_MAX) == TEXT_MAX)
            return sn_fail(err, SONDE_E_LIMIT, 0, "a counter's name or tags are over %u bytes",
                           TEXT_MAX);
    struct row row = {.texts = texts,
                      .kind = shape == SN_STORE_LEVEL ? SONDE_POINT_UP_DOWN : point->kind,
                      .shape = shape};
    int rc = find_id(store, live, texts, shape, &row.id, err);
    return rc == SONDE_OK ? add_series(store, live, &row, ret_series, err) : rc;
}

/* --- points --- */

/* Silence is told by our clock: a point of the future silences nobody. */
static void note_time(struct sn_store *store, uint64_t time_ms)
{
    uint64_t now_ms = sn_clock_utc_ns() / SN_STORE_NS_PER_MS;
    uint64_t known_ms = time_ms < now_ms ? time_ms : now_ms;
    if (known_ms > store->newest_ms)
        store->newest_ms = known_ms;
}

/* The one number that is kept of it. */
static double number_of(const struct sonde_point *point)
{
    if (is_level(point))
        return point->total;
    switch (point->kind) {
    case SONDE_POINT_RATE: return isnan(point->rate) ? point->value : point->rate;
    case SONDE_POINT_UP_DOWN: return isnan(point->total) ? point->value : point->total;
    default: return point->value;
    }
}

static double quantile_of(const struct sonde_point *point, double at)
{
    for (size_t i = 0; i < point->quantile_count; i++)
        if (point->quantiles[i].at == at)
            return point->quantiles[i].value;
    return NAN;
}

/* What is kept of it; how many numbers. None: it says nothing. */
static unsigned numbers_of(const struct sonde_point *point, double to[SN_STORE_PARTS])
{
    if (point->kind != SONDE_POINT_HISTOGRAM) {
        to[0] = number_of(point);
        return isfinite(to[0]) ? 1 : 0;
    }
    to[SN_STORE_PART_COUNT] = (double)point->count;
    to[SN_STORE_PART_SUM] = point->count ? point->sum : 0;
    to[SN_STORE_PART_SECONDS] = (double)point->interval_ns / (double)SN_NS_PER_SECOND;
    to[SN_STORE_PART_P50] = quantile_of(point, 0.5);
    to[SN_STORE_PART_P95] = quantile_of(point, 0.95);
    to[SN_STORE_PART_P99] = quantile_of(point, 0.99);
    return isfinite(to[SN_STORE_PART_SUM]) ? SN_STORE_PARTS : 0;
}

/* The first chunks of series that began together end at different times, so that chunks are written
 * all the time and not all at once. */
static unsigned full_count(const struct sn_store_series *series)
{
    unsigned points =
        FULL_COUNT - (series->sealed_block ? 0 : (unsigned)((uint64_t)series->id * 7 % 60));
    return points * series->points.width;
}

static bool take_number(struct sn_store *store, struct sn_store_series *series,
                        const struct sn_store_batched *number)
{
    struct sn_store_batched *batch =
        sn_array_room(store->batch, store->batch_count, &store->batch_capacity, sizeof(*batch));
    if (!batch)
        return false;
    store->batch = batch;
    if (!sn_store_points_add(&series->points, number->time_ms, number->value))
        return false;
    batch[store->batch_count++] = *number;
    return true;
}

/* All its numbers or none. */
static bool take_point(struct sn_store *store, struct sn_store_series *series, uint64_t time_ms,
                       const double *numbers)
{
    unsigned width = series->points.width;
    if (store->batch_count + width > SN_STORE_BATCH_MAX)
        return false;
    /* Somebody who brings more than a chunk of one series at once. */
    if (series->points.count >= SN_STORE_CHUNK_MAX && !store->health.is_degraded) {
        store->is_taking = true;
        (void)sn_store_commit(store, NULL); /* what fails is told by the health */
        store->is_taking = false;
    }
    struct sn_store_points before = series->points;
    size_t batch_count = store->batch_count;
    for (unsigned part = 0; part < width; part++) {
        const struct sn_store_batched number = {
            .series = series, .time_ms = time_ms, .value = numbers[part], .part = part};
        if (take_number(store, series, &number))
            continue;
        store->batch_count = batch_count;
        sn_store_points_go_back(&series->points, &before);
        return false;
    }
    return true;
}

int sn_store_point(struct sn_store *store, int64_t process_id, const struct sonde_point *point,
                   struct sonde_error *err)
{
    double numbers[SN_STORE_PARTS] = {0};
    if (!numbers_of(point, numbers))
        return SONDE_OK; /* says nothing */
    struct sn_store_live *live = sn_store_live_find(store, process_id, err);
    struct sn_store_series *series = NULL;
    if (!live) {
        store->health.dropped_count++;
        return SONDE_E_NOT_FOUND;
    }
    int rc = find_series(store, live, point, &series, err);
    uint64_t time_ms = point->utc_ns / SN_STORE_NS_PER_MS;
    if (series && !take_point(store, series, time_ms, numbers))
        rc = sn_fail(err, SONDE_E_LIMIT, 0, "the store cannot write, and keeps %u points meanwhile",
                     SN_STORE_BATCH_MAX);
    if (rc != SONDE_OK || !series) {
        store->health.dropped_count++;
        return rc;
    }
    series->wants_seal |= series->points.count >= full_count(series);
    live->last_ms = time_ms;
    if (time_ms < live->first_ms) {
        live->first_ms = time_ms;
        live->is_dirty = true;
    }
    note_time(store, time_ms);
    return SONDE_OK;
}

/* --- what a block holds --- */

/* A series by its row. */
static int recall_series(struct sn_store *store, int64_t id, struct sn_store_series **ret_series,
                         struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db,
                                  "SELECT process_id, kind, sealed_block, provider, counter, tags, "
                                  "unit, shape FROM series WHERE id = ?",
                                  &row, err);
    if (rc != SONDE_OK)
        return rc;
    (void)sqlite3_bind_int64(row, 1, id);
    rc = sn_store_sql_row(row, err);
    if (rc != SONDE_OK)
        return rc < 0 ? rc : sn_fail(err, SONDE_E_NOT_FOUND, 0, "no series %lld", (long long)id);
    struct sn_store_live *live = sn_store_live_find(store, sqlite3_column_int64(row, 0), err);
    if (!live)
        return SONDE_E_NOT_FOUND;
    const char *texts[SERIES_TEXTS];
    for (size_t i = 0; i < SERIES_TEXTS; i++)
        texts[i] = sn_store_sql_column(row, 3 + (int)i);
    const struct row known = {.texts = texts,
                              .id = id,
                              .kind = sqlite3_column_int(row, 1),
                              .sealed_block = sqlite3_column_int64(row, 2),
                              .shape = (enum sn_store_shape)sqlite3_column_int(row, 7)};
    return add_series(store, live, &known, ret_series, err);
}

int sn_store_live_recall(struct sn_store *store, struct sn_table *by_id,
                         const struct sn_store_entry *entry, int64_t block, struct sonde_error *err)
{
    uint64_t *place = sn_table_put(by_id, entry->series_id);
    if (!place)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more series in blocks than fit");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    struct sn_store_series *series = (struct sn_store_series *)(uintptr_t)*place;
    int rc = series ? SONDE_OK : recall_series(store, (int64_t)entry->series_id, &series, err);
    if (rc != SONDE_OK || !series)
        return rc;
    *place = (uint64_t)(uintptr_t)series;
    if (block <= series->sealed_block)
        return SONDE_OK;
    if (!sn_store_points_add(&series->points, entry->time_ms, entry->value))
        return sn_fail(err, SONDE_E_LIMIT, 0, "a series has more points in blocks than fit");
    if (!series->first_block)
        series->first_block = block;
    series->wants_seal |= series->points.count >= full_count(series);
    if (series->live->last_ms < entry->time_ms)
        series->live->last_ms = entry->time_ms;
    note_time(store, entry->time_ms);
    return SONDE_OK;
}

/* --- what is silent goes --- */

static void drop_series(struct sn_store *store, struct sn_store_series *series)
{
    struct sn_store_series *first = first_of_hash(store, series->hash);
    if (first == series && !series->same_hash) {
        sn_table_remove(&store->series_table, series->hash);
    } else if (first == series) {
        *sn_table_find(&store->series_table, series->hash) = (uint64_t)(uintptr_t)series->same_hash;
    } else {
        while (first->same_hash != series)
            first = first->same_hash;
        first->same_hash = series->same_hash;
    }
    store->series_count--;
    sn_buf_done(&series->points.bytes);
    free(series->texts[0]);
    free(series);
}

static bool is_silent(const struct sn_store *store, uint64_t last_ms)
{
    return last_ms + SILENT_MS < store->newest_ms;
}

static void forget_series(struct sn_store *store, struct sn_store_live *live, bool everything)
{
    struct sn_store_series **slot = &live->series;
    live->latest = NULL;
    bool is_ended = is_silent(store, live->last_ms);
    while (*slot) {
        struct sn_store_series *series = *slot;
        bool is_quiet =
            is_ended || (series->points.count && is_silent(store, series->points.last_ms));
        if (everything || (is_ended && !series->points.count && !series->is_pending)) {
            *slot = series->next;
            drop_series(store, series);
        } else {
            series->wants_seal |= is_quiet && series->points.count;
            slot = &series->next;
        }
    }
}

/* With nothing in the batch. */
void sn_store_live_forget(struct sn_store *store, bool everything)
{
    struct sn_store_live **slot = &store->lives;
    while (*slot) {
        struct sn_store_live *live = *slot;
        forget_series(store, live, everything);
        bool is_over = is_silent(store, live->last_ms) && !live->is_pending && !live->is_dirty;
        if (everything || (!live->series && is_over)) {
            *slot = live->next;
            sn_table_remove(&store->live_by_id, (uint64_t)live->id);
            store->live_count--;
            free_live(live);
        } else {
            slot = &live->next;
        }
    }
}
