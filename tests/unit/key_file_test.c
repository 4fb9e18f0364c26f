/* Keys on disk: made, found, revoked; damaged files let nobody in. */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "daemon/key_file.h"
#include "daemon/key_ring.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/key_file_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"keys", "key"};
    char path[128];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder); /* fails when anything else was left behind */
}

static mode_t mode_of(const char *name)
{
    char path[128];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(stat(path, &facts), 0);
    return facts.st_mode & 07777;
}

static void write_keys(const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/keys", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static struct sn_key add(const char *name, enum sn_scope scope, char token[SN_TOKEN_SIZE])
{
    struct sn_key key = {.scope = scope};
    struct sonde_error err = {0};
    (void)snprintf(key.name, sizeof(key.name), "%s", name);
    if (sn_key_file_add(folder, &key, token, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return key;
}

static void what_was_added_is_read_back_without_its_token(void **state)
{
    (void)state;
    char token[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    SN_AUTO(sn_key_list_done) struct sn_key_list list = {0};
    struct sn_key key = add("grafana", SN_SCOPE_READ, token);
    assert_int_equal(strncmp(token, "sonde_", 6), 0);
    assert_int_equal(strlen(token), 6 + 43);
    assert_int_equal(sn_key_file_read(folder, &list, &err), SONDE_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.keys[0].id, key.id);
    assert_string_equal(list.keys[0].name, "grafana");
    assert_int_equal(list.keys[0].scope, SN_SCOPE_READ);
    assert_int_equal(mode_of("keys"), 0600);
    char path[128];
    char text[1024] = "";
    (void)snprintf(path, sizeof(path), "%s/keys", folder);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    assert_null(strstr(text, token + 6));
}

static void names_are_given_once_and_have_no_blanks(void **state)
{
    (void)state;
    char token[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    (void)add("one", SN_SCOPE_READ, token);
    struct sn_key again = {.scope = SN_SCOPE_READ, .name = "one"};
    assert_int_equal(sn_key_file_add(folder, &again, token, &err), SONDE_E_BUSY);
    struct sn_key bad = {.scope = SN_SCOPE_READ, .name = "a b"};
    struct sonde_error other = {0};
    assert_int_equal(sn_key_file_add(folder, &bad, token, &other), SONDE_E_ARGUMENT);
}

static void a_ring_takes_a_new_key_and_refuses_a_revoked_one_at_once(void **state)
{
    (void)state;
    const char *why = "";
    char first[SN_TOKEN_SIZE];
    char second[SN_TOKEN_SIZE];
    struct sn_key gone;
    struct sonde_error err = {0};
    struct sn_key_ring *ring = NULL;
    assert_int_equal(sn_key_ring_new(folder, &ring, &err), SONDE_OK);
    (void)add("first", SN_SCOPE_READ, first);
    assert_non_null(sn_key_ring_find(ring, first, strlen(first), &why));
    (void)add("second", SN_SCOPE_CONTROL, second);
    const struct sn_key *found = sn_key_ring_find(ring, second, strlen(second), &why);
    assert_non_null(found);
    assert_int_equal(found->scope, SN_SCOPE_CONTROL);
    assert_int_equal(sn_key_file_revoke(folder, "first", &gone, &err), SONDE_OK);
    assert_null(sn_key_ring_find(ring, first, strlen(first), &why));
    assert_true(why[0]);
    assert_non_null(sn_key_ring_find(ring, second, strlen(second), &why));
    for (size_t size = 0; size < strlen(second); size++)
        assert_null(sn_key_ring_find(ring, second, size, &why));
    sn_key_ring_free(ring);
}

static void a_key_is_good_until_it_expires(void **state)
{
    (void)state;
    const char *why = "";
    char token[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_key_ring *ring = NULL;
    struct sn_key key = {.scope = SN_SCOPE_READ, .expires_s = 1000};
    assert_int_equal(sn_key_file_add(folder, &key, token, &err), SONDE_OK);
    assert_string_equal(key.name, key.id);
    assert_int_equal(sn_key_ring_new(folder, &ring, &err), SONDE_OK);
    assert_null(sn_key_ring_find(ring, token, strlen(token), &why));
    assert_string_equal(why, "this key has expired");
    sn_key_ring_free(ring);
}

static void revoking_what_is_not_there_says_so(void **state)
{
    (void)state;
    struct sn_key key;
    struct sonde_error err = {0};
    assert_int_equal(sn_key_file_revoke(folder, "nobody", &key, &err), SONDE_E_NOT_FOUND);
}

static void a_damaged_file_lets_nobody_in(void **state)
{
    (void)state;
#define HASH "f935fe65bcfffc032fa45ea17d529bf9bc1454adeeede87c5e1b844a148a9aab"
    static const char *const bad[] = {
        "x\n",
        "a b read " HASH " 1\n",
        "a b read " HASH " 1 0 0\n",
        "a b none " HASH " 1 0\n",
        "a b root " HASH " 1 0\n",
        "a b read " HASH "0 1 0\n",
        "a b read F" HASH " 1 0\n",
        "a b read x935fe65bcfffc032fa45ea17d529bf9bc1454adeeede87c5e1b844a148a9aab 1 0\n",
        "a b read " HASH " x 0\n",
        "a b read " HASH " 1 -1\n",
        "a/b b/c read " HASH " 1 0\n",
        "abcdefghijklmnopq b read " HASH " 1 0\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sonde_error err = {0};
        struct sn_key_list list = {0};
        write_keys(bad[i]);
        if (sn_key_file_read(folder, &list, &err) == SONDE_OK)
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(list.count, 0);
    }
    struct sn_key_list list = {0};
    struct sonde_error err = {0};
    write_keys("# a comment\n\na b read " HASH " 1 0\n");
    assert_int_equal(sn_key_file_read(folder, &list, &err), SONDE_OK);
    assert_int_equal(list.count, 1);
    sn_key_list_done(&list);
}

static void a_file_that_others_may_write_lets_nobody_in(void **state)
{
    (void)state;
    char path[128];
    char token[SN_TOKEN_SIZE];
    struct sonde_error err = {0};
    struct sn_key_list list = {0};
    (void)add("one", SN_SCOPE_READ, token);
    (void)snprintf(path, sizeof(path), "%s/keys", folder);
    assert_int_equal(chmod(path, 0622), 0);
    assert_int_equal(sn_key_file_read(folder, &list, &err), SONDE_E_DENIED);
}

static void the_default_key_is_made_kept_and_made_again(void **state)
{
    (void)state;
    char path[128];
    char first[SN_TOKEN_SIZE] = "";
    char second[SN_TOKEN_SIZE] = "";
    struct sn_key gone;
    struct sonde_error err = {0};
    (void)snprintf(path, sizeof(path), "%s/key", folder);
    for (int i = 0; i < 2; i++) { /* the second time it is there */
        assert_int_equal(sn_key_file_default(folder, &err), SONDE_OK);
        SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(read(fd, i ? second : first, SN_TOKEN_SIZE - 1) > 0);
    }
    assert_string_equal(first, second);
    assert_int_equal(mode_of("key"), 0600);
    struct sn_key named = {.scope = SN_SCOPE_READ, .name = "default"};
    assert_int_equal(sn_key_file_add(folder, &named, second, &err), SONDE_E_ARGUMENT);
    assert_int_equal(sn_key_file_revoke(folder, "default", &gone, &err), SONDE_OK);
    assert_int_equal(gone.scope, SN_SCOPE_SECRETS);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sn_key_file_default(folder, &err), SONDE_OK);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, second, SN_TOKEN_SIZE - 1) > 0);
    assert_string_not_equal(first, second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_added_is_read_back_without_its_token),
        TEST(names_are_given_once_and_have_no_blanks),
        TEST(a_ring_takes_a_new_key_and_refuses_a_revoked_one_at_once),
        TEST(a_key_is_good_until_it_expires),
        TEST(revoking_what_is_not_there_says_so),
        TEST(a_damaged_file_lets_nobody_in),
        TEST(a_file_that_others_may_write_lets_nobody_in),
        TEST(the_default_key_is_made_kept_and_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
