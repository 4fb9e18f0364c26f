#include "daemon/state_topics.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/health.h"
#include "daemon/process_json.h"
#include "daemon/sight.h"
#include "daemon/topic.h"
#include "daemon/workers.h"

#define EVERY_NS    SN_NS_PER_SECOND
#define MESSAGE_MAX (16u << 20)

struct sn_state_topics {
    struct sn_mailbox_task looking; /* free when is_looking is false */
    struct sn_daemon *daemon;       /* borrows */
    struct sn_topic *processes;     /* owns */
    struct sn_topic *health;        /* owns */
    uint64_t due_ns;                /* the HTTP thread's */
    uint64_t health_hash;           /* the HTTP thread's: of what was told last */
    uint64_t process_hash;          /* the worker's that looks: likewise */
    _Atomic bool is_looking;        /* a worker does */
    _Atomic bool is_first_wanted;   /* somebody has come: told in any case */
};

/* --- processes --- */

/* Who is there; numbers that move on by themselves would make every second a change. */
static uint64_t hash_processes(const struct sonde_process_list *list)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        hash = sn_text_hash(hash + process->pid * 31ull + process->start_ticks, process->name);
        hash = sn_text_hash(hash + (uint64_t)process->is_reachable, process->reason);
    }
    return hash;
}

/* In a worker. */
static void look(void *user)
{
    struct sn_state_topics *topics = user;
    struct sn_sight *sight = topics->daemon->sight;
    struct sonde_process_list *list = sn_sight_hold(sight, NULL);
    uint64_t hash = list ? hash_processes(list) : topics->process_hash;
    if (list &&
        (hash != topics->process_hash || atomic_exchange(&topics->is_first_wanted, false))) {
        struct sn_buf message = sn_buf_with_limit(MESSAGE_MAX);
        sn_process_json_list(&message, list, SN_SCOPE_READ);
        sn_topic_publish(topics->processes, &message);
        topics->process_hash = hash;
    }
    if (list)
        sn_sight_release(sight, list);
    atomic_store(&topics->is_looking, false);
}

static void look_soon(struct sn_state_topics *topics)
{
    if (!atomic_exchange(&topics->is_looking, true) &&
        !sn_workers_offer(topics->daemon->workers, &topics->looking, look, topics))
        atomic_store(&topics->is_looking, false);
}

static void processes_wanted(void *user, bool is_wanted)
{
    struct sn_state_topics *topics = user;
    if (!is_wanted)
        return;
    atomic_store(&topics->is_first_wanted, true);
    topics->due_ns = 0;
}

/* --- health --- */

static void tell_health(struct sn_state_topics *topics)
{
    struct sn_buf message = sn_buf_with_limit(64u << 10);
    (void)sn_health_write(topics->daemon, &message);
    uint64_t hash = sn_text_hash(1, sn_buf_string(&message));
    if (hash == topics->health_hash) {
        sn_buf_done(&message);
        return;
    }
    topics->health_hash = hash;
    sn_topic_publish(topics->health, &message);
}

static void health_wanted(void *user, bool is_wanted)
{
    struct sn_state_topics *topics = user;
    if (is_wanted)
        topics->due_ns = 0;
}

/* --- the HTTP thread --- */

int sn_state_topics_wait_ms(const struct sn_state_topics *topics)
{
    bool is_wanted = sn_topic_is_wanted(topics->processes) || sn_topic_is_wanted(topics->health);
    return is_wanted ? sn_clock_poll_ms(topics->due_ns) : -1;
}

void sn_state_topics_turn(struct sn_state_topics *topics)
{
    if (sn_clock_monotonic_ns() < topics->due_ns)
        return;
    topics->due_ns = sn_clock_deadline(EVERY_NS);
    if (sn_topic_is_wanted(topics->processes))
        look_soon(topics);
    if (sn_topic_is_wanted(topics->health))
        tell_health(topics);
}

int sn_state_topics_new(struct sn_daemon *daemon, struct sn_state_topics **ret_topics,
                        struct sonde_error *err)
{
    struct sn_state_topics *topics = calloc(1, sizeof(*topics));
    if (!topics)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for topics");
    topics->daemon = daemon;
    topics->processes = sn_topics_open(daemon->topics, &(struct sn_topic_options){
                                                           .name = "processes",
                                                           .keep = 1,
                                                           .wanted = processes_wanted,
                                                           .user = topics,
                                                       });
    topics->health = sn_topics_open(daemon->topics, &(struct sn_topic_options){
                                                        .name = "health",
                                                        .keep = 1,
                                                        .scope = SN_SCOPE_METRICS,
                                                        .wanted = health_wanted,
                                                        .user = topics,
                                                    });
    *ret_topics = topics;
    if (topics->processes && topics->health)
        return SONDE_OK;
    return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for topics");
}

void sn_state_topics_free(struct sn_state_topics *topics)
{
    if (!topics)
        return;
    sn_topic_close(topics->processes);
    sn_topic_close(topics->health);
    free(topics);
}
