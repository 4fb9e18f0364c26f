/* Operations at their ceilings: as many as may run, what happens without memory, on a disk that
 * refuses, with readers who leave and providers that cannot take more. The kind of operation is the
 * test's; table, files, threads are a controller's. */
#include "controller_bench.h"

#include <signal.h>
#include <sys/resource.h>

#include "daemon/artefact.h"
#include "daemon/operation.h"
#include "daemon/operation_table.h"
#include "daemon/text_operation.h"
#include "failing_memory.h"

#define OF_KIND    3u
#define RECORDINGS 10u
#define OF_PROCESS 8u
#define LIVE_MAX   16u
#define ENDED_MAX  200u

/* --- a kind of operation that does what it is told --- */

static unsigned work_count; /* begun and not freed */
static bool refuses_to_start;

static void put_lost(void *user, uint64_t count, struct sn_buf *to)
{
    (void)user;
    sn_buf_format(to, "-%llu\n", (unsigned long long)count);
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    struct sn_text_output *output = calloc(1, sizeof(*output));
    if (!output || refuses_to_start) {
        free(output);
        (void)snprintf(err->text, sizeof(err->text), "it does not start");
        return err->status = SONDE_E_NOMEM;
    }
    output->put_lost = put_lost;
    operation->user = output;
    work_count++;
    return sn_text_output_begin(output, operation->artefact, 0, err);
}

static void end_well(struct sn_operation *operation)
{
    sn_text_output_end(operation->user, operation, SONDE_OK, "");
}

static void free_output(struct sn_operation *operation)
{
    struct sn_text_output *output = operation->user;
    if (!output)
        return;
    sn_text_output_done(output);
    free(output);
    operation->user = NULL;
    work_count--;
}

static const struct sn_operation_kind kind = {.name = "test",
                                              .extension = "txt",
                                              .content_type = "text/plain",
                                              .concurrent_max = OF_KIND,
                                              .recording_max = RECORDINGS,
                                              .is_stoppable = true,
                                              .start = start,
                                              .stop = end_well,
                                              .cancel = end_well,
                                              .free = free_output};

/* --- the bench: the test is the roads thread, whenever that stands --- */

struct bench {
    struct controller *controller;
    struct controller_hold hold;
    struct sonde_error err;
    json_t *settings;
    char shelf[160];
    char egress[200];
    const char *egresses[1];
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    work_count = 0;
    refuses_to_start = false;
    bench->settings = json_object();
    bench->controller = controller_new();
    (void)snprintf(bench->shelf, sizeof(bench->shelf), "%s/shelf", bench->controller->folder);
    assert_int_equal(mkdir(bench->shelf, 0700), 0);
    (void)snprintf(bench->egress, sizeof(bench->egress), "shelf=%s", bench->shelf);
    bench->egresses[0] = bench->egress;
    bench->controller->options.egress = bench->egresses;
    bench->controller->options.egress_count = 1;
    controller_start(bench->controller);
    controller_hold_roads(bench->controller, &bench->hold);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    controller_let_go(&bench->hold);
    controller_free(bench->controller);
    json_decref(bench->settings);
    free(bench);
    assert_int_equal(work_count, 0);
    return 0;
}

/* Lets the roads thread have its way for a round. */
static void turn_roads(struct bench *bench)
{
    controller_let_go(&bench->hold);
    controller_wait(&bench->hold.has_gone);
    controller_hold_roads(bench->controller, &bench->hold);
}

static int make(struct bench *bench, struct sn_operation_request request,
                struct sn_operation **ret_operation)
{
    request.kind = &kind;
    request.settings = bench->settings;
    request.duration_ns = UINT64_MAX;
    bench->err = (struct sonde_error){0};
    return sn_operation_new(&bench->controller->daemon, &request, ret_operation, &bench->err);
}

static struct sn_operation *make_one(struct bench *bench, struct sn_operation_request request)
{
    struct sn_operation *operation = NULL;
    if (make(bench, request, &operation) != SONDE_OK)
        fail_msg("%s", bench->err.text);
    sn_operation_running(operation);
    return operation;
}

