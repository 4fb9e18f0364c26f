/* What verbs that show events live have in common: which processes, for how long, where to. Those
 * that come later are found, those that end are let go; lines are written as they come. */
#ifndef SN_CLI_LIVE_RUN_H
#define SN_CLI_LIVE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/options.h"
#include "sonde/hub.h"

struct sn_live_run;
struct sonde_names;

/* One process that is listened to; it is what the callbacks of the hub get. */
struct sn_live_process {
    struct sn_live_process *next;
    struct sn_live_run *run; /* borrows */
    uint32_t pid;
    char *name;                      /* owns */
    struct sonde_consumer *consumer; /* the hub's; NULL: not yet, or it has ended */
    bool is_asked;                   /* for its names */
    bool has_ended;
    uint64_t found_ns;
    char *note;  /* owns: what was last said of it; NULL: nothing */
    void *state; /* the verb's; freed by `forget` */
};

/* What the command line says. */
struct sn_live_choice {
    const struct sn_option_list *pids;
    const struct sn_option_list *names;
    bool all;
    char **command; /* NULL: none */
    const char *output;
    uint64_t duration_ns; /* 0: until stopped */
    uint64_t limit;       /* of lines; 0: none */
};

/* What the verb wants of each process. */
struct sn_live_verb {
    struct sonde_consumer_options wants;             /* but for pid, `lost` included */
    bool has_names;                                  /* learn names before events are asked for */
    sonde_event_fn *take;                            /* gets the process */
    void (*forget)(struct sn_live_process *process); /* may be NULL */
    const char *unit;                                /* "event" */
    const char *declined;                            /* of what came and was not shown; NULL */
    const char *nothing;                             /* why nothing may have come; NULL */
};

struct sn_live_run {
    struct sn_live_choice choice;
    struct sn_live_verb verb;
    void *user; /* the verb's */
    struct sonde_hub *hub;
    struct sonde_names *names; /* NULL: not wanted */
    struct sn_live_process *first;
    size_t live_count;
    size_t found_count; /* processes so far */
    size_t failed_count;
    bool is_several; /* lines say whose they are */
    uint64_t line_count;
    uint64_t lost_count; /* of those that have ended, and so the next */
    uint64_t declined_count;
    uint64_t look_ns; /* when to look for others */
    uint64_t deadline_ns;
    int signals;
    int out_fd;
    bool is_over;
    bool has_no_reader;     /* whoever read has seen enough */
    struct sonde_error err; /* why it cannot go on; status 0: it can */
    struct sn_buf out;      /* lines that were not yet written */
    int child;              /* its pid; 0: none, or reaped */
    int child_status;
};

/* Runs until it is over and returns the exit code. */
int sn_live_run(struct sn_live_run *run);

/* For `take`, once it has put a line into `out`: counts it, writes when there is much. What `take`
 * is to return. */
int sn_live_line(struct sn_live_run *run);

#endif
