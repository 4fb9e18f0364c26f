/* Drives a hub for the tests: integration_hub MODE PID [...], and prints what it saw as "key=value"
 * lines.
 *
 * It counts what the behaviour `numbers` of tests/apps/targets writes: per thread no number may be
 * missing or come twice, and between two of them there is one Same event. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sonde/hub.h"
#include "sonde/names.h"

#define THREADS   16
#define CONSUMERS 12

/* What a consumer that counts has seen of each thread. */
struct count {
    const char *name;
    uint64_t numbers;
    uint64_t others;
    uint64_t same;
    uint64_t foreign; /* events that it did not ask for */
    uint64_t missing;
    uint64_t twice;
    uint64_t same_wrong; /* not one between two numbers */
    uint64_t lost;
    uint64_t back; /* older than the one before it */
    uint64_t last_ns;
    int64_t next[THREADS];
    int64_t next_other[THREADS];
    uint64_t thread_ids[THREADS];
    uint64_t same_since[THREADS];
    uint64_t keywords; /* asked for */
    bool counts_same;
    uint64_t live_ns; /* when everything came; what is older does not count */
    struct sonde_consumer *consumer;
};

static struct sonde_hub *hub;
static uint32_t pid;

static int64_t field(struct sonde_event *event, const char *name)
{
    struct sonde_value value;
    return sonde_event_field(event, name, &value) ? (int64_t)value.number : -1;
}

static void see_number(struct count *count, int64_t *next, int64_t number)
{
    if (*next >= 0 && number > *next)
        count->missing += (uint64_t)(number - *next);
    if (*next >= 0 && number < *next)
        count->twice++;
    if (number >= *next)
        *next = number + 1;
}

static void take_number(struct count *count, const struct sonde_event_info *info, int64_t thread,
                        int64_t number)
{
    count->numbers++;
    if (count->next[thread] >= 0 && count->counts_same && count->same_since[thread] != 1)
        count->same_wrong++;
    count->same_since[thread] = 0;
    count->thread_ids[thread] = info->thread_id;
    see_number(count, &count->next[thread], number);
}

static void take_same(struct count *count, const struct sonde_event_info *info)
{
    count->same++;
    for (int i = 0; i < THREADS; i++) {
        if (count->thread_ids[i] == info->thread_id)
            count->same_since[i]++;
    }
}

static int take(void *user, struct sonde_event *event)
{
    struct count *count = user;
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    if (!count->live_ns || info.time_ns < count->live_ns)
        return SONDE_AGAIN;
    count->back += info.time_ns < count->last_ns;
    count->last_ns = info.time_ns;
    if (strcmp(info.provider, "Sonde-Numbers") != 0 || info.id < 1 || info.id > 3 ||
        !(count->keywords & 1ull << (info.id - 1))) {
        count->foreign++;
        return SONDE_OK;
    }
    int64_t thread = field(event, "thread");
    if (info.id == 1 && thread >= 0 && thread < THREADS)
        take_number(count, &info, thread, field(event, "number"));
    if (info.id == 2)
        take_same(count, &info);
    if (info.id == 3 && thread >= 0 && thread < THREADS) {
        count->others++;
        see_number(count, &count->next_other[thread], field(event, "number"));
    }
    return SONDE_OK;
}

static void lose(void *user, uint64_t thread, uint64_t lost)
{
    struct count *count = user;
    (void)thread;
    count->lost += lost;
}

static void note_phase(void *user, struct sonde_consumer *consumer)
{
    struct count *count = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_LIVE)
        count->live_ns = sn_clock_monotonic_ns();
}

static sonde_consumer_fn *changed = note_phase;

static void die(const struct sonde_error *err)
{
    (void)printf("failed=%s\n", err->text);
    exit(1);
}

