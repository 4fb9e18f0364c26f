#include "flow/order.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "model/event.h"

#define CHUNK_SIZE  65536u
#define STACK_LIMIT 65536u /* more are held, but not found again */

/* A stretch of copied events; freed when the last in it has left. */
struct chunk {
    size_t live;
    size_t used;
    size_t capacity;
    _Alignas(max_align_t) uint8_t bytes[];
};

/* A stack that one event or many have. */
struct stack {
    uint64_t hash; /* its key in the table, if `is_shared` */
    size_t users;
    size_t size;
    bool is_shared;
    uint8_t bytes[];
};

/* An event in a chunk, with its payload and ids behind it. */
struct held {
    struct sn_event event;
    struct chunk *chunk;
    struct stack *stack; /* one of its users; NULL: none */
    uint64_t word;       /* the caller's */
    size_t cost;         /* without the stack */
};

/* What is sorted: small, for it moves often. */
struct place {
    uint64_t time_ns;
    uint64_t arrival; /* ties in time keep the order in which they came */
    struct held *held;
};

struct sn_order {
    sn_order_fn *release;
    void *user;
    struct place *places;
    size_t held_count;
    size_t held_capacity;
    size_t sorted_count; /* this many at the front are in order already */
    size_t bytes;
    size_t limit_bytes;
    struct chunk *open;     /* the chunk that takes the next event; counts one live for itself */
    struct sn_table stacks; /* hash -> stack */
    uint64_t arrivals;
    uint64_t released_until_ns;
    uint64_t late_count;
    bool is_handing_out; /* `release` runs: whatever it did here would be undone or done twice */
};

