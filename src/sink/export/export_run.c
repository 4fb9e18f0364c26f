#include "sink/export/export_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "sink/export/exporters.h"
#include "sink/export/followed.h"
#include "sink/export/own_points.h"
#include "sink/export/rule.h"
#include "sink/export/usdt.h"

#define GRACE_NS (2ull * SN_NS_PER_SECOND)
#define TICK_NS  (500ull * SN_NS_PER_MS) /* between looks at what there is to send */

/* Rules listen together; probes alone, since they come and go with who listens to them. */
enum group { RULES, PROBES, GROUP_COUNT };

/* Numbers of one receiver, as told before. */
struct told {
    double sent;
    double dropped;
    double retries;
};

struct sn_export_run {
    struct sn_configuration *configuration; /* borrows */
    struct sonde_hub *hub;                  /* owns, unless ... */
    bool has_joined;                        /* ... it is another's, who turns it */
    struct sonde_counters *counters;
    struct sn_exporter *exporters[SN_EXPORTERS_MAX];
    size_t exporter_count;
    struct sn_rule *rules[SN_RULES_MAX];
    size_t rule_count;
    struct sn_usdt *usdt;
    struct sn_event_group groups[GROUP_COUNT];
    struct sn_followed followed;
    uint32_t latest_pid; /* whose labels were asked for last, in this turn; 0: nobody's */
    const struct sn_export_labels *latest_labels;
    bool has_pids_only;   /* no process can join */
    size_t running_count; /* of the processes that counters know */
    struct sonde_tag labels[SN_LABELS_MAX];
    char host[256];
    int fd;       /* an epoll of the hub's and the servers' */
    bool goes_on; /* after another run */
    uint64_t interval_ns;
    uint64_t start_ns;
    uint64_t tick_ns;  /* when to look next */
    uint64_t round_ns; /* when the present interval ends */
    uint64_t point_count;
    uint64_t runtime_count; /* of them */
    struct told told[SN_EXPORTERS_MAX];
    double told_cpu;
    double told_lost;
    uint64_t counters_lost; /* events of counters that runtimes dropped, of those that left too */
    uint64_t counters_lost_now;
};

/* --- points --- */

static void give_point(struct sn_export_run *run, const struct sonde_point *point,
                       const struct sn_export_labels *labels)
{
    for (size_t i = 0; i < run->exporter_count; i++) {
        run->exporters[i]->point_count++;
        run->exporters[i]->ops->point(run->exporters[i], point, labels);
    }
}

/* Points come process by process. */
static const struct sn_export_labels *labels_of(struct sn_export_run *run, uint32_t pid)
{
    if (pid != run->latest_pid) {
        const struct sn_export_labels *found =
            sn_followed_labels(&run->followed, run->counters, pid);
        run->latest_labels = found ? found : &run->followed.labels;
        run->latest_pid = pid;
    }
    return run->latest_labels;
}

static void take_point(void *user, const struct sonde_point *point)
{
    struct sn_export_run *run = user;
    run->point_count++;
    run->runtime_count += point->origin != SONDE_POINT_KERNEL;
    give_point(run, point, labels_of(run, point->pid));
}

static void forget_process(void *user, const struct sonde_process *process)
{
    struct sn_export_run *run = user;
    for (size_t i = 0; i < run->exporter_count; i++) {
        if (run->exporters[i]->ops->ended)
            run->exporters[i]->ops->ended(run->exporters[i], process);
    }
}

static void take_own_point(void *user, const struct sonde_point *point)
{
    struct sn_export_run *run = user;
    give_point(run, point, &run->followed.labels);
}

static void tell(struct sn_export_run *run, const struct sn_own_number *number, double *before)
{
    sn_own_point(number, run->interval_ns, before ? *before : 0, take_own_point, run);
    if (before)
        *before = number->value;
}

