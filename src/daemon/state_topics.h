/* The topics `processes` and `health`: looked at every second while somebody reads them, told when
 * they have changed. */
#ifndef SN_STATE_TOPICS_H
#define SN_STATE_TOPICS_H

#include "sonde/error.h"

struct sn_daemon;
struct sn_state_topics;

int sn_state_topics_new(struct sn_daemon *daemon, struct sn_state_topics **ret_topics,
                        struct sonde_error *err);
void sn_state_topics_free(struct sn_state_topics *topics); /* after the threads; NULL is fine */

/* In the HTTP thread: how long until the next look; looks. */
int sn_state_topics_wait_ms(const struct sn_state_topics *topics);
void sn_state_topics_turn(struct sn_state_topics *topics);

#endif
