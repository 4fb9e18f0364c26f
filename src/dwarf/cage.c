#include "dwarf/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534u

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "which architecture do system calls here have?"
#endif

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define ALLOW(call)                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(call)                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT)
/* Only if the bits `mask` of an argument are `want`. */
#define ALLOW_IF(call, argument, mask, want)                                      \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 5), LOAD(args[argument]), \
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (mask)),                              \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (want), 0, 1),                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                             \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* libelf's fcntl only asks whether the descriptor is open. A file that names another (a dwz
 * supplement) is read without it. */
static const struct sock_filter rules[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    ALLOW(read),
    ALLOW(pread64),
    ALLOW(write),
    ALLOW(lseek),
    ALLOW(fstat),
    ALLOW(newfstatat), /* as which libc does it */
    ALLOW(close),
    ALLOW(brk),
    ALLOW(munmap),
    ALLOW(mprotect),
    ALLOW(mremap),
    ALLOW(madvise),
    ALLOW(futex),
    ALLOW(getrandom),
    ALLOW(sysinfo), /* sorting asks how much memory there is */
    ALLOW(exit),
    ALLOW(exit_group),
#ifdef __SANITIZE_ADDRESS__
    ALLOW(sigaltstack), /* when it ends */
#endif
    REFUSE(openat),
    REFUSE(readlinkat),
#ifdef __NR_open
    REFUSE(open),
    REFUSE(readlink),
#endif
    ALLOW_IF(fcntl, 1, UINT32_MAX, F_GETFD),
    ALLOW_IF(mmap, 3, MAP_ANONYMOUS, MAP_ANONYMOUS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static bool filter_calls(void)
{
    const struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]),
                                       .filter = (struct sock_filter *)(uintptr_t)rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool keep_only(int in, int out)
{
    int first = fcntl(in, F_DUPFD, 3); /* out of the way of each other's new place */
    int second = fcntl(out, F_DUPFD, 3);
    return first >= 0 && second >= 0 && dup2(first, SN_CAGE_IN) >= 0 &&
           dup2(second, SN_CAGE_OUT) >= 0 && syscall(SYS_close_range, 2, UINT32_MAX, 0) == 0;
}

static bool limit(int resource, rlim_t most)
{
    const struct rlimit bounds = {most, most};
    return setrlimit((__rlimit_resource_t)resource, &bounds) == 0;
}

static bool limit_all(void)
{
#ifndef __SANITIZE_ADDRESS__ /* whose shadow memory is larger than any limit */
    if (!limit(RLIMIT_DATA, SN_CAGE_MEMORY))
        return false;
#endif
    return limit(RLIMIT_CPU, SN_CAGE_CPU_SECONDS) && limit(RLIMIT_CORE, 0) &&
           limit(RLIMIT_FSIZE, 0);
}

static bool drop_user(void)
{
    if (geteuid() != 0)
        return true;
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &header, none) == 0;
}

bool sn_cage_enter(int in, int out)
{
    (void)setpriority(PRIO_PROCESS, 0, 0); /* a recorder runs ahead of others, this need not */
    /* The signal comes after the user, with whose change the kernel forgets it. */
    return keep_only(in, out) && limit_all() && drop_user() && drop_capabilities() &&
           prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           filter_calls();
}
