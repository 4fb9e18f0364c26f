/* The names under which the controller may be asked for. A web page can give its own name any
 * address, ours too (DNS rebinding), so what stands in Host and Origin must be a name of ours; an
 * address in numbers cannot be borrowed that way. */
#ifndef SN_OWN_HOSTS_H
#define SN_OWN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sonde/error.h"

#define SN_OWN_HOSTS_MAX 32u

struct sn_own_host {
    char name[256]; /* without brackets and port */
    bool is_public; /* given by its administrator: may stand in Origin behind a proxy */
};

struct sn_own_hosts {
    struct sn_own_host hosts[SN_OWN_HOSTS_MAX];
    size_t count;
    bool is_any_address; /* listens on all of them: every number is ours */
};

/* "name", "name:port", "[::1]:port"; ":port", "0.0.0.0" and "::" stand for every address of the
 * machine and for its name. */
int sn_own_hosts_add(struct sn_own_hosts *hosts, const char *text, bool is_public,
                     struct sonde_error *err);

/* Whether this Host is ours; loopback's names always are. Ports are not looked at: people forward
 * them. NULL is nobody's. */
bool sn_own_hosts_has(const struct sn_own_hosts *hosts, const char *host);

/* Whether a page of this origin ("http://host:port") is ours: that of the request's own Host, or a
 * public name. */
bool sn_own_hosts_has_origin(const struct sn_own_hosts *hosts, const char *origin,
                             const char *host);

/* "127.0.0.1", "::1", "localhost"; without brackets. */
bool sn_own_hosts_is_loopback(const char *name);
bool sn_own_hosts_is_number(const char *name); /* an address, not a name */

/* A URL as others can use it: "http://0.0.0.0:80" and "http://[::]:80" with this machine's name. */
#define SN_OWN_HOSTS_SHOWN 512
const char *sn_own_hosts_shown(const char *url, char to[SN_OWN_HOSTS_SHOWN]);

#endif
