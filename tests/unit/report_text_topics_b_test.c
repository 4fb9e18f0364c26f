/* The text of JIT, thread pool, requests and tasks: the answer comes first, starvation is called by
 * its name, and nothing that a trace holds reaches the terminal as it is. */
#include "check.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/report_text.h"
#include "model/report.h"

#define MS     1000000u
#define SECOND 1000000000u

static int collect(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static const char *show_at(struct sn_buf *text, const struct sn_report *report, unsigned width,
                           unsigned count)
{
    struct sn_stream stream;
    struct sonde_error err = {0};
    sn_stream_init(&stream, collect, text);
    struct sn_text_report page = {.out = &stream, .width = width, .count = count};
    sn_report_text_jit(&page, report);
    sn_report_text_pool(&page, report);
    sn_report_text_requests(&page, report);
    sn_report_text_tasks(&page, report);
    assert_int_equal(sn_stream_finish(&stream, &err), SONDE_OK);
    sn_stream_done(&stream);
    return sn_buf_string(text);
}

static const char *show(struct sn_buf *text, const struct sn_report *report)
{
    return show_at(text, report, 100, 10);
}

static void assert_shows(const struct sn_report *report, const char *part)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    const char *shown = show(&text, report);
    if (!strstr(shown, part))
        fail_msg("'%s' is not in:\n%s", part, shown);
}

static void a_topic_without_events_is_not_shown(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    struct sn_report report = {0};
    assert_string_equal(show(&text, &report), "");
}

static void starvation_is_said_in_words(void **state)
{
    (void)state;
    struct sn_report report = {.pool = {.event_count = 3,
                                        .has_workers = true,
                                        .worker_min = 2,
                                        .worker_max = 9,
                                        .starved_from_ns = SECOND,
                                        .starved_until_ns = 4u * (uint64_t)SECOND}};
    report.pool.by_reason[SN_POOL_STARVATION] = 7;
    assert_shows(&report, "Thread pool STARVED; 2 to 9 workers\n");
    assert_shows(&report,
                 "Starvation: 7 times within 3.00 s no thread came free; one was added.\n");
    report.pool.by_reason[SN_POOL_STARVATION] = 1;
    report.pool.starved_until_ns = report.pool.starved_from_ns;
    assert_shows(&report,
                 "Starvation: once no thread came free for waiting work; one was added.\n");
    report.pool.by_reason[SN_POOL_STARVATION] = 0;
    for (int i = 0; i < 3; i++)
        sn_series_add(&report.pool.queue_waits, 250 * MS);
    report.pool.late_ns = SECOND;
    report.pool.late_begun_count = 3;
    assert_shows(&report, "Starvation: every second work item waited 250 ms or more");
    sn_series_done(&report.pool.queue_waits);
    sn_series_add(&report.pool.queue_waits, MS);
    report.pool.dequeue_count = 1;
    assert_shows(&report, "Starvation: work waited for a thread for 1.00 s, while workers grew "
                          "from 2 to 9.\n");
    report.pool.late_begun_count = 1000; /* a busy pool gets through */
    assert_shows(&report, "Thread pool 2 to 9 workers; 1 work item, p99 wait 1.00 ms");
    sn_series_done(&report.pool.queue_waits);
}

static void requests_begin_with_the_slowest_route(void **state)
{
    (void)state;
    struct sn_route routes[] = {
        {.method = "GET", .pattern = "/a", .count = 1500, .done_count = 1500, .by_status = {1500}},
        {.method = "GET", .pattern = "/orders/{n}", .count = 500, .done_count = 500},
        {.method = "", .pattern = "/pay", .host = "bank:8080", .count = 1},
    };
    struct sn_report report = {.duration_ns = 10u * (uint64_t)SECOND,
                               .requests = {.event_count = 1, .routes = routes, .count = 3}};
    sn_series_add(&routes[0].times, 3 * MS);
    sn_series_add(&routes[1].times, 412 * MS);
    assert_shows(&report,
                 "HTTP served 2,000 requests, 200/s; slowest: GET /orders/{n}, p99 412 ms\n");
    assert_shows(&report,
                 "    1,500   150/s 3.00 ms 3.00 ms 3.00 ms 3.00 ms      -      0  GET /a\n");
    assert_shows(&report, "  412 ms      0      0  GET /orders/{n}\n");
    assert_shows(&report, "HTTP sent   1 request, 0.1/s; none ended\n");
    assert_shows(&report, "  bank:8080/pay\n");
    for (size_t i = 0; i < 3; i++)
        sn_series_done(&routes[i].times);
}

