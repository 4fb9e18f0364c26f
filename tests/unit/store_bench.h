/* A store in a folder of its own, and points for it. */
#ifndef SN_TEST_STORE_BENCH_H
#define SN_TEST_STORE_BENCH_H

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "own_folder.h"
#include "sink/store/store.h"

#define BENCH_START_NS 1700000000000000000u
#define BENCH_SECOND   1000000000u

struct store_bench {
    char folder[OWN_FOLDER_SIZE];
    struct sn_store *store;
    uint64_t bytes_max;
    uint64_t age_max_ns;
};

static inline void bench_open(struct store_bench *bench)
{
    const struct sn_store_options options = {
        .folder = bench->folder, .bytes_max = bench->bytes_max, .age_max_ns = bench->age_max_ns};
    struct sonde_error err = {0};
    int rc = sn_store_open(&options, &bench->store, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
}

static inline int bench_begin(void **state)
{
    struct store_bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    own_folder_make(bench->folder, "store");
    bench_open(bench);
    *state = bench;
    return 0;
}

/* With all that it has kept. */
static inline void bench_close(struct store_bench *bench)
{
    sn_store_close(bench->store);
    bench->store = NULL;
    own_folder_remove(bench->folder);
}

static inline int bench_end(void **state)
{
    struct store_bench *bench = *state;
    bench_close(bench);
    free(bench);
    return 0;
}

/* Begins again with nothing. */
static inline void bench_empty(struct store_bench *bench)
{
    bench_close(bench);
    bench_open(bench);
}

/* A life ends well and another begins. */
static inline void bench_reopen(struct store_bench *bench)
{
    sn_store_close(bench->store);
    bench->store = NULL;
    bench_open(bench);
}

static inline int64_t bench_process(struct store_bench *bench, uint32_t pid, const char *name)
{
    const struct sn_store_process process = {.pid = pid,
                                             .start_ticks = 1000 + pid,
                                             .name = name,
                                             .runtime = "10.0.1",
                                             .user = "web",
                                             .container = "",
                                             .command_line = "dotnet shop.dll"};
    int64_t id = 0;
    struct sonde_error err = {0};
    int rc = sn_store_process(bench->store, &process, &id, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
    return id;
}

static inline struct sonde_point bench_point(const char *counter, uint64_t second, double value)
{
    return (struct sonde_point){.origin = SONDE_POINT_EVENT_COUNTER,
                                .kind = SONDE_POINT_GAUGE,
                                .provider = "System.Runtime",
                                .version = "",
                                .name = counter,
                                .display_name = counter,
                                .unit = "MB",
                                .description = "",
                                .tag_text = "",
                                .utc_ns = BENCH_START_NS + second * BENCH_SECOND,
                                .value = value,
                                .rate = NAN,
                                .total = NAN,
                                .sum = NAN};
}

static inline void bench_put(struct store_bench *bench, int64_t process, const char *counter,
                             uint64_t second, double value)
{
    struct sonde_point point = bench_point(counter, second, value);
    struct sonde_error err = {0};
    int rc = sn_store_point(bench->store, process, &point, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
}

/* A second in which so many were measured that took so long together; percentiles by their mean. */
static inline void bench_put_histogram(struct store_bench *bench, int64_t process,
                                       const char *counter, uint64_t second, uint64_t count,
                                       double sum)
{
    struct sonde_point point = bench_point(counter, second, NAN);
    double mean = count ? sum / (double)count : NAN;
    const struct sonde_quantile quantiles[] = {{0.5, mean}, {0.95, 2 * mean}, {0.99, 3 * mean}};
    struct sonde_error err = {0};
    point.kind = SONDE_POINT_HISTOGRAM;
    point.interval_ns = BENCH_SECOND;
    point.count = count;
    point.sum = sum;
    point.quantiles = quantiles;
    point.quantile_count = count ? 3 : 0;
    int rc = sn_store_point(bench->store, process, &point, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
}

static inline void bench_commit(struct store_bench *bench)
{
    struct sonde_error err = {0};
    int rc = sn_store_commit(bench->store, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
}

/* What a question brought, as text: "name counter second=value ...". */
struct bench_answer {
    char text[8192];
    size_t size;
    size_t count;
    double last;
};

static inline bool bench_take(void *user, const struct sn_store_sample *sample)
{
    struct bench_answer *answer = user;
    answer->count++;
    answer->last = sample->value;
    if (answer->size < sizeof(answer->text) - 128)
        answer->size += (size_t)snprintf(
            answer->text + answer->size, sizeof(answer->text) - answer->size,
            "%s%s.%s@%llu=%g(%g-%g)%llu", answer->size ? " " : "", sample->process, sample->counter,
            (unsigned long long)((sample->utc_ns - BENCH_START_NS) / BENCH_SECOND), sample->value,
            sample->min, sample->max, (unsigned long long)sample->count);
    return true;
}

static inline struct bench_answer bench_ask(struct store_bench *bench, struct sn_store_query query)
{
    struct bench_answer answer = {.size = 0};
    struct sonde_error err = {0};
    int rc = sn_store_history(bench->store, &query, bench_take, &answer, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
    return answer;
}

static inline struct sn_store_health bench_health(const struct store_bench *bench)
{
    struct sn_store_health health;
    sn_store_health(bench->store, &health);
    return health;
}

/* Numbers that came back: values of points that a test has counted from 0 on. */
struct bench_ledger {
    bool has[4096];
    size_t twice;
};

static inline bool bench_enter(void *user, const struct sn_store_sample *sample)
{
    struct bench_ledger *ledger = user;
    size_t number = (size_t)sample->value;
    ledger->twice += ledger->has[number];
    ledger->has[number] = true;
    return true;
}

/* So many are there, and none is twice. */
static inline void bench_check_numbers(struct store_bench *bench, size_t acknowledged)
{
    struct bench_ledger ledger = {.twice = 0};
    struct sonde_error err = {0};
    const struct sn_store_query query = {.limit = 100000};
    int rc = sn_store_history(bench->store, &query, bench_enter, &ledger, &err);
    if (rc != SONDE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ledger.twice, 0);
    for (size_t number = 0; number < acknowledged; number++)
        if (!ledger.has[number])
            fail_msg("number %zu of %zu was acknowledged and is lost", number, acknowledged);
}

/* A store that another version wrote. */
static inline void bench_golden(const struct store_bench *bench, const char *name)
{
    char path[512];
    char block[65536];
    (void)snprintf(path, sizeof(path), SONDE_SOURCE_DIR "/tests/golden/store/%s", name);
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    size_t size = fread(block, 1, sizeof(block), from);
    (void)fclose(from);
    assert_true(size > 0 && size < sizeof(block));
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(block, 1, size, to), size);
    assert_int_equal(fclose(to), 0);
}

static inline void bench_sql(const struct store_bench *bench, const char *sql)
{
    char path[512];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/store.db", bench->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

#endif
