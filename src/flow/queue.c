#include "flow/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "model/event.h"

/* One queued event; payload, stack and ids follow it in that order. */
struct entry {
    struct entry *next;
    size_t size;
    struct sn_event event;
    uint64_t dropped_before; /* events that did not fit just before this one */
    uint8_t bytes[];
};

struct queue {
    struct sn_sink sink;
    struct sn_sink *inner; /* owns; used by the worker thread alone until it has ended */
    pthread_t worker;
    bool has_worker;

    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    struct entry *first;
    struct entry **last;
    size_t bytes;
    size_t limit_bytes;
    uint64_t dropped_count;
    uint64_t untold_count; /* dropped, and the inner sink does not know yet */
    bool is_closed;        /* no more will be put in */
    bool is_abandoned;     /* what is in is not wanted any more */
    int inner_status;      /* not SONDE_OK: the inner sink left */
};

static struct entry *copy_event(const struct sn_event *event)
{
    size_t stack_size = (size_t)event->stack_depth * event->pointer_size;
    size_t size = sizeof(struct entry) + event->payload_size + stack_size + 32;
    struct entry *entry = malloc(size);
    if (!entry)
        return NULL;
    *entry = (struct entry){.size = size, .event = *event};
    const uint8_t **parts[] = {&entry->event.payload, &entry->event.stack, &entry->event.activity,
                               &entry->event.related};
    const size_t sizes[] = {event->payload_size, stack_size, 16, 16};
    uint8_t *to = entry->bytes;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        if (!*parts[i])
            continue;
        memcpy(to, *parts[i], sizes[i]);
        *parts[i] = to;
        to += sizes[i];
    }
    return entry;
}

/* A lost event stands for as many as it tells of. */
static uint64_t events_in(const struct sn_event *event)
{
    uint64_t count = 1;
    if (event->schema == &sn_lost_schema && event->payload_size == sizeof(count))
        memcpy(&count, event->payload, sizeof(count));
    return count;
}

static int put(struct sn_sink *sink, const struct sn_event *event)
{
    struct queue *queue = (struct queue *)sink;
    struct entry *entry = copy_event(event);
    (void)pthread_mutex_lock(&queue->lock);
    int rc = queue->inner_status;
    bool fits = entry && rc == SONDE_OK && entry->size <= queue->limit_bytes - queue->bytes;
    if (fits) {
        entry->dropped_before = queue->untold_count;
        queue->untold_count = 0;
        queue->bytes += entry->size;
        *queue->last = entry;
        queue->last = &entry->next;
        (void)pthread_cond_signal(&queue->changed);
    } else if (rc == SONDE_OK) {
        uint64_t count = events_in(event);
        queue->dropped_count += count;
        queue->untold_count += count;
        rc = SONDE_AGAIN;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    if (!fits)
        free(entry);
    return rc;
}

static int tell_dropped(struct sn_sink *inner, const struct sn_event *where, uint64_t count)
{
    struct sn_event lost = {.schema = &sn_lost_schema,
                            .time_ns = where->time_ns,
                            .pid = where->pid,
                            .cpu = UINT32_MAX,
                            .pointer_size = where->pointer_size,
                            .payload = (const uint8_t *)&count,
                            .payload_size = sizeof(count)};
    return inner->ops->event(inner, &lost);
}

static int pass_on(struct queue *queue, const struct entry *entry)
{
    int rc = SONDE_OK;
    if (entry->dropped_before)
        rc = tell_dropped(queue->inner, &entry->event, entry->dropped_before);
    if (rc == SONDE_OK || rc == SONDE_AGAIN)
        rc = queue->inner->ops->event(queue->inner, &entry->event);
    return rc == SONDE_AGAIN ? SONDE_OK : rc;
}

/* The next entry, or NULL when closed and empty, or abandoned. Called with the lock held. */
static struct entry *next_entry(struct queue *queue)
{
    while (!queue->first && !queue->is_closed)
        (void)pthread_cond_wait(&queue->changed, &queue->lock);
    struct entry *entry = queue->is_abandoned ? NULL : queue->first;
    if (!entry)
        return NULL;
    queue->first = entry->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->bytes -= entry->size;
    return entry;
}

static void *work(void *user)
{
    struct queue *queue = user;
    (void)pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct entry *entry = next_entry(queue);
        if (!entry || queue->inner_status != SONDE_OK) {
            free(entry);
            break;
        }
        (void)pthread_mutex_unlock(&queue->lock);
        int rc = pass_on(queue, entry);
        free(entry);
        (void)pthread_mutex_lock(&queue->lock);
        queue->inner_status = rc;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static void close_queue(struct queue *queue, bool abandon)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    queue->is_abandoned = queue->is_abandoned || abandon;
    (void)pthread_cond_signal(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    if (queue->has_worker)
        (void)pthread_join(queue->worker, NULL);
    queue->has_worker = false;
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    struct queue *queue = (struct queue *)sink;
    close_queue(queue, false);
    if (queue->untold_count && queue->inner_status == SONDE_OK) {
        const struct sn_event nowhere = {.pointer_size = 8};
        queue->inner_status = tell_dropped(queue->inner, &nowhere, queue->untold_count);
    }
    int rc = queue->inner_status < 0 ? queue->inner_status : SONDE_OK;
    if (queue->inner->ops->finish) {
        int finished = queue->inner->ops->finish(queue->inner, err);
        rc = rc == SONDE_OK ? finished : rc;
    }
    return rc;
}

static void free_queue(struct sn_sink *sink)
{
    struct queue *queue = (struct queue *)sink;
    close_queue(queue, true);
    while (queue->first) {
        struct entry *entry = queue->first;
        queue->first = entry->next;
        free(entry);
    }
    queue->inner->ops->free(queue->inner);
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static const struct sn_sink_ops queue_ops = {
    .name = "queue", .event = put, .finish = finish, .free = free_queue};

int sn_queue_new(struct sn_sink *inner, size_t limit_bytes, struct sn_sink **ret_sink,
                 struct sonde_error *err)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    if (!queue) {
        inner->ops->free(inner);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a queue");
    }
    queue->sink.ops = &queue_ops;
    queue->inner = inner;
    queue->last = &queue->first;
    queue->limit_bytes = limit_bytes;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->changed, NULL);
    int rc = pthread_create(&queue->worker, NULL, work, queue);
    queue->has_worker = rc == 0;
    if (rc != 0) {
        const char *name = inner->ops->name;
        free_queue(&queue->sink);
        errno = rc;
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot start a thread for '%s'", name);
    }
    *ret_sink = &queue->sink;
    return SONDE_OK;
}

uint64_t sn_queue_dropped_count(struct sn_sink *sink)
{
    struct queue *queue = (struct queue *)sink;
    (void)pthread_mutex_lock(&queue->lock);
    uint64_t count = queue->dropped_count;
    (void)pthread_mutex_unlock(&queue->lock);
    return count;
}
