/* A connection to a receiver. Nothing waits longer than the timeout or than its owner wants;
 * after a failure the wire is of no more use and is closed. One thread. */
#ifndef SN_WIRE_H
#define SN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/url.h"
#include "net/waiter.h"
#include "sonde/error.h"

struct sn_tls;
struct sn_tls_trust;

struct sn_wire {
    struct sn_waiter *waiter;         /* borrows */
    const struct sn_tls_trust *trust; /* borrows; for https */
    uint64_t timeout_ns;
    int fd; /* -1: closed */
    bool is_datagram;
    bool is_http;       /* the peer speaks only when asked */
    struct sn_tls *tls; /* owns; NULL: plain */
};

/* Closed at first. */
void sn_wire_init(struct sn_wire *wire, struct sn_waiter *waiter, uint64_t timeout_ns);

/* Tries every address of the name, each for the timeout. Only the look-up of the name, which is
 * the system's, can take longer. */
int sn_wire_open(struct sn_wire *wire, const struct sn_url *url, struct sonde_error *err);
void sn_wire_close(struct sn_wire *wire);

static inline bool sn_wire_is_open(const struct sn_wire *wire)
{
    return wire->fd >= 0;
}

/* All of it, as long as the receiver goes on taking some within the timeout; or one datagram.
 * SONDE_E_REFUSED: too large for a datagram. */
int sn_wire_send(struct sn_wire *wire, const void *bytes, size_t size, struct sonde_error *err);

/* Some bytes, by the deadline; *ret_size 0: the peer has closed. */
int sn_wire_receive(struct sn_wire *wire, void *to, size_t size, uint64_t deadline_ns,
                    size_t *ret_size, struct sonde_error *err);

/* What the peer says unasked is thrown away. False: it has closed, or speaks HTTP and said
 * something. Does not wait. */
bool sn_wire_is_alive(struct sn_wire *wire);

#endif
