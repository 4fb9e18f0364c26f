/* Files in the making: followed as they grow, ended well or not, removed with their last reader. */
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/egress.h"
#include "daemon/serve.h"
#include "daemon/spool.h"

static char folder[] = "/tmp/sonde-artefact-test-XXXXXX";

static const char *in_folder(const char *name, char to[256])
{
    (void)snprintf(to, 256, "%s/%s", folder, name);
    return to;
}

static struct sn_artefact *make(const char *name, bool is_kept)
{
    char path[256];
    struct sonde_error err = {0};
    struct sn_artefact *artefact = NULL;
    assert_int_equal(sn_artefact_new(in_folder(name, path), is_kept, &artefact, &err), SONDE_OK);
    return artefact;
}

static void put(struct sn_artefact *artefact, const void *bytes, size_t size)
{
    struct sonde_error err = {0};
    assert_int_equal(sn_artefact_append(artefact, bytes, size, &err), SONDE_OK);
}

static bool is_there(const char *name)
{
    char path[256];
    return access(in_folder(name, path), F_OK) == 0;
}

static void count_call(void *user)
{
    (*(unsigned *)user)++;
}

static void a_reader_sees_what_was_written_and_then_the_end(void **state)
{
    (void)state;
    char bytes[16];
    struct sn_artefact *artefact = make("grows", false);
    assert_int_equal(sn_artefact_read(artefact, 0, bytes, sizeof(bytes)), 0);
    put(artefact, "abc", 3);
    assert_int_equal(sn_artefact_read(artefact, 0, bytes, sizeof(bytes)), 3);
    assert_memory_equal(bytes, "abc", 3);
    assert_int_equal(sn_artefact_read(artefact, 3, bytes, sizeof(bytes)), 0);
    put(artefact, "de", 2);
    assert_int_equal(sn_artefact_read(artefact, 3, bytes, 1), 1);
    assert_int_equal(sn_artefact_size(artefact), 5);
    assert_false(sn_artefact_is_ended(artefact, NULL));
    sn_artefact_end(artefact, SONDE_OK, "");
    assert_int_equal(sn_artefact_read(artefact, 4, bytes, sizeof(bytes)), 1);
    assert_true(sn_artefact_read(artefact, 5, bytes, sizeof(bytes)) == SN_ARTEFACT_END);
    sn_artefact_release(artefact);
    assert_false(is_there("grows"));
}

static void a_failed_one_says_so_after_its_bytes(void **state)
{
    (void)state;
    char bytes[16];
    int status = 0;
    struct sn_artefact *artefact = make("fails", false);
    put(artefact, "abc", 3);
    sn_artefact_end(artefact, SONDE_E_GONE, "it died");
    assert_true(sn_artefact_is_ended(artefact, &status));
    assert_int_equal(status, SONDE_E_GONE);
    assert_int_equal(sn_artefact_read(artefact, 0, bytes, sizeof(bytes)), 3);
    assert_true(sn_artefact_read(artefact, 3, bytes, sizeof(bytes)) == SN_ARTEFACT_FAILED);
    sn_artefact_release(artefact);
}