static size_t count_all(struct bench *bench)
{
    size_t count = 0;
    for (struct sn_operation *one = sn_operation_first(&bench->controller->daemon); one;
         one = one->next)
        count++;
    return count;
}

/* --- ceilings --- */

static void so_many_of_a_kind_run_and_a_place_is_free_again(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *running[OF_KIND];
    struct sn_operation *other = NULL;
    for (unsigned i = 0; i < OF_KIND; i++)
        running[i] = make_one(bench, (struct sn_operation_request){.pid = 7});
    assert_int_equal(make(bench, (struct sn_operation_request){.pid = 8}, &other), SONDE_E_LIMIT);
    assert_string_equal(bench->err.text,
                        "3 operations of kind test run, which is as many as may: stop one or wait");
    assert_int_equal(count_all(bench), OF_KIND);
    sn_operation_stop(running[1]);
    other = make_one(bench, (struct sn_operation_request){.pid = 8});
    for (struct sn_operation *one = sn_operation_first(&bench->controller->daemon); one;
         one = one->next)
        assert_int_equal(sn_operation_is_active(one), one != running[1]);
}

static void recordings_are_counted_apart_and_by_process(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *other = NULL;
    const struct sn_operation_request of_one = {.pid = 7, .is_recording = true};
    const struct sn_operation_request of_another = {.pid = 8, .is_recording = true};
    for (unsigned i = 0; i < OF_KIND; i++)
        (void)make_one(bench, (struct sn_operation_request){.pid = 7});
    for (unsigned i = 0; i < OF_PROCESS; i++)
        (void)make_one(bench, of_one);
    assert_int_equal(make(bench, of_one, &other), SONDE_E_LIMIT);
    assert_non_null(strstr(bench->err.text, "8 recordings of process 7 run"));
    for (unsigned i = OF_PROCESS; i < RECORDINGS; i++)
        (void)make_one(bench, of_another);
    assert_int_equal(make(bench, of_another, &other), SONDE_E_LIMIT);
    assert_non_null(strstr(bench->err.text, "10 operations of kind test run"));
    assert_null(other);
}

static void one_that_waits_takes_no_place_until_it_is_enabled(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *waiting[2];
    struct sn_operation_request request = {.pid = 7, .is_recording = true, .is_disabled = true};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(make(bench, request, &waiting[i]), SONDE_OK);
    request.is_disabled = false;
    for (unsigned i = 0; i < OF_PROCESS - 1; i++)
        (void)make_one(bench, request);
    assert_int_equal(sn_operation_enable(waiting[0], &bench->err), SONDE_OK);
    assert_int_equal(sn_operation_enable(waiting[1], &bench->err), SONDE_E_LIMIT);
    assert_int_equal(waiting[1]->state, SN_OPERATION_CONFIGURED);
    sn_operation_running(waiting[0]);
    sn_operation_stop(waiting[0]);
    assert_int_equal(sn_operation_enable(waiting[1], &bench->err), SONDE_OK);
}

static void recordings_have_a_ceiling_whatever_their_state(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *other = NULL;
    struct sn_operation_request request = {.pid = 7, .is_recording = true, .is_disabled = true};
    for (unsigned i = 0; i < SN_RECORDINGS_MAX; i++)
        assert_int_equal(make(bench, request, &other), SONDE_OK);
    struct sn_operation *last = other;
    assert_int_equal(make(bench, request, &other), SONDE_E_LIMIT);
    assert_string_equal(bench->err.text, "there are 1000 recordings: delete some");
    assert_int_equal(sn_operation_delete(last, &bench->err), SONDE_OK);
    assert_int_equal(make(bench, request, &other), SONDE_OK);
    assert_int_equal(count_all(bench), SN_RECORDINGS_MAX);
}

