/* sonde counters without a terminal: a line a value, each interval. Numbers come first, so that
 * they are aligned whatever the names are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/counter_text.h"
#include "cli/counters_views.h"

#define LINES_LIMIT (64u << 20)

/* Text from outside that ends at its column; what is longer is cut. */
static void put_right(struct sn_buf *to, const char *text, size_t width)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(1024);
    size_t columns = 0;
    size_t bytes = 0;
    sn_text_printable(&safe, text, strlen(text));
    const char *shown = sn_buf_string(&safe);
    for (; shown[bytes]; bytes++) {
        bool begins = ((unsigned char)shown[bytes] & 0xC0u) != 0x80u;
        if (begins && columns == width)
            break;
        columns += begins;
    }
    sn_buf_fill(to, ' ', width - columns);
    sn_buf_append(to, shown, bytes);
}

static void put_safe(struct sn_buf *to, const char *text)
{
    sn_text_printable(to, text, strlen(text));
}

static void put_name(struct sn_buf *to, const struct sonde_point *point)
{
    put_safe(to, point->provider);
    sn_buf_text(to, "  ");
    put_safe(to, point->display_name);
    if (*point->tag_text) {
        sn_buf_u8(to, '[');
        put_safe(to, point->tag_text);
        sn_buf_u8(to, ']');
    }
}

/* Whether it is of the whole machine: the same, whichever process it came with. */
static bool is_machine(const struct sonde_point *point)
{
    return point->origin == SONDE_POINT_KERNEL && strcmp(point->provider, "machine") == 0;
}

static void put_line(struct sn_buf *to, const struct sonde_point *point)
{
    char text[SN_COUNTER_TEXT];
    char stamp[16];
    time_t seconds = (time_t)(point->utc_ns / SN_NS_PER_SECOND);
    struct tm parts = {.tm_mday = 1};
    (void)localtime_r(&seconds, &parts);
    (void)strftime(stamp, sizeof(stamp), "%H:%M:%S", &parts);
    char pid[16] = "-";
    if (!is_machine(point))
        (void)snprintf(pid, sizeof(pid), "%" PRIu32, point->pid);
    sn_buf_format(to, "%s %8s ", stamp, pid);
    put_right(to, sn_counter_text(sn_counter_main(point), point->unit, text), 14);
    put_right(to, sn_counter_rate_text(point, text), 15);
    sn_buf_text(to, point->is_provisional ? " ~  " : "    ");
    put_name(to, point);
    SN_AUTO(sn_buf_done) struct sn_buf detail = sn_buf_with_limit(4096);
    sn_counter_detail(&detail, point);
    if (detail.size) {
        sn_buf_text(to, "  ");
        put_safe(to, sn_buf_string(&detail));
    }
    sn_buf_u8(to, '\n');
}

struct line {
    const struct sonde_point *point;
};

/* What the kernel tells of the process, then of its group, then what the runtime tells. */
static int rank(const struct sonde_point *point)
{
    if (point->origin != SONDE_POINT_KERNEL)
        return 2;
    return strcmp(point->provider, "process") != 0;
}

static int compare(const void *left, const void *right)
{
    const struct sonde_point *a = ((const struct line *)left)->point;
    const struct sonde_point *b = ((const struct line *)right)->point;
    if (is_machine(a) != is_machine(b))
        return is_machine(a) ? 1 : -1;
    if (!is_machine(a) && a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (!is_machine(a) && rank(a) != rank(b))
        return rank(a) - rank(b);
    return a < b ? -1 : a > b; /* as they come: by provider, name, tags and pid */
}

/* Told already, with another process. */
static bool is_repeated(const struct line *lines, size_t at)
{
    const struct sonde_point *point = lines[at].point;
    const struct sonde_point *before = at ? lines[at - 1].point : NULL;
    return before && is_machine(point) && is_machine(before) &&
           strcmp(point->name, before->name) == 0 && strcmp(point->tag_text, before->tag_text) == 0;
}

/* Every value that has come since the last time: one that a process did not tell anew is not told
 * again. */
static int tick(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    struct sn_counters_lines *lines = user;
    const struct sonde_point *points;
    size_t count;
    size_t shown = 0;
    uint64_t latest = lines->shown_ns;
    int rc = run->source->ops->latest(run->source, 0, &points, &count, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_free) struct line *sorted = calloc(count + 1, sizeof(*sorted));
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(LINES_LIMIT);
    if (!sorted)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for values");
    for (size_t i = 0; i < count; i++) {
        latest = points[i].time_ns > latest ? points[i].time_ns : latest;
        if (points[i].time_ns > lines->shown_ns)
            sorted[shown++].point = &points[i];
    }
    lines->shown_ns = latest;
    qsort(sorted, shown, sizeof(*sorted), compare);
    if (shown && !lines->has_head)
        sn_buf_format(&out, "%-8s %8s %14s%15s    %s\n", "TIME", "PID", "VALUE", "RATE",
                      "PROVIDER  NAME[TAGS]");
    lines->has_head = lines->has_head || shown;
    for (size_t i = 0; i < shown; i++) {
        if (!is_repeated(sorted, i))
            put_line(&out, sorted[i].point);
    }
    return sn_counters_put(STDOUT_FILENO, &out, err);
}

static int show(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    (void)user;
    return sn_counters_each_interval(run, NULL, tick, err);
}

const struct sn_counters_view sn_counters_lines_view = {.show = show};
