/* Hands each event to those who asked for it: one bit a subscription in every schema's word. One
 * thread. */
#ifndef SN_DISPATCH_H
#define SN_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/request.h"

#define SN_SUBSCRIPTION_MAX 64u

struct sn_event;
struct sn_schema;
struct sn_sink;
struct sonde_error;

struct sn_subscription {
    struct sn_sink *sink; /* owns; NULL: the place is free */
    struct sn_request request;
    bool needs_order; /* wants its events merged by time */
    bool is_leaving;  /* said SONDE_END or failed: gets no more, and waits to be unsubscribed */
    int status;       /* why it left */
    uint64_t delivered_count;
    uint64_t declined_count;
};

struct sn_dispatcher {
    struct sn_subscription subscriptions[SN_SUBSCRIPTION_MAX];
    uint64_t active;  /* bits in use */
    uint64_t ordered; /* of those, the ones behind the ordering window */
    uint64_t leaving;
};

/* A free place for `sink`, which it takes (also on failure). A 65th is refused: SONDE_E_LIMIT. */
int sn_dispatch_add(struct sn_dispatcher *dispatcher, const struct sn_request *request,
                    struct sn_sink *sink, bool needs_order, struct sonde_error *err);

/* The word of a schema: a bit for everyone who wants it. */
uint64_t sn_dispatch_wanted(const struct sn_dispatcher *dispatcher, const struct sn_schema *schema);

/* Calls the sinks whose bits are set. */
void sn_dispatch(struct sn_dispatcher *dispatcher, uint64_t wanted, const struct sn_event *event);

#endif
