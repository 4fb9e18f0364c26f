/* What the controller itself costs, looked at every few seconds by the roads thread and kept for
 * five minutes, for people who want to know before they leave it running. */
#ifndef SN_OWN_COST_H
#define SN_OWN_COST_H

#include "sonde/error.h"

struct sn_daemon;
struct sn_json;
struct sn_own_cost;

/* Once the roads turn. */
int sn_own_cost_start(struct sn_daemon *daemon, struct sonde_error *err);
/* Once they have ended; NULL is fine. */
void sn_own_cost_free(struct sn_own_cost *cost);

/* From the HTTP thread: the members of an object that is open, and its `history`. */
void sn_own_cost_write(struct sn_daemon *daemon, struct sn_json *json);

#endif