/* Own operations that are younger than the framework's loops, and more of them than rows. */
static void stuck_operations_come_before_the_loops_of_the_framework(void **state)
{
    (void)state;
    struct sn_task_kind kinds[] = {
        {.name = "Shop.Place", .operation = "", .count = 10, .done_count = 10},
        {.name = "System.Net.Sockets.Connection.DoReceive",
         .operation = "",
         .open_count = 4,
         .oldest_ns = 90u * (uint64_t)SECOND,
         .is_framework = true},
        {.name = "Shop.Reserve",
         .operation = "",
         .open_count = 1,
         .oldest_ns = 41u * (uint64_t)SECOND},
        {.name = "Task.Delay",
         .operation = "",
         .open_count = 1,
         .oldest_ns = 95u * (uint64_t)SECOND,
         .is_framework = true},
        {.name = "Shop.CheckOut",
         .operation = "",
         .open_count = 2,
         .oldest_ns = 42u * (uint64_t)SECOND},
        {.name = "Shop.Wait",
         .operation = "",
         .open_count = 1,
         .oldest_ns = 40u * (uint64_t)SECOND},
    };
    struct sn_report report = {.tasks = {.event_count = 1,
                                         .kinds = kinds,
                                         .count = 6,
                                         .operation_count = 19,
                                         .open_count = 9,
                                         .unmatched_count = 3,
                                         .blocked_count = 1,
                                         .blocked_ns = 5u * (uint64_t)SECOND}};
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    assert_non_null(
        strstr(show_at(&text, &report, 80, 2),
               "Tasks       9 of 19 operations open; oldest own: Shop.CheckOut, 42.0 s\n"
               "    OLDEST    OPEN  NOT ENDED WHEN THE TRACE DID\n"
               "    42.0 s       2  Shop.CheckOut\n"
               "    41.0 s       1  Shop.Reserve\n"
               "  and 1 more operation\n"
               "    95.0 s       5  the framework's own: Task.Delay, Connection.DoReceive\n"
               "  operations that began before the trace are not seen; 3 of them ended\n"));
    assert_shows(&report, "    40.0 s       1  Shop.Wait\n");
    assert_shows(&report, "1 thread still blocked on a task, the longest for 5.00 s\n");
}

static void all_ended_is_said_of_what_was_seen(void **state)
{
    (void)state;
    struct sn_task_kind kind = {.name = "System.Loop", .operation = "", .is_framework = true};
    struct sn_report report = {
        .tasks = {.event_count = 1, .kinds = &kind, .count = 1, .operation_count = 7}};
    assert_shows(&report, "Tasks       7 operations, all that began have ended\n"
                          "  operations that began before the trace are not seen\n");
    kind.open_count = report.tasks.open_count = 1;
    assert_shows(&report, "Tasks       7 operations, all ended but 1 of the framework's\n");
}

static size_t columns_of_line(const char *line)
{
    size_t columns = 0;
    for (; *line && *line != '\n'; line++)
        columns += ((unsigned char)*line & 0xC0u) != 0x80u;
    return columns;
}

