#include "daemon/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/own.h"

#define THREADS_MAX 16u

struct sn_workers {
    struct sn_mailbox *mailbox; /* owns */
    pthread_mutex_t lock;       /* of the rest */
    pthread_t threads[THREADS_MAX];
    unsigned thread_count;
    unsigned thread_max;
    bool is_ending;
};

int sn_workers_new(unsigned thread_max, size_t waiting_max, struct sn_workers **ret_workers,
                   struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for workers");
    int rc = sn_mailbox_new(waiting_max, &workers->mailbox, err);
    if (rc != SONDE_OK)
        return rc;
    (void)pthread_mutex_init(&workers->lock, NULL);
    workers->thread_max = thread_max < THREADS_MAX ? thread_max : THREADS_MAX;
    *ret_workers = SN_TAKE(workers);
    return SONDE_OK;
}

static void *work(void *user)
{
    struct sn_workers *workers = user;
    while (sn_mailbox_run_next(workers->mailbox))
        continue;
    return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(pthread_t *thread, struct sn_workers *workers)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(thread, NULL, work, workers) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* The lock is held. False: nobody would ever run what waits. */
static bool has_somebody(struct sn_workers *workers)
{
    if (sn_mailbox_is_awaited(workers->mailbox) || workers->thread_count == workers->thread_max)
        return true;
    if (start_thread(&workers->threads[workers->thread_count], workers))
        workers->thread_count++;
    return workers->thread_count > 0;
}

bool sn_workers_offer(struct sn_workers *workers, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user)
{
    (void)pthread_mutex_lock(&workers->lock);
    bool is_taken = !workers->is_ending && has_somebody(workers) &&
                    sn_mailbox_offer(workers->mailbox, task, run, user);
    (void)pthread_mutex_unlock(&workers->lock);
    return is_taken;
}

size_t sn_workers_waiting_count(struct sn_workers *workers)
{
    return sn_mailbox_count(workers->mailbox);
}

void sn_workers_stop(struct sn_workers *workers)
{
    if (!workers)
        return;
    (void)pthread_mutex_lock(&workers->lock);
    workers->is_ending = true;
    (void)pthread_mutex_unlock(&workers->lock);
    sn_mailbox_close(workers->mailbox);
    for (unsigned i = 0; i < workers->thread_count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

void sn_workers_free(struct sn_workers *workers)
{
    if (!workers)
        return;
    sn_workers_stop(workers);
    sn_mailbox_free(workers->mailbox);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers);
}
