/* The sink of requests on events made by hand: what belongs together is matched, by activity or
 * what else there is; what is missing, repeated, cut or out of order does no harm. */
#include "sink_bench.h"

static const struct sn_field start_fields[] = {FIELD("method", SN_TYPE_STRING16),
                                               FIELD("path", SN_TYPE_STRING16)};

static void seal_activity(struct bench *bench)
{
    uint32_t words[3];
    memcpy(words, bench->activity, sizeof(words));
    uint32_t checksum = (words[0] + words[1] + words[2] + 0x599D99ADu) ^ 4711u;
    memcpy(bench->activity + 12, &checksum, sizeof(checksum));
    bench->has_activity = true;
}

/* Activity 1/number, and 1/number/child when there is one; numbers up to 255. */
static void set_activity(struct bench *bench, unsigned number, unsigned child)
{
    memset(bench->activity, 0, sizeof(bench->activity));
    bench->activity[0] = 0x1c;
    bench->activity[1] = (uint8_t)number;
    bench->activity[2] = (uint8_t)(child << 4);
    seal_activity(bench);
}

static void served_start(struct bench *bench, uint64_t time_ns, const char *method,
                         const char *path)
{
    begin_source(bench, "Microsoft.AspNetCore.Hosting", 3, start_fields, COUNT(start_fields));
    put_text(bench, method);
    put_text(bench, path);
    send_event(bench, time_ns);
}

static void served_stop(struct bench *bench, uint64_t time_ns, uint32_t id)
{
    begin_source(bench, "Microsoft.AspNetCore.Hosting", id, NULL, 0);
    send_event(bench, time_ns);
}

static void throw_exception(struct bench *bench, uint64_t time_ns)
{
    begin_runtime(bench, 80, 1);
    put_text(bench, "Shop.OrderRejected");
    put_text(bench, "no");
    sn_buf_fill(&bench->payload, 0, 16);
    send_event(bench, time_ns);
}

static void requests_are_matched_by_activity_and_get_their_exceptions(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    set_activity(&bench, 0x20, 0);
    served_start(&bench, 100, "GET", "/orders/1");
    set_activity(&bench, 0x25, 0);
    bench.thread_id = 8;
    served_start(&bench, 110, "GET", "/orders/2?x");
    set_activity(&bench, 0x25, 1);
    throw_exception(&bench, 115); /* in the second's flow, on whatever thread */
    set_activity(&bench, 0x20, 0);
    served_stop(&bench, 130, 4);
    set_activity(&bench, 0x25, 0);
    served_stop(&bench, 119, 5); /* not handled */
    served_stop(&bench, 120, 4);
    served_stop(&bench, 121, 4); /* a second end */
    throw_exception(&bench, 122);
    set_activity(&bench, 0x26, 0);
    served_start(&bench, 140, "POST", "/orders");
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->count, 2);
    const struct sn_route *route = &requests->routes[0];
    assert_string_equal(route->method, "GET");
    assert_string_equal(route->pattern, "/orders/{n}");
    assert_null(route->host);
    assert_int_equal(route->count, 2);
    assert_int_equal(route->done_count, 2);
    assert_int_equal(route->times.sum, 40);
    assert_int_equal(route->times.max, 30);
    assert_int_equal(route->exception_count, 1);
    assert_int_equal(route->failed_count, 1);
    assert_int_equal(requests->routes[1].open_count, 1);
    assert_int_equal(requests->open_count, 1);
    assert_int_equal(requests->unmatched_count, 1);
    assert_int_equal(requests->by_thread_count, 0);
    assert_int_equal(requests->exception_count, 1);
    assert_int_equal(requests->times.seen_count, 2);
    end(&bench);
}

/* .NET 10 gives all but the first ten requests of a connection one id. */
static void requests_that_share_an_id_are_all_counted(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    set_activity(&bench, 0x20, 0xC); /* the code of a number, and then nothing */
    for (uint64_t i = 0; i < 20; i++)
        served_start(&bench, 100 + i, "GET", "/a");
    bench.activity[3] = 0x10; /* below one of them */
    seal_activity(&bench);
    throw_exception(&bench, 150);
    set_activity(&bench, 0x20, 0xC);
    for (uint64_t i = 0; i < 19; i++)
        served_stop(&bench, 200 + i, 4);
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->routes[0].count, 20);
    assert_int_equal(requests->routes[0].done_count, 19);
    assert_int_equal(requests->routes[0].times.sum, 19 * 209 - 19 * 110);
    assert_int_equal(requests->routes[0].exception_count, 1);
    assert_int_equal(requests->open_count, 1);
    assert_int_equal(requests->unmatched_count, 0);
    end(&bench);
}

