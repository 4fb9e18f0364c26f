#include "flow/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "model/event.h"

#define CHUNK_SIZE 65536u

/* A stretch of copied payloads, stacks and ids; freed when the last event in it has left. */
struct chunk {
    size_t live;
    size_t used;
    size_t capacity;
    uint8_t bytes[];
};

struct held {
    struct sn_event event;
    uint64_t arrival; /* ties in time keep the order in which they came */
    struct chunk *chunk;
    size_t cost;
};

struct sn_order {
    sn_order_fn *release;
    void *user;
    struct held *held;
    size_t held_count;
    size_t held_capacity;
    size_t sorted_count; /* this many at the front are in order already */
    size_t bytes;
    size_t limit_bytes;
    struct chunk *open; /* the chunk that takes the next event; counts one live for itself */
    uint64_t arrivals;
    uint64_t released_until_ns;
    uint64_t late_count;
};

int sn_order_new(size_t limit_bytes, sn_order_fn *release, void *user, struct sn_order **ret_order,
                 struct sonde_error *err)
{
    struct sn_order *order = calloc(1, sizeof(*order));
    if (!order)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the ordering window");
    order->limit_bytes = limit_bytes;
    order->release = release;
    order->user = user;
    *ret_order = order;
    return SONDE_OK;
}

static void drop_chunk(struct chunk *chunk)
{
    if (chunk && --chunk->live == 0)
        free(chunk);
}

void sn_order_free(struct sn_order *order)
{
    if (!order)
        return;
    for (size_t i = 0; i < order->held_count; i++)
        drop_chunk(order->held[i].chunk);
    drop_chunk(order->open);
    free(order->held);
    free(order);
}

static struct chunk *room_for(struct sn_order *order, size_t size)
{
    if (order->open && size <= order->open->capacity - order->open->used)
        return order->open;
    size_t capacity = size > CHUNK_SIZE ? size : CHUNK_SIZE;
    struct chunk *chunk = malloc(sizeof(*chunk) + capacity);
    if (!chunk)
        return NULL;
    *chunk = (struct chunk){.live = 1, .capacity = capacity};
    drop_chunk(order->open);
    order->open = chunk;
    return chunk;
}

static const uint8_t *copy_into(struct chunk *chunk, const uint8_t *bytes, size_t size)
{
    if (!bytes)
        return NULL;
    uint8_t *to = chunk->bytes + chunk->used;
    memcpy(to, bytes, size);
    chunk->used += size;
    return to;
}

static int make_slot(struct sn_order *order)
{
    struct held *held =
        sn_array_room(order->held, order->held_count, &order->held_capacity, sizeof(*held));
    if (!held)
        return SONDE_E_NOMEM;
    order->held = held;
    return SONDE_OK;
}

static int keep(struct sn_order *order, const struct sn_event *event)
{
    size_t stack_size = (size_t)event->stack_depth * event->pointer_size;
    size_t size = event->payload_size + stack_size + 32;
    struct chunk *chunk = room_for(order, size);
    if (!chunk || make_slot(order) != SONDE_OK)
        return SONDE_E_NOMEM;
    struct held *held = &order->held[order->held_count++];
    *held = (struct held){.event = *event, .arrival = order->arrivals++, .chunk = chunk};
    held->cost = size + sizeof(*held);
    held->event.payload = copy_into(chunk, event->payload, event->payload_size);
    held->event.stack = copy_into(chunk, event->stack, stack_size);
    held->event.activity = copy_into(chunk, event->activity, 16);
    held->event.related = copy_into(chunk, event->related, 16);
    chunk->live++;
    order->bytes += held->cost;
    return SONDE_OK;
}

static int by_time(const void *left, const void *right)
{
    const struct held *a = left;
    const struct held *b = right;
    if (a->event.time_ns != b->event.time_ns)
        return a->event.time_ns < b->event.time_ns ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

static void sort_held(struct sn_order *order)
{
    if (order->sorted_count < order->held_count)
        qsort(order->held, order->held_count, sizeof(*order->held), by_time);
    order->sorted_count = order->held_count;
}

static void let_go(struct sn_order *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct held *held = &order->held[i];
        order->released_until_ns = held->event.time_ns;
        order->release(order->user, &held->event);
        order->bytes -= held->cost;
        drop_chunk(held->chunk);
    }
    order->held_count -= count;
    order->sorted_count = order->held_count;
    memmove(order->held, order->held + count, order->held_count * sizeof(*order->held));
}

int sn_order_hold(struct sn_order *order, const struct sn_event *event)
{
    if (event->time_ns < order->released_until_ns) {
        order->late_count++;
        order->release(order->user, event);
        return SONDE_OK;
    }
    int rc = keep(order, event);
    if (order->bytes > order->limit_bytes) {
        sort_held(order);
        let_go(order, (order->held_count + 1) / 2);
    }
    return rc;
}

void sn_order_release(struct sn_order *order, uint64_t until_ns)
{
    sort_held(order);
    size_t count = 0;
    while (count < order->held_count && order->held[count].event.time_ns <= until_ns)
        count++;
    if (count)
        let_go(order, count);
}

uint64_t sn_order_late_count(const struct sn_order *order)
{
    return order->late_count;
}
