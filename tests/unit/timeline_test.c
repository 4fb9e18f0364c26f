/* Timelines: buckets that add up, the heaviest threads, the longest requests and pauses; any part;
 * also of traces that were cut. */
#include "topic_trace.h"

#include <math.h>
#include <string.h>

#include "format/cpu_slices.h"
#include "model/timeline.h"
#include "sink/aggregate/timeline_fill.h"
#include "sonde/timeline.h"

#define MS 1000000ull

static const struct sn_column columns[] = {
    {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}, {"samples", SN_UNIT_COUNT}};

/* A report that lasts from 1 s to 2 s, with a timeline. */
static struct sn_report *begin(uint64_t from_ns, uint64_t to_ns, uint32_t buckets)
{
    struct sn_report *report = NULL;
    const struct sn_timeline_window window = {from_ns, to_ns, buckets};
    assert_int_equal(sn_report_new(&report, NULL), 0);
    report->first_ns = 1000 * MS;
    report->duration_ns = 1000 * MS;
    report->cpu_truth = SN_CPU_KNOWN;
    assert_int_equal(sn_timeline_new(report, &window, NULL), 0);
    assert_int_equal(sn_profile_new(columns, 4, &report->samples, NULL), 0);
    report->samples->start_ns = report->first_ns;
    report->samples->end_ns = report->first_ns + report->duration_ns;
    return report;
}

static uint32_t node_of(struct sn_report *report, const char *name, bool is_waiting)
{
    const struct sn_frame frame = {
        .name = name, .full_name = name, .module = "", .name_space = "", .is_waiting = is_waiting};
    return sn_profile_node(report->samples, 0, sn_profile_frame(report->samples, &frame));
}

/* Ran from and to, milliseconds of the report. */
static void run(struct sn_report *report, uint64_t tid, uint64_t from, uint64_t to, uint64_t cpu)
{
    uint32_t thread = sn_profile_thread(report->samples, 7, tid, "worker");
    const struct sn_run one = {.start_ns = (1000 + from) * MS,
                               .end_ns = (1000 + to) * MS,
                               .node = node_of(report, cpu ? "Compute" : "Sleep", !cpu),
                               .values = {cpu * MS, (to - from) * MS}};
    sn_profile_run(report->samples, thread, &one);
    sn_profile_add(report->samples, thread, one.node, one.values);
}

static void end(struct sn_report *report, const struct sn_cpu_slices *cpu)
{
    assert_int_equal(sn_timeline_fill(report, cpu, NULL), 0);
}

static double in_all(const struct sn_timeline *timeline, const double *row)
{
    double sum = 0;
    for (size_t i = 0; i < timeline->bucket_count; i++) {
        assert_true(row[i] >= 0);
        sum += row[i];
    }
    return sum;
}

static void check_near(double is, double should_be)
{
    if (fabs(is - should_be) > 10)
        fail_msg("%f is not %f", is, should_be);
}

static void test_window(void **state)
{
    (void)state;
    struct sn_report *report = begin(250 * MS, UINT64_MAX, 1);
    assert_int_equal(report->timeline->bucket_count, SN_TIMELINE_BUCKETS_MIN);
    assert_int_equal(report->timeline->from_ns, 1250 * MS);
    assert_int_equal(report->timeline->to_ns, 2000 * MS);
    sn_report_free(report);
    report = begin(5000 * MS, 6000 * MS, UINT32_MAX); /* behind the end */
    assert_int_equal(report->timeline->bucket_count, SN_TIMELINE_BUCKETS_MAX);
    assert_int_equal(report->timeline->from_ns, 2000 * MS);
    run(report, 1, 0, 1000, 1000);
    sn_timeline_exception(report->timeline, 2000 * MS);
    end(report, NULL);
    assert_int_equal(report->timeline->thread_count, 0);
    assert_int_equal(report->timeline->exceptions[0], 0);
    sn_report_free(report);
}

