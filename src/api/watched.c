#include "api/watched.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/counter_poller.h"
#include "api/hub_internal.h"
#include "api/process_sight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/neighbour.h"
#include "source/proc/facts.h"
#include "source/proc/vitals.h"

#define FIRST_INTERVAL_NS (100ull * SN_NS_PER_MS) /* less is refused by meters */

/* With less between points a first one in advance is no gain. */
#define FIRST_WORTH_NS (300ull * SN_NS_PER_MS)

/* Meters and EventCounters do not answer at the same moment. */
#define FIRST_GRACE_NS    (60ull * SN_NS_PER_MS)
#define COUNTERS_GRACE_NS (10ull * SN_NS_PER_MS) /* where there are no meters */
#define FIRST_MOST_NS     (5ull * SN_NS_PER_SECOND)
#define GAP_MOST_NS       (1000ull * SN_NS_PER_MS)
#define GAP_LOOK_NS       (1ull * SN_NS_PER_MS)
#define LONG_GAP_LOOK_NS  (20ull * SN_NS_PER_MS)

/* Of counters alone: the thread that polls them sleeps for so long before it is seen to be idle. */
#define YOUNG_MOST_NS     (1000ull * SN_NS_PER_MS)
#define YOUNG_GAP_MOST_NS (1500ull * SN_NS_PER_MS)

/* The longest wait for a quick answer, however long the interval is. */
#define QUICK_WORTH_MOST_NS (30ull * SN_NS_PER_SECOND)

/* From the opening of a session until it has told which meters there are. */
#define METERS_TELL_NS (150ull * SN_NS_PER_MS)

#define RETRY_LEAST_NS (1ull * SN_NS_PER_SECOND)
#define RETRY_MOST_NS  (30ull * SN_NS_PER_SECOND)

#define SILENT_INTERVALS 3u
#define SILENCE_LEAST_NS (2ull * SN_NS_PER_SECOND)

/* Asked at the same time: to be asked is work for a runtime, and all of them share one machine. */
#define OPENING_MAX 8u
#define TURN_NS     (20ull * SN_NS_PER_MS)

#define INSTRUMENT_BYTES (1u << 20)
#define TABLE_MAX        4096u
#define ARGUMENTS_MAX    (16u << 10)

/* --- asking --- */

struct request {
    struct sonde_provider *providers;
    size_t count;
    char interval[64];       /* of EventCounters */
    struct sn_buf arguments; /* of meters */
};

static void put_seconds(struct sn_buf *to, uint64_t ns)
{
    uint64_t ms = ns / SN_NS_PER_MS;
    sn_buf_format(to, "%" PRIu64 ".%03" PRIu64, ms / 1000, ms % 1000);
}

static void add_meters(struct request *request, const struct sn_watching *common,
                       uint64_t interval_ns)
{
    SN_AUTO(sn_buf_done) struct sn_buf metrics = sn_buf_with_limit(ARGUMENTS_MAX);
    sn_counter_specs_metrics(&common->specs, &metrics);
    if (!metrics.size)
        return;
    sn_buf_format(&request->arguments, "Metrics=%s;RefreshInterval=", sn_buf_string(&metrics));
    put_seconds(&request->arguments, interval_ns);
    sn_buf_format(&request->arguments, ";MaxTimeSeries=%u;MaxHistograms=%u", common->max_series,
                  common->max_histograms);
    request->providers[request->count++] =
        (struct sonde_provider){.name = "System.Diagnostics.Metrics",
                                .keywords = 2,
                                .level = 4,
                                .arguments = sn_buf_string(&request->arguments)};
}

