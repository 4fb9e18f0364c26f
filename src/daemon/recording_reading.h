/* Readings of recordings, also of those that run: in a worker, shared by all who ask for the same,
 * at most once in two seconds each (and less often where reading takes long). Flame graphs and
 * reports are kinds of them. Roads thread, but what is marked. */
#ifndef SN_RECORDING_READING_H
#define SN_RECORDING_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

struct sn_operation;
struct sn_operations;
struct sn_reading_kind;
struct sn_rest_call;

/* What is read. Two that are alike in all of this are one; zero it first. */
struct sn_reading_subject {
    const struct sn_reading_kind *kind;
    char id[37]; /* filled in by sn_reading_ask */
    int view;
    size_t nodes_max; /* of a timeline: buckets */
    bool with_lines;
    bool is_patient; /* it will be there soon: who asks waits for it */
    uint64_t from_ns;
    uint64_t to_ns; /* 0: to the end */
    char process[128];
    char sections[256];
    char process_name[128]; /* what a trace of one process calls it */
};

struct sn_reading_order {
    const struct sn_reading_subject *of;
    const char *path;
    const char *names;  /* a trace with names, perhaps not there */
    const void *before; /* the last result; NULL */
};

/* Results are immutable and counted, from any thread. */
struct sn_reading_kind {
    /* In a worker. */
    int (*read)(const struct sn_reading_order *order, void **ret_result, struct sonde_error *err);
    void *(*hold)(void *result);
    void (*release)(void *result);
    size_t (*bytes)(const void *result); /* about so much memory */
    /* Whether a recording that ended, and was not read for this reason, just has nothing of it: no
     * failure, but an answer without a result. NULL: never. */
    bool (*is_empty)(const struct sn_reading_subject *of, const struct sonde_error *err);
    /* Moves the call on, or gives it its problem. `result` is lent; NULL: there is nothing yet. */
    bool (*answer)(struct sn_rest_call *call, const struct sn_reading_subject *of, void *result,
                   bool is_complete);
};

/* Has the call answered, now or when there is something to answer with. */
void sn_reading_ask(struct sn_rest_call *call, struct sn_operation *operation,
                    const struct sn_reading_subject *subject);

/* Process and part of the recording, as all of these take them. False: the call has its problem. */
bool sn_reading_subject_fill(struct sn_rest_call *call, struct sn_reading_subject *subject);

/* From the table of operations: what is to be tried again, when, and now. */
uint64_t sn_readings_next_ns(const struct sn_operations *operations);
void sn_readings_turn(struct sn_operations *operations, uint64_t now_ns);

/* A recording was deleted: nobody asks for it again. */
void sn_readings_forget(struct sn_operations *operations, const char *id);

void sn_readings_done(struct sn_operations *operations);

#endif
