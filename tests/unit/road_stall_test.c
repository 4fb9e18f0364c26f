/* A sink that stalls, in every way that its contract knows: it takes long, declines for ever, wants
 * no more, breaks, cannot finish. The others get everything, what the runtime dropped meanwhile is
 * an event for all of them, and memory stays below its ceiling. The source is an EventPipe session
 * with a runtime at the other end of a real socket, which drops what does not fit, as they do. */
#include "check.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include "base/loop.h"
#include "failing_memory.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "flow/source.h"
#include "format/nettrace_writer.h"
#include "ipc_fake.h"
#include "model/event.h"
#include "model/payload.h"
#include "model/schema.h"
#include "model/trace_info.h"
#include "source/ipc/eventpipe.h"

#define PAYLOAD      2000u  /* bytes of an event */
#define STALLED_FOR  20000u /* events that the runtime drops before the sink moves on: 40 MB */
#define BEHIND       3000u  /* events after that */
#define WINDOW_BYTES (256u << 10)

/* --- a runtime that drops what its reader does not take --- */

struct runtime {
    struct fake fake;
    int stream;
    struct sn_nettrace_writer *writer;
    uint32_t sequence;
    _Atomic unsigned dropped_count;
};

static const struct sn_field fields[] = {{.name = "Number", .type = SN_TYPE_U32},
                                         {.name = "Fill", .type = SN_TYPE_STRING16}};
static const struct sn_schema schema = {.provider = "Shop",
                                        .name = "Tick",
                                        .event_id = 1,
                                        .level = 4,
                                        .has_layout = true,
                                        .field_count = 2,
                                        .fields = fields};

