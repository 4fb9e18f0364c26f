/* Addresses of a host by its name, from the system. Waits as long as that does. */
#ifndef SN_LOOKUP_H
#define SN_LOOKUP_H

#include <netdb.h>

#include "net/url.h"
#include "sonde/error.h"

/* `flags`: 0, or AI_PASSIVE to listen (no host: every address). To be freed by freeaddrinfo. */
int sn_lookup(const struct sn_url *url, int flags, struct addrinfo **ret_list,
              struct sonde_error *err);

#endif
