#include "cli/counters_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/entrance.h"
#include "cli/open_files.h"
#include "cli/remote_counters.h"
#include "cli/signals.h"
#include "cli/terminal.h"

/* The meters of a process that has just started are asked for 5 s after its start, or 3.5 s after
 * its first value. */
#define OPENING_MOST_NS (15ull * SN_NS_PER_SECOND)

/* Beyond two intervals: counters have one, meters the next. Another tool's may be hours. */
#define SILENT_NS        (3ull * SN_NS_PER_SECOND)
#define INTERVAL_MOST_NS (60ull * SN_NS_PER_SECOND)

#define TEXT_LIMIT 4096u
#define LOOK_NS    (200ull * SN_NS_PER_MS) /* how often the child's end is looked for */
#define ONCE_NS    (20ull * SN_NS_PER_MS)  /* and whether all have told their values once */
#define FIRST_NS   (150ull * SN_NS_PER_MS) /* values that come together are shown together */

uint64_t sn_counters_interval_ns(const struct sn_counters_run *run)
{
    return run->options.interval_ns ? run->options.interval_ns : SN_NS_PER_SECOND;
}

const struct sonde_process *sn_counters_process_of(const struct sn_counters_run *run, uint32_t pid)
{
    struct sonde_watched watched;
    return run->source->ops->find(run->source, pid, &watched) ? watched.process : NULL;
}

/* --- when it is over --- */

/* Gone, or dead and not buried. A runtime that cannot be asked (any more) is another thing: the
 * kernel tells on. */
static bool is_gone(const struct sn_counters_run *run, uint32_t pid)
{
    char path[32];
    char stat[512];
    if (run->remote) /* only the controller can know, and has said it */
        return true;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    if (sn_file_peek_at(AT_FDCWD, path, stat, sizeof(stat)) <= 0)
        return true;
    const char *name_end = strrchr(stat, ')');
    return !name_end || strchr("ZX", name_end[1] ? name_end[2] : 'X');
}

/* None of those that were found lives. */
static bool has_nobody(const struct sn_counters_run *run)
{
    for (size_t i = 0; i < run->source->ops->process_count(run->source); i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        if (watched.phase != SONDE_CONSUMER_ENDED || !is_gone(run, watched.process->pid))
            return false;
    }
    return true;
}

/* Processes that were given by number can all have ended; of others more may come. */
static bool is_deserted(const struct sn_counters_run *run)
{
    return !run->options.all && !run->options.name_count && has_nobody(run);
}

/* Another Sonde or tool may have set a longer interval than ours: its values are waited for. */
static uint64_t interval_to_wait_ns(const struct sn_counters_run *run, uint64_t theirs_ns)
{
    uint64_t ours_ns = sn_counters_interval_ns(run);
    if (theirs_ns > INTERVAL_MOST_NS)
        theirs_ns = INTERVAL_MOST_NS;
    return theirs_ns > ours_ns ? theirs_ns : ours_ns;
}

/* Every runtime has been asked for a while, and some have nothing of it. */
static bool is_silent(struct sn_counters_run *run)
{
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t longest_ns = 0;
    size_t count = run->source->ops->process_count(run->source);
    bool are_live = count > 0;
    for (size_t i = 0; i < count; i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        are_live = are_live && watched.phase != SONDE_CONSUMER_OPENING;
        longest_ns = watched.interval_ns > longest_ns ? watched.interval_ns : longest_ns;
    }
    if (!are_live)
        run->live_ns = 0; /* another has come */
    else if (!run->live_ns)
        run->live_ns = now;
    return run->live_ns &&
           now > run->live_ns + 2 * interval_to_wait_ns(run, longest_ns) + SILENT_NS;
}

/* The first values of everybody are there, or cannot be expected any more. */
static bool is_enough(struct sn_counters_run *run)
{
    uint64_t passed = sn_clock_monotonic_ns() - run->started_ns;
    uint64_t interval = sn_counters_interval_ns(run);
    bool is_whole = passed >= interval + FIRST_NS;
    bool has_some = false;
    if (!run->once || (!is_whole && !run->has_provisional && !run->remote)) /* which has them */
        return false;
    if (run->options.no_runtime || is_silent(run) ||
        (!run->live_ns && passed > 3 * interval + OPENING_MOST_NS))
        return true;
    for (size_t i = 0; i < run->source->ops->process_count(run->source); i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        if (!watched.is_complete && watched.phase != SONDE_CONSUMER_ENDED)
            return false;
        has_some = has_some || watched.is_complete;
    }
    return has_some || is_whole; /* by name none may have been found yet */
}

