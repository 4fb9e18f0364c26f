/* Profiles of recordings: kept, given back, and searched by the names of their methods. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/pattern.h"
#include "sink/store/store_profile.h"
#include "sink/store/store_sql.h"
#include "sink/store/store_state.h"

#define BLOB_MAX      (48u << 20)
#define HITS_MAX      10000u
#define HITS_STANDARD 1000u

/* --- keeping --- */

static uint64_t total_of(const struct sn_store_profile *profile)
{
    uint64_t total = 0;
    for (size_t i = 0; i < profile->node_count; i++)
        total += profile->nodes[i].self;
    return total;
}

static int insert(struct sn_store *store, const char *recording_id,
                  const struct sn_store_profile *profile, const struct sn_buf blobs[2],
                  struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc =
        sn_store_sql_prepare(store->db,
                             "INSERT OR REPLACE INTO profile (recording_id, view, unit, total, "
                             "methods_checksum, methods, nodes_checksum, nodes) VALUES "
                             "(?, ?, ?, ?, ?, ?, ?, ?)",
                             &row, err);
    if (rc != SONDE_OK)
        return rc;
    sn_store_sql_text(row, 1, recording_id);
    sn_store_sql_text(row, 2, profile->view);
    sn_store_sql_text(row, 3, profile->unit);
    (void)sqlite3_bind_int64(row, 4, (int64_t)total_of(profile));
    for (int i = 0; i < 2; i++) {
        (void)sqlite3_bind_int64(row, 5 + 2 * i,
                                 sn_store_pack_checksum(blobs[i].bytes, blobs[i].size));
        (void)sqlite3_bind_blob64(row, 6 + 2 * i, blobs[i].bytes, blobs[i].size, SQLITE_STATIC);
    }
    return sn_store_sql_step(row, err);
}

int sn_store_profile_put(struct sn_store *store, const char *recording_id,
                         const struct sn_store_profile *profile, struct sonde_error *err)
{
    struct sn_buf blobs[2] = {sn_buf_with_limit(BLOB_MAX), sn_buf_with_limit(BLOB_MAX)};
    int rc = sn_store_profile_encode_methods(&store->packer, profile->methods,
                                             profile->method_count, &blobs[0], err);
    if (rc == SONDE_OK)
        rc = sn_store_profile_encode_nodes(&store->packer, profile->nodes, profile->node_count,
                                           &blobs[1], err);
    if (rc == SONDE_OK) {
        rc = sn_store_commit_begin(store, err);
        if (rc == SONDE_OK)
            rc = insert(store, recording_id, profile, blobs, err);
        rc = sn_store_commit_end(store, rc, err);
    }
    sn_buf_done(&blobs[0]);
    sn_buf_done(&blobs[1]);
    return rc;
}

/* --- giving back --- */

/* The blob of a column, whose checksum is in the one before it. */
static int read_blob(sqlite3_stmt *row, int column, const void **ret_bytes, size_t *ret_size,
                     struct sonde_error *err)
{
    *ret_bytes = sqlite3_column_blob(row, column);
    *ret_size = (size_t)sqlite3_column_bytes(row, column);
    if (sn_store_pack_checksum(*ret_bytes, *ret_size) !=
        (uint32_t)sqlite3_column_int64(row, column - 1))
        return sn_fail(err, SONDE_E_FORMAT, 0, "the store: a profile is damaged");
    return SONDE_OK;
}

static int read_profile(struct sn_store *store, sqlite3_stmt *row,
                        struct sn_store_methods_read *methods, struct sn_store_profile *profile,
                        struct sn_store_profile_node **ret_nodes, struct sonde_error *err)
{
    const void *bytes;
    size_t size;
    struct sn_store_nodes_read nodes = {0};
    int rc = read_blob(row, 2, &bytes, &size, err);
    if (rc == SONDE_OK)
        rc = sn_store_profile_decode_methods(&store->packer, bytes, size, methods, err);
    if (rc == SONDE_OK)
        rc = read_blob(row, 4, &bytes, &size, err);
    if (rc == SONDE_OK)
        rc =
            sn_store_profile_decode_nodes(&store->packer, bytes, size, methods->count, &nodes, err);
    profile->methods = methods->methods;
    profile->method_count = methods->count;
    profile->nodes = *ret_nodes = nodes.nodes;
    profile->node_count = nodes.count;
    profile->unit = sn_store_sql_column(row, 0);
    return rc;
}

int sn_store_profile_get(struct sn_store *store, const char *recording_id, const char *view,
                         void (*with)(void *user, const struct sn_store_profile *profile),
                         void *user, struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    SN_AUTO(sn_store_methods_read_done) struct sn_store_methods_read methods = {0};
    SN_AUTO(sn_free) struct sn_store_profile_node *nodes = NULL;
    struct sn_store_profile profile = {.view = view};
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db,
                                  "SELECT unit, methods_checksum, methods, nodes_checksum, nodes "
                                  "FROM profile WHERE recording_id = ? AND view = ?",
                                  &row, err);
    if (rc != SONDE_OK)
        return rc;
    sn_store_sql_text(row, 1, recording_id);
    sn_store_sql_text(row, 2, view);
    rc = sn_store_sql_row(row, err);
    if (rc == SONDE_END)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "no profile %.40s of recording %.40s is kept",
                       view, recording_id);
    if (rc == SONDE_OK)
        rc = read_profile(store, row, &methods, &profile, &nodes, err);
    if (rc != SONDE_OK)
        return rc;
    with(user, &profile);
    return SONDE_OK;
}

/* --- searching --- */

/* The heaviest hits so far, sorted; the texts of each in one block that it owns. */
struct hits {
    struct sn_store_hit *hits;
    size_t count;
    size_t limit;
};

