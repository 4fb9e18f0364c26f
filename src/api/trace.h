/* The inside of a tracer: one struct a traced process. Shared by trace.c and launch.c. */
#ifndef SN_API_TRACE_H
#define SN_API_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "sonde/trace.h"
#include "source/ipc/call.h"

struct sn_cpu_record;
struct sn_launch;
struct sn_road;
struct sn_source;
struct sn_trace_names;
struct sn_trace_output;

struct sn_trace {
    uint32_t pid;
    struct sn_ipc_route route;
    char runtime[32];
    unsigned major;
    uint32_t buffer_mb;
    struct sn_launch *launch;   /* owns; NULL when the process was running already */
    struct sn_timer child_wait; /* looks again whether the launched program has ended */
    uint64_t child_deadline_ns; /* 0: its stream has not ended yet */
    struct sn_road *road;       /* owns */
    struct sn_source *source;   /* borrows from the road */
    struct sn_trace_output *output;
    struct sn_trace_names *names; /* owns; NULL: no rundown is wanted */
    struct sn_cpu_record *cpu;
    bool has_cpu_file;
    bool is_raw;
    bool is_ended;
    bool stop_event_met;
    const char *stop_cause;
    char **providers; /* owns: the names asked for */
    size_t provider_count;
    char *stop_texts[3]; /* what the stop condition points to */
    int status;
    uint64_t start_ns;
    uint64_t end_ns;
    struct sonde_error err;
};

struct sonde_tracer {
    struct sn_loop *loop;
    struct sn_trace **traces; /* owns */
    size_t count;
    bool is_stopping;
};

/* Adds a trace of the process at `route` and waits until its session is open. Takes `launch`, which
 * may be NULL. Returns the trace's index or a negative status. */
int sn_tracer_add_route(struct sonde_tracer *tracer, const struct sn_ipc_route *route,
                        const struct sonde_trace_options *options, struct sn_launch *launch,
                        struct sonde_error *err);

#endif
