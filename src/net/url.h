/* The address of a receiver, read strictly: what is not understood is refused, never guessed. */
#ifndef SN_URL_H
#define SN_URL_H

#include <stdint.h>

#include "sonde/error.h"

enum sn_url_scheme {
    SN_URL_TCP,
    SN_URL_UDP,
    SN_URL_UNIX,
    SN_URL_HTTP,
    SN_URL_HTTPS,
};

struct sn_url {
    enum sn_url_scheme scheme;
    char host[256];  /* a name or a number, IPv6 without its brackets; "" for unix */
    uint16_t port;   /* 80 and 443 unless told for http(s); 0 for unix */
    char path[1024]; /* http(s): with the query, at least "/"; unix: of the socket; else "" */
};

/* SONDE_E_ARGUMENT with what is wrong and what it should look like. */
int sn_url_parse(const char *text, struct sn_url *ret_url, struct sonde_error *err);

/* As people may see it: keys and passwords stand in queries, so "?..." stands for one. */
const char *sn_url_shown(const char *text, char to[160]);

/* "host:port" or "[address]:port"; with no port where the scheme says it. `to` needs 272 bytes. */
const char *sn_url_authority(const struct sn_url *url, char to[272]);

/* The host and port of "host:port", "[::1]:port" or ":port" (host ""), as a listener has them. */
int sn_url_parse_listen(const char *text, struct sn_url *ret_url, struct sonde_error *err);

#endif