static void add(struct count *count, const char *name, uint64_t keywords, bool in_order)
{
    struct sonde_error err = {0};
    struct sonde_provider provider = {.name = "Sonde-Numbers", .keywords = keywords, .level = 5};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = pid,
                                             .providers = &provider,
                                             .provider_count = 1,
                                             .in_order = in_order,
                                             .lost = lose,
                                             .changed = changed};
    *count = (struct count){
        .name = name, .keywords = keywords, .counts_same = in_order && (keywords & 3) == 3};
    for (int i = 0; i < THREADS; i++)
        count->next[i] = count->next_other[i] = -1;
    if (sonde_hub_add(hub, &options, take, count, &count->consumer, &err) != SONDE_OK)
        die(&err);
}

static void turn_once(uint64_t deadline_ns)
{
    struct sonde_error err = {0};
    struct pollfd ready = {.fd = sonde_hub_fd(hub), .events = POLLIN};
    int wait_ms = sonde_hub_wait_ms(hub);
    int most_ms = sn_clock_poll_ms(deadline_ns);
    (void)poll(&ready, 1, wait_ms < 0 || wait_ms > most_ms ? most_ms : wait_ms);
    if (sonde_hub_turn(hub, &err) != SONDE_OK)
        die(&err);
}

static void turn_for(unsigned ms)
{
    uint64_t deadline_ns = sn_clock_deadline((uint64_t)ms * SN_NS_PER_MS);
    while (sn_clock_monotonic_ns() < deadline_ns)
        turn_once(deadline_ns);
}

static int phase(const struct count *count)
{
    struct sonde_consumer_state state;
    sonde_consumer_state(count->consumer, &state);
    if (state.phase == SONDE_CONSUMER_ENDED && state.status < 0) {
        (void)printf("failed=%s: %s\n", count->name, state.error);
        exit(1);
    }
    return state.phase;
}

static void turn_until_live(const struct count *count)
{
    uint64_t deadline_ns = sn_clock_deadline(60ull * SN_NS_PER_SECOND);
    while ((phase(count) != SONDE_CONSUMER_LIVE || !count->live_ns) &&
           sn_clock_monotonic_ns() < deadline_ns)
        turn_once(deadline_ns);
}

static void tell(const struct count *count)
{
    struct sonde_consumer_state state;
    sonde_consumer_state(count->consumer, &state);
    (void)printf(
        "consumer=%s numbers=%llu same=%llu others=%llu missing=%llu twice=%llu same_wrong=%llu "
        "foreign=%llu lost=%llu back=%llu delivered=%llu declined=%llu\n",
        count->name, (unsigned long long)count->numbers, (unsigned long long)count->same,
        (unsigned long long)count->others, (unsigned long long)count->missing,
        (unsigned long long)count->twice, (unsigned long long)count->same_wrong,
        (unsigned long long)count->foreign, (unsigned long long)count->lost,
        (unsigned long long)count->back, (unsigned long long)state.delivered_count,
        (unsigned long long)state.declined_count);
}

static void tell_target(void)
{
    struct sonde_hub_target target;
    if (sonde_hub_target(hub, pid, &target, NULL) == SONDE_OK)
        (void)printf(
            "target consumers=%u sessions=%u peak=%u opened=%llu events=%llu lost=%llu owner=%u "
            "interval_ms=%llu note=%s\n",
            target.consumer_count, target.session_count, target.peak_session_count,
            (unsigned long long)target.opened_count, (unsigned long long)target.event_count,
            (unsigned long long)target.lost_count, target.owner_pid,
            (unsigned long long)(target.interval_ns / SN_NS_PER_MS), target.note);
}

/* Two consumers stay, one of them in order; a third comes and goes, and with it the session
 * changes. */
