#include "daemon/counters_desk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "daemon/counters_message.h"
#include "daemon/daemon.h"
#include "daemon/point_shot.h"
#include "daemon/roads.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"
#include "sonde/counters.h"

#define PREFIX      "counters/"
#define FRESH_NS    (200ull * SN_NS_PER_MS)
#define STALE_NS    (1000ull * SN_NS_PER_MS)
#define GATHER_NS   (150ull * SN_NS_PER_MS) /* values of one interval come together */
#define MESSAGE_MAX (16u << 20)

struct sn_counters_desk {
    struct sn_daemon *daemon;        /* borrows */
    struct sonde_counters *counters; /* owns */
    struct sn_topic *all;            /* owns: the topic of every process */
    _Atomic uint64_t version;        /* points so far */
    pthread_mutex_t lock;            /* of `shot` */
    struct sn_point_shot *shot;      /* owns a reference; NULL: nobody has asked yet */
    struct sn_mailbox_task readers;  /* that they have changed */
    bool has_readers;
    _Atomic uint64_t left_out_count; /* counters that the last message to all had no room for */
    uint64_t told_ns;
    uint64_t due_ns;              /* 0: nothing is to be told */
    struct sonde_watched watched; /* of the point before, for this turn */
};

/* --- points --- */

static void take(void *user, const struct sonde_point *point)
{
    struct sn_counters_desk *desk = user;
    (void)atomic_fetch_add(&desk->version, 1);
    if (desk->has_readers && !desk->due_ns) {
        uint64_t soon_ns = sn_clock_monotonic_ns() + GATHER_NS;
        uint64_t next_ns = desk->told_ns + desk->daemon->options->interval_ns;
        desk->due_ns = soon_ns > next_ns ? soon_ns : next_ns;
    }
    if (!desk->daemon->store)
        return;
    bool is_known = desk->watched.process && desk->watched.process->pid == point->pid;
    if (is_known || sonde_counters_find(desk->counters, point->pid, &desk->watched))
        sn_store_desk_point(desk->daemon->store, desk->watched.process, point);
}

/* --- shots --- */

static bool is_fresh(const struct sn_counters_desk *desk, const struct sn_point_shot *shot)
{
    uint64_t age_ns = sn_clock_monotonic_ns() - shot->at_ns;
    return age_ns < FRESH_NS || (age_ns < STALE_NS && shot->version == atomic_load(&desk->version));
}

struct sn_point_shot *sn_counters_desk_fresh(struct sn_counters_desk *desk)
{
    struct sn_point_shot *shot = NULL;
    (void)pthread_mutex_lock(&desk->lock);
    if (desk->shot && is_fresh(desk, desk->shot))
        shot = sn_point_shot_hold(desk->shot);
    (void)pthread_mutex_unlock(&desk->lock);
    return shot;
}

struct sn_point_shot *sn_counters_desk_last(struct sn_counters_desk *desk)
{
    (void)pthread_mutex_lock(&desk->lock);
    struct sn_point_shot *shot = desk->shot ? sn_point_shot_hold(desk->shot) : NULL;
    (void)pthread_mutex_unlock(&desk->lock);
    return shot;
}

struct sn_point_shot *sn_counters_desk_shoot(struct sn_counters_desk *desk, struct sonde_error *err)
{
    struct sn_point_shot *shot = sn_counters_desk_fresh(desk);
    if (shot)
        return shot;
    if (sn_point_shot_new(desk->counters, &shot, err) != SONDE_OK)
        return NULL;
    shot->version = atomic_load(&desk->version);
    (void)pthread_mutex_lock(&desk->lock);
    struct sn_point_shot *before = desk->shot;
    desk->shot = sn_point_shot_hold(shot);
    (void)pthread_mutex_unlock(&desk->lock);
    sn_point_shot_release(before);
    return shot;
}

/* --- topics --- */

/* Without a shot there is nothing to tell, and that is told: the message is a loss. */
static void tell_all(struct sn_counters_desk *desk, const struct sn_point_shot *shot)
{
    struct sn_buf message = sn_buf_with_limit(MESSAGE_MAX);
    struct sn_counters_left_out left_out = {0};
    if (shot)
        sn_counters_message_all(shot, &message, &left_out);
    atomic_store(&desk->left_out_count, left_out.counters);
    sn_topic_publish(desk->all, &message);
}

static void tell_one(struct sn_counters_desk *desk, const struct sn_point_shot *shot,
                     const char *name)
{
    uint64_t pid;
    struct sn_buf message = sn_buf_with_limit(MESSAGE_MAX);
    struct sn_counters_left_out left_out;
    const struct sn_shot_process *process =
        shot && sn_text_to_u64(name + strlen(PREFIX), UINT32_MAX, &pid)
            ? sn_point_shot_find(shot, (uint32_t)pid)
            : NULL;
    if (shot && !process)
        return; /* not yet, or no more */
    if (process)
        sn_counters_message_one(process, &message, &left_out);
    sn_topics_publish(desk->daemon->topics, name, &message);
}

