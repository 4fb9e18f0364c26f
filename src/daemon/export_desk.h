/* What the controller sends on by itself (`sonde serve --export`): exporters that share the hub of
 * the roads thread, and how each of them fares, for whoever asks. */
#ifndef SN_EXPORT_DESK_H
#define SN_EXPORT_DESK_H

#include <stdbool.h>
#include <stddef.h>

#include "sonde/error.h"

struct sn_daemon;
struct sn_export_desk;
struct sn_json;
struct sn_roads;
struct sonde_hub;

/* Opens all of them, before the roads thread starts; *ret_desk is NULL when there are none. */
int sn_export_desk_new(struct sn_daemon *daemon, struct sn_roads *roads, struct sonde_hub *hub,
                       struct sn_export_desk **ret_desk, struct sonde_error *err);

/* Once the roads thread has ended, before its hub; what waits goes out within two seconds, or is
 * lost. NULL is fine. */
void sn_export_desk_free(struct sn_export_desk *desk);

/* From any thread: an object for each, as of a second ago at most. NULL is fine. */
void sn_export_desk_write(struct sn_export_desk *desk, struct sn_json *json);

/* From any thread: where the one at `index` listens, "http://0.0.0.0:9464/metrics"; "" when it
 * sends. False: there are no more. NULL is fine. */
#define SN_EXPORT_PLACE_SIZE 160u
bool sn_export_desk_place(struct sn_export_desk *desk, size_t index, char to[SN_EXPORT_PLACE_SIZE]);

#endif
