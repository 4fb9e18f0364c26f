/* Any order of messages that are put in, taken and released: none beyond the ceiling is held, the
 * oldest comes first, and each is taken or counted as dropped. Two bytes a step. */
#include "net/outbox.h"

#include <stdlib.h>

#include "sonde/error.h"

#define LIMIT 1000u

struct sums {
    uint64_t put;
    uint64_t taken;
    uint64_t last; /* that was taken */
    struct sn_message *held;
};

static void release(struct sn_outbox *outbox, struct sums *sums)
{
    if (sums->held)
        sn_outbox_release(outbox, sums->held);
    sums->held = NULL;
}

static void take(struct sn_outbox *outbox, struct sums *sums)
{
    release(outbox, sums);
    sums->held = sn_outbox_take(outbox);
    if (!sums->held)
        return;
    if (sums->held->items <= sums->last) /* each has its number */
        abort();
    sums->last = sums->held->items;
    sums->taken++;
}

static void put(struct sn_outbox *outbox, struct sums *sums, size_t size)
{
    static const uint8_t bytes[4096];
    struct sn_message *message = sn_message_new(bytes, size, ++sums->put);
    if (!message)
        abort();
    int status = sn_outbox_put(outbox, message);
    if (status != SONDE_OK && (status != SONDE_E_LIMIT || (!sums->held && size <= LIMIT / 2)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_outbox outbox;
    struct sums sums = {0};
    sn_outbox_init(&outbox, LIMIT);
    for (size_t i = 0; i + 1 < size; i += 2) {
        switch (data[i] % 3u) {
        case 0: put(&outbox, &sums, 5 * (size_t)data[i + 1]); break;
        case 1: take(&outbox, &sums); break;
        default: release(&outbox, &sums);
        }
        if (outbox.held_bytes > LIMIT)
            abort();
    }
    do
        take(&outbox, &sums);
    while (sums.held);
    if (outbox.held_bytes || sums.taken + outbox.dropped_count != sums.put)
        abort();
    sn_outbox_done(&outbox);
    return 0;
}