/* Written by somebody else: only what was told of is read. */
static void bytes_that_nobody_told_of_are_not_read(void **state)
{
    (void)state;
    char path[256];
    char bytes[16];
    struct sn_artefact *artefact = make("foreign", false);
    FILE *file = fopen(in_folder("foreign", path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite("xyz", 1, 3, file), 3);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(sn_artefact_read(artefact, 0, bytes, sizeof(bytes)), 0);
    sn_artefact_grown(artefact);
    assert_int_equal(sn_artefact_read(artefact, 0, bytes, sizeof(bytes)), 3);
    sn_artefact_release(artefact);
}

static void followers_hear_of_growth_until_they_leave(void **state)
{
    (void)state;
    unsigned first = 0;
    unsigned second = 0;
    struct sn_artefact *artefact = make("followed", false);
    assert_true(sn_artefact_follow(artefact, count_call, &first));
    assert_true(sn_artefact_follow(artefact, count_call, &second));
    put(artefact, "a", 1);
    assert_int_equal(first, 1);
    sn_artefact_grown(artefact); /* it has not */
    assert_int_equal(first, 1);
    assert_true(sn_artefact_follow(artefact, NULL, &first));
    sn_artefact_end(artefact, SONDE_OK, "");
    sn_artefact_end(artefact, SONDE_E_GONE, ""); /* the first end counts */
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    int status = -1;
    assert_true(sn_artefact_is_ended(artefact, &status));
    assert_int_equal(status, SONDE_OK);
    sn_artefact_release(artefact);
}

static void the_maker_hears_when_the_last_reader_lets_go(void **state)
{
    (void)state;
    unsigned alone = 0;
    struct sn_artefact *artefact = make("alone", false);
    sn_artefact_on_alone(artefact, count_call, &alone);
    struct sn_artefact *reader = sn_artefact_hold(artefact);
    struct sn_artefact *other = sn_artefact_hold(artefact);
    sn_artefact_release(reader);
    assert_int_equal(alone, 0);
    sn_artefact_release(other);
    assert_int_equal(alone, 1);
    sn_artefact_on_alone(artefact, NULL, NULL);
    sn_artefact_release(artefact);
    assert_int_equal(alone, 1);
}

static void kept_ones_stay_and_dropped_ones_go_with_what_is_beside_them(void **state)
{
    (void)state;
    struct sn_artefact *kept = make("kept", true);
    put(kept, "a", 1);
    struct sn_artefact *beside = make("kept.cpu", true);
    put(beside, "b", 1);
    sn_artefact_release(beside);
    struct sn_artefact *reader = sn_artefact_hold(kept);
    sn_artefact_release(kept);
    assert_true(is_there("kept"));
    sn_artefact_drop(reader);
    char byte = 0;
    assert_int_equal(sn_artefact_read(reader, 0, &byte, 1), 1); /* who reads it reads on */
    sn_artefact_release(reader);
    assert_false(is_there("kept"));
    assert_false(is_there("kept.cpu"));
}

static void what_was_read_is_given_back_to_the_disk(void **state)
{
    (void)state;
    enum { SIZE = 8 << 20 };
    char path[256];
    SN_AUTO(sn_free) char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    memset(bytes, 'x', SIZE);
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        struct stat status;
        char byte;
        struct sn_artefact *artefact = make("holes", is_kept);
        put(artefact, bytes, SIZE);
        assert_int_equal(sn_artefact_read(artefact, SIZE - 1, &byte, 1), 1);
        assert_int_equal(stat(in_folder("holes", path), &status), 0);
        assert_int_equal(status.st_size, SIZE);
        if (is_kept)
            assert_true(status.st_blocks * 512 >= SIZE);
        else
            assert_true(status.st_blocks * 512 <= SIZE / 4);
        sn_artefact_drop(artefact);
        sn_artefact_release(artefact);
    }
}

/* One writes, one reads, both as fast as they can; nothing is missing, nothing comes twice. */
static void *write_much(void *user)
{
    struct sonde_error err = {0};
    for (uint32_t i = 0; i < 20000; i++) {
        if (sn_artefact_append(user, &i, sizeof(i), &err) != SONDE_OK)
            break;
    }
    sn_artefact_end(user, SONDE_OK, "");
    sn_artefact_release(user);
    return NULL;
}

static void a_reader_in_another_thread_gets_every_byte_once(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t offset = 0;
    struct sn_artefact *artefact = make("raced", false);
    assert_int_equal(pthread_create(&thread, NULL, write_much, sn_artefact_hold(artefact)), 0);
    for (;;) {
        uint32_t number = 0;
        ssize_t got = sn_artefact_read(artefact, offset, &number, sizeof(number));
        if (got < 0) {
            assert_true(got == SN_ARTEFACT_END);
            break;
        }
        if (got == (ssize_t)sizeof(number)) {
            assert_int_equal(number, offset / sizeof(number));
            offset += sizeof(number);
        }
    }
    assert_int_equal(offset, 20000 * sizeof(uint32_t));
    assert_int_equal(pthread_join(thread, NULL), 0);
    sn_artefact_release(artefact);
}

