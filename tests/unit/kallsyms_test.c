/* Kernel functions: a list with everything odd in it, hidden addresses, and this machine's own. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "symbol/kallsyms.h"

struct told {
    char text[512];
    unsigned count;
};

static void tell(void *user, const struct sn_kallsyms_symbol *symbol)
{
    struct told *told = user;
    size_t used = strlen(told->text);
    told->count++;
    (void)snprintf(told->text + used, sizeof(told->text) - used, "%s %lx+%lx\n", symbol->name,
                   (unsigned long)symbol->start, (unsigned long)symbol->size);
}

static void write_list(char path[32], const char *text)
{
    (void)snprintf(path, 32, "/tmp/kallsyms.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static const char odd_list[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000100 t helper\n"
                               "ffffffff81000180 D some_data\n"
                               "ffffffff81000200 T last_of_core\n"
                               "garbage\n"
                               "ffffffffc0003000 t in_module\t[nf_tables]\n"
                               "ffffffffc0001000 t other_module\t[ext4]\n"
                               "ffffffffc0004000 t torn_li";

static void functions_reach_to_the_next_symbol(void **state)
{
    (void)state;
    static const uint64_t addresses[] = {
        0x1000,             /* below all */
        0xffffffff81000000, /* the first byte */
        0xffffffff810000ff, /* the last */
        0xffffffff8100017f,
        0xffffffff81000190, /* data */
        0xffffffff8100020f,
        0xffffffff81080000, /* further than any function reaches */
        0xffffffffc0001001,
        0xffffffffc0003fff,
    };
    char path[32];
    struct told told = {0};
    struct sonde_error err = {0};
    write_list(path, odd_list);
    assert_int_equal(sn_kallsyms_search(path, addresses, sizeof(addresses) / sizeof(addresses[0]),
                                        tell, &told, &err),
                     SONDE_OK);
    assert_string_equal(told.text, "_text ffffffff81000000+100\n"
                                   "helper ffffffff81000100+80\n"
                                   "last_of_core ffffffff81000200+10000\n"
                                   "other_module [ext4] ffffffffc0001000+2000\n"
                                   "in_module [nf_tables] ffffffffc0003000+10000\n");
    struct sn_kallsyms *all = NULL;
    assert_int_equal(sn_kallsyms_new(path, &all, &err), SONDE_OK);
    struct sn_kallsyms_symbol symbol = {0};
    assert_false(sn_kallsyms_find(all, 0x1000, &symbol));
    assert_false(sn_kallsyms_find(all, 0xffffffff81000190, &symbol));
    assert_false(sn_kallsyms_find(all, 0xffffffff81080000, &symbol));
    assert_true(sn_kallsyms_find(all, 0xffffffff8100017f, &symbol));
    assert_string_equal(symbol.name, "helper");
    assert_int_equal(symbol.size, 0x80);
    sn_kallsyms_free(all);
    assert_int_equal(unlink(path), 0);
}

static void hidden_addresses_are_told(void **state)
{
    (void)state;
    static const uint64_t address = 0xffffffff81000000;
    char path[32];
    struct told told = {0};
    struct sonde_error err = {0};
    struct sn_kallsyms *all = NULL;
    write_list(path, "0000000000000000 T _text\n0000000000000000 T startup_64\n");
    assert_int_equal(sn_kallsyms_search(path, &address, 1, tell, &told, &err), SONDE_E_DENIED);
    assert_non_null(strstr(err.text, "CAP_SYSLOG"));
    assert_int_equal(told.count, 0);
    assert_int_equal(sn_kallsyms_new(path, &all, &err), SONDE_E_DENIED);
    assert_int_equal(unlink(path), 0);
    err = (struct sonde_error){0};
    assert_int_equal(sn_kallsyms_search(path, &address, 1, tell, &told, &err), SONDE_E_NOT_FOUND);
}

struct check {
    const struct sn_kallsyms *all;
    unsigned count;
};

static void compare(void *user, const struct sn_kallsyms_symbol *symbol)
{
    struct check *check = user;
    struct sn_kallsyms_symbol other = {0};
    assert_true(sn_kallsyms_find(check->all, symbol->start, &other));
    assert_string_equal(symbol->name, other.name);
    assert_int_equal(symbol->start, other.start);
    assert_int_equal(symbol->size, other.size);
    check->count++;
}

/* Both ways agree on this machine, in every function that a coarse grid meets. */
static void this_kernel_is_read_alike_both_ways(void **state)
{
    (void)state;
    struct sonde_error err = {0};
    struct check check = {0};
    struct sn_kallsyms *all = NULL;
    static uint64_t addresses[4096];
    struct sn_kallsyms_symbol symbol = {0};
    size_t hits = 0;
    if (sn_kallsyms_new(SN_KALLSYMS_PATH, &all, &err) != SONDE_OK)
        skip_because("the kernel hides its symbols from this user");
    check.all = all;
    for (size_t i = 0; i < 4096; i++) {
        addresses[i] = 0xffffffff80000000 + i * 0x1003;
        hits += sn_kallsyms_find(all, addresses[i], &symbol);
    }
    assert_int_equal(sn_kallsyms_search(SN_KALLSYMS_PATH, addresses, 4096, compare, &check, &err),
                     SONDE_OK);
    assert_in_range(check.count, 1, hits);
    sn_kallsyms_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_reach_to_the_next_symbol),
        cmocka_unit_test(hidden_addresses_are_told),
        cmocka_unit_test(this_kernel_is_read_alike_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
