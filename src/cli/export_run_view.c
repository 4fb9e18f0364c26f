#include "cli/export_run_view.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/config_problems.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "sink/export/explain.h"
#include "sink/export/export_run.h"

#define LINE_LIMIT   (64u << 10)
#define LIVE_NS      (500ull * SN_NS_PER_MS)
#define RECEIVER_MAX 64u
#define NOBODY_NS    SN_NS_PER_SECOND

struct view {
    struct sn_configuration *configuration; /* owns */
    struct sn_export_run *run;              /* owns */
    int signals;
    bool is_terminal;
    bool was_stopped;
    bool has_told_nobody;        /* that no process is there yet */
    uint64_t live_ns;            /* when the line was written last */
    bool was_down[RECEIVER_MAX]; /* as told */
    char note[512];              /* as told */
};

/* --- telling --- */

static void say(const struct view *view, enum sn_style style, const char *title, const char *text)
{
    if (view->is_terminal)
        sn_terminal_live(stderr, "");
    sn_terminal_cell(stderr, style, title, sn_settings_title_width(view->configuration));
    (void)fputc(' ', stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, text);
    (void)fputc('\n', stderr);
}

static void say_start(const struct view *view)
{
    char title[96];
    for (size_t i = 0; i < view->configuration->section_count; i++) {
        const struct sn_settings *settings = view->configuration->sections[i];
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(LINE_LIMIT);
        if (strcmp(settings->kind->name, "labels") == 0 && !settings->count)
            continue;
        sn_settings_explain(view->configuration, settings, &text);
        say(view, SN_STYLE_BOLD, sn_settings_title(settings, title), sn_buf_string(&text));
    }
    for (size_t i = 0; i < sn_export_run_receiver_count(view->run); i++) {
        struct sn_export_receiver receiver;
        sn_export_run_receiver(view->run, i, &receiver);
        if (!receiver.has_sender) {
            SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(LINE_LIMIT);
            sn_buf_format(&text, "ready at %s", receiver.place);
            say(view, SN_STYLE_GOOD, sn_settings_title(receiver.settings, title),
                sn_buf_string(&text));
        }
    }
}

/* Once when a receiver goes away, once when it is back. */
static void say_receivers(struct view *view)
{
    char title[96];
    for (size_t i = 0; i < sn_export_run_receiver_count(view->run) && i < RECEIVER_MAX; i++) {
        struct sn_export_receiver receiver;
        sn_export_run_receiver(view->run, i, &receiver);
        bool is_down = receiver.has_sender && !receiver.state.is_up && receiver.state.reason[0];
        bool is_back = view->was_down[i] && receiver.state.is_up;
        if (is_down == view->was_down[i] || (!is_down && !is_back))
            continue;
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(LINE_LIMIT);
        if (!is_down)
            sn_buf_format(&text, "%s is back", receiver.place);
        else if (receiver.state.has_refused)
            sn_buf_format(&text, "%s refuses what is sent: %s", receiver.place,
                          receiver.state.reason);
        else
            sn_buf_format(&text, "%s is away: %s; trying again", receiver.place,
                          receiver.state.reason);
        say(view, is_down ? SN_STYLE_WARN : SN_STYLE_GOOD,
            sn_settings_title(receiver.settings, title), sn_buf_string(&text));
        view->was_down[i] = is_down;
    }
}

static void say_note(struct view *view, const struct sn_export_tally *totals)
{
    if (!totals->note[0] || strcmp(totals->note, view->note) == 0)
        return;
    (void)snprintf(view->note, sizeof(view->note), "%s", totals->note);
    say(view, SN_STYLE_WARN, "note", totals->note);
}

/* Whoever watches by name may have mistyped it. */
static void say_nobody(struct view *view, const struct sn_export_tally *totals)
{
    const struct sn_settings *targets = sn_configuration_find(view->configuration, "targets", "");
    if (view->has_told_nobody || totals->process_count || totals->up_ns < NOBODY_NS)
        return;
    view->has_told_nobody = true;
    if (sn_settings_has(targets, "names"))
        say(view, SN_STYLE_WARN, "targets", "no process of such a name yet: waiting for one");
}

