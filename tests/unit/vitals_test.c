/* Vitals of processes: from trees laid out in a temporary directory as kernels of every kind show
 * them, and from the real kernel, whose limits are set on groups made here. */
#include "check.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sonde/error.h"
#include "source/proc/vitals.h"

#define PID 42u

/* The machine's only mount of version 2, as systemd makes it. */
#define UNIFIED "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static const char stat_text[] =
    "42 (a) b c) S 1 42 42 0 -1 4194560 1500 99 12 0 250 50 0 0 20 0 9 0 100 1073741824 2560 "
    "18446744073709551615 1 1 0 0 0 0 0 4096 17642 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
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

static int set_up(void **state)
{
    char *root = strdup("/tmp/sonde-vitals-test-XXXXXX");
    assert_non_null(root);
    assert_non_null(mkdtemp(root));
    write_file(root, "/proc/42/stat", stat_text);
    write_file(root, "/proc/42/status",
               "Name:\ta) b c\nVmSize:\t 1048576 kB\nVmRSS:\t   12345 kB\nVmSwap:\t     678 kB\n"
               "Threads:\t9\nvoluntary_ctxt_switches:\t1\n");
    write_file(root, "/proc/42/limits",
               "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max processes             96343                96343                processes \n"
               "Max open files            1024                 524288               files     \n");
    *state = root;
    return 0;
}

