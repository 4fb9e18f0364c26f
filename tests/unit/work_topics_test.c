/* The sinks of JIT, thread pool, requests and tasks on events made by hand: what belongs together
 * is matched, what is missing, repeated, cut or out of order does no harm. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/runtime_events.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/work_topics.h"
#include "symbol/methods.h"

#define US       1000u
#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define FIELD(n, t)      \
    {                    \
        n, t, 0, 0, NULL \
    }

/* One sink, its report, and the event that is being made. */
struct bench {
    struct sn_report *report;
    struct sn_sink *sink;
    struct sn_schema schema;
    struct sn_buf payload;
    uint8_t activity[16];
    bool has_activity;
    uint64_t thread_id;
};

static void start(struct bench *bench, sn_aggregate_make_fn *make)
{
    struct sonde_error err = {0};
    *bench = (struct bench){.payload = sn_buf_with_limit(1u << 20), .thread_id = 7};
    assert_int_equal(sn_report_new(&bench->report, &err), SONDE_OK);
    struct sn_aggregate_context context = {.report = bench->report};
    bench->sink = make(&context, &err);
    assert_non_null(bench->sink);
}

static void finish(struct bench *bench)
{
    struct sonde_error err = {0};
    assert_int_equal(bench->sink->ops->finish(bench->sink, &err), SONDE_OK);
}

static void end(struct bench *bench)
{
    bench->sink->ops->free(bench->sink);
    sn_report_free(bench->report);
    sn_buf_done(&bench->payload);
}

/* A copy cut to size, so that the sanitizer sees a read too far. */
static void send_part(struct bench *bench, uint64_t time_ns, size_t size)
{
    SN_AUTO(sn_free) uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bench->payload.bytes, size);
    struct sn_event event = {.schema = &bench->schema,
                             .time_ns = time_ns,
                             .thread_id = bench->thread_id,
                             .pointer_size = 8,
                             .payload = copy,
                             .payload_size = (uint32_t)size,
                             .activity = bench->has_activity ? bench->activity : NULL};
    assert_int_equal(bench->sink->ops->event(bench->sink, &event), SONDE_OK);
}

static void send_event(struct bench *bench, uint64_t time_ns)
{
    send_part(bench, time_ns, bench->payload.size);
}

static void begin_runtime(struct bench *bench, uint32_t id, uint32_t version)
{
    bench->schema =
        (struct sn_schema){.provider = SN_RUNTIME_PROVIDER, .event_id = id, .version = version};
    assert_true(sn_clr_describe(&bench->schema));
    sn_buf_clear(&bench->payload);
}

static void begin_source(struct bench *bench, const char *provider, uint32_t id,
                         const struct sn_field *fields, size_t count)
{
    bench->schema = (struct sn_schema){.provider = provider,
                                       .name = "",
                                       .event_id = id,
                                       .has_layout = true,
                                       .fields = fields,
                                       .field_count = (uint16_t)count};
    sn_buf_clear(&bench->payload);
}

static void put_text(struct bench *bench, const char *text)
{
    sn_text_to_utf16(&bench->payload, text, strlen(text));
    sn_buf_u16(&bench->payload, 0);
}

/* --- JIT --- */

