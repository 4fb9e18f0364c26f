#include "source/ipc/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"

#define KERNEL_THREAD       0x00200000u /* PF_KTHREAD in field 9 of stat */
#define STATUS_SIZE         1024u       /* of the lines below */
#define LARGEST_MAPS        (1u << 20)
#define RUNTIME_NAME_PREFIX ".NET "

/* The fields of stat after the name in parentheses, counted as in proc(5). */
enum {
    FIELD_STATE = 3,
    FIELD_FLAGS = 9,
    FIELD_THREADS = 20,
    FIELD_START = 22,
};

static bool parse_stat(char *text, struct sn_ipc_process *process)
{
    char *open = strchr(text, '(');
    char *close = strrchr(text, ')'); /* the last: the name may hold any character */
    if (!open || !close || close < open)
        return false;
    (void)snprintf(process->comm, sizeof(process->comm), "%.*s", (int)(close - open - 1), open + 1);

    char *rest = close + 1;
    for (int field = FIELD_STATE; field <= FIELD_START; field++) {
        const char *word = strsep(&rest, " ");
        if (word && !*word) /* the blank before the state */
            word = strsep(&rest, " ");
        if (!word)
            return false;
        if (field == FIELD_STATE)
            process->state = word[0];
        else if (field == FIELD_FLAGS)
            process->flags = (unsigned)strtoul(word, NULL, 10);
        else if (field == FIELD_THREADS)
            process->thread_count = (unsigned)strtoul(word, NULL, 10);
        else if (field == FIELD_START)
            process->start_ticks = strtoull(word, NULL, 10);
    }
    return true;
}

static bool read_stat(struct sn_ipc_process *process)
{
    char text[1024];
    if (sn_file_peek_at(process->dir, "stat", text, sizeof(text)) < 0)
        return false;
    if (parse_stat(text, process))
        return true;
    errno = ESRCH;
    return false;
}

bool sn_ipc_process_open(int pid, struct sn_ipc_process *ret_process)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    struct sn_ipc_process process = {.pid = pid, .ns_pid = pid};
    process.dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process.dir < 0)
        return false;
    if (!read_stat(&process)) {
        sn_close(process.dir);
        return false;
    }
    *ret_process = process;
    return true;
}

void sn_ipc_process_close(struct sn_ipc_process *process)
{
    sn_close(process->dir);
    process->dir = -1;
}

static const char *status_line(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0)
            return line + length;
    }
    return NULL;
}

/* The second number of "Uid: real effective saved filesystem". */
static unsigned effective_of(const char *line)
{
    char *end;
    (void)strtoul(line, &end, 10);
    return (unsigned)strtoul(end, NULL, 10);
}

static int last_number_of(const char *line)
{
    long value = 0;
    while (*line && *line != '\n') {
        char *end;
        value = strtol(line, &end, 10);
        line = end == line ? line + 1 : end;
    }
    return (int)value;
}

bool sn_ipc_process_read_status(struct sn_ipc_process *process)
{
    char text[STATUS_SIZE];
    static const char *const lines[] = {"Tgid:", "Uid:", "Gid:", "NSpid:", NULL};
    if (sn_file_peek_lines_at(process->dir, "status", lines, text, sizeof(text)) < 0)
        return false;
    const char *tgid = status_line(text, "Tgid:");
    const char *uid = status_line(text, "Uid:");
    const char *gid = status_line(text, "Gid:");
    const char *ns_pid = status_line(text, "NSpid:");
    if (!tgid || !uid || !gid) {
        errno = ESRCH;
        return false;
    }
    process->tgid = (int)strtol(tgid, NULL, 10);
    process->uid = effective_of(uid);
    process->gid = effective_of(gid);
    process->ns_pid = ns_pid ? last_number_of(ns_pid) : process->pid;
    return true;
}

bool sn_ipc_process_is_kernel_thread(const struct sn_ipc_process *process)
{
    return process->flags & KERNEL_THREAD;
}

bool sn_ipc_process_is_dead(const struct sn_ipc_process *process)
{
    return process->state == 'Z' || process->state == 'X' || process->state == 'x';
}

bool sn_ipc_process_is_stopped(const struct sn_ipc_process *process)
{
    return process->state == 'T' || process->state == 't';
}

bool sn_ipc_process_read_environment(const struct sn_ipc_process *process, struct sn_buf *buf)
{
    sn_buf_clear(buf);
    int rc = sn_file_read_at(process->dir, "environ", buf, NULL);
    if (rc != SONDE_OK && rc != SONDE_E_LIMIT) /* over the limit: what is there will do */
        return false;
    buf->failed = false;
    return true;
}

int sn_ipc_process_open_root(const struct sn_ipc_process *process)
{
    return openat(process->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_our_root(int root)
{
    struct stat theirs;
    struct stat ours;
    return fstat(root, &theirs) == 0 && stat("/", &ours) == 0 && theirs.st_dev == ours.st_dev &&
           theirs.st_ino == ours.st_ino;
}

int sn_ipc_open_in_root(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (fd >= 0 || errno != ENOSYS)
        return fd;
    if (!is_our_root(root)) {
        errno = ENOSYS;
        return -1;
    }
    return openat(root, path + (*path == '/'), flags | O_CLOEXEC);
}

bool sn_ipc_process_has_runtime_thread(const struct sn_ipc_process *process, unsigned most)
{
    int fd = openat(process->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd >= 0 ? fdopendir(fd) : NULL;
    if (!tasks) {
        sn_close(fd);
        return false;
    }
    bool found = false;
    for (struct dirent *task = readdir(tasks); task && most && !found; task = readdir(tasks)) {
        char path[288];
        char name[32];
        if (task->d_name[0] == '.')
            continue;
        most--;
        (void)snprintf(path, sizeof(path), "%s/comm", task->d_name);
        found = sn_file_peek_at(fd, path, name, sizeof(name)) > 0 &&
                strncmp(name, RUNTIME_NAME_PREFIX, strlen(RUNTIME_NAME_PREFIX)) == 0;
    }
    (void)closedir(tasks); /* only read from */
    return found;
}

bool sn_ipc_process_has_runtime_mapping(const struct sn_ipc_process *process)
{
    static const char *const signs[] = {"/libcoreclr.so", "/memfd:doublemapper", "/libclrjit.so"};
    SN_AUTO(sn_buf_done) struct sn_buf maps = sn_buf_with_limit(LARGEST_MAPS);
    int rc = sn_file_read_at(process->dir, "maps", &maps, NULL);
    if ((rc != SONDE_OK && rc != SONDE_E_LIMIT) || !maps.size)
        return false;
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        if (memmem(maps.bytes, maps.size, signs[i], strlen(signs[i])))
            return true;
    }
    return false;
}
