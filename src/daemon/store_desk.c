#include "daemon/store_desk.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "daemon/daemon.h"
#include "daemon/process_json.h"
#include "daemon/store_batch.h"

#define TASKS_MAX        1024u
#define BATCH_SIZE_MAX   (4u << 20) /* of each of the two */
#define KNOWN_MAX        8192u
#define COMMIT_EVERY_NS  SN_NS_PER_SECOND
#define SWEEP_EVERY_NS   (10ull * SN_NS_PER_SECOND)
#define COUNT_EVERY_NS   (20ull * SN_NS_PER_SECOND)
#define SWEEP_AT_ONCE_NS (20ull * SN_NS_PER_MS)      /* then somebody may have come meanwhile */
#define LATE_MOST_NS     (120ull * SN_NS_PER_SECOND) /* a point of a machine that is busy */

struct sn_store_desk {
    pthread_t thread;
    bool has_thread;
    _Atomic bool is_ending;
    struct sn_mailbox *mailbox;
    struct sn_store *store; /* of the thread, but for where its files are */
    uint64_t interval_ns;   /* between points */

    pthread_mutex_t lock;           /* of what follows */
    struct sn_store_batch incoming; /* filled by the roads thread */
    uint64_t dropped_count;         /* points that found no room in it */
    uint64_t clamped_count;         /* points of times that cannot be */
    struct sn_store_health health;
    struct sn_store_numbers numbers;
    bool is_limited; /* otherwise than at the start */

    /* Of the thread alone. */
    struct sn_store_batch taken;
    struct sn_table known;  /* processes whose command line was looked at */
    int64_t process_id;     /* of the points to come; 0: it could not be kept */
    uint64_t commit_due_ns; /* UINT64_MAX: nothing waits */
    uint64_t sweep_due_ns;
    uint64_t count_due_ns;
    bool has_more; /* to sweep */
    sn_mailbox_fn *opened;
    void *opened_user;
};

/* --- what comes --- */

static void take_process(void *user, const struct sonde_process *process)
{
    struct sn_store_desk *desk = user;
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(64u << 10);
    const uint64_t who[2] = {process->pid, process->start_ticks};
    uint64_t key = sn_table_key(who, sizeof(who));
    struct sonde_error err = {0};
    if (!sn_table_find(&desk->known, key)) { /* only a new one's is kept */
        if (desk->known.count >= KNOWN_MAX)
            sn_table_clear(&desk->known);
        (void)sn_table_put(&desk->known, key); /* without memory it is done again */
        sn_process_json_redact(&line, process);
    }
    const struct sn_store_process kept = {.pid = process->pid,
                                          .start_ticks = process->start_ticks,
                                          .name = process->name,
                                          .runtime = process->runtime,
                                          .user = process->user,
                                          .container = process->container,
                                          .command_line = sn_buf_string(&line)};
    desk->process_id = 0;
    (void)sn_store_process(desk->store, &kept, &desk->process_id,
                           &err); /* its points are counted */
}

static void take_point(void *user, const struct sonde_point *point)
{
    struct sn_store_desk *desk = user;
    (void)sn_store_point(desk->store, desk->process_id, point, NULL); /* dropped ones are counted */
}

static void take_batch(struct sn_store_desk *desk)
{
    (void)pthread_mutex_lock(&desk->lock);
    struct sn_store_batch taken = desk->incoming;
    desk->incoming = desk->taken;
    (void)pthread_mutex_unlock(&desk->lock);
    desk->taken = taken;
    const struct sn_store_batch_user to = {
        .process = take_process, .point = take_point, .user = desk};
    sn_store_batch_read(&desk->taken, &to);
    sn_store_batch_clear(&desk->taken);
}

/* While it is degraded commits are tried although nothing comes: so that it is told when that is
 * over. */
static void publish(struct sn_store_desk *desk)
{
    struct sn_store_health health;
    sn_store_health(desk->store, &health);
    if (health.is_degraded && desk->commit_due_ns == UINT64_MAX)
        desk->commit_due_ns = sn_clock_deadline(COMMIT_EVERY_NS);
    (void)pthread_mutex_lock(&desk->lock);
    health.dropped_count += desk->dropped_count;
    health.clamped_count = desk->clamped_count;
    desk->health = health;
    (void)pthread_mutex_unlock(&desk->lock);
}

