/* Messages that wait to be sent, no more than fit below a ceiling. When a new one does not fit the
 * oldest go: of what is watched, the latest matters most. Its owner locks. */
#ifndef SN_OUTBOX_H
#define SN_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

/* What a message costs besides its bytes: so that many small ones are bounded as well. */
#define SN_MESSAGE_COST 64u

struct sn_message {
    struct sn_message *next;
    size_t size;
    uint64_t items;
    uint8_t bytes[];
};

struct sn_outbox {
    struct sn_message *first;
    struct sn_message **last; /* where the next one is hooked in */
    size_t limit_bytes;
    size_t held_bytes; /* of all there are, the one taken included, with their cost */
    uint64_t dropped_count;
    uint64_t dropped_items;
};

void sn_outbox_init(struct sn_outbox *outbox, size_t limit_bytes);
void sn_outbox_done(struct sn_outbox *outbox);

/* A copy to put in; NULL without memory. Needs no lock. */
struct sn_message *sn_message_new(const void *bytes, size_t size, uint64_t items);

/* Takes the message: queued, or where it cannot fit dropped and counted (SONDE_E_LIMIT). */
int sn_outbox_put(struct sn_outbox *outbox, struct sn_message *message);

/* The oldest, which goes on counting until it is released; NULL: there is none. */
struct sn_message *sn_outbox_take(struct sn_outbox *outbox);
void sn_outbox_release(struct sn_outbox *outbox, struct sn_message *message);

/* Counts what was never put or was refused for good. */
void sn_outbox_count_dropped(struct sn_outbox *outbox, uint64_t items);

#endif
