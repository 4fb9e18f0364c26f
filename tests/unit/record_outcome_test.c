/* The last words of a recording and its exit code: losses are in the total, and what is not whole
 * is not called done. */
#include "check.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/record_outcome.h"
#include "cli/record_run.h"

#define NO_COMMAND (-1)

struct bench {
    struct sn_record_run run;
    struct sonde_record_stats stats;
    char *words;
    char *result;
    size_t words_size;
    size_t result_size;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    bench->stats = (struct sonde_record_stats){.stage = SONDE_RECORD_DONE,
                                               .way_note = "",
                                               .note = "",
                                               .sampler = "cpu-clock",
                                               .output = "r.sonde.zip",
                                               .duration_ns = 5000000000,
                                               .sample_count = 4824,
                                               .process_count = 2,
                                               .runtime_count = 1};
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    free(bench->words);
    free(bench->result);
    free(bench);
    return 0;
}

static int tell(struct bench *bench, int command_status)
{
    free(bench->words);
    free(bench->result);
    bench->run.words = open_memstream(&bench->words, &bench->words_size);
    bench->run.result = open_memstream(&bench->result, &bench->result_size);
    assert_true(bench->run.words && bench->run.result);
    int code = sn_record_tell(&bench->run, &bench->stats, command_status);
    (void)fclose(bench->run.words);
    (void)fclose(bench->run.result);
    return code;
}

static void losses_of_the_kernel_and_of_runtimes_are_in_the_last_line(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_DONE);
    assert_non_null(strstr(bench->words, "2 processes, 1 of them .NET; 0 lost\n"));
    assert_null(strstr(bench->words, "the kernel lost"));
    assert_string_equal(bench->result, "r.sonde.zip\n");
    bench->stats.kernel_lost_count = 1000;
    bench->stats.event_lost_count = 234;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_DONE);
    assert_non_null(strstr(bench->words, "; 1,234 lost\n"));
    assert_non_null(strstr(bench->words, "the kernel lost 1,000 records"));
    assert_non_null(strstr(bench->words, "runtimes lost 234 events"));
    bench->run.json = true;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_DONE);
    json_t *root = json_loads(bench->result, JSON_REJECT_DUPLICATES, NULL);
    const json_t *lost = json_object_get(root, "lost");
    assert_int_equal(json_integer_value(json_object_get(lost, "kernel")), 1000);
    assert_int_equal(json_integer_value(json_object_get(lost, "runtimes")), 234);
    assert_null(json_object_get(root, "exitCode"));
    json_decref(root);
}

static void what_was_asked_for_and_is_missing_is_partial(void **state)
{
    struct bench *bench = *state;
    bench->run.options.with_switches = true;
    bench->stats.note = "no switches: perf_event_paranoid is 3";
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_PARTIAL);
    assert_non_null(strstr(bench->words, bench->stats.note));
    bench->stats.switch_count = 1;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_DONE);
    bench->stats.silent_count = 1; /* of a whole machine, one may be out of reach */
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_DONE);
    bench->run.options.pid_count = 1;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_PARTIAL);
    bench->stats.process_count = 0;
    assert_int_equal(tell(bench, NO_COMMAND), SN_EXIT_NO_TARGET);
}

static void the_end_of_a_program_is_the_end_of_its_recording(void **state)
{
    struct bench *bench = *state;
    char name[] = "sh";
    char *command[] = {name, NULL};
    bench->run.options.command = command;
    assert_int_equal(tell(bench, 0), SN_EXIT_DONE);
    assert_null(strstr(bench->words, "ended with"));
    assert_int_equal(tell(bench, 7 << 8), 7);
    assert_non_null(strstr(bench->words, "sh ended with 7\n"));
    assert_int_equal(tell(bench, SIGKILL), 128 + SIGKILL);
    bench->stats.process_count = 0; /* it was too short to be seen: it ran all the same */
    assert_int_equal(tell(bench, 0), SN_EXIT_DONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(losses_of_the_kernel_and_of_runtimes_are_in_the_last_line),
        TEST(what_was_asked_for_and_is_missing_is_partial),
        TEST(the_end_of_a_program_is_the_end_of_its_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