static void test_threads_add_up(void **state)
{
    (void)state;
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    run(report, 1, 0, 150, 150);  /* all the time */
    run(report, 1, 150, 300, 0);  /* slept */
    run(report, 1, 350, 450, 20); /* a fifth of it */
    run(report, 2, 900, 1000, 100);
    end(report, NULL);
    const struct sn_timeline *timeline = report->timeline;
    assert_int_equal(timeline->basis, SN_TIMELINE_CPU);
    assert_int_equal(timeline->thread_count, 2);
    const double *first = timeline->threads[0].running;
    assert_int_equal(timeline->threads[0].thread_id, 1);
    check_near(timeline->threads[0].ns, 170 * MS);
    check_near(first[0], 100 * MS);
    check_near(first[1], 50 * MS);
    check_near(first[2], 0);
    check_near(first[3], 10 * MS);
    check_near(first[4], 10 * MS);
    check_near(timeline->threads[1].running[9], 100 * MS);
    check_near(in_all(timeline, timeline->cpu), 270 * MS);
    sn_report_free(report);
}

/* A bucket holds no more than its length: the rest is what came before, or behind. */
static void test_no_thread_runs_twice_at_once(void **state)
{
    (void)state;
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    run(report, 1, 500, 500, 250);
    run(report, 2, 0, 100, 150);
    end(report, NULL);
    const struct sn_timeline *timeline = report->timeline;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 10; k++)
            assert_true(timeline->threads[i].running[k] <= 100 * MS);
        check_near(in_all(timeline, timeline->threads[i].running), i ? 150 * MS : 250 * MS);
    }
    check_near(timeline->threads[0].running[4], 100 * MS);
    check_near(timeline->threads[1].running[1], 50 * MS);
    sn_report_free(report);
}

static void test_part_of_it(void **state)
{
    (void)state;
    struct sn_report *report = begin(100 * MS, 200 * MS, 10);
    run(report, 1, 0, 150, 150);
    end(report, NULL);
    check_near(report->timeline->threads[0].ns, 50 * MS);
    check_near(report->timeline->threads[0].running[4], 10 * MS);
    check_near(report->timeline->threads[0].running[5], 0);
    sn_report_free(report);
}

/* What runtimes still said when the trace had ended counts for all of it, not for a part. */
static void test_afterwards(void **state)
{
    (void)state;
    const uint64_t ends[] = {UINT64_MAX, 999 * MS};
    for (size_t i = 0; i < 2; i++) {
        struct sn_report *report = begin(0, ends[i], 10);
        const struct sn_timeline_request late = {.start_ns = 2001 * MS, .end_ns = 2002 * MS};
        sn_timeline_request(report->timeline, SN_REQUEST_HOSTING, &late);
        sn_timeline_exception(report->timeline, 2001 * MS);
        assert_int_equal(report->timeline->by_source[SN_REQUEST_HOSTING].count, !i);
        assert_int_equal(report->timeline->exceptions[9], !i);
        sn_report_free(report);
    }
}

static void test_heaviest_threads(void **state)
{
    (void)state;
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    for (uint64_t i = 0; i < 200; i++)
        run(report, 1000 + i, 0, 900, 1 + i * 37 % 200); /* each number once */
    end(report, NULL);
    const struct sn_timeline *timeline = report->timeline;
    assert_int_equal(timeline->thread_count, SN_TIMELINE_THREADS_MAX);
    assert_int_equal(timeline->thread_left_count, 200 - SN_TIMELINE_THREADS_MAX);
    for (size_t i = 0; i < timeline->thread_count; i++)
        check_near(timeline->threads[i].ns, (double)((200 - i) * MS));
    check_near(in_all(timeline, timeline->cpu), 20100 * MS);
    sn_report_free(report);
}

/* Of a thread that no sample was taken of, the record says when it ran; of one that was seen a part
 * of the time, the other part. */