int sn_order_new(size_t limit_bytes, sn_order_fn *release, void *user, struct sn_order **ret_order,
                 struct sonde_error *err)
{
    struct sn_order *order = calloc(1, sizeof(*order));
    if (!order)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the ordering window");
    order->limit_bytes = limit_bytes;
    order->stacks = sn_table_with_limit(STACK_LIMIT);
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

/* --- stacks --- */

static struct stack *new_stack(struct sn_order *order, const uint8_t *bytes, size_t size)
{
    struct stack *stack = malloc(sizeof(*stack) + size);
    if (!stack)
        return NULL;
    *stack = (struct stack){.size = size};
    memcpy(stack->bytes, bytes, size);
    order->bytes += sizeof(*stack) + size;
    return stack;
}

/* The stack with these bytes, with one more user; NULL without memory. Another one of the same hash
 * is not looked beyond. */
static struct stack *take_stack(struct sn_order *order, const uint8_t *bytes, size_t size)
{
    uint64_t hash = sn_table_key(bytes, size);
    uint64_t *place = sn_table_put(&order->stacks, hash);
    struct stack *stack = place ? (struct stack *)(uintptr_t)*place : NULL;
    if (!stack || stack->size != size || memcmp(stack->bytes, bytes, size) != 0) {
        bool is_free = place && !stack;
        stack = new_stack(order, bytes, size);
        if (stack && is_free) {
            stack->hash = hash;
            stack->is_shared = true;
        }
        if (is_free)
            *place = (uint64_t)(uintptr_t)stack;
    }
    if (stack)
        stack->users++;
    return stack;
}

static void drop_stack(struct sn_order *order, struct stack *stack)
{
    if (!stack || --stack->users)
        return;
    if (stack->is_shared)
        sn_table_remove(&order->stacks, stack->hash);
    order->bytes -= sizeof(*stack) + stack->size;
    free(stack);
}

/* --- holding --- */

static void drop_held(struct sn_order *order, struct held *held)
{
    order->bytes -= held->cost;
    drop_stack(order, held->stack);
    drop_chunk(held->chunk);
}

void sn_order_free(struct sn_order *order)
{
    if (!order)
        return;
    for (size_t i = 0; i < order->held_count; i++)
        drop_held(order, order->places[i].held);
    drop_chunk(order->open);
    sn_table_done(&order->stacks);
    free(order->places);
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
    struct place *places =
        sn_array_room(order->places, order->held_count, &order->held_capacity, sizeof(*places));
    if (!places)
        return SONDE_E_NOMEM;
    order->places = places;
    return SONDE_OK;
}

static size_t aligned(size_t size)
{
    return (size + _Alignof(struct held) - 1) & ~(_Alignof(struct held) - 1);
}

static int keep(struct sn_order *order, const struct sn_event *event, uint64_t word)
{
    size_t stack_size = (size_t)event->stack_depth * event->pointer_size;
    size_t ids_size = (event->activity ? 16u : 0u) + (event->related ? 16u : 0u);
    size_t size = aligned(sizeof(struct held) + event->payload_size + ids_size);
    struct chunk *chunk = room_for(order, size);
    if (!chunk || make_slot(order) != SONDE_OK)
        return SONDE_E_NOMEM;
    struct stack *stack = stack_size ? take_stack(order, event->stack, stack_size) : NULL;
    if (stack_size && !stack)
        return SONDE_E_NOMEM;
    struct held *held = (struct held *)(chunk->bytes + chunk->used);
    size_t end = chunk->used + size;
    *held = (struct held){.event = *event,
                          .chunk = chunk,
                          .stack = stack,
                          .word = word,
                          .cost = size + sizeof(struct place)};
    chunk->used += sizeof(*held);
    held->event.payload = copy_into(chunk, event->payload, event->payload_size);
    held->event.stack = stack ? stack->bytes : NULL;
    held->event.activity = copy_into(chunk, event->activity, 16);
    held->event.related = copy_into(chunk, event->related, 16);
    chunk->used = end;
    chunk->live++;
    order->places[order->held_count++] =
        (struct place){.time_ns = event->time_ns, .arrival = order->arrivals++, .held = held};
    order->bytes += held->cost;
    return SONDE_OK;
}

static int by_time(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

/* Without memory for the shorter part a slow sort does the same. */
static void merge(struct sn_order *order, size_t old_count, size_t new_count)
{
    struct place *places = order->places;
    struct place *added = malloc(new_count * sizeof(*added));
    if (!added) {
        qsort(places, order->held_count, sizeof(*places), by_time);
        return;
    }
    memcpy(added, places + old_count, new_count * sizeof(*added));
    size_t to = order->held_count;
    while (new_count) {
        bool is_old = old_count && by_time(&places[old_count - 1], &added[new_count - 1]) > 0;
        places[--to] = is_old ? places[--old_count] : added[--new_count];
    }
    free(added);
}

/* Each source tells in order, so what came last is short and nearly sorted: it alone is sorted,
 * then moved in from the back. */
static void sort_held(struct sn_order *order)
{
    size_t old_count = order->sorted_count;
    size_t new_count = order->held_count - old_count;
    if (!new_count)
        return;
    struct place *added = order->places + old_count;
    order->sorted_count = order->held_count;
    qsort(added, new_count, sizeof(*added), by_time);
    if (old_count && by_time(added - 1, added) > 0)
        merge(order, old_count, new_count);
}

static void hand_out(struct sn_order *order, const struct sn_event *event, uint64_t word)
{
    order->is_handing_out = true;
    order->release(order->user, event, word);
    order->is_handing_out = false;
}

static void let_go(struct sn_order *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct held *held = order->places[i].held;
        order->released_until_ns = held->event.time_ns;
        hand_out(order, &held->event, held->word);
        drop_held(order, held);
    }
    order->held_count -= count;
    order->sorted_count = order->held_count;
    memmove(order->places, order->places + count, order->held_count * sizeof(*order->places));
}

int sn_order_hold(struct sn_order *order, const struct sn_event *event, uint64_t word)
{
    assert(!order->is_handing_out);
    if (event->time_ns < order->released_until_ns) {
        order->late_count++;
        hand_out(order, event, word);
        return SONDE_OK;
    }
    int rc = keep(order, event, word);
    if (order->bytes > order->limit_bytes) {
        sort_held(order);
        let_go(order, (order->held_count + 1) / 2);
    }
    return rc;
}

void sn_order_pass(struct sn_order *order, const struct sn_event *event, uint64_t word)
{
    assert(!order->is_handing_out);
    struct sn_event passed = *event;
    sort_held(order);
    if (order->released_until_ns)
        passed.time_ns = order->released_until_ns;
    else if (order->held_count && order->places[0].time_ns < passed.time_ns)
        passed.time_ns = order->places[0].time_ns;
    hand_out(order, &passed, word);
}

void sn_order_release(struct sn_order *order, uint64_t until_ns)
{
    assert(!order->is_handing_out);
    sort_held(order);
    size_t count = 0;
    while (count < order->held_count && order->places[count].time_ns <= until_ns)
        count++;
    if (count)
        let_go(order, count);
}

void sn_order_clear_bits(struct sn_order *order, uint64_t bits)
{
    for (size_t i = 0; i < order->held_count; i++)
        order->places[i].held->word &= ~bits;
}

uint64_t sn_order_late_count(const struct sn_order *order)
{
    return order->late_count;
}

size_t sn_order_size(const struct sn_order *order)
{
    return order->bytes;
}
