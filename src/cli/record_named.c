#include "cli/record_named.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/record_run.h"
#include "cli/record_state.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define LOOK_EVERY_MS 250
#define JSON_LIMIT    (1u << 20)

/* --- the recorder, on its own --- */

struct background {
    const struct sn_record_place *place; /* borrows */
    int ready;                           /* a pipe: one byte once it records */
    struct sn_record_state state;
};

static void keep_state(void *user, const struct sonde_record_stats *stats)
{
    struct background *background = user;
    struct sn_record_state *state = &background->state;
    state->stage = stats->stage;
    state->duration_ns = stats->duration_ns;
    state->sample_count = stats->sample_count;
    state->lost_count = stats->kernel_lost_count + stats->event_lost_count;
    state->process_count = stats->process_count;
    state->runtime_count = stats->runtime_count;
    state->byte_count = stats->byte_count;
    (void)snprintf(state->output, sizeof(state->output), "%s", stats->output);
    sn_record_state_write(background->place, state);
}

static void say_ready(void *user, const struct sonde_record_stats *stats)
{
    struct background *background = user;
    keep_state(user, stats);
    ssize_t ignored = write(background->ready, "R", 1); /* nobody waits: then nobody is told */
    (void)ignored;
    sn_close(sn_take_fd(&background->ready));
}

static FILE *open_words(const struct sn_record_place *place, enum sn_record_file file)
{
    int fd = sn_record_open(place, file, O_WRONLY | O_CREAT | O_TRUNC);
    FILE *words = fd < 0 ? NULL : fdopen(fd, "w");
    if (!words)
        sn_close(fd);
    return words;
}