static int send_all(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct runtime *runtime = user;
    (void)err;
    for (const char *at = bytes; size;) {
        ssize_t sent = send(runtime->stream, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return SONDE_E_GONE;
        at += sent;
        size -= (size_t)sent;
    }
    return SONDE_OK;
}

static bool has_room(const struct runtime *runtime)
{
    struct pollfd polled = {.fd = runtime->stream, .events = POLLOUT};
    return poll(&polled, 1, 0) == 1;
}

static int write_event(struct runtime *runtime)
{
    static uint8_t payload[PAYLOAD];
    memcpy(payload, &runtime->sequence, sizeof(runtime->sequence));
    const struct sn_event event = {.schema = &schema,
                                   .time_ns = 2000 + runtime->sequence,
                                   .pid = 77,
                                   .cpu = UINT32_MAX,
                                   .thread_id = 5,
                                   .capture_thread_id = 5,
                                   .sequence = runtime->sequence,
                                   .pointer_size = 8,
                                   .payload = payload,
                                   .payload_size = sizeof(payload)};
    int rc = sn_nettrace_writer_event(runtime->writer, &event, NULL);
    return rc == SONDE_OK ? sn_nettrace_writer_flush(runtime->writer, NULL) : rc;
}

/* Numbers of events go on where one is dropped: so readers learn of it. */
static int write_events(struct runtime *runtime)
{
    int rc = SONDE_OK;
    while (rc == SONDE_OK && runtime->dropped_count < STALLED_FOR) {
        runtime->sequence++;
        if (has_room(runtime))
            rc = write_event(runtime);
        else
            runtime->dropped_count++;
    }
    for (unsigned i = 0; rc == SONDE_OK && i < BEHIND; i++) {
        runtime->sequence++;
        rc = write_event(runtime);
    }
    return rc == SONDE_OK ? sn_nettrace_writer_finish(runtime->writer, NULL) : rc;
}

static void be_a_runtime(struct fake *fake, int fd)
{
    static uint8_t bytes[65536];
    struct runtime *runtime = fake->user;
    const struct sn_trace_info info = {.format_version = 4,
                                       .start_utc_ns = 1700000000000000000u,
                                       .start_ticks = 1000,
                                       .ticks_per_second = 1000000000u,
                                       .pointer_size = 8,
                                       .pid = 77,
                                       .processor_count = 1};
    uint64_t id = 77;
    if (!fake_read_request(fd, bytes, sizeof(bytes)))
        return;
    fake_answer(fd, false, &id, sizeof(id));
    if (runtime->writer)
        return;
    runtime->stream = fd;
    if (sn_nettrace_writer_new(4, &info, send_all, runtime, &runtime->writer, NULL) == SONDE_OK)
        (void)write_events(runtime);
    sn_nettrace_writer_free(runtime->writer);
}

/* --- a source that never says how far it is --- */

static int start_silent(struct sn_source *source, struct sn_road *road, struct sonde_error *err)
{
    (void)source;
    (void)road;
    (void)err;
    return SONDE_OK;
}

static void do_nothing(struct sn_source *source)
{
    (void)source;
}

static const struct sn_source_ops silent_ops = {
    .name = "silent", .start = start_silent, .stop = do_nothing, .free = do_nothing};

/* --- sinks --- */

struct sink {
    struct sn_sink sink;
    struct runtime *runtime; /* stalls until that has dropped enough; NULL: does not */
    int answer;              /* to each event */
    int end;                 /* of `finish` */
    uint32_t event_count;
    uint32_t last;
    uint64_t lost_count;
    uint64_t loss_count; /* times that it heard of some */
    size_t memory_most;
    unsigned finished_count;
};

static int take(struct sn_sink *base, const struct sn_event *event)
{
    struct sink *sink = (struct sink *)base;
    uint64_t lost;
    uint32_t number;
    if (event->schema == &sn_lost_schema) {
        memcpy(&lost, event->payload, sizeof(lost));
        sink->lost_count += lost;
        sink->loss_count++;
        return sink->answer;
    }
    memcpy(&number, event->payload, sizeof(number));
    assert_true(number > sink->last); /* in order, and none twice */
    sink->last = number;
    sink->event_count++;
    while (sink->runtime && sink->runtime->dropped_count < STALLED_FOR)
        (void)usleep(1000);
    if (memory_in_use() > sink->memory_most)
        sink->memory_most = memory_in_use();
    return sink->answer;
}

static int finish(struct sn_sink *base, struct sonde_error *err)
{
    struct sink *sink = (struct sink *)base;
    sink->finished_count++;
    if (sink->end != SONDE_OK)
        (void)snprintf(err->text, sizeof(err->text), "sink %d", sink->end);
    return sink->end;
}

static void free_nothing(struct sn_sink *sink)
{
    (void)sink;
}

static const struct sn_sink_ops sink_ops = {
    .name = "sink", .event = take, .finish = finish, .free = free_nothing};

enum who { STALLS, DECLINES, WANTS_ONE, BREAKS, CANNOT_FINISH, ORDERED, UNORDERED, COUNT };

static void all_others_get_everything_and_the_loss_and_memory_has_its_ceiling(void **state)
{
    (void)state;
    struct runtime runtime = {.stream = -1};
    struct sink sinks[COUNT] = {[STALLS] = {.runtime = &runtime},
                                [DECLINES] = {.answer = SONDE_AGAIN},
                                [WANTS_ONE] = {.answer = SONDE_END},
                                [BREAKS] = {.answer = SONDE_E_SYSTEM, .end = SONDE_E_SYSTEM},
                                [CANNOT_FINISH] = {.end = SONDE_E_NOMEM}};
    const struct sn_ipc_provider provider = {.name = "Shop", .keywords = 1, .level = 4};
    struct sn_eventpipe_options options = {
        .wants = {
            .providers = &provider, .provider_count = 1, .buffer_mb = 16, .runtime_major = 8}};
    const struct sn_road_options small = {.window_bytes = WINDOW_BYTES};
    struct sn_source silent = {.ops = &silent_ops};
    struct sn_source *session = NULL;
    struct sn_loop *loop = NULL;
    struct sn_road *road = NULL;
    struct sonde_error err = {0};
    fake_open(&runtime.fake, be_a_runtime);
    runtime.fake.user = &runtime;
    options.route = runtime.fake.route;
    assert_int_equal(sn_loop_new(&loop, &err), SONDE_OK);
    assert_int_equal(sn_road_new(loop, &small, &road, &err), SONDE_OK);
    for (int i = 0; i < COUNT; i++) {
        sinks[i].sink.ops = &sink_ops;
        assert_int_equal(
            sn_road_subscribe(road, &sn_everything, &sinks[i].sink, i != UNORDERED, &err), i);
    }
    assert_int_equal(sn_road_add_source(road, &silent, &err), SONDE_OK);
    assert_int_equal(sn_eventpipe_new(&options, &session, &err), SONDE_OK);
    size_t before = memory_in_use();
    assert_int_equal(sn_road_add_source(road, session, &err), SONDE_OK);
    assert_int_equal(sn_loop_run(loop, &err), SONDE_OK);
    assert_int_equal(session->status, SONDE_OK);
    sn_road_ended(road, &silent, SONDE_OK); /* what waited for it goes out */
    assert_true(sn_road_is_done(road));

    uint64_t dropped = runtime.dropped_count;
    for (int i = 0; i < COUNT; i++) {
        const struct sn_subscription *one = sn_road_subscription(road, i);
        bool leaves = i == WANTS_ONE || i == BREAKS;
        assert_int_equal(one->is_leaving, leaves);
        assert_int_equal(one->status, leaves ? sinks[i].answer : SONDE_OK);
        if (leaves) {
            assert_int_equal(sinks[i].event_count + sinks[i].loss_count, 1);
            continue;
        }
        assert_int_equal(sinks[i].lost_count, dropped);
        assert_int_equal(sinks[i].event_count + dropped, runtime.sequence);
        assert_int_equal(i == DECLINES ? one->declined_count : one->delivered_count,
                         sinks[i].event_count + sinks[i].loss_count);
        assert_true(sinks[i].memory_most < before + WINDOW_BYTES + (1u << 20));
    }
    assert_int_equal(sn_road_tracker(road)->lost_count, dropped);
    assert_int_equal(sn_road_finish(road, &err), SONDE_E_SYSTEM); /* the first failure */
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(sinks[i].finished_count, 1);
    sn_road_free(road);
    sn_loop_free(loop);
    fake_close(&runtime.fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_others_get_everything_and_the_loss_and_memory_has_its_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
