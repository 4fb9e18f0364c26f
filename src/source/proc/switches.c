#include "source/proc/switches.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/own.h"
#include "source/proc/group_vitals.h"
#include "source/proc/vitals.h"

#define THREAD_LIMIT 65536u

struct sn_switches sn_switches_none(void)
{
    struct sn_table none = sn_table_with_limit(THREAD_LIMIT);
    return (struct sn_switches){none, none, none, none, 0, 0};
}

void sn_switches_done(struct sn_switches *switches)
{
    sn_table_done(&switches->voluntary);
    sn_table_done(&switches->involuntary);
    sn_table_done(&switches->next_voluntary);
    sn_table_done(&switches->next_involuntary);
}

/* What a thread switched since the last look; all of it when it is new. */
static double advance(const struct sn_table *before, struct sn_table *next, uint32_t tid,
                      double count)
{
    const uint64_t *known = sn_table_find(before, tid);
    uint64_t *slot = sn_table_put(next, tid);
    uint64_t now = isnan(count) ? 0 : (uint64_t)count;
    if (slot)
        *slot = now;
    return known && *known <= now ? (double)(now - *known) : (double)now;
}

static void look_at(struct sn_switches *switches, int tasks, const char *name)
{
    char path[300];
    char text[256];
    static const char *const lines[] = {
        "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:", NULL};
    uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
    (void)snprintf(path, sizeof(path), "%s/status", name);
    if (!tid || sn_file_peek_lines_at(tasks, path, lines, text, sizeof(text)) <= 0)
        return;
    switches->voluntary_total += advance(&switches->voluntary, &switches->next_voluntary, tid,
                                         sn_vitals_line(text, "voluntary_ctxt_switches"));
    switches->involuntary_total += advance(&switches->involuntary, &switches->next_involuntary, tid,
                                           sn_vitals_line(text, "nonvoluntary_ctxt_switches"));
}

static void replace(struct sn_table *before, struct sn_table *next)
{
    struct sn_table old = *before;
    *before = *next;
    *next = old;
    sn_table_clear(next);
}

void sn_switches_read(struct sn_switches *switches, int folder, struct sn_vitals *vitals)
{
    int fd = openat(folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    if (!tasks) {
        sn_close(fd);
        return;
    }
    for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
        look_at(switches, dirfd(tasks), entry->d_name);
    (void)closedir(tasks);
    replace(&switches->voluntary, &switches->next_voluntary);
    replace(&switches->involuntary, &switches->next_involuntary);
    vitals->voluntary_switches = switches->voluntary_total;
    vitals->involuntary_switches = switches->involuntary_total;
}