static void churn(unsigned rounds)
{
    static struct count steady;
    static struct count ordered;
    static struct count guest;
    add(&steady, "steady", 3, false);
    add(&ordered, "ordered", 3, true);
    turn_until_live(&steady);
    for (unsigned i = 0; i < rounds; i++) {
        add(&guest, "guest", i % 2 ? 4 : 5, false);
        turn_until_live(&guest);
        turn_for(20 + i % 7 * 10);
        if (guest.missing || guest.twice || guest.foreign || i + 1 == rounds)
            tell(&guest);
        sonde_hub_remove(guest.consumer);
        turn_for(150);
    }
    turn_for(1500);
    tell(&steady);
    tell(&ordered);
    tell_target();
}

/* Twelve with overlapping requests, added and removed while events flow. */
static void twelve(unsigned ms)
{
    static struct count counts[CONSUMERS];
    static const char *const names[CONSUMERS] = {"1", "2", "3", "4",  "5",  "6",
                                                 "7", "8", "9", "10", "11", "12"};
    for (size_t i = 0; i < CONSUMERS; i++) {
        add(&counts[i], names[i], i % 7 + 1, i % 3 == 0);
        turn_for(30);
    }
    for (size_t i = 0; i < CONSUMERS; i++)
        turn_until_live(&counts[i]);
    turn_for(ms);
    tell_target();
    for (size_t i = 0; i < CONSUMERS; i++) {
        tell(&counts[i]);
        sonde_hub_remove(counts[i].consumer);
        turn_for(30);
    }
}

/* Values of a counter and of meters as they come: "value=cpu-usage interval=1.0" and
 * "metric=Meter/name session=SHARED". */
static int take_value(void *user, struct sonde_event *event)
{
    struct sonde_event_info info;
    struct sonde_value value;
    char text[256] = "";
    double interval = 0;
    (void)user;
    sonde_event_info(event, &info);
    double at = (double)info.time_ns / SN_NS_PER_SECOND;
    sonde_event_rewind(event);
    while (sonde_event_next(event, &value) == SONDE_OK) {
        if (strcmp(value.name, "Name") == 0)
            (void)snprintf(text, sizeof(text), "%s", value.text);
        if (strcmp(value.name, "IntervalSec") == 0)
            interval = value.real;
        if (strcmp(info.provider, "System.Diagnostics.Metrics") == 0 &&
            value.type == SONDE_TYPE_TEXT)
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%s", value.text);
    }
    if (interval > 0 && strcmp(text, "cpu-usage") == 0)
        (void)printf("at=%.3f value=%s interval=%.3f\n", at, text, interval);
    if (strcmp(info.provider, "System.Diagnostics.Metrics") == 0)
        (void)printf("at=%.3f metric=%u %s\n", at, info.id, text);
    (void)fflush(stdout);
    return SONDE_OK;
}

static void values(unsigned interval_ms, unsigned seconds, const char *meters)
{
    struct sonde_error err = {0};
    struct sonde_consumer *consumer;
    char counters[64];
    char metrics[128];
    struct sonde_provider providers[] = {
        {.name = "System.Runtime", .level = 4, .arguments = counters},
        {.name = "System.Diagnostics.Metrics", .keywords = 2, .level = 4, .arguments = metrics},
    };
    struct sonde_consumer_options options = {
        .size = sizeof(options), .pid = pid, .providers = providers, .provider_count = 2};
    (void)snprintf(counters, sizeof(counters), "EventCounterIntervalSec=%u.%03u",
                   interval_ms / 1000, interval_ms % 1000);
    (void)snprintf(metrics, sizeof(metrics), "Metrics=%s;RefreshInterval=%u.%03u", meters,
                   interval_ms / 1000, interval_ms % 1000);
    if (sonde_hub_add(hub, &options, take_value, NULL, &consumer, &err) != SONDE_OK)
        die(&err);
    for (unsigned i = 0; i < seconds; i++) {
        turn_for(1000);
        tell_target();
        (void)fflush(stdout);
    }
}

/* --- fates --- */

