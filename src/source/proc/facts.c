#include "source/proc/facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/own_id.h"
#include "base/user.h"

/* The largest map list we read to find the runtime; beyond it the version stays unknown. */
#define MAPS_LIMIT (4u << 20)

static uint64_t ticks_to_ns(uint64_t ticks)
{
    long per_second = sysconf(_SC_CLK_TCK);
    return per_second > 0 ? ticks * (SN_NS_PER_SECOND / (uint64_t)per_second) : 0;
}

static long peek(uint32_t pid, const char *file, char *to, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, file);
    return sn_file_peek_at(AT_FDCWD, path, to, size);
}

/* Field `number` of /proc/PID/stat counted as in proc(5), from the text behind the command's ")".
 */
static uint64_t stat_field(const char *after_comm, int number)
{
    const char *at = after_comm;
    for (int field = 3; at && field < number; field++)
        at = *at ? strchr(at + 1, ' ') : NULL;
    return at ? strtoull(at, NULL, 10) : 0;
}

bool sn_proc_facts_of_stat(const char *text, struct sn_proc_facts *facts)
{
    const char *open = strchr(text, '(');
    const char *close = open ? strrchr(open, ')') : NULL; /* the command itself may hold one */
    if (!close)
        return false;
    const char *fields = close + 1;
    size_t length = (size_t)(close - (open + 1));
    if (length >= sizeof(facts->comm))
        length = sizeof(facts->comm) - 1;
    memcpy(facts->comm, open + 1, length);
    facts->state = '?';
    if (fields[0])
        facts->state = fields[1];
    facts->parent = (uint32_t)stat_field(fields, 4);
    facts->cpu_ns = ticks_to_ns(stat_field(fields, 14) + stat_field(fields, 15));
    facts->thread_count = (uint32_t)stat_field(fields, 20);
    facts->start_ticks = stat_field(fields, 22);
    facts->rss_bytes = stat_field(fields, 24) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct timespec boot; /* start times count from boot, sleep included */
    (void)clock_gettime(CLOCK_BOOTTIME, &boot);
    uint64_t now = (uint64_t)boot.tv_sec * SN_NS_PER_SECOND + (uint64_t)boot.tv_nsec;
    uint64_t start = ticks_to_ns(facts->start_ticks);
    facts->up_ns = now > start ? now - start : 0;
    return true;
}

static bool take_stat(struct sn_proc_facts *facts)
{
    char text[1024];
    return peek(facts->pid, "stat", text, sizeof(text)) > 0 && sn_proc_facts_of_stat(text, facts);
}

static void take_owner(struct sn_proc_facts *facts)
{
    char path[32];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32, facts->pid);
    if (stat(path, &status) == 0)
        facts->uid = status.st_uid;
    (void)sn_user_name(facts->uid, facts->user);
}

static void take_command_line(struct sn_proc_facts *facts)
{
    long size = peek(facts->pid, "cmdline", facts->command_line, sizeof(facts->command_line));
    if (size < 0)
        facts->command_line[0] = '\0';
    for (long i = 0; i + 1 < size; i++) {
        if (facts->command_line[i] == '\0')
            facts->command_line[i] = ' ';
    }
}

static void take_ns_pid(struct sn_proc_facts *facts)
{
    uint64_t own = sn_own_id(facts->pid, 0);
    facts->ns_pid = own ? (uint32_t)own : facts->pid;
}

/* Lines are "number:controllers:path"; the unified tree is number 0. */
static void take_cgroup(struct sn_proc_facts *facts, const char *text)
{
    const char *unified = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    const char *line = unified ? unified + (*unified == '\n') : text;
    const char *first = strchr(line, ':');
    const char *path = first ? strchr(first + 1, ':') : NULL;
    if (path)
        (void)snprintf(facts->cgroup, sizeof(facts->cgroup), "%.*s", (int)strcspn(path + 1, "\n"),
                       path + 1);
}

/* Container engines put a 64-digit id into the cgroup's path; its first 12 digits are what they
 * show. */
void sn_proc_facts_of_cgroup(const char *text, struct sn_proc_facts *facts)
{
    take_cgroup(facts, text);
    size_t run = 0;
    for (const char *at = text;; at++) {
        if (isxdigit((unsigned char)*at)) {
            run++;
            continue;
        }
        if (run == 64) {
            memcpy(facts->container, at - 64, 12);
            return;
        }
        if (!*at)
            return;
        run = 0;
    }
}

static void take_groups(struct sn_proc_facts *facts)
{
    char text[4096];
    if (peek(facts->pid, "cgroup", text, sizeof(text)) > 0)
        sn_proc_facts_of_cgroup(text, facts);
}

bool sn_proc_version_in_maps(const char *maps, char *to, size_t size)
{
    const char *library = strstr(maps, "/libcoreclr.so");
    if (!library)
        return false;
    const char *start = library;
    while (start > maps && start[-1] != '/')
        start--;
    size_t length = (size_t)(library - start);
    if (!length || !isdigit((unsigned char)*start) || length >= size)
        return false;
    memcpy(to, start, length);
    to[length] = '\0';
    return true;
}

bool sn_proc_runtime_version(uint32_t pid, char *to, size_t size)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
    SN_AUTO(sn_buf_done) struct sn_buf maps = sn_buf_with_limit(MAPS_LIMIT);
    struct sonde_error ignored = {0};
    return sn_file_read_at(AT_FDCWD, path, &maps, &ignored) == SONDE_OK &&
           sn_proc_version_in_maps(sn_buf_string(&maps), to, size);
}

bool sn_proc_facts_read(uint32_t pid, struct sn_proc_facts *ret_facts)
{
    *ret_facts = (struct sn_proc_facts){.pid = pid};
    if (!take_stat(ret_facts))
        return false;
    take_owner(ret_facts);
    take_ns_pid(ret_facts);
    take_command_line(ret_facts);
    take_groups(ret_facts);
    return true;
}
