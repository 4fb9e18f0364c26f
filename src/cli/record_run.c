#include "cli/record_run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/record_outcome.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define LIVE_EVERY_MS 250

struct session {
    const struct sn_record_run *run;
    struct sonde_recorder *recorder; /* borrows */
    int signals;
    bool reads_keys;
    bool is_stopping;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    uint64_t shown_ns;
};

/* --- what a terminal is shown --- */

void sn_record_say_started(void *user, const struct sonde_record_stats *stats)
{
    (void)user;
    sn_record_print_limits(stderr, stats);
}

static const char *stage_words(int stage)
{
    static const char *const words[] = {
        [SONDE_RECORD_RECORDING] = "Enter or Ctrl-C stops",
        [SONDE_RECORD_STOPPING] = "runtimes' last events (Ctrl-C: skip)",
        [SONDE_RECORD_NAMING] = "naming what ran",
        [SONDE_RECORD_PACKING] = "packing",
        [SONDE_RECORD_DONE] = "done",
    };
    return stage >= 0 && stage <= SONDE_RECORD_DONE ? words[stage] : "";
}

void sn_record_show_live(void *user, const struct sonde_record_stats *stats)
{
    (void)user;
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(4096);
    char text[4][32];
    sn_buf_format(&line, "  %s   %s samples   %s lost   %s processes, %" PRIu32 " .NET",
                  sn_text_duration(stats->duration_ns, text[0]),
                  sn_text_count(stats->sample_count, text[1]),
                  sn_text_count(stats->kernel_lost_count + stats->event_lost_count, text[2]),
                  sn_text_count(stats->process_count, text[3]), stats->runtime_count);
    sn_buf_format(&line, "   %s   %s", sn_text_bytes(stats->byte_count, text[3]),
                  stage_words(stats->stage));
    sn_terminal_live(stderr, sn_buf_string(&line));
}

/* --- while it runs --- */

static void stop(struct session *session)
{
    session->is_stopping = true;
    session->deadline_ns = UINT64_MAX;
    sonde_recorder_stop(session->recorder);
}

static void show(struct session *session, bool at_once)
{
    const struct sn_record_run *run = session->run;
    uint64_t now = sn_clock_monotonic_ns();
    if (!run->live ||
        (!at_once && now - session->shown_ns < LIVE_EVERY_MS * (uint64_t)SN_NS_PER_MS))
        return;
    struct sonde_record_stats stats;
    sonde_recorder_stats(session->recorder, &stats);
    run->live(run->user, &stats);
    session->shown_ns = now;
}

static int poll_timeout(const struct session *session)
{
    int timeout = sn_clock_sooner_ms(sonde_recorder_wait_ms(session->recorder),
                                     sn_clock_poll_ms(session->deadline_ns));
    return session->run->live ? sn_clock_sooner_ms(timeout, LIVE_EVERY_MS) : timeout;
}

/* Enter ends the recording, the input's end only ends listening to it. */
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
    struct pollfd polled[] = {{.fd = sonde_recorder_fd(session->recorder), .events = POLLIN},
                              {.fd = session->signals, .events = POLLIN},
                              {.fd = session->reads_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(polled, 3, poll_timeout(session)) < 0 && errno != EINTR)
        return sn_fail_errno(err, "cannot wait for events");
    if (polled[1].revents && sn_signals_drain(session->signals))
        stop(session);
    if (polled[2].revents)
        read_key(session);
    if (sn_clock_monotonic_ns() >= session->deadline_ns)
        stop(session);
    return sonde_recorder_turn(session->recorder, err);
}

static int drive(struct session *session, struct sonde_error *err)
{
    int stage = SONDE_RECORD_RECORDING;
    while (!sonde_recorder_is_done(session->recorder)) {
        int rc = wait_and_turn(session, err);
        if (rc < 0)
            return rc;
        struct sonde_record_stats stats;
        sonde_recorder_stats(session->recorder, &stats);
        show(session, stats.stage != stage);
        stage = stats.stage;
    }
    return SONDE_OK;
}

static void sonde_recorder_free_auto(struct sonde_recorder **slot)
{
    sonde_recorder_free(*slot);
}

/* On a machine with more to run than CPUs a reader that waits its turn loses what it reads. Where
 * we may not, it goes without. The recorded program was started before and keeps its own. */
static void stay_ahead(void)
{
    enum { AHEAD_OF_MOST = -10 };
    (void)setpriority(PRIO_PROCESS, 0, AHEAD_OF_MOST);
}

static int record(struct session *session, struct sonde_error *err)
{
    const struct sn_record_run *run = session->run;
    struct sonde_record_options options = run->options;
    SN_AUTO(sonde_recorder_free) struct sonde_recorder *recorder = NULL;
    int rc = sonde_recorder_new(&options, &recorder, err);
    if (rc < 0)
        return sn_record_fail(run->words, err);
    session->recorder = recorder;
    stay_ahead();
    session->deadline_ns = run->duration_ns ? sn_clock_deadline(run->duration_ns) : UINT64_MAX;
    struct sonde_record_stats stats;
    sonde_recorder_stats(recorder, &stats);
    if (run->started)
        run->started(run->user, &stats);
    rc = drive(session, err);
    if (run->live == sn_record_show_live)
        sn_terminal_live(stderr, "");
    sonde_recorder_stats(recorder, &stats);
    if (rc < 0)
        return sn_record_tell_broken(run, &stats, err);
    return sn_record_tell(run, &stats, sonde_recorder_command_status(recorder));
}

int sn_record_run(const struct sn_record_run *run)
{
    struct sonde_error err = {0};
    struct session session = {.run = run, .signals = -1, .reads_keys = run->reads_keys};
    if (sn_signals_open(&session.signals, &err) != SONDE_OK)
        return sn_record_fail(run->words, &err);
    int code = record(&session, &err);
    sn_close(session.signals);
    return code;
}
