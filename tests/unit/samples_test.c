/* Samples weighed by CPU time: sleepers get none, native compute gets its own, sums are exact. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "flow/sink.h"
#include "format/cpu_slices.h"
#include "method_bytes.h"
#include "model/report.h"
#include "sink/aggregate/samples.h"

enum { EXTERNAL = 1, MANAGED = 2 };
enum { COMPUTE = 0x1000, SLEEP = 0x2000, NATIVE = 0x3000 };
enum { CPU, WALL, WAIT, SAMPLES };

#define MS 1000000ull

struct fixture {
    struct sn_report *report;
    struct sn_code *code;
    struct sn_cpu_slices *cpu;
    struct sn_sink *sink;
    uint64_t sampler; /* the thread that takes the samples; 0: the one they are of */
};

static struct sn_part part; /* of the next fixture */

static void start(struct fixture *fixture, const char *record)
{
    *fixture = (struct fixture){0};
    assert_int_equal(sn_report_new(&fixture->report, NULL), 0);
    assert_int_equal(sn_code_new(&fixture->code, NULL), 0);
    tell_known(fixture->code, COMPUTE, 0x100, "Shop.Tax", "Compute");
    tell_known(fixture->code, SLEEP, 0x100, "System.Threading.Thread", "Sleep");
    tell_known(fixture->code, NATIVE, 0x100, "Shop.Zip", "Deflate");
    if (record)
        assert_int_equal(sn_cpu_slices_read(record, strlen(record), &fixture->cpu, NULL), 0);
    const struct sn_aggregate_context context = {
        .report = fixture->report, .code = fixture->code, .cpu = fixture->cpu, .part = part};
    if (fixture->cpu && !sn_part_is_all(&part))
        sn_cpu_slices_cut(fixture->cpu, part.from_ns, part.to_ns ? part.to_ns : UINT64_MAX);
    fixture->sink = sn_samples_sink(&context, NULL);
    assert_non_null(fixture->sink);
}

static void sample(struct fixture *fixture, uint64_t thread, uint64_t time_ns, uint32_t mode,
                   uint64_t address)
{
    static const struct sn_schema schema = {.provider = "Microsoft-DotNETCore-SampleProfiler",
                                            .name = "ThreadSample"};
    struct sn_event event = {.schema = &schema,
                             .time_ns = time_ns,
                             .pid = 1,
                             .thread_id = thread,
                             .capture_thread_id = fixture->sampler ? fixture->sampler : thread,
                             .pointer_size = 8,
                             .payload = (const uint8_t *)&mode,
                             .payload_size = sizeof(mode),
                             .stack = (const uint8_t *)&address,
                             .stack_depth = 1};
    assert_int_equal(fixture->sink->ops->event(fixture->sink, &event), 0);
}

static void end(struct fixture *fixture)
{
    assert_int_equal(fixture->sink->ops->finish(fixture->sink, NULL), 0);
    fixture->sink->ops->free(fixture->sink);
}

static void drop(struct fixture *fixture)
{
    sn_report_free(fixture->report);
    sn_code_free(fixture->code);
    sn_cpu_slices_free(fixture->cpu);
}

static uint64_t sum(const struct fixture *fixture, const char *name, int column)
{
    const struct sn_profile *profile = fixture->report->samples;
    SN_AUTO(sn_free)
    struct sn_frame_sum *sums = sn_profile_frame_sums(profile, column, SN_NO_INDEX);
    for (size_t i = 0; i < profile->frame_count; i++) {
        if (strcmp(profile->frames[i].name, name) == 0)
            return sums[i].self;
    }
    return 0;
}

#define COMPUTED "Shop.Tax.Compute"
#define SLEPT    "System.Threading.Thread.Sleep"
#define DEFLATED "Shop.Zip.Deflate"

/* A look at 100 ms and at 150 ms; thread 7 ran for so long between them. */
static void start_with_slice(struct fixture *fixture, unsigned ran_ms)
{
    char record[256];
    (void)snprintf(record, sizeof(record),
                   "sonde-cpu 1\nt 100000000\nn 7 worker\nt 150000000\n7 %u000000\nt 200000000\n",
                   ran_ms);
    start(fixture, record);
}

