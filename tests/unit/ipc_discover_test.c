/* Finding targets, and not being fooled: real processes with true, false, stale and missing
 * sockets.
 *
 * The test starts itself again as a process that looks like a runtime: two threads, one with a name
 * of the runtime's, and a socket as told by its first argument. */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "ipc_fake.h"
#include "source/ipc/discover.h"
#include "source/ipc/ipc_commands.h"

#define MS(n)  ((uint64_t)(n)*SN_NS_PER_MS)
#define NOBODY 65534

static void *be_a_runtime_thread(void *user)
{
    (void)prctl(PR_SET_NAME, ".NET SynchManag");
    (void)!write(1, "r", 1);
    pause();
    return user;
}

static void own_socket_name(char *to, size_t size, unsigned long long skew)
{
    struct sn_ipc_process self;
    const char *directory = getenv("TMPDIR");
    if (!sn_ipc_process_open(getpid(), &self))
        _exit(3);
    (void)snprintf(to, size, "%s/dotnet-diagnostic-%d-%llu-socket", directory ? directory : "/tmp",
                   getpid(), (unsigned long long)self.start_ticks + skew);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.107s", path);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 8) != 0)
        _exit(4);
    return fd;
}

static int run_child(const char *mode)
{
    char path[256];
    char real[300];
    pthread_t thread;
    own_socket_name(path, sizeof(path), strcmp(mode, "skewed") == 0 ? 5 : 0);
    (void)snprintf(real, sizeof(real), "%s.real", path);
    if (strcmp(mode, "socket") == 0 || strcmp(mode, "skewed") == 0 || strcmp(mode, "alone") == 0) {
        (void)listen_at(path);
    } else if (strcmp(mode, "stale") == 0) {
        close(listen_at(path));
    } else if (strcmp(mode, "symlink") == 0) {
        (void)listen_at(real);
        (void)!symlink(real, path);
    } else if (strcmp(mode, "fifo") == 0) {
        (void)mkfifo(path, 0600);
    } else if (strcmp(mode, "file") == 0) {
        close(open(path, O_CREAT | O_WRONLY, 0600));
    } else if (strcmp(mode, "directory") == 0) {
        (void)mkdir(path, 0700);
    }
    if (strcmp(mode, "alone") == 0)
        (void)!write(1, "r", 1);
    else if (pthread_create(&thread, NULL, be_a_runtime_thread, NULL) != 0)
        return 5;
    pause();
    return 0;
}

static char directory[64];

struct child {
    int pid;
    struct sn_ipc_target target;
};

/* What is done between fork and exec. */
typedef void before_fn(void);

static struct child start(const char *mode, const char *variable, before_fn *before)
{
    struct child child = {0};
    int ready[2];
    char byte = 0;
    char temp[128];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    (void)snprintf(temp, sizeof(temp), "TMPDIR=%s", directory);
    int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    child.pid = fork();
    if (child.pid == 0) {
        char *argv[] = {(char *)"fake", (char *)(uintptr_t) "child", (char *)(uintptr_t)mode, NULL};
        char *envp[] = {temp, (char *)(uintptr_t)variable, NULL};
        if (variable && strncmp(variable, "TMPDIR=", 7) == 0) {
            envp[0] = envp[1];
            envp[1] = NULL;
        }
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ready[1], 1);
        if (before)
            before();
        (void)fexecve(self, argv, envp);
        _exit(127);
    }
    close(self);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end(struct child *child)
{
    (void)kill(child->pid, SIGKILL);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof(directory), "/tmp/sonde-find-XXXXXX");
    return mkdtemp(directory) && chmod(directory, 01777) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

struct wanted {
    int pid;
    struct sn_ipc_target target;
    bool found;
};

static int remember(void *user, const struct sn_ipc_target *target)
{
    struct wanted *wanted = user;
    if (target->pid == wanted->pid) {
        wanted->target = *target;
        wanted->found = true;
    }
    return SONDE_OK;
}

static bool is_listed(struct child *child)
{
    struct wanted wanted = {.pid = child->pid};
    struct sonde_error err = {0};
    assert_int_equal(sn_ipc_discover(remember, &wanted, &err), SONDE_OK);
    child->target = wanted.target;
    return wanted.found;
}

