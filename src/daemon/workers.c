#include "daemon/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/own.h"

#define THREADS_MAX 16u

struct task {
    struct task *next;
    sn_task_fn *run;
    void *user;
};

struct sn_workers {
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t wakes;
    struct task *first;
    struct task **end;
    size_t waiting_count;
    size_t waiting_max;
    pthread_t threads[THREADS_MAX];
    unsigned thread_count;
    unsigned thread_max;
    unsigned idle_count;
    bool is_ending;
};

int sn_workers_new(unsigned thread_max, size_t waiting_max, struct sn_workers **ret_workers,
                   struct sonde_error *err)
{
    struct sn_workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for workers");
    (void)pthread_mutex_init(&workers->lock, NULL);
    (void)pthread_cond_init(&workers->wakes, NULL);
    workers->end = &workers->first;
    workers->waiting_max = waiting_max;
    workers->thread_max = thread_max < THREADS_MAX ? thread_max : THREADS_MAX;
    *ret_workers = workers;
    return SONDE_OK;
}

/* The lock is held. NULL: it ends. */
static struct task *next_task(struct sn_workers *workers)
{
    while (!workers->first && !workers->is_ending) {
        workers->idle_count++;
        (void)pthread_cond_wait(&workers->wakes, &workers->lock);
        workers->idle_count--;
    }
    struct task *task = workers->first;
    if (!task)
        return NULL;
    workers->first = task->next;
    if (!workers->first)
        workers->end = &workers->first;
    workers->waiting_count--;
    return task;
}

static void *work(void *user)
{
    struct sn_workers *workers = user;
    struct task *task;
    (void)pthread_mutex_lock(&workers->lock);
    while ((task = next_task(workers))) {
        (void)pthread_mutex_unlock(&workers->lock);
        task->run(task->user);
        free(task);
        (void)pthread_mutex_lock(&workers->lock);
    }
    (void)pthread_mutex_unlock(&workers->lock);
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
    if (workers->idle_count > workers->waiting_count ||
        workers->thread_count == workers->thread_max)
        return true;
    if (start_thread(&workers->threads[workers->thread_count], workers))
        workers->thread_count++;
    return workers->thread_count > 0;
}

bool sn_workers_post(struct sn_workers *workers, sn_task_fn *run, void *user)
{
    struct task *task = malloc(sizeof(*task));
    if (!task)
        return false;
    *task = (struct task){.run = run, .user = user};
    (void)pthread_mutex_lock(&workers->lock);
    bool is_taken = workers->waiting_count < workers->waiting_max && !workers->is_ending &&
                    has_somebody(workers);
    if (is_taken) {
        *workers->end = task;
        workers->end = &task->next;
        workers->waiting_count++;
        (void)pthread_cond_signal(&workers->wakes);
    }
    (void)pthread_mutex_unlock(&workers->lock);
    if (!is_taken)
        free(task);
    return is_taken;
}

size_t sn_workers_waiting_count(struct sn_workers *workers)
{
    (void)pthread_mutex_lock(&workers->lock);
    size_t count = workers->waiting_count;
    (void)pthread_mutex_unlock(&workers->lock);
    return count;
}

void sn_workers_stop(struct sn_workers *workers)
{
    if (!workers)
        return;
    (void)pthread_mutex_lock(&workers->lock);
    workers->is_ending = true;
    (void)pthread_cond_broadcast(&workers->wakes);
    (void)pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->thread_count; i++)
        (void)pthread_join(workers->threads[i], NULL);
    workers->thread_count = 0;
}

void sn_workers_free(struct sn_workers *workers)
{
    if (!workers)
        return;
    sn_workers_stop(workers);
    (void)pthread_cond_destroy(&workers->wakes);
    (void)pthread_mutex_destroy(&workers->lock);
    free(workers);
}