static void without_activities_threads_must_do(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    served_start(&bench, 100, "GET", "/a");
    bench.thread_id = 9;
    served_start(&bench, 101, "GET", "/b");
    served_stop(&bench, 105, 4);
    bench.thread_id = 7;
    throw_exception(&bench, 106);
    served_stop(&bench, 110, 4);
    served_start(&bench, 120, "GET", "/a"); /* goes to another thread and is never matched */
    served_start(&bench, 130, "GET", "/a");
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->by_thread_count, 4);
    assert_string_equal(requests->routes[0].pattern, "/a");
    assert_int_equal(requests->routes[0].times.sum, 10);
    assert_int_equal(requests->routes[0].exception_count, 1);
    assert_int_equal(requests->routes[0].count, 3);
    assert_int_equal(requests->routes[0].open_count, 2);
    assert_int_equal(requests->routes[1].times.sum, 4);
    end(&bench);
}

static const struct sn_field kestrel_fields[] = {
    FIELD("connectionId", SN_TYPE_STRING16), FIELD("requestId", SN_TYPE_STRING16),
    FIELD("httpVersion", SN_TYPE_STRING16), FIELD("path", SN_TYPE_STRING16),
    FIELD("method", SN_TYPE_STRING16)};

static void send_kestrel(struct bench *bench, uint64_t time_ns, uint32_t id, const char *request)
{
    begin_source(bench, "Microsoft-AspNetCore-Server-Kestrel", id, kestrel_fields,
                 COUNT(kestrel_fields));
    put_text(bench, "C");
    put_text(bench, request);
    put_text(bench, "HTTP/1.1");
    put_text(bench, "/k");
    put_text(bench, "GET");
    send_event(bench, time_ns);
}

static void a_request_that_two_sources_tell_of_is_one(void **state)
{
    (void)state;
    for (int with_hosting = 0; with_hosting < 2; with_hosting++) {
        struct bench bench;
        start(&bench, sn_requests_make);
        if (with_hosting)
            served_start(&bench, 1, "GET", "/h");
        send_kestrel(&bench, 2, 3, "R1");
        send_kestrel(&bench, 3, 3, "R2");
        bench.thread_id = 99; /* Kestrel numbers its requests: threads do not matter */
        send_kestrel(&bench, 7, 4, "R1");
        send_kestrel(&bench, 9, 4, "R2");
        finish(&bench);
        const struct sn_request_report *requests = &bench.report->requests;
        assert_int_equal(requests->count, 1);
        assert_string_equal(requests->routes[0].pattern, with_hosting ? "/h" : "/k");
        assert_int_equal(requests->routes[0].count, with_hosting ? 1 : 2);
        assert_int_equal(requests->times.sum, with_hosting ? 0 : 11);
        end(&bench);
    }
}

static const struct sn_field client_fields[] = {
    FIELD("scheme", SN_TYPE_STRING16), FIELD("host", SN_TYPE_STRING16), FIELD("port", SN_TYPE_I32),
    FIELD("pathAndQuery", SN_TYPE_STRING16)};
static const struct sn_field status_fields[] = {FIELD("statusCode", SN_TYPE_I32)};

static void send_client(struct bench *bench, uint64_t time_ns, uint32_t port)
{
    begin_source(bench, "System.Net.Http", 1, client_fields, COUNT(client_fields));
    put_text(bench, "http");
    put_text(bench, "bank");
    sn_buf_u32(&bench->payload, port);
    put_text(bench, "/pay/12?who=me");
    send_event(bench, time_ns);
}

static void send_client_end(struct bench *bench, uint64_t time_ns, uint32_t id, int32_t status)
{
    begin_source(bench, "System.Net.Http", id, status_fields, COUNT(status_fields));
    sn_buf_u32(&bench->payload, (uint32_t)status);
    send_event(bench, time_ns);
}

