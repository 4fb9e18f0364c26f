#include "base/mailbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

struct sn_mailbox {
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t wakes; /* those in sn_mailbox_run_next */
    struct sn_mailbox_task *first;
    struct sn_mailbox_task **end;
    size_t count;
    size_t limit;
    size_t waiter_count;
    bool is_closed;
    int fd; /* owns: an eventfd */
};

int sn_mailbox_new(size_t limit, struct sn_mailbox **ret_mailbox, struct sonde_error *err)
{
    SN_AUTO(sn_free) struct sn_mailbox *mailbox = calloc(1, sizeof(*mailbox));
    if (!mailbox)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a mailbox");
    mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mailbox->fd < 0)
        return sn_fail_errno(err, "cannot make a mailbox");
    (void)pthread_mutex_init(&mailbox->lock, NULL);
    (void)pthread_cond_init(&mailbox->wakes, NULL);
    mailbox->end = &mailbox->first;
    mailbox->limit = limit;
    *ret_mailbox = SN_TAKE(mailbox);
    return SONDE_OK;
}

void sn_mailbox_free(struct sn_mailbox *mailbox)
{
    if (!mailbox)
        return;
    assert(!mailbox->waiter_count);
    (void)close(mailbox->fd);
    (void)pthread_cond_destroy(&mailbox->wakes);
    (void)pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

/* --- in --- */

/* The task is marked as posted, so nobody else touches it. False: more than `limit` would wait. */
static bool put_in(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, size_t limit)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    bool has_room = mailbox->count < limit;
    bool was_empty = !mailbox->first;
    if (has_room) {
        task->next = NULL;
        *mailbox->end = task;
        mailbox->end = &task->next;
        mailbox->count++;
        (void)pthread_cond_signal(&mailbox->wakes);
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    if (has_room && was_empty)
        sn_mailbox_stir(mailbox);
    return has_room;
}

static bool mark_posted(struct sn_mailbox_task *task)
{
    return !atomic_exchange(&task->is_posted, true);
}

void sn_mailbox_post(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                     void *user)
{
    bool was_free = mark_posted(task);
    assert(was_free);
    (void)was_free;
    task->run = run;
    task->user = user;
    (void)put_in(mailbox, task, SIZE_MAX);
}

bool sn_mailbox_nudge(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user)
{
    if (!mark_posted(task))
        return false;
    task->run = run;
    task->user = user;
    return put_in(mailbox, task, SIZE_MAX);
}

bool sn_mailbox_offer(struct sn_mailbox *mailbox, struct sn_mailbox_task *task, sn_mailbox_fn *run,
                      void *user)
{
    bool was_free = mark_posted(task);
    assert(was_free);
    (void)was_free;
    task->run = run;
    task->user = user;
    bool is_in = put_in(mailbox, task, mailbox->limit);
    if (!is_in)
        atomic_store(&task->is_posted, false);
    return is_in;
}

void sn_mailbox_stir(struct sn_mailbox *mailbox)
{
    (void)eventfd_write(mailbox->fd, 1);
}

bool sn_mailbox_is_full(struct sn_mailbox *mailbox)
{
    return sn_mailbox_count(mailbox) >= mailbox->limit;
}

size_t sn_mailbox_count(struct sn_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    size_t count = mailbox->count;
    (void)pthread_mutex_unlock(&mailbox->lock);
    return count;
}

int sn_mailbox_fd(const struct sn_mailbox *mailbox)
{
    return mailbox->fd;
}

/* --- out --- */

/* From the moment that it is free it may be posted anew, or be gone. */
static void run_task(struct sn_mailbox_task *task)
{
    sn_mailbox_fn *run = task->run;
    void *user = task->user;
    bool was_posted = atomic_exchange(&task->is_posted, false);
    assert(was_posted);
    (void)was_posted;
    run(user);
}

/* Those that were there; what they post themselves waits for the next turn. */
static struct sn_mailbox_task *take_all(struct sn_mailbox *mailbox)
{
    eventfd_t unused;
    (void)pthread_mutex_lock(&mailbox->lock);
    (void)eventfd_read(mailbox->fd, &unused);
    struct sn_mailbox_task *first = mailbox->first;
    mailbox->first = NULL;
    mailbox->end = &mailbox->first;
    mailbox->count = 0;
    (void)pthread_mutex_unlock(&mailbox->lock);
    return first;
}

void sn_mailbox_turn(struct sn_mailbox *mailbox)
{
    struct sn_mailbox_task *task = take_all(mailbox);
    while (task) {
        struct sn_mailbox_task *next = task->next;
        run_task(task);
        task = next;
    }
}

bool sn_mailbox_run_next(struct sn_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    mailbox->waiter_count++;
    while (!mailbox->first && !mailbox->is_closed)
        (void)pthread_cond_wait(&mailbox->wakes, &mailbox->lock);
    mailbox->waiter_count--; /* with its task: see sn_mailbox_is_awaited */
    struct sn_mailbox_task *task = mailbox->first;
    if (task) {
        mailbox->first = task->next;
        if (!mailbox->first)
            mailbox->end = &mailbox->first;
        mailbox->count--;
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    if (task)
        run_task(task);
    return task != NULL;
}

void sn_mailbox_close(struct sn_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    mailbox->is_closed = true;
    (void)pthread_cond_broadcast(&mailbox->wakes);
    (void)pthread_mutex_unlock(&mailbox->lock);
}

bool sn_mailbox_is_awaited(struct sn_mailbox *mailbox)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    bool is_awaited = mailbox->waiter_count > mailbox->count;
    (void)pthread_mutex_unlock(&mailbox->lock);
    return is_awaited;
}