static void test_unseen(void **state)
{
    (void)state;
    static const char record[] = "sonde-cpu 1 pid=7 clock=monotonic unit=ns\n"
                                 "t 1000000000\nn 9 collector\nn 1 worker\n"
                                 "t 1100000000\n9 100000000\n1 80000000\n"
                                 "t 1200000000\n1 50000000\n"
                                 "t 1300000000\n9 40000000\n";
    struct sn_cpu_slices *cpu = NULL;
    struct sonde_error err = {0};
    (void)sn_cpu_slices_read(record, strlen(record), &cpu, &err);
    if (!cpu)
        fail_msg("%s", err.text);
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    run(report, 1, 0, 100, 80);
    const uint64_t unseen[SN_COLUMN_MAX] = {50 * MS};
    const uint64_t collected[SN_COLUMN_MAX] = {140 * MS};
    struct sn_profile *profile = report->samples;
    sn_profile_add(profile, sn_profile_thread(profile, 7, 1, ""),
                   node_of(report, "[native]", false), unseen);
    sn_profile_add(profile, sn_profile_thread(profile, 7, 9, "collector"),
                   node_of(report, "[collector]", false), collected);
    end(report, cpu);
    const struct sn_timeline *timeline = report->timeline;
    assert_int_equal(timeline->thread_count, 2);
    assert_int_equal(timeline->threads[0].thread_id, 9);
    check_near(timeline->threads[0].running[0], 100 * MS);
    check_near(timeline->threads[0].running[1], 0);
    check_near(timeline->threads[0].running[2], 40 * MS);
    check_near(timeline->threads[1].running[0], 80 * MS);
    check_near(timeline->threads[1].running[1], 50 * MS);
    sn_report_free(report);
    sn_cpu_slices_free(cpu);
}

/* Without CPU times: who does not wait. */
static void test_samples_only(void **state)
{
    (void)state;
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    report->cpu_truth = SN_CPU_NO_RECORD;
    run(report, 1, 0, 100, 1);
    run(report, 1, 100, 500, 0);
    end(report, NULL);
    assert_int_equal(report->timeline->basis, SN_TIMELINE_SAMPLES);
    check_near(report->timeline->threads[0].ns, 100 * MS);
    sn_report_free(report);
}

static void ask(struct sn_report *report, enum sn_request_source source, uint64_t start,
                uint64_t length)
{
    const struct sn_timeline_request request = {.start_ns = (1000 + start) * MS,
                                                .end_ns = (1000 + start + length) * MS,
                                                .method = "GET",
                                                .pattern = "/"};
    sn_timeline_request(report->timeline, source, &request);
}

static void test_longest_requests(void **state)
{
    (void)state;
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    for (uint64_t i = 0; i < 900; i++) {
        ask(report, SN_REQUEST_HOSTING, i, 1 + i * 7 % 900);
        ask(report, SN_REQUEST_KESTREL, i, 5000); /* the same ones, told again */
    }
    ask(report, SN_REQUEST_CLIENT, 3, 10000);
    assert_int_equal(
        sn_timeline_take_requests(report->timeline, SN_REQUEST_HOSTING, SN_REQUEST_CLIENT), 0);
    const struct sn_timeline *timeline = report->timeline;
    assert_int_equal(timeline->request_count, SN_TIMELINE_REQUESTS_MAX);
    assert_int_equal(timeline->request_left_count, 401);
    uint64_t longest = 0;
    for (size_t i = 0; i < timeline->request_count; i++) {
        const struct sn_timeline_request *request = &timeline->requests[i];
        uint64_t length = request->end_ns - request->start_ns;
        assert_true(length > 400 * MS); /* 401 of them are too short */
        assert_true(!i || request[-1].start_ns <= request->start_ns);
        longest = length > longest ? length : longest;
    }
    assert_int_equal(longest, 10000 * MS);
    sn_report_free(report);
}

static void test_longest_pauses(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct sn_report *report = begin(0, UINT64_MAX, 10);
    struct sn_gc_report *gc = &report->gc;
    gc->collections = calloc(MANY, sizeof(*gc->collections));
    assert_non_null(gc->collections);
    gc->count = MANY;
    gc->dropped_count = 3;
    for (uint32_t i = 0; i < MANY; i++)
        gc->collections[i] = (struct sn_collection){.number = i,
                                                    .start_ns = 1000 * MS + i * 1000,
                                                    .is_ended = true,
                                                    .pause_ns = i % 10 ? 5 : 100 + i};
    end(report, NULL);
    const struct sn_timeline *timeline = report->timeline;
    assert_int_equal(timeline->gc_count, SN_TIMELINE_GC_MAX);
    assert_int_equal(timeline->gc_left_count, MANY - SN_TIMELINE_GC_MAX + 3);
    size_t found = 0;
    for (size_t i = 0; i < timeline->gc_count; i++) {
        found += timeline->collections[i] % 10 == 0;
        assert_true(!i || timeline->collections[i - 1] < timeline->collections[i]);
    }
    assert_int_equal(found, MANY / 10); /* all that were longer */
    sn_report_free(report);
}