/* Both ways of looking agree. */
static void expect_reach(struct child *child, enum sn_ipc_reach reach)
{
    struct sn_ipc_target target;
    struct sonde_error err = {0};
    assert_true(is_listed(child));
    assert_int_equal(child->target.reach, reach);
    assert_int_equal(sn_ipc_target_inspect(child->pid, &target, &err), SONDE_OK);
    assert_int_equal(target.reach, reach);
    int rc = sn_ipc_target_of_pid(child->pid, &target, &err);
    assert_int_equal(rc == SONDE_OK, reach == SN_IPC_REACH_OK);
    if (reach != SN_IPC_REACH_OK)
        assert_non_null(strstr(err.text, sn_ipc_reach_reason(reach)));
}

static void a_true_socket_is_found_and_connected(void **state)
{
    struct child child = start("socket", NULL, NULL);
    struct sonde_error err = {0};
    int fd = -1;
    (void)state;
    expect_reach(&child, SN_IPC_REACH_OK);
    assert_int_equal(child.target.ns_pid, child.pid);
    assert_string_equal(child.target.directory, directory);
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_OK);
    close(fd);
    end(&child);
}

static void what_is_no_socket_is_a_fake(void **state)
{
    static const char *const modes[] = {"symlink", "fifo", "file", "directory"};
    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        struct child child = start(modes[i], NULL, NULL);
        struct sonde_error err = {0};
        int fd = -1;
        expect_reach(&child, SN_IPC_REACH_FAKE);
        /* Also when it is put there after the look. */
        (void)snprintf(child.target.socket_path, sizeof(child.target.socket_path),
                       "%.100s/dotnet-diagnostic-%d-%" PRIu64 "-socket", directory, child.pid,
                       child.target.start_ticks);
        assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_DENIED);
        assert_int_equal(fd, -1);
        end(&child);
    }
}

static void name_for(const struct child *child, char *to, size_t size)
{
    struct sn_ipc_process process;
    assert_true(sn_ipc_process_open(child->pid, &process));
    (void)snprintf(to, size, "%s/dotnet-diagnostic-%d-%" PRIu64 "-socket", directory, child->pid,
                   process.start_ticks);
    sn_ipc_process_close(&process);
}

static void a_socket_of_another_process_is_never_spoken_to(void **state)
{
    struct child child = start("none", NULL, NULL);
    struct sonde_error err = {0};
    char path[256];
    int fd = -1;
    (void)state;
    name_for(&child, path, sizeof(path));
    int impostor = listen_at(path); /* right name, right user, wrong process: us */
    assert_true(is_listed(&child));
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_DENIED);
    assert_non_null(strstr(err.text, "is not its own"));
    assert_int_equal(fd, -1);
    close(impostor);
    end(&child);
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(6);
}

static void a_socket_of_another_user_is_a_fake(void **state)
{
    char path[256];
    (void)state;
    if (geteuid() != 0)
        skip_because("needs root");
    struct child child = start("none", NULL, become_nobody);
    name_for(&child, path, sizeof(path));
    int impostor = listen_at(path);
    expect_reach(&child, SN_IPC_REACH_FAKE);
    close(impostor);
    end(&child);

    /* The other way round: nobody poses as a process of root. */
    child = start("none", NULL, NULL);
    name_for(&child, path, sizeof(path));
    impostor = listen_at(path);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    expect_reach(&child, SN_IPC_REACH_FAKE);
    close(impostor);
    end(&child);
}

static void of_another_user_root_reaches_and_nobody_does_not(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("needs root");
    struct child nobodys = start("socket", NULL, become_nobody);
    struct child roots = start("socket", NULL, NULL);
    struct sonde_error err = {0};
    int fd = -1;
    expect_reach(&nobodys, SN_IPC_REACH_OK);
    assert_int_equal(nobodys.target.uid, NOBODY);
    assert_int_equal(sn_ipc_connect(&nobodys.target, &fd, &err), SONDE_OK);
    close(fd);

    int observer = fork();
    if (observer == 0) {
        struct sn_ipc_target target;
        become_nobody();
        int rc = sn_ipc_target_of_pid(roots.pid, &target, &err);
        bool told =
            rc == SONDE_E_DENIED && strstr(err.text, "user root") && strstr(err.text, "sudo");
        struct wanted wanted = {.pid = roots.pid};
        told = told && sn_ipc_discover(remember, &wanted, NULL) == SONDE_OK && wanted.found &&
               wanted.target.reach == SN_IPC_REACH_DENIED;
        _exit(told ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(observer, &status, 0), observer);
    assert_int_equal(status, 0);
    end(&nobodys);
    end(&roots);
}

static void diagnostics_switched_off_are_named(void **state)
{
    static const char *const off[] = {
        "DOTNET_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_IPC=0",
        "COMPlus_EnableDiagnostics=0x0", "COMPlus_EnableDiagnostics_IPC=00"};
    (void)state;
    for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++) {
        struct child child = start("none", off[i], NULL);
        char fix[200];
        expect_reach(&child, SN_IPC_REACH_OFF);
        assert_non_null(strstr(sn_ipc_reach_fix(&child.target, fix, sizeof(fix)),
                               "restart it without DOTNET_EnableDiagnostics=0"));
        end(&child);
    }
    struct child child = start("none", "DOTNET_EnableDiagnostics=1", NULL);
    expect_reach(&child, SN_IPC_REACH_NO_SOCKET);
    end(&child);
}

