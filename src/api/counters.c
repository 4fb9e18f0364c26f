/* Watching counters: which processes, a timer for the kernel's numbers, a look for new processes
 * now and then, and the latest points of all. */
#include "sonde/counters.h"

#include <stdlib.h>
#include <string.h>

#include "api/hub_internal.h"
#include "api/options_in.h"
#include "api/watched.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/folder.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/neighbour.h"

#define INTERVAL_DEFAULT_NS ((uint64_t)SN_NS_PER_SECOND)
#define INTERVAL_LEAST_NS   (100ull * SN_NS_PER_MS)
#define INTERVAL_MOST_NS    (86400ull * SN_NS_PER_SECOND)
#define METERS_AGE_MOST_NS  (86400ull * SN_NS_PER_SECOND)
#define SERIES_DEFAULT      1000u
#define HISTOGRAMS_DEFAULT  20u

#define SCAN_NS       (2ull * SN_NS_PER_SECOND)
#define YOUNG_NS      (3ull * SN_NS_PER_SECOND)  /* its port may not be there yet */
#define SETTLED_NS    (20ull * SN_NS_PER_SECOND) /* a process this old will not become .NET */
#define REMEMBERED_NS (60ull * SN_NS_PER_SECOND)
#define PROCESS_MAX   1024u
#define SEEN_MAX      65536u
#define TEXTS_LIMIT   (1u << 20)

struct sonde_counters {
    struct sn_watching common;
    struct sn_watched *first; /* owns; in the order of their coming */
    size_t count;
    bool all;
    char **names; /* owns */
    size_t name_count;
    uint64_t meters_age_ns; /* 0: as usual */
    struct sn_table seen;   /* pids that need no further look: who they were then */
    uint64_t scan_ns;       /* when to look next; UINT64_MAX: never */
    uint64_t poll_ns;       /* when to ask the kernel next */
    struct sn_timer timer;
    struct sn_hub_turned turned;
    struct sonde_point *latest; /* owns */
    size_t latest_count;
    size_t latest_capacity;
    bool is_latest_short; /* there was no memory for all */
};

/* --- processes --- */

static bool is_watched(const struct sonde_counters *counters, uint32_t pid)
{
    for (const struct sn_watched *at = counters->first; at; at = at->next) {
        if (at->sight.process.pid == pid && !at->ended_ns)
            return true;
    }
    return false;
}

/* Takes the sight. A process that was named may be asked for its meters sooner. */
static int watch(struct sonde_counters *counters, const struct sn_process_sight *sight,
                 uint64_t usual_age_ns, struct sonde_error *err)
{
    struct sn_watched *watched = NULL;
    struct sn_watched **end = &counters->first;
    uint64_t age_ns = counters->meters_age_ns ? counters->meters_age_ns : usual_age_ns;
    int rc = sn_watched_new(&counters->common, sight, age_ns, &watched, err);
    if (rc != SONDE_OK)
        return rc;
    while (*end)
        end = &(*end)->next;
    *end = watched;
    counters->count++;
    return SONDE_OK;
}

static bool is_wanted(const struct sonde_counters *counters, const struct sn_process_sight *sight)
{
    if (sight->has_ended)
        return false;
    for (size_t i = 0; i < counters->name_count; i++) {
        if (sonde_process_is_called(&sight->process, counters->names[i]))
            return true;
    }
    bool is_old = sight->process.up_ns > YOUNG_NS;
    return counters->all &&
           (sight->process.is_reachable || (counters->common.with_unreachable && is_old));
}

/* Whether it needs no further look. One that has started just now may yet become what is wanted,
 * and one that cannot be reached may be later. */
static bool look_at(struct sonde_counters *counters, uint32_t pid)
{
    struct sn_process_sight sight;
    bool is_dotnet = false;
    if (is_watched(counters, pid) || counters->count >= PROCESS_MAX)
        return false;
    if (sn_process_sight_open(&sight, pid, &is_dotnet, NULL) != SONDE_OK)
        return false;
    bool is_settled =
        sight.process.up_ns > SETTLED_NS && (!is_dotnet || sight.process.is_reachable);
    if (is_dotnet && is_wanted(counters, &sight)) {
        (void)watch(counters, &sight, SONDE_METERS_AGE_NS, NULL); /* else it is tried again */
        return false;
    }
    sn_process_sight_close(&sight);
    return is_settled;
}

static void scan_one(struct sonde_counters *counters, uint32_t pid)
{
    uint64_t print = sn_process_print(pid);
    uint64_t *seen = sn_table_find(&counters->seen, pid);
    if (!print || (seen && *seen == print) || !look_at(counters, pid))
        return;
    seen = sn_table_put(&counters->seen, pid);
    if (seen)
        *seen = print;
}

static int scan_neighbour(void *user, const struct sn_ipc_target *target)
{
    scan_one(user, (uint32_t)target->pid);
    return SONDE_OK;
}

