/* The topics logs/PID and events/PID?PROVIDER|PROVIDER: what a process says, asked for while
 * somebody reads it. Roads thread, but for opening. */
#ifndef SN_EVENT_TOPICS_H
#define SN_EVENT_TOPICS_H

#include "sonde/error.h"

struct sn_daemon;
struct sn_event_topics;
struct sn_topic;

/* Of the families "logs/" and "events/": see topic.h. */
struct sn_topic *sn_event_topics_open_logs(struct sn_daemon *daemon, const char *name,
                                           struct sonde_error *err);
struct sn_topic *sn_event_topics_open_events(struct sn_daemon *daemon, const char *name,
                                             struct sonde_error *err);

/* In the roads thread, or before it. */
int sn_event_topics_new(struct sn_event_topics **ret_topics, struct sonde_error *err);

/* All of them end. */
void sn_event_topics_free(struct sn_event_topics *topics); /* NULL is fine */

#endif