static void a_sleeper_has_no_cpu(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 5);
    /* five samples of compute, then 44 asleep: a thread that works a tenth of the time */
    for (uint64_t i = 1; i < 50; i++)
        sample(&fixture, 7, (100 + i) * MS, i <= 5 ? MANAGED : EXTERNAL, i <= 5 ? COMPUTE : SLEEP);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 5 * MS);
    assert_int_equal(sum(&fixture, SLEPT, CPU), 0);
    assert_int_equal(sum(&fixture, SLEPT, WAIT), 44 * MS);
    assert_int_equal(sum(&fixture, SLEPT, SAMPLES), 44);
    assert_int_equal(fixture.report->cpu_ns, 5 * MS);
    assert_int_equal(fixture.report->cpu_truth, SN_CPU_KNOWN);
    drop(&fixture);
}

static void native_compute_counts_as_running(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 40);
    for (uint64_t i = 1; i < 50; i++) {
        bool slept = i > 40;
        sample(&fixture, 7, (100 + i) * MS, EXTERNAL, slept ? SLEEP : NATIVE);
    }
    end(&fixture);
    assert_int_equal(sum(&fixture, DEFLATED, CPU), 40 * MS);
    assert_int_equal(sum(&fixture, SLEPT, CPU), 0);
    drop(&fixture);
}

/* The kernel counted more than the samples stayed: samples are missing, the time is not. */
static void no_cpu_time_is_lost(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 50);
    sample(&fixture, 7, 110 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, 112 * MS, EXTERNAL, SLEEP);
    sample(&fixture, 7, 113 * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU) + sum(&fixture, SLEPT, CPU), 50 * MS);
    assert_true(sum(&fixture, SLEPT, CPU) <= 1 * MS);
    assert_int_equal(fixture.report->unseen_cpu_ns, 0);
    drop(&fixture);
}

/* Seen only asleep, and yet it ran: between two samples, in what it is next seen at. */
static void time_between_samples_goes_to_the_next_that_runs(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 5);
    sample(&fixture, 7, 110 * MS, EXTERNAL, SLEEP);
    sample(&fixture, 7, 140 * MS, MANAGED, SLEEP); /* waking up, not running yet */
    sample(&fixture, 7, 160 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, 161 * MS, EXTERNAL, SLEEP);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 5 * MS);
    assert_int_equal(sum(&fixture, SLEPT, CPU), 0);
    drop(&fixture);
}

static void who_is_never_seen_running_keeps_its_time(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 5);
    sample(&fixture, 7, 110 * MS, EXTERNAL, SLEEP);
    sample(&fixture, 7, 160 * MS, EXTERNAL, SLEEP);
    end(&fixture);
    assert_int_equal(sum(&fixture, SLEPT, CPU), 5 * MS);
    assert_int_equal(fixture.report->unseen_cpu_ns, 0);
    assert_int_equal(fixture.report->cpu_ns, 5 * MS);
    drop(&fixture);
}

/* A read from the page cache is work of the kernel, and looks like one that waits. */
static void reading_may_be_work(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 49);
    tell_known(fixture.code, 0x4000, 0x100, "System.IO.RandomAccess", "ReadAtOffset");
    for (uint64_t i = 1; i < 50; i++)
        sample(&fixture, 7, (100 + i) * MS, i <= 4 ? MANAGED : EXTERNAL, i <= 4 ? COMPUTE : 0x4000);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 4 * MS);
    assert_int_equal(sum(&fixture, "System.IO.RandomAccess.ReadAtOffset", CPU), 45 * MS);
    drop(&fixture);
}

/* One sample cannot stand for a second: who is always seen waiting and runs all the time spins. */
static void chance_explains_so_much(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 50);
    for (uint64_t i = 1; i < 50; i++)
        sample(&fixture, 7, (100 + i) * MS, EXTERNAL, i == 25 ? NATIVE : SLEEP);
    end(&fixture);
    assert_true(sum(&fixture, DEFLATED, CPU) <= 12 * MS);
    assert_int_equal(sum(&fixture, DEFLATED, CPU) + sum(&fixture, SLEPT, CPU), 50 * MS);
    drop(&fixture);
}

/* The thread that takes the samples is the runtime's, whatever it is called. */
static void the_sampler_is_not_the_program(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "sonde-cpu 1\nt 100000000\nn 7 worker\nn 9 dotnet\nt 150000000\n7 5000000\n"
                    "9 20000000\nt 200000000\n");
    fixture.sampler = 9;
    sample(&fixture, 7, 110 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, 111 * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(fixture.report->tracing_cpu_ns, 20 * MS);
    assert_int_equal(fixture.report->cpu_ns, 5 * MS);
    drop(&fixture);
}

