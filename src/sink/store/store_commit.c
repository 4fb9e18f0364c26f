/* One transaction: rows of new processes and series, a block of the points that came, chunks of
 * series that are full, recordings; and the other way round, when a store is opened again.
 *
 * A block makes points safe at once; chunks make them small and quick to find, later. A series'
 * row says up to which block its points are in chunks; blocks that nobody needs any more go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "sink/store/store_schema.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define BLOCK_SIZE_MAX  (8u << 20)
#define CHUNK_SIZE_MAX  (64u << 10)
#define BLOCKS_SPAN_MAX 1800        /* commits until silent series are made to let go of blocks */
#define BLOCKS_SIZE_MAX (12u << 20) /* bytes of them, the same */
#define LATE_SEALS_MAX  512u        /* of a commit */

_Static_assert(SN_STORE_SCHEMA_VERSION == 3, "see must_try");

/* --- rows --- */

static void bind_live(sqlite3_stmt *row, const struct sn_store *store,
                      const struct sn_store_live *live)
{
    (void)sqlite3_bind_int64(row, 1, live->id);
    sn_store_sql_text(row, 2, store->boot);
    (void)sqlite3_bind_int64(row, 3, live->pid);
    (void)sqlite3_bind_int64(row, 4, (int64_t)live->start_ticks);
    for (int i = 0; i < 5; i++)
        sn_store_sql_text(row, 5 + i, live->texts[i]);
    (void)sqlite3_bind_int64(row, 10, (int64_t)live->first_ms);
    (void)sqlite3_bind_int64(row, 11, (int64_t)live->last_ms);
}

static int write_processes(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc =
        sn_store_sql_prepare(store->db,
                             "INSERT INTO process (id, boot, pid, start_ticks, name, runtime, "
                             "user, container, command_line, first_ms, last_ms) VALUES "
                             "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                             "first_ms = excluded.first_ms, last_ms = excluded.last_ms",
                             &row, err);
    for (struct sn_store_live *live = store->lives; live && rc == SONDE_OK; live = live->next) {
        if (!live->is_pending && !live->is_dirty)
            continue;
        bind_live(row, store, live);
        rc = sn_store_sql_step(row, err);
    }
    return rc;
}

static int write_series(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db,
                                  "INSERT INTO series (id, process_id, kind, provider, counter, "
                                  "tags, unit, shape, sealed_block) VALUES "
                                  "(?, ?, ?, ?, ?, ?, ?, ?, 0)",
                                  &row, err);
    for (struct sn_store_live *live = store->lives; live; live = live->next) {
        for (struct sn_store_series *series = live->series; series && rc == SONDE_OK;
             series = series->next) {
            if (!series->is_pending)
                continue;
            (void)sqlite3_bind_int64(row, 1, series->id);
            (void)sqlite3_bind_int64(row, 2, live->id);
            (void)sqlite3_bind_int(row, 3, series->kind);
            for (int i = 0; i < 4; i++)
                sn_store_sql_text(row, 4 + i, series->texts[i]);
            (void)sqlite3_bind_int(row, 8, (int)series->shape);
            rc = sn_store_sql_step(row, err);
        }
    }
    return rc;
}

/* --- blocks --- */

static int write_block(struct sn_store *store, sqlite3_stmt *row, size_t first, size_t count,
                       struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf data = sn_buf_with_limit(BLOCK_SIZE_MAX);
    SN_AUTO(sn_free) struct sn_store_entry *entries = calloc(count, sizeof(*entries));
    if (!entries)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a block of points");
    for (size_t i = 0; i < count; i++) {
        const struct sn_store_batched *from = &store->batch[first + i];
        entries[i] = (struct sn_store_entry){.series_id = (uint64_t)from->series->id,
                                             .time_ms = from->time_ms,
                                             .value = from->value};
    }
    int rc = sn_store_chunk_encode_block(&store->packer, entries, count, &data, err);
    if (rc != SONDE_OK)
        return rc;
    (void)sqlite3_bind_int64(row, 1, sn_store_pack_checksum(data.bytes, data.size));
    (void)sqlite3_bind_blob64(row, 2, data.bytes, data.size, SQLITE_STATIC);
    rc = sn_store_sql_step(row, err);
    (void)sqlite3_clear_bindings(row);
    return rc;
}

/* How many of the batch go into the next block: the numbers of one point are never apart. */
static size_t block_count(const struct sn_store *store, size_t done)
{
    size_t left = store->batch_count - done;
    if (left <= SN_STORE_BLOCK_MAX)
        return left;
    size_t count = SN_STORE_BLOCK_MAX;
    while (store->batch[done + count].part)
        count--;
    return count;
}

