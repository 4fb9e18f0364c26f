/* The counters of every process in sight, within the roads thread: their latest values as an
 * immutable shot for whoever asks, the topics that tell them, and on to the store. */
#ifndef SN_COUNTERS_DESK_H
#define SN_COUNTERS_DESK_H

#include "sonde/error.h"

struct sn_counters_desk;
struct sn_daemon;
struct sn_point_shot;
struct sn_topic;
struct sonde_counters;
struct sonde_hub;

int sn_counters_desk_new(struct sn_daemon *daemon, struct sonde_hub *hub,
                         struct sn_counters_desk **ret_desk, struct sonde_error *err);
void sn_counters_desk_free(struct sn_counters_desk *desk); /* before its hub; NULL is fine */

/* From any thread: the latest shot if nothing has changed since, or it is hardly old; the caller
 * lets go of it. NULL: ask the roads thread for a new one. */
struct sn_point_shot *sn_counters_desk_fresh(struct sn_counters_desk *desk);
/* Likewise the last that was made, however old; NULL before the first. */
struct sn_point_shot *sn_counters_desk_last(struct sn_counters_desk *desk);

/* From any thread: how many counters the last message about all processes had no room for. */
uint64_t sn_counters_desk_left_out(const struct sn_counters_desk *desk);

/* In the roads thread only, below. */
struct sonde_counters *sn_counters_desk_counters(struct sn_counters_desk *desk);

/* A shot of now, or hardly before; the caller lets go of it. NULL: see `err`. */
struct sn_point_shot *sn_counters_desk_shoot(struct sn_counters_desk *desk,
                                             struct sonde_error *err);

/* How long until it has something to tell; tells it. */
int sn_counters_desk_wait_ms(const struct sn_counters_desk *desk);
void sn_counters_desk_turn(struct sn_counters_desk *desk);

/* Of the family "counters/": see topic.h. */
struct sn_topic *sn_counters_desk_open_topic(struct sn_daemon *daemon, const char *name,
                                             struct sonde_error *err);

#endif