/* Only those that are others than at the last time are looked at closely. */
static void scan(struct sonde_counters *counters)
{
    SN_AUTO(sn_closedir) DIR *proc = opendir("/proc");
    uint64_t pid = 0;
    if (counters->seen.count > SEEN_MAX / 2)
        sn_table_clear(&counters->seen); /* mostly of those that went */
    for (const struct dirent *entry; proc && (entry = readdir(proc));) {
        if (!sn_text_to_u64(entry->d_name, UINT32_MAX, &pid) || !pid)
            continue;
        scan_one(counters, (uint32_t)pid);
    }
    (void)sn_ipc_neighbours(false, scan_neighbour, counters);
}

static void forget_ended(struct sonde_counters *counters, uint64_t now_ns)
{
    for (struct sn_watched **at = &counters->first; *at;) {
        struct sn_watched *watched = *at;
        if (watched->ended_ns && now_ns - watched->ended_ns > REMEMBERED_NS) {
            *at = watched->next;
            counters->count--;
            sn_watched_free(watched);
        } else {
            at = &watched->next;
        }
    }
}

/* --- turns --- */

static void poll_all(struct sonde_counters *counters, uint64_t now_ns)
{
    for (struct sn_watched *at = counters->first; at; at = at->next) {
        sn_watched_poll(at, now_ns);
        sn_watched_sweep(at, now_ns);
    }
    forget_ended(counters, now_ns);
    uint64_t interval = counters->common.interval_ns;
    counters->poll_ns += interval;
    if (counters->poll_ns <= now_ns) /* we were held up: do not run after it */
        counters->poll_ns = now_ns + interval;
}

static uint64_t tend_all(struct sonde_counters *counters, uint64_t now_ns)
{
    uint64_t next = counters->poll_ns < counters->scan_ns ? counters->poll_ns : counters->scan_ns;
    counters->common.opening_count = 0;
    for (const struct sn_watched *at = counters->first; at; at = at->next)
        counters->common.opening_count += sn_watched_is_opening(at);
    for (struct sn_watched *at = counters->first; at; at = at->next) {
        uint64_t wants = sn_watched_tend(at, now_ns);
        next = wants < next ? wants : next;
    }
    return next;
}

static void expired(struct sn_timer *timer)
{
    (void)timer; /* the end of the turn it makes does the work */
}

static void turned(void *user)
{
    struct sonde_counters *counters = user;
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (now_ns >= counters->scan_ns) {
        scan(counters);
        counters->scan_ns = now_ns + SCAN_NS;
    }
    if (now_ns >= counters->poll_ns)
        poll_all(counters, now_ns);
    uint64_t next = tend_all(counters, now_ns);
    sn_loop_timer(sn_hub_loop(counters->common.hub), &counters->timer, next);
}

/* --- opening --- */

static int read_options(const struct sonde_counters_options *given,
                        struct sonde_counters_options *ret_options, struct sonde_error *err)
{
    int rc = sn_options_in(given, ret_options, sizeof(*ret_options), "counters options", err);
    if (rc != SONDE_OK)
        return rc;
    if (!ret_options->pid_count && !ret_options->name_count && !ret_options->all)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "no process to watch: give pids, names, or ask for all");
    if (ret_options->no_kernel && ret_options->no_runtime)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "nothing to watch: neither the kernel's numbers nor the runtime's");
    if (ret_options->interval_ns && (ret_options->interval_ns < INTERVAL_LEAST_NS ||
                                     ret_options->interval_ns > INTERVAL_MOST_NS))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "intervals are from 0.1 seconds to a day");
    if (ret_options->meters_age_ns && (ret_options->meters_age_ns < SONDE_METERS_AGE_LEAST_NS ||
                                       ret_options->meters_age_ns > METERS_AGE_MOST_NS))
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "processes are asked for their meters at an age of 5 seconds to a day");
    return SONDE_OK;
}

static int copy_names(struct sonde_counters *counters, const struct sonde_counters_options *options,
                      struct sonde_error *err)
{
    counters->names = calloc(options->name_count + 1, sizeof(*counters->names));
    bool is_short = !counters->names;
    for (size_t i = 0; !is_short && i < options->name_count; i++) {
        counters->names[i] = strdup(options->names[i]);
        is_short = !counters->names[i];
        counters->name_count += !is_short;
    }
    return is_short ? sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names of processes") : SONDE_OK;
}

