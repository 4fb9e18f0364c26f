/* Where a trace's events go: the runtime's own bytes to one file, or re-encoded files that roll.
 *
 * A roll is complete in itself: it ends with a rundown of its own, fetched by a short second
 * session. */
#ifndef SN_TRACE_OUTPUT_H
#define SN_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/ipc/session.h"

struct sn_event;
struct sn_loop;
struct sn_sink;
struct sn_trace_info;
struct sn_trace_output;
struct sonde_error;
struct sonde_provider;

struct sn_trace_output_options {
    const char *path;
    uint32_t version;         /* of re-encoded files: 4 or 6 */
    uint64_t roll_bytes;      /* 0: one file */
    uint32_t roll_keep;       /* 0: all */
    bool is_raw;              /* the runtime's own bytes */
    uint64_t rundown_keyword; /* for the rolls */
    const struct sonde_provider
        *providers; /* their event id filters are applied when re-encoding; copied */
    size_t provider_count;
    struct sn_ipc_route route;                       /* for the rolls' rundown */
    const struct sn_trace_info *(*info)(void *user); /* known once the first bytes came */
    void *user;
};

int sn_trace_output_new(struct sn_loop *loop, const struct sn_trace_output_options *options,
                        struct sn_trace_output **ret_output, struct sonde_error *err);
void sn_trace_output_free(struct sn_trace_output *output);

/* Raw mode: the tap of the source; `user` is the output. */
int sn_trace_output_tap(void *user, const void *bytes, size_t size, struct sonde_error *err);

/* Re-encoding: a sink on the trace's road; the road owns the sink, not the output. */
int sn_trace_output_sink_new(struct sn_trace_output *output, struct sn_sink **ret_sink,
                             struct sonde_error *err);

/* The end is near: no new file for the sake of the last rundown. */
void sn_trace_output_stop_rolling(struct sn_trace_output *output);

/* To be called after each turn of the loop: completes rolled files. */
void sn_trace_output_tend(struct sn_trace_output *output);

/* Does not wait any longer for the rundown of a rolled file. */
void sn_trace_output_abandon(struct sn_trace_output *output);

/* No rolled file waits for its rundown any more. */
bool sn_trace_output_is_idle(const struct sn_trace_output *output);

/* Completes the present file. */
int sn_trace_output_finish(struct sn_trace_output *output, struct sonde_error *err);

uint64_t sn_trace_output_event_count(const struct sn_trace_output *output); /* re-encoded ones */
uint64_t sn_trace_output_bytes(const struct sn_trace_output *output);
uint32_t sn_trace_output_file_count(const struct sn_trace_output *output);
/* The path of file `number`, from 1, as long as it is kept. */
bool sn_trace_output_file(const struct sn_trace_output *output, uint32_t number, char *to,
                          size_t size);
const char *sn_trace_output_path(const struct sn_trace_output *output); /* of the present file */

#endif