/* A thread too short to be looked at: what it ran is in the record for all such together. */
static void threads_that_ended_get_their_time(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "sonde-cpu 1\nt 100000000\nn 7 worker\nt 150000000\n7 1000000\ne 30000000\n"
                    "t 200000000\n7 1000000\ne 5000000\n");
    for (uint64_t i = 1; i < 100; i++)
        sample(&fixture, 7, (100 + i) * MS, EXTERNAL, SLEEP);
    for (uint64_t i = 10; i <= 40; i++)
        sample(&fixture, 8, (100 + i) * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_in_range(sum(&fixture, COMPUTED, CPU), 30 * MS - 100, 30 * MS);
    assert_int_equal(sum(&fixture, "[threads that have ended]", CPU), 5 * MS);
    assert_int_equal(sum(&fixture, COMPUTED, SAMPLES), 31);
    assert_in_range(fixture.report->cpu_ns, 37 * MS - 100, 37 * MS);
    drop(&fixture);
}

/* A hash and a sleep in native code look the same; how long each took does not. */
static void a_native_sleep_is_no_compute(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 6);
    tell_known(fixture.code, 0x5000, 0x100, "Shop.Libc", "usleep");
    for (uint64_t i = 1; i < 50; i++) {
        bool computes = i >= 20 && i < 26;
        sample(&fixture, 7, (100 + i) * MS, EXTERNAL, computes ? NATIVE : 0x5000);
    }
    end(&fixture);
    assert_int_equal(sum(&fixture, DEFLATED, CPU), 6 * MS);
    assert_int_equal(sum(&fixture, "Shop.Libc.usleep", CPU), 0);
    drop(&fixture);
}

static void what_no_sample_shows_is_named(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, "sonde-cpu 1\nt 100000000\nn 7 worker\nn 8 .NET Server GC\nn 9 .NET EventPipe\n"
                    "t 150000000\n8 30000000\n9 2000000\nt 200000000\n7 10000000\n");
    sample(&fixture, 7, 110 * MS, EXTERNAL, SLEEP);
    sample(&fixture, 7, 190 * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(sum(&fixture, "[runtime: garbage collector]", CPU), 30 * MS);
    assert_int_equal(fixture.report->tracing_cpu_ns, 2 * MS);
    assert_int_equal(fixture.report->unseen_cpu_ns, 30 * MS);
    assert_int_equal(fixture.report->cpu_ns, 40 * MS);
    assert_string_equal(fixture.report->threads[0].name, ".NET Server GC");
    drop(&fixture);
}

static void without_a_record_there_is_no_cpu(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, NULL);
    sample(&fixture, 7, 1 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, 3 * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 0);
    assert_int_equal(sum(&fixture, COMPUTED, WALL), 4 * MS);
    assert_int_equal(sum(&fixture, COMPUTED, WAIT), 0);
    assert_int_not_equal(fixture.report->cpu_truth, SN_CPU_KNOWN);
    drop(&fixture);
}

/* A record that was cut would make a busy program look idle: it says so. */
static void a_record_of_a_part_is_told(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 40);
    for (uint64_t i = 1; i < 190; i++)
        sample(&fixture, 7, (100 + i) * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(fixture.report->cpu_truth, SN_CPU_KNOWN);
    assert_null(fixture.report->cpu_note);
    drop(&fixture);
    start_with_slice(&fixture, 40);
    for (uint64_t i = 1; i < 190; i++)
        sample(&fixture, 7, (100 + 10 * i) * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(fixture.report->cpu_truth, SN_CPU_KNOWN);
    assert_non_null(fixture.report->cpu_note);
    drop(&fixture);
}

static void a_record_of_another_time_is_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 40);
    sample(&fixture, 7, 900 * MS, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(fixture.report->cpu_truth, SN_CPU_BAD_RECORD);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 0);
    drop(&fixture);
}

/* More samples in one interval than are held: weighed in parts, and nothing is lost or invented. */
static void a_crowded_interval_adds_up(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 25);
    for (uint64_t i = 0; i < 30000; i++)
        sample(&fixture, 7, 100 * MS + 1 + i * 1000, MANAGED, COMPUTE);
    end(&fixture);
    assert_int_equal(sum(&fixture, COMPUTED, CPU), 25 * MS);
    assert_int_equal(sum(&fixture, COMPUTED, SAMPLES), 30000);
    drop(&fixture);
}

