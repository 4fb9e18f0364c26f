/* The files a target is about to load, looked at with its eyes: the checks of commands.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "source/ipc/connect.h"
#include "source/ipc/ipc_commands.h"
#include "source/ipc/process.h"

#define LARGEST_HOOK (16u << 20)
#define MOST_GROUPS  256

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "add the ELF machine number of this architecture"
#endif

/* Lets the kernel decide what the target's user may read. These calls change this thread only: raw
 * setgroups, as that of the C library would change all. */
static int open_as_user(int root, const char *path, const struct sn_ipc_target *target)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    if (geteuid() != 0 || target->uid == 0)
        return sn_ipc_open_in_root(root, path, flags);

    gid_t groups[MOST_GROUPS];
    int group_count = getgroups(MOST_GROUPS, groups);
    bool dropped = group_count >= 0 && syscall(SYS_setgroups, 0, NULL) == 0;
    (void)setfsgid(target->gid); /* setfsuid and setfsgid report failure only to a second call */
    (void)setfsuid(target->uid);
    int fd = -1;
    errno = EPERM;
    if ((unsigned)setfsuid((uid_t)-1) == target->uid)
        fd = sn_ipc_open_in_root(root, path, flags);
    int saved = errno;
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    if (dropped)
        (void)syscall(SYS_setgroups, group_count, groups); /* we could before, so we can now */
    errno = saved;
    return fd;
}

static int open_target_file(const struct sn_ipc_target *target, const char *path, int *ret_fd,
                            struct sonde_error *err)
{
    if (!path || path[0] != '/')
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "path '%.200s' is not absolute", path ? path : "");
    SN_AUTO(sn_ipc_process_close) struct sn_ipc_process process = {.dir = -1};
    if (!sn_ipc_process_open(target->pid, &process) || process.start_ticks != target->start_ticks)
        return sn_fail(err, SONDE_E_GONE, 0, "pid %d has ended", target->pid);
    SN_AUTO(sn_close) int root = sn_ipc_process_open_root(&process);
    if (root < 0)
        return sn_ipc_reach_fail(target, sn_ipc_reach_of_unreadable(target), err);
    SN_AUTO(sn_close) int fd = open_as_user(root, path, target);
    if (fd < 0)
        return sn_fail_errno(err, "pid %d cannot read '%.200s'", target->pid, path);
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "'%.200s' is not a regular file", path);
    *ret_fd = sn_take_fd(&fd);
    return SONDE_OK;
}

static int read_file(int fd, struct sn_buf *buf, struct sonde_error *err)
{
    for (;;) {
        size_t step = buf->limit - buf->size < 65536 ? buf->limit - buf->size : 65536;
        uint8_t *to = step ? sn_buf_reserve(buf, step) : NULL;
        if (!to)
            return sn_fail(err, SONDE_E_LIMIT, 0, "the file is over %zu bytes", buf->limit);
        ssize_t got = read(fd, to, step);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sn_fail_errno(err, "cannot read the file");
        if (got == 0)
            return SONDE_OK;
        sn_buf_grow(buf, (size_t)got);
    }
}

/* Whether the PE image has a header of managed code (data directory 14). */
static bool is_managed(const struct sn_buf *image)
{
    struct sn_cursor cur = sn_cursor_over(image->bytes, image->size);
    bool is_mz = sn_cursor_u16(&cur) == 0x5A4D;
    sn_cursor_skip(&cur, 0x3C - 2);
    uint32_t pe = sn_cursor_u32(&cur);
    if (cur.bad || !is_mz || pe >= image->size)
        return false;
    cur = sn_cursor_over(image->bytes + pe, image->size - pe);
    bool is_pe = sn_cursor_u32(&cur) == 0x00004550;
    sn_cursor_skip(&cur, 20); /* COFF header */
    uint16_t magic = sn_cursor_u16(&cur);
    if (!is_pe || (magic != 0x10B && magic != 0x20B))
        return false;
    sn_cursor_skip(&cur, (magic == 0x20B ? 112u : 96u) - 2 + 14 * 8);
    uint32_t address = sn_cursor_u32(&cur);
    uint32_t size = sn_cursor_u32(&cur);
    return !cur.bad && address && size;
}

/* Whether a name stands in the string heap, with its zero on both sides. */
static bool has_name(const struct sn_buf *image, const char *name, size_t size)
{
    return memmem(image->bytes, image->size, name, size) != NULL;
}

int sn_ipc_check_hook_path(const struct sn_ipc_target *target, const char *path,
                           struct sonde_error *err)
{
    static const char class_name[] = "\0StartupHook";
    static const char method_name[] = "\0Initialize";
    size_t length = path ? strlen(path) : 0;
    if (length < 5 || strcmp(path + length - 4, ".dll") != 0)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "startup hook '%.200s' is not a .dll",
                       path ? path : "");
    SN_AUTO(sn_close) int fd = -1;
    SN_AUTO(sn_buf_done) struct sn_buf image = sn_buf_with_limit(LARGEST_HOOK);
    int rc = open_target_file(target, path, &fd, err);
    if (rc == SONDE_OK)
        rc = read_file(fd, &image, err);
    if (rc != SONDE_OK)
        return rc;
    if (!is_managed(&image))
        return sn_fail(err, SONDE_E_FORMAT, 0, "startup hook '%.200s' is not a managed assembly",
                       path);
    if (!has_name(&image, class_name, sizeof(class_name)) ||
        !has_name(&image, method_name, sizeof(method_name)))
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%.200s' has no StartupHook with an Initialize",
                       path);
    return SONDE_OK;
}

int sn_ipc_check_profiler_path(const struct sn_ipc_target *target, const char *path,
                               struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = -1;
    int rc = open_target_file(target, path, &fd, err);
    if (rc != SONDE_OK)
        return rc;
    uint8_t head[20] = {0};
    ssize_t got = read(fd, head, sizeof(head));
    struct sn_cursor cur = sn_cursor_over(head, got > 0 ? (size_t)got : 0);
    const uint8_t *ident = sn_cursor_bytes(&cur, EI_NIDENT);
    uint16_t type = sn_cursor_u16(&cur);
    uint16_t machine = sn_cursor_u16(&cur);
    if (cur.bad || memcmp(ident, ELFMAG, SELFMAG) != 0 || type != ET_DYN)
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%.200s' is not a shared library", path);
    if (ident[EI_CLASS] != ELFCLASS64 || machine != OUR_MACHINE)
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%.200s' is for another architecture", path);
    return SONDE_OK;
}