/* What is in it is counted now and then: that takes longer than its health. */
static void count(struct sn_store_desk *desk)
{
    struct sn_store_numbers numbers;
    sn_store_numbers(desk->store, &numbers);
    desk->count_due_ns = sn_clock_deadline(COUNT_EVERY_NS);
    (void)pthread_mutex_lock(&desk->lock);
    desk->numbers = numbers;
    (void)pthread_mutex_unlock(&desk->lock);
}

/* --- the thread --- */

static void commit(struct sn_store_desk *desk)
{
    take_batch(desk);
    int rc = sn_store_commit(desk->store, NULL); /* the health tells */
    desk->commit_due_ns = UINT64_MAX;
    publish(desk);
    sn_mailbox_fn *opened = rc == SONDE_OK ? SN_TAKE(desk->opened) : NULL;
    if (opened)
        opened(desk->opened_user);
}

static void sweep(struct sn_store_desk *desk)
{
    uint64_t end_ns = sn_clock_deadline(SWEEP_AT_ONCE_NS);
    bool has_more = true;
    while (has_more && sn_clock_monotonic_ns() < end_ns) {
        if (sn_store_sweep(desk->store, sn_clock_utc_ns(), &has_more, NULL) != SONDE_OK)
            has_more = false; /* the health tells */
    }
    desk->sweep_due_ns = sn_clock_deadline(has_more ? SWEEP_AT_ONCE_NS : SWEEP_EVERY_NS);
    publish(desk);
    if (!has_more && sn_clock_monotonic_ns() >= desk->count_due_ns)
        count(desk);
}

static bool has_points(struct sn_store_desk *desk)
{
    (void)pthread_mutex_lock(&desk->lock);
    bool has = desk->incoming.count > 0;
    (void)pthread_mutex_unlock(&desk->lock);
    return has;
}

void sn_store_desk_catch_up(struct sn_store_desk *desk)
{
    if (!has_points(desk))
        return;
    take_batch(desk);
    if (desk->commit_due_ns == UINT64_MAX)
        desk->commit_due_ns = sn_clock_deadline(COMMIT_EVERY_NS);
}

static void wait_for_news(struct sn_store_desk *desk)
{
    uint64_t due_ns =
        desk->commit_due_ns < desk->sweep_due_ns ? desk->commit_due_ns : desk->sweep_due_ns;
    struct pollfd mail = {.fd = sn_mailbox_fd(desk->mailbox), .events = POLLIN};
    if (poll(&mail, 1, sn_clock_poll_ms(due_ns)) > 0) {
        sn_mailbox_turn(desk->mailbox);
        publish(desk);
    }
    if (desk->commit_due_ns == UINT64_MAX && has_points(desk))
        desk->commit_due_ns = sn_clock_deadline(COMMIT_EVERY_NS);
}

static void *run(void *user)
{
    struct sn_store_desk *desk = user;
    while (!desk->is_ending) {
        wait_for_news(desk);
        uint64_t now_ns = sn_clock_monotonic_ns();
        if (now_ns >= desk->commit_due_ns)
            commit(desk);
        if (now_ns >= desk->sweep_due_ns)
            sweep(desk);
    }
    sn_mailbox_turn(desk->mailbox); /* what was promised before the end */
    take_batch(desk);
    return NULL;
}

/* A target's clock is its own, and may say anything. What a point is over ended before it came, and
 * not long before: the time at which it came is near enough for one that says otherwise. */
static bool is_possible(const struct sn_store_desk *desk, uint64_t utc_ns, uint64_t now_ns)
{
    return utc_ns <= now_ns + desk->interval_ns &&
           utc_ns + desk->interval_ns + LATE_MOST_NS >= now_ns;
}

void sn_store_desk_point(struct sn_store_desk *desk, const struct sonde_process *process,
                         const struct sonde_point *point)
{
    if (!desk)
        return;
    struct sonde_point kept = *point;
    uint64_t now_ns = sn_clock_utc_ns();
    bool is_clamped = !is_possible(desk, point->utc_ns, now_ns);
    if (is_clamped)
        kept.utc_ns = now_ns;
    (void)pthread_mutex_lock(&desk->lock);
    bool is_first = !desk->incoming.count;
    bool is_taken = sn_store_batch_add(&desk->incoming, process, &kept);
    desk->dropped_count += !is_taken;
    desk->clamped_count += is_clamped;
    (void)pthread_mutex_unlock(&desk->lock);
    if (is_first && is_taken)
        sn_mailbox_stir(desk->mailbox);
}

/* --- from outside --- */

static int start(struct sn_store_desk *desk, struct sonde_error *err)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    int failure = pthread_create(&desk->thread, NULL, run, desk);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure)
        return sn_fail(err, SONDE_E_NOMEM, 0, "cannot start the thread of the store");
    desk->has_thread = true;
    return SONDE_OK;
}

