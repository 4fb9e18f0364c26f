/* The memory of a live process: /proc/PID/mem and /proc/PID/maps. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "source/memory/memory.h"
#include "source/memory/memory_internal.h"

#define LINE_MAX_SIZE (8u << 10) /* a path is 4 KiB at most, and may be escaped */

struct process {
    int fd;
};

static size_t read_process(void *user, uint64_t address, void *to, size_t size)
{
    const struct process *process = user;
    return sn_file_read_from(process->fd, address, to, size);
}

static void free_process(void *user)
{
    struct process *process = user;
    sn_close(process->fd);
    free(process);
}

/* --- why not --- */

static bool has_other_user(uint32_t pid)
{
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
    return stat(path, &status) == 0 && geteuid() != 0 && status.st_uid != geteuid();
}

static int yama_scope(void)
{
    char text[16];
    if (sn_file_peek_at(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) <= 0)
        return 0;
    return (int)strtol(text, NULL, 10);
}

static int refuse(uint32_t pid, struct sonde_error *err)
{
    if (has_other_user(pid))
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "the memory of pid %" PRIu32 " cannot be read: it belongs to another user; "
                       "run as that user or as root",
                       pid);
    int scope = yama_scope();
    if (scope > 0)
        return sn_fail(err, SONDE_E_DENIED, 0,
                       "the memory of pid %" PRIu32 " cannot be read: kernel.yama.ptrace_scope is "
                       "%d; run as root, or with CAP_SYS_PTRACE, or set it to 0",
                       pid, scope);
    return sn_fail(err, SONDE_E_DENIED, 0,
                   "the memory of pid %" PRIu32
                   " cannot be read: it has rights that we have not, or "
                   "this container may not; run as root, or with CAP_SYS_PTRACE",
                   pid);
}

static int open_file(uint32_t pid, int *ret_fd, struct sonde_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd >= 0)
        return SONDE_OK;
    if (errno == EACCES || errno == EPERM)
        return refuse(pid, err);
    if (errno == ENOENT || errno == ESRCH)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no process %" PRIu32, pid);
    return sn_fail_errno(err, "%s", path);
}

/* --- mappings --- */

/* "start-end perms offset major:minor inode   path" */
static bool parse_map(char *line, struct sn_memory_map *ret_map)
{
    char *at = line;
    *ret_map = (struct sn_memory_map){.start = strtoull(at, &at, 16)};
    if (*at != '-')
        return false;
    ret_map->end = strtoull(at + 1, &at, 16);
    if (*at != ' ' || strlen(at) < 6)
        return false;
    ret_map->flags = (at[1] == 'r' ? (uint32_t)SN_MAP_READ : 0) |
                     (at[2] == 'w' ? (uint32_t)SN_MAP_WRITE : 0) |
                     (at[3] == 'x' ? (uint32_t)SN_MAP_CODE : 0);
    ret_map->offset = strtoull(at + 6, &at, 16);
    unsigned major = (unsigned)strtoul(at, &at, 16);
    unsigned minor = *at == ':' ? (unsigned)strtoul(at + 1, &at, 16) : 0;
    ret_map->device = makedev(major, minor);
    ret_map->inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    at[strcspn(at, "\n")] = '\0';
    ret_map->path = at;
    return true;
}

static void close_file(FILE **slot)
{
    if (*slot)
        (void)fclose(*slot);
}

int sn_memory_refresh_maps(struct sn_memory *memory, struct sonde_error *err)
{
    char path[64];
    char line[LINE_MAX_SIZE];
    if (!memory->pid)
        return SONDE_OK;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", memory->pid);
    __attribute__((cleanup(close_file))) FILE *file = fopen(path, "re");
    if (!file)
        return errno == EACCES
                   ? refuse(memory->pid, err)
                   : sn_fail(err, SONDE_E_GONE, 0, "pid %" PRIu32 " has ended", memory->pid);
    memory->map_count = 0;
    while (fgets(line, sizeof(line), file)) {
        struct sn_memory_map map;
        if (parse_map(line, &map) && !sn_memory_add_map(memory, &map))
            return sn_fail(err, SONDE_E_LIMIT, 0, "pid %" PRIu32 " has more than %u mappings",
                           memory->pid, SN_MEMORY_MAPS_MAX);
    }
    if (!memory->map_count)
        return sn_fail(err, SONDE_E_GONE, 0, "pid %" PRIu32 " has ended", memory->pid);
    return SONDE_OK;
}

int sn_memory_of_process(uint32_t pid, struct sn_memory **ret_memory, struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = -1;
    SN_AUTO(sn_memory_free) struct sn_memory *memory = NULL;
    int rc = open_file(pid, &fd, err);
    if (rc != SONDE_OK)
        return rc;
    struct process *process = malloc(sizeof(*process));
    if (!process)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for reading a process");
    process->fd = sn_take_fd(&fd);
    const struct sn_memory_source source = {read_process, free_process, process};
    rc = sn_memory_of_source(&source, NULL, 0, &memory, err);
    if (rc != SONDE_OK)
        return rc;
    memory->pid = pid;
    rc = sn_memory_refresh_maps(memory, err);
    if (rc == SONDE_OK)
        *ret_memory = SN_TAKE(memory);
    return rc;
}
