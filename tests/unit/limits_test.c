/* Memory limits of cgroups, from trees of both versions laid out in a temporary directory. */
#include "check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/proc/limits.h"

static int set_up(void **state)
{
    char *root = strdup("/tmp/sonde-limits-test-XXXXXX");
    assert_non_null(root);
    assert_non_null(mkdtemp(root));
    *state = root;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

/* Writes root + path, with the directories above it. */
static void write_file(const char *root, const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755); /* most are there already */
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_group_of_version_2_has_its_own_limit(void **state)
{
    write_file(*state, "/proc/42/cgroup", "0::/app.slice/web\n");
    write_file(*state, "/sys/fs/cgroup/app.slice/web/memory.max", "536870912\n");
    write_file(*state, "/sys/fs/cgroup/app.slice/memory.max", "max\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 536870912);
}

static void a_tighter_limit_above_binds(void **state)
{
    write_file(*state, "/proc/42/cgroup", "0::/a/b/c\n");
    write_file(*state, "/sys/fs/cgroup/a/b/c/memory.max", "3000\n");
    write_file(*state, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    write_file(*state, "/sys/fs/cgroup/a/memory.max", "2000\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 2000);
}

static void a_looser_limit_above_does_not(void **state)
{
    write_file(*state, "/proc/42/cgroup", "0::/a/b\n");
    write_file(*state, "/sys/fs/cgroup/a/b/memory.max", "1000\n");
    write_file(*state, "/sys/fs/cgroup/a/memory.max", "9000\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 1000);
}

static void inside_a_container_the_root_group_has_the_limit(void **state)
{
    write_file(*state, "/proc/1/cgroup", "0::/\n");
    write_file(*state, "/sys/fs/cgroup/memory.max", "268435456\n");
    assert_int_equal(sn_proc_memory_limit(*state, 1), 268435456);
}

static void max_everywhere_is_no_limit(void **state)
{
    write_file(*state, "/proc/42/cgroup", "0::/a/b\n");
    write_file(*state, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    write_file(*state, "/sys/fs/cgroup/a/memory.max", "max\n");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
}

static void version_1_says_it_in_a_tree_of_its_own(void **state)
{
    write_file(*state, "/proc/42/cgroup",
               "12:pids:/docker/abc\n"
               "9:memory:/docker/abc\n"
               "1:name=systemd:/docker/abc\n");
    write_file(*state, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "104857600\n");
    write_file(*state, "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
               "9223372036854771712\n");
    write_file(*state, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file(*state, "/sys/fs/cgroup/pids/docker/abc/memory.limit_in_bytes", "1\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 104857600);
}

static void the_huge_number_of_version_1_is_no_limit(void **state)
{
    write_file(*state, "/proc/42/cgroup", "9:memory:/\n");
    write_file(*state, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
}

static void both_versions_side_by_side_give_the_tightest(void **state)
{
    write_file(*state, "/proc/42/cgroup", "5:cpuset,memory:/x\n0::/y\n");
    write_file(*state, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000\n");
    write_file(*state, "/sys/fs/cgroup/y/memory.max", "6000\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 6000);
}

static void a_group_name_may_hold_colons(void **state)
{
    write_file(*state, "/proc/42/cgroup", "0::/system.slice:docker:abc\n");
    write_file(*state, "/sys/fs/cgroup/system.slice:docker:abc/memory.max", "4096\n");
    assert_int_equal(sn_proc_memory_limit(*state, 42), 4096);
}

static void what_cannot_be_read_is_no_limit(void **state)
{
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
    write_file(*state, "/proc/42/cgroup", "");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
    write_file(*state, "/proc/42/cgroup", "nonsense\n::\n0:\n0::/gone\n");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
    write_file(*state, "/sys/fs/cgroup/gone/memory.max", "");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
    write_file(*state, "/sys/fs/cgroup/gone/memory.max", "many\n");
    assert_true(sn_proc_memory_limit(*state, 42) == UINT64_MAX);
}

static void this_process_can_be_asked(void **state)
{
    (void)state;
    assert_true(sn_proc_memory_limit("", (uint32_t)getpid()) > 1u << 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_group_of_version_2_has_its_own_limit),
        TEST(a_tighter_limit_above_binds),
        TEST(a_looser_limit_above_does_not),
        TEST(inside_a_container_the_root_group_has_the_limit),
        TEST(max_everywhere_is_no_limit),
        TEST(version_1_says_it_in_a_tree_of_its_own),
        TEST(the_huge_number_of_version_1_is_no_limit),
        TEST(both_versions_side_by_side_give_the_tightest),
        TEST(a_group_name_may_hold_colons),
        TEST(what_cannot_be_read_is_no_limit),
        cmocka_unit_test(this_process_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
