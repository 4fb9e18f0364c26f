#include "api/counter_poller.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/own.h"

/* Threads that are looked at: the poller is older than most. */
#define THREAD_MAX 4096u

/* As the kernel cuts their names. The first stays when its work is done; the second is there only
 * while somebody listens to meters. */
#define COUNTER_THREAD ".NET Counter Po"
#define METER_THREAD   "MetricsEventSou"

static bool read_small(int tasks, const char *thread, const char *file, char *to, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%.16s/%s", thread, file);
    SN_AUTO(sn_close) int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t got = fd < 0 ? -1 : read(fd, to, size - 1);
    to[got > 0 ? got : 0] = '\0';
    to[strcspn(to, "\n")] = '\0';
    return got > 0;
}

/* "202 0xuaddr 0xop 0xvalue 0xtimeout ...": without a timeout it waits to be woken, that is for
 * the next listener. */
static bool waits_for_ever(int tasks, const char *thread)
{
    char line[256];
    if (!read_small(tasks, thread, "syscall", line, sizeof(line)))
        return false;
    char *at = line;
    bool is_futex = strtol(at, &at, 10) == SYS_futex;
    for (int argument = 0; argument < 3; argument++)
        (void)strtoull(at, &at, 16);
    return is_futex && strtoull(at, &at, 16) == 0 && at != line;
}

static bool is_busy(int tasks, const char *thread)
{
    char name[32];
    if (!read_small(tasks, thread, "comm", name, sizeof(name)))
        return false;
    if (strcmp(name, METER_THREAD) == 0)
        return true;
    return strcmp(name, COUNTER_THREAD) == 0 && !waits_for_ever(tasks, thread);
}

bool sn_counter_poller_is_idle(uint32_t pid)
{
    char path[64];
    unsigned looked_at = 0;
    (void)snprintf(path, sizeof(path), "/proc/%u/task", pid);
    SN_AUTO(sn_closedir) DIR *tasks = opendir(path);
    if (!tasks)
        return false;
    for (const struct dirent *entry; (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.')
            continue;
        if (++looked_at > THREAD_MAX || is_busy(dirfd(tasks), entry->d_name))
            return false;
    }
    return looked_at > 0;
}
