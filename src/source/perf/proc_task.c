#include "source/perf/proc_task.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"

/* A line of maps is the fixed part and a path, of which the kernel shows at most a page. */
#define MAPS_CHUNK 8192u

uint32_t sn_proc_task_number(const char *name)
{
    if (*name < '1' || *name > '9')
        return 0;
    return (uint32_t)strtoul(name, NULL, 10);
}

static bool read_name(const char *path, char *to, size_t size)
{
    char text[64];
    long got = sn_file_peek_at(AT_FDCWD, path, text, sizeof(text));
    if (got <= 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(to, size, "%s", text);
    return true;
}

bool sn_proc_task_name(uint32_t pid, char *to, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    return read_name(path, to, size);
}

bool sn_proc_task_thread_name(uint32_t pid, uint32_t tid, char *to, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
    return read_name(path, to, size);
}

/* State and parent stand behind the name, which may hold anything; its parenthesis is the last. */
static bool read_stat(uint32_t pid, char *ret_state, uint32_t *ret_parent)
{
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    if (sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return false;
    const char *behind = strrchr(text, ')');
    if (!behind || strlen(behind) < 4)
        return false;
    *ret_state = behind[2];
    *ret_parent = (uint32_t)strtoul(behind + 4, NULL, 10);
    return true;
}

uint32_t sn_proc_task_parent(uint32_t pid)
{
    char state;
    uint32_t parent;
    return read_stat(pid, &state, &parent) ? parent : 0;
}

bool sn_proc_task_has_threads(uint32_t pid)
{
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    return stat(path, &status) == 0 && status.st_nlink > 3;
}

bool sn_proc_task_lives(uint32_t pid)
{
    char state;
    uint32_t parent;
    if (!read_stat(pid, &state, &parent))
        return false;
    return (state != 'Z' && state != 'X') || sn_proc_task_has_threads(pid);
}

void sn_proc_task_threads(uint32_t pid, sn_proc_thread_fn *visit, void *user)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        uint32_t tid = sn_proc_task_number(entry->d_name);
        if (tid)
            visit(user, pid, tid);
    }
    (void)closedir(dir);
}

/* "start-end perms offset major:minor inode   path" */
static bool parse_mapping(char *line, struct sn_proc_mapping *ret_mapping)
{
    char *at = line;
    ret_mapping->start = strtoull(at, &at, 16);
    if (*at != '-')
        return false;
    ret_mapping->end = strtoull(at + 1, &at, 16);
    if (*at != ' ' || strlen(at) < 6 || at[3] != 'x')
        return false;
    ret_mapping->offset = strtoull(at + 6, &at, 16);
    unsigned major = (unsigned)strtoul(at, &at, 16);
    unsigned minor = *at == ':' ? (unsigned)strtoul(at + 1, &at, 16) : 0;
    ret_mapping->device = makedev(major, minor);
    ret_mapping->inode = strtoull(at, &at, 10);
    ret_mapping->path = at + strspn(at, " ");
    return true;
}

/* Every whole line of `text`; returns how much of it they were. */
static size_t take_lines(char *text, sn_proc_mapping_fn *visit, void *user)
{
    char *line = text;
    for (char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
        struct sn_proc_mapping mapping;
        *end = '\0';
        if (parse_mapping(line, &mapping))
            visit(user, &mapping);
        line = end + 1;
    }
    return (size_t)(line - text);
}

bool sn_proc_task_mappings(uint32_t pid, sn_proc_mapping_fn *visit, void *user)
{
    char path[64];
    char text[MAPS_CHUNK + 1];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t held = 0;
    for (;;) {
        ssize_t got = read(fd, text + held, MAPS_CHUNK - held);
        if (got <= 0)
            return got == 0;
        held += (size_t)got;
        text[held] = '\0';
        size_t taken = take_lines(text, visit, user);
        held -= taken;
        if (held == MAPS_CHUNK)
            return false; /* no line is that long */
        memmove(text, text + taken, held);
    }
}
