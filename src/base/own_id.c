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
    char path[64];
    char status[4096];
    uint64_t id = tid ? tid : pid;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu64 "/status", pid, id);
    if (sn_file_peek_at(AT_FDCWD, path, status, sizeof(status)) <= 0)
        return 0;
    char *at = strstr(status, "\nNSpid:");
    if (at)
        at += strlen("\nNSpid:");
    while (at && (*at == '\t' || *at == ' '))
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
