/* Recordings of people: operations that are kept, under /api/v1/recordings. */
#ifndef SN_RECORDINGS_H
#define SN_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

struct sn_daemon;
struct sn_operation;
struct sn_operations;
struct sn_rest_call;

/* Before the roads thread runs: their topic. */
void sn_recordings_open(struct sn_daemon *daemon, struct sn_operations *operations);

/* In the roads thread, from the table of operations: one has changed its state, or goes. */
void sn_recordings_changed(struct sn_operation *operation);
/* Once more, what the store could not be told. */
void sn_recordings_keep(struct sn_operation *operation);
void sn_recordings_gone(struct sn_operation *operation);

/* In the roads seat. Asked before anything is changed: whoever is let in here is not refused later.
 * False: the call has its problem. */
bool sn_recordings_let_in(struct sn_rest_call *call);
/* The answer of who has made one: 201, when it is kept. */
void sn_recordings_created(struct sn_rest_call *call, struct sn_operation *operation);

/* From its rider: time to tell those who watch how recordings fare. Returns when next, by
 * CLOCK_MONOTONIC. */
uint64_t sn_recordings_tell(struct sn_daemon *daemon);

#endif
