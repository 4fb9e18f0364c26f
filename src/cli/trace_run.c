#include "cli/trace_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/file_name.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define LIVE_EVERY_MS 250
#define OUTPUT_LIMIT  (1u << 20)
#define LOSSES_SHOWN  5u

struct session {
    const struct sn_trace_run *run;
    struct sonde_tracer *tracer;
    int signals; /* a signalfd of what ends a trace */
    bool reads_keys;
    bool is_stopping;
    bool was_signalled;
    uint64_t deadline_ns; /* UINT64_MAX: none */
};

/* --- file names --- */

/* FILE as given; several processes each get their pid put in: "a.nettrace" becomes
 * "a.1234.nettrace". */
static void choose_output(const struct sn_trace_run *run, uint32_t pid, struct sn_buf *to)
{
    if (!run->output) {
        if (run->command)
            sn_file_name_safe(to, run->command[0]);
        else
            sn_file_name_process(to, pid, "trace");
        if (run->pid_count > 1)
            sn_buf_format(to, "_%" PRIu32, pid);
        sn_file_name_stamp(to, ".nettrace");
        return;
    }
    const char *dot = strrchr(run->output, '.');
    if (!dot || strchr(dot, '/'))
        dot = run->output + strlen(run->output);
    sn_buf_append(to, run->output, (size_t)(dot - run->output));
    if (run->pid_count > 1)
        sn_buf_format(to, ".%" PRIu32, pid);
    sn_buf_text(to, dot);
}

/* Looks only: the signal is read when the trace runs, or when it has failed. */
static bool has_signal(void *user)
{
    const struct session *session = user;
    return sn_signals_pending(session->signals);
}

static int start_one(struct session *session, uint32_t pid, struct sonde_error *err)
{
    SN_AUTO(sn_buf_done) struct sn_buf output = sn_buf_with_limit(8192);
    choose_output(session->run, pid, &output);
    struct sonde_trace_options options = session->run->options;
    options.output = sn_buf_string(&output);
    options.is_cancelled = has_signal;
    options.cancel_user = session;
    if (session->run->port)
        return sonde_tracer_listen(session->tracer, session->run->port, &options, err);
    if (pid)
        return sonde_tracer_add(session->tracer, pid, &options, err);
    return sonde_tracer_launch(session->tracer, session->run->command, &options, err);
}

static int start_all(struct session *session, struct sonde_error *err)
{
    if (session->run->command || session->run->port)
        return start_one(session, 0, err);
    for (size_t i = 0; i < session->run->pid_count; i++) {
        int rc = start_one(session, session->run->pids[i], err);
        if (rc < 0)
            return rc;
    }
    return SONDE_OK;
}

/* --- while it runs --- */

static void show_live(const struct session *session)
{
    const struct sn_trace_run *run = session->run;
    if (run->voice) {
        run->voice->live(run->voice_user, session->tracer, session->is_stopping);
        return;
    }
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(4096);
    uint64_t events = 0;
    uint64_t lost = 0;
    uint64_t bytes = 0;
    uint64_t duration = 0;
    for (size_t i = 0; i < sonde_tracer_count(session->tracer); i++) {
        struct sonde_trace_stats stats;
        sonde_tracer_stats(session->tracer, i, &stats);
        events += stats.event_count;
        lost += stats.lost_count;
        bytes += stats.byte_count;
        duration = stats.duration_ns > duration ? stats.duration_ns : duration;
    }
    char text[4][32];
    sn_buf_format(
        &line, "  %s   %s events   %s lost   %s   %s", sn_text_duration(duration, text[0]),
        sn_text_count(events, text[1]), sn_text_count(lost, text[2]), sn_text_bytes(bytes, text[3]),
        session->is_stopping ? "stopping: reading the rundown (Ctrl-C again to give it up)"
                             : "Enter or Ctrl-C stops");
    sn_terminal_live(stderr, sn_buf_string(&line));
}

static void stop(struct session *session)
{
    const struct sn_trace_run *run = session->run;
    if (run->voice && !session->is_stopping)
        run->voice->stopping(run->voice_user, session->tracer);
    session->is_stopping = true;
    session->deadline_ns = UINT64_MAX;
    sonde_tracer_stop(session->tracer);
}

