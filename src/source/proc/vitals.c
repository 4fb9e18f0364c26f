#include "source/proc/vitals.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
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
#include "base/folder.h"
#include "base/own.h"
#include "source/proc/group_vitals.h"
#include "source/proc/switches.h"

#define SLOW_EVERY   10u        /* polls between looks at what hardly changes */
#define MOUNTS_LIMIT (4u << 20) /* bytes of mountinfo; beyond it groups are not known */

struct sn_vitals_reader {
    char *root;
    uint32_t pid;
    int folder; /* /proc/PID: stays of this process, whoever gets the pid later */
    int stat;
    int status;
    int io; /* -1: not ours to read */
    clockid_t clock;
    bool has_clock;
    bool with_switches;
    struct sn_switches switches;
    uint64_t poll_count;
    double fd_limit;
    char *cgroup_text; /* its /proc/PID/cgroup when the groups were found */
    struct sn_group_vitals groups;
};

static int open_in(const struct sn_vitals_reader *reader, const char *name)
{
    return openat(reader->folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static int open_folder(struct sn_vitals_reader *reader, struct sonde_error *err)
{
    char path[4200];
    (void)snprintf(path, sizeof(path), "%s/proc/%" PRIu32, reader->root, reader->pid);
    reader->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    reader->stat = reader->folder < 0 ? -1 : open_in(reader, "stat");
    if (reader->stat < 0)
        return sn_fail_errno(err, "cannot read '%s/stat'", path);
    reader->status = open_in(reader, "status");
    reader->io = open_in(reader, "io");
    return SONDE_OK;
}

int sn_vitals_new(const char *root, uint32_t pid, bool with_switches,
                  struct sn_vitals_reader **ret_reader, struct sonde_error *err)
{
    struct sn_vitals_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the vitals of a process");
    *reader = (struct sn_vitals_reader){.root = strdup(root),
                                        .pid = pid,
                                        .folder = -1,
                                        .stat = -1,
                                        .status = -1,
                                        .io = -1,
                                        .with_switches = with_switches,
                                        .switches = sn_switches_none(),
                                        .fd_limit = NAN};
    int status = reader->root ? open_folder(reader, err)
                              : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path");
    if (status != SONDE_OK) {
        sn_vitals_free(reader);
        return status;
    }
    sn_group_vitals_find(&reader->groups, root, "", ""); /* none yet */
    reader->has_clock = !*root && clock_getcpuclockid((pid_t)pid, &reader->clock) == 0;
    *ret_reader = reader;
    return SONDE_OK;
}

void sn_vitals_free(struct sn_vitals_reader *reader)
{
    if (!reader)
        return;
    sn_close(reader->folder);
    sn_close(reader->stat);
    sn_close(reader->status);
    sn_close(reader->io);
    sn_switches_done(&reader->switches);
    free(reader->cgroup_text);
    free(reader->root);
    free(reader);
}

/* A whole small file from its start; false when it cannot be read (any more). */
static bool reread(int fd, char *to, size_t size)
{
    ssize_t got = fd < 0 ? -1 : pread(fd, to, size - 1, 0);
    to[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Field `number` of /proc/PID/stat counted as in proc(5), going on from `at`, which is field
 * `from`. */
static const char *skip_fields(const char *at, int from, int number)
{
    for (; at && from < number; from++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

static double stat_number(const char *fields, int number)
{
    const char *at = skip_fields(fields, 3, number);
    return at ? (double)strtoull(at, NULL, 10) : NAN;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return NAN;
    return (double)now.tv_sec + (double)now.tv_nsec / SN_NS_PER_SECOND;
}

/* False when the process has ended. A zombie has, unless only its first thread is one. */
static bool read_stat(const struct sn_vitals_reader *reader, struct sn_vitals *vitals)
{
    char text[1024];
    if (!reread(reader->stat, text, sizeof(text)))
        return false;
    char *close = strrchr(text, ')'); /* the command itself may hold one */
    if (!close || close[1] != ' ')
        return false;
    const char *fields = close + 2;
    vitals->thread_count = stat_number(fields, 20);
    if (strchr("ZXx", fields[0]) && !(vitals->thread_count > 1))
        return false;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    vitals->minor_faults = stat_number(fields, 10);
    vitals->major_faults = stat_number(fields, 12);
    vitals->user_s = stat_number(fields, 14) * tick_s;
    vitals->system_s = stat_number(fields, 15) * tick_s;
    double up_s = seconds_of(CLOCK_BOOTTIME) - stat_number(fields, 22) * tick_s;
    vitals->up_s = up_s < 0 ? 0 : up_s;
    vitals->virtual_bytes = stat_number(fields, 23);
    vitals->rss_bytes = stat_number(fields, 24) * (double)sysconf(_SC_PAGESIZE);
    return true;
}

static void read_status(const struct sn_vitals_reader *reader, struct sn_vitals *vitals)
{
    static const char *const lines[] = {"VmRSS:", "VmSwap:", NULL};
    char text[256];
    if (reader->status < 0 || sn_file_peek_lines(reader->status, lines, text, sizeof(text)) <= 0)
        return;
    double rss = sn_vitals_line(text, "VmRSS"); /* exact, while stat's may lag behind */
    vitals->rss_bytes = isnan(rss) ? vitals->rss_bytes : rss * 1024;
    vitals->swap_bytes = sn_vitals_line(text, "VmSwap") * 1024;
}

static void read_io(const struct sn_vitals_reader *reader, struct sn_vitals *vitals)
{
    char text[512];
    if (!reread(reader->io, text, sizeof(text)))
        return;
    vitals->read_bytes = sn_vitals_line(text, "rchar");
    vitals->written_bytes = sn_vitals_line(text, "wchar");
    vitals->disk_read_bytes = sn_vitals_line(text, "read_bytes");
    vitals->disk_written_bytes = sn_vitals_line(text, "write_bytes");
}

static double count_entries(int folder)
{
    int fd = openat(folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SN_AUTO(sn_closedir) DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        sn_close(fd);
        return NAN;
    }
    double count = 0;
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
        count += entry->d_name[0] != '.';
    return count;
}

/* Since Linux 6.2 the folder's size is the number of descriptors, which spares a walk and needs no
 * right to read it. */
static double count_descriptors(const struct sn_vitals_reader *reader)
{
    struct stat status;
    if (fstatat(reader->folder, "fd", &status, 0) == 0 && status.st_size > 0 && !*reader->root)
        return (double)status.st_size;
    return count_entries(reader->folder);
}

static void read_fd_limit(struct sn_vitals_reader *reader)
{
    char text[4096];
    reader->fd_limit = NAN;
    if (sn_file_peek_at(reader->folder, "limits", text, sizeof(text)) <= 0)
        return;
    const char *line = strstr(text, "\nMax open files");
    char *end;
    const char *number = line ? line + strlen("\nMax open files") : "";
    double limit = (double)strtoull(number, &end, 10);
    reader->fd_limit = end == number ? NAN : limit; /* "unlimited" is none */
}

/* Groups are looked for again only when the process has been moved. */
static void find_groups(struct sn_vitals_reader *reader)
{
    char text[8192];
    if (sn_file_peek_at(reader->folder, "cgroup", text, sizeof(text)) <= 0)
        return;
    if (reader->cgroup_text && strcmp(reader->cgroup_text, text) == 0) {
        sn_group_vitals_find_limits(&reader->groups);
        return;
    }
    SN_AUTO(sn_buf_done) struct sn_buf mounts = sn_buf_with_limit(MOUNTS_LIMIT);
    char path[4200];
    (void)snprintf(path, sizeof(path), "%s/proc/self/mountinfo", reader->root);
    if (sn_file_read_at(AT_FDCWD, path, &mounts, NULL) != SONDE_OK)
        return;
    sn_group_vitals_find(&reader->groups, reader->root, text, sn_buf_string(&mounts));
    free(reader->cgroup_text);
    reader->cgroup_text = strdup(text);
}

/* Every number not known; the struct holds nothing but doubles behind its time. */
static struct sn_vitals nothing_known(void)
{
    union {
        struct sn_vitals vitals;
        double numbers[sizeof(struct sn_vitals) / sizeof(double)];
    } all;
    for (size_t i = 0; i < sizeof(all.numbers) / sizeof(all.numbers[0]); i++)
        all.numbers[i] = NAN;
    return all.vitals;
}

int sn_vitals_poll(struct sn_vitals_reader *reader, struct sn_vitals *ret_vitals,
                   struct sonde_error *err)
{
    struct sn_vitals *vitals = ret_vitals;
    *vitals = nothing_known();
    vitals->time_ns = sn_clock_monotonic_ns();
    /* Before stat: when that can still be read, the clock was of this process and no later one. */
    vitals->cpu_s = reader->has_clock ? seconds_of(reader->clock) : NAN;
    if (!read_stat(reader, vitals))
        return sn_fail(err, SONDE_E_GONE, 0, "process %" PRIu32 " has ended", reader->pid);
    if (isnan(vitals->cpu_s))
        vitals->cpu_s = vitals->user_s + vitals->system_s;
    read_status(reader, vitals);
    read_io(reader, vitals);
    vitals->fd_count = count_descriptors(reader);
    if (reader->poll_count++ % SLOW_EVERY == 0) {
        read_fd_limit(reader);
        find_groups(reader);
    }
    vitals->fd_limit = reader->fd_limit;
    if (reader->with_switches)
        sn_switches_read(&reader->switches, reader->folder, vitals);
    sn_group_vitals_read(&reader->groups, reader->root, vitals);
    return SONDE_OK;
}
