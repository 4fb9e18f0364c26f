/* The CPU record, read: what the page about it says, and what is not so. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/cpu_slices.h"
#include "sonde/error.h"

static const char example[] = "sonde-cpu 1 pid=5730 clock=monotonic unit=ns\n"
                              "t 1000\n"
                              "n 5730 dotnet\n"
                              "n 5756 .NET TP Worker\n"
                              "t 2000\n"
                              "5756 700\n"
                              "t 3000\n"
                              "n 6702 \n"
                              "5756 100\n"
                              "6702 50\n";

static struct sn_cpu_slices *read_text(const char *text)
{
    struct sn_cpu_slices *slices = NULL;
    assert_int_equal(sn_cpu_slices_read(text, strlen(text), &slices, NULL), SONDE_OK);
    return slices;
}

static void the_example_is_read(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *slices = read_text(example);
    assert_int_equal(slices->pid, 5730);
    assert_int_equal(slices->look_count, 3);
    assert_int_equal(slices->thread_count, 3);
    const struct sn_cpu_thread *worker = sn_cpu_slices_thread(slices, 5756);
    assert_string_equal(worker->name, ".NET TP Worker");
    assert_int_equal(worker->ran_ns, 800);
    assert_int_equal(worker->count, 2);
    assert_int_equal(worker->slices[0].look, 1);
    assert_int_equal(worker->slices[1].look, 2);
    assert_string_equal(sn_cpu_slices_thread(slices, 6702)->name, "");
    assert_null(sn_cpu_slices_thread(slices, 1));
    assert_int_equal(slices->skipped_count, 0);
    assert_false(slices->is_cut);
}

static void times_find_their_interval(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *slices = read_text(example);
    assert_int_equal(sn_cpu_slices_look(slices, 0), 0);
    assert_int_equal(sn_cpu_slices_look(slices, 1000), 0);
    assert_int_equal(sn_cpu_slices_look(slices, 1001), 1);
    assert_int_equal(sn_cpu_slices_look(slices, 2000), 1);
    assert_int_equal(sn_cpu_slices_look(slices, 2001), 2);
    assert_int_equal(sn_cpu_slices_look(slices, 3001), 3);
}

static void bad_lines_are_passed_over(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free)
    struct sn_cpu_slices *slices = read_text("sonde-cpu 1 pid=1\n"
                                             "7 100\n" /* before the first look */
                                             "t 1000\n"
                                             "t x\n"
                                             "t 2000\n"
                                             "7 18446744073709551616\n" /* too large */
                                             "7\n"
                                             "7 1 2\n"
                                             "\n"
                                             "t 1500\n" /* backwards */
                                             "n 7\n"
                                             "z a line of a later version\n"
                                             "7 40\n");
    assert_int_equal(slices->skipped_count, 8);
    assert_int_equal(sn_cpu_slices_thread(slices, 7)->ran_ns, 40);
}

static void nobody_runs_longer_than_time_goes_by(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free)
    struct sn_cpu_slices *slices = read_text("sonde-cpu 1\nt 1\nt 2\n7 18446744073709551615\nt 3\n"
                                             "7 1\n");
    assert_int_equal(sn_cpu_slices_thread(slices, 7)->ran_ns, 1);
    assert_int_equal(slices->skipped_count, 1);
}

static void what_is_no_record_is_refused(void **state)
{
    (void)state;
    struct sn_cpu_slices *slices = NULL;
    assert_int_equal(sn_cpu_slices_read("", 0, &slices, NULL), SONDE_E_FORMAT);
    assert_int_equal(sn_cpu_slices_read("Nettrace", 8, &slices, NULL), SONDE_E_FORMAT);
    assert_int_equal(sn_cpu_slices_read("sonde-cpu 2\n", 12, &slices, NULL), SONDE_E_UNSUPPORTED);
    assert_null(slices);
}

/* A cut record holds what its whole lines say, and never more. */
static void every_cut_is_fine(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(example); size++) {
        SN_AUTO(sn_free) char *copy = malloc(size + 1);
        memcpy(copy, example, size);
        SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *slices = NULL;
        if (sn_cpu_slices_read(copy, size, &slices, NULL) != SONDE_OK)
            continue;
        const struct sn_cpu_thread *worker = sn_cpu_slices_thread(slices, 5756);
        uint64_t ran = worker ? worker->ran_ns : 0;
        assert_true(ran == 0 || ran == 700 || ran == 800);
        assert_int_equal(slices->skipped_count, 0);
    }
}

/* Parts add up to the whole, wherever they are cut. */
static void parts_add_up(void **state)
{
    (void)state;
    for (uint64_t at = 500; at < 3600; at += 50) {
        SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *early = read_text(example);
        SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *late = read_text(example);
        sn_cpu_slices_cut(early, 0, at);
        sn_cpu_slices_cut(late, at, UINT64_MAX);
        uint64_t sum =
            sn_cpu_slices_thread(early, 5756)->ran_ns + sn_cpu_slices_thread(late, 5756)->ran_ns;
        assert_in_range(sum, 799, 800); /* a nanosecond may be lost in rounding */
    }
}

static void a_part_is_a_record(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *part = read_text(example);
    sn_cpu_slices_cut(part, 1500, 2500);
    assert_int_equal(part->look_count, 3);
    assert_int_equal(part->looks[0], 1500);
    assert_int_equal(part->looks[1], 2000);
    assert_int_equal(part->looks[2], 2500);
    const struct sn_cpu_thread *worker = sn_cpu_slices_thread(part, 5756);
    assert_int_equal(worker->ran_ns, 400);
    assert_int_equal(worker->slices[0].ran_ns, 350);
    assert_int_equal(worker->slices[1].ran_ns, 50);
    assert_int_equal(sn_cpu_slices_look(part, 1501), 1);
    assert_int_equal(sn_cpu_slices_look(part, 2501), 3);
}

/* A thread that runs again later has not ended. */
static void who_goes_on_is_there_to_the_end(void **state)
{
    (void)state;
    SN_AUTO(sn_cpu_slices_free) struct sn_cpu_slices *part = read_text(example);
    sn_cpu_slices_cut(part, 1000, 2000);
    const struct sn_cpu_thread *later = sn_cpu_slices_thread(part, 6702);
    assert_int_equal(later->ran_ns, 0);
    assert_int_equal(later->count, 1);
    assert_int_equal(later->slices[0].look, 1);
    sn_cpu_slices_cut(part, 9000, 9500); /* there is nothing */
    assert_int_equal(sn_cpu_slices_thread(part, 5756)->ran_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(times_find_their_interval),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(a_part_is_a_record),
        cmocka_unit_test(who_goes_on_is_there_to_the_end),
        cmocka_unit_test(bad_lines_are_passed_over),
        cmocka_unit_test(nobody_runs_longer_than_time_goes_by),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(every_cut_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