static void live_ones_have_a_ceiling_of_their_own(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *other = NULL;
    const struct sn_operation_request request = {.pid = 7, .is_recording = true, .is_live = true};
    struct sn_operation *live[LIVE_MAX];
    for (unsigned i = 0; i < LIVE_MAX; i++)
        live[i] = make_one(bench, request);
    assert_int_equal(make(bench, request, &other), SONDE_E_LIMIT);
    assert_non_null(strstr(bench->err.text, "16 live recordings run"));
    (void)make_one(bench, (struct sn_operation_request){.pid = 7, .is_recording = true});
    assert_int_equal(sn_operation_keep(live[0], &bench->err), SONDE_OK);
    (void)make_one(bench, request); /* it is one like all others now */
}

static void the_oldest_that_ended_are_forgotten_with_their_files(void **state)
{
    struct bench *bench = *state;
    char oldest[128] = "";
    for (unsigned i = 0; i < ENDED_MAX + 50; i++) {
        struct sn_operation *one = make_one(bench, (struct sn_operation_request){.pid = 7});
        if (!i)
            (void)snprintf(oldest, sizeof(oldest), "%s", sn_artefact_path(one->artefact));
        assert_int_equal(access(oldest, F_OK), i < ENDED_MAX ? 0 : -1);
        sn_operation_stop(one);
        assert_int_equal(one->state, SN_OPERATION_SUCCEEDED);
        assert_true(count_all(bench) <= ENDED_MAX);
    }
    assert_int_equal(work_count, ENDED_MAX);
}

/* --- without memory --- */

static void one_that_cannot_be_made_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    unsigned failed_count = 0;
    for (unsigned n = 0, refused = 1; refused; n++) {
        struct sn_operation *operation = NULL;
        memory_fails_at(n);
        int rc = make(bench, (struct sn_operation_request){.pid = 7}, &operation);
        refused = memory_is_back();
        assert_int_equal(rc, operation ? SONDE_OK : SONDE_E_NOMEM);
        assert_int_equal(count_all(bench), operation ? 1 : 0);
        assert_true(operation || bench->err.text[0]);
        failed_count += !operation;
    }
    assert_true(failed_count >= 3);
    for (unsigned i = 1; i < OF_KIND; i++)
        (void)make_one(bench, (struct sn_operation_request){.pid = 7});
}

static void one_that_does_not_start_waits_to_be_enabled_again(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *operation = NULL;
    const struct sn_operation_request request = {
        .pid = 7, .is_recording = true, .is_disabled = true};
    assert_int_equal(make(bench, request, &operation), SONDE_OK);
    refuses_to_start = true;
    assert_int_equal(sn_operation_enable(operation, &bench->err), SONDE_E_NOMEM);
    assert_string_equal(bench->err.text, "it does not start");
    assert_int_equal(operation->state, SN_OPERATION_CONFIGURED);
    refuses_to_start = false;
    assert_int_equal(sn_operation_enable(operation, &bench->err), SONDE_OK);
}

/* --- readers --- */

static void who_reads_it_last_ends_it_and_no_other(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *left = make_one(bench, (struct sn_operation_request){.pid = 7});
    struct sn_operation *read = make_one(bench, (struct sn_operation_request){.pid = 7});
    char path[128];
    (void)snprintf(path, sizeof(path), "%s", sn_artefact_path(left->artefact));
    struct sn_artefact *first = sn_artefact_hold(left->artefact);
    struct sn_artefact *second = sn_artefact_hold(left->artefact);
    struct sn_artefact *other = sn_artefact_hold(read->artefact);
    sn_artefact_release(first);
    turn_roads(bench);
    assert_int_equal(left->state, SN_OPERATION_RUNNING); /* somebody is there still */
    sn_artefact_release(second);
    turn_roads(bench);
    assert_int_equal(left->state, SN_OPERATION_CANCELLED);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(read->state, SN_OPERATION_RUNNING);
    sn_operation_stop(read);
    sn_artefact_release(other);
    turn_roads(bench);
    assert_int_equal(read->state, SN_OPERATION_SUCCEEDED);
    assert_null(read->artefact); /* read to its end */
}