static void jit_started(struct bench *bench, uint64_t time_ns, uint64_t method, uint32_t il)
{
    begin_runtime(bench, 145, 1);
    sn_buf_u64(&bench->payload, method);
    sn_buf_u64(&bench->payload, 1);
    sn_buf_u32(&bench->payload, 0x06000001);
    sn_buf_u32(&bench->payload, il);
    put_text(bench, "Shop.Tax");
    put_text(bench, "Sum");
    put_text(bench, "void ()");
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void fill_load(struct bench *bench, uint64_t method, uint32_t flags, const char *name)
{
    begin_runtime(bench, 143, 2);
    sn_buf_u64(&bench->payload, method);
    sn_buf_u64(&bench->payload, 1);
    sn_buf_u64(&bench->payload, 0x7000);
    sn_buf_u32(&bench->payload, 100);
    sn_buf_u32(&bench->payload, 0x06000001);
    sn_buf_u32(&bench->payload, flags);
    put_text(bench, "Shop.Tax");
    put_text(bench, name);
    put_text(bench, "void ()");
    sn_buf_u16(&bench->payload, 0);
    sn_buf_u64(&bench->payload, 0);
}

static void jit_loaded(struct bench *bench, uint64_t time_ns, uint64_t method, uint32_t flags,
                       const char *name)
{
    fill_load(bench, method, flags, name);
    send_event(bench, time_ns);
}

#define QUICK    (8u | 3u << 7)
#define TIER1    (8u | 4u << 7)
#define COMPILED (2u << 7) /* ahead of time */

static void compilations_are_timed_by_thread_and_method(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    jit_started(&bench, 100 * US, 1, 30);
    jit_started(&bench, 110 * US, 2, 40); /* compiled for the sake of 1: nested */
    bench.thread_id = 8;
    jit_started(&bench, 115 * US, 1, 30);
    bench.thread_id = 7;
    jit_loaded(&bench, 120 * US, 2, QUICK, "Rate");
    jit_loaded(&bench, 150 * US, 1, QUICK, "Sum");
    bench.thread_id = 8;
    jit_loaded(&bench, 215 * US, 1, TIER1, "Sum");
    jit_loaded(&bench, 216 * US, 3, COMPILED, "Pre");
    jit_loaded(&bench, 217 * US, 4, QUICK, "Untimed");
    jit_started(&bench, 300 * US, 5, 1);
    finish(&bench);
    const struct sn_jit_report *jit = &bench.report->jit;
    assert_int_equal(jit->event_count, 9);
    assert_int_equal(jit->jitted_count, 4);
    assert_int_equal(jit->timed_count, 3);
    assert_int_equal(jit->open_count, 1);
    assert_int_equal(jit->time_ns, 160 * US);
    assert_int_equal(jit->time_by_tier[3], 60 * US);
    assert_int_equal(jit->time_by_tier[4], 100 * US);
    assert_int_equal(jit->by_tier[8], 1);
    assert_int_equal(jit->native_by_tier[8], 100);
    assert_int_equal(jit->native_bytes, 400);
    assert_int_equal(jit->il_bytes, 100);
    assert_int_equal(jit->count, 3);
    assert_string_equal(jit->methods[0].method, "Sum");
    assert_string_equal(jit->methods[0].type, "Shop.Tax");
    assert_int_equal(jit->methods[0].count, 2);
    assert_int_equal(jit->methods[0].time_ns, 150 * US);
    assert_int_equal(jit->methods[0].max_time_ns, 100 * US);
    assert_string_equal(jit->methods[1].method, "Rate");
    end(&bench);
}

static void send_bare(struct bench *bench, uint64_t time_ns, uint32_t id)
{
    begin_runtime(bench, id, 0);
    sn_buf_fill(&bench->payload, 0, 16);
    send_event(bench, time_ns);
}

static void batches_and_pauses_of_tiering_are_added_up(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    send_bare(&bench, 5 * US, 284); /* its start was not seen */
    send_bare(&bench, 10 * US, 283);
    jit_started(&bench, 11 * US, 1, 1);
    jit_loaded(&bench, 14 * US, 1, TIER1, "Sum");
    send_bare(&bench, 20 * US, 284);
    jit_started(&bench, 21 * US, 2, 1);
    jit_loaded(&bench, 22 * US, 2, QUICK, "Rate");
    send_bare(&bench, 30 * US, 281);
    send_bare(&bench, 29 * US, 282); /* time goes backwards */
    send_bare(&bench, 40 * US, 281);
    send_bare(&bench, 47 * US, 282);
    send_bare(&bench, 48 * US, 282);
    send_bare(&bench, 50 * US, 281);
    finish(&bench);
    const struct sn_jit_report *jit = &bench.report->jit;
    assert_int_equal(jit->background_count, 1);
    assert_int_equal(jit->background_ns, 10 * US);
    assert_int_equal(jit->background_time_ns, 3 * US);
    assert_int_equal(jit->time_ns, 4 * US);
    assert_int_equal(jit->paused_count, 3);
    assert_int_equal(jit->paused_ns, 7 * US);
    end(&bench);
}

/* Without verbose events there is only the id; names come from elsewhere or not at all. */
static void a_method_without_name_goes_by_its_id(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    for (int i = 0; i < 2; i++) {
        begin_runtime(&bench, 141, 2);
        sn_buf_u64(&bench.payload, 0xABC);
        sn_buf_u64(&bench.payload, 1);
        sn_buf_u64(&bench.payload, 0x7000);
        sn_buf_u32(&bench.payload, 100);
        sn_buf_u32(&bench.payload, 0x06000001);
        sn_buf_u32(&bench.payload, QUICK);
        sn_buf_u16(&bench.payload, 0);
        sn_buf_u64(&bench.payload, 0);
        send_event(&bench, 10);
    }
    finish(&bench);
    assert_int_equal(bench.report->jit.count, 1);
    assert_int_equal(bench.report->jit.methods[0].count, 2);
    assert_string_equal(bench.report->jit.methods[0].name, "method 0xabc");
    end(&bench);
}

static void methods_over_the_ceiling_are_in_the_sums(void **state)
{
    (void)state;
    struct bench bench;
    char name[32];
    start(&bench, sn_jit_make);
    for (uint64_t i = 0; i < 65536 + 10; i++) {
        (void)snprintf(name, sizeof(name), "M%llu", (unsigned long long)i);
        jit_loaded(&bench, i, i, QUICK, name);
    }
    finish(&bench);
    assert_int_equal(bench.report->jit.count, 65536);
    assert_int_equal(bench.report->jit.dropped_count, 10);
    assert_int_equal(bench.report->jit.jitted_count, 65546);
    end(&bench);
}

/* --- thread pool --- */

static void send_workers(struct bench *bench, uint32_t id, uint32_t active)
{
    begin_runtime(bench, id, 0);
    sn_buf_u32(&bench->payload, active);
    sn_buf_u32(&bench->payload, 0);
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, 1);
}

