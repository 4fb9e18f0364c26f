/* The parts of the controller: made in their order, which is that of who needs whom, and ended in
 * the one in which nobody is asked who is gone. */
#ifndef SN_DAEMON_PARTS_H
#define SN_DAEMON_PARTS_H

#include "sonde/error.h"

struct sn_daemon;

/* What has no thread of its own. `options` of the daemon are filled in. Also after a failure, all
 * is freed with sn_daemon_parts_free. */
int sn_daemon_parts_new(struct sn_daemon *daemon, struct sonde_error *err);

/* What has threads of its own, once we have our places. */
int sn_daemon_parts_start(struct sn_daemon *daemon, struct sonde_error *err);

/* Nothing new comes in; threads end, those who are asked last; what they have still told each other
 * is taken; then nobody is there any more to be answered, and what is left of calls and topics
 * goes. Whatever there is of it: also when the start failed. */
void sn_daemon_parts_free(struct sn_daemon *daemon);

#endif
