#include "base/own_id.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

uint64_t sn_own_id(uint32_t pid, uint32_t tid)
{
    static const char *const lines[] = {"NSpid:", NULL};
    char path[64];
    char text[512];
    uint64_t id = tid ? tid : pid;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu64 "/status", pid, id);
    long size = sn_file_peek_lines_at(AT_FDCWD, path, lines, text, sizeof(text));
    if (size < 0)
        return 0;
    char *at = text + (size ? strlen(lines[0]) : 0); /* one for each namespace, ours first */
    while (*at == '\t' || *at == ' ')
        id = strtoull(at, &at, 10);
    return id;
}

bool sn_own_id_is_apart(uint32_t pid)
{
    char path[64];
    struct stat ours;
    struct stat theirs;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/pid", pid);
    return stat("/proc/self/ns/pid", &ours) != 0 || stat(path, &theirs) != 0 ||
           ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}