static void send_adjustment(struct bench *bench, uint64_t time_ns, uint32_t count, uint32_t reason)
{
    double throughput = 12.5;
    begin_runtime(bench, 55, 0);
    sn_buf_append(&bench->payload, &throughput, sizeof(throughput));
    sn_buf_u32(&bench->payload, count);
    sn_buf_u32(&bench->payload, reason);
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void workers_and_reasons_are_counted(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_pool_make);
    send_workers(&bench, 50, 4);
    send_workers(&bench, 57, 2);
    send_workers(&bench, 51, 9);
    send_adjustment(&bench, 10, 5, 3);
    send_adjustment(&bench, 20, 6, SN_POOL_STARVATION);
    send_adjustment(&bench, 50, 7, SN_POOL_STARVATION);
    send_adjustment(&bench, 60, 7, 4000000000u); /* no such reason */
    finish(&bench);
    const struct sn_pool_report *pool = &bench.report->pool;
    assert_int_equal(pool->event_count, 7);
    assert_int_equal(pool->worker_min, 2);
    assert_int_equal(pool->worker_max, 9);
    assert_int_equal(pool->worker_start_count, 1);
    assert_int_equal(pool->worker_stop_count, 1);
    assert_int_equal(pool->worker_wait_count, 1);
    assert_int_equal(pool->count, 3);
    assert_int_equal(pool->by_reason[SN_POOL_STARVATION], 2);
    assert_int_equal(pool->starved_from_ns, 20);
    assert_int_equal(pool->starved_until_ns, 50);
    assert_int_equal(pool->adjustments[2].worker_count, 7);
    assert_true(pool->adjustments[2].throughput > 12.4 && pool->adjustments[2].throughput < 12.6);
    end(&bench);
}