static void tell_fate(void *user, struct sonde_consumer *consumer)
{
    static const char *const phases[] = {"opening", "live", "ended"};
    const struct count *count = user;
    struct sonde_consumer_state state;
    note_phase(user, consumer);
    sonde_consumer_state(consumer, &state);
    (void)printf("pid=%s phase=%s status=%d numbers=%llu error=%s\n", count->name,
                 phases[state.phase], state.status, (unsigned long long)count->numbers,
                 state.error);
    (void)fflush(stdout);
}

/* One consumer for each process, until all have ended; each change is told. */
static void fates(char **pids, size_t pid_count)
{
    static struct count counts[CONSUMERS];
    for (size_t i = 0; i < pid_count && i < CONSUMERS; i++) {
        pid = (uint32_t)strtoul(pids[i], NULL, 10);
        changed = tell_fate;
        add(&counts[i], pids[i], 1, false);
    }
    for (size_t ended = 0; ended < pid_count;) {
        turn_for(50);
        ended = 0;
        for (size_t i = 0; i < pid_count; i++) {
            struct sonde_consumer_state state;
            sonde_consumer_state(counts[i].consumer, &state);
            ended += state.phase == SONDE_CONSUMER_ENDED;
        }
    }
}

/* --- both lanes at once --- */

static uint64_t value_count;

static int count_value(void *user, struct sonde_event *event)
{
    (void)user;
    (void)event;
    value_count++;
    return SONDE_OK;
}

static int pass_over(void *user, struct sonde_event *event)
{
    (void)user;
    (void)event;
    return SONDE_AGAIN;
}

static struct sonde_consumer *add_counters(const char *provider_name, const char *arguments)
{
    struct sonde_error err = {0};
    struct sonde_consumer *consumer = NULL;
    bool is_metrics = strcmp(provider_name, "System.Diagnostics.Metrics") == 0;
    struct sonde_provider provider = {
        .name = provider_name, .keywords = is_metrics ? 2 : 0, .level = 4, .arguments = arguments};
    struct sonde_consumer_options options = {
        .size = sizeof(options), .pid = pid, .providers = &provider, .provider_count = 1};
    if (sonde_hub_add(hub, &options, count_value, NULL, &consumer, &err) != SONDE_OK)
        die(&err);
    return consumer;
}

static bool is_live(const struct sonde_consumer *consumer)
{
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    return state.phase == SONDE_CONSUMER_LIVE;
}

/* In every round both lanes of a process must be widened at the same time, and in the first its
 * names are asked for as well. When the guests of an odd round go, the interval of counters gets
 * longer, for which their session must end before the next: values go on after that. */
static void lanes(unsigned rounds)
{
    static struct count steady;
    static struct count guest;
    struct sonde_names *names = NULL;
    struct sonde_error err = {0};
    add(&steady, "steady", 3, true);
    (void)add_counters("System.Runtime", "EventCounterIntervalSec=1");
    turn_until_live(&steady);
    if (sonde_names_new(hub, &names, &err) != SONDE_OK ||
        sonde_names_add(names, pid, &err) != SONDE_OK)
        die(&err);
    for (unsigned i = 0; i < rounds; i++) {
        add(&guest, "guest", 4, false);
        struct sonde_consumer *counters =
            i % 2
                ? add_counters("System.Runtime", "EventCounterIntervalSec=0.5")
                : add_counters("Microsoft-AspNetCore-Server-Kestrel", "EventCounterIntervalSec=1");
        turn_until_live(&guest);
        while (!is_live(counters))
            turn_for(20);
        sonde_hub_remove(guest.consumer);
        sonde_hub_remove(counters);
        turn_for(300);
    }
    while (!sonde_names_are_ready(names, pid))
        turn_for(20);
    turn_for(1500);
    for (uint64_t before = value_count; value_count == before;)
        turn_for(20);
    tell(&steady);
    tell_target();
    sonde_names_free(names);
}

/* Each round a reader of more logs comes and goes beside one that stays: what is logged while a
 * session is exchanged is lost, so only the first comer may cost a session. */
