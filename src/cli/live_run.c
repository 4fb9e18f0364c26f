#include "cli/live_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/live_find.h"
#include "cli/open_files.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "sonde/names.h"

#define OUT_LIMIT (512u << 20)
#define MUCH      (64u << 10)
#define ANSWER_NS SN_NS_PER_SECOND

/* --- output --- */

/* A reader that has left is no fault. */
static void write_out(struct sn_live_run *run)
{
    size_t done = 0;
    while (done < run->out.size && !run->has_no_reader && !run->err.status) {
        ssize_t part = write(run->out_fd, run->out.bytes + done, run->out.size - done);
        if (part >= 0)
            done += (size_t)part;
        else if (errno == EPIPE)
            run->has_no_reader = run->is_over = true;
        else if (errno != EINTR)
            (void)sn_fail_errno(&run->err, "cannot write %s",
                                run->choice.output ? run->choice.output : "to standard output");
    }
    sn_buf_clear(&run->out);
}

int sn_live_line(struct sn_live_run *run)
{
    run->line_count++;
    if (run->choice.limit && run->line_count >= run->choice.limit)
        run->is_over = true;
    if (run->out.size >= MUCH || run->is_over)
        write_out(run);
    return run->is_over || run->err.status ? SONDE_END : SONDE_OK;
}

static int open_output(struct sn_live_run *run, struct sonde_error *err)
{
    const char *path = run->choice.output;
    run->out_fd = STDOUT_FILENO;
    if (!path || strcmp(path, "-") == 0)
        return SONDE_OK;
    run->out_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    return run->out_fd < 0 ? sn_fail_errno(err, "cannot write %s", path) : SONDE_OK;
}

/* --- processes --- */

/* Texts that begin with the pid themselves lose it. */
static void say_of(const struct sn_live_process *process, const char *text)
{
    char prefix[32];
    int size = snprintf(prefix, sizeof(prefix), "pid %" PRIu32 ": ", process->pid);
    if (strncmp(text, prefix, (size_t)size) == 0)
        text += size;
    (void)fprintf(stderr, "sonde: pid %" PRIu32 " (", process->pid);
    sn_terminal_put(stderr, SN_STYLE_NONE, process->name);
    (void)fputs("): ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, text);
    (void)fputc('\n', stderr);
}

static void let_go(struct sn_live_process *process)
{
    struct sn_live_run *run = process->run;
    process->has_ended = true;
    process->consumer = NULL;
    run->live_count--;
}

/* What ended because it wished to, or with its process, has told all; all else is a failure. */
static void consumer_changed(void *user, struct sonde_consumer *consumer)
{
    struct sn_live_process *process = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase != SONDE_CONSUMER_ENDED || process->has_ended)
        return;
    process->run->lost_count += state.lost_count;
    process->run->declined_count += state.declined_count;
    if (state.status == SONDE_E_GONE) {
        say_of(process, "it has ended");
    } else if (state.status < 0) {
        say_of(process, state.error);
        process->run->failed_count++;
    }
    let_go(process);
    sonde_hub_remove(consumer);
}

/* The first failure of a process that was asked for by number is the end; others are told of. */
static void fail_process(struct sn_live_process *process, const struct sonde_error *err)
{
    struct sn_live_run *run = process->run;
    if (run->found_count == 1 && run->choice.pids->count) {
        run->err = *err;
        if (err->status == SONDE_E_GONE) /* before we came: there is nothing to be had of it */
            run->err.status = SONDE_E_NOT_FOUND;
    } else {
        say_of(process, err->text);
    }
    run->failed_count++;
    let_go(process);
}

static void ask_process(struct sn_live_process *process)
{
    struct sn_live_run *run = process->run;
    struct sonde_error err = {0};
    if (run->names && !process->is_asked) {
        process->is_asked = true;
        if (sonde_names_add(run->names, process->pid, &err) != SONDE_OK) {
            fail_process(process, &err);
            return;
        }
    }
    if (run->names && !sonde_names_are_ready(run->names, process->pid))
        return;
    struct sonde_consumer_options wants = run->verb.wants;
    wants.pid = process->pid;
    wants.changed = consumer_changed;
    if (sonde_hub_add(run->hub, &wants, run->verb.take, process, &process->consumer, &err) !=
        SONDE_OK)
        fail_process(process, &err);
}

/* Why something is not as asked for: once for each reason. */
static void say_note(struct sn_live_process *process)
{
    struct sonde_hub_target target;
    if (sonde_hub_target(process->run->hub, process->pid, &target, NULL) != SONDE_OK)
        return;
    if (!target.note[0] || (process->note && strcmp(process->note, target.note) == 0))
        return;
    free(process->note);
    process->note = strdup(target.note);
    say_of(process, target.note);
}

static void tend_processes(struct sn_live_run *run)
{
    for (struct sn_live_process *process = run->first; process; process = process->next) {
        if (process->consumer)
            say_note(process);
        else if (!process->has_ended)
            ask_process(process);
    }
}

static void free_processes(struct sn_live_run *run)
{
    while (run->first) {
        struct sn_live_process *process = run->first;
        run->first = process->next;
        if (run->verb.forget)
            run->verb.forget(process);
        free(process->name);
        free(process->note);
        free(process);
    }
}

/* --- the loop --- */

static int wait_ms(const struct sn_live_run *run)
{
    int wait = sonde_hub_wait_ms(run->hub);
    uint64_t next_ns = run->deadline_ns < run->look_ns ? run->deadline_ns : run->look_ns;
    int other = sn_clock_poll_ms(next_ns);
    return wait < 0 || (other >= 0 && other < wait) ? other : wait;
}

static bool has_nobody(const struct sn_live_run *run)
{
    return !run->live_count && !run->child && sn_live_find_is_done(run);
}

