#include "daemon/own_cost.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "daemon/beat.h"
#include "daemon/daemon.h"
#include "daemon/roads.h"
#include "daemon/router.h"
#include "daemon/topic.h"
#include "net/http_server.h"
#include "sink/export/own_points.h"
#include "sonde/counters.h"
#include "sonde/hub.h"

#define STEP_NS        (5ull * SN_NS_PER_SECOND)
#define KEPT           60u /* five minutes */
#define A_MINUTE       12u /* steps */
#define THREADS_COLUMN 18  /* of /proc/PID/stat, behind the name */

struct look {
    uint64_t at_ns;
    double cpu_seconds;
    uint64_t rss_bytes;
    uint64_t event_count; /* since the start */
    uint64_t thread_count;
    uint64_t process_count;
};

struct sn_own_cost {
    struct sn_mailbox_task beginning;
    struct sn_daemon *daemon; /* borrows */
    struct sn_beat *beat;     /* owns; the roads thread's, as is: */
    uint64_t target_events;   /* of the processes that are watched, as they told before */
    pthread_mutex_t lock;     /* of what follows */
    struct look looks[KEPT];  /* a ring */
    size_t count;             /* since the start */
};

/* --- in the roads thread --- */

static uint64_t count_threads(void)
{
    char text[512] = "";
    if (sn_file_peek_at(AT_FDCWD, "/proc/self/stat", text, sizeof(text) - 1) <= 0)
        return 0;
    char *at = strrchr(text, ')');
    for (int i = 0; at && i < THREADS_COLUMN; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Processes leave and take their numbers along: what was told is not taken back. */
static uint64_t count_events(struct sn_own_cost *cost, const struct look *before,
                             uint64_t *ret_processes)
{
    uint64_t now = 0;
    struct sonde_hub *hub = sn_roads_hub(cost->daemon->roads);
    const struct sonde_counters *counters = sn_roads_counters(cost->daemon->roads);
    *ret_processes = 0;
    for (size_t i = 0; counters && i < sonde_counters_process_count(counters); i++) {
        struct sonde_watched watched;
        struct sonde_hub_target target;
        sonde_counters_process(counters, i, &watched);
        if (watched.phase == SONDE_CONSUMER_ENDED)
            continue;
        (*ret_processes)++;
        if (sonde_hub_target(hub, watched.process->pid, &target, NULL) == SONDE_OK)
            now += target.event_count;
    }
    uint64_t came = now > cost->target_events ? now - cost->target_events : 0;
    cost->target_events = now;
    return before->event_count + came;
}

static void look_now(void *user)
{
    static const struct look none;
    struct sn_own_cost *cost = user;
    const struct look *before = cost->count ? &cost->looks[(cost->count - 1) % KEPT] : &none;
    struct look look = {.at_ns = sn_clock_monotonic_ns(), .thread_count = count_threads()};
    sn_own_cost(&look.cpu_seconds, &look.rss_bytes);
    look.event_count = count_events(cost, before, &look.process_count);
    (void)pthread_mutex_lock(&cost->lock);
    cost->looks[cost->count % KEPT] = look;
    cost->count++;
    (void)pthread_mutex_unlock(&cost->lock);
}

static void begin(void *user)
{
    struct sn_own_cost *cost = user;
    look_now(cost);
    (void)sn_beat_new(cost->daemon->roads, STEP_NS, look_now, cost, &cost->beat, NULL);
}

/* --- life --- */

int sn_own_cost_start(struct sn_daemon *daemon, struct sonde_error *err)
{
    struct sn_own_cost *cost = calloc(1, sizeof(*cost));
    if (!cost)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the controller's own cost");
    cost->daemon = daemon;
    (void)pthread_mutex_init(&cost->lock, NULL);
    daemon->cost = cost;
    sn_roads_post(daemon->roads, &cost->beginning, begin, cost);
    return SONDE_OK;
}

void sn_own_cost_free(struct sn_own_cost *cost)
{
    if (!cost)
        return;
    sn_beat_free(cost->beat);
    (void)pthread_mutex_destroy(&cost->lock);
    free(cost);
}

/* --- for who asks --- */

enum what { CPU_SHARE, RSS_BYTES, EVENT_RATE };

static double between(const struct look *from, const struct look *to, enum what what)
{
    double seconds = (double)(to->at_ns - from->at_ns) / SN_NS_PER_SECOND;
    if (what == RSS_BYTES)
        return (double)to->rss_bytes;
    if (seconds <= 0)
        return 0;
    return what == CPU_SHARE ? (to->cpu_seconds - from->cpu_seconds) / seconds
                             : (double)(to->event_count - from->event_count) / seconds;
}

/* The looks in their order; returns how many. */
static size_t copy(struct sn_own_cost *cost, struct look to[KEPT])
{
    (void)pthread_mutex_lock(&cost->lock);
    size_t kept = cost->count < KEPT ? cost->count : KEPT;
    for (size_t i = 0; i < kept; i++)
        to[i] = cost->looks[(cost->count - kept + i) % KEPT];
    (void)pthread_mutex_unlock(&cost->lock);
    return kept;
}

static void put_history(struct sn_json *json, const struct look *looks, size_t count)
{
    static const char *const names[] = {"cpuShare", "rssBytes", "eventsPerSecond"};
    char end[32];
    uint64_t ago_ns = count ? sn_clock_monotonic_ns() - looks[count - 1].at_ns : 0;
    sn_json_object(json, "history");
    sn_json_u64(json, "stepSeconds", STEP_NS / SN_NS_PER_SECOND);
    sn_json_text(json, "end", sn_clock_rfc3339(sn_clock_utc_ns() - ago_ns, end));
    for (int what = CPU_SHARE; what <= EVENT_RATE; what++) {
        sn_json_array(json, names[what]);
        for (size_t i = 1; i < count; i++)
            sn_json_real(json, NULL, between(&looks[i - 1], &looks[i], (enum what)what));
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void put_looks(struct sn_own_cost *cost, struct sn_json *json)
{
    struct look looks[KEPT + 1] = {0};
    size_t count = copy(cost, looks);
    struct look *last = &looks[count ? count - 1 : 0];
    const struct look *minute = &looks[count > A_MINUTE ? count - 1 - A_MINUTE : 0];
    struct look now = *last;
    now.at_ns = sn_clock_monotonic_ns();
    sn_own_cost(&now.cpu_seconds, &now.rss_bytes);
    sn_json_real(json, "cpuSeconds", now.cpu_seconds);
    sn_json_real(json, "cpuShare", between(minute, &now, CPU_SHARE));
    sn_json_u64(json, "rssBytes", now.rss_bytes);
    sn_json_u64(json, "threads", now.thread_count);
    sn_json_u64(json, "watchedProcesses", now.process_count);
    sn_json_real(json, "eventsPerSecond", between(minute, last, EVENT_RATE));
    put_history(json, looks, count);
}

void sn_own_cost_write(struct sn_daemon *daemon, struct sn_json *json)
{
    const struct sn_router_numbers *numbers = sn_router_numbers(daemon->router);
    uint64_t answered = 0;
    for (unsigned status = 0; status < 600; status++)
        answered += numbers->answered[status];
    put_looks(daemon->cost, json);
    sn_json_u64(json, "requests", answered);
    sn_json_u64(json, "connections", sn_http_server_connection_count(daemon->http));
    sn_json_u64(json, "streams", sn_topics_stream_count(daemon->topics));
    sn_json_u64(json, "lostMessages", sn_topics_lost_count(daemon->topics));
    sn_json_u64(json, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    sn_json_real(json, "upSeconds",
                 (double)(sn_clock_monotonic_ns() - daemon->start_ns) / SN_NS_PER_SECOND);
}