static void say_live(const struct sn_export_tally *totals)
{
    char text[4][32];
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(LINE_LIMIT);
    sn_buf_format(&line, "  %s   %zu process%s   %s points   %s dropped   Ctrl-C stops",
                  sn_text_duration(totals->up_ns, text[0]), totals->process_count,
                  totals->process_count == 1 ? "" : "es",
                  sn_text_count(totals->point_count + totals->event_count, text[1]),
                  sn_text_count(totals->dropped_count, text[2]));
    sn_terminal_live(stderr, sn_buf_string(&line));
}

static void say_state(struct view *view)
{
    struct sn_export_tally totals;
    uint64_t now = sn_clock_monotonic_ns();
    if (now < view->live_ns + LIVE_NS)
        return;
    view->live_ns = now;
    sn_export_run_tally(view->run, &totals);
    say_receivers(view);
    say_note(view, &totals);
    say_nobody(view, &totals);
    if (view->is_terminal)
        say_live(&totals);
}

static void say_end(struct view *view)
{
    struct sn_export_tally totals;
    char text[8][32];
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(LINE_LIMIT);
    sn_export_run_tally(view->run, &totals);
    double share = totals.up_ns ? totals.cpu_seconds * 1e11 / (double)totals.up_ns : 0;
    sn_buf_format(&line, "%s: %s points", sn_text_duration(totals.up_ns, text[0]),
                  sn_text_count(totals.point_count, text[1]));
    if (totals.event_count)
        sn_buf_format(&line, ", %s events", sn_text_count(totals.event_count, text[2]));
    if (totals.unused_count)
        sn_buf_format(&line, " (%s without the number that a rule wants)",
                      sn_text_count(totals.unused_count, text[3]));
    sn_buf_format(&line, ", %s numbers, %s dropped, %s events lost",
                  sn_text_count(totals.number_count, text[4]),
                  sn_text_count(totals.dropped_count, text[5]),
                  sn_text_count(totals.lost_count, text[6]));
    if (totals.retry_count)
        sn_buf_format(&line, ", %s attempts to send failed",
                      sn_text_count(totals.retry_count, text[2]));
    if (totals.queued_bytes)
        sn_buf_format(&line, ", %s never sent", sn_text_bytes(totals.queued_bytes, text[3]));
    sn_buf_format(&line, "; cost %" PRIu64 ".%u %% of a CPU, %s", (uint64_t)share,
                  (unsigned)((uint64_t)(share * 10) % 10),
                  sn_text_bytes(totals.rss_bytes, text[7]));
    say(view, SN_STYLE_BOLD, "exported", sn_buf_string(&line));
}

/* --- what came of it --- */

/* Receivers of which not one has got anything. */
static bool has_failed_receiver(const struct view *view)
{
    bool has_failed = false;
    for (size_t i = 0; i < sn_export_run_receiver_count(view->run); i++) {
        struct sn_export_receiver receiver;
        char title[96];
        sn_export_run_receiver(view->run, i, &receiver);
        if (receiver.state.sent_count ||
            !(receiver.state.dropped_count || receiver.state.queued_bytes))
            continue;
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(LINE_LIMIT);
        sn_buf_format(&text, "nothing has reached %s", receiver.place);
        say(view, SN_STYLE_WARN, sn_settings_title(receiver.settings, title), sn_buf_string(&text));
        has_failed = true;
    }
    return has_failed;
}

/* Probes are silent while nobody listens to them; so is a run that only they are in. */
static bool expects_runtimes(const struct view *view)
{
    const struct sn_settings *counters = sn_configuration_find(view->configuration, "counters", "");
    return sn_export_run_receiver_count(view->run) && sn_settings_flag(counters, "enabled") &&
           sn_settings_flag(counters, "runtime");
}

static int judge(const struct view *view)
{
    struct sn_export_tally totals;
    sn_export_run_tally(view->run, &totals);
    bool is_fruitless = !totals.runtime_count && !totals.event_count && expects_runtimes(view);
    if (has_failed_receiver(view))
        return SN_EXIT_PARTIAL;
    if (view->was_stopped || !is_fruitless)
        return SN_EXIT_DONE;
    say(view, SN_STYLE_WARN, "targets",
        totals.point_count ? "no runtime has told anything; 'sonde ps' may say why"
                           : "no process has told anything; 'sonde ps' may say why");
    return totals.point_count || totals.process_count ? SN_EXIT_PARTIAL : SN_EXIT_NO_TARGET;
}

/* --- running --- */