static void tell_receiver(struct sn_export_run *run, size_t index)
{
    struct sn_exporter *exporter = run->exporters[index];
    struct sn_sender_state state;
    char title[96];
    if (!exporter->ops->state)
        return;
    exporter->ops->state(exporter, &state);
    struct sn_own_number number = {.receiver = sn_settings_title(exporter->settings, title),
                                   .is_total = true};
    number.name = "sonde.export.sent";
    number.unit = "{message}";
    number.description = "Messages that went out";
    number.value = (double)state.sent_count;
    tell(run, &number, &run->told[index].sent);
    number.name = "sonde.export.dropped";
    number.unit = "{number}";
    number.description = "Numbers that could not be sent: the receiver was away for too long";
    number.value = (double)state.dropped_items;
    tell(run, &number, &run->told[index].dropped);
    number.name = "sonde.export.retries";
    number.unit = "{attempt}";
    number.description = "Attempts to send that failed";
    number.value = (double)state.retry_count;
    tell(run, &number, &run->told[index].retries);
    number.is_total = false;
    number.name = "sonde.export.queue";
    number.unit = "By";
    number.description = "What waits for the receiver";
    number.value = (double)state.queued_bytes;
    tell(run, &number, NULL);
    number.name = "sonde.export.up";
    number.unit = "1";
    number.description = "Whether the last attempt to send went well";
    number.value = state.is_up;
    tell(run, &number, NULL);
}

static void tell_own(struct sn_export_run *run)
{
    struct sn_export_tally totals;
    sn_export_run_tally(run, &totals);
    for (size_t i = 0; i < run->exporter_count; i++)
        tell_receiver(run, i);
    tell(run,
         &(struct sn_own_number){.name = "sonde.processes",
                                 .unit = "{process}",
                                 .description = "Processes that are watched",
                                 .value = (double)totals.process_count},
         NULL);
    tell(run,
         &(struct sn_own_number){.name = "sonde.events.lost",
                                 .unit = "{event}",
                                 .description = "Events that runtimes dropped",
                                 .is_total = true,
                                 .value = (double)totals.lost_count},
         &run->told_lost);
    tell(run,
         &(struct sn_own_number){.name = "sonde.cpu.time",
                                 .unit = "s",
                                 .description = "Processor time that sonde used",
                                 .is_total = true,
                                 .value = totals.cpu_seconds},
         &run->told_cpu);
    tell(run,
         &(struct sn_own_number){.name = "sonde.memory.resident",
                                 .unit = "By",
                                 .description = "Memory that sonde has in use",
                                 .value = (double)totals.rss_bytes},
         NULL);
}

/* --- opening --- */

static const struct sn_exporter_ops *find_exporter(const char *name)
{
    for (size_t i = 0; sn_exporters[i]; i++) {
        if (strcmp(sn_exporters[i]->name, name) == 0)
            return sn_exporters[i];
    }
    return NULL;
}

static int open_exporters(struct sn_export_run *run, struct sonde_error *err)
{
    for (size_t i = 0; i < run->configuration->section_count; i++) {
        const struct sn_settings *settings = run->configuration->sections[i];
        const struct sn_exporter_ops *ops = find_exporter(settings->kind->name);
        struct sonde_error cause = {0};
        char title[96];
        if (!ops)
            continue;
        if (run->exporter_count == SN_EXPORTERS_MAX)
            return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u receivers", SN_EXPORTERS_MAX);
        struct sn_exporter **place = &run->exporters[run->exporter_count];
        if (ops->open(run->configuration, settings, place, &cause) != SONDE_OK)
            return sn_fail_because(err, &cause, sn_settings_title(settings, title));
        (*place)->ops = ops;
        (*place)->settings = settings;
        run->exporter_count++;
    }
    return SONDE_OK;
}

static int open_users(struct sn_export_run *run, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < run->configuration->section_count && rc == SONDE_OK; i++) {
        const struct sn_settings *settings = run->configuration->sections[i];
        if (strcmp(settings->kind->name, "usdt") == 0) {
            rc = sn_usdt_open(run->configuration, settings, &run->usdt, err);
            if (rc == SONDE_OK)
                rc = sn_event_group_add(&run->groups[PROBES], sn_usdt_user(run->usdt), err);
        }
        if (strcmp(settings->kind->name, "rule") != 0)
            continue;
        if (run->rule_count == SN_RULES_MAX)
            return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u rules", SN_RULES_MAX);
        rc = sn_rule_open(run->configuration, settings, run->exporters, run->exporter_count,
                          &run->rules[run->rule_count], err);
        if (rc == SONDE_OK)
            rc = sn_event_group_add(&run->groups[RULES],
                                    sn_rule_user(run->rules[run->rule_count++]), err);
    }
    return rc;
}