/* Large numbers, long names: the line that is the answer must not wrap. */
static void no_line_is_longer_than_the_page(void **state)
{
    (void)state;
    const char *name =
        "Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets.Internal.Connection.Do";
    struct sn_jit_method method = {.name = name, .type = "", .method = "", .time_ns = 123 * MS};
    struct sn_route routes[] = {
        {.method = "DELETE", .pattern = name, .count = 123456, .done_count = 1},
        {.method = "", .pattern = name, .host = "bank", .count = 123456}};
    struct sn_task_kind kind = {
        .name = name, .operation = "", .open_count = 12345, .oldest_ns = 99u * (uint64_t)SECOND};
    struct sn_report report = {.duration_ns = 10u * (uint64_t)SECOND,
                               .jit = {.event_count = 1,
                                       .methods = &method,
                                       .count = 1,
                                       .jitted_count = 123456,
                                       .timed_count = 123456,
                                       .time_ns = 99u * (uint64_t)SECOND,
                                       .background_count = 12345,
                                       .paused_count = 12345,
                                       .r2r_lookup_count = 123456},
                               .pool = {.event_count = 1,
                                        .has_workers = true,
                                        .worker_min = 10,
                                        .worker_max = 999,
                                        .dequeue_count = 1234567,
                                        .waiting_count = 123456,
                                        .starved_from_ns = 1,
                                        .starved_until_ns = 98u * (uint64_t)SECOND},
                               .requests = {.event_count = 1,
                                            .routes = routes,
                                            .count = 2,
                                            .open_count = 123456,
                                            .by_thread_count = 1234567},
                               .tasks = {.event_count = 1,
                                         .kinds = &kind,
                                         .count = 1,
                                         .open_count = 12345,
                                         .operation_count = 1234567,
                                         .unmatched_count = 12345,
                                         .blocked_count = 12345}};
    report.pool.by_reason[SN_POOL_STARVATION] = 1234567;
    struct sn_series *const series[] = {&report.pool.queue_waits, &report.tasks.queue_waits,
                                        &report.tasks.runs,       &report.tasks.sync_waits,
                                        &routes[0].times,         &kind.times};
    for (size_t i = 0; i < 6; i++)
        sn_series_add(series[i], 456 * MS);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    for (const char *line = show_at(&text, &report, 80, 10); *line; line += *line == '\n') {
        if (columns_of_line(line) > 80)
            fail_msg("%zu columns: %.*s", columns_of_line(line), (int)strcspn(line, "\n"), line);
        line += strcspn(line, "\n");
    }
    for (size_t i = 0; i < 6; i++)
        sn_series_done(series[i]);
}

static void a_trace_without_methods_says_how_to_get_them(void **state)
{
    (void)state;
    struct sn_report report = {.jit = {.event_count = 1, .background_count = 1}};
    assert_shows(&report, "--profile jit");
    assert_shows(&report, "better code was made in the background: 1 time, 0\n");
}

/* Escapes, line feeds, broken UTF-8, 64 KB: in every name, and cut in the middle of a character. */
static void names_from_outside_are_made_safe(void **state)
{
    (void)state;
    static char huge[65536];
    memset(huge, 'x', sizeof(huge) - 1);
    for (size_t i = sizeof(huge) - 201; i < sizeof(huge) - 1; i += 2)
        memcpy(huge + i, "\xC3\xA9", 2); /* at the places where headlines are cut */
    const char *const names[] = {"\033[31mred\nnew line\x07", "\xFF\xFE broken", huge, ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct sn_jit_method method = {
            .name = names[i], .type = names[i], .method = names[i], .count = 1, .timed_count = 1};
        struct sn_route route = {
            .method = names[i], .pattern = names[i], .host = names[i], .count = 1, .done_count = 1};
        struct sn_task_kind kind = {.name = names[i], .operation = names[i], .open_count = 1};
        struct sn_report report = {
            .jit = {.event_count = 1,
                    .methods = &method,
                    .count = 1,
                    .jitted_count = 1,
                    .timed_count = 1},
            .requests = {.event_count = 1, .routes = &route, .count = 1},
            .tasks = {.event_count = 1, .kinds = &kind, .count = 1, .open_count = 1}};
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
        const char *shown = show(&text, &report);
        assert_non_null(strstr(shown, "Tasks"));
        for (const char *at = shown; *at; at++)
            assert_true((unsigned char)*at >= ' ' || *at == '\n');
        assert_null(strstr(shown, "\xFF"));
        assert_null(strstr(shown, "\\xc3")); /* no character was cut */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_without_events_is_not_shown),
        cmocka_unit_test(starvation_is_said_in_words),
        cmocka_unit_test(requests_begin_with_the_slowest_route),
        cmocka_unit_test(stuck_operations_come_before_the_loops_of_the_framework),
        cmocka_unit_test(all_ended_is_said_of_what_was_seen),
        cmocka_unit_test(no_line_is_longer_than_the_page),
        cmocka_unit_test(a_trace_without_methods_says_how_to_get_them),
        cmocka_unit_test(names_from_outside_are_made_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
