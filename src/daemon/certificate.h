/* Certificates for https: those of its administrator, or one of our own that the state folder
 * keeps. */
#ifndef SN_CERTIFICATE_H
#define SN_CERTIFICATE_H

#include "sonde/error.h"

struct sn_certificate {
    char *chain; /* owns; PEM */
    char *key;   /* owns; PEM */
};

void sn_certificate_done(struct sn_certificate *certificate); /* the key is wiped */

/* Reads and checks: they fit, are not over, and nobody else can read the key (root's, or a group's,
 * as volumes of clusters have it, is fine). */
int sn_certificate_load(const char *chain_file, const char *key_file,
                        struct sn_certificate *ret_certificate, struct sonde_error *err);

/* Our own: ECDSA P-256, a year, for localhost, this machine's name and loopback's addresses. Made
 * when there is none, it is over in a week, or the machine has another name now. */
int sn_certificate_own(const char *folder, struct sn_certificate *ret_certificate,
                       struct sonde_error *err);

/* Authorities of client certificates, whole; the caller frees. */
int sn_certificate_authorities(const char *file, char **ret_text, struct sonde_error *err);

/* SHA-256 of the first certificate as 64 small hexadecimal digits: what a client pins. */
int sn_certificate_fingerprint(const struct sn_certificate *certificate, char to[65],
                               struct sonde_error *err);

#endif