static int tear_down(void **state)
{
    (void)nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static struct sn_vitals_reader *follow(const char *root, uint32_t pid)
{
    struct sn_vitals_reader *reader = NULL;
    struct sonde_error err = {0};
    if (sn_vitals_new(root, pid, true, &reader, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return reader;
}

static struct sn_vitals poll_once(const char *root)
{
    struct sn_vitals vitals;
    struct sn_vitals_reader *reader = follow(root, PID);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    sn_vitals_free(reader);
    return vitals;
}

static void assert_number(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g instead of %.17g", got, expected);
}

static void assert_unknown(double got)
{
    if (!isnan(got))
        fail_msg("%.17g instead of nothing", got);
}

static void a_process_is_read_from_proc(void **state)
{
    write_file(*state, "/proc/42/io",
               "rchar: 1000\nwchar: 2000\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\n"
               "write_bytes: 8192\ncancelled_write_bytes: 0\n");
    write_file(*state, "/proc/42/fd/0", "");
    write_file(*state, "/proc/42/fd/1", "");
    write_file(*state, "/proc/42/fd/77", "");
    struct sn_vitals vitals = poll_once(*state);
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    assert_number(vitals.user_s, 250 * tick_s);
    assert_number(vitals.system_s, 50 * tick_s);
    assert_number(vitals.cpu_s, 300 * tick_s);
    assert_number(vitals.thread_count, 9);
    assert_number(vitals.minor_faults, 1500);
    assert_number(vitals.major_faults, 12);
    assert_number(vitals.virtual_bytes, 1073741824);
    assert_number(vitals.rss_bytes, 12345 * 1024);
    assert_number(vitals.swap_bytes, 678 * 1024);
    assert_number(vitals.fd_count, 3);
    assert_number(vitals.fd_limit, 1024);
    assert_number(vitals.read_bytes, 1000);
    assert_number(vitals.written_bytes, 2000);
    assert_number(vitals.disk_read_bytes, 4096);
    assert_number(vitals.disk_written_bytes, 8192);
    assert_true(vitals.up_s >= 0);
}

static void what_may_not_be_read_is_not_known(void **state)
{
    struct sn_vitals vitals = poll_once(*state);
    assert_unknown(vitals.read_bytes);
    assert_unknown(vitals.fd_count);
    assert_unknown(vitals.voluntary_switches);
    assert_unknown(vitals.group_memory_bytes);
    assert_unknown(vitals.group_cpu_limit);
    assert_unknown(vitals.group_pressure[SN_PRESSURE_CPU].some_s);
    assert_unknown(vitals.machine_pressure[SN_PRESSURE_IO].some_s);
    assert_number(vitals.thread_count, 9);
}

static void switches_of_threads_that_end_stay_counted(void **state)
{
    char path[512];
    struct sn_vitals vitals;
    write_file(*state, "/proc/42/task/42/status",
               "voluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t1\n");
    write_file(*state, "/proc/42/task/43/status",
               "voluntary_ctxt_switches:\t100\nnonvoluntary_ctxt_switches:\t2\n");
    struct sn_vitals_reader *reader = follow(*state, PID);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    assert_number(vitals.voluntary_switches, 110);
    (void)snprintf(path, sizeof(path), "%s/proc/42/task/43/status", (const char *)*state);
    assert_int_equal(unlink(path), 0);
    write_file(*state, "/proc/42/task/42/status",
               "voluntary_ctxt_switches:\t15\nnonvoluntary_ctxt_switches:\t1\n");
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    assert_number(vitals.voluntary_switches, 115);
    assert_number(vitals.involuntary_switches, 3);
    sn_vitals_free(reader);
}

static void write_group_of_version_2(const char *root)
{
    write_file(root, "/proc/self/mountinfo",
               "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" UNIFIED);
    write_file(root, "/proc/42/cgroup", "0::/kube/pod/web\n");
    const char *own = "/sys/fs/cgroup/kube/pod/web";
    char path[128];
    const char *const files[][2] = {
        {"cgroup.events", "populated 1\nfrozen 0\n"},
        {"memory.current", "800\n"},
        {"memory.max", "1000\n"},
        {"memory.stat", "anon 500\nfile 300\ninactive_anon 7\ninactive_file 200\n"},
        {"memory.events", "low 0\nhigh 3\nmax 4\noom 2\noom_kill 1\noom_group_kill 0\n"},
        {"cpu.max", "50000 100000\n"},
        {"cpu.stat", "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 60\n"
                     "nr_throttled 20\nthrottled_usec 1250000\nnr_bursts 0\nburst_usec 0\n"},
        {"pids.current", "12\n"},
        {"pids.max", "max\n"},
        {"cpu.pressure", "some avg10=12.05 avg60=1.00 avg300=0.10 total=3000000\n"
                         "full avg10=1.50 avg60=0.00 avg300=0.00 total=1000000\n"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", own, files[i][0]);
        write_file(root, path, files[i][1]);
    }
}

static void a_group_of_version_2_is_read(void **state)
{
    write_group_of_version_2(*state);
    write_file(*state, "/proc/pressure/io",
               "some avg10=0.25 avg60=1.00 avg300=0.10 total=5\nfull avg10=0.00 total=4\n");
    write_file(*state, "/proc/pressure/cpu", "some avg10=99.00 avg60=9.00 avg300=9.00 total=5\n");
    struct sn_vitals vitals = poll_once(*state);
    assert_number(vitals.group_memory_bytes, 800);
    assert_number(vitals.group_working_set_bytes, 600);
    assert_number(vitals.group_memory_limit, 1000);
    assert_number(vitals.group_memory_utilization, 0.8);
    assert_number(vitals.group_memory_high_count, 3);
    assert_number(vitals.group_memory_max_count, 4);
    assert_number(vitals.group_oom_count, 2);
    assert_number(vitals.group_oom_kill_count, 1);
    assert_number(vitals.group_cpu_s, 2.5);
    assert_number(vitals.group_cpu_limit, 0.5);
    assert_number(vitals.group_periods, 60);
    assert_number(vitals.group_throttled_periods, 20);
    assert_number(vitals.group_throttled_s, 1.25);
    assert_number(vitals.group_pid_count, 12);
    assert_unknown(vitals.group_pid_limit);
    assert_number(vitals.group_pressure[SN_PRESSURE_CPU].some_avg10, 0.1205);
    assert_number(vitals.group_pressure[SN_PRESSURE_CPU].some_s, 3);
    assert_number(vitals.group_pressure[SN_PRESSURE_CPU].full_avg10, 0.015);
    assert_unknown(vitals.machine_pressure[SN_PRESSURE_CPU].some_s);
    assert_unknown(vitals.group_pressure[SN_PRESSURE_IO].some_s); /* and then the machine's */
    assert_number(vitals.machine_pressure[SN_PRESSURE_IO].some_avg10, 0.0025);
}

static void a_tighter_limit_above_binds_and_is_measured_there(void **state)
{
    write_group_of_version_2(*state);
    write_file(*state, "/sys/fs/cgroup/kube/memory.max", "900\n");
    write_file(*state, "/sys/fs/cgroup/kube/memory.current", "891\n");
    write_file(*state, "/sys/fs/cgroup/kube/memory.events", "high 0\nmax 70\noom 0\noom_kill 0\n");
    write_file(*state, "/sys/fs/cgroup/kube/pod/cpu.max", "25000 100000\n");
    write_file(*state, "/sys/fs/cgroup/kube/pod/cpu.stat",
               "usage_usec 9000000\nnr_periods 99\nnr_throttled 98\nthrottled_usec 7000000\n");
    write_file(*state, "/sys/fs/cgroup/kube/pod/pids.max", "100\n");
    write_file(*state, "/sys/fs/cgroup/kube/pod/pids.current", "88\n");
    struct sn_vitals vitals = poll_once(*state);
    assert_number(vitals.group_memory_bytes, 800);
    assert_number(vitals.group_memory_limit, 900);
    assert_number(vitals.group_memory_utilization, 0.99);
    assert_number(vitals.group_memory_max_count, 70);
    assert_number(vitals.group_cpu_s, 2.5);
    assert_number(vitals.group_cpu_limit, 0.25);
    assert_number(vitals.group_throttled_periods, 98);
    assert_number(vitals.group_pid_count, 88);
    assert_number(vitals.group_pid_limit, 100);
}

static void the_root_group_is_the_machine(void **state)
{
    write_file(*state, "/proc/self/mountinfo", UNIFIED);
    write_file(*state, "/proc/42/cgroup", "0::/\n");
    write_file(*state, "/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
    write_file(*state, "/sys/fs/cgroup/memory.pressure", "some avg10=1.00 total=5\n");
    write_file(*state, "/proc/pressure/memory", "some avg10=1.00 avg60=1.00 total=1000000\n");
    struct sn_vitals vitals = poll_once(*state);
    assert_unknown(vitals.group_cpu_s);
    assert_unknown(vitals.group_pressure[SN_PRESSURE_MEMORY].some_s);
    assert_number(vitals.machine_pressure[SN_PRESSURE_MEMORY].some_s, 1);
}

static void what_looks_like_the_root_inside_a_container_is_its_group(void **state)
{
    write_file(*state, "/proc/self/mountinfo", UNIFIED);
    write_file(*state, "/proc/42/cgroup", "0::/\n");
    write_file(*state, "/sys/fs/cgroup/cgroup.events", "populated 1\n");
    write_file(*state, "/sys/fs/cgroup/memory.max", "1000\n");
    write_file(*state, "/sys/fs/cgroup/memory.current", "10\n");
    struct sn_vitals vitals = poll_once(*state);
    assert_number(vitals.group_memory_bytes, 10);
    assert_number(vitals.group_memory_limit, 1000);
}

static void write_groups_of_version_1(const char *root, const char *under)
{
    char path[256];
    const char *const files[][2] = {
        {"memory%s/memory.usage_in_bytes", "5000\n"},
        {"memory%s/memory.limit_in_bytes", "10000\n"},
        {"memory%s/memory.failcnt", "6\n"},
        {"memory%s/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n"},
        {"memory%s/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"},
        {"cpu,cpuacct%s/cpu.cfs_quota_us", "150000\n"},
        {"cpu,cpuacct%s/cpu.cfs_period_us", "100000\n"},
        {"cpu,cpuacct%s/cpu.stat", "nr_periods 8\nnr_throttled 4\nthrottled_time 2500000000\n"},
        {"cpu,cpuacct%s/cpuacct.usage", "7500000000\n"},
        {"pids%s/pids.current", "3\n"},
        {"pids%s/pids.max", "30\n"},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char name[128];
        const char *rest = strstr(files[i][0], "%s") + 2;
        size_t length = (size_t)(rest - 2 - files[i][0]);
        (void)snprintf(name, sizeof(name), "%.*s%s%s", (int)length, files[i][0], under, rest);
        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", name);
        write_file(root, path, files[i][1]);
    }
}

static void check_groups_of_version_1(const struct sn_vitals *vitals)
{
    assert_number(vitals->group_memory_bytes, 5000);
    assert_number(vitals->group_working_set_bytes, 3000);
    assert_number(vitals->group_memory_limit, 10000);
    assert_number(vitals->group_memory_utilization, 0.5);
    assert_number(vitals->group_memory_max_count, 6);
    assert_number(vitals->group_oom_kill_count, 2);
    assert_unknown(vitals->group_oom_count);
    assert_unknown(vitals->group_memory_high_count);
    assert_number(vitals->group_cpu_s, 7.5);
    assert_number(vitals->group_cpu_limit, 1.5);
    assert_number(vitals->group_periods, 8);
    assert_number(vitals->group_throttled_periods, 4);
    assert_number(vitals->group_throttled_s, 2.5);
    assert_number(vitals->group_pid_count, 3);
    assert_number(vitals->group_pid_limit, 30);
}

#define VERSION_1_GROUPS(path) \
    "12:pids:" path "\n11:cpu,cpuacct:" path "\n9:memory:" path "\n1:name=systemd:" path "\n"
#define VERSION_1_MOUNTS(root)                                                           \
    "33 31 0:30 " root " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"           \
    "34 31 0:31 " root " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
    "35 31 0:32 " root " /sys/fs/cgroup/pids ro shared:7 master:1 - cgroup cgroup rw,pids\n"

static void groups_of_version_1_are_read_on_a_hybrid_machine(void **state)
{
    write_file(*state, "/proc/self/mountinfo",
               VERSION_1_MOUNTS("/") "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n");
    write_file(*state, "/proc/42/cgroup", VERSION_1_GROUPS("/docker/abc") "0::/docker/abc\n");
    write_groups_of_version_1(*state, "/docker/abc");
    write_file(*state, "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
               "9223372036854771712\n");
    write_file(*state, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
    write_file(*state, "/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    write_file(*state, "/sys/fs/cgroup/unified/docker/abc/cgroup.events", "populated 1\n");
    write_file(*state, "/sys/fs/cgroup/unified/docker/abc/io.pressure",
               "some avg10=0.01 avg60=0.00 avg300=0.00 total=2000000\n");
    struct sn_vitals vitals = poll_once(*state);
    check_groups_of_version_1(&vitals);
    assert_number(vitals.group_pressure[SN_PRESSURE_IO].some_s, 2);
    assert_unknown(vitals.group_pressure[SN_PRESSURE_IO].full_s);
}

/* Without namespaces of groups a container sees its own as the mount's root, under the long name.
 */
static void a_container_that_sees_only_its_own_mount_finds_it(void **state)
{
    write_file(*state, "/proc/self/mountinfo", VERSION_1_MOUNTS("/docker/abc"));
    write_file(*state, "/proc/42/cgroup", VERSION_1_GROUPS("/docker/abc"));
    write_groups_of_version_1(*state, "");
    struct sn_vitals vitals = poll_once(*state);
    check_groups_of_version_1(&vitals);
}

static void a_group_outside_of_what_is_mounted_is_not_known(void **state)
{
    write_file(*state, "/proc/self/mountinfo", VERSION_1_MOUNTS("/docker/abc") UNIFIED);
    write_file(*state, "/proc/42/cgroup", VERSION_1_GROUPS("/docker/abcdef") "0::/../other\n");
    write_groups_of_version_1(*state, "");
    write_file(*state, "/sys/fs/memory.current", "1\n");
    struct sn_vitals vitals = poll_once(*state);
    assert_unknown(vitals.group_memory_bytes);
    assert_unknown(vitals.group_cpu_s);
    assert_unknown(vitals.group_pid_count);
}

static void a_moved_process_and_a_changed_limit_are_noticed(void **state)
{
    struct sn_vitals vitals;
    write_group_of_version_2(*state);
    struct sn_vitals_reader *reader = follow(*state, PID);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    write_file(*state, "/sys/fs/cgroup/kube/pod/web/memory.max", "950\n");
    for (int i = 0; i < 10; i++)
        assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    assert_number(vitals.group_memory_limit, 950);
    write_file(*state, "/sys/fs/cgroup/b:c/cgroup.events", "");
    write_file(*state, "/sys/fs/cgroup/b:c/memory.current", "33\n");
    write_file(*state, "/proc/42/cgroup", "0::/b:c\n");
    for (int i = 0; i < 10; i++)
        assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    assert_number(vitals.group_memory_bytes, 33);
    assert_unknown(vitals.group_memory_limit);
    sn_vitals_free(reader);
}

static void nonsense_is_not_known(void **state)
{
    struct sn_vitals vitals;
    write_group_of_version_2(*state);
    write_file(*state, "/proc/self/mountinfo", "\n - \n30 23 0:26 /\n" UNIFIED " - cgroup2");
    write_file(*state, "/proc/42/cgroup", "\n:\n::\n0:\nnonsense\n0::/kube/pod/web");
    write_file(*state, "/sys/fs/cgroup/kube/pod/web/memory.max", "many\n");
    write_file(*state, "/sys/fs/cgroup/kube/pod/web/memory.events", "\noom");
    write_file(*state, "/sys/fs/cgroup/kube/pod/web/cpu.max", "1");
    write_file(*state, "/sys/fs/cgroup/kube/pod/web/cpu.pressure", "some avg10=\ntotal=");
    vitals = poll_once(*state);
    assert_unknown(vitals.group_memory_limit);
    assert_unknown(vitals.group_oom_count);
    assert_unknown(vitals.group_cpu_limit);
    assert_number(vitals.group_memory_bytes, 800);
    write_file(*state, "/proc/42/stat", "42 (x");
    struct sn_vitals_reader *reader = follow(*state, PID);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_E_GONE);
    sn_vitals_free(reader);
}

static const struct sn_vital *named(const char *name, const char *tag)
{
    size_t count;
    const struct sn_vital *table = sn_vitals_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0 && strcmp(table[i].tag, tag) == 0)
            return &table[i];
    fail_msg("no %s{%s}", name, tag);
    return NULL;
}

static void two_polls_become_named_numbers(void **state)
{
    (void)state;
    struct sn_vital_value value;
    struct sn_vitals before = {.time_ns = SN_NS_PER_SECOND, .user_s = 10, .cpu_s = 12};
    struct sn_vitals now = {
        .time_ns = 3ull * SN_NS_PER_SECOND, .user_s = 11, .cpu_s = 15, .rss_bytes = 5};
    assert_true(sn_vital_measure(named("process.memory.usage", ""), NULL, &now, &value));
    assert_number(value.value, 5);
    assert_unknown(value.rate);
    assert_true(
        sn_vital_measure(named("process.cpu.time", "cpu.mode=user"), &before, &now, &value));
    assert_number(value.value, 1);
    assert_number(value.rate, 0.5);
    assert_number(value.total, 11);
    assert_true(sn_vital_measure(named("process.cpu.usage", ""), &before, &now, &value));
    assert_number(value.value, 1.5);
    assert_unknown(value.rate);
    assert_false(sn_vital_measure(named("process.cpu.usage", ""), NULL, &now, &value));
    assert_false(sn_vital_measure(named("process.cpu.usage", ""), &now, &before, &value));
    now.rss_bytes = NAN;
    now.user_s = 9; /* fell */
    assert_false(sn_vital_measure(named("process.memory.usage", ""), NULL, &now, &value));
    assert_false(
        sn_vital_measure(named("process.cpu.time", "cpu.mode=user"), &before, &now, &value));
}

static int compare(const struct sn_vital *a, const struct sn_vital *b)
{
    int order = strcmp(a->provider, b->provider);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : strcmp(a->tag, b->tag);
}

/* Each number stands in the table at least once, in order, no name twice. */
static void the_table_is_sorted_and_whole(void **state)
{
    (void)state;
    size_t count;
    const struct sn_vital *table = sn_vitals_table(&count);
    bool is_named[sizeof(struct sn_vitals) / sizeof(double)] = {[0] = true}; /* the time */
    for (size_t i = 0; i < count; i++) {
        is_named[table[i].offset / sizeof(double)] = true;
        assert_true(i == 0 || compare(&table[i - 1], &table[i]) < 0);
        assert_true(table[i].description[0] != '\0');
    }
    for (size_t i = 0; i < sizeof(is_named) / sizeof(is_named[0]); i++)
        if (!is_named[i])
            fail_msg("number %zu has no name", i);
}

static void this_process_is_read_as_it_is(void **state)
{
    (void)state;
    struct sn_vitals before;
    struct sn_vitals after;
    enum { SIZE = 64 << 20 };
    struct sn_vitals_reader *reader = follow("", (uint32_t)getpid());
    assert_int_equal(sn_vitals_poll(reader, &before, NULL), SONDE_OK);
    uint8_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < SIZE; i += 4096)
        memory[i] = 1;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], memory, 10000), 10000);
    uint64_t deadline = sn_clock_monotonic_ns() + 20ull * SN_NS_PER_MS;
    while (sn_clock_monotonic_ns() < deadline)
        continue;
    assert_int_equal(sn_vitals_poll(reader, &after, NULL), SONDE_OK);
    assert_true(after.rss_bytes - before.rss_bytes >= SIZE - (1 << 20));
    assert_true(after.virtual_bytes - before.virtual_bytes >= SIZE);
    assert_true(after.minor_faults > before.minor_faults);
    assert_number(after.fd_count - before.fd_count, 2);
    assert_true(after.fd_limit > after.fd_count);
    assert_true(after.cpu_s > before.cpu_s);
    assert_true(after.cpu_s >= after.user_s + after.system_s - 0.021); /* two ticks */
    assert_true(after.written_bytes - before.written_bytes >= 10000);
    assert_true(after.voluntary_switches >= before.voluntary_switches);
    assert_number(after.thread_count, 1);
    assert_true(after.up_s >= before.up_s);
    assert_int_equal(munmap(memory, SIZE), 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
    sn_vitals_free(reader);
}

/* A child that turns until it is killed. */
static pid_t start_burner(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    volatile bool runs = true;
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when an assertion ends us */
    while (pid == 0 && runs)
        continue;
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_process_that_ended_is_gone(void **state)
{
    (void)state;
    struct sn_vitals vitals;
    struct sonde_error err = {0};
    pid_t pid = start_burner();
    struct sn_vitals_reader *reader = follow("", (uint32_t)pid);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
    (void)kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_E_GONE); /* a zombie */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sn_vitals_poll(reader, &vitals, &err), SONDE_E_GONE);
    sn_vitals_free(reader);
    assert_int_equal(sn_vitals_new("", (uint32_t)pid, false, &reader, NULL), SONDE_E_NOT_FOUND);
}

/* A group of our own under `mount`, or skips the test where we may not make one. */
static void make_group(const char *mount, char path[128])
{
    (void)snprintf(path, 128, "%s/sonde-test-%d", mount, (int)getpid());
    if (mkdir(path, 0755) != 0)
        skip_because("no control group can be made here");
}

static bool put(const char *group, const char *file, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", group, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return is_written;
}

static bool move_to(const char *group, pid_t pid)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    return put(group, "cgroup.procs", text);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Polls until the group was throttled; the test's own time limit is the only one. */
static void wait_for_throttling(pid_t pid, double cpu_limit)
{
    struct sn_vitals vitals;
    struct sn_vitals_reader *reader = follow("", (uint32_t)pid);
    do {
        (void)usleep(20000);
        assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
        assert_number(vitals.group_cpu_limit, cpu_limit);
    } while (!(vitals.group_throttled_periods >= 2 && vitals.group_throttled_s > 0));
    assert_true(vitals.group_periods >= vitals.group_throttled_periods);
    sn_vitals_free(reader);
}

static void a_real_limit_of_the_cpu_is_seen_to_throttle(void **state)
{
    (void)state;
    char group[128];
    bool is_1 = is_there("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") ||
                is_there("/sys/fs/cgroup/cpu/cpu.shares");
    make_group(is_1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup", group);
    pid_t pid = start_burner();
    bool is_limited = move_to(group, pid) && (is_1 ? put(group, "cpu.cfs_quota_us", "20000")
                                                   : put(group, "cpu.max", "20000 100000"));
    if (is_limited)
        wait_for_throttling(pid, 0.2);
    end(pid);
    assert_int_equal(rmdir(group), 0);
    if (!is_limited)
        skip_because("no control group of ours can limit the CPU");
}

static void a_real_group_of_version_2_tells_its_pressure(void **state)
{
    (void)state;
    struct sn_vitals vitals;
    char group[128];
    bool is_hybrid = is_there("/sys/fs/cgroup/unified/cgroup.procs");
    make_group(is_hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", group);
    pid_t pid = start_burner();
    bool is_moved = move_to(group, pid) && is_there("/proc/pressure/cpu");
    if (is_moved) {
        struct sn_vitals_reader *reader = follow("", (uint32_t)pid);
        assert_int_equal(sn_vitals_poll(reader, &vitals, NULL), SONDE_OK);
        assert_true(vitals.group_pressure[SN_PRESSURE_CPU].some_s >= 0);
        assert_unknown(vitals.machine_pressure[SN_PRESSURE_CPU].some_s);
        sn_vitals_free(reader);
    }
    end(pid);
    assert_int_equal(rmdir(group), 0);
    if (!is_moved)
        skip_because("no control group of version 2, or no pressure");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_is_read_from_proc),
        TEST(what_may_not_be_read_is_not_known),
        TEST(switches_of_threads_that_end_stay_counted),
        TEST(a_group_of_version_2_is_read),
        TEST(a_tighter_limit_above_binds_and_is_measured_there),
        TEST(the_root_group_is_the_machine),
        TEST(what_looks_like_the_root_inside_a_container_is_its_group),
        TEST(groups_of_version_1_are_read_on_a_hybrid_machine),
        TEST(a_container_that_sees_only_its_own_mount_finds_it),
        TEST(a_group_outside_of_what_is_mounted_is_not_known),
        TEST(a_moved_process_and_a_changed_limit_are_noticed),
        TEST(nonsense_is_not_known),
        cmocka_unit_test(two_polls_become_named_numbers),
        cmocka_unit_test(the_table_is_sorted_and_whole),
        cmocka_unit_test(this_process_is_read_as_it_is),
        cmocka_unit_test(a_process_that_ended_is_gone),
        cmocka_unit_test(a_real_limit_of_the_cpu_is_seen_to_throttle),
        cmocka_unit_test(a_real_group_of_version_2_tells_its_pressure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
