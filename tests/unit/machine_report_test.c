/* A recording of a machine, read into a report: processes, CPU time, waits, system calls, and the
 * choice of a process. */
#include "machine_trace.h"

#include <string.h>

#include "api/read_report.h"
#include "base/own.h"
#include "model/report.h"

static struct machine_trace *whole_trace(void)
{
    struct machine_trace *trace = begin_machine_trace();
    put_samples(trace);
    put_switches(trace);
    put_syscalls(trace);
    end_machine_trace(trace);
    return trace;
}

static struct sn_report *read_whole(const char *process)
{
    struct machine_trace *trace = whole_trace();
    struct sn_report *report = NULL;
    struct sn_read_end end;
    struct sonde_error err = {0};
    const struct sn_read_options options = {.process = process};
    assert_int_equal(sn_read_report(trace->path, &options, &report, &end, &err), 0);
    free_machine_trace(trace);
    return report;
}

static uint64_t column_sum(const struct sn_report *report, const char *column)
{
    return sn_profile_total(report->samples, sn_profile_column(report->samples, column),
                            SN_NO_INDEX);
}

/* What a frame spends with all below it, by name; of one column. */
static struct sn_frame_sum frame_sum(const struct sn_profile *profile, const char *column,
                                     const char *name)
{
    struct sn_frame_sum *sums =
        sn_profile_frame_sums(profile, sn_profile_column(profile, column), SN_NO_INDEX);
    struct sn_frame_sum found = {0};
    for (size_t i = 0; i < profile->frame_count; i++) {
        if (strcmp(profile->frames[i].name, name) == 0) {
            found.self += sums[i].self;
            found.total += sums[i].total;
        }
    }
    free(sums);
    return found;
}

static void samples_become_cpu_time(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    assert_int_equal(report->cpu_truth, SN_CPU_SAMPLED);
    assert_int_equal(report->cpu_ns, 100 * MS);
    assert_int_equal(report->machine.kernel_ns, 10 * MS);
    assert_int_equal(column_sum(report, "cpu"), 100 * MS);
    assert_int_equal(column_sum(report, "samples"), 100);
    assert_int_equal(column_sum(report, "wait"), 154 * MS);
    assert_int_equal(column_sum(report, "wall"), 254 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "Shop.Tax.Compute").self, 60 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "Worker.Queue.Drain").self, 20 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "copy_page").self, 10 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "libcoreclr.so!0x10").self, 10 * MS);
    assert_int_equal(report->first_ns, START);
    assert_true(report->duration_ns < 400 * MS); /* names that came later do not count */
}

static void processes_stand_at_the_root(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    const struct sn_machine_report *machine = &report->machine;
    assert_true(machine->is_machine);
    assert_int_equal(machine->count, 3); /* both shells are one */
    assert_int_equal(machine->ran_count, 4);
    assert_int_equal(machine->known_count, 4);
    assert_string_equal(machine->processes[0].name, "Shop");
    assert_string_equal(machine->processes[0].kind, ".NET 10.0.1");
    assert_int_equal(machine->processes[0].cpu_ns, 70 * MS);
    assert_int_equal(machine->processes[0].thread_count, 3);
    assert_true(machine->processes[0].is_chosen);
    assert_string_equal(machine->processes[1].name, "worker");
    assert_string_equal(machine->processes[2].name, "sh");
    assert_int_equal(machine->processes[2].count, 2);
    assert_int_equal(machine->processes[2].kernel_ns, 10 * MS);
    assert_int_equal(machine->dotnet_count, 2);
    assert_int_equal(machine->chosen_pid, SHOP);
    assert_int_equal(frame_sum(report->samples, "cpu", "Shop").total, 70 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "sh").total, 10 * MS);
    assert_int_equal(frame_sum(report->samples, "cpu", "[runtime: garbage collector]").total,
                     10 * MS);
    assert_int_equal(report->unseen_cpu_ns, 10 * MS);
}

static void waits_have_reasons(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    const struct sn_off_cpu_report *off = &report->off_cpu;
    assert_int_equal(off->event_count, 4);
    assert_int_equal(off->by_reason[SN_WAIT_LOCK].ns, 40 * MS);
    assert_int_equal(off->by_reason[SN_WAIT_SLEEP].ns, 100 * MS);
    assert_int_equal(off->by_reason[SN_WAIT_PREEMPTED].ns, 5 * MS);
    assert_int_equal(off->by_reason[SN_WAIT_GC].ns, 9 * MS);
    assert_int_equal(off->thread_count, 2);
    assert_int_equal(off->threads[0].off_ns, 100 * MS);
    assert_string_equal(off->threads[1].name, ".NET TP Worker");
    assert_string_equal(off->threads[1].process, "Shop");
    /* what the kernel does to leave the CPU is no place to wait at */
    assert_int_equal(frame_sum(report->samples, "wait", "__schedule").total, 0);
    assert_int_equal(frame_sum(report->samples, "wait", "futex_wait").self, 149 * MS);
    assert_int_equal(frame_sum(off->profile, "time", "Shop.Orders.Place").total, 140 * MS);
}

