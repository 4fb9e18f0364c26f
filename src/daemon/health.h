/* How the controller fares: /health, /ready and /api/v1/info. HTTP thread. */
#ifndef SN_HEALTH_H
#define SN_HEALTH_H

#include <stdbool.h>

struct sn_buf;
struct sn_daemon;

/* Appends {"status": "ok" or "degraded", "reasons": [...]}; true: all is well. */
bool sn_health_write(struct sn_daemon *daemon, struct sn_buf *to);

#endif
