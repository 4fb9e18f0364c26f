#include "net/sender.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "net/backoff.h"
#include "net/outbox.h"
#include "net/post.h"
#include "net/tls.h"
#include "net/url.h"
#include "net/waiter.h"
#include "net/wire.h"

#define DEFAULT_LIMIT_BYTES (4u << 20)
#define DEFAULT_TIMEOUT_NS  (5ull * SN_NS_PER_SECOND)
#define LONGEST_GRACE_NS    (3600ull * SN_NS_PER_SECOND)
#define SETTLING_NS         (100ull * SN_NS_PER_MS) /* for the thread to see that its time is over */

struct sn_sender {
    struct sn_url url;
    pthread_t thread;
    struct sn_waiter waiter;
    int filled_fd; /* readable when something was put in */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t ended; /* has_ended became true */
    struct sn_outbox outbox;
    struct sn_sender_state state; /* the outbox' numbers are added when asked */
    bool has_ended;               /* the thread touches nothing any more */
    bool is_orphan;               /* nobody waits for the thread: it frees all this */

    /* Of the thread alone. */
    struct sn_wire wire;
    struct sn_post post; /* of http(s) */
    struct sn_tls_trust *trust;
    struct sn_backoff backoff;
    uint64_t dropped_count; /* when the message under way was taken */
};

static bool is_http(const struct sn_url *url)
{
    return url->scheme == SN_URL_HTTP || url->scheme == SN_URL_HTTPS;
}

static void destroy(struct sn_sender *sender)
{
    sn_outbox_done(&sender->outbox);
    sn_post_done(&sender->post);
    sn_tls_trust_free(sender->trust);
    sn_waiter_done(&sender->waiter);
    sn_close(sender->filled_fd);
    (void)pthread_cond_destroy(&sender->ended);
    (void)pthread_mutex_destroy(&sender->lock);
    free(sender);
}

/* --- what is told --- */

static void note_success(struct sn_sender *sender, struct sn_message *message)
{
    sn_backoff_reset(&sender->backoff);
    (void)pthread_mutex_lock(&sender->lock);
    sender->state.is_up = true;
    sender->state.has_refused = false;
    sender->state.reason[0] = '\0';
    sender->state.sent_count++;
    sender->state.sent_utc_ns = sn_clock_utc_ns();
    sender->state.sent_bytes += message->size;
    sn_outbox_release(&sender->outbox, message);
    (void)pthread_mutex_unlock(&sender->lock);
}

static void note_reason(struct sn_sender *sender, const struct sonde_error *err)
{
    (void)snprintf(sender->state.reason, sizeof(sender->state.reason), "%.*s",
                   (int)sizeof(sender->state.reason) - 1, err->text);
}

/* Sent or not, it will not be. Under the lock. */
static void drop(struct sn_sender *sender, struct sn_message *message)
{
    sn_outbox_count_dropped(&sender->outbox, message->items);
    sn_outbox_release(&sender->outbox, message);
}

static void note_refused(struct sn_sender *sender, struct sn_message *message,
                         const struct sonde_error *err)
{
    sn_backoff_reset(&sender->backoff); /* the receiver lives */
    (void)pthread_mutex_lock(&sender->lock);
    note_reason(sender, err);
    sender->state.is_up = false;
    sender->state.has_refused = true;
    drop(sender, message);
    (void)pthread_mutex_unlock(&sender->lock);
}

static void note_failure(struct sn_sender *sender, const struct sonde_error *err)
{
    (void)pthread_mutex_lock(&sender->lock);
    note_reason(sender, err);
    sender->state.is_up = false;
    sender->state.has_refused = false;
    sender->state.retry_count++;
    (void)pthread_mutex_unlock(&sender->lock);
}

/* --- the thread --- */

/* Longer where the receiver asked for it. */
static void pause_before_retry(struct sn_sender *sender)
{
    uint64_t pause_ns = sn_backoff_next(&sender->backoff);
    if (pause_ns < sender->post.retry_after_ns)
        pause_ns = sender->post.retry_after_ns;
    (void)sn_waiter_wait(&sender->waiter, -1, 0, sn_clock_deadline(pause_ns));
}

static int send_on_wire(struct sn_sender *sender, const struct sn_message *message,
                        struct sonde_error *err)
{
    if (is_http(&sender->url))
        return sn_post_send(&sender->post, &sender->wire, message->bytes, message->size, err);
    int rc = sn_wire_send(&sender->wire, message->bytes, message->size, err);
    if (rc != SONDE_OK)
        sn_wire_close(&sender->wire);
    return rc;
}