static void outgoing_requests_have_a_host_and_may_fail(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    set_activity(&bench, 1, 1);
    send_client(&bench, 10, 8080);
    send_client_end(&bench, 15, 2, 200);
    set_activity(&bench, 1, 2);
    send_client(&bench, 20, 8080);
    send_client_end(&bench, 24, 3, 0);
    send_client_end(&bench, 25, 2, -1);
    set_activity(&bench, 1, 3);
    send_client(&bench, 30, 8080);
    send_client_end(&bench, 31, 2, 503);
    set_activity(&bench, 1, 4);
    send_client(&bench, 30, 443);
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->count, 2);
    const struct sn_route *route = &requests->routes[0];
    assert_string_equal(route->host, "bank:8080");
    assert_string_equal(route->pattern, "/pay/{n}");
    assert_int_equal(route->failed_count, 2);
    assert_int_equal(route->by_status[2], 1);
    assert_int_equal(route->by_status[5], 1);
    assert_int_equal(route->by_status[0], 1);
    assert_string_equal(requests->routes[1].host, "bank");
    assert_int_equal(requests->sent_times.seen_count, 3);
    assert_int_equal(requests->times.seen_count, 0);
    end(&bench);
}

static const struct sn_field pair_fields[] = {FIELD("Key", SN_TYPE_STRING16),
                                              FIELD("Value", SN_TYPE_STRING16)};
static const struct sn_field pair_field[] = {{"", SN_TYPE_OBJECT, 0, 2, pair_fields}};
static const struct sn_field bridge_fields[] = {FIELD("SourceName", SN_TYPE_STRING16),
                                                FIELD("EventName", SN_TYPE_STRING16),
                                                {"Arguments", SN_TYPE_ARRAY, 0, 1, pair_field}};

/* `pairs`: key, value, ..., NULL. */
static void send_bridge(struct bench *bench, uint64_t time_ns, uint8_t opcode, const char *name,
                        const char *const *pairs)
{
    uint16_t count = 0;
    while (pairs[2 * count])
        count++;
    begin_source(bench, "Microsoft-Diagnostics-DiagnosticSource", 22, bridge_fields,
                 COUNT(bridge_fields));
    bench->schema.opcode = opcode;
    put_text(bench, "Microsoft.AspNetCore");
    put_text(bench, name);
    sn_buf_u16(&bench->payload, count);
    for (uint16_t i = 0; i < 2 * count; i++)
        put_text(bench, pairs[i]);
    send_event(bench, time_ns);
}

#define REQUEST_IN "Microsoft.AspNetCore.Hosting.HttpRequestIn"

static void the_bridge_improves_what_a_server_told(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    set_activity(&bench, 5, 0);
    served_start(&bench, 100, "GET", "/users/anna");
    set_activity(&bench, 5, 1);
    send_bridge(&bench, 101, 1, REQUEST_IN ".Start",
                (const char *[]){"Method", "GET", "Path", "/users/anna", NULL});
    send_bridge(&bench, 108, 2, REQUEST_IN ".Stop",
                (const char *[]){"StatusCode", "502", "Tags",
                                 "[http.route, /users/{name}],[url.scheme, http]", NULL});
    set_activity(&bench, 5, 0);
    served_stop(&bench, 110, 4);
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->count, 1);
    assert_string_equal(requests->routes[0].pattern, "/users/{name}");
    assert_string_equal(requests->routes[0].method, "GET");
    assert_int_equal(requests->routes[0].count, 1);
    assert_int_equal(requests->routes[0].by_status[5], 1);
    assert_int_equal(requests->routes[0].failed_count, 1);
    assert_int_equal(requests->routes[0].times.sum, 10);
    end(&bench);
}

