/* The .NET processes of a machine, while it is recorded: found, asked, listened to, let go.
 *
 * Each gets up to three sessions, opened one behind the other so that nothing falls between: the
 * events that were asked for (with stacks), the names of code as it is made (methods and modules,
 * no stacks), and for what was there before a short one that is stopped at once for the sake of its
 * rundown. What comes of them goes onto the road under schemas that are shared by all and outlive
 * them, with process and thread ids as we see them. One thread: the loop's. */
#ifndef SN_RUNTIMES_H
#define SN_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_ipc_route;
struct sn_perf_maps;
struct sn_road;
struct sn_runtimes;
struct sn_schema_set;
struct sonde_error;
struct sonde_provider;

/* What has become known of a process; texts are borrowed. */
struct sn_runtime_told {
    uint32_t pid;
    uint8_t kind;        /* enum sn_process_kind */
    const char *version; /* "10.0.1", or ""; of one that cannot be asked: why */
};

struct sn_runtimes_options {
    struct sn_road *road;                   /* borrows */
    struct sn_schema_set *schemas;          /* borrows */
    const struct sonde_provider *providers; /* borrows, all the time */
    size_t provider_count;
    struct sn_perf_maps *perf_maps; /* borrows */
    bool asks_perf_maps;            /* of all; else runtimes are not made to write files */
    const char *port_path;          /* borrows; NULL: none. Runtimes with it in their environment
                                       come to it at their start, and wait to be resumed */
    void (*told)(void *user, const struct sn_runtime_told *told);
    void *user;
};

struct sn_runtimes_state {
    uint32_t count;            /* whose names and events came in, those gone included */
    uint32_t silent_count;     /* that could not be asked */
    const char *silent_reason; /* of the first of them, or "" */
    uint64_t sample_count;     /* of the runtimes' own sampler */
    uint64_t event_count;
    uint64_t lost_count;
    uint64_t clock_error_ns;
    uint64_t unknown_kinds; /* of events, for which there was no room */
};

int sn_runtimes_new(const struct sn_runtimes_options *options, struct sn_runtimes **ret_runtimes,
                    struct sonde_error *err);
/* Before its road is freed. */
void sn_runtimes_free(struct sn_runtimes *runtimes);

/* Something looks like .NET in this process: it is inspected soon, and again until its port is
 * there. */
void sn_runtimes_look_at(struct sn_runtimes *runtimes, uint32_t pid);

/* One is held at its start, by a port of ours that `route` leads through: it is resumed as soon as
 * its sessions are open, or cannot be. */
void sn_runtimes_welcome(struct sn_runtimes *runtimes, const struct sn_ipc_route *route);

/* Whether what there is to say of this process has been said. */
bool sn_runtimes_have_told(const struct sn_runtimes *runtimes, uint32_t pid);

/* The process ended at `time_ns`, or went on as another program. */
void sn_runtimes_forget(struct sn_runtimes *runtimes, uint32_t pid, uint64_t time_ns);

/* After each turn of the loop. */
void sn_runtimes_tend(struct sn_runtimes *runtimes);

/* Ends all sessions; a second call does not wait for them. */
void sn_runtimes_stop(struct sn_runtimes *runtimes);
bool sn_runtimes_is_done(const struct sn_runtimes *runtimes);

void sn_runtimes_state(const struct sn_runtimes *runtimes, struct sn_runtimes_state *ret_state);

#endif