static void the_spool_is_emptied_and_closed_to_others(void **state)
{
    (void)state;
    char path[256];
    char inner[300];
    char id[37];
    struct stat status;
    struct sonde_error err = {0};
    (void)in_folder("spool", path);
    assert_int_equal(sn_spool_open(path, &err), SONDE_OK);
    (void)snprintf(inner, sizeof(inner), "%s/old.sonde", path);
    assert_int_equal(mkdir(inner, 0700), 0);
    (void)snprintf(inner, sizeof(inner), "%s/old.sonde/events", path);
    assert_int_equal(mkdir(inner, 0700), 0);
    (void)snprintf(inner, sizeof(inner), "%s/old.sonde/events/1", path);
    fclose(fopen(inner, "w"));
    (void)snprintf(inner, sizeof(inner), "%s/file", path);
    fclose(fopen(inner, "w"));
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(sn_spool_open(path, &err), SONDE_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(rmdir(path), 0); /* it is empty */
    assert_int_equal(sn_spool_id(id, &err), SONDE_OK);
    assert_int_equal(strlen(id), 36);
    assert_int_equal(id[14], '4');
}

static void egress_overwrites_nothing(void **state)
{
    (void)state;
    char path[256];
    char to[512];
    char first[512];
    struct sonde_error err = {0};
    struct sn_artefact *artefact = make("source", true);
    put(artefact, "new", 3);
    SN_AUTO(sn_free) char *egress = NULL;
    (void)in_folder("egress", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(asprintf(&egress, "here=%s", path) > 0);
    assert_int_equal(sn_egress_check(egress, &err), SONDE_OK);
    assert_int_equal(sn_egress_check("here", NULL), SONDE_E_ARGUMENT);
    assert_int_equal(sn_egress_check("here=../x", NULL), SONDE_E_ARGUMENT);
    const char *list[] = {egress};
    struct sn_serve_options options = {.egress = list, .egress_count = 1};
    assert_string_equal(sn_egress_folder(&options, "here"), path);
    assert_null(sn_egress_folder(&options, "her"));
    assert_null(sn_egress_folder(&options, ""));
    struct sn_egress_order order = {.path = sn_artefact_path(artefact),
                                    .folder = sn_egress_folder(&options, "here"),
                                    .name = "a.nettrace",
                                    .id = "11111111-1111-4111-8111-111111111111"};
    assert_int_equal(sn_egress_save(&order, first, sizeof(first), &err), SONDE_OK);
    assert_non_null(strstr(first, "/egress/a.nettrace"));
    assert_int_equal(sn_egress_save(&order, to, sizeof(to), &err), SONDE_OK);
    assert_non_null(strstr(to, "/egress/11111111-1111-4111-8111-111111111111_a.nettrace"));
    assert_int_equal(sn_egress_save(&order, to, sizeof(to), &err), SONDE_E_SYSTEM);
    assert_int_equal(unlink(first), 0);
    assert_int_equal(unlink(to), 0);
    assert_int_equal(rmdir(path), 0); /* nothing else was left */
    sn_artefact_drop(artefact);
    sn_artefact_release(artefact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_sees_what_was_written_and_then_the_end),
        cmocka_unit_test(a_failed_one_says_so_after_its_bytes),
        cmocka_unit_test(bytes_that_nobody_told_of_are_not_read),
        cmocka_unit_test(followers_hear_of_growth_until_they_leave),
        cmocka_unit_test(the_maker_hears_when_the_last_reader_lets_go),
        cmocka_unit_test(kept_ones_stay_and_dropped_ones_go_with_what_is_beside_them),
        cmocka_unit_test(what_was_read_is_given_back_to_the_disk),
        cmocka_unit_test(a_reader_in_another_thread_gets_every_byte_once),
        cmocka_unit_test(the_spool_is_emptied_and_closed_to_others),
        cmocka_unit_test(egress_overwrites_nothing),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(folder);
    return failed;
}