static int watch_pids(struct sonde_counters *counters, const struct sonde_counters_options *options,
                      struct sonde_error *err)
{
    for (size_t i = 0; i < options->pid_count; i++) {
        struct sn_process_sight sight;
        bool is_dotnet = false;
        if (is_watched(counters, options->pids[i]))
            continue;
        int rc = sn_process_sight_open(&sight, options->pids[i], &is_dotnet, err);
        if (rc == SONDE_OK)
            rc = watch(counters, &sight, SONDE_METERS_AGE_LEAST_NS, err);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

static int begin(struct sonde_counters *counters, const struct sonde_counters_options *options,
                 struct sonde_error *err)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    int rc = sn_counter_specs_read(&counters->common.specs, options->counters,
                                   options->counter_count, err);
    if (rc == SONDE_OK)
        rc = copy_names(counters, options, err);
    if (rc == SONDE_OK)
        rc = watch_pids(counters, options, err);
    if (rc != SONDE_OK)
        return rc;
    counters->all = options->all;
    counters->common.with_unreachable = options->with_unreachable;
    counters->scan_ns = counters->all || counters->name_count ? now_ns : UINT64_MAX;
    counters->poll_ns = now_ns;
    sn_hub_on_turn(counters->common.hub, &counters->turned);
    sn_loop_timer(sn_hub_loop(counters->common.hub), &counters->timer, now_ns);
    return SONDE_OK;
}

static void counters_free_auto(struct sonde_counters **slot)
{
    sonde_counters_free(*slot);
}

int sonde_counters_new(struct sonde_hub *hub, const struct sonde_counters_options *options,
                       sonde_point_fn *take, void *user, struct sonde_counters **ret_counters,
                       struct sonde_error *err)
{
    struct sonde_counters_options known;
    int rc = read_options(options, &known, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(counters_free) struct sonde_counters *counters = calloc(1, sizeof(*counters));
    if (!counters)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to watch counters");
    counters->common = (struct sn_watching){
        .hub = hub,
        .interval_ns = known.interval_ns ? known.interval_ns : INTERVAL_DEFAULT_NS,
        .max_series = known.max_series ? known.max_series : SERIES_DEFAULT,
        .max_histograms = known.max_histograms ? known.max_histograms : HISTOGRAMS_DEFAULT,
        .no_kernel = known.no_kernel,
        .no_runtime = known.no_runtime,
        .no_provisional = known.no_provisional,
        .with_rates = known.with_rates,
        .take = take,
        .user = user,
        .texts = sn_buf_with_limit(TEXTS_LIMIT),
    };
    counters->meters_age_ns = known.meters_age_ns;
    counters->seen = sn_table_with_limit(SEEN_MAX);
    counters->timer = (struct sn_timer){.expired = expired, .user = counters};
    counters->turned = (struct sn_hub_turned){.turned = turned, .user = counters};
    rc = begin(counters, &known, err);
    if (rc == SONDE_OK)
        *ret_counters = SN_TAKE(counters);
    return rc;
}

void sonde_counters_free(struct sonde_counters *counters)
{
    if (!counters)
        return;
    sn_loop_untimer(&counters->timer);
    sn_hub_off_turn(counters->common.hub, &counters->turned);
    while (counters->first) {
        struct sn_watched *next = counters->first->next;
        sn_watched_free(counters->first);
        counters->first = next;
    }
    for (size_t i = 0; i < counters->name_count; i++)
        free(counters->names[i]);
    free(counters->names);
    sn_counter_specs_done(&counters->common.specs);
    sn_buf_done(&counters->common.texts);
    sn_table_done(&counters->seen);
    free(counters->latest);
    free(counters);
}

/* --- telling --- */

size_t sonde_counters_process_count(const struct sonde_counters *counters)
{
    return counters->count;
}

void sonde_counters_process(const struct sonde_counters *counters, size_t index,
                            struct sonde_watched *ret_watched)
{
    struct sn_watched *watched = counters->first;
    for (size_t i = 0; i < index && watched; i++)
        watched = watched->next;
    if (watched)
        sn_watched_show(watched, ret_watched);
    else
        *ret_watched = (struct sonde_watched){.note = ""};
}

bool sonde_counters_find(const struct sonde_counters *counters, uint32_t pid,
                         struct sonde_watched *ret_watched)
{
    struct sn_watched *found = NULL;
    for (struct sn_watched *at = counters->first; at; at = at->next) {
        if (at->sight.process.pid == pid && (!at->ended_ns || !found || found->ended_ns))
            found = at;
    }
    if (found)
        sn_watched_show(found, ret_watched);
    return found != NULL;
}

static void keep_latest(void *user, const struct sonde_point *point)
{
    struct sonde_counters *counters = user;
    struct sonde_point *room = sn_array_room(counters->latest, counters->latest_count,
                                             &counters->latest_capacity, sizeof(*room));
    counters->is_latest_short |= !room;
    if (!room)
        return;
    counters->latest = room;
    room[counters->latest_count++] = *point;
}

static int by_name(const void *left, const void *right)
{
    const struct sonde_point *a = left;
    const struct sonde_point *b = right;
    int order = strcmp(a->provider, b->provider);
    order = order ? order : strcmp(a->name, b->name);
    order = order ? order : strcmp(a->tag_text, b->tag_text);
    return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

int sonde_counters_latest(struct sonde_counters *counters, uint32_t pid,
                          const struct sonde_point **ret_points, size_t *ret_count,
                          struct sonde_error *err)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    counters->latest_count = 0;
    counters->is_latest_short = false;
    for (struct sn_watched *at = counters->first; at; at = at->next) {
        if (!at->ended_ns && (!pid || at->sight.process.pid == pid))
            sn_watched_each(at, now_ns, keep_latest, counters);
    }
    if (counters->is_latest_short)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the latest points");
    if (counters->latest_count)
        qsort(counters->latest, counters->latest_count, sizeof(*counters->latest), by_name);
    *ret_points = counters->latest;
    *ret_count = counters->latest_count;
    return SONDE_OK;
}
