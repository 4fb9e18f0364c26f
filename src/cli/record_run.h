/* Running a recording: signals, duration, who is told of its progress, and its last words. */
#ifndef SN_CLI_RECORD_RUN_H
#define SN_CLI_RECORD_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sonde/record.h"

struct sn_record_run {
    struct sonde_record_options options;
    uint64_t duration_ns; /* 0: until stopped */
    bool json;            /* numbers instead of the archive's name on `result` */
    bool reads_keys;      /* Enter ends it */
    FILE *words;          /* for people; borrows */
    FILE *result;         /* the archive's name, or JSON; borrows */
    void (*started)(void *user, const struct sonde_record_stats *stats); /* or NULL */
    void (*live)(void *user, const struct sonde_record_stats *stats);    /* or NULL */
    void *user;                                                          /* what these get */
};

/* Returns the exit code. */
int sn_record_run(const struct sn_record_run *run);

/* A started and a live function for a terminal on standard error. */
void sn_record_say_started(void *user, const struct sonde_record_stats *stats);
void sn_record_show_live(void *user, const struct sonde_record_stats *stats);

#endif
