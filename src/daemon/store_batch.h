/* Points on their way to the store, one behind the other in a buffer: each with its own texts, and
 * its process before the first of them. No state but the buffer's; one thread at a time. */
#ifndef SN_STORE_BATCH_H
#define SN_STORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/counters.h"
#include "sonde/process.h"

struct sn_store_batch {
    struct sn_buf bytes;
    size_t count;   /* points */
    uint32_t pid;   /* whose point came last */
    uint64_t ticks; /* likewise */
};

/* False: there is no room for it; nothing was taken. */
bool sn_store_batch_add(struct sn_store_batch *batch, const struct sonde_process *process,
                        const struct sonde_point *point);
void sn_store_batch_clear(struct sn_store_batch *batch);

struct sn_store_batch_user {
    void (*process)(void *user, const struct sonde_process *process); /* of the points to come */
    void (*point)(void *user, const struct sonde_point *point);
    void *user;
};
/* Texts are borrowed from the batch. */
void sn_store_batch_read(const struct sn_store_batch *batch, const struct sn_store_batch_user *to);

#endif
