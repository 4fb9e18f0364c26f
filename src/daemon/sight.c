#include "daemon/sight.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
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

#define GOOD_FOR_NS  SN_NS_PER_SECOND
#define TRUSTED_NS   (60ull * SN_NS_PER_SECOND) /* who answered within that may miss a look */
#define KNOWN_MAX    16384u
#define NO_ANSWER_IS "does not answer" /* as the list says it of who was asked and was silent */

/* Processes as they were seen, for everybody who looks at them. */
struct seen {
    struct seen *next;
    struct sonde_process_list *list; /* owns */
    uint64_t at_ns;
    unsigned holder_count;
};

/* Who answered, and what. */
struct known {
    uint32_t pid;
    uint64_t start_ticks;
    uint64_t answered_ns;
    uint8_t cookie[16];
    const char *architecture; /* static text */
};

struct sn_sight {
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t looked;
    struct seen *first; /* the newest; older ones while they are held */
    bool is_looking;
    struct known *known; /* owns */
    size_t known_count;
    size_t known_capacity;
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
    free(sight->known);
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

/* --- who missed a look --- */

static const char *static_architecture(const char *name)
{
    static const char *const names[] = {"x64", "arm64", "arm", "x86", "riscv64", "loongarch64"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0)
            return names[i];
    }
    return "";
}

static struct known *find_known(const struct sn_sight *sight, const struct sonde_process *process)
{
    for (size_t i = 0; i < sight->known_count; i++) {
        struct known *known = &sight->known[i];
        if (known->pid == process->pid && known->start_ticks == process->start_ticks)
            return known;
    }
    return NULL;
}

static void forget_old(struct sn_sight *sight, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < sight->known_count; i++) {
        if (now_ns - sight->known[i].answered_ns < TRUSTED_NS)
            sight->known[kept++] = sight->known[i];
    }
    sight->known_count = kept;
}

static void remember(struct sn_sight *sight, const struct sonde_process *process, uint64_t now_ns)
{
    struct known *known = find_known(sight, process);
    if (!known) {
        struct known *larger = sight->known_count < KNOWN_MAX
                                   ? sn_array_room(sight->known, sight->known_count,
                                                   &sight->known_capacity, sizeof(*larger))
                                   : NULL;
        if (!larger)
            return;
        sight->known = larger;
        known = &sight->known[sight->known_count++];
    }
    *known = (struct known){.pid = process->pid,
                            .start_ticks = process->start_ticks,
                            .answered_ns = now_ns,
                            .architecture = static_architecture(process->architecture)};
    memcpy(known->cookie, process->cookie, sizeof(known->cookie));
}

/* On a busy machine an answer may take longer than a look waits: who answered lately and still runs
 * is there, under the same id. */
static void carry_over(struct sn_sight *sight, struct sonde_process_list *list, uint64_t now_ns)
{
    forget_old(sight, now_ns);
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *seen = sonde_process_list_get(list, i);
        struct sonde_process *process =
            (struct sonde_process *)(uintptr_t)seen; /* the list is ours */
        const struct known *known = find_known(sight, process);
        if (process->is_reachable) {
            remember(sight, process, now_ns);
        } else if (known && strcmp(process->reason, NO_ANSWER_IS) == 0) {
            process->is_reachable = 1;
            process->architecture = known->architecture;
            process->reason = "";
            process->fix = "";
            memcpy(process->cookie, known->cookie, sizeof(process->cookie));
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
    carry_over(sight, seen->list, at_ns);
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

/* Who was found: the last one, and the pids of the first few for people. */
struct meant {
    size_t count;
    uint32_t pid;
    char pids[120];
    char why[320]; /* one who is meant cannot be reached, and the reason; "" */
};

static void pick(const struct sonde_process_list *list, const struct wanted *wanted,
                 struct meant *ret_meant)
{
    size_t used = 0;
    *ret_meant = (struct meant){0};
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (is_meant(process, wanted) && (process->is_reachable || wanted->pid)) {
            ret_meant->count++;
            ret_meant->pid = process->pid;
            if (used < sizeof(ret_meant->pids) - 16)
                used += (size_t)snprintf(ret_meant->pids + used, sizeof(ret_meant->pids) - used,
                                         " %u", (unsigned)process->pid);
        } else if (is_meant(process, wanted)) {
            (void)snprintf(ret_meant->why, sizeof(ret_meant->why), ": process %u %.100s%s%.150s",
                           process->pid, process->reason, *process->fix ? "; " : "", process->fix);
        }
    }
}

/* Who is not there may have come just now: looks again, once for all who ask in that moment. */
static int find(struct sn_sight *sight, const struct wanted *wanted, struct meant *ret_meant,
                struct sonde_error *err)
{
    uint64_t asked_ns = sn_clock_monotonic_ns();
    struct sonde_process_list *list = sn_sight_hold(sight, err);
    if (!list)
        return err->status;
    pick(list, wanted, ret_meant);
    sn_sight_release(sight, list);
    if (ret_meant->count)
        return SONDE_OK;
    list = hold(sight, asked_ns, err);
    if (!list)
        return err->status;
    pick(list, wanted, ret_meant);
    sn_sight_release(sight, list);
    return SONDE_OK;
}

/* The native routes know nothing of a default process: who asks has said who is meant. */
static void tell_none(struct sn_rest_call *call, const char *by, const char *why)
{
    if (!sn_query_is_native(call->route))
        sn_rest_problem(call, 400, "unable to discover a target process%s", why);
    else
        sn_rest_problem(call, 404, "there is no .NET process %.200s%s", by ? by : "that is meant",
                        why);
}

int sn_sight_choose(struct sn_rest_call *call, const char *pid, const char *uid, const char *name,
                    uint32_t *ret_pid)
{
    struct sonde_error err = {0};
    struct wanted wanted = {
        .uid = uid, .name = name && *name ? name : NULL, .options = call->daemon->options};
    if (pid && (!sn_text_to_u64(pid, UINT32_MAX, &wanted.pid) || !wanted.pid)) {
        sn_rest_invalid(call, "pid", "the value '%.40s' is no process id", pid);
        return SONDE_E_ARGUMENT;
    }
    struct meant meant = {0};
    int rc = find(call->daemon->sight, &wanted, &meant, &err);
    if (rc != SONDE_OK) {
        sn_rest_failed(call, &err);
        return rc;
    }
    *ret_pid = meant.pid;
    if (meant.count == 1)
        return SONDE_OK;
    if (meant.count)
        sn_rest_problem(call, 400, "%zu processes are meant:%s; choose one by its pid", meant.count,
                        meant.pids);
    else
        tell_none(call, pid ? pid : uid ? uid : wanted.name, meant.why);
    return meant.count ? SONDE_E_ARGUMENT : SONDE_E_NOT_FOUND;
}
