#include "daemon/sight.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/guid_text.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/monitor_call.h"
#include "daemon/process_filter.h"
#include "daemon/query.h"
#include "daemon/rest_call.h"

#define GOOD_FOR_NS SN_NS_PER_SECOND

/* Processes as they were seen, for everybody who looks at them. */
struct seen {
    struct seen *next;
    struct sonde_process_list *list; /* owns */
    uint64_t at_ns;
    unsigned holder_count;
};

struct sn_sight {
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t looked;
    struct seen *first; /* the newest; older ones while they are held */
    bool is_looking;
};

int sn_sight_new(struct sn_daemon *daemon, struct sn_sight **ret_sight, struct sonde_error *err)
{
    (void)daemon;
    struct sn_sight *sight = calloc(1, sizeof(*sight));
    if (!sight)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the list of processes");
    (void)pthread_mutex_init(&sight->lock, NULL);
    (void)pthread_cond_init(&sight->looked, NULL);
    *ret_sight = sight;
    return SONDE_OK;
}

static void free_seen(struct seen *seen)
{
    sonde_process_list_free(seen->list);
    free(seen);
}

void sn_sight_free(struct sn_sight *sight)
{
    if (!sight)
        return;
    for (struct seen *next; sight->first; sight->first = next) {
        next = sight->first->next;
        free_seen(sight->first);
    }
    (void)pthread_cond_destroy(&sight->looked);
    (void)pthread_mutex_destroy(&sight->lock);
    free(sight);
}

/* The lock is held. What is old and held by nobody goes. */
static void sweep(struct sn_sight *sight)
{
    struct seen **slot = sight->first ? &sight->first->next : &sight->first;
    while (*slot) {
        struct seen *seen = *slot;
        if (seen->holder_count) {
            slot = &seen->next;
        } else {
            *slot = seen->next;
            free_seen(seen);
        }
    }
}

/* The lock is held, and let go of while it looks. */
static int look(struct sn_sight *sight, struct sonde_error *err)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    if (!seen)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the list of processes");
    sight->is_looking = true;
    (void)pthread_mutex_unlock(&sight->lock);
    uint64_t at_ns = sn_clock_monotonic_ns();
    int rc = sonde_process_list_new(&seen->list, err);
    (void)pthread_mutex_lock(&sight->lock);
    sight->is_looking = false;
    (void)pthread_cond_broadcast(&sight->looked);
    if (rc != SONDE_OK) {
        free(seen);
        return rc;
    }
    seen->at_ns = at_ns;
    seen->next = sight->first;
    sight->first = seen;
    sweep(sight);
    return SONDE_OK;
}

static bool is_fresh(const struct sn_sight *sight, uint64_t since_ns)
{
    return sight->first && sight->first->at_ns >= since_ns;
}

/* As they were at `since_ns` or later. */
static struct sonde_process_list *hold(struct sn_sight *sight, uint64_t since_ns,
                                       struct sonde_error *err)
{
    int rc = SONDE_OK;
    struct sonde_process_list *list = NULL;
    (void)pthread_mutex_lock(&sight->lock);
    while (!is_fresh(sight, since_ns) && sight->is_looking)
        (void)pthread_cond_wait(&sight->looked, &sight->lock);
    if (!is_fresh(sight, since_ns))
        rc = look(sight, err);
    if (rc == SONDE_OK && sight->first) {
        sight->first->holder_count++;
        list = sight->first->list;
    }
    (void)pthread_mutex_unlock(&sight->lock);
    return list;
}

struct sonde_process_list *sn_sight_hold(struct sn_sight *sight, struct sonde_error *err)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    return hold(sight, now_ns > GOOD_FOR_NS ? now_ns - GOOD_FOR_NS : 0, err);
}

void sn_sight_release(struct sn_sight *sight, struct sonde_process_list *list)
{
    (void)pthread_mutex_lock(&sight->lock);
    for (struct seen *seen = sight->first; seen; seen = seen->next) {
        if (seen->list == list)
            seen->holder_count--;
    }
    sweep(sight);
    (void)pthread_mutex_unlock(&sight->lock);
}

void sn_sight_uid(const struct sonde_process *process, char to[37])
{
    (void)sn_guid_write(process->cookie, to);
}

/* --- who is meant --- */

struct wanted {
    uint64_t pid; /* 0: any */
    const char *uid;
    const char *name;
    const struct sn_serve_options *options;
};

/* By its own name, or its executable's as dotnet-monitor tells it, whatever the case. */
static bool is_called(const struct sonde_process *process, const char *name)
{
    char text[128];
    return sonde_process_is_called(process, name) ||
           strcasecmp(sn_monitor_process_name(process, text), name) == 0;
}

static bool is_meant(const struct sonde_process *process, const struct wanted *wanted)
{
    uint8_t uid[16];
    if (process->pid == (uint32_t)getpid())
        return false;
    if (wanted->pid && process->pid != wanted->pid)
        return false;
    if (wanted->uid && (!sn_guid_read(wanted->uid, strlen(wanted->uid), uid) ||
                        memcmp(uid, process->cookie, sizeof(uid)) != 0))
        return false;
    if (!wanted->pid && !wanted->uid && !wanted->name)
        return sn_process_filter_holds(wanted->options, process);
    return !wanted->name || is_called(process, wanted->name);
}

static size_t count_meant(const struct sonde_process_list *list, const struct wanted *wanted,
                          uint32_t *ret_pid)
{
    size_t found = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (is_meant(process, wanted) && (process->is_reachable || wanted->pid)) {
            found++;
            *ret_pid = process->pid;
        }
    }
    return found;
}

/* Who is not there may have come just now: looks again, once for all who ask in that moment. */
static int find(struct sn_sight *sight, const struct wanted *wanted, size_t *ret_found,
                uint32_t *ret_pid, struct sonde_error *err)
{
    uint64_t asked_ns = sn_clock_monotonic_ns();
    struct sonde_process_list *list = sn_sight_hold(sight, err);
    if (!list)
        return err->status;
    *ret_found = count_meant(list, wanted, ret_pid);
    sn_sight_release(sight, list);
    if (*ret_found)
        return SONDE_OK;
    list = hold(sight, asked_ns, err);
    if (!list)
        return err->status;
    *ret_found = count_meant(list, wanted, ret_pid);
    sn_sight_release(sight, list);
    return SONDE_OK;
}

int sn_sight_choose(struct sn_rest_call *call, const char *pid, const char *uid, const char *name,
                    uint32_t *ret_pid)
{
    struct sonde_error err = {0};
    struct wanted wanted = {
        .uid = uid, .name = name && *name ? name : NULL, .options = call->daemon->options};
    bool is_native = sn_query_is_native(call->route);
    if (pid && (!sn_text_to_u64(pid, UINT32_MAX, &wanted.pid) || !wanted.pid)) {
        sn_rest_invalid(call, "pid", "the value '%.40s' is no process id", pid);
        return SONDE_E_ARGUMENT;
    }
    size_t found = 0;
    int rc = find(call->daemon->sight, &wanted, &found, ret_pid, &err);
    if (rc != SONDE_OK) {
        sn_rest_failed(call, &err);
        return rc;
    }
    if (found == 1)
        return SONDE_OK;
    sn_rest_problem(call, is_native && !found ? 404 : 400, "%s",
                    found ? "several processes are meant: say which by pid, uid or name"
                          : "unable to discover a target process");
    return found ? SONDE_E_ARGUMENT : SONDE_E_NOT_FOUND;
}