/* --- whole traces --- */

static int append(void *user, const void *bytes, size_t size)
{
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

/* The JSON of a trace's first `size` bytes; "" when there is none. */
static void write_json(struct sn_buf *to, const struct sn_buf *trace, size_t size)
{
    struct sonde_error err = {0};
    struct sonde_timeline *timeline = NULL;
    const struct sonde_timeline_options options = {
        .size = sizeof(options), .bucket_count = 10, .process_name = "shop"};
    char path[64];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, trace->bytes, size, &err), SONDE_OK);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    sn_buf_clear(to);
    if (sonde_timeline_read(path, &options, &timeline, &err) == SONDE_OK)
        assert_int_equal(sonde_timeline_write(timeline, append, to, &err), SONDE_OK);
    else
        assert_true(err.text[0]);
    sonde_timeline_free(timeline);
    (void)close(fd);
}

static void test_cut_at_every_byte(void **state)
{
    (void)state;
    static const struct topic_kind kinds[] = {{1, 2}, {2, 1}, {3, 1}, {9, 1}};
    SN_AUTO(sn_buf_done) struct sn_buf json = sn_buf_with_limit(1u << 20);
    struct topic_trace *trace = BEGIN_TOPIC_TRACE(kinds);
    static const struct {
        size_t kind;
        uint32_t numbers[4];
    } events[] = {{3, {1}}, {0, {12, 2, 1, 0}}, {1, {12, 2}}, {2, {0}}};
    for (uint64_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        for (size_t k = 0; k < 4; k++)
            sn_buf_u32(&trace->payload, events[i].numbers[k]);
        sn_buf_u16(&trace->payload, 0);
        add_event(trace, kinds[events[i].kind], 5, (1 + i) * 10 * MS);
    }
    for (size_t size = 0; size < trace->stream.size; size++)
        write_json(&json, &trace->stream, size);
    sn_buf_u8(&trace->stream, 1);
    write_json(&json, &trace->stream, trace->stream.size);
    const char *text = sn_buf_string(&json);
    assert_non_null(strstr(text, "\"basis\":\"none\""));
    assert_non_null(
        strstr(text, "\"gc\":[{\"number\":12,\"start\":0.019999,\"end\":0.029999,\"ended\":true,"
                     "\"generation\":2,"));
    assert_non_null(strstr(text, "\"pauseStart\":0.009999,\"pauseMilliseconds\":30}]"));
    sn_buf_done(&trace->stream);
    sn_buf_done(&trace->payload);
    free(trace);
}

static void test_options(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    struct sonde_timeline *timeline = NULL;
    struct sonde_timeline_options options = {.size = sizeof(options), .bucket_count = 9};
    assert_int_equal(sonde_timeline_read("x", &options, &timeline, &err), SONDE_E_ARGUMENT);
    options.bucket_count = SN_TIMELINE_BUCKETS_MAX + 1;
    assert_int_equal(sonde_timeline_read("x", &options, &timeline, &err), SONDE_E_ARGUMENT);
    options = (struct sonde_timeline_options){.size = sizeof(options), .from_ns = 5, .to_ns = 5};
    assert_int_equal(sonde_timeline_read("x", &options, &timeline, &err), SONDE_E_ARGUMENT);
    assert_true(sonde_timeline_read("/nowhere", NULL, &timeline, &err) < 0);
    assert_null(timeline);
    sonde_timeline_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_threads_add_up),
        cmocka_unit_test(test_no_thread_runs_twice_at_once),
        cmocka_unit_test(test_part_of_it),
        cmocka_unit_test(test_afterwards),
        cmocka_unit_test(test_heaviest_threads),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_samples_only),
        cmocka_unit_test(test_longest_requests),
        cmocka_unit_test(test_longest_pauses),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
