/* Thread time: what the frames are, and that threads share the tree of their stacks. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "flow/sink.h"
#include "method_bytes.h"
#include "model/report.h"
#include "sink/aggregate/thread_time.h"

#define DEPTH        1000u
#define THREAD_COUNT 500u
#define STEP_NS      1000000u

struct fixture {
    struct sn_report *report;
    struct sn_code *code;
    struct sn_sink *sink;
    uint64_t stack[DEPTH];
};

static void start(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    assert_int_equal(sn_report_new(&fixture->report, NULL), 0);
    assert_int_equal(sn_code_new(&fixture->code, NULL), 0);
    tell_known(fixture->code, 0x1000, 0x100, "Shop.Tax", "Compute");
    const struct sn_aggregate_context context = {.report = fixture->report, .code = fixture->code};
    fixture->sink = sn_thread_time_sink(&context, NULL);
    assert_non_null(fixture->sink);
    for (size_t i = 0; i < DEPTH; i++)
        fixture->stack[i] = 0x1010;
}

static void sample(struct fixture *fixture, uint64_t thread, uint64_t time_ns, uint32_t depth)
{
    static const struct sn_schema schema = {.provider = "Microsoft-DotNETCore-SampleProfiler",
                                            .name = "ThreadSample"};
    static const uint32_t managed = 2;
    struct sn_event event = {.schema = &schema,
                             .time_ns = time_ns,
                             .pid = 1,
                             .thread_id = thread,
                             .pointer_size = 8,
                             .payload = (const uint8_t *)&managed,
                             .payload_size = sizeof(managed),
                             .stack = (const uint8_t *)fixture->stack,
                             .stack_depth = depth};
    assert_int_equal(fixture->sink->ops->event(fixture->sink, &event), 0);
}

static const struct sn_profile *end(struct fixture *fixture)
{
    assert_int_equal(fixture->sink->ops->finish(fixture->sink, NULL), 0);
    fixture->sink->ops->free(fixture->sink);
    return fixture->report->thread_time;
}

static void drop(struct fixture *fixture)
{
    sn_report_free(fixture->report);
    sn_code_free(fixture->code);
}

static const char *name_at(const struct sn_profile *profile, uint32_t node)
{
    return profile->frames[profile->nodes[node].frame].full_name;
}

/* A deep stack on many threads is one stack: a small trace must not need a large tree. */
static void threads_share_one_tree(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture);
    for (uint64_t i = 0; i < 2 * (uint64_t)THREAD_COUNT; i++)
        sample(&fixture, 100 + i % THREAD_COUNT, (i + 1) * STEP_NS, DEPTH);
    const struct sn_profile *profile = end(&fixture);
    assert_true(profile->node_count < DEPTH + 10);
    assert_int_equal(profile->thread_count, THREAD_COUNT);
    assert_int_equal(sn_profile_total(profile, 0, SN_NO_INDEX),
                     (uint64_t)THREAD_COUNT * THREAD_COUNT * STEP_NS);
    drop(&fixture);
}

static void stacks_stand_below_process_and_threads(void **state)
{
    (void)state;
    static const char *const wanted[] = {"CPU_TIME", "Shop.Tax.Compute()", "Threads",
                                         "(Non-Activities)", "Process64 Process(1) (1) Args: "};
    struct fixture fixture;
    start(&fixture);
    for (uint64_t i = 1; i <= 3; i++)
        sample(&fixture, 7, i * STEP_NS, i == 2 ? 0 : 1);
    const struct sn_profile *profile = end(&fixture);
    assert_int_equal(profile->row_count, 2);
    uint32_t node = profile->rows[0].node;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        assert_true(profile->nodes[node].parent < node);
        assert_string_equal(name_at(profile, node), wanted[i]);
        node = profile->nodes[node].parent;
    }
    assert_int_equal(node, 0);
    node = profile->nodes[profile->rows[1].node].parent; /* of what had no stack */
    assert_int_equal(node, profile->threads_node);
    assert_string_equal(name_at(profile, node), "Threads");
    assert_string_equal(profile->frames[profile->threads[0].frame].full_name, "Thread (7)");
    drop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_one_tree),
        cmocka_unit_test(stacks_stand_below_process_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