static void a_temporary_directory_that_cannot_be_is_no_socket(void **state)
{
    static const char *const odd[] = {"TMPDIR=relative", "TMPDIR=/nowhere/at/all", NULL};
    char longest[200] = "TMPDIR=/";
    (void)state;
    memset(longest + 8, 'a', sizeof(longest) - 9);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        struct child child = start("none", odd[i] ? odd[i] : longest, NULL);
        expect_reach(&child, SN_IPC_REACH_NO_SOCKET);
        end(&child);
    }
}

static void a_socket_nobody_listens_on_is_stale(void **state)
{
    struct child child = start("stale", NULL, NULL);
    struct sonde_error err = {0};
    int fd = -1;
    (void)state;
    assert_true(is_listed(&child));
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_GONE);
    assert_non_null(strstr(err.text, "nobody listens"));
    end(&child);
}

static void another_clock_in_the_name_is_overcome(void **state)
{
    struct child child = start("skewed", NULL, NULL);
    struct sonde_error err = {0};
    int fd = -1;
    (void)state;
    expect_reach(&child, SN_IPC_REACH_OK);
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_OK);
    close(fd);
    end(&child);

    child = start("none", NULL, NULL); /* but only when it is this process that listens */
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/dotnet-diagnostic-%d-1-socket", directory, child.pid);
    int impostor = listen_at(path);
    expect_reach(&child, SN_IPC_REACH_NO_SOCKET);
    close(impostor);
    end(&child);
}

static void a_process_that_ended_or_was_replaced_is_gone(void **state)
{
    struct child child = start("socket", NULL, NULL);
    struct sonde_error err = {0};
    struct sn_ipc_target target;
    int fd = -1;
    (void)state;
    assert_true(is_listed(&child));
    target = child.target;
    target.start_ticks--; /* as after the reuse of a pid */
    assert_int_equal(sn_ipc_connect(&target, &fd, &err), SONDE_E_GONE);

    assert_int_equal(kill(child.pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_GONE);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_target_of_pid(child.pid, &target, &err), SONDE_E_GONE);
    assert_non_null(strstr(err.text, "waits for its parent"));

    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_GONE);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_target_of_pid(child.pid, &target, &err), SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "there is no process"));
}

static void a_stopped_process_is_not_connected_to(void **state)
{
    struct child child = start("socket", NULL, NULL);
    struct sonde_error err = {0};
    char fix[64];
    char expected[64];
    int fd = -1;
    (void)state;
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(child.pid, NULL, WUNTRACED), child.pid);
    expect_reach(&child, SN_IPC_REACH_STOPPED);
    (void)snprintf(expected, sizeof(expected), "kill -CONT %d", child.pid);
    assert_string_equal(sn_ipc_reach_fix(&child.target, fix, sizeof(fix)), expected);
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_E_BUSY);
    end(&child);
}

static void what_is_not_dotnet_is_told_so(void **state)
{
    struct sn_ipc_target target;
    struct sonde_error err = {0};
    struct child child = start("alone", NULL, NULL);
    (void)state;
    assert_false(is_listed(&child)); /* one thread: no runtime, whatever lies in its directory */
    assert_int_equal(sn_ipc_target_of_pid(child.pid, &target, &err), SONDE_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "is not a .NET process"));
    end(&child);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_target_of_pid(0, &target, &err), SONDE_E_ARGUMENT);
    err = (struct sonde_error){0};
    assert_int_equal(sn_ipc_target_of_pid(-5, &target, &err), SONDE_E_ARGUMENT);
}