static void time_that_goes_back_does_no_harm(void **state)
{
    (void)state;
    struct fixture fixture;
    start_with_slice(&fixture, 25);
    sample(&fixture, 7, 160 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, 120 * MS, MANAGED, COMPUTE);
    sample(&fixture, 7, UINT64_MAX, MANAGED, COMPUTE);
    sample(&fixture, 7, 0, MANAGED, COMPUTE);
    end(&fixture);
    assert_true(sum(&fixture, COMPUTED, CPU) <= 25 * MS);
    drop(&fixture);
}

static void equal_stays_become_one_run(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, NULL);
    for (uint64_t i = 0; i < 10; i++)
        sample(&fixture, 7, i * MS, MANAGED, i < 6 ? COMPUTE : SLEEP);
    end(&fixture);
    struct sn_run_cursor cursor = {0};
    struct sn_run run;
    assert_true(sn_profile_next_run(fixture.report->samples, 0, &cursor, &run));
    assert_int_equal(run.end_ns - run.start_ns, 6 * MS);
    assert_int_equal(run.values[SAMPLES], 6);
    assert_true(sn_profile_next_run(fixture.report->samples, 0, &cursor, &run));
    assert_false(sn_profile_next_run(fixture.report->samples, 0, &cursor, &run));
    drop(&fixture);
}

/* 100 ms of work, sampled every so often, of which a part is looked at. */
static void work_in_part(uint64_t step_ms, uint64_t from_ms, uint64_t to_ms, uint64_t ret_sums[4])
{
    struct fixture fixture;
    part = (struct sn_part){from_ms * MS, to_ms * MS};
    start(&fixture, "sonde-cpu 1\nt 100000000\nn 7 worker\nt 150000000\n7 50000000\n"
                    "t 200000000\n7 30000000\nt 250000000\n7 10000000\n");
    for (uint64_t at = 100 + step_ms; at <= 200; at += step_ms)
        sample(&fixture, 7, at * MS, MANAGED, COMPUTE);
    end(&fixture);
    for (int column = CPU; column <= SAMPLES; column++)
        ret_sums[column] += sum(&fixture, COMPUTED, column);
    drop(&fixture);
    part = (struct sn_part){0};
}

static void parts_add_up(void **state)
{
    (void)state;
    uint64_t whole[4] = {0};
    work_in_part(1, 0, 0, whole);
    assert_int_equal(whole[CPU], 80 * MS);
    assert_int_equal(whole[WALL], 100 * MS);
    for (uint64_t at = 103; at < 197; at += 4) {
        uint64_t sums[4] = {0};
        work_in_part(1, 0, at, sums);
        work_in_part(1, at, 0, sums);
        assert_in_range(sums[CPU], whole[CPU] - MS, whole[CPU]); /* a sample is before or after */
        assert_in_range(sums[WALL], whole[WALL] - 2, whole[WALL]);
        assert_int_equal(sums[SAMPLES], whole[SAMPLES]);
    }
}

/* Between two samples, none of which is in it, the thread was still there. */
static void a_part_without_samples_has_its_time(void **state)
{
    (void)state;
    uint64_t sums[4] = {0};
    work_in_part(15, 131, 139, sums);
    assert_in_range(sums[WALL], 8 * MS - 1, 8 * MS);
    assert_int_equal(sums[CPU], 8 * MS);
    assert_int_equal(sums[SAMPLES], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_has_no_cpu),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(a_part_without_samples_has_its_time),
        cmocka_unit_test(native_compute_counts_as_running),
        cmocka_unit_test(no_cpu_time_is_lost),
        cmocka_unit_test(time_between_samples_goes_to_the_next_that_runs),
        cmocka_unit_test(who_is_never_seen_running_keeps_its_time),
        cmocka_unit_test(reading_may_be_work),
        cmocka_unit_test(chance_explains_so_much),
        cmocka_unit_test(the_sampler_is_not_the_program),
        cmocka_unit_test(threads_that_ended_get_their_time),
        cmocka_unit_test(a_native_sleep_is_no_compute),
        cmocka_unit_test(what_no_sample_shows_is_named),
        cmocka_unit_test(without_a_record_there_is_no_cpu),
        cmocka_unit_test(a_record_of_a_part_is_told),
        cmocka_unit_test(a_record_of_another_time_is_refused),
        cmocka_unit_test(a_crowded_interval_adds_up),
        cmocka_unit_test(time_that_goes_back_does_no_harm),
        cmocka_unit_test(equal_stays_become_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
