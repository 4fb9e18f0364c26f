#include "net/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "sonde/error.h"

void sn_outbox_init(struct sn_outbox *outbox, size_t limit_bytes)
{
    *outbox = (struct sn_outbox){.limit_bytes = limit_bytes};
    outbox->last = &outbox->first;
}

void sn_outbox_done(struct sn_outbox *outbox)
{
    struct sn_message *message;
    while ((message = sn_outbox_take(outbox)))
        sn_outbox_release(outbox, message);
}

struct sn_message *sn_message_new(const void *bytes, size_t size, uint64_t items)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    struct sn_message *message = malloc(sizeof(*message) + size);
    if (!message)
        return NULL;
    *message = (struct sn_message){.size = size, .items = items};
    if (size)
        memcpy(message->bytes, bytes, size);
    return message;
}

static size_t cost(const struct sn_message *message)
{
    return message->size + SN_MESSAGE_COST;
}

void sn_outbox_count_dropped(struct sn_outbox *outbox, uint64_t items)
{
    outbox->dropped_count++;
    outbox->dropped_items += items;
}

static void drop(struct sn_outbox *outbox, struct sn_message *message)
{
    sn_outbox_count_dropped(outbox, message->items);
    sn_outbox_release(outbox, message);
}

int sn_outbox_put(struct sn_outbox *outbox, struct sn_message *message)
{
    struct sn_message *oldest;
    size_t size = cost(message);
    /* For one that can never fit, none that waits is given up. */
    while (size <= outbox->limit_bytes && outbox->held_bytes > outbox->limit_bytes - size &&
           (oldest = sn_outbox_take(outbox)))
        drop(outbox, oldest);
    outbox->held_bytes += size;
    if (outbox->held_bytes > outbox->limit_bytes) {
        drop(outbox, message);
        return SONDE_E_LIMIT;
    }
    *outbox->last = message;
    outbox->last = &message->next;
    return SONDE_OK;
}

struct sn_message *sn_outbox_take(struct sn_outbox *outbox)
{
    struct sn_message *message = outbox->first;
    if (!message)
        return NULL;
    outbox->first = message->next;
    if (!outbox->first)
        outbox->last = &outbox->first;
    message->next = NULL;
    return message;
}

void sn_outbox_release(struct sn_outbox *outbox, struct sn_message *message)
{
    outbox->held_bytes -= cost(message);
    free(message);
}