static void read_labels(struct sn_export_run *run)
{
    const struct sn_settings *labels = sn_configuration_find(run->configuration, "labels", "");
    size_t count = 0;
    for (; count < labels->count && count < SN_LABELS_MAX; count++)
        run->labels[count] =
            (struct sonde_tag){labels->items[count].name, labels->items[count].value};
    if (gethostname(run->host, sizeof(run->host) - 1) != 0)
        run->host[0] = '\0';
    run->followed.labels =
        (struct sn_export_labels){.host = run->host, .extra = run->labels, .extra_count = count};
}

static bool is_running(uint64_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static size_t read_pids(const struct sn_export_run *run, const char *const *words, size_t count,
                        uint32_t pids[SN_PIDS_MAX])
{
    size_t read = 0;
    uint64_t pid;
    for (size_t i = 0; i < count && read < SN_PIDS_MAX; i++) {
        if (sn_text_to_u64(words[i], INT32_MAX, &pid) && (!run->goes_on || is_running(pid)))
            pids[read++] = (uint32_t)pid;
    }
    return read;
}

static int watch(struct sn_export_run *run, struct sonde_error *err)
{
    const struct sn_settings *targets = sn_configuration_find(run->configuration, "targets", "");
    const struct sn_settings *counters = sn_configuration_find(run->configuration, "counters", "");
    bool is_enabled = sn_settings_flag(counters, "enabled") && run->exporter_count;
    uint32_t pids[SN_PIDS_MAX];
    size_t pid_count = 0;
    struct sonde_counters_options options = {
        .size = sizeof(options),
        .pids = pids,
        .interval_ns = run->interval_ns,
        .max_series = (uint32_t)sn_settings_number(counters, "max-series"),
        .max_histograms = (uint32_t)sn_settings_number(counters, "max-histograms"),
        .meters_age_ns = sn_settings_number(counters, "meters-age"),
        .no_kernel = is_enabled && !sn_settings_flag(counters, "kernel"),
        .no_runtime = !is_enabled || !sn_settings_flag(counters, "runtime"),
    };
    options.names = sn_settings_list(run->configuration, targets, "names", &options.name_count);
    options.counters =
        sn_settings_list(run->configuration, counters, "counters", &options.counter_count);
    const char *const *words = sn_settings_list(run->configuration, targets, "pids", &pid_count);
    if (!options.names || !options.counters || !words)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to watch with");
    options.pid_count = read_pids(run, words, pid_count, pids);
    options.all = sn_settings_flag(targets, "all") || (!pid_count && !options.name_count);
    run->has_pids_only = !options.all && !options.name_count;
    if (run->has_pids_only && !options.pid_count)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0, "none of the processes is there any more");
    /* Without counters it still finds the processes whose events are wanted. */
    return sonde_counters_new(run->hub, &options, is_enabled ? take_point : NULL, run,
                              &run->counters, err);
}

