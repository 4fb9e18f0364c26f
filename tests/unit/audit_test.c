/* The audit log: what is worth a line, and that no flood takes the room of the rest. */
#include "check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/audit.h"

#define WHOLE_BYTES (16u << 20)

struct bench {
    char folder[32];
    char path[64];
    char old_path[72];
    struct sn_identity who;
    struct sn_audit *audit;
};

static void open_log(struct bench *bench)
{
    struct sonde_error err = {0};
    if (sn_audit_open(bench->path, &bench->audit, &err) != SONDE_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    (void)snprintf(bench->folder, sizeof(bench->folder), "/tmp/sonde-audit-XXXXXX");
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->path, sizeof(bench->path), "%s/audit.log", bench->folder);
    (void)snprintf(bench->old_path, sizeof(bench->old_path), "%s.1", bench->path);
    bench->who = (struct sn_identity){.scope = SN_SCOPE_CONTROL, .name = "alice", .kind = "key"};
    open_log(bench);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    sn_audit_close(bench->audit);
    (void)unlink(bench->path);
    (void)unlink(bench->old_path);
    assert_int_equal(rmdir(bench->folder), 0);
    free(bench);
    return 0;
}

static struct sn_audit_entry entry_of(const struct bench *bench, const char *method,
                                      unsigned status, enum sn_scope needed)
{
    return (struct sn_audit_entry){.who = &bench->who,
                                   .peer = "unix",
                                   .method = method,
                                   .path = "/api/v1/recordings",
                                   .status = status,
                                   .needed = needed};
}

static void write_entry(struct bench *bench, unsigned status)
{
    struct sn_audit_entry entry = entry_of(bench, "POST", status, SN_SCOPE_CONTROL);
    sn_audit_write(bench->audit, &entry);
}

struct lines {
    size_t count;
    size_t refused;
    uint64_t omitted;
    uint64_t last_omitted; /* as the last line says */
    uint64_t lost;         /* to a disk that is full */
};

static struct lines read_lines(const char *path)
{
    struct lines lines = {0};
    char line[8192];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof(line), file); lines.count++) {
        json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        lines.refused += json_integer_value(json_object_get(root, "status")) == 401;
        lines.last_omitted = (uint64_t)json_integer_value(json_object_get(root, "omitted"));
        lines.omitted += lines.last_omitted;
        lines.lost += (uint64_t)json_integer_value(json_object_get(root, "lost"));
        json_decref(root);
    }
    (void)fclose(file);
    return lines;
}

static void what_changes_something_or_is_refused_is_worth_a_line(void **state)
{
    const struct bench *bench = *state;
    static const struct {
        const char *method;
        unsigned status;
        enum sn_scope needed;
        bool is_wanted;
    } cases[] = {
        {"GET", 200, SN_SCOPE_READ, false},    {"HEAD", 200, SN_SCOPE_READ, false},
        {"GET", 200, SN_SCOPE_SECRETS, true},  {"GET", 200, SN_SCOPE_CONTROL, true},
        {"POST", 201, SN_SCOPE_CONTROL, true}, {"DELETE", 204, SN_SCOPE_CONTROL, true},
        {"POST", 429, SN_SCOPE_CONTROL, true}, {"GET", 401, SN_SCOPE_READ, true},
        {"GET", 403, SN_SCOPE_READ, true},     {"GET", 421, SN_SCOPE_NONE, true},
        {"GET", 400, SN_SCOPE_NONE, true},     {"GET", 400, SN_SCOPE_READ, false},
        {"POST", 404, SN_SCOPE_NONE, false},   {"PUT", 405, SN_SCOPE_NONE, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct sn_audit_entry entry =
            entry_of(bench, cases[i].method, cases[i].status, cases[i].needed);
        if (sn_audit_wants(&entry) != cases[i].is_wanted)
            fail_msg("%s with %u", cases[i].method, cases[i].status);
    }
    struct sn_audit_entry archive = entry_of(bench, "GET", 200, SN_SCOPE_READ);
    archive.is_archive = true;
    assert_true(sn_audit_wants(&archive));
}

/* Somebody who tries keys writes a hundred lines in ten seconds, and the rest is a number. */
static void a_flood_of_refusals_is_counted_and_leaves_room(void **state)
{
    struct bench *bench = *state;
    const size_t tried = 2000;
    for (size_t i = 0; i < tried; i++)
        write_entry(bench, 401);
    write_entry(bench, 201);
    struct lines lines = read_lines(bench->path);
    assert_in_range(lines.refused, 100, tried - 1);
    assert_int_equal(lines.refused + lines.omitted, tried);
    assert_true(lines.last_omitted > 0);
    write_entry(bench, 201);
    assert_int_equal(read_lines(bench->path).last_omitted, 0); /* they were told */
    assert_int_equal(lines.lost, 0);
}

static void a_full_log_is_put_aside_and_the_next_one_begun(void **state)
{
    struct bench *bench = *state;
    struct lines lines;
    struct stat facts;
    sn_audit_close(bench->audit);
    assert_int_equal(truncate(bench->path, WHOLE_BYTES - 1), 0);
    open_log(bench);
    write_entry(bench, 201);
    write_entry(bench, 201);
    assert_int_equal(stat(bench->old_path, &facts), 0);
    assert_int_equal(facts.st_size, WHOLE_BYTES - 1);
    lines = read_lines(bench->path);
    assert_int_equal(lines.count, 2);
    assert_int_equal(lines.lost, 0);
    assert_int_equal(stat(bench->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_changes_something_or_is_refused_is_worth_a_line),
        TEST(a_flood_of_refusals_is_counted_and_leaves_room),
        TEST(a_full_log_is_put_aside_and_the_next_one_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
