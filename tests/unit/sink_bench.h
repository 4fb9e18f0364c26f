/* A sink on a bench: events made by hand go in, a report comes out. */
#ifndef SN_TEST_SINK_BENCH_H
#define SN_TEST_SINK_BENCH_H

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

static inline void start_with(struct bench *bench, sn_aggregate_make_fn *make,
                              struct sn_methods *methods)
{
    struct sonde_error err = {0};
    *bench = (struct bench){.payload = sn_buf_with_limit(1u << 20), .thread_id = 7};
    assert_int_equal(sn_report_new(&bench->report, &err), SONDE_OK);
    struct sn_aggregate_context context = {.report = bench->report, .methods = methods};
    bench->sink = make(&context, &err);
    assert_non_null(bench->sink);
}

static inline void start(struct bench *bench, sn_aggregate_make_fn *make)
{
    start_with(bench, make, NULL);
}

static inline void finish(struct bench *bench)
{
    struct sonde_error err = {0};
    assert_int_equal(bench->sink->ops->finish(bench->sink, &err), SONDE_OK);
}

static inline void end(struct bench *bench)
{
    bench->sink->ops->free(bench->sink);
    sn_report_free(bench->report);
    sn_buf_done(&bench->payload);
}

/* A copy cut to size, so that the sanitizer sees a read too far. */
static inline void send_part(struct bench *bench, uint64_t time_ns, size_t size)
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

static inline void send_event(struct bench *bench, uint64_t time_ns)
{
    send_part(bench, time_ns, bench->payload.size);
}

static inline void begin_runtime(struct bench *bench, uint32_t id, uint32_t version)
{
    bench->schema =
        (struct sn_schema){.provider = SN_RUNTIME_PROVIDER, .event_id = id, .version = version};
    assert_true(sn_clr_describe(&bench->schema));
    sn_buf_clear(&bench->payload);
}

static inline void begin_source(struct bench *bench, const char *provider, uint32_t id,
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

static inline void put_text(struct bench *bench, const char *text)
{
    sn_text_to_utf16(&bench->payload, text, strlen(text));
    sn_buf_u16(&bench->payload, 0);
}

#endif
