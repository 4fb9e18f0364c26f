#include "daemon/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"

struct letter {
    struct letter *next;
    sn_task_fn *run;
    void *user;
};

struct sn_mailbox {
    pthread_mutex_t lock; /* of the rest */
    struct letter *first;
    struct letter **end;
    size_t count;
    size_t limit;
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
    mailbox->end = &mailbox->first;
    mailbox->limit = limit;
    *ret_mailbox = SN_TAKE(mailbox);
    return SONDE_OK;
}

static void free_letters(struct letter *letter)
{
    while (letter) {
        struct letter *next = letter->next;
        free(letter);
        letter = next;
    }
}

void sn_mailbox_free(struct sn_mailbox *mailbox)
{
    if (!mailbox)
        return;
    free_letters(mailbox->first);
    (void)close(mailbox->fd);
    (void)pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

/* False: it was not put in, and is still the caller's. */
static bool put_in(struct sn_mailbox *mailbox, struct letter *letter, size_t limit)
{
    (void)pthread_mutex_lock(&mailbox->lock);
    bool has_room = mailbox->count < limit;
    bool was_empty = !mailbox->first;
    if (has_room) {
        *mailbox->end = letter;
        mailbox->end = &letter->next;
        mailbox->count++;
    }
    (void)pthread_mutex_unlock(&mailbox->lock);
    if (has_room && was_empty)
        (void)eventfd_write(mailbox->fd, 1);
    return has_room;
}

bool sn_mailbox_post(struct sn_mailbox *mailbox, sn_task_fn *run, void *user)
{
    struct letter *letter = malloc(sizeof(*letter));
    if (!letter)
        return false;
    *letter = (struct letter){.run = run, .user = user};
    bool has_room = put_in(mailbox, letter, mailbox->limit);
    if (!has_room)
        free(letter);
    return has_room;
}

void sn_mailbox_post_sure(struct sn_mailbox *mailbox, sn_task_fn *run, void *user)
{
    const struct timespec pause = {.tv_nsec = 10L * SN_NS_PER_MS};
    struct letter *letter;
    while (!(letter = malloc(sizeof(*letter))))
        (void)nanosleep(&pause, NULL); /* there is nothing better to do without memory */
    *letter = (struct letter){.run = run, .user = user};
    (void)put_in(mailbox, letter, SIZE_MAX);
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

/* Those that were there; what they post themselves waits for the next turn. */
static struct letter *take_all(struct sn_mailbox *mailbox)
{
    eventfd_t unused;
    (void)pthread_mutex_lock(&mailbox->lock);
    (void)eventfd_read(mailbox->fd, &unused);
    struct letter *first = mailbox->first;
    mailbox->first = NULL;
    mailbox->end = &mailbox->first;
    mailbox->count = 0;
    (void)pthread_mutex_unlock(&mailbox->lock);
    return first;
}

void sn_mailbox_turn(struct sn_mailbox *mailbox)
{
    struct letter *letter = take_all(mailbox);
    while (letter) {
        struct letter *next = letter->next;
        letter->run(letter->user);
        free(letter);
        letter = next;
    }
}