static int poll_timeout(const struct session *session)
{
    int timeout = sonde_tracer_wait_ms(session->tracer);
    int deadline = sn_clock_poll_ms(session->deadline_ns);
    if (deadline >= 0 && (timeout < 0 || deadline < timeout))
        timeout = deadline;
    if (session->run->is_live && (timeout < 0 || timeout > LIVE_EVERY_MS))
        timeout = LIVE_EVERY_MS;
    return timeout;
}

/* What came on standard input: Enter ends the trace, the input's end only ends listening to it. */
static void read_key(struct session *session)
{
    char keys[64];
    ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
    if (got <= 0)
        session->reads_keys = false;
    else if (!session->is_stopping && memchr(keys, '\n', (size_t)got))
        stop(session);
}

static int wait_and_turn(struct session *session, struct sonde_error *err)
{
    struct pollfd polled[] = {{.fd = sonde_tracer_fd(session->tracer), .events = POLLIN},
                              {.fd = session->signals, .events = POLLIN},
                              {.fd = session->reads_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(polled, 3, poll_timeout(session)) < 0 && errno != EINTR)
        return sn_fail_errno(err, "cannot wait for events");
    if (polled[1].revents && sn_signals_drain(session->signals) && !session->run->ignores_signals) {
        session->was_signalled = true;
        stop(session);
    }
    if (polled[2].revents)
        read_key(session);
    if (sn_clock_monotonic_ns() >= session->deadline_ns)
        stop(session);
    return sonde_tracer_turn(session->tracer, err);
}

static int drive(struct session *session, struct sonde_error *err)
{
    uint64_t shown_ns = 0;
    while (!sonde_tracer_is_done(session->tracer)) {
        int rc = wait_and_turn(session, err);
        if (rc != SONDE_OK)
            return rc;
        uint64_t now = sn_clock_monotonic_ns();
        if (session->run->is_live && now - shown_ns >= LIVE_EVERY_MS * (uint64_t)SN_NS_PER_MS) {
            show_live(session);
            shown_ns = now;
        }
    }
    if (session->run->is_live && !session->run->voice)
        sn_terminal_live(stderr, "");
    return SONDE_OK;
}

/* --- the outcome --- */

static void write_losses(struct sn_json *json, const struct sonde_tracer *tracer, size_t index)
{
    struct sonde_thread_loss losses[64];
    size_t count = sonde_tracer_losses(tracer, index, losses, 64);
    sn_json_array(json, "lostByThread");
    for (size_t i = 0; i < count && i < 64; i++) {
        sn_json_object(json, NULL);
        sn_json_u64(json, "thread", losses[i].thread_id);
        sn_json_u64(json, "lost", losses[i].lost_count);
        sn_json_close(json);
    }
    sn_json_close(json);
}

/* As a shell would say it; -1 when there is no such child or it still runs. */
static int child_exit_code(const struct sonde_tracer *tracer, size_t index)
{
    int status = sonde_tracer_child_status(tracer, index);
    if (status < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void write_outcome(struct sn_json *json, const struct sonde_tracer *tracer, size_t index)
{
    struct sonde_trace_stats stats;
    sonde_tracer_stats(tracer, index, &stats);
    sn_json_object(json, NULL);
    sn_json_u64(json, "pid", stats.pid);
    sn_json_text(json, "runtime", stats.runtime);
    sn_json_text(json, "file", stats.output);
    sn_json_u64(json, "files", stats.file_count);
    sn_json_u64(json, "bytes", stats.byte_count);
    sn_json_bool(json, "raw", stats.is_raw);
    sn_json_bool(json, "stacks", stats.has_stacks);
    sn_json_u64(json, "bufferMB", stats.buffer_mb);
    sn_json_real(json, "durationSeconds", (double)stats.duration_ns / 1e9);
    sn_json_u64(json, "events", stats.event_count);
    sn_json_u64(json, "lost", stats.lost_count);
    write_losses(json, tracer, index);
    sn_json_u64(json, "damages", stats.damage_count);
    sn_json_real(json, "targetCpuSeconds", (double)stats.target_cpu_ns / 1e9);
    sn_json_real(json, "tracingCpuSeconds", (double)stats.tracing_cpu_ns / 1e9);
    sn_json_text(json, "status", sonde_status_name(stats.status));
    sn_json_text(json, "message", stats.message);
    sn_json_text(json, "stoppedBy", stats.stop_cause);
    int child = child_exit_code(tracer, index);
    if (child >= 0)
        sn_json_i64(json, "exitCode", child);
    sn_json_close(json);
}

/* The one line that every command which touches a target ends with. */
static void print_last_line(const struct sonde_trace_stats *stats)
{
    char text[5][32];
    (void)fprintf(stderr, "pid %" PRIu32 " (.NET %s): %s, %s events, %s lost, %s; ", stats->pid,
                  stats->runtime, sn_text_duration(stats->duration_ns, text[0]),
                  sn_text_count(stats->event_count, text[1]),
                  sn_text_count(stats->lost_count, text[2]),
                  sn_text_bytes(stats->byte_count, text[3]));
    (void)fprintf(stderr, "the target spent %s of its %s CPU writing events out",
                  sn_text_duration(stats->tracing_cpu_ns, text[3]),
                  sn_text_duration(stats->target_cpu_ns, text[4]));
    if (stats->buffer_mb < 256)
        (void)fprintf(stderr, "; buffer %" PRIu32 " MB", stats->buffer_mb);
    (void)fputc('\n', stderr);
}

static void print_losses(const struct session *session, size_t index)
{
    struct sonde_thread_loss losses[LOSSES_SHOWN];
    size_t count = sonde_tracer_losses(session->tracer, index, losses, LOSSES_SHOWN);
    if (!count)
        return;
    (void)fputs("lost by thread:", stderr);
    for (size_t i = 0; i < count && i < LOSSES_SHOWN; i++)
        (void)fprintf(stderr, " %" PRIu64 " (%" PRIu64 ")", losses[i].thread_id,
                      losses[i].lost_count);
    (void)fprintf(stderr, "%s\nto lose less: %sfewer events (--events), or a larger --buffersize\n",
                  count > LOSSES_SHOWN ? " ..." : "",
                  session->run->options.no_stacks ? "" : "--no-stacks, ");
}

static bool was_typed(const struct sn_option_list *asked, const char *provider)
{
    for (size_t i = 0; i < asked->count; i++) {
        if (strcasestr(asked->items[i], provider))
            return true;
    }
    return false;
}

/* A provider that a person named and that sent nothing is perhaps a typing error. */
static void print_silent(const struct session *session, size_t index)
{
    const char *names[8];
    size_t count = sonde_tracer_silent(session->tracer, index, names, 8);
    for (size_t i = 0; i < count && i < 8; i++) {
        if (!was_typed(session->run->asked, names[i]))
            continue;
        (void)fputs("no event came from ", stderr);
        sn_terminal_put(stderr, SN_STYLE_BOLD, names[i]);
        (void)fputc('\n', stderr);
    }
}

static void print_files(const struct sonde_tracer *tracer, size_t index, uint32_t count)
{
    char path[4096];
    for (uint32_t number = 1; number <= count; number++) {
        if (!sonde_tracer_file(tracer, index, number, path, sizeof(path)))
            continue; /* rolled away */
        sn_terminal_put(stdout, SN_STYLE_BOLD, path);
        (void)putchar('\n');
    }
    (void)fflush(stdout);
}

static void print_outcome(const struct session *session, size_t index)
{
    struct sonde_trace_stats stats;
    sonde_tracer_stats(session->tracer, index, &stats);
    if (!session->run->json)
        print_files(session->tracer, index, stats.file_count);
    if (stats.status != SONDE_OK) {
        (void)fputs("incomplete: ", stderr);
        sn_terminal_put(stderr, SN_STYLE_WARN, stats.message);
        (void)fputc('\n', stderr);
    }
    if (session->run->options.no_stacks && stats.has_stacks)
        (void)fputs(
            "this runtime cannot leave stacks out (.NET 9 and later can): they are in the file\n",
            stderr);
    if (strcmp(stats.stop_cause, "stopping event") == 0)
        (void)fputs("stopped by the stopping event\n", stderr);
    int child = child_exit_code(session->tracer, index);
    if (child > 0)
        (void)fprintf(stderr, "'%s' ended with %d\n", session->run->command[0], child);
    else if (session->run->command && child < 0 && !sonde_tracer_is_needed(session->tracer))
        (void)fprintf(stderr, "'%s' goes on as pid %" PRIu32 "\n", session->run->command[0],
                      stats.pid);
    if (stats.damage_count)
        (void)fprintf(stderr,
                      "the stream is damaged in %" PRIu64 " places; 'sonde report' says where\n",
                      stats.damage_count);
    print_silent(session, index);
    print_losses(session, index);
    print_last_line(&stats);
}

/* Something is there but not all: partial. All went well: the launched program's own word counts.
 */
static int exit_code_of(const struct sonde_tracer *tracer, size_t index,
                        const struct sonde_trace_stats *stats)
{
    if (stats->status != SONDE_OK || stats->damage_count)
        return stats->byte_count ? SN_EXIT_PARTIAL : sn_command_exit_code(stats->status);
    int child = child_exit_code(tracer, index);
    return child > 0 ? child : SN_EXIT_DONE;
}

/* Of several traces the one that went worst decides: a failure before a part, a part before nothing
 * wrong. */
static int worse(int left, int right)
{
    if (left == SN_EXIT_FAILED || right == SN_EXIT_FAILED)
        return SN_EXIT_FAILED;
    return left > right ? left : right;
}

static int finish(const struct session *session)
{
    const struct sn_trace_run *run = session->run;
    if (run->voice)
        return run->voice->finished(run->voice_user, session->tracer, session->was_signalled);
    int code = SN_EXIT_DONE;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    struct sn_json json = sn_json_to(&out);
    sn_json_array(&json, NULL);
    for (size_t i = 0; i < sonde_tracer_count(session->tracer); i++) {
        struct sonde_trace_stats stats;
        sonde_tracer_stats(session->tracer, i, &stats);
        write_outcome(&json, session->tracer, i);
        print_outcome(session, i);
        code = worse(code, exit_code_of(session->tracer, i, &stats));
    }
    sn_json_close(&json);
    if (session->run->json && !sn_terminal_flush(&out))
        return SN_EXIT_FAILED;
    return code;
}

static int say_failure(const struct session *session, const struct sonde_error *err)
{
    const struct sn_trace_run *run = session->run;
    return run->voice ? run->voice->failed(run->voice_user, err) : sn_command_fail(err);
}

/* One of several could not be traced: those that run already are ended as they should be, and told
 * of. */
static int give_up(struct session *session, const struct sonde_error *err)
{
    int code = say_failure(session, err);
    if (!sonde_tracer_count(session->tracer))
        return code;
    struct sonde_error ignored = {0};
    stop(session);
    if (drive(session, &ignored) == SONDE_OK)
        (void)finish(session);
    return code;
}

/* A shell goes on, and what it starts would wait for our port: stay until it ends or somebody says
 * stop. */
static void stay(struct session *session)
{
    struct sonde_error ignored = {0};
    (void)fprintf(
        stderr,
        "'%s' goes on: staying to let the .NET programs that it starts run; Ctrl-C leaves it\n",
        session->run->command[0]);
    while (sonde_tracer_is_needed(session->tracer)) {
        struct pollfd polled[] = {{.fd = sonde_tracer_fd(session->tracer), .events = POLLIN},
                                  {.fd = session->signals, .events = POLLIN}};
        (void)poll(polled, 2, LIVE_EVERY_MS);
        if (sn_signals_drain(session->signals))
            return;
        (void)sonde_tracer_turn(session->tracer, &ignored);
    }
}

static void sonde_tracer_free_auto(struct sonde_tracer **slot)
{
    sonde_tracer_free(*slot);
}

int sn_trace_run(const struct sn_trace_run *run)
{
    struct sonde_error err = {0};
    SN_AUTO(sonde_tracer_free) struct sonde_tracer *tracer = NULL;
    struct session session = {.run = run, .signals = -1};
    if (sonde_tracer_new(&tracer, &err) != SONDE_OK ||
        sn_signals_open(&session.signals, &err) != SONDE_OK)
        return say_failure(&session, &err);
    session.tracer = tracer;
    session.reads_keys = run->reads_keys;
    if (start_all(&session, &err) < 0)
        return give_up(&session, &err);
    if (run->voice)
        run->voice->started(run->voice_user, tracer);
    session.deadline_ns = run->duration_ns ? sn_clock_deadline(run->duration_ns) : UINT64_MAX;
    if (drive(&session, &err) != SONDE_OK)
        return say_failure(&session, &err);
    int code = finish(&session);
    if (sonde_tracer_is_needed(tracer) && !run->voice)
        stay(&session);
    sn_close(session.signals);
    return code;
}