static const struct sn_field work_fields[] = {FIELD("workID", SN_TYPE_I64)};

static void send_work(struct bench *bench, uint64_t time_ns, uint32_t id, uint64_t work)
{
    begin_source(bench, "System.Diagnostics.Eventing.FrameworkEventSource", id, work_fields,
                 COUNT(work_fields));
    sn_buf_u64(&bench->payload, work);
    send_event(bench, time_ns);
}

static void a_work_item_queued_twice_is_not_timed(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_pool_make);
    send_work(&bench, 10, 31, 5); /* queued before the trace */
    send_work(&bench, 20, 30, 5);
    send_work(&bench, 50, 31, 5);
    send_work(&bench, 60, 30, 6);
    send_work(&bench, 61, 30, 6);
    send_work(&bench, 62, 31, 6);
    send_work(&bench, 63, 31, 6);
    send_work(&bench, 70, 30, 6);
    send_work(&bench, 75, 31, 6);
    send_work(&bench, 80, 30, 9);
    finish(&bench);
    const struct sn_pool_report *pool = &bench.report->pool;
    assert_int_equal(pool->enqueue_count, 5);
    assert_int_equal(pool->dequeue_count, 5);
    assert_int_equal(pool->queue_waits.seen_count, 2);
    assert_int_equal(pool->queue_waits.sum, 35);
    assert_int_equal(pool->queue_waits.max, 30);
    assert_int_equal(pool->waiting_count, 1);
    end(&bench);
}

/* --- requests --- */

static const struct sn_field start_fields[] = {FIELD("method", SN_TYPE_STRING16),
                                               FIELD("path", SN_TYPE_STRING16)};

