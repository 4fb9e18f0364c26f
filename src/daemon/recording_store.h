/* Recordings in the store: put there when they begin and end, found again in the next life. */
#ifndef SN_RECORDING_STORE_H
#define SN_RECORDING_STORE_H

#include <stdbool.h>

struct sn_daemon;
struct sn_operation;

/* In the roads thread; do nothing where nothing is kept. False: there was no memory to tell the
 * store. */
bool sn_recording_store_put(struct sn_operation *operation);
void sn_recording_store_delete(const struct sn_operation *operation);

/* What it spent its time on, for looking up methods: read in a worker, when it has ended. */
void sn_recording_store_profile(const struct sn_operation *operation);

/* Once, from any thread, when every part of the controller is there. */
void sn_recording_store_load(struct sn_daemon *daemon);

#endif
