/* Who may touch the files of a recording that runs on its own. */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/record_state.h"

static char folder[] = "/tmp/record.XXXXXX";

static int set_up(void **state)
{
    static struct sn_record_place place = {.name = "it"};
    place.folder = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    *state = &place;
    return place.folder < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    sn_record_forget(*state);
    sn_record_place_done(*state);
    return rmdir(folder);
}

/* A recorder; it says whether it could begin. */
static pid_t begin(const struct sn_record_place *place, bool *ret_holds)
{
    int ready[2];
    char said = 0;
    struct sonde_error err = {0};
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        bool holds = sn_record_hold(place, &err) == SONDE_OK;
        if (write(ready[1], holds ? "R" : "E", 1) == 1)
            (void)pause();
        _exit(1);
    }
    sn_close(ready[1]);
    assert_int_equal(read(ready[0], &said, 1), 1);
    sn_close(ready[0]);
    *ret_holds = said == 'R';
    return child;
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void who_records_keeps_its_files(void **state)
{
    const struct sn_record_place *place = *state;
    bool holds = false;
    pid_t first = begin(place, &holds);
    assert_true(holds);
    assert_int_equal(sn_record_holder(place), first);
    assert_int_equal(sn_record_take(place), -1);
    pid_t second = begin(place, &holds);
    assert_false(holds);
    end(second);
    end(first);
    assert_int_equal(sn_record_holder(place), 0);
}

/* One that begins while the files of another are removed waits, and has a lock of its own then. */
static void who_begins_waits_for_who_forgets(void **state)
{
    const struct sn_record_place *place = *state;
    bool holds = false;
    int taken = sn_record_take(place);
    assert_true(taken >= 0);
    assert_int_equal(sn_record_holder(place), 0);
    pid_t forgetter = fork();
    if (forgetter == 0) {
        (void)usleep(50000);
        sn_record_forget(place);
        _exit(0); /* the lock is let go when both have closed it */
    }
    assert_int_equal(close(taken), 0);
    pid_t recorder = begin(place, &holds);
    assert_true(holds);
    assert_int_equal(waitpid(forgetter, NULL, 0), forgetter);
    assert_int_equal(sn_record_holder(place), recorder); /* by the name: it was not unlinked */
    end(recorder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_records_keeps_its_files),
        cmocka_unit_test(who_begins_waits_for_who_forgets),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