static void free_hit(struct sn_store_hit *hit)
{
    free((char *)(uintptr_t)hit->recording_id); /* the block begins with it */
}

static bool copy_hit(struct sn_store_hit *to, const struct sn_store_hit *from)
{
    const char *const texts[5] = {from->recording_id, from->process, from->view, from->method,
                                  from->module};
    const char *copies[5];
    size_t total = 0;
    for (size_t i = 0; i < 5; i++)
        total += strlen(texts[i]) + 1;
    char *at = malloc(total);
    if (!at)
        return false;
    for (size_t i = 0; i < 5; i++) {
        size_t size = strlen(texts[i]) + 1;
        memcpy(at, texts[i], size);
        copies[i] = at;
        at += size;
    }
    *to = *from;
    to->recording_id = copies[0];
    to->process = copies[1];
    to->view = copies[2];
    to->method = copies[3];
    to->module = copies[4];
    return true;
}

/* Shares are compared: recordings are of different lengths. */
static double weight(const struct sn_store_hit *hit)
{
    return hit->all ? (double)hit->total / (double)hit->all : 0;
}

static bool add_hit(struct hits *hits, const struct sn_store_hit *hit)
{
    double share = weight(hit);
    bool is_full = hits->count == hits->limit;
    if (is_full && weight(&hits->hits[hits->count - 1]) >= share)
        return true;
    size_t low = 0;
    size_t high = hits->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (weight(&hits->hits[middle]) >= share)
            low = middle + 1;
        else
            high = middle;
    }
    struct sn_store_hit copy;
    if (!copy_hit(&copy, hit))
        return false;
    if (is_full)
        free_hit(&hits->hits[--hits->count]);
    memmove(&hits->hits[low + 1], &hits->hits[low], (hits->count - low) * sizeof(*hits->hits));
    hits->hits[low] = copy;
    hits->count++;
    return true;
}

#define SEARCH                                                                                    \
    "SELECT r.id, r.process, p.view, p.total, r.created_ns, p.methods_checksum, p.methods, "      \
    "p.id FROM recording r JOIN profile p ON p.recording_id = r.id WHERE (?1 = 0 OR r.pid = ?1) " \
    "AND r.created_ns <= ?2 AND (r.ended_ns = 0 OR r.ended_ns >= ?3) ORDER BY r.created_ns DESC"

static int search_one(struct sn_store *store, const struct sn_store_query *query, sqlite3_stmt *row,
                      struct hits *hits, struct sonde_error *err)
{
    SN_AUTO(sn_store_methods_read_done) struct sn_store_methods_read methods = {0};
    struct sn_store_hit hit = {.recording_id = sn_store_sql_column(row, 0),
                               .process = sn_store_sql_column(row, 1),
                               .view = sn_store_sql_column(row, 2),
                               .all = (uint64_t)sqlite3_column_int64(row, 3),
                               .created_utc_ns = (uint64_t)sqlite3_column_int64(row, 4)};
    if (query->process && !sn_pattern_matches(query->process, hit.process))
        return SONDE_OK;
    const void *bytes;
    size_t size;
    struct sonde_error damage = {0};
    if (read_blob(row, 6, &bytes, &size, &damage) != SONDE_OK ||
        sn_store_profile_decode_methods(&store->packer, bytes, size, &methods, &damage) !=
            SONDE_OK) {
        sn_store_count_damaged(store, -sqlite3_column_int64(row, 7)); /* beside those of chunks */
        return SONDE_OK;
    }
    for (size_t i = 0; i < methods.count; i++) {
        const struct sn_store_method *method = &methods.methods[i];
        if (query->method && !sn_pattern_matches(query->method, method->name))
            continue;
        hit.method = method->name;
        hit.module = method->module;
        hit.self = method->self;
        hit.total = method->total;
        if (!add_hit(hits, &hit))
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for methods that were found");
    }
    return SONDE_OK;
}

static int search_all(struct sn_store *store, const struct sn_store_query *query, struct hits *hits,
                      struct sonde_error *err)
{
    SN_AUTO(sn_store_sql_end) sqlite3_stmt *row = NULL;
    int rc = sn_store_ready(store, err);
    if (rc == SONDE_OK)
        rc = sn_store_sql_prepare(store->db, SEARCH, &row, err);
    if (rc != SONDE_OK)
        return rc;
    bool has_end = query->to_ns && query->to_ns < INT64_MAX;
    (void)sqlite3_bind_int64(row, 1, query->pid);
    (void)sqlite3_bind_int64(row, 2, has_end ? (int64_t)query->to_ns : INT64_MAX);
    (void)sqlite3_bind_int64(row, 3, (int64_t)query->from_ns);
    while (rc == SONDE_OK && !sn_store_is_late(query) &&
           (rc = sn_store_sql_row(row, err)) == SONDE_OK)
        rc = search_one(store, query, row, hits, err);
    return rc < 0 ? rc : SONDE_OK;
}

int sn_store_methods(struct sn_store *store, const struct sn_store_query *query,
                     bool (*each)(void *user, const struct sn_store_hit *hit), void *user,
                     struct sonde_error *err)
{
    struct hits hits = {.limit = query->limit ? query->limit : HITS_STANDARD};
    hits.limit = hits.limit > HITS_MAX ? HITS_MAX : hits.limit;
    hits.hits = calloc(hits.limit, sizeof(*hits.hits));
    if (!hits.hits)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for methods that are looked for");
    int rc = search_all(store, query, &hits, err);
    bool goes_on = rc == SONDE_OK;
    for (size_t i = 0; i < hits.count; i++) {
        goes_on = goes_on && each(user, &hits.hits[i]);
        free_hit(&hits.hits[i]);
    }
    free(hits.hits);
    return rc;
}