static int add_fd(struct sn_export_run *run, int fd, struct sonde_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(run->fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return sn_fail_errno(err, "cannot wait for what comes");
    return SONDE_OK;
}

static int open_fd(struct sn_export_run *run, struct sonde_error *err)
{
    run->fd = epoll_create1(EPOLL_CLOEXEC);
    if (run->fd < 0)
        return sn_fail_errno(err, "cannot wait for what comes");
    int rc = run->has_joined ? SONDE_OK : add_fd(run, sonde_hub_fd(run->hub), err);
    for (size_t i = 0; i < run->exporter_count && rc == SONDE_OK; i++) {
        if (run->exporters[i]->ops->fd)
            rc = add_fd(run, run->exporters[i]->ops->fd(run->exporters[i]), err);
    }
    return rc;
}

static int open_run(struct sn_configuration *configuration, bool goes_on, struct sonde_hub *hub,
                    struct sn_export_run **ret_run, struct sonde_error *err)
{
    SN_AUTO(sn_export_run_free) struct sn_export_run *run = calloc(1, sizeof(*run));
    if (!run)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exporting");
    const struct sn_settings *counters = sn_configuration_find(configuration, "counters", "");
    struct sonde_hub_options options = {.size = sizeof(options)};
    run->configuration = configuration;
    run->fd = -1;
    run->goes_on = goes_on;
    run->interval_ns = sn_settings_number(counters, "interval");
    run->start_ns = sn_clock_monotonic_ns();
    run->round_ns = run->start_ns;
    run->has_joined = hub != NULL;
    run->hub = hub;
    read_labels(run);
    int rc = hub ? SONDE_OK : sonde_hub_new(&options, &run->hub, err);
    run->followed.hub = run->hub;
    run->followed.groups = run->groups;
    run->followed.group_count = GROUP_COUNT;
    run->followed.ended = forget_process;
    run->followed.user = run;
    if (rc == SONDE_OK)
        rc = open_exporters(run, err);
    if (rc == SONDE_OK)
        rc = open_users(run, err);
    if (rc == SONDE_OK)
        rc = watch(run, err);
    if (rc == SONDE_OK)
        rc = open_fd(run, err);
    if (rc == SONDE_OK)
        *ret_run = SN_TAKE(run);
    return rc;
}

int sn_export_run_new(struct sn_configuration *configuration, bool goes_on,
                      struct sn_export_run **ret_run, struct sonde_error *err)
{
    return open_run(configuration, goes_on, NULL, ret_run, err);
}

int sn_export_run_join(struct sn_configuration *configuration, struct sonde_hub *hub,
                       struct sn_export_run **ret_run, struct sonde_error *err)
{
    return open_run(configuration, false, hub, ret_run, err);
}

static void flush_rules(struct sn_export_run *run)
{
    for (size_t i = 0; i < run->rule_count; i++)
        sn_rule_flush(run->rules[i]);
}

static void flush_exporters(struct sn_export_run *run, bool is_round)
{
    for (size_t i = 0; i < run->exporter_count; i++) {
        if (is_round || !run->exporters[i]->ops->waits_for_round)
            run->exporters[i]->ops->flush(run->exporters[i]);
    }
}

void sn_export_run_free(struct sn_export_run *run)
{
    if (!run)
        return;
    sonde_counters_free(run->counters);
    sn_followed_done(&run->followed);
    if (!run->has_joined)
        sonde_hub_free(run->hub);
    for (size_t i = 0; i < GROUP_COUNT; i++)
        sn_event_group_done(&run->groups[i]);
    for (size_t i = 0; i < run->rule_count; i++)
        sn_rule_free(run->rules[i]);
    sn_usdt_free(run->usdt);
    for (size_t i = 0; i < run->exporter_count; i++)
        run->exporters[i]->ops->free(run->exporters[i]);
    sn_close(run->fd);
    free(run);
}

/* --- turning --- */

int sn_export_run_fd(const struct sn_export_run *run)
{
    return run->fd;
}

int sn_export_run_wait_ms(const struct sn_export_run *run)
{
    uint64_t due = run->tick_ns < run->round_ns ? run->tick_ns : run->round_ns;
    int wait = sn_clock_poll_ms(due);
    if (!run->has_joined)
        wait = sn_clock_sooner_ms(wait, sonde_hub_wait_ms(run->hub));
    for (size_t i = 0; i < run->exporter_count; i++) {
        if (run->exporters[i]->ops->wait_ms)
            wait = sn_clock_sooner_ms(wait, run->exporters[i]->ops->wait_ms(run->exporters[i]));
    }
    return wait;
}

/* Processes leave, and take their numbers along. */
static void count_processes(struct sn_export_run *run)
{
    uint64_t lost = 0;
    run->running_count = 0;
    for (size_t i = 0; i < sonde_counters_process_count(run->counters); i++) {
        struct sonde_watched seen;
        sonde_counters_process(run->counters, i, &seen);
        lost += seen.lost_count;
        run->running_count += seen.phase != SONDE_CONSUMER_ENDED;
    }
    if (lost > run->counters_lost_now)
        run->counters_lost += lost - run->counters_lost_now;
    run->counters_lost_now = lost;
}

static int tick(struct sn_export_run *run, struct sonde_error *err)
{
    uint64_t now = sn_clock_monotonic_ns();
    bool is_round = now >= run->round_ns;
    if (is_round) {
        tell_own(run);
        flush_rules(run);
        sn_followed_next_round(&run->followed);
        run->round_ns = now + run->interval_ns - (now - run->round_ns) % run->interval_ns;
    } else if (now < run->tick_ns)
        return SONDE_OK;
    run->tick_ns = now + TICK_NS;
    count_processes(run);
    flush_exporters(run, is_round);
    return sn_followed_follow(&run->followed, run->counters, err);
}

bool sn_export_run_is_over(const struct sn_export_run *run)
{
    return run->has_pids_only && run->tick_ns && !run->running_count;
}

int sn_export_run_turn(struct sn_export_run *run, struct sonde_error *err)
{
    run->latest_pid = 0; /* it may be another's by now */
    int rc = run->has_joined ? SONDE_OK : sonde_hub_turn(run->hub, err);
    for (size_t i = 0; i < run->exporter_count && rc >= 0; i++) {
        if (run->exporters[i]->ops->turn)
            rc = run->exporters[i]->ops->turn(run->exporters[i], err);
    }
    return rc < 0 ? rc : tick(run, err);
}

/* --- how it fares --- */

size_t sn_export_run_receiver_count(const struct sn_export_run *run)
{
    return run->exporter_count;
}

void sn_export_run_receiver(const struct sn_export_run *run, size_t index,
                            struct sn_export_receiver *ret_receiver)
{
    struct sn_exporter *exporter = run->exporters[index];
    *ret_receiver = (struct sn_export_receiver){.settings = exporter->settings,
                                                .place = exporter->place,
                                                .has_sender = exporter->ops->state != NULL,
                                                .number_count = exporter->number_count,
                                                .asked_count = exporter->asked_count,
                                                .asked_utc_ns = exporter->asked_utc_ns};
    if (ret_receiver->has_sender)
        exporter->ops->state(exporter, &ret_receiver->state);
}

void sn_export_run_tally(const struct sn_export_run *run, struct sn_export_tally *ret_tally)
{
    *ret_tally = (struct sn_export_tally){
        .up_ns = sn_clock_monotonic_ns() - run->start_ns,
        .point_count = run->point_count,
        .runtime_count = run->runtime_count,
        .lost_count = run->counters_lost + run->followed.lost_count,
        .process_count = sn_followed_running(&run->followed),
        .rule_count = run->rule_count,
        .note = run->followed.note,
    };
    for (size_t i = 0; i < run->exporter_count; i++) {
        struct sn_export_receiver receiver;
        sn_export_run_receiver(run, i, &receiver);
        ret_tally->number_count += run->exporters[i]->number_count;
        ret_tally->dropped_count += receiver.state.dropped_items;
        ret_tally->queued_bytes += receiver.state.queued_bytes;
        ret_tally->retry_count += receiver.state.retry_count;
    }
    for (size_t i = 0; i < run->rule_count; i++)
        ret_tally->unused_count += sn_rule_dropped(run->rules[i]);
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        for (size_t k = 0; k < run->groups[i].user_count; k++)
            ret_tally->event_count += run->groups[i].users[k]->event_count;
    }
    sn_own_cost(&ret_tally->cpu_seconds, &ret_tally->rss_bytes);
}

void sn_export_run_finish(struct sn_export_run *run)
{
    uint64_t deadline = sn_clock_deadline(GRACE_NS);
    struct sn_export_tally tally;
    flush_rules(run);
    flush_exporters(run, true);
    for (;;) {
        sn_export_run_tally(run, &tally);
        if (!tally.queued_bytes || sn_clock_monotonic_ns() >= deadline)
            return;
        (void)poll(NULL, 0, 10); /* senders have threads of their own */
    }
}