static bool is_any_opening(const struct sn_counters_run *run)
{
    for (size_t i = 0; i < run->source->ops->process_count(run->source); i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        if (watched.phase == SONDE_CONSUMER_OPENING)
            return true;
    }
    return false;
}

/* The time counts from when the runtimes are heard: one that has just started is asked later. */
static void mind_start(struct sn_counters_run *run)
{
    uint64_t now = sn_clock_monotonic_ns();
    if (!run->duration_ns || run->has_begun)
        return;
    run->end_ns = now + run->duration_ns;
    run->has_begun =
        run->options.no_runtime || now >= run->started_ns + OPENING_MOST_NS || !is_any_opening(run);
}

static bool is_over(struct sn_counters_run *run)
{
    mind_start(run);
    if (sn_clock_monotonic_ns() >= run->end_ns || is_enough(run))
        return true;
    if (run->entrance && run->entrance->is_command)
        return sn_entrance_exit_code(run->entrance) >= 0;
    return is_deserted(run);
}

/* --- waiting --- */

static int shorter(int left, int right)
{
    if (left < 0 || right < 0)
        return left < 0 ? right : left;
    return left < right ? left : right;
}

static int poll_ms(const struct sn_counters_run *run, uint64_t until_ns)
{
    uint64_t until = until_ns < run->end_ns ? until_ns : run->end_ns;
    uint64_t look_ns = run->once ? ONCE_NS : LOOK_NS;
    int timeout = shorter(run->source->ops->wait_ms(run->source), sn_clock_poll_ms(until));
    return run->once || run->entrance ? shorter(timeout, (int)(look_ns / SN_NS_PER_MS)) : timeout;
}

int sn_counters_wait(struct sn_counters_run *run, uint64_t until_ns, int input,
                     struct sonde_error *err)
{
    struct pollfd polled[] = {
        {.fd = run->source->ops->fd(run->source), .events = POLLIN},
        {.fd = run->signals, .events = POLLIN},
        {.fd = input, .events = POLLIN},
        {.fd = run->entrance ? sn_entrance_fd(run->entrance) : -1, .events = POLLIN}};
    uint64_t before = run->value_count;
    for (;;) {
        bool is_interrupted = poll(polled, 4, poll_ms(run, until_ns)) < 0; /* another size */
        if (is_interrupted && errno != EINTR)
            return sn_fail_errno(err, "cannot wait for values");
        if (!is_interrupted && polled[1].revents) {
            run->was_stopped = sn_signals_drain(run->signals);
            return SN_COUNTERS_OVER;
        }
        int rc = run->source->ops->turn(run->source, err);
        if (rc >= 0 && run->entrance)
            rc = sn_entrance_turn(run->entrance, err);
        if (rc < 0)
            return rc;
        if (is_over(run))
            return SN_COUNTERS_OVER;
        if (is_interrupted || polled[2].revents)
            return SN_COUNTERS_INPUT;
        if (sn_clock_monotonic_ns() >= until_ns)
            return SN_COUNTERS_TIME;
        if (run->value_count != before)
            return SN_COUNTERS_TURNED;
    }
}

static void put_nobody(const struct sn_counters_run *run, const char *end)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    sn_counters_say_nobody(&text, &run->options);
    sn_terminal_put(stderr, SN_STYLE_WARN, sn_buf_string(&text));
    (void)fputs(end, stderr);
}

/* Once: whoever waits should know what for. */
static void tell_nobody(struct sn_counters_run *run)
{
    if (run->has_told_nobody || run->source->ops->process_count(run->source))
        return;
    put_nobody(run, " yet: waiting for one\n");
    run->has_told_nobody = true;
}

/* Whether a key says so; the input's end only ends listening to it. */
static bool is_quit(struct sn_counters_run *run)
{
    char keys[64];
    ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
    if (got <= 0)
        run->reads_keys = got < 0 && errno == EINTR;
    run->was_stopped =
        got > 0 && (memchr(keys, 'q', (size_t)got) || memchr(keys, 'Q', (size_t)got));
    return run->was_stopped;
}