/* --- a disk that refuses --- */

static void write_record(struct sn_operation *operation, size_t size)
{
    struct sn_text_output *output = operation->user;
    sn_buf_fill(&output->text, 'x', size);
    sn_buf_u8(&output->text, '\n');
    sn_text_output_put(output);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_file_that_cannot_be_written_fails_its_operation_and_no_other(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *large = make_one(bench, (struct sn_operation_request){.pid = 7});
    struct sn_operation *small = make_one(bench, (struct sn_operation_request){.pid = 7});
    char path[128];
    (void)snprintf(path, sizeof(path), "%s", sn_artefact_path(large->artefact));
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(200);
    write_record(large, 100000); /* more than is gathered */
    write_record(small, 100);
    sn_operation_stop(large);
    sn_operation_stop(small);
    limit_files(RLIM_INFINITY);
    assert_int_equal(large->state, SN_OPERATION_FAILED);
    assert_non_null(strstr(large->message, "File too large"));
    assert_null(large->artefact);
    assert_int_equal(access(path, F_OK), -1); /* nothing of it is left */
    assert_int_equal(small->state, SN_OPERATION_SUCCEEDED);
    assert_int_equal(sn_artefact_size(small->artefact), 101);
}

static void records_that_are_missing_at_the_end_are_told_in_the_file(void **state)
{
    struct bench *bench = *state;
    char text[64] = "";
    struct sn_operation *operation = make_one(bench, (struct sn_operation_request){.pid = 7});
    struct sn_text_output *output = operation->user;
    output->text.limit = 8; /* no room for a record and for the word that one is missing */
    output->lost_count = 3;
    sn_buf_text(&output->text, "record\n");
    sn_text_output_put(output);
    sn_operation_stop(operation);
    assert_int_equal(operation->state, SN_OPERATION_SUCCEEDED);
    assert_int_equal(sn_artefact_read(operation->artefact, 0, text, sizeof(text) - 1), 10);
    assert_string_equal(text, "record\n-3\n");
}

static void records_that_cannot_even_be_told_are_told_of_the_operation(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *operation = make_one(bench, (struct sn_operation_request){.pid = 7});
    struct sn_text_output *output = operation->user;
    output->text.limit = 2;
    output->lost_count = 3;
    sn_operation_stop(operation);
    assert_int_equal(operation->state, SN_OPERATION_SUCCEEDED);
    assert_int_equal(operation->status, SONDE_END);
    assert_string_equal(operation->message, "3 records are missing: there was no memory for them");
}

/* --- room --- */

static void the_quota_ends_recordings_well_and_slow_readers(void **state)
{
    struct bench *bench = *state;
    bench->controller->options.store_bytes_max = 1u << 20;
    struct sn_operation *kept =
        make_one(bench, (struct sn_operation_request){.pid = 7, .is_recording = true});
    struct sn_operation *small =
        make_one(bench, (struct sn_operation_request){.pid = 7, .is_recording = true});
    struct sn_operation *read = make_one(bench, (struct sn_operation_request){.pid = 7});
    struct sn_artefact *reader = sn_artefact_hold(read->artefact);
    for (unsigned i = 0; i < 3; i++) {
        write_record(kept, 400000);
        write_record(read, 400000);
    }
    write_record(small, 100);
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (sn_operation_is_active(kept) || sn_operation_is_active(read)) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        turn_roads(bench);
    }
    assert_int_equal(kept->state, SN_OPERATION_SUCCEEDED);
    assert_string_equal(kept->message, "the quota was reached: it ended with what it has");
    assert_true(sn_artefact_size(kept->artefact) > 1200000);
    assert_int_equal(read->state, SN_OPERATION_FAILED);
    assert_string_equal(read->message, "its reader is too slow");
    assert_int_equal(small->state, SN_OPERATION_RUNNING);
    int status = SONDE_OK;
    assert_true(sn_artefact_is_ended(reader, &status) && status < 0); /* its reader is cut off */
    sn_artefact_release(reader);
}

