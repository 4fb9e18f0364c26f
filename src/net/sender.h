/* Messages to a receiver that may be dead, slow or come and go: a bounded queue and a thread of its
 * own that connects, sends, and tries again with growing pauses. Whoever puts a message in never
 * waits. Any thread may put; one creates and frees.
 *
 * When the queue is full the oldest messages are dropped and counted: of what is watched, the
 * latest matters most. A message goes out at least once: whenever a connection ends in the middle
 * of it, it is sent again from its start on the next one. "Sent" means taken by the kernel, for
 * HTTP answered with 2xx; what a dying TCP peer had not read yet is lost and cannot be counted. */
#ifndef SN_SENDER_H
#define SN_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

struct sn_sender;

/* Everything is copied. */
struct sn_sender_options {
    /* tcp://host:port, udp://host:port, unix:///path (of either kind), http(s)://host[:port]/path
     */
    const char *url;
    size_t limit_bytes;  /* of what waits, 64 bytes added for each message; 0: 4 MiB */
    uint64_t timeout_ns; /* for connecting, for any progress in sending, for an answer; 0: 5 s */
    const char *content_type;   /* of an HTTP body */
    const char *const *headers; /* "Name: value", further ones of HTTP */
    size_t header_count;
    const char *ca_file; /* whom https trusts; NULL: the system's */
};

struct sn_sender_state {
    bool is_up;          /* the last attempt went well */
    bool has_refused;    /* it reached the receiver, which will not have the message: dropped */
    uint64_t sent_count; /* messages that went out, for HTTP: and were accepted */
    uint64_t sent_bytes;
    uint64_t sent_utc_ns;   /* when the last of them did; 0: none has */
    uint64_t dropped_count; /* messages that did not fit, were refused for good or given up */
    uint64_t dropped_items; /* what was in them, as `items` told */
    uint64_t retry_count;   /* attempts that failed */
    size_t queued_bytes;    /* as in limit_bytes, with the message under way */
    char reason[160];       /* of the last failure; "" when there was none since the last success */
};

/* Starts; does not wait for the receiver. A url that cannot be read: SONDE_E_ARGUMENT. */
int sn_sender_new(const struct sn_sender_options *options, struct sn_sender **ret_sender,
                  struct sonde_error *err);

/* Sends what waits for at most `grace_ns`, then ends. NULL is fine. Takes no longer even if the
 * thread hangs in the look-up of a name: it then ends by itself, later. */
void sn_sender_free(struct sn_sender *sender, uint64_t grace_ns);

/* Queues one message, whole or not at all; `items` is how many things are in it. One UDP message is
 * one datagram, one HTTP message one request. SONDE_E_LIMIT: it alone is over the limit; dropped,
 * and counted. */
int sn_sender_put(struct sn_sender *sender, const void *bytes, size_t size, uint64_t items);

void sn_sender_state(struct sn_sender *sender, struct sn_sender_state *ret_state);

#endif