/* No terminal, no input; what a command prints, or a crash, goes to the log. */
static bool leave_shell(const struct sn_record_place *place)
{
    SN_AUTO(sn_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    SN_AUTO(sn_close)
    int log = sn_record_open(place, SN_RECORD_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    (void)setsid();
    return null >= 0 && log >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
           dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0;
}

static int run_in_background(struct background *background, const struct sn_record_run *given)
{
    const struct sn_record_place *place = background->place;
    struct sonde_error err = {0};
    struct sn_record_run run = *given;
    if (sn_record_hold(place, &err) != SONDE_OK) {
        dprintf(background->ready, "E%s", err.text);
        return sn_command_exit_code(err.status);
    }
    run.json = true;
    run.reads_keys = false;
    run.words = open_words(place, SN_RECORD_WORDS);
    run.result = open_words(place, SN_RECORD_JSON);
    run.started = say_ready;
    run.live = keep_state;
    run.user = background;
    if (!run.words || !run.result || !leave_shell(place))
        return SN_EXIT_FAILED;
    int code = sn_record_run(&run);
    background->state.is_over = true;
    background->state.exit_code = code;
    if (background->ready < 0)
        sn_record_state_write(place, &background->state);
    (void)fclose(run.words);
    (void)fclose(run.result);
    return code;
}

/* --- start --- */

static void copy_words(const struct sn_record_place *place, enum sn_record_file file, FILE *to)
{
    char text[4096];
    SN_AUTO(sn_close) int fd = sn_record_open(place, file, O_RDONLY);
    for (ssize_t got; fd >= 0 && (got = read(fd, text, sizeof(text))) > 0;)
        (void)fwrite(text, 1, (size_t)got, to);
    (void)fflush(to);
}

/* What the recorder said: that it records, why it is refused, or nothing because it failed. */
static int tell_start(const struct sn_record_place *place, int ready, pid_t child)
{
    char said[sizeof(((struct sonde_error *)NULL)->text) + 1] = "";
    size_t size = 0;
    for (ssize_t got;
         size + 1 < sizeof(said) && (got = read(ready, said + size, sizeof(said) - 1 - size)) > 0;)
        size += (size_t)got;
    if (said[0] == 'R') {
        (void)fprintf(stderr, "recording '%s' as pid %d; to end it: sonde record stop %s\n",
                      place->name, (int)child, place->name);
        return SN_EXIT_DONE;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (said[0] == 'E') {
        (void)fputs("sonde: ", stderr);
        sn_terminal_put(stderr, SN_STYLE_NONE, said + 1);
        (void)fputc('\n', stderr);
    } else {
        copy_words(place, SN_RECORD_WORDS, stderr);
        copy_words(place, SN_RECORD_LOG, stderr);
        SN_AUTO(sn_close) int taken = sn_record_take(place);
        if (taken >= 0)
            sn_record_forget(place);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : SN_EXIT_FAILED;
}

/* One that ended and was not collected makes room; one that died is told of, as its journal is
 * all that is left of it. */
static void make_room(const struct sn_record_place *place)
{
    struct sn_record_state state;
    SN_AUTO(sn_close) int taken = sn_record_take(place);
    if (taken < 0)
        return;
    if (sn_record_state_read(place, &state) && !state.is_over) {
        (void)fprintf(stderr,
                      "an earlier recording '%s' died; to get what it left: sonde record finish ",
                      place->name);
        sn_terminal_put(stderr, SN_STYLE_BOLD, state.output);
        (void)fputc('\n', stderr);
    }
    sn_record_forget(place);
}

int sn_record_start(const char *name, const struct sn_record_run *run)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_record_place_done) struct sn_record_place place = {.folder = -1};
    int ready[2];
    if (sn_record_check_name(name, &err) != SONDE_OK ||
        sn_record_place_new(name, &place, &err) != SONDE_OK)
        return sn_command_fail(&err);
    make_room(&place);
    (void)fflush(NULL);
    pid_t child = pipe2(ready, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        (void)sn_fail_errno(&err, "cannot start a recorder");
        return sn_command_fail(&err);
    }
    if (child == 0) {
        struct background background = {.place = &place, .ready = ready[1]};
        sn_close(ready[0]);
        _exit(run_in_background(&background, run));
    }
    sn_close(ready[1]);
    int code = tell_start(&place, ready[0], child);
    sn_close(ready[0]);
    return code;
}

/* --- stop --- */

/* The recorder and nobody else, even if it ends now and its pid is given to another: whoever still
 * holds the lock after its descriptor was opened is the one it stands for. -1: it has ended. */
static int open_recorder(const struct sn_record_place *place)
{
    pid_t pid = sn_record_holder(place);
    int fd = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (fd >= 0 && sn_record_holder(place) == pid)
        return fd;
    sn_close(fd);
    return -1;
}

static void show_progress(const struct sn_record_place *place)
{
    struct sn_record_state state;
    if (!isatty(STDERR_FILENO) || !sn_record_state_read(place, &state))
        return;
    struct sonde_record_stats stats = {
        .stage = state.stage == SONDE_RECORD_RECORDING ? SONDE_RECORD_STOPPING : state.stage,
        .duration_ns = state.duration_ns,
        .sample_count = state.sample_count,
        .kernel_lost_count = state.lost_count,
        .process_count = (uint32_t)state.process_count,
        .runtime_count = (uint32_t)state.runtime_count,
        .byte_count = state.byte_count,
    };
    sn_record_show_live(NULL, &stats);
}

/* Ctrl-C here is the second one for the recorder: it does not wait for runtimes any more. */
static int wait_for_end(const struct sn_record_place *place, int recorder, struct sonde_error *err)
{
    SN_AUTO(sn_close) int signals = -1;
    if (sn_signals_open(&signals, err) != SONDE_OK)
        return err->status;
    struct pollfd polled[] = {{.fd = recorder, .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
    if (pidfd_send_signal(recorder, SIGTERM, NULL, 0) != 0 && errno != ESRCH)
        return sn_fail_errno(err, "cannot tell the recorder to stop");
    while (poll(polled, 2, LOOK_EVERY_MS) >= 0 && !polled[0].revents) {
        if (polled[1].revents && sn_signals_drain(signals))
            (void)pidfd_send_signal(recorder, SIGTERM, NULL, 0);
        show_progress(place);
    }
    if (isatty(STDERR_FILENO))
        sn_terminal_live(stderr, "");
    return SONDE_OK;
}

static int tell_death(const char *name, const struct sn_record_state *state)
{
    (void)fprintf(stderr,
                  "the recorder of '%s' died (killed, or the machine was restarted); what it "
                  "wrote is kept, and readable: ",
                  name);
    sn_terminal_put(stderr, SN_STYLE_BOLD, state->output);
    (void)fputs("\nto make an archive of it: sonde record finish ", stderr);
    sn_terminal_put(stderr, SN_STYLE_BOLD, state->output);
    (void)fputc('\n', stderr);
    return SN_EXIT_PARTIAL;
}

static int tell_end(const struct sn_record_place *place, bool json)
{
    struct sn_record_state state;
    struct sonde_error err = {0};
    if (!sn_record_state_read(place, &state)) {
        (void)sn_fail(&err, SONDE_E_NOT_FOUND, 0, "somebody else has stopped '%s'", place->name);
        return sn_command_fail(&err);
    }
    if (!state.is_over)
        return tell_death(place->name, &state);
    if (json) {
        copy_words(place, SN_RECORD_JSON, stdout);
    } else {
        sn_terminal_put(stdout, SN_STYLE_BOLD, state.output);
        (void)putchar('\n');
        (void)fflush(stdout);
    }
    copy_words(place, SN_RECORD_WORDS, stderr);
    return state.exit_code;
}

int sn_record_stop(const char *name, bool json)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_record_place_done) struct sn_record_place place = {.folder = -1};
    if (sn_record_check_name(name, &err) != SONDE_OK ||
        sn_record_place_find(name, &place, &err) != SONDE_OK)
        return sn_command_fail(&err);
    SN_AUTO(sn_close) int recorder = open_recorder(&place);
    if (recorder >= 0 && wait_for_end(&place, recorder, &err) != SONDE_OK)
        return sn_command_fail(&err);
    SN_AUTO(sn_close) int taken = sn_record_take(&place);
    if (taken < 0) {
        (void)sn_fail(&err, SONDE_E_NOT_FOUND, 0,
                      "'%s' has ended, and another one of that name has begun", name);
        return sn_command_fail(&err);
    }
    int code = tell_end(&place, json);
    sn_record_forget(&place);
    return code;
}

/* --- list --- */

struct listing {
    const char *name; /* NULL: all */
    size_t count;
    struct sn_json *json; /* NULL: a table */
};

static const char *condition(const struct sn_record_state *state)
{
    static const char *const stages[] = {"recording", "stopping", "naming", "packing", "packing"};
    if (state->pid)
        return stages[state->stage];
    return state->is_over ? "ended" : "died";
}

static void list_as_json(struct sn_json *json, const char *name,
                         const struct sn_record_state *state)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "name", name);
    sn_json_text(json, "state", condition(state));
    sn_json_u64(json, "pid", (uint64_t)state->pid);
    sn_json_text(json, "file", state->output);
    sn_json_real(json, "durationSeconds", (double)state->duration_ns / 1e9);
    sn_json_u64(json, "samples", state->sample_count);
    sn_json_u64(json, "lost", state->lost_count);
    sn_json_u64(json, "processes", state->process_count);
    sn_json_u64(json, "runtimes", state->runtime_count);
    sn_json_u64(json, "bytes", state->byte_count);
    sn_json_close(json);
}