/* *ret_first, *ret_last: the numbers of the blocks; the last one there was when nothing came. */
static int write_blocks(struct sn_store *store, int64_t *ret_first, int64_t *ret_last,
                        struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_sql_prepare(store->db, "INSERT INTO block (checksum, data) VALUES (?, ?)",
                                  &row, err);
    *ret_first = *ret_last = store->last_block;
    for (size_t done = 0; done < store->batch_count && rc == SONDE_OK;) {
        size_t count = block_count(store, done);
        rc = write_block(store, row, done, count, err);
        *ret_last = sqlite3_last_insert_rowid(store->db);
        if (!done)
            *ret_first = *ret_last;
        done += count;
    }
    return rc;
}

/* --- chunks --- */

struct sealing {
    sqlite3_stmt *chunk;
    sqlite3_stmt *series;
    struct sn_store_columns columns;
    struct sn_buf data;
    int64_t block;
};

static void bind_chunk(struct sealing *sealing, const struct sn_store_series *series)
{
    const struct sn_store_columns *columns = &sealing->columns;
    uint64_t from = columns->times_ms[0];
    uint64_t to = from;
    for (size_t i = 1; i < columns->count; i++) {
        from = columns->times_ms[i] < from ? columns->times_ms[i] : from;
        to = columns->times_ms[i] > to ? columns->times_ms[i] : to;
    }
    const struct sn_buf *data = &sealing->data;
    (void)sqlite3_bind_int64(sealing->chunk, 1, series->id);
    (void)sqlite3_bind_int64(sealing->chunk, 2, (int64_t)from);
    (void)sqlite3_bind_int64(sealing->chunk, 3, (int64_t)to);
    (void)sqlite3_bind_int64(sealing->chunk, 4, (int64_t)(columns->count / columns->width));
    (void)sqlite3_bind_int64(sealing->chunk, 5, sn_store_pack_checksum(data->bytes, data->size));
    (void)sqlite3_bind_blob64(sealing->chunk, 6, data->bytes, data->size, SQLITE_STATIC);
}

static int seal(struct sn_store *store, struct sealing *sealing, struct sn_store_series *series,
                struct sonde_error *err)
{
    sn_store_points_read(&series->points, &sealing->columns);
    sn_buf_clear(&sealing->data);
    int rc = sn_store_chunk_encode(&store->packer, &sealing->columns, &sealing->data, err);
    if (rc != SONDE_OK)
        return rc;
    bind_chunk(sealing, series);
    rc = sn_store_sql_step(sealing->chunk, err);
    (void)sqlite3_clear_bindings(sealing->chunk);
    if (rc != SONDE_OK)
        return rc;
    (void)sqlite3_bind_int64(sealing->series, 1, sealing->block);
    (void)sqlite3_bind_int64(sealing->series, 2, series->id);
    series->is_sealing = true;
    series->live->is_dirty = true;
    return sn_store_sql_step(sealing->series, err);
}

static int seal_all(struct sn_store *store, struct sealing *sealing, struct sonde_error *err)
{
    int rc = sn_store_sql_prepare(store->db,
                                  "INSERT INTO chunk (series_id, from_ms, to_ms, count, checksum, "
                                  "data) VALUES (?, ?, ?, ?, ?, ?)",
                                  &sealing->chunk, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db, "UPDATE series SET sealed_block = ? WHERE id = ?",
                                  &sealing->series, err);
    for (struct sn_store_live *live = store->lives; live; live = live->next)
        for (struct sn_store_series *series = live->series; series && rc == SONDE_OK;
             series = series->next)
            if (series->wants_seal && series->points.count)
                rc = seal(store, sealing, series, err);
    return rc;
}

static int write_chunks(struct sn_store *store, int64_t block, struct sonde_error *err)
{
    struct sealing sealing = {.data = sn_buf_with_limit(CHUNK_SIZE_MAX), .block = block};
    int rc = seal_all(store, &sealing, err);
    (void)sqlite3_finalize(sealing.chunk);
    (void)sqlite3_finalize(sealing.series);
    sn_buf_done(&sealing.data);
    return rc;
}

/* --- blocks that nobody needs --- */

