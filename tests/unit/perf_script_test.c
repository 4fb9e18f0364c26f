/* The text of perf script, with names that try to break out of their lines. */
#include "convert/perf_script.h"

#include "base/buf.h"
#include "base/own.h"
#include "check.h"

static const struct sn_perf_script_event event = {
    .command = "do\nt", .pid = 7, .thread_id = 8, .cpu = 3, .time_ns = 5000000012};

static void a_sample_has_its_frames(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    sn_perf_script_sample(&text, &event, 1001001);
    sn_perf_script_frame(&text, 0xffffffff81000000u, "do_it", "[kernel.kallsyms]");
    sn_perf_script_frame(&text, 0x10, "void [a] T::M()\n\tx", "/tmp/(x)");
    sn_perf_script_end(&text);
    assert_string_equal(sn_buf_string(&text), "do_t 7/8 [003] 5.000000012: 1001001 cpu-clock: \n"
                                              "\tffffffff81000000 do_it ([kernel.kallsyms])\n"
                                              "\t              10 void [a] T::M()__x (/tmp/_x_)\n"
                                              "\n");
}

static void a_switch_is_two_lines(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    sn_perf_script_leave(&text, &event, 'D');
    sn_perf_script_return(&text, &event);
    assert_string_equal(sn_buf_string(&text),
                        "do_t 7/8 [003] 5.000000012: 1 sched:sched_switch: prev_comm=do_t "
                        "prev_pid=8 prev_prio=120 prev_state=D ==> next_comm=swapper next_pid=0 "
                        "next_prio=120\n"
                        "do_t 7/8 [003] 5.000000012: 1 sched:sched_switch: prev_comm=do_t "
                        "prev_pid=8 prev_prio=120 prev_state=R ==> next_comm=do_t next_pid=8 "
                        "next_prio=120\n");
}

static void numbers_stay_in_their_bounds(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(4096);
    struct sn_perf_script_event odd = {.command = "", .cpu = UINT32_MAX};
    sn_perf_script_sample(&text, &odd, UINT64_MAX);
    assert_string_equal(sn_buf_string(&text),
                        "unknown 0/0 [000] 0.000000000: 2147483647 cpu-clock: \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_its_frames),
        cmocka_unit_test(a_switch_is_two_lines),
        cmocka_unit_test(numbers_stay_in_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
