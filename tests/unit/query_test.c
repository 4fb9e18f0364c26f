/* Paths and queries held against a table: what is taken, what is refused and how it is said. */
#include "unit/check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/json_body.h"
#include "daemon/query.h"

static const struct sn_parameter parameters[] = {
    {.name = "pid", .kind = SN_PARAMETER_NUMBER, .min = 1, .max = 1000, .is_required = true},
    {.name = "text"},
    {.name = "flag", .kind = SN_PARAMETER_FLAG, .standard = "true"},
    {.name = "word", .kind = SN_PARAMETER_WORD, .words = "cpu,http"},
    {.name = "words", .kind = SN_PARAMETER_WORDS, .words = "cpu,http"},
    {.name = "id", .kind = SN_PARAMETER_GUID},
    {.name = "time", .kind = SN_PARAMETER_TIME},
    {.name = NULL},
};
static const struct sn_route ours = {
    .method = "GET", .path = "/api/v1/processes/{pid}/x", .parameters = parameters};
static const struct sn_route theirs = {
    .method = "GET", .path = "/Processes/{pid}/x", .parameters = parameters};

struct asked {
    char path[128];
    char query[256];
    const char *values[SN_QUERY_VALUES_MAX];
    struct sn_query_problem problem;
};

static bool ask(const struct sn_route *route, struct asked *asked, const char *query)
{
    memset(asked, 0, sizeof(*asked));
    (void)snprintf(asked->path, sizeof(asked->path), "%s",
                   route == &ours ? "/api/v1/processes/7/x" : "/processes/7/X");
    (void)snprintf(asked->query, sizeof(asked->query), "%s", query);
    assert_int_equal(sn_query_match(route, asked->path, asked->values), 1);
    return sn_query_read(route, asked->query, asked->values, &asked->problem);
}

static void test_values_are_taken(void **state)
{
    (void)state;
    struct asked asked;
    assert_true(ask(&ours, &asked, "text=a%2Fb+c&word=cpu&words=cpu,http&time=1.5"));
    assert_string_equal(asked.values[0], "7");
    assert_string_equal(asked.values[1], "a/b c");
    assert_string_equal(asked.values[2], "true");
    assert_string_equal(asked.values[4], "cpu,http");
    assert_null(asked.values[5]);
    assert_true(ask(&ours, &asked, "id=00000000-0000-0000-0000-00000000000A&&flag=false"));
    assert_string_equal(asked.values[2], "false");
    assert_true(ask(&ours, &asked, "text=&word=")); /* empty is not given, but for text */
    assert_string_equal(asked.values[1], "");
    assert_null(asked.values[3]);
}

static void test_ours_are_strict(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        const char *member;
    } wrong[] = {
        {"other=1", "other"},      {"Text=1", "Text"},   {"text=1&text=2", "text"},
        {"pid=8", "pid"},          {"flag=yes", "flag"}, {"flag=True", "flag"},
        {"word=gc", "word"},       {"word=CPU", "word"}, {"words=cpu,,http", "words"},
        {"words=cpu,gc", "words"}, {"id=12", "id"},      {"time=yesterday", "time"},
        {"text=%", "query"},       {"text=%4", "query"}, {"text=%00", "query"},
        {"%zz=1", "query"},
    };
    struct asked asked;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(ask(&ours, &asked, wrong[i].query));
        assert_string_equal(asked.problem.member, wrong[i].member);
        assert_true(strlen(asked.problem.text) > 5);
    }
}

static void test_theirs_are_lenient(void **state)
{
    (void)state;
    struct asked asked;
    assert_true(ask(&theirs, &asked, "other=1&Text=a&text=b&WORD=CPU&flag=True"));
    assert_string_equal(asked.values[1], "a");
    assert_string_equal(asked.values[3], "CPU");
    assert_false(ask(&theirs, &asked, "flag=yes"));
}