/* The first block that is still needed, of those of this commit at the latest. */
static int64_t oldest_block(const struct sn_store *store, int64_t first, int64_t last)
{
    int64_t oldest = store->batch_count ? first : last + 1;
    for (const struct sn_store_live *live = store->lives; live; live = live->next)
        for (const struct sn_store_series *series = live->series; series; series = series->next)
            if (!series->is_sealing && series->points.count && series->first_block &&
                series->first_block < oldest)
                oldest = series->first_block;
    return oldest;
}

/* Those that hold back the older half of the blocks become chunks with the next commits. */
static void press(struct sn_store *store, int64_t oldest, int64_t last)
{
    unsigned count = 0;
    for (struct sn_store_live *live = store->lives; live; live = live->next)
        for (struct sn_store_series *series = live->series; series; series = series->next)
            if (series->first_block && series->first_block <= oldest + (last - oldest) / 2 &&
                count++ < LATE_SEALS_MAX)
                series->wants_seal = true;
}

static int drop_blocks(struct sn_store *store, int64_t first, int64_t last, struct sonde_error *err)
{
    int64_t oldest = oldest_block(store, first, last);
    char sql[96];
    (void)snprintf(sql, sizeof(sql), "DELETE FROM block WHERE id < %lld", (long long)oldest);
    int64_t bytes = 0;
    int rc = sn_store_sql_run(store->db, sql, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_number(store->db, "SELECT total(length(data)) FROM block", &bytes, err);
    if (last - oldest > BLOCKS_SPAN_MAX || bytes > BLOCKS_SIZE_MAX)
        press(store, oldest, last);
    return rc;
}

/* --- the transaction --- */

int sn_store_commit_begin(struct sn_store *store, struct sonde_error *err)
{
    int rc = sn_store_ready(store, err);
    return rc == SONDE_OK ? sn_store_sql_run(store->db, "BEGIN IMMEDIATE", err) : rc;
}

void sn_store_commit_failed(struct sn_store *store, const struct sonde_error *err)
{
    store->must_try = true;
    store->health.is_degraded = true;
    store->is_damaged |= err->status == SONDE_E_FORMAT;
    (void)snprintf(store->health.why, sizeof(store->health.why), "%.*s",
                   (int)sizeof(store->health.why) - 1, err->text);
}

int sn_store_commit_end(struct sn_store *store, int rc, struct sonde_error *err)
{
    struct sonde_error local = {0};
    if (!err)
        err = &local;
    if (rc == SONDE_OK)
        rc = sn_store_sql_run(store->db, "COMMIT", err);
    if (rc == SONDE_OK)
        return rc;
    if (store->db && !sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); /* the cause is what counts */
    sn_store_commit_failed(store, err);
    return rc;
}

static int write_all(struct sn_store *store, int64_t *ret_first, int64_t *ret_last,
                     struct sonde_error *err)
{
    int rc = store->has_news ? write_series(store, err) : SONDE_OK;
    if (rc == SONDE_OK)
        rc = write_blocks(store, ret_first, ret_last, err);
    if (rc == SONDE_OK)
        rc = write_chunks(store, *ret_last, err);
    if (rc == SONDE_OK)
        rc = write_processes(store, err); /* after the chunks, which make them dirty */
    if (rc == SONDE_OK)
        rc = sn_store_recordings_write(store, err);
    if (rc == SONDE_OK && store->commit_count % SN_STORE_COMMIT_CYCLE == 0)
        rc = drop_blocks(store, *ret_first, *ret_last, err);
    return rc;
}

static void note_written(struct sn_store *store, int64_t first, int64_t last)
{
    for (size_t i = 0; i < store->batch_count; i++)
        if (!store->batch[i].series->first_block)
            store->batch[i].series->first_block = first;
    store->batch_count = 0;
    store->has_news = false;
    for (struct sn_store_live *live = store->lives; live; live = live->next) {
        live->is_pending = live->is_dirty = false;
        for (struct sn_store_series *series = live->series; series; series = series->next) {
            series->is_pending = false;
            if (!series->is_sealing)
                continue;
            sn_store_points_clear(&series->points);
            series->is_sealing = series->wants_seal = false;
            series->first_block = 0;
            series->sealed_block = last;
        }
    }
    store->last_block = last;
    sn_store_recordings_written(store);
}

static void note_unwritten(struct sn_store *store)
{
    for (struct sn_store_live *live = store->lives; live; live = live->next)
        for (struct sn_store_series *series = live->series; series; series = series->next)
            series->is_sealing = false;
}

static bool has_work(const struct sn_store *store)
{
    return store->batch_count || store->has_news || store->waiting || store->must_end ||
           store->must_try;
}

/* Everything that is known of processes and series goes into the new database, points that were in
 * blocks of the old one as chunks. */
static void offer_again(struct sn_store *store)
{
    for (struct sn_store_live *live = store->lives; live; live = live->next) {
        live->is_pending = true;
        for (struct sn_store_series *series = live->series; series; series = series->next) {
            series->is_pending = true;
            series->first_block = series->sealed_block = 0;
            series->wants_seal = series->points.count > 0;
        }
    }
    store->last_block = 0;
    store->has_news = true;
}

/* After damage that was found at work, or when it could not be opened so far. */
static int begin_anew(struct sn_store *store, struct sonde_error *err)
{
    char aside[64] = "";
    if (!store->is_loaded)
        return sn_store_load(store, err);
    (void)sqlite3_close_v2(store->db); /* damaged: nothing to lose */
    store->db = NULL;
    int rc = store->is_damaged ? sn_store_schema_set_aside(store->folder, aside, err) : SONDE_OK;
    if (rc == SONDE_OK)
        rc = sn_store_schema_open(store->folder, &store->db, err);
    if (rc != SONDE_OK) {
        sn_store_commit_failed(store, err);
        return rc;
    }
    if (store->is_damaged)
        offer_again(store);
    store->must_look |= aside[0];
    if (aside[0])
        (void)snprintf(store->health.set_aside, sizeof(store->health.set_aside), "%s", aside);
    store->is_damaged = false;
    if (aside[0])
        sn_store_recordings_salvage(store, aside);
    return SONDE_OK;
}

int sn_store_commit(struct sn_store *store, struct sonde_error *err)
{
    struct sonde_error local = {0};
    if (!err)
        err = &local;
    int64_t first = 0;
    int64_t last = 0;
    if (!has_work(store) && !store->is_damaged)
        return SONDE_OK;
    int rc = store->is_damaged || !store->db ? begin_anew(store, err) : SONDE_OK;
    if (rc != SONDE_OK)
        return rc;
    rc = sn_store_commit_begin(store, err);
    if (rc == SONDE_OK)
        rc = write_all(store, &first, &last, err);
    if (rc == SONDE_OK && store->must_try) /* a write whatever else there was */
        rc = sn_store_sql_run(store->db, "PRAGMA user_version = 3", err);
    rc = sn_store_commit_end(store, rc, err);
    if (rc != SONDE_OK) {
        note_unwritten(store);
        return rc;
    }
    note_written(store, first, last);
    store->must_try = false;
    store->health.is_degraded = false;
    store->health.why[0] = '\0';
    if (store->commit_count++ % SN_STORE_COMMIT_CYCLE == 0 && !store->is_taking)
        sn_store_live_forget(store, false);
    return SONDE_OK;
}

/* --- an earlier life --- */

static int recall_block(struct sn_store *store, struct sn_table *by_id, sqlite3_stmt *row,
                        struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_store_entry *entries = NULL;
    size_t count = 0;
    const void *data = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);
    struct sonde_error damage = {0};
    bool is_whole = sn_store_pack_checksum(data, size) == (uint32_t)sqlite3_column_int64(row, 1) &&
                    sn_store_chunk_decode_block(&store->packer, data, size, &entries, &count,
                                                &damage) == SONDE_OK;
    if (!is_whole) {
        store->health.damaged_count++;
        return SONDE_OK;
    }
    for (size_t i = 0; i < count; i++) {
        struct sonde_error lost = {0};
        int rc =
            sn_store_live_recall(store, by_id, &entries[i], sqlite3_column_int64(row, 0), &lost);
        if (rc == SONDE_E_NOT_FOUND || rc == SONDE_E_LIMIT)
            store->health.dropped_count++;
        else if (rc != SONDE_OK)
            return sn_fail_as(err, &lost);
    }
    return SONDE_OK;
}

int sn_store_commit_recall(struct sn_store *store, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    struct sn_table by_id = sn_table_with_limit(SN_STORE_SERIES_MAX);
    int rc = sn_store_sql_prepare(store->db, "SELECT id, checksum, data FROM block ORDER BY id",
                                  &row, err);
    while (rc == SONDE_OK && (rc = sn_store_sql_row(row, err)) == SONDE_OK) {
        rc = recall_block(store, &by_id, row, err);
        store->last_block = sqlite3_column_int64(row, 0);
    }
    sn_table_done(&by_id);
    return rc < 0 ? rc : SONDE_OK;
}
