/* How far the controller may be reached, decided before it listens: away from loopback only with
 * TLS and somebody to be, or by saying plainly that everybody may, or that keys may be read. Brings
 * the certificates along.
 */
#ifndef SN_EXPOSURE_H
#define SN_EXPOSURE_H

#include <stdbool.h>

#include "daemon/certificate.h"
#include "daemon/serve.h"
#include "sonde/error.h"

struct sn_buf;

struct sn_exposure {
    struct sn_certificate certificate;
    char *authorities;                /* owns; PEM */
    bool is_reachable[SN_PLACES_MAX]; /* from other machines, a place each */
    char *warnings; /* owns: what sn_exposure_describe said; NULL until it listens */
};

/* SONDE_E_ARGUMENT: one of the places would be too open; says what to add. */
int sn_exposure_check(const struct sn_serve_options *options, struct sonde_error *err);

/* Certificates for the places that want them; `options` points into `exposure` from then on. */
int sn_exposure_open(struct sn_serve_options *options, struct sn_exposure *exposure,
                     struct sonde_error *err);
void sn_exposure_done(struct sn_exposure *exposure);

/* What an administrator should know about: lines of text, none when it is as closed as it begins.
 * `urls` are where it listens, one a place. */
void sn_exposure_describe(const struct sn_serve_options *options, const char *const *urls,
                          struct sn_buf *to);

/* Keeps that for who asks later: names are looked up once, at the start. */
void sn_exposure_note(const struct sn_serve_options *options, const char *const *urls,
                      struct sn_exposure *exposure);

/* Whether an address that is listened on can be reached from other machines; names are not looked
 * up. */
bool sn_exposure_is_open(const char *url);

#endif