static void test_numbers_have_bounds(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0", "1001", "-1", "0x10", "1e2", "", " 7", "7 ", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct sn_query_problem problem;
        const char *values[SN_QUERY_VALUES_MAX] = {wrong[i]};
        assert_false(sn_query_read(&ours, (char[]){""}, values, &problem));
        assert_string_equal(problem.member, "pid");
    }
    struct sn_query_problem problem;
    const char *values[SN_QUERY_VALUES_MAX] = {NULL};
    assert_false(sn_query_read(&ours, (char[]){""}, values, &problem)); /* required */
}

static void test_paths(void **state)
{
    (void)state;
    static const char *const foreign[] = {"",
                                          "/",
                                          "/api/v1/processes/7",
                                          "/api/v1/processes/7/x/",
                                          "/api/v1/processes//x",
                                          "/api/v1/processes/7/y",
                                          "/API/v1/processes/7/x",
                                          "api/v1/processes/7/x"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s", foreign[i]);
        assert_int_equal(sn_query_match(&ours, path, NULL), -1);
    }
    static const struct sn_route root = {.method = "GET", .path = "/"};
    assert_int_equal(sn_query_match(&root, (char[]){"/"}, NULL), 0);
    assert_int_equal(sn_query_match(&root, (char[]){"/x"}, NULL), -1);
}

static void test_times(void **state)
{
    (void)state;
    uint64_t ns;
    assert_true(sn_query_time("1970-01-01T00:00:01Z", &ns));
    assert_int_equal(ns, SN_NS_PER_SECOND);
    assert_true(sn_query_time("1970-01-01T01:00:00.25+00:30", &ns));
    assert_int_equal(ns, 1800ull * SN_NS_PER_SECOND + SN_NS_PER_SECOND / 4);
    assert_true(sn_query_time("12.5", &ns));
    assert_int_equal(ns, 12500000000ull);
    uint64_t now = sn_clock_utc_ns();
    assert_true(sn_query_time("-5m", &ns));
    assert_true(ns <= now - 299ull * SN_NS_PER_SECOND && ns >= now - 302ull * SN_NS_PER_SECOND);
    assert_true(sn_query_time("-1000000000d", &ns));
    assert_int_equal(ns, 0);
    static const char *const wrong[] = {"-5y",
                                        "-m",
                                        "-5mm",
                                        "5m",
                                        "-99999999999d",
                                        "",
                                        "now",
                                        "1970-01-01",
                                        "1970-01-01T00:00:00",
                                        "1970-01-01T00:00:00+1",
                                        "-5",
                                        "1e300",
                                        "1960-01-01T00:00:00Z",
                                        "NaN"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_false(sn_query_time(wrong[i], &ns));
}

/* Cut at every byte: read whole, or refused with a reason. */
static void test_bodies(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\":[1,{\"b\":\"\\\"[\"}],\"c\":null}";
    json_t *body;
    for (size_t size = 0; size < strlen(whole); size++) {
        struct sonde_error err = {0};
        assert_int_equal(sn_json_body_read(whole, size, &body, &err), SONDE_E_FORMAT);
        assert_true(strlen(err.text) > 5);
    }
    assert_int_equal(sn_json_body_read(whole, strlen(whole), &body, NULL), SONDE_OK);
    json_decref(body);
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    assert_int_equal(sn_json_body_read(deep, sizeof(deep), &body, NULL), SONDE_E_FORMAT);
    assert_int_equal(sn_json_body_read(deep + 100 - SN_JSON_BODY_DEPTH_MAX,
                                       2ul * SN_JSON_BODY_DEPTH_MAX, &body, NULL),
                     SONDE_OK);
    json_decref(body);
    assert_int_equal(sn_json_body_read("{\"a\":1,\"a\":2}", 13, &body, NULL), SONDE_E_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_taken),
        cmocka_unit_test(test_ours_are_strict),
        cmocka_unit_test(test_theirs_are_lenient),
        cmocka_unit_test(test_numbers_have_bounds),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