int sn_counters_each_interval(struct sn_counters_run *run, sn_counters_step_fn *turned,
                              sn_counters_step_fn *tick, struct sonde_error *err)
{
    uint64_t interval = sn_counters_interval_ns(run);
    uint64_t due_ns = run->once ? UINT64_MAX : sn_clock_deadline(interval + FIRST_NS);
    bool has_first = run->once; /* once is at the end */
    for (;;) {
        int why = sn_counters_wait(run, due_ns, run->reads_keys ? STDIN_FILENO : -1, err);
        if (why < 0)
            return why;
        if (why == SN_COUNTERS_INPUT && is_quit(run))
            why = SN_COUNTERS_OVER;
        int rc = turned ? turned(run, run->user, err) : SONDE_OK;
        if (rc != SONDE_OK || why == SN_COUNTERS_OVER)
            return rc == SONDE_OK && tick ? tick(run, run->user, err) : rc;
        if (!has_first && run->first_value_ns) {
            has_first = true; /* the first come early: shown at once, and those after in step */
            due_ns = sn_clock_deadline(FIRST_NS);
            continue;
        }
        if (why != SN_COUNTERS_TIME)
            continue;
        sn_open_files_mind(run->source->ops->process_count(run->source));
        tell_nobody(run);
        due_ns = sn_clock_deadline(interval);
        if (tick && (rc = tick(run, run->user, err)) != SONDE_OK)
            return rc;
    }
}

/* --- the whole --- */

static void take(void *user, const struct sonde_point *point)
{
    struct sn_counters_run *run = user;
    run->value_count++;
    if (point->origin != SONDE_POINT_KERNEL) {
        run->runtime_value_count++;
        run->has_provisional |= point->is_provisional;
        if (!run->first_value_ns)
            run->first_value_ns = sn_clock_monotonic_ns();
    }
    sn_counters_asked_take(&run->asked, point);
    if (run->view->take)
        run->view->take(run->user, point);
}

int sn_counters_run(struct sn_counters_run *run, struct sonde_error *err)
{
    run->options.size = sizeof(run->options);
    run->started_ns = sn_clock_monotonic_ns();
    sn_counters_asked_begin(&run->asked, &run->options);
    sn_open_files_raise();
    run->end_ns = UINT64_MAX;
    int rc = run->remote ? sn_remote_counters_source(run->remote, &run->options, take, run,
                                                     &run->source, err)
                         : sn_counters_source_own(&run->options, take, run, &run->source, err);
    if (rc == SONDE_OK)
        rc = run->view->show(run, run->user, err);
    if (rc == SONDE_END) {
        run->was_stopped = true;
        rc = SONDE_OK;
    }
    run->found_nobody = rc == SONDE_OK && !run->value_count && has_nobody(run);
    if (rc == SONDE_OK)
        sn_counters_tell(run);
    sn_counters_source_free(SN_TAKE(run->source));
    return rc;
}

/* --- the last words --- */

static void tell_process(const struct sn_counters_run *run, const struct sonde_watched *watched)
{
    char text[32];
    bool has_ended = watched->phase == SONDE_CONSUMER_ENDED && is_gone(run, watched->process->pid);
    if (*watched->note || has_ended) {
        const char *said = has_ended ? "has ended" : watched->note;
        if (strncmp(said, "pid ", 4) != 0)
            (void)fprintf(stderr, "pid %" PRIu32 ": ", watched->process->pid);
        sn_terminal_put(stderr, SN_STYLE_WARN, said);
        (void)fputc('\n', stderr);
    }
    if (watched->dropped_count)
        (void)fprintf(stderr,
                      "pid %" PRIu32 ": %s series were left out: there are more than can be "
                      "held; choose some with --counters\n",
                      watched->process->pid, sn_text_count(watched->dropped_count, text));
}

static uint64_t own_cpu_ns(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * SN_NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

void sn_counters_tell(const struct sn_counters_run *run)
{
    char text[5][32];
    uint64_t lost = 0;
    size_t count = run->source->ops->process_count(run->source);
    for (size_t i = 0; i < count; i++) {
        struct sonde_watched watched;
        run->source->ops->process(run->source, i, &watched);
        lost += watched.lost_count;
        tell_process(run, &watched);
    }
    sn_open_files_mind(count);
    if (!count && !run->was_stopped)
        put_nobody(run, "\n");
    if (run->value_count)
        sn_counters_asked_tell(&run->asked);
    if (run->is_terse)
        return;
    (void)fprintf(stderr, "%s process%s: %s, %s value%s, %s lost; sonde itself took %s CPU\n",
                  sn_text_count(count, text[0]), count == 1 ? "" : "es",
                  sn_text_duration(sn_clock_monotonic_ns() - run->started_ns, text[1]),
                  sn_text_count(run->value_count, text[2]), run->value_count == 1 ? "" : "s",
                  sn_text_count(lost, text[3]), sn_text_duration(own_cpu_ns(), text[4]));
}

bool sn_counters_is_fruitless(const struct sn_counters_run *run)
{
    return !run->value_count || (!run->runtime_value_count && !run->options.no_runtime);
}