static bool is_asked(const struct request *request, const char *name)
{
    for (size_t i = 0; i < request->count; i++) {
        if (strcasecmp(request->providers[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Level 1: records come at any level, and what else the source says does not. */
static void add_counters(struct request *request, const struct sn_watched *watched)
{
    const struct sn_counter_specs *specs = &watched->common->specs;
    for (size_t i = 0; i < specs->count; i++) {
        const char *name = specs->specs[i].provider;
        bool has_meter =
            sn_watched_has_meter(watched, name) && sn_counter_specs_prefer_meter(specs, name);
        if (!specs->specs[i].wants_counters || has_meter || strchr(name, '*') ||
            is_asked(request, name))
            continue;
        request->providers[request->count++] =
            (struct sonde_provider){.name = name, .level = 1, .arguments = request->interval};
    }
}

/* Meters first: they tell of their instruments before the first counters are polled. */
static int build(struct request *request, const struct sn_watched *watched, uint64_t interval_ns,
                 bool with_meters, struct sonde_error *err)
{
    const struct sn_watching *common = watched->common;
    SN_AUTO(sn_buf_done) struct sn_buf seconds = sn_buf_with_limit(64);
    request->arguments = sn_buf_with_limit(ARGUMENTS_MAX);
    request->providers = calloc(common->specs.count + 1, sizeof(*request->providers));
    if (!request->providers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to ask for counters");
    put_seconds(&seconds, interval_ns);
    (void)snprintf(request->interval, sizeof(request->interval), "EventCounterIntervalSec=%s",
                   sn_buf_string(&seconds));
    if (with_meters)
        add_meters(request, common, interval_ns);
    add_counters(request, watched);
    if (request->arguments.failed)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "too many counters are asked for by name");
    return SONDE_OK;
}

static void request_done_auto(struct request *request)
{
    free(request->providers);
    sn_buf_done(&request->arguments);
}

static void enter(struct sn_watched *watched, enum sn_watched_stage stage, uint64_t now_ns)
{
    watched->stage = stage;
    watched->stage_ns = now_ns;
}

/* What will not change by itself is not tried again. */
static bool is_final(int status)
{
    return status == SONDE_E_DENIED || status == SONDE_E_ARGUMENT || status == SONDE_E_UNSUPPORTED;
}

/* Ended, or dead and not buried; whoever has the pid now is another. */
static bool is_gone(const struct sonde_process *process)
{
    struct sn_proc_facts facts;
    return !sn_process_facts(process->pid, &facts) || strchr("ZXx", facts.state) ||
           facts.start_ticks != process->start_ticks;
}

/* Where the kernel is not asked nobody else notices that a process has ended. */
static void failed(struct sn_watched *watched, int status, const char *text, uint64_t now_ns)
{
    if (!watched->vitals && is_gone(&watched->sight.process))
        watched->ended_ns = now_ns;
    (void)snprintf(watched->trouble, sizeof(watched->trouble), "%s", text);
    watched->phase = SONDE_CONSUMER_ENDED;
    enter(watched, SN_WATCHED_IDLE, now_ns);
    watched->patience_ns = watched->patience_ns ? watched->patience_ns * 2 : RETRY_LEAST_NS;
    if (watched->patience_ns > RETRY_MOST_NS)
        watched->patience_ns = RETRY_MOST_NS;
    watched->retry_ns = is_final(status) ? 0 : now_ns + watched->patience_ns;
}

/* From inside the hub's turn: conclusions are drawn when it is over. */
static void changed(void *user, struct sonde_consumer *consumer)
{
    struct sn_watched *watched = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    watched->phase = state.phase;
    watched->live_ns = state.phase == SONDE_CONSUMER_LIVE ? sn_clock_monotonic_ns() : 0;
    watched->is_consumer_over |= state.phase == SONDE_CONSUMER_ENDED;
}

static bool wants_meters(const struct sn_watching *common)
{
    SN_AUTO(sn_buf_done) struct sn_buf metrics = sn_buf_with_limit(ARGUMENTS_MAX);
    sn_counter_specs_metrics(&common->specs, &metrics);
    return metrics.size || metrics.failed;
}

static bool wants_counters(const struct sn_counter_specs *specs)
{
    for (size_t i = 0; i < specs->count; i++) {
        if (specs->specs[i].wants_counters && !strchr(specs->specs[i].provider, '*'))
            return true;
    }
    return false;
}

/* While the process is young its counters are asked for alone. */
static uint64_t interval_of(const struct sn_watched *watched, enum sn_watched_stage stage)
{
    uint64_t interval_ns = watched->common->interval_ns;
    if (stage == SN_WATCHED_FIRST)
        return FIRST_INTERVAL_NS;
    return watched->has_meters_asked || interval_ns < YOUNG_MOST_NS ? interval_ns : YOUNG_MOST_NS;
}

static void ask(struct sn_watched *watched, enum sn_watched_stage stage, uint64_t now_ns)
{
    SN_AUTO(request_done) struct request request = {0};
    struct sonde_error err = {0};
    watched->has_meters_asked = now_ns >= watched->old_ns || !wants_meters(watched->common);
    uint64_t interval_ns = interval_of(watched, stage);
    int rc = build(&request, watched, interval_ns, watched->has_meters_asked, &err);
    struct sonde_consumer_options options = {
        .size = sizeof(options),
        .pid = watched->sight.process.pid,
        .providers = request.providers,
        .provider_count = request.count,
        .changed = changed,
    };
    watched->retry_ns = 0;
    watched->phase = SONDE_CONSUMER_OPENING;
    watched->live_ns = 0;
    sn_watched_restart(watched);
    enter(watched, stage, now_ns);
    if (rc == SONDE_OK)
        rc = sonde_hub_add(watched->common->hub, &options, sn_watched_event, watched,
                           &watched->consumer, &err);
    if (rc != SONDE_OK)
        failed(watched, rc, err.text, now_ns);
}

static void let_go(struct sn_watched *watched)
{
    struct sonde_consumer_state state;
    if (!watched->consumer)
        return;
    sonde_consumer_state(watched->consumer, &state);
    watched->lost_before += state.lost_count;
    sonde_hub_remove(watched->consumer);
    watched->consumer = NULL;
    watched->is_consumer_over = false;
}

/* Whether others of this hub, or another sonde, listen already. */
static bool is_heard(const struct sn_watched *watched)
{
    struct sonde_hub_target target;
    return sonde_hub_target(watched->common->hub, watched->sight.process.pid, &target, NULL) ==
               SONDE_OK &&
           (target.interval_ns || target.owner_pid);
}

/* A short interval stays until the last listener of the process goes: nobody else may be there. */
static bool may_be_quick(const struct sn_watched *watched)
{
    const struct sn_watching *common = watched->common;
    return !common->no_provisional && common->interval_ns >= FIRST_WORTH_NS && !is_heard(watched) &&
           sn_counter_poller_is_idle(watched->sight.process.pid);
}

static void start(struct sn_watched *watched, uint64_t now_ns)
{
    if (now_ns < watched->old_ns && !wants_counters(&watched->common->specs)) {
        watched->retry_ns = watched->old_ns;
        return;
    }
    watched->is_enumerated |= is_heard(watched); /* in a session that runs it is not told again */
    ask(watched, may_be_quick(watched) ? SN_WATCHED_FIRST : SN_WATCHED_LASTING, now_ns);
}

/* --- stages --- */

bool sn_watched_is_opening(const struct sn_watched *watched)
{
    return watched->consumer && watched->phase == SONDE_CONSUMER_OPENING && !watched->answered_ns;
}

static void start_in_turn(struct sn_watched *watched, uint64_t now_ns)
{
    if (watched->common->opening_count == OPENING_MAX) {
        watched->retry_ns = now_ns + TURN_NS;
        return;
    }
    watched->common->opening_count++;
    start(watched, now_ns);
}

/* What observable counters added is told by their second collection only. Over a whole interval
 * that is waited for where somebody wants it. */
static bool needs_second_collection(const struct sn_watched *watched)
{
    return watched->stage == SN_WATCHED_FIRST ||
           (watched->common->with_rates && watched->has_rates_later);
}

/* Meters have begun, but it takes them longer. */
static bool are_meters_late(const struct sn_watched *watched)
{
    return watched->meters.count &&
           watched->collected_count < (needs_second_collection(watched) ? 2 : 1);
}

/* When the first answer may be complete. */
static uint64_t grace_end_ns(const struct sn_watched *watched)
{
    uint64_t end_ns =
        watched->answered_ns + (watched->meters.count ? FIRST_GRACE_NS : COUNTERS_GRACE_NS);
    uint64_t told_ns = watched->live_ns + METERS_TELL_NS;
    return watched->has_meters_asked && !watched->meters.count && told_ns > end_ns ? told_ns
                                                                                   : end_ns;
}

static bool is_answer_complete(const struct sn_watched *watched, uint64_t now_ns)
{
    return watched->answered_ns && watched->live_ns && now_ns >= grace_end_ns(watched) &&
           !are_meters_late(watched);
}

/* A process on a busy machine may need more than `usual_ns`. Without a quick answer the first
 * values come after a whole interval, so a longer interval is worth a longer wait. */
static uint64_t patience_for_quick_ns(const struct sn_watched *watched, uint64_t usual_ns)
{
    uint64_t slow_ns = watched->common->interval_ns;
    if (slow_ns > QUICK_WORTH_MOST_NS)
        slow_ns = QUICK_WORTH_MOST_NS;
    return slow_ns > usual_ns ? slow_ns : usual_ns;
}

static bool is_first_over(const struct sn_watched *watched, uint64_t now_ns)
{
    return is_answer_complete(watched, now_ns) ||
           (watched->phase == SONDE_CONSUMER_LIVE &&
            now_ns >= watched->stage_ns + patience_for_quick_ns(watched, FIRST_MOST_NS));
}

/* What the kernel counts becomes a rate along with the runtime's. */
static void end_first(struct sn_watched *watched, uint64_t now_ns)
{
    sn_watched_poll(watched, now_ns);
    let_go(watched);
    enter(watched, SN_WATCHED_GAP, now_ns);
}

/* Whether the short session is gone, or stays for others whom it serves as well. */
static bool is_gap_over(const struct sn_watched *watched, uint64_t now_ns)
{
    struct sonde_hub_target target;
    uint64_t most_ns =
        watched->begins_anew ? patience_for_quick_ns(watched, YOUNG_GAP_MOST_NS) : GAP_MOST_NS;
    if (now_ns >= watched->stage_ns + most_ns)
        return true;
    if (sonde_hub_target(watched->common->hub, watched->sight.process.pid, &target, NULL) !=
        SONDE_OK)
        return !watched->begins_anew ||
               sn_counter_poller_is_idle(watched->sight.process.pid); /* so it may be quick */
    return target.consumer_count || !target.session_count;
}

static bool is_stopped(uint32_t pid)
{
    struct sn_proc_facts facts;
    return !sn_process_facts(pid, &facts) || strchr("Tt", facts.state);
}

/* The runtime ends its meters when it takes the end of an earlier session for the end of this one;
 * so the same is asked anew, ever less often. */
static void mind_silence(struct sn_watched *watched, uint64_t now_ns)
{
    uint64_t since_ns =
        watched->heard_ns > watched->stage_ns ? watched->heard_ns : watched->stage_ns;
    uint64_t usual_ns = SILENT_INTERVALS * watched->common->interval_ns + SILENCE_LEAST_NS;
    if (watched->silence_ns < usual_ns || now_ns - since_ns < usual_ns)
        watched->silence_ns = usual_ns;
    if (watched->stage != SN_WATCHED_LASTING || watched->phase != SONDE_CONSUMER_LIVE ||
        !watched->heard_ns || now_ns - since_ns < watched->silence_ns)
        return;
    watched->silence_ns *= 2;
    if (!is_stopped(watched->sight.process.pid))
        sn_hub_ask_again(watched->common->hub, watched->sight.process.pid);
}

static void consumer_over(struct sn_watched *watched, uint64_t now_ns)
{
    struct sonde_consumer_state state;
    sonde_consumer_state(watched->consumer, &state);
    failed(watched, state.status, state.error, now_ns);
    let_go(watched);
}

/* Its counters alone were asked for, and its meters may be now. */
static bool is_old_enough(const struct sn_watched *watched, uint64_t now_ns)
{
    return watched->stage == SN_WATCHED_LASTING && !watched->has_meters_asked &&
           now_ns >= watched->old_ns;
}

static void begin_anew(struct sn_watched *watched, uint64_t now_ns)
{
    let_go(watched);
    watched->begins_anew = true;
    enter(watched, SN_WATCHED_GAP, now_ns);
}

static void leave_gap(struct sn_watched *watched, uint64_t now_ns)
{
    if (watched->begins_anew)
        start(watched, now_ns);
    else
        ask(watched, SN_WATCHED_LASTING, now_ns);
    watched->begins_anew = false;
}

static void advance(struct sn_watched *watched, uint64_t now_ns)
{
    if (watched->is_consumer_over) {
        consumer_over(watched, now_ns);
    } else if (watched->stage == SN_WATCHED_FIRST && is_first_over(watched, now_ns)) {
        end_first(watched, now_ns);
    } else if (is_old_enough(watched, now_ns)) {
        begin_anew(watched, now_ns);
    } else if (watched->stage == SN_WATCHED_GAP && is_gap_over(watched, now_ns)) {
        leave_gap(watched, now_ns);
    } else if (watched->stage == SN_WATCHED_IDLE && watched->retry_ns &&
               now_ns >= watched->retry_ns) {
        start_in_turn(watched, now_ns);
    }
    if (watched->phase == SONDE_CONSUMER_LIVE && watched->answered_ns) {
        watched->patience_ns = 0;
        watched->trouble[0] = '\0';
    }
}

static uint64_t next_tend(const struct sn_watched *watched, uint64_t now_ns)
{
    switch (watched->stage) {
    case SN_WATCHED_FIRST:
        return watched->answered_ns && grace_end_ns(watched) > now_ns ? grace_end_ns(watched)
                                                                      : now_ns + FIRST_INTERVAL_NS;
    case SN_WATCHED_GAP:
        return now_ns + (now_ns - watched->stage_ns < GAP_MOST_NS ? GAP_LOOK_NS : LONG_GAP_LOOK_NS);
    case SN_WATCHED_IDLE: return watched->retry_ns ? watched->retry_ns : UINT64_MAX;
    case SN_WATCHED_LASTING: return watched->has_meters_asked ? UINT64_MAX : watched->old_ns;
    default: return UINT64_MAX;
    }
}

uint64_t sn_watched_tend(struct sn_watched *watched, uint64_t now_ns)
{
    if (watched->ended_ns) {
        let_go(watched);
        return UINT64_MAX;
    }
    watched->is_complete |= watched->told != SN_POINTS_KEPT && watched->has_meters_asked &&
                            is_answer_complete(watched, now_ns);
    advance(watched, now_ns);
    mind_silence(watched, now_ns);
    return next_tend(watched, now_ns);
}

/* --- life --- */

static uint64_t old_enough_ns(uint32_t pid, uint64_t age_ns)
{
    struct sn_proc_facts facts;
    bool is_young = sn_process_facts(pid, &facts) && facts.up_ns < age_ns;
    return is_young ? sn_clock_monotonic_ns() + (age_ns - facts.up_ns) : 0;
}

static void watched_free_auto(struct sn_watched **slot)
{
    sn_watched_free(*slot);
}

int sn_watched_new(struct sn_watching *common, const struct sn_process_sight *sight,
                   uint64_t meters_age_ns, struct sn_watched **ret_watched, struct sonde_error *err)
{
    SN_AUTO(watched_free) struct sn_watched *watched = calloc(1, sizeof(*watched));
    if (!watched) {
        struct sn_process_sight unwanted = *sight;
        sn_process_sight_close(&unwanted);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to watch a process");
    }
    watched->common = common;
    watched->sight = *sight;
    watched->instrument_texts = sn_arena_with_limit(INSTRUMENT_BYTES);
    watched->instrument_places = sn_table_with_limit(TABLE_MAX);
    watched->meters = sn_table_with_limit(TABLE_MAX);
    watched->note = sn_buf_with_limit(2048);
    sn_point_series_set_init(&watched->series, sight->process.pid);
    sn_point_series_set_init(&watched->vital_series, sight->process.pid);
    if (!common->no_kernel && !sn_ipc_is_neighbour((int)sight->process.pid)) {
        int rc = sn_vitals_new("", sight->process.pid, false, &watched->vitals, err);
        if (rc != SONDE_OK)
            return rc;
        watched->before = calloc(1, sizeof(*watched->before));
        if (!watched->before)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to watch a process");
    }
    watched->phase = common->no_runtime ? SONDE_CONSUMER_LIVE : SONDE_CONSUMER_OPENING;
    watched->retry_ns = common->no_runtime ? 0 : sn_clock_monotonic_ns();
    watched->meters_age_ns = meters_age_ns;
    watched->old_ns = old_enough_ns(sight->process.pid, meters_age_ns);
    *ret_watched = SN_TAKE(watched);
    return SONDE_OK;
}

void sn_watched_free(struct sn_watched *watched)
{
    if (!watched)
        return;
    let_go(watched);
    sn_vitals_free(watched->vitals);
    free(watched->before);
    sn_point_series_set_done(&watched->series);
    sn_point_series_set_done(&watched->vital_series);
    sn_arena_done(&watched->instrument_texts);
    free(watched->instruments);
    sn_table_done(&watched->instrument_places);
    sn_table_done(&watched->meters);
    sn_buf_done(&watched->note);
    sn_process_sight_close(&watched->sight);
    free(watched);
}

/* --- telling --- */

void sn_watched_sweep(struct sn_watched *watched, uint64_t now_ns)
{
    sn_point_series_sweep(&watched->series, now_ns, watched->common->interval_ns);
    sn_point_series_sweep(&watched->vital_series, now_ns, watched->common->interval_ns);
}

void sn_watched_each(const struct sn_watched *watched, uint64_t now_ns, sonde_point_fn *take,
                     void *user)
{
    sn_point_series_each(&watched->series, now_ns, watched->common->interval_ns, take, user);
    sn_point_series_each(&watched->vital_series, now_ns, watched->common->interval_ns, take, user);
}

static void put_note(struct sn_buf *note, const char *text)
{
    if (!text[0])
        return;
    if (note->size)
        sn_buf_text(note, "; ");
    sn_buf_text(note, text);
}

static void put_limits(struct sn_watched *watched)
{
    const struct sn_watching *common = watched->common;
    char text[96];
    if (watched->is_series_limited) {
        (void)snprintf(text, sizeof(text),
                       "more than %u series (--max-series): the rest is not reported",
                       common->max_series);
        put_note(&watched->note, text);
    }
    if (watched->is_histogram_limited) {
        (void)snprintf(text, sizeof(text),
                       "more than %u histograms (--max-histograms): the rest is not reported",
                       common->max_histograms);
        put_note(&watched->note, text);
    }
    if (sn_point_series_refused_count(&watched->series))
        put_note(&watched->note, "more series than can be held: the rest is left out");
}

/* One that is asked for its meters within moments is being opened until then. */
static bool has_meters_later(const struct sn_watched *watched)
{
    return !watched->has_meters_asked && watched->meters_age_ns > SONDE_METERS_AGE_LEAST_NS &&
           !watched->common->no_runtime && wants_meters(watched->common);
}

static void put_age(struct sn_watched *watched)
{
    char text[96];
    if (!has_meters_later(watched) || sn_clock_monotonic_ns() >= watched->old_ns)
        return;
    (void)snprintf(text, sizeof(text), "meters follow when the process is %" PRIu64 " s old",
                   watched->meters_age_ns / SN_NS_PER_SECOND);
    put_note(&watched->note, text);
}

static void put_silence(struct sn_watched *watched)
{
    uint64_t longest = watched->common->interval_ns > watched->interval_ns
                           ? watched->common->interval_ns
                           : watched->interval_ns;
    uint64_t silence = sn_clock_monotonic_ns() - watched->heard_ns;
    char text[96];
    if (!watched->heard_ns || watched->stage != SN_WATCHED_LASTING ||
        silence <= SILENT_INTERVALS * longest)
        return;
    (void)snprintf(text, sizeof(text),
                   "no values from the runtime for %" PRIu64 " s: stopped, stuck, or short of CPU",
                   silence / SN_NS_PER_SECOND);
    put_note(&watched->note, text);
}

static void put_notes(struct sn_watched *watched)
{
    struct sonde_hub_target target;
    sn_buf_clear(&watched->note);
    put_note(&watched->note, watched->trouble);
    put_age(watched);
    put_silence(watched);
    if (sonde_hub_target(watched->common->hub, watched->sight.process.pid, &target, NULL) ==
        SONDE_OK) /* other tools, which the hub deals with */
        put_note(&watched->note, target.note);
    put_limits(watched);
    put_note(&watched->note, watched->mistake);
}

/* One that was wanted for the kernel's numbers alone lives as long as those come. Others are being
 * opened until their meters are asked for, too, if that is soon. */
static int shown_phase(const struct sn_watched *watched)
{
    if (watched->ended_ns)
        return SONDE_CONSUMER_ENDED;
    bool is_kernels = watched->common->with_unreachable && watched->vitals &&
                      !watched->sight.process.is_reachable;
    bool is_waiting = watched->phase == SONDE_CONSUMER_LIVE && !watched->common->no_runtime &&
                      !has_meters_later(watched) &&
                      (!watched->has_meters_asked || watched->begins_anew);
    if (is_kernels)
        return SONDE_CONSUMER_LIVE;
    return is_waiting ? SONDE_CONSUMER_OPENING : watched->phase;
}

/* Between its values: as they say it; as long as some have not come, as long as that may take. */
static uint64_t shown_interval_ns(const struct sn_watched *watched)
{
    if (watched->is_complete || watched->stage != SN_WATCHED_LASTING)
        return watched->interval_ns;
    uint64_t asked_ns =
        sn_hub_longest_interval_ns(watched->common->hub, watched->sight.process.pid);
    return asked_ns > watched->interval_ns ? asked_ns : watched->interval_ns;
}

void sn_watched_show(struct sn_watched *watched, struct sonde_watched *ret_watched)
{
    struct sonde_consumer_state state = {0};
    if (watched->consumer)
        sonde_consumer_state(watched->consumer, &state);
    put_notes(watched);
    *ret_watched = (struct sonde_watched){
        .process = &watched->sight.process,
        .phase = shown_phase(watched),
        .interval_ns = shown_interval_ns(watched),
        .lost_count = watched->lost_before + state.lost_count,
        .dropped_count = sn_point_series_refused_count(&watched->series),
        .note = sn_buf_string(&watched->note),
        .is_complete = watched->is_complete,
    };
}