static void a_thread_id_is_led_to_its_process(void **state)
{
    struct child child = start("socket", NULL, NULL);
    struct sn_ipc_target target;
    struct sonde_error err = {0};
    char path[64];
    int thread = 0;
    (void)state;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", child.pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        int id = (int)strtol(task->d_name, NULL, 10);
        thread = id && id != child.pid ? id : thread;
    }
    closedir(tasks);
    assert_int_equal(sn_ipc_target_of_pid(thread, &target, &err), SONDE_E_ARGUMENT);
    assert_non_null(strstr(err.text, "is a thread of process"));
    end(&child);
}

/* A root of its own, deep enough that its paths do not fit into a socket address, whose /tmp is a
 * link that would lead elsewhere if it were followed from our root. */
static void enter_root(void)
{
    char root[256];
    (void)snprintf(root, sizeof(root),
                   "%s/a-long-name-for-a-directory-to-be-a-root-of-its-own-and-then-some-more-of-it"
                   "-until-it-is-really-too-long",
                   directory);
    if (chroot(root) != 0 || chdir("/") != 0)
        _exit(7);
}

static void a_target_is_looked_at_within_its_root(void **state)
{
    char root[256];
    char path[300];
    (void)state;
    if (geteuid() != 0)
        skip_because("needs root");
    (void)snprintf(root, sizeof(root),
                   "%s/a-long-name-for-a-directory-to-be-a-root-of-its-own-and-then-some-more-of-it"
                   "-until-it-is-really-too-long",
                   directory);
    assert_int_equal(mkdir(root, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/proc", root);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(mount("/proc", path, NULL, MS_BIND, NULL), 0);
    char lib[300];
    static const char *const libraries[] = {"lib", "lib64", "usr"};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(lib, sizeof(lib), "%s/%s", root, libraries[i]);
        assert_int_equal(mkdir(lib, 0755), 0);
        char from[16];
        (void)snprintf(from, sizeof(from), "/%s", libraries[i]);
        assert_int_equal(mount(from, lib, NULL, MS_BIND | MS_REC, NULL), 0);
    }
    (void)snprintf(lib, sizeof(lib), "%s/real", root);
    assert_int_equal(mkdir(lib, 01777), 0);
    (void)snprintf(lib, sizeof(lib), "%s/link", root);
    assert_int_equal(symlink("/../../real", lib), 0);

    struct child child = start("socket", "TMPDIR=/link", enter_root);
    struct sonde_error err = {0};
    int fd = -1;
    expect_reach(&child, SN_IPC_REACH_OK);
    assert_string_equal(child.target.directory, "/link");
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_OK);
    close(fd);
    /* What exists for us does not for it. */
    assert_true(sn_ipc_check_profiler_path(&child.target, "/etc/passwd", &err) < 0);
    end(&child);

    (void)umount2(path, MNT_DETACH);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(lib, sizeof(lib), "%s/%s", root, libraries[i]);
        assert_int_equal(umount2(lib, MNT_DETACH), 0);
    }
}

/* Its own pid and mount namespaces, and a temporary directory that only it can see. */
static void a_target_in_other_namespaces_is_found(void **state)
{
    int ready[2];
    char byte = 0;
    struct child child = {0};
    struct sonde_error err = {0};
    int fd = -1;
    (void)state;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    int outer = fork();
    if (outer == 0) {
        char temp[80];
        char *argv[] = {(char *)"fake", (char *)"child", (char *)"socket", NULL};
        char *envp[] = {temp, NULL};
        (void)snprintf(temp, sizeof(temp), "TMPDIR=%s", directory);
        if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", directory, "tmpfs", 0, NULL) != 0)
            _exit(77);
        dup2(ready[1], 1);
        int inner = fork();
        if (inner == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (mount("proc", "/proc", "proc", 0, NULL) != 0)
                _exit(77);
            (void)execve("/proc/self/exe", argv, envp);
            _exit(127);
        }
        int status;
        (void)waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) { /* not allowed here */
        close(ready[0]);
        (void)waitpid(outer, NULL, 0);
        skip_because("no namespaces to be had");
    }
    close(ready[0]);
    char path[64];
    char children[32] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", outer, outer);
    int listing = open(path, O_RDONLY);
    assert_true(read(listing, children, sizeof(children) - 1) > 0);
    close(listing);
    child.pid = (int)strtol(children, NULL, 10);
    expect_reach(&child, SN_IPC_REACH_OK);
    assert_int_equal(child.target.ns_pid, 1);
    assert_int_equal(sn_ipc_connect(&child.target, &fd, &err), SONDE_OK);
    close(fd);
    (void)kill(child.pid, SIGKILL);
    assert_int_equal(waitpid(outer, NULL, 0), outer);
}