/* Activity 1/number, and 1/number/child when there is one; numbers up to 255. */
static void set_activity(struct bench *bench, unsigned number, unsigned child)
{
    uint32_t words[3];
    memset(bench->activity, 0, sizeof(bench->activity));
    bench->activity[0] = 0x1c;
    bench->activity[1] = (uint8_t)number;
    bench->activity[2] = (uint8_t)(child << 4);
    memcpy(words, bench->activity, sizeof(words));
    uint32_t checksum = (words[0] + words[1] + words[2] + 0x599D99ADu) ^ 4711u;
    memcpy(bench->activity + 12, &checksum, sizeof(checksum));
    bench->has_activity = true;
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

/* --- tasks --- */

static const struct sn_field task_fields[] = {
    FIELD("OriginatingTaskSchedulerID", SN_TYPE_I32), FIELD("OriginatingTaskID", SN_TYPE_I32),
    FIELD("TaskID", SN_TYPE_I32), FIELD("IsExceptional", SN_TYPE_BOOL32)};
static const struct sn_field wait_fields[] = {
    FIELD("OriginatingTaskSchedulerID", SN_TYPE_I32), FIELD("OriginatingTaskID", SN_TYPE_I32),
    FIELD("TaskID", SN_TYPE_I32), FIELD("Behavior", SN_TYPE_I32)};
static const struct sn_field operation_fields[] = {FIELD("TaskID", SN_TYPE_I32),
                                                   FIELD("OperationName", SN_TYPE_STRING16),
                                                   FIELD("RelatedContext", SN_TYPE_I64)};
static const struct sn_field operation_end_fields[] = {FIELD("TaskID", SN_TYPE_I32),
                                                       FIELD("Status", SN_TYPE_I32)};

#define TPL "System.Threading.Tasks.TplEventSource"

static void send_task(struct bench *bench, uint64_t time_ns, uint32_t id, uint32_t task,
                      uint32_t last)
{
    bool is_wait = id == 10;
    begin_source(bench, TPL, id, is_wait ? wait_fields : task_fields, COUNT(task_fields));
    sn_buf_u32(&bench->payload, 1);
    sn_buf_u32(&bench->payload, 0);
    sn_buf_u32(&bench->payload, task);
    sn_buf_u32(&bench->payload, last);
    send_event(bench, time_ns);
}

static void begin_operation(struct bench *bench, uint64_t time_ns, uint32_t task, const char *name)
{
    begin_source(bench, TPL, 14, operation_fields, COUNT(operation_fields));
    sn_buf_u32(&bench->payload, task);
    put_text(bench, name);
    sn_buf_u64(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void end_operation(struct bench *bench, uint64_t time_ns, uint32_t task, uint32_t status)
{
    begin_source(bench, TPL, 15, operation_end_fields, COUNT(operation_end_fields));
    sn_buf_u32(&bench->payload, task);
    sn_buf_u32(&bench->payload, status);
    send_event(bench, time_ns);
}

static void tasks_wait_run_and_are_waited_for(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    send_task(&bench, 10, 7, 1, 0);
    send_task(&bench, 15, 8, 1, 0);
    send_task(&bench, 27, 9, 1, 1);
    send_task(&bench, 30, 8, 2, 0); /* scheduled before the trace */
    send_task(&bench, 31, 7, 3, 0);
    send_task(&bench, 40, 10, 1, 1); /* blocks */
    send_task(&bench, 41, 10, 1, 2); /* awaits */
    bench.thread_id = 8;
    send_task(&bench, 45, 11, 1, 0); /* not the thread that blocked */
    bench.thread_id = 7;
    send_task(&bench, 50, 11, 1, 0);
    send_task(&bench, 60, 10, 3, 1);
    send_task(&bench, 90, 9, 77, 0);
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    assert_int_equal(tasks->scheduled_count, 2);
    assert_int_equal(tasks->started_count, 2);
    assert_int_equal(tasks->completed_count, 2);
    assert_int_equal(tasks->failed_count, 1);
    assert_int_equal(tasks->queue_waits.sum, 5);
    assert_int_equal(tasks->runs.sum, 12);
    assert_int_equal(tasks->waiting_count, 1);
    assert_int_equal(tasks->running_count, 1);
    assert_int_equal(tasks->await_count, 1);
    assert_int_equal(tasks->sync_wait_count, 2);
    assert_int_equal(tasks->sync_waits.seen_count, 1);
    assert_int_equal(tasks->sync_waits.sum, 10);
    assert_int_equal(tasks->blocked_count, 1);
    assert_int_equal(tasks->blocked_ns, 30);
    end(&bench);
}

static void operations_are_told_by_kind_and_the_open_ones_have_an_age(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    bench.report->first_ns = 5;
    bench.report->duration_ns = 995;
    begin_operation(&bench, 10, 1, "Async: <CheckOut>d__4");
    begin_operation(&bench, 20, 2, "Async: <CheckOut>d__4");
    begin_operation(&bench, 30, 3, "Task.Delay");
    end_operation(&bench, 25, 1, 3);
    end_operation(&bench, 20, 3, 2); /* time goes backwards */
    end_operation(&bench, 26, 1, 1); /* a second end */
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    assert_int_equal(tasks->operation_count, 3);
    assert_int_equal(tasks->open_count, 1);
    assert_int_equal(tasks->unmatched_count, 1);
    assert_int_equal(tasks->count, 2);
    const struct sn_task_kind *kind = &tasks->kinds[0];
    assert_string_equal(kind->operation, "Async: <CheckOut>d__4");
    assert_string_equal(kind->name, "CheckOut");
    assert_true(kind->is_async);
    assert_int_equal(kind->failed_count, 1);
    assert_int_equal(kind->times.sum, 15);
    assert_int_equal(kind->open_count, 1);
    assert_int_equal(kind->oldest_ns, 980);
    assert_string_equal(tasks->kinds[1].name, "Task.Delay");
    assert_int_equal(tasks->kinds[1].cancelled_count, 1);
    assert_int_equal(tasks->kinds[1].times.sum, 0);
    end(&bench);
}

static void names_over_the_ceiling_share_one_line(void **state)
{
    (void)state;
    struct bench bench;
    char name[32];
    start(&bench, sn_tasks_make);
    for (uint32_t i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "Operation %u", i);
        begin_operation(&bench, i, i, name);
    }
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    uint64_t rest = 0;
    assert_int_equal(tasks->count, 1025);
    for (size_t i = 0; i < tasks->count; i++)
        rest += tasks->kinds[i].is_rest ? tasks->kinds[i].count : 0;
    assert_int_equal(rest, 3000 - 1024);
    assert_int_equal(tasks->open_count, 3000);
    end(&bench);
}

/* --- hostile --- */

/* Every event cut at every byte, and names of 64 KB; the sanitizer watches. */
static void cut_and_oversized_events_do_no_harm(void **state)
{
    (void)state;
    sn_aggregate_make_fn *const makes[] = {sn_jit_make, sn_pool_make, sn_requests_make,
                                           sn_tasks_make};
    static char huge[65536];
    memset(huge, '<', sizeof(huge) - 1);
    for (size_t i = 0; i < COUNT(makes); i++) {
        struct bench bench;
        start(&bench, makes[i]);
        fill_load(&bench, 1, QUICK, huge);
        send_event(&bench, 1);
        fill_load(&bench, 1, QUICK, "Sum");
        for (size_t cut = 0; cut < bench.payload.size; cut++)
            send_part(&bench, 2, cut);
        served_start(&bench, 3, huge, huge);
        for (size_t cut = 0; cut < 40; cut++)
            send_part(&bench, 4, cut);
        send_bridge(&bench, 5, 1, REQUEST_IN, (const char *[]){"Path", huge, huge, "x", NULL});
        for (size_t cut = 0; cut < 200; cut++)
            send_part(&bench, 6, cut);
        begin_operation(&bench, 7, 1, huge);
        for (size_t cut = 0; cut < 20; cut++)
            send_part(&bench, 8, cut);
        for (uint32_t id = 0; id < 320; id++) { /* no fields at all */
            bench.schema = (struct sn_schema){
                .provider = id % 2 ? SN_RUNTIME_PROVIDER : TPL, .name = "", .event_id = id};
            send_part(&bench, 9, 4);
        }
        finish(&bench);
        end(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilations_are_timed_by_thread_and_method),
        cmocka_unit_test(batches_and_pauses_of_tiering_are_added_up),
        cmocka_unit_test(a_method_without_name_goes_by_its_id),
        cmocka_unit_test(methods_over_the_ceiling_are_in_the_sums),
        cmocka_unit_test(workers_and_reasons_are_counted),
        cmocka_unit_test(a_work_item_queued_twice_is_not_timed),
        cmocka_unit_test(requests_are_matched_by_activity_and_get_their_exceptions),
        cmocka_unit_test(without_activities_threads_must_do),
        cmocka_unit_test(a_request_that_two_sources_tell_of_is_one),
        cmocka_unit_test(outgoing_requests_have_a_host_and_may_fail),
        cmocka_unit_test(the_bridge_improves_what_a_server_told),
        cmocka_unit_test(the_bridge_alone_tells_of_requests_too),
        cmocka_unit_test(patterns_over_the_ceiling_share_one_line),
        cmocka_unit_test(tasks_wait_run_and_are_waited_for),
        cmocka_unit_test(operations_are_told_by_kind_and_the_open_ones_have_an_age),
        cmocka_unit_test(names_over_the_ceiling_share_one_line),
        cmocka_unit_test(cut_and_oversized_events_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