static void list_as_row(const char *name, const struct sn_record_state *state, bool is_first)
{
    char text[4][32];
    if (is_first)
        (void)printf("%-16s %-10s %8s %10s %12s %8s %8s  %s\n", "NAME", "STATE", "PID", "TIME",
                     "SAMPLES", "LOST", "SIZE", "FILE");
    (void)printf(
        "%-16s %-10s %8d %10s %12s %8s %8s  ", name, condition(state), (int)state->pid,
        sn_text_duration(state->duration_ns, text[0]), sn_text_count(state->sample_count, text[1]),
        sn_text_count(state->lost_count, text[2]), sn_text_bytes(state->byte_count, text[3]));
    sn_terminal_put(stdout, SN_STYLE_NONE, state->output);
    (void)putchar('\n');
}

static void list_one(void *user, const struct sn_record_place *place)
{
    struct listing *listing = user;
    struct sn_record_state state;
    if ((listing->name && strcmp(listing->name, place->name) != 0) ||
        !sn_record_state_read(place, &state))
        return;
    if (listing->json)
        list_as_json(listing->json, place->name, &state);
    else
        list_as_row(place->name, &state, !listing->count);
    listing->count++;
}

int sn_record_list(const char *name, bool json)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(JSON_LIMIT);
    struct sn_json writer = sn_json_to(&out);
    struct listing listing = {.name = name, .json = json ? &writer : NULL};
    sn_json_array(&writer, NULL);
    sn_record_places(list_one, &listing);
    sn_json_close(&writer);
    if (json && !sn_terminal_flush(&out))
        return SN_EXIT_FAILED;
    if (!listing.count && !json && name)
        (void)fprintf(stderr, "there is no recording '%s' of yours\n", name);
    else if (!listing.count && !json)
        (void)fputs("no recording of yours runs\n", stderr);
    return name && !listing.count ? SN_EXIT_NO_TARGET : SN_EXIT_DONE;
}