static void logs(unsigned rounds)
{
    struct sonde_consumer *steady =
        add_counters("Microsoft-Extensions-Logging", "FilterSpecs=\"A:Debug;B:Warning\"");
    while (!is_live(steady))
        turn_for(20);
    for (unsigned i = 0; i < rounds; i++) {
        struct sonde_consumer *guest =
            add_counters("Microsoft-Extensions-Logging", "FilterSpecs=\"B:Warning;C:Trace\"");
        while (!is_live(guest))
            turn_for(20);
        sonde_hub_remove(guest);
        turn_for(200);
    }
    tell_target();
}

/* Who leaves and comes back at once gets values again, every time. */
static void come_back(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        struct sonde_consumer *consumer =
            add_counters("System.Diagnostics.Metrics", "Metrics=Sonde-Meter;RefreshInterval=0.1");
        for (uint64_t before = value_count; value_count < before + 40;)
            turn_for(5);
        sonde_hub_remove(consumer);
    }
    (void)printf("back=%u\n", rounds);
}

/* --- callbacks that meddle --- */

static uint32_t other_pid;
static struct sonde_consumer *mover;
static struct sonde_consumer *moved;

static void listen_to(uint32_t whom, sonde_event_fn *listener, struct sonde_consumer **ret_consumer)
{
    struct sonde_error err = {0};
    struct sonde_provider provider = {.name = "Sonde-Numbers", .keywords = 1, .level = 5};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = whom,
                                             .providers = &provider,
                                             .provider_count = 1,
                                             .in_order = true};
    if (sonde_hub_add(hub, &options, listener, NULL, ret_consumer, &err) != SONDE_OK)
        die(&err);
}

/* Its first event makes it leave this process for the other one. */
static int move_on(void *user, struct sonde_event *event)
{
    (void)user;
    (void)event;
    sonde_hub_remove(mover);
    listen_to(other_pid, pass_over, &moved);
    return SONDE_OK;
}

/* Goes back and forth between two processes, from within callbacks. */
static void meddle(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        moved = NULL;
        listen_to(pid, move_on, &mover);
        while (!moved || !is_live(moved))
            turn_for(20);
        sonde_hub_remove(moved);
    }
    (void)printf("meddled=%u\n", rounds);
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    struct sonde_hub_options options = {
        .size = sizeof(options), .linger_ns = 1, .buffer_mb = 64, .timeout_ns = 3000000000u};
    if (argc < 4) {
        (void)fprintf(
            stderr,
            "usage: integration_hub churn|twelve|lanes|logs|back PID NUMBER | meddle PID NUMBER PID | values PID MS SECONDS METERS | fates PID PID...\n");
        return 2;
    }
    pid = (uint32_t)strtoul(argv[2], NULL, 10);
    unsigned number = (unsigned)strtoul(argv[3], NULL, 10);
    if (sonde_hub_new(&options, &hub, &err) != SONDE_OK)
        die(&err);
    if (strcmp(argv[1], "fates") == 0)
        fates(argv + 2, (size_t)argc - 2);
    if (strcmp(argv[1], "churn") == 0)
        churn(number);
    if (strcmp(argv[1], "twelve") == 0)
        twelve(number);
    if (strcmp(argv[1], "lanes") == 0)
        lanes(number);
    if (strcmp(argv[1], "logs") == 0)
        logs(number);
    if (strcmp(argv[1], "back") == 0)
        come_back(number);
    if (strcmp(argv[1], "meddle") == 0 && argc == 5) {
        other_pid = (uint32_t)strtoul(argv[4], NULL, 10);
        meddle(number);
    }
    if (strcmp(argv[1], "values") == 0 && argc == 6)
        values(number, (unsigned)strtoul(argv[4], NULL, 10), argv[5]);
    sonde_hub_free(hub);
    return 0;
}