static void look_around(struct sn_live_run *run)
{
    uint64_t now = sn_clock_monotonic_ns();
    if (now < run->look_ns)
        return;
    sn_live_find_again(run);
    sn_open_files_mind(run->live_count);
    run->look_ns = sn_live_find_is_done(run) ? UINT64_MAX : now + sn_live_find_pause_ns(run);
}

static int turn(struct sn_live_run *run, struct sonde_error *err)
{
    struct pollfd polled[] = {{.fd = sonde_hub_fd(run->hub), .events = POLLIN},
                              {.fd = run->signals, .events = POLLIN}};
    if (poll(polled, 2, wait_ms(run)) < 0 && errno != EINTR)
        return sn_fail_errno(err, "cannot wait for events");
    if (polled[1].revents && sn_signals_drain(run->signals))
        run->is_over = true;
    if (sn_clock_monotonic_ns() >= run->deadline_ns)
        run->is_over = true;
    int rc = sonde_hub_turn(run->hub, err);
    if (rc != SONDE_OK)
        return rc;
    look_around(run);
    tend_processes(run);
    write_out(run);
    if (has_nobody(run))
        run->is_over = true;
    return run->err.status ? sn_fail_as(err, &run->err) : SONDE_OK;
}

/* --- the end --- */

/* Those that were asked and have not said a word: one that is stopped, say. A view that is shorter
 * than the time a runtime has for its answer would else end as if nothing had happened there. */
static void say_silent(struct sn_live_run *run)
{
    uint64_t now = sn_clock_monotonic_ns();
    for (struct sn_live_process *process = run->first; process; process = process->next) {
        struct sonde_consumer_state state = {0};
        if (process->consumer)
            sonde_consumer_state(process->consumer, &state);
        if (process->has_ended || state.phase != SONDE_CONSUMER_OPENING ||
            now < process->found_ns + ANSWER_NS)
            continue;
        say_of(process, "it has not answered so far; 'sonde ps' may say why");
        run->failed_count++;
    }
}

static void say_summary(const struct sn_live_run *run, uint64_t duration_ns)
{
    char text[4][32];
    uint64_t lost = run->lost_count;
    uint64_t declined = run->declined_count;
    for (const struct sn_live_process *process = run->first; process; process = process->next) {
        struct sonde_consumer_state state = {0};
        if (process->consumer)
            sonde_consumer_state(process->consumer, &state);
        lost += state.lost_count;
        declined += state.declined_count;
    }
    (void)fprintf(stderr, "%s: %s %s%s, %s lost", sn_text_duration(duration_ns, text[0]),
                  sn_text_count(run->line_count, text[1]), run->verb.unit,
                  run->line_count == 1 ? "" : "s", sn_text_count(lost, text[2]));
    if (!run->line_count && declined && run->verb.declined)
        (void)fprintf(stderr, "; %s came that %s", sn_text_count(declined, text[3]),
                      run->verb.declined);
    else if (!run->line_count && !run->failed_count && run->verb.nothing)
        (void)fprintf(stderr, "; %s", run->verb.nothing);
    (void)fputc('\n', stderr);
}

/* The program's own word counts if all went well; nobody could be listened to: as the first said.
 */
static int exit_code(const struct sn_live_run *run)
{
    if (run->failed_count)
        return run->failed_count == run->found_count ? SN_EXIT_NO_TARGET : SN_EXIT_PARTIAL;
    if (run->child_status < 0)
        return SN_EXIT_DONE;
    return WIFEXITED(run->child_status) ? WEXITSTATUS(run->child_status)
                                        : 128 + WTERMSIG(run->child_status);
}

static int prepare(struct sn_live_run *run, struct sonde_error *err)
{
    struct sonde_hub_options options = {.size = sizeof(options)};
    int rc = sn_signals_open(&run->signals, err);
    if (rc == SONDE_OK)
        rc = open_output(run, err);
    if (rc == SONDE_OK)
        rc = sonde_hub_new(&options, &run->hub, err);
    if (rc == SONDE_OK && run->verb.has_names)
        rc = sonde_names_new(run->hub, &run->names, err);
    return rc == SONDE_OK ? sn_live_find(run, err) : rc;
}

static int drive(struct sn_live_run *run, struct sonde_error *err)
{
    uint64_t start_ns = sn_clock_monotonic_ns();
    sn_open_files_raise(); /* not for a program that was started */
    run->deadline_ns =
        run->choice.duration_ns ? sn_clock_deadline(run->choice.duration_ns) : UINT64_MAX;
    run->look_ns = sn_live_find_is_done(run) ? UINT64_MAX : start_ns + sn_live_find_pause_ns(run);
    tend_processes(run);
    int rc = run->err.status ? sn_fail_as(err, &run->err) : SONDE_OK;
    while (rc == SONDE_OK && !run->is_over)
        rc = turn(run, err);
    if (rc == SONDE_OK)
        say_silent(run);
    if (!run->has_no_reader && rc == SONDE_OK)
        say_summary(run, sn_clock_monotonic_ns() - start_ns);
    return rc;
}

int sn_live_run(struct sn_live_run *run)
{
    struct sonde_error err = {0};
    run->signals = run->out_fd = run->child_status = -1;
    run->out = sn_buf_with_limit(OUT_LIMIT);
    int rc = prepare(run, &err);
    if (rc == SONDE_OK)
        rc = drive(run, &err);
    int code = rc == SONDE_OK ? exit_code(run) : sn_command_fail(&err);
    sonde_names_free(run->names);
    sonde_hub_free(run->hub);
    free_processes(run);
    sn_close(run->signals);
    if (run->out_fd > STDERR_FILENO)
        sn_close(run->out_fd);
    sn_buf_done(&run->out);
    return code;
}
