/* TLS over a connected socket, as a client: the certificate is verified, always: it and the name in
 * it by authorities, or it alone by its fingerprint. Nothing here waits but the handshake. One
 * thread. */
#ifndef SN_TLS_H
#define SN_TLS_H

#include <stddef.h>
#include <stdint.h>

#include "net/waiter.h"
#include "sonde/error.h"

struct sn_tls_trust; /* whom we believe, and to be whom */
struct sn_tls;       /* one connection */

/* Sets the library up, as every user of TLS must before anything else; often is fine. */
int sn_tls_start(struct sonde_error *err);

/* The authorities in `ca_file` (PEM), or NULL: the system's; for a `host` by name or number. */
int sn_tls_trust_new(const char *ca_file, const char *host, struct sn_tls_trust **ret_trust,
                     struct sonde_error *err);

/* Only the certificate with this SHA-256 of its bytes, as 64 hex digits with or without colons,
 * whoever signed it and whatever it says. SONDE_E_ARGUMENT: it is none. */
int sn_tls_trust_pinned(const char *pin, const char *host, struct sn_tls_trust **ret_trust,
                        struct sonde_error *err);
void sn_tls_trust_free(struct sn_tls_trust *trust);

/* Shakes hands on `fd`, which stays the caller's. Borrows `trust`. */
int sn_tls_open(const struct sn_tls_trust *trust, int fd, struct sn_waiter *waiter,
                uint64_t deadline_ns, struct sn_tls **ret_tls, struct sonde_error *err);

/* Says good-bye if that can be done at once. NULL is fine. */
void sn_tls_close(struct sn_tls *tls);

/* As many bytes as go at once; SONDE_AGAIN: none, wait for sn_tls_awaits and then repeat with the
 * same bytes. */
int sn_tls_send(struct sn_tls *tls, const void *bytes, size_t size, size_t *ret_size,
                struct sonde_error *err);

/* The same; *ret_size 0: the peer has closed. */
int sn_tls_receive(struct sn_tls *tls, void *to, size_t size, size_t *ret_size,
                   struct sonde_error *err);

/* POLLIN or POLLOUT. */
short sn_tls_awaits(const struct sn_tls *tls);

#endif