static void the_bridge_alone_tells_of_requests_too(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_requests_make);
    set_activity(&bench, 5, 1);
    send_bridge(&bench, 101, 1, REQUEST_IN ".Start",
                (const char *[]){"Method", "GET", "Path", "/users/1", NULL});
    send_bridge(&bench, 108, 2, REQUEST_IN ".Stop", (const char *[]){"StatusCode", "200", NULL});
    send_bridge(&bench, 300, 2, "System.Net.Http.HttpRequestOut",
                (const char *[]){"DurationTicks", "3", "Tags",
                                 "[url.full, http://bank:80/pay/1],[http.request.method, POST]",
                                 NULL});
    send_bridge(&bench, 310, 2, "Something.Else", (const char *[]){"Tags", "[[[", NULL});
    send_bridge(&bench, 311, 2, REQUEST_IN ".Stop", (const char *[]){"Tags", "[a, ],[", NULL});
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->count, 2);
    assert_string_equal(requests->routes[0].pattern, "/users/{n}");
    assert_int_equal(requests->routes[0].times.sum, 7);
    assert_string_equal(requests->routes[1].host, "bank:80");
    assert_string_equal(requests->routes[1].pattern, "/pay/{n}");
    assert_string_equal(requests->routes[1].method, "POST");
    assert_int_equal(requests->routes[1].times.sum, 300);
    assert_int_equal(requests->unmatched_count, 1);
    end(&bench);
}

static void patterns_over_the_ceiling_share_one_line(void **state)
{
    (void)state;
    struct bench bench;
    char path[32];
    start(&bench, sn_requests_make);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(path, sizeof(path), "/p%dx", i);
        served_start(&bench, 10, "GET", path);
        served_stop(&bench, 20, 4);
    }
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    assert_int_equal(requests->count, 257);
    assert_true(requests->routes[0].is_rest);
    assert_string_equal(requests->routes[0].pattern, "other");
    assert_int_equal(requests->routes[0].count, 744);
    assert_int_equal(requests->times.seen_count, 1000);
    end(&bench);
}

/* --- hostile --- */

/* Every event cut at every byte, and names of 64 KB. The sanitizer watches; each counts as far as
 * it can be read, and a sound request behind them all is told as ever. */
static void cut_and_oversized_events_do_no_harm(void **state)
{
    (void)state;
    enum { TEXT_MAX = 1024 };
    static char huge[65536];
    memset(huge, '<', sizeof(huge) - 1);
    struct bench bench;
    start(&bench, sn_requests_make);
    served_start(&bench, 3, huge, huge);
    for (size_t cut = 0; cut < 40; cut++)
        send_part(&bench, 4, cut);
    send_bridge(&bench, 5, 1, REQUEST_IN, (const char *[]){"Path", huge, huge, "x", NULL});
    for (size_t cut = 0; cut < 200; cut++)
        send_part(&bench, 6, cut);
    for (uint32_t id = 0; id < 100; id++) { /* no fields at all */
        bench.schema = (struct sn_schema){.provider = id % 2 ? "System.Net.Http"
                                                             : "Microsoft.AspNetCore.Hosting",
                                          .name = "",
                                          .event_id = id / 2};
        send_part(&bench, 9, 4);
    }
    set_activity(&bench, 0x20, 0);
    served_start(&bench, 100, "PUT", "/sound");
    served_stop(&bench, 130, 4);
    finish(&bench);
    const struct sn_request_report *requests = &bench.report->requests;
    uint64_t begun = 0;
    const struct sn_route *sound = NULL;
    for (size_t i = 0; i < requests->count; i++) {
        const struct sn_route *route = &requests->routes[i];
        assert_true(strlen(route->method) <= TEXT_MAX && strlen(route->pattern) <= TEXT_MAX);
        begun += route->source == SN_REQUEST_HOSTING ? route->count : 0;
        sound = strcmp(route->method, "PUT") == 0 ? route : sound;
    }
    assert_int_equal(begun, 1 + 40 + 1 + 1); /* whole, cut, without fields, sound */
    assert_non_null(sound);
    assert_string_equal(sound->pattern, "/sound");
    assert_int_equal(sound->done_count, 1);
    assert_int_equal(sound->times.sum, 30);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_matched_by_activity_and_get_their_exceptions),
        cmocka_unit_test(requests_that_share_an_id_are_all_counted),
        cmocka_unit_test(without_activities_threads_must_do),
        cmocka_unit_test(a_request_that_two_sources_tell_of_is_one),
        cmocka_unit_test(outgoing_requests_have_a_host_and_may_fail),
        cmocka_unit_test(the_bridge_improves_what_a_server_told),
        cmocka_unit_test(the_bridge_alone_tells_of_requests_too),
        cmocka_unit_test(patterns_over_the_ceiling_share_one_line),
        cmocka_unit_test(cut_and_oversized_events_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