/* A fresh configuration as the file has it now; NULL, and said, when something is wrong with it. */
static struct sn_configuration *read_again(const struct view *view)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *fresh = NULL;
    struct sonde_error cause = {0};
    int rc = sn_configuration_read(view->configuration->path, &fresh, &cause);
    if (rc == SONDE_OK)
        rc = sn_configuration_check(fresh, &cause);
    if (rc == SONDE_OK)
        sn_config_print_problems(fresh);
    if (rc == SONDE_OK)
        rc = sn_configuration_fault(fresh, &cause);
    if (rc == SONDE_OK)
        return SN_TAKE(fresh);
    say(view, SN_STYLE_WARN, "not read again", cause.text);
    return NULL;
}

/* A file that is broken now changes nothing. One that is good but cannot be started, since a port
 * is taken or a file not there, is told, and what ran before is started again. */
static int reload(struct view *view, struct sonde_error *err)
{
    SN_AUTO(sn_configuration_free) struct sn_configuration *fresh = read_again(view);
    struct sonde_error cause = {0};
    if (!fresh)
        return SONDE_OK;
    sn_export_run_finish(view->run);
    sn_export_run_free(SN_TAKE(view->run)); /* its ports are wanted again */
    memset(view->was_down, 0, sizeof(view->was_down));
    if (sn_export_run_new(fresh, true, &view->run, &cause) == SONDE_OK) {
        sn_configuration_free(view->configuration);
        view->configuration = SN_TAKE(fresh);
        say_start(view);
        return SONDE_OK;
    }
    say(view, SN_STYLE_WARN, "not started", cause.text);
    int rc = sn_export_run_new(view->configuration, true, &view->run, err);
    if (rc == SONDE_OK)
        say(view, SN_STYLE_WARN, "goes on", "as before");
    return rc;
}

/* Whether it is to go on. */
static bool obey_signals(struct view *view, int *ret_status, struct sonde_error *err)
{
    bool goes_on = true;
    for (int number; *ret_status == SONDE_OK && (number = sn_signals_take(view->signals));) {
        if (number == SIGHUP && view->configuration->path[0])
            *ret_status = reload(view, err);
        else
            goes_on = false;
    }
    view->was_stopped = !goes_on;
    return goes_on && *ret_status == SONDE_OK;
}

static int wait_ms(const struct view *view, uint64_t deadline_ns)
{
    int wait = sn_export_run_wait_ms(view->run);
    int most = sn_clock_poll_ms(deadline_ns);
    if (most >= 0 && (wait < 0 || most < wait))
        wait = most;
    return wait;
}

static int keep_turning(struct view *view, uint64_t deadline_ns, struct sonde_error *err)
{
    int rc = SONDE_OK;
    while (sn_clock_monotonic_ns() < deadline_ns) {
        struct pollfd polled[] = {{.fd = view->signals, .events = POLLIN},
                                  {.fd = sn_export_run_fd(view->run), .events = POLLIN}};
        (void)poll(polled, 2, wait_ms(view, deadline_ns));
        if (!obey_signals(view, &rc, err))
            return rc;
        rc = sn_export_run_turn(view->run, err);
        if (rc < 0)
            return rc;
        say_state(view);
        if (sn_export_run_is_over(view->run)) {
            say(view, SN_STYLE_WARN, "ended", "every process that was to be watched");
            return SONDE_OK;
        }
    }
    return SONDE_OK;
}

int sn_export_run_show(struct sn_configuration *configuration, uint64_t duration_ns,
                       int *ret_exit_code, struct sonde_error *err)
{
    struct view view = {.configuration = configuration, .signals = -1};
    uint64_t deadline = duration_ns ? sn_clock_deadline(duration_ns) : UINT64_MAX;
    view.is_terminal = isatty(STDERR_FILENO) == 1;
    int rc = sn_signals_open(&view.signals, err);
    if (rc == SONDE_OK)
        rc = sn_export_run_new(configuration, false, &view.run, err);
    if (rc == SONDE_OK) {
        say_start(&view);
        rc = keep_turning(&view, deadline, err);
    }
    if (view.run) {
        sn_export_run_finish(view.run);
        say_end(&view);
        *ret_exit_code = judge(&view);
    }
    sn_export_run_free(view.run);
    sn_configuration_free(view.configuration);
    sn_close(view.signals);
    return rc;
}
