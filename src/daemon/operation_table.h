/* The table of operations, as those see it who keep it. Roads thread only. */
#ifndef SN_OPERATION_TABLE_H
#define SN_OPERATION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/operation.h"

struct sn_reading;
struct sn_topic;

struct sn_operations {
    struct sn_mailbox_task telling; /* to the roads: somebody watches recordings */
    struct sn_mailbox_task loading; /* to the store, at the start */
    struct sn_daemon *daemon;       /* borrows */
    struct sn_operation *first;     /* owns; oldest first */
    char *spool;                    /* owns */
    int idle_fd;                    /* owns: never readable; riders have one */
    bool is_riding;
    bool is_ending;
    uint64_t end_ns; /* we do not wait longer */
    uint64_t tell_ns;
    uint64_t keep_ns; /* when to tell the store again what there was no memory for */
    uint64_t look_ns; /* when to look again at how much there is on the disk */
    void (*ended)(void *user);
    void *user;
    struct sn_topic *topic;        /* holds: recordings */
    struct sn_reading *readings;   /* owns: recording_reading.h */
    unsigned reading_count;        /* of them, those a worker reads */
    _Atomic unsigned spool_count;  /* files in the spool that were converted for readers */
    _Atomic unsigned upload_count; /* files that are on their way to us */
    _Atomic uint64_t upload_bytes; /* of those, what was promised room and is not written */
    _Atomic unsigned kept_count;   /* recordings, but live ones, a moment ago */
};

/* Gets it turned by the roads thread, the first time. */
int sn_operation_table_ride(struct sn_operations *operations, struct sonde_error *err);

/* How much may lie in the spool, and in a recording: as much as the store may keep. */
uint64_t sn_operation_quota(const struct sn_daemon *daemon);

void sn_operation_free(struct sn_operation *operation); /* is in no table any more */

/* One has ended. */
void sn_operation_table_ended(struct sn_operations *operations);

#endif