static void a_thousand_stale_sockets_do_not_matter(void **state)
{
    struct child child = start("skewed", NULL, NULL); /* the one that makes us list */
    size_t before = open_descriptors();
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char path[160];
        (void)snprintf(path, sizeof(path), "%s/dotnet-diagnostic-%u-%u-socket", directory,
                       100000 + i, i);
        close(listen_at(path));
    }
    struct timespec start;
    struct timespec end_time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start); /* ours, whatever else the machine does */
    assert_true(is_listed(&child));
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end_time);
    assert_true((end_time.tv_sec - start.tv_sec) * 1000000000 + end_time.tv_nsec - start.tv_nsec <
                (long)MS(100));
    assert_int_equal(child.target.reach, SN_IPC_REACH_OK);
    assert_int_equal(open_descriptors(), before);
    end(&child);
}

static int stop_at_once(void *user, const struct sn_ipc_target *target)
{
    (void)target;
    (*(unsigned *)user)++;
    return SONDE_END;
}

static void a_listing_ends_when_it_is_told_to(void **state)
{
    struct child one = start("socket", NULL, NULL);
    struct child two = start("socket", NULL, NULL);
    unsigned count = 0;
    (void)state;
    assert_int_equal(sn_ipc_discover(stop_at_once, &count, NULL), SONDE_END);
    assert_int_equal(count, 1);
    end(&one);
    end(&two);
}

static void a_file_the_targets_user_cannot_read_is_refused(void **state)
{
    char path[160];
    char closed[160];
    struct sonde_error err = {0};
    (void)state;
    if (geteuid() != 0)
        skip_because("needs root");
    struct child child = start("socket", NULL, become_nobody);
    assert_true(is_listed(&child));
    (void)snprintf(closed, sizeof(closed), "%s/closed", directory);
    assert_int_equal(mkdir(closed, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/closed/lib.so", directory);
    char source[64];
    ssize_t length = readlink("/proc/self/exe", source, sizeof(source) - 1);
    assert_true(length > 0);
    int copy = open(path, O_CREAT | O_WRONLY, 0755);
    static const uint8_t head[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0,  0,
                                   0,    0,   0,   0,   0, 0, 3, 0, 62, 0};
    assert_int_equal(write(copy, head, sizeof(head)), sizeof(head));
    close(copy);
    assert_int_equal(sn_ipc_check_profiler_path(&child.target, path, &err), SONDE_E_DENIED);
    err = (struct sonde_error){0};
    assert_int_equal(chmod(closed, 0755), 0);
#if defined(__x86_64__)
    assert_int_equal(sn_ipc_check_profiler_path(&child.target, path, &err), SONDE_OK);
#endif
    assert_int_equal(geteuid(), 0);
    assert_int_equal(access(closed, R_OK | W_OK), 0); /* we are who we were */
    int again = open(path, O_RDWR);
    assert_true(again >= 0);
    close(again);
    end(&child);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_socket_is_found_and_connected),
        cmocka_unit_test(what_is_no_socket_is_a_fake),
        cmocka_unit_test(a_socket_of_another_process_is_never_spoken_to),
        cmocka_unit_test(a_socket_of_another_user_is_a_fake),
        cmocka_unit_test(of_another_user_root_reaches_and_nobody_does_not),
        cmocka_unit_test(diagnostics_switched_off_are_named),
        cmocka_unit_test(a_temporary_directory_that_cannot_be_is_no_socket),
        cmocka_unit_test(a_socket_nobody_listens_on_is_stale),
        cmocka_unit_test(another_clock_in_the_name_is_overcome),
        cmocka_unit_test(a_process_that_ended_or_was_replaced_is_gone),
        cmocka_unit_test(a_stopped_process_is_not_connected_to),
        cmocka_unit_test(what_is_not_dotnet_is_told_so),
        cmocka_unit_test(a_thread_id_is_led_to_its_process),
        cmocka_unit_test(a_target_is_looked_at_within_its_root),
        cmocka_unit_test(a_target_in_other_namespaces_is_found),
        cmocka_unit_test(a_file_the_targets_user_cannot_read_is_refused),
        cmocka_unit_test(a_listing_ends_when_it_is_told_to),
        cmocka_unit_test(a_thousand_stale_sockets_do_not_matter),
    };
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return run_child(argv[2]);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