static void sn_store_desk_free_auto(struct sn_store_desk *const *slot)
{
    sn_store_desk_free(*slot);
}

int sn_store_desk_new(struct sn_daemon *daemon, struct sn_store_desk **ret_desk,
                      struct sonde_error *err)
{
    const struct sn_serve_options *options = daemon->options;
    SN_AUTO(sn_store_desk_free) struct sn_store_desk *desk = calloc(1, sizeof(*desk));
    if (!desk)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the store");
    (void)pthread_mutex_init(&desk->lock, NULL);
    desk->incoming.bytes = sn_buf_with_limit(BATCH_SIZE_MAX);
    desk->taken.bytes = sn_buf_with_limit(BATCH_SIZE_MAX);
    desk->known = sn_table_with_limit(KNOWN_MAX);
    desk->interval_ns = options->interval_ns ? options->interval_ns : SN_NS_PER_SECOND;
    desk->commit_due_ns = UINT64_MAX;
    desk->sweep_due_ns = sn_clock_deadline(SWEEP_EVERY_NS);
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "%.*s/store", PATH_MAX - 8, options->state_folder);
    const struct sn_store_options store = {.folder = folder,
                                           .bytes_max = options->store_bytes_max,
                                           .age_max_ns = options->store_age_max_ns};
    int rc = sn_mailbox_new(TASKS_MAX, &desk->mailbox, err);
    if (rc == SONDE_OK)
        rc = sn_store_open(&store, &desk->store, err);
    if (rc != SONDE_OK)
        return rc;
    commit(desk);
    count(desk);
    rc = start(desk, err);
    if (rc == SONDE_OK)
        *ret_desk = SN_TAKE(desk);
    return rc;
}

void sn_store_desk_free(struct sn_store_desk *desk)
{
    if (!desk)
        return;
    desk->is_ending = true;
    if (desk->has_thread) {
        sn_mailbox_stir(desk->mailbox);
        (void)pthread_join(desk->thread, NULL);
    }
    sn_store_close(desk->store);
    sn_mailbox_free(desk->mailbox);
    sn_table_done(&desk->known);
    sn_buf_done(&desk->incoming.bytes);
    sn_buf_done(&desk->taken.bytes);
    (void)pthread_mutex_destroy(&desk->lock);
    free(desk);
}

void sn_store_desk_post(struct sn_store_desk *desk, struct sn_mailbox_task *task,
                        sn_mailbox_fn *handle, void *user)
{
    sn_mailbox_post(desk->mailbox, task, handle, user);
}

bool sn_store_desk_offer(struct sn_store_desk *desk, struct sn_mailbox_task *task,
                         sn_mailbox_fn *handle, void *user)
{
    return desk && sn_mailbox_offer(desk->mailbox, task, handle, user);
}

void sn_store_desk_when_open(struct sn_store_desk *desk, sn_mailbox_fn *handle, void *user)
{
    desk->opened = handle;
    desk->opened_user = user;
}

bool sn_store_desk_is_full(struct sn_store_desk *desk)
{
    return sn_mailbox_is_full(desk->mailbox);
}

struct sn_store *sn_store_desk_store(struct sn_store_desk *desk)
{
    return desk ? desk->store : NULL;
}

void sn_store_desk_health(struct sn_store_desk *desk, struct sn_store_health *ret_health)
{
    *ret_health = (struct sn_store_health){0};
    if (!desk)
        return;
    (void)pthread_mutex_lock(&desk->lock);
    *ret_health = desk->health;
    (void)pthread_mutex_unlock(&desk->lock);
}

bool sn_store_desk_numbers(struct sn_store_desk *desk, struct sn_store_numbers *ret_numbers)
{
    *ret_numbers = (struct sn_store_numbers){0};
    if (!desk)
        return false;
    (void)pthread_mutex_lock(&desk->lock);
    *ret_numbers = desk->numbers;
    bool is_limited = desk->is_limited;
    (void)pthread_mutex_unlock(&desk->lock);
    return is_limited;
}

void sn_store_desk_limit(struct sn_store_desk *desk, uint64_t bytes_max, uint64_t age_max_ns)
{
    sn_store_limit(desk->store, bytes_max, age_max_ns);
    desk->sweep_due_ns = 0;
    desk->count_due_ns = 0;
    (void)pthread_mutex_lock(&desk->lock);
    desk->is_limited = true;
    (void)pthread_mutex_unlock(&desk->lock);
    count(desk);
}