/* On the connection there is, if its peer has not closed it: the kernel would still take bytes for
 * one that is closed. Where it ends only now that says nothing of the receiver. */
static int attempt_on_old_wire(struct sn_sender *sender, const struct sn_message *message,
                               struct sonde_error *err)
{
    if (!sn_wire_is_open(&sender->wire) || !sn_wire_is_alive(&sender->wire))
        return SONDE_E_GONE;
    return send_on_wire(sender, message, err);
}

static int attempt(struct sn_sender *sender, const struct sn_message *message,
                   struct sonde_error *err)
{
    sender->post.retry_after_ns = 0;
    int rc = attempt_on_old_wire(sender, message, err);
    if (rc != SONDE_E_GONE)
        return rc;
    *err = (struct sonde_error){0};
    sn_wire_close(&sender->wire);
    rc = sn_wire_open(&sender->wire, &sender->url, err);
    return rc == SONDE_OK ? send_on_wire(sender, message, err) : rc;
}

static struct sn_message *take(struct sn_sender *sender)
{
    (void)pthread_mutex_lock(&sender->lock);
    struct sn_message *message = sn_outbox_take(&sender->outbox);
    sender->dropped_count = sender->outbox.dropped_count;
    (void)pthread_mutex_unlock(&sender->lock);
    return message;
}

/* True once others had to make room: this one is older than they. So no message that the receiver
 * cannot digest holds up the rest for ever. */
static bool drop_if_full(struct sn_sender *sender, struct sn_message *message)
{
    (void)pthread_mutex_lock(&sender->lock);
    bool is_full = sender->outbox.dropped_count != sender->dropped_count;
    if (is_full)
        drop(sender, message);
    (void)pthread_mutex_unlock(&sender->lock);
    return is_full;
}

static void give_up(struct sn_sender *sender, struct sn_message *message)
{
    (void)pthread_mutex_lock(&sender->lock);
    drop(sender, message);
    (void)pthread_mutex_unlock(&sender->lock);
}

static void deliver(struct sn_sender *sender, struct sn_message *message)
{
    while (!sn_waiter_is_over(&sender->waiter)) {
        struct sonde_error err = {0};
        int rc = attempt(sender, message, &err);
        if (rc == SONDE_OK) {
            note_success(sender, message);
            return;
        }
        if (rc == SONDE_E_REFUSED) {
            note_refused(sender, message, &err);
            return;
        }
        note_failure(sender, &err);
        pause_before_retry(sender);
        if (drop_if_full(sender, message))
            return;
    }
    give_up(sender, message);
}

/* Until there is something to send, or the end. Looks after the connection meanwhile. */
static void wait_for_messages(struct sn_sender *sender)
{
    bool listens = sn_wire_is_open(&sender->wire) && !sender->wire.is_datagram;
    eventfd_t ignored;
    struct pollfd polled[] = {
        {.fd = sender->filled_fd, .events = POLLIN},
        {.fd = sender->waiter.end_fd, .events = POLLIN},
        {.fd = listens ? sender->wire.fd : -1, .events = POLLIN},
    };
    (void)poll(polled, 3, -1);
    (void)eventfd_read(sender->filled_fd, &ignored);
    if (polled[2].revents && !sn_wire_is_alive(&sender->wire))
        sn_wire_close(&sender->wire);
}

static void send_until_the_end(struct sn_sender *sender)
{
    while (!sn_waiter_is_over(&sender->waiter)) {
        struct sn_message *message = take(sender);
        if (message)
            deliver(sender, message);
        else if (sn_waiter_is_ending(&sender->waiter))
            return;
        else
            wait_for_messages(sender);
    }
}

static void *run(void *user)
{
    struct sn_sender *sender = user;
    send_until_the_end(sender);
    sn_wire_close(&sender->wire);
    (void)pthread_mutex_lock(&sender->lock);
    bool is_orphan = sender->is_orphan;
    sender->has_ended = true;
    (void)pthread_cond_signal(&sender->ended);
    (void)pthread_mutex_unlock(&sender->lock);
    if (is_orphan)
        destroy(sender);
    return NULL;
}

/* --- outside --- */

/* Signals are the program's, not this thread's. */
static int start_thread(struct sn_sender *sender, struct sonde_error *err)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&sender->thread, NULL, run, sender);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errno ? sn_fail_errno(err, "cannot start a thread") : SONDE_OK;
}

