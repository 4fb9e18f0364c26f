/* A recording that a controller makes for somebody who waits for it: started, watched, stopped by
 * Ctrl-C, brought here, and taken off the controller's list. */
#ifndef SN_CLI_REMOTE_RECORDING_H
#define SN_CLI_REMOTE_RECORDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct sn_buf;
struct sn_json;
struct sn_remote;
struct sonde_error;

struct sn_remote_recording {
    struct sn_remote *remote; /* borrows */
    json_t *body;             /* borrows: what is asked for */
    const char *output;       /* NULL: a name made of the process's */
    const char *ending;       /* ".nettrace" */
    bool json;
    bool is_trace; /* files stand beside it, which come along where there are any */
    bool has_cpu_record;
    bool is_optional; /* nobody asked for a controller: one that cannot is passed over */
    bool is_live;     /* a terminal is there to be rewritten */
    bool reads_keys;  /* Enter ends it */
    int signals;      /* of cli/signals.h */
    /* The last line, for people, of `progress` as the controller tells it. */
    void (*tell)(const json_t *recording, const json_t *progress);

    /* While it runs. */
    char id[40];
    json_t *state; /* owns: what it last said */
    unsigned stop_count;
};

/* Returns the exit code; failures are told. -1: `is_optional`, and it did not begin. */
int sn_remote_recording_run(struct sn_remote_recording *recording);

/* For bodies: a list of texts, left out when empty; several with commas as one text. */
void sn_remote_put_list(json_t *body, const char *name, const char *const *items, size_t count);
void sn_remote_put_words(json_t *body, const char *name, const char *const *items, size_t count);
void sn_remote_put_text(json_t *body, const char *name, const char *text);

/* The last lines of traces and of recordings of a machine. */
void sn_remote_tell_trace(const json_t *recording, const json_t *progress);
void sn_remote_tell_record(const json_t *recording, const json_t *progress);

#endif
