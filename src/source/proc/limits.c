#include "source/proc/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* What version 1 says for "no limit" is a huge number, rounded to pages. */
#define NO_LIMIT_V1 (1ull << 62)

static uint64_t read_limit(const char *root, const char *mount, const char *group, const char *file)
{
    char path[4608];
    char text[64];
    int length = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s/%s", root, mount, group, file);
    if (length < 0 || (size_t)length >= sizeof(path) ||
        sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return UINT64_MAX;
    char *end;
    uint64_t limit = strtoull(text, &end, 10);
    return end == text || limit >= NO_LIMIT_V1 ? UINT64_MAX : limit; /* "max" is not a number */
}

/* A limit above binds as well as the group's own. `group` is cut on the way up. */
static uint64_t tightest(const char *root, const char *mount, char *group, const char *file)
{
    uint64_t limit = UINT64_MAX;
    for (;;) {
        uint64_t here = read_limit(root, mount, group, file);
        limit = here < limit ? here : limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

uint64_t sn_proc_memory_limit(const char *root, uint32_t pid)
{
    char path[4352];
    char text[4096];
    (void)snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/cgroup", root, pid);
    if (sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return UINT64_MAX;
    uint64_t limit = UINT64_MAX;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        uint64_t here = UINT64_MAX;
        if (strcmp(controllers, ":") == 0)
            here = tightest(root, "", group, "memory.max");
        else if (strstr(controllers, "memory"))
            here = tightest(root, "/memory", group, "memory.limit_in_bytes");
        limit = here < limit ? here : limit;
    }
    return limit;
}