/* As many names as there are readers' topics: those who come meanwhile wake us again. */
static void tell(struct sn_counters_desk *desk)
{
    size_t wanted = sn_topics_wanted(desk->daemon->topics, PREFIX, NULL, 0);
    bool is_all_wanted = sn_topic_is_wanted(desk->all);
    char(*names)[SN_TOPIC_NAME_SIZE] = wanted ? calloc(wanted, sizeof(*names)) : NULL;
    size_t count = names ? sn_topics_wanted(desk->daemon->topics, PREFIX, names, wanted) : 0;
    desk->has_readers = wanted || is_all_wanted;
    struct sn_point_shot *shot = desk->has_readers ? sn_counters_desk_shoot(desk, NULL) : NULL;
    if (is_all_wanted)
        tell_all(desk, shot);
    else
        atomic_store(&desk->left_out_count, 0);
    for (size_t i = 0; i < count && i < wanted; i++)
        tell_one(desk, shot, names[i]);
    sn_point_shot_release(shot);
    free(names);
    desk->told_ns = sn_clock_monotonic_ns();
    desk->due_ns = wanted && !names ? desk->told_ns + GATHER_NS : 0; /* without memory: again */
}

/* In the roads thread: somebody has come, and gets what there is at once; or gone. */
static void readers_changed(void *user)
{
    tell(user);
}

static void wanted(void *user, bool is_wanted)
{
    struct sn_daemon *daemon = user;
    struct sn_counters_desk *desk = daemon->roads ? sn_roads_counters_desk(daemon->roads) : NULL;
    if (is_wanted && desk)
        (void)sn_roads_nudge(daemon->roads, &desk->readers, readers_changed, desk);
}

struct sn_topic *sn_counters_desk_open_topic(struct sn_daemon *daemon, const char *name,
                                             struct sonde_error *err)
{
    uint64_t pid;
    struct sn_topic_options options = {
        .name = name, .keep = 1, .scope = SN_SCOPE_METRICS, .wanted = wanted, .user = daemon};
    if (sn_text_to_u64(name + strlen(PREFIX), UINT32_MAX, &pid))
        return sn_topics_open(daemon->topics, &options);
    (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%.64s' is no process id", name + strlen(PREFIX));
    return NULL;
}

int sn_counters_desk_wait_ms(const struct sn_counters_desk *desk)
{
    return desk->due_ns ? sn_clock_poll_ms(desk->due_ns) : -1;
}

void sn_counters_desk_turn(struct sn_counters_desk *desk)
{
    desk->watched.process = NULL; /* it was borrowed until now */
    if (desk->due_ns && sn_clock_monotonic_ns() >= desk->due_ns)
        tell(desk);
}

uint64_t sn_counters_desk_left_out(const struct sn_counters_desk *desk)
{
    return atomic_load(&desk->left_out_count);
}

/* --- life --- */

struct sonde_counters *sn_counters_desk_counters(struct sn_counters_desk *desk)
{
    return desk->counters;
}

int sn_counters_desk_new(struct sn_daemon *daemon, struct sonde_hub *hub,
                         struct sn_counters_desk **ret_desk, struct sonde_error *err)
{
    struct sonde_counters_options options = {.size = sizeof(options),
                                             .all = true,
                                             .with_unreachable = true,
                                             .counters = daemon->options->counters,
                                             .counter_count = daemon->options->counter_count,
                                             .interval_ns = daemon->options->interval_ns,
                                             .meters_age_ns = daemon->options->meters_age_ns,
                                             .max_series = (uint32_t)daemon->options->max_series,
                                             .max_histograms =
                                                 (uint32_t)daemon->options->max_histograms};
    struct sn_topic_options topic = {
        .name = "counters", .keep = 1, .scope = SN_SCOPE_METRICS, .wanted = wanted, .user = daemon};
    struct sn_counters_desk *desk = calloc(1, sizeof(*desk));
    if (!desk)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    desk->daemon = daemon;
    (void)pthread_mutex_init(&desk->lock, NULL);
    desk->all = sn_topics_open(daemon->topics, &topic);
    int rc = desk->all ? sonde_counters_new(hub, &options, take, desk, &desk->counters, err)
                       : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for counters");
    if (rc == SONDE_OK)
        *ret_desk = desk;
    else
        sn_counters_desk_free(desk);
    return rc;
}

void sn_counters_desk_free(struct sn_counters_desk *desk)
{
    if (!desk)
        return;
    sonde_counters_free(desk->counters);
    sn_point_shot_release(desk->shot);
    sn_topic_close(desk->all);
    (void)pthread_mutex_destroy(&desk->lock);
    free(desk);
}