static void waits_for_a_cpu_are_counted(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    const struct sn_run_queue_report *queue = &report->run_queue;
    assert_int_equal(queue->event_count, 4);
    assert_int_equal(queue->ns, 5 * MS + 43000);
    assert_int_equal(queue->max_ns, 5 * MS);
    assert_int_equal(queue->buckets[1], 1); /* 3 us */
    assert_int_equal(queue->buckets[3], 1); /* 10 us */
    assert_int_equal(queue->buckets[4], 1); /* 30 us */
}

static void collections_stop_threads(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    const struct sn_suspension_report *stops = &report->suspension;
    assert_int_equal(stops->event_count, 1);
    assert_int_equal(stops->ns, 10 * MS);
    assert_int_equal(stops->thread_ns, 9 * MS);
    assert_int_equal(stops->gc_cpu_ns, 10 * MS);
    assert_true(stops->has_threads);
    assert_int_equal(stops->by_reason[0].count, 1);
    assert_int_equal(stops->by_reason[0].thread_ns, 9 * MS);
    assert_int_equal(report->gc.pause_ns, 10 * MS);
}

static void system_calls_have_names_and_sites(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *report = read_whole(NULL);
    const struct sn_syscall_report *calls = &report->syscalls;
    assert_int_equal(calls->count, 1);
    assert_string_equal(calls->kinds[0].name, "read");
    assert_int_equal(calls->kinds[0].count, 5);
    assert_int_equal(calls->kinds[0].ns, 15000);
    assert_int_equal(calls->kinds[0].max_ns, 5000);
    assert_int_equal(calls->kinds[0].error_count, 1);
    assert_int_equal(frame_sum(calls->profile, "time", "Shop.Tax.Compute").total, 15000);
}

static void one_process_is_read_alone(void **state)
{
    (void)state;
    SN_AUTO(sn_report_free) struct sn_report *by_name = read_whole("work*");
    assert_int_equal(by_name->cpu_ns, 20 * MS);
    assert_int_equal(by_name->machine.count, 1);
    assert_int_equal(by_name->machine.chosen_pid, WORKER);
    assert_int_equal(by_name->gc.event_count, 0); /* the collection is the shop's */
    assert_int_equal(by_name->off_cpu.event_count, 0);
    assert_int_equal(frame_sum(by_name->samples, "cpu", "worker").total, 0); /* no such frame */
    SN_AUTO(sn_report_free) struct sn_report *by_pid = read_whole("100");
    assert_int_equal(by_pid->cpu_ns, 70 * MS);
    assert_true(by_pid->gc.event_count > 0);
    SN_AUTO(sn_report_free) struct sn_report *native = read_whole("sh");
    assert_int_equal(native->cpu_ns, 10 * MS);
    assert_int_equal(native->machine.chosen_pid, 0);
    assert_int_equal(native->gc.event_count, 0);
}

static void a_process_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct machine_trace *trace = whole_trace();
    struct sn_report *report = NULL;
    struct sn_read_end end;
    struct sonde_error err = {0};
    const struct sn_read_options options = {.process = "nobody"};
    assert_int_equal(sn_read_report(trace->path, &options, &report, &end, &err), SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "Shop (100)"));
    free_machine_trace(trace);
}

/* Cut anywhere it gives what is there. */
static void a_cut_recording_is_read(void **state)
{
    (void)state;
    struct machine_trace *trace = whole_trace();
    struct sonde_error err = {0};
    for (long size = 4000; size > 0; size -= 97) {
        struct sn_report *report = NULL;
        struct sn_read_end end;
        const struct sn_read_options options = {0};
        assert_int_equal(truncate(trace->path, size), 0);
        if (sn_read_report(trace->path, &options, &report, &end, &err) == 0)
            sn_report_free(report);
    }
    free_machine_trace(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_cpu_time),
        cmocka_unit_test(processes_stand_at_the_root),
        cmocka_unit_test(waits_have_reasons),
        cmocka_unit_test(waits_for_a_cpu_are_counted),
        cmocka_unit_test(collections_stop_threads),
        cmocka_unit_test(system_calls_have_names_and_sites),
        cmocka_unit_test(one_process_is_read_alone),
        cmocka_unit_test(a_process_that_is_not_there_is_refused),
        cmocka_unit_test(a_cut_recording_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
