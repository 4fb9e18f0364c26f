/* The real kernel's tracefs, mounted or not; nothing is left behind. Skipped without the right. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "format/tracepoint.h"
#include "source/perf/tracefs.h"

static int dir = -1;

static void our_tracepoints_are_there(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"sched:sched_switch", "prev_state"},
                                           {"sched:sched_waking", "pid"},
                                           {"raw_syscalls:sys_enter", "id"},
                                           {"raw_syscalls:sys_exit", "ret"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        SN_AUTO(sn_tracepoint_free) struct sn_tracepoint *tracepoint = NULL;
        struct sonde_error err = {0};
        if (sn_tracefs_load(dir, names[i][0], &tracepoint, &err))
            fail_msg("%s", err.text);
        assert_true(tracepoint->schema.event_id > 0);
        assert_true(sn_tracepoint_find(tracepoint, names[i][1]).size > 0);
        assert_true(sn_tracepoint_find(tracepoint, "common_pid").size == 4);
    }
}

/* Whatever this kernel has: every description is understood. */
static void every_tracepoint_is_understood(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf all = sn_buf_with_limit(4u << 20);
    size_t count = 0;
    assert_int_equal(sn_file_read_at(dir, "available_events", &all, NULL), SONDE_OK);
    char *rest = NULL;
    (void)sn_buf_string(&all);
    for (char *name = strtok_r((char *)all.bytes, "\n", &rest); name;
         name = strtok_r(NULL, "\n", &rest), count++) {
        SN_AUTO(sn_tracepoint_free) struct sn_tracepoint *tracepoint = NULL;
        struct sonde_error err = {0};
        if (sn_tracefs_load(dir, name, &tracepoint, &err))
            fail_msg("%s: %s", name, err.text);
    }
    assert_true(count > 100);
}

static void a_wrong_name_is_told_with_near_ones(void **state)
{
    (void)state;
    struct sn_tracepoint *tracepoint = NULL;
    struct sonde_error err = {0};
    assert_int_equal(sn_tracefs_load(dir, "sched:sched_swich", &tracepoint, &err),
                     SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "sched:sched_switch"));
    err = (struct sonde_error){0};
    assert_int_equal(sn_tracefs_load(dir, "x:q", &tracepoint, &err), SONDE_E_NOT_FOUND);
    assert_null(strstr(err.text, "near"));
}

static void a_name_is_no_path(void **state)
{
    (void)state;
    static const char *const names[] = {"",   ":",     "sched",   "sched:",       ":sched_switch",
                                        "..", "..:..", "sched:/", "a:b:c",        "a/../sched:x",
                                        " ",  "a:b ",  "a:b\n",   "sched:../../x"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct sn_tracepoint *tracepoint = NULL;
        assert_int_equal(sn_tracefs_load(dir, names[i], &tracepoint, NULL), SONDE_E_ARGUMENT);
    }
}

static unsigned count_mounts(void)
{
    SN_AUTO(sn_buf_done) struct sn_buf mounts = sn_buf_with_limit(1u << 20);
    unsigned count = 0;
    assert_int_equal(sn_file_read_at(AT_FDCWD, "/proc/self/mounts", &mounts, NULL), SONDE_OK);
    for (const char *at = sn_buf_string(&mounts); (at = strstr(at, " tracefs ")); at++)
        count++;
    return count;
}

static void nothing_is_mounted_for_it(void **state)
{
    (void)state;
    int again = -1;
    unsigned before = count_mounts();
    assert_int_equal(sn_tracefs_open(&again, NULL), SONDE_OK);
    assert_int_equal(count_mounts(), before);
    sn_close(again);
}

int main(void)
{
    struct sonde_error err = {0};
    if (sn_tracefs_open(&dir, &err) != SONDE_OK) {
        (void)printf("skipped: %s\n", err.text);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_tracepoints_are_there),
        cmocka_unit_test(every_tracepoint_is_understood),
        cmocka_unit_test(a_wrong_name_is_told_with_near_ones),
        cmocka_unit_test(a_name_is_no_path),
        cmocka_unit_test(nothing_is_mounted_for_it),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    sn_close(dir);
    return rc;
}
