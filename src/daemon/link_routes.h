/* One-time links for browsers: a code that is exchanged for a session. HTTP thread only. */
#ifndef SN_LINK_ROUTES_H
#define SN_LINK_ROUTES_H

#include "sonde/error.h"

struct sn_daemon;
struct sn_identity;

#define SN_LINK_SIZE 512u

/* "http://127.0.0.1:52380/#code=..."; "" when nobody listens on TCP. The code stands behind '#':
 * browsers send that to nobody. `maker` as of sn_access_new_code. */
int sn_link_new(struct sn_daemon *daemon, const struct sn_identity *maker, char to[SN_LINK_SIZE],
                struct sonde_error *err);

#endif