/* --- providers --- */

static void await_state(struct bench *bench, const struct sn_operation *operation,
                        enum sn_operation_state state)
{
    uint64_t end_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while (operation->state != state) {
        assert_true(sn_clock_monotonic_ns() < end_ns);
        turn_roads(bench);
    }
}

static void a_provider_that_cannot_take_more_fails_what_comes(void **state)
{
    struct bench *bench = *state;
    const struct sn_operation_request request = {.pid = 7, .egress = "shelf"};
    struct controller_hold worker;
    struct sn_operation *saved[3];
    struct sn_operation *other = NULL;
    controller_hold_worker(bench->controller, &worker);
    for (unsigned i = 0; i < 3; i++) {
        saved[i] = make_one(bench, request);
        write_record(saved[i], 10 + i);
    }
    for (unsigned i = 0; i < 2; i++)
        sn_operation_stop(saved[i]); /* there is one place to wait */
    assert_int_equal(saved[0]->state, SN_OPERATION_STOPPING);
    assert_int_equal(saved[1]->state, SN_OPERATION_FAILED);
    assert_string_equal(saved[1]->message, "too much is being saved: try again later");
    assert_null(saved[1]->artefact);
    controller_let_go(&worker);
    await_state(bench, saved[0], SN_OPERATION_SUCCEEDED);
    assert_int_equal(access(saved[0]->location, F_OK), 0);
    assert_null(saved[0]->artefact); /* it lies elsewhere by now */
    assert_int_equal(unlink(saved[0]->location), 0);
    assert_int_equal(rmdir(bench->shelf), 0);
    sn_operation_stop(saved[2]);
    await_state(bench, saved[2], SN_OPERATION_FAILED);
    assert_true(saved[2]->message[0]);
    assert_int_equal(make(bench, (struct sn_operation_request){.egress = "none"}, &other),
                     SONDE_E_ARGUMENT);
}

static void a_provider_without_memory_fails_what_comes(void **state)
{
    struct bench *bench = *state;
    struct sn_operation *operation =
        make_one(bench, (struct sn_operation_request){.pid = 7, .egress = "shelf"});
    write_record(operation, 10);
    assert_int_equal(sn_text_output_flush(operation->user), SONDE_OK);
    memory_ends_after(0);
    sn_operation_stop(operation);
    assert_true(memory_is_back() > 0);
    assert_int_equal(operation->state, SN_OPERATION_FAILED);
    assert_string_equal(operation->message, "too much is being saved: try again later");
}

#define OPERATION_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPERATION_TEST(so_many_of_a_kind_run_and_a_place_is_free_again),
        OPERATION_TEST(recordings_are_counted_apart_and_by_process),
        OPERATION_TEST(one_that_waits_takes_no_place_until_it_is_enabled),
        OPERATION_TEST(recordings_have_a_ceiling_whatever_their_state),
        OPERATION_TEST(live_ones_have_a_ceiling_of_their_own),
        OPERATION_TEST(the_oldest_that_ended_are_forgotten_with_their_files),
        OPERATION_TEST(one_that_cannot_be_made_leaves_nothing),
        OPERATION_TEST(one_that_does_not_start_waits_to_be_enabled_again),
        OPERATION_TEST(who_reads_it_last_ends_it_and_no_other),
        OPERATION_TEST(a_file_that_cannot_be_written_fails_its_operation_and_no_other),
        OPERATION_TEST(records_that_are_missing_at_the_end_are_told_in_the_file),
        OPERATION_TEST(records_that_cannot_even_be_told_are_told_of_the_operation),
        OPERATION_TEST(the_quota_ends_recordings_well_and_slow_readers),
        OPERATION_TEST(a_provider_that_cannot_take_more_fails_what_comes),
        OPERATION_TEST(a_provider_without_memory_fails_what_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