static void init_locks(struct sn_sender *sender)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sender->ended, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&sender->lock, NULL);
}

static int init_http(struct sn_sender *sender, const struct sn_sender_options *options,
                     struct sonde_error *err)
{
    int rc = sn_post_init(&sender->post, &sender->url, options, err);
    if (rc == SONDE_OK && sender->url.scheme == SN_URL_HTTPS)
        rc = sn_tls_trust_new(options->ca_file, sender->url.host, &sender->trust, err);
    sender->wire.trust = sender->trust;
    return rc;
}

static int init_events(struct sn_sender *sender, struct sonde_error *err)
{
    sender->filled_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = sn_waiter_init(&sender->waiter, err);
    if (rc == SONDE_OK && sender->filled_fd < 0)
        rc = sn_fail_errno(err, "cannot create an event descriptor");
    return rc;
}

static int init(struct sn_sender *sender, const struct sn_sender_options *options,
                struct sonde_error *err)
{
    init_locks(sender);
    sn_backoff_reset(&sender->backoff);
    sn_outbox_init(&sender->outbox,
                   options->limit_bytes ? options->limit_bytes : DEFAULT_LIMIT_BYTES);
    sn_wire_init(&sender->wire, &sender->waiter,
                 options->timeout_ns ? options->timeout_ns : DEFAULT_TIMEOUT_NS);
    int rc = init_events(sender, err);
    if (rc == SONDE_OK && is_http(&sender->url))
        rc = init_http(sender, options, err);
    return rc == SONDE_OK ? start_thread(sender, err) : rc;
}

int sn_sender_new(const struct sn_sender_options *options, struct sn_sender **ret_sender,
                  struct sonde_error *err)
{
    struct sn_url url;
    int rc = sn_url_parse(options->url, &url, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_sender *sender = calloc(1, sizeof(*sender));
    if (!sender)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a sender");
    sender->url = url;
    rc = init(sender, options, err);
    if (rc != SONDE_OK) {
        destroy(sender);
        return rc;
    }
    *ret_sender = sender;
    return SONDE_OK;
}

/* False: the thread did not end by then, and frees the sender when it does. */
static bool wait_for_end(struct sn_sender *sender, uint64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / SN_NS_PER_SECOND),
                             .tv_nsec = (long)(deadline_ns % SN_NS_PER_SECOND)};
    int rc = 0;
    (void)pthread_mutex_lock(&sender->lock);
    while (!sender->has_ended && rc == 0)
        rc = pthread_cond_timedwait(&sender->ended, &sender->lock, &until);
    bool has_ended = sender->has_ended;
    sender->is_orphan = !has_ended;
    if (!has_ended)
        (void)pthread_detach(sender->thread);
    (void)pthread_mutex_unlock(&sender->lock);
    return has_ended;
}

void sn_sender_free(struct sn_sender *sender, uint64_t grace_ns)
{
    if (!sender)
        return;
    uint64_t end_ns = sn_clock_deadline(grace_ns < LONGEST_GRACE_NS ? grace_ns : LONGEST_GRACE_NS);
    sn_waiter_end_at(&sender->waiter, end_ns);
    if (!wait_for_end(sender, end_ns + SETTLING_NS))
        return;
    (void)pthread_join(sender->thread, NULL);
    destroy(sender);
}

int sn_sender_put(struct sn_sender *sender, const void *bytes, size_t size, uint64_t items)
{
    struct sn_message *message = sn_message_new(bytes, size, items);
    int rc = SONDE_E_LIMIT;
    (void)pthread_mutex_lock(&sender->lock);
    if (message)
        rc = sn_outbox_put(&sender->outbox, message);
    else
        sn_outbox_count_dropped(&sender->outbox, items);
    (void)pthread_mutex_unlock(&sender->lock);
    if (rc == SONDE_OK)
        (void)eventfd_write(sender->filled_fd, 1);
    return rc;
}

void sn_sender_state(struct sn_sender *sender, struct sn_sender_state *ret_state)
{
    (void)pthread_mutex_lock(&sender->lock);
    *ret_state = sender->state;
    ret_state->dropped_count = sender->outbox.dropped_count;
    ret_state->dropped_items = sender->outbox.dropped_items;
    ret_state->queued_bytes = sender->outbox.held_bytes;
    (void)pthread_mutex_unlock(&sender->lock);
}
