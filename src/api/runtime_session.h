/* One EventPipe session of a runtime that is recorded, on the road: what it asks for, what of it is
 * kept, whose events they are, and whether its clock is ours. Part of api/runtimes. */
#ifndef SN_RUNTIME_SESSION_H
#define SN_RUNTIME_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/schema_set.h"
#include "source/ipc/eventpipe.h"

struct sn_ns_threads;
struct sn_road;
struct sn_schema;
struct sn_schema_set;
struct sonde_error;
struct sonde_provider;

enum sn_session_kind {
    SN_SESSION_EVENTS,  /* what was asked for, with stacks */
    SN_SESSION_NAMES,   /* methods and modules as they come, without stacks */
    SN_SESSION_RUNDOWN, /* those that are there already */
    SN_SESSION_KINDS,
};

/* What all sessions of a recording have in common. */
struct sn_session_place {
    struct sn_road *road;                   /* borrows */
    struct sn_schema_set *schemas;          /* borrows */
    const struct sonde_provider *providers; /* borrows: what was asked for */
    struct sn_ipc_provider *ipc_providers;  /* the same as the port wants them; borrows */
    size_t provider_count;
    struct sn_eventpipe_scratch scratch; /* borrows */
    const struct sn_schema *sample;      /* of the runtime's sampler; NULL: none came yet */
    uint64_t sample_count;               /* of these */
    uint64_t event_count;                /* put onto the road */
    uint64_t lost_count;                 /* of sessions that have been closed */
    uint64_t clock_error_ns;             /* the largest */
    uint64_t unknown_kinds;              /* kinds of events that found no room, and their events */
};

/* Whose session it is. */
struct sn_session_owner {
    struct sn_ipc_route route;
    struct sn_ns_threads *threads; /* borrows */
    uint32_t pid;                  /* as we see it */
    unsigned major;                /* of the runtime's version, 0: not known */
};

/* Zero it before use; must not move while it has a source. */
struct sn_runtime_session {
    enum sn_session_kind kind;
    struct sn_session_place *place;       /* borrows */
    const struct sn_session_owner *owner; /* borrows */
    struct sn_source *source;             /* the road's; NULL: not there */
    struct sn_schema_share kinds;         /* what it has declared */
    bool is_clock_checked;
};

int sn_runtime_session_open(struct sn_runtime_session *session, enum sn_session_kind kind,
                            struct sn_session_place *place, const struct sn_session_owner *owner,
                            struct sonde_error *err);

bool sn_runtime_session_is_open(const struct sn_runtime_session *session); /* or was */
bool sn_runtime_session_is_over(const struct sn_runtime_session *session); /* or is not there */
uint64_t sn_runtime_session_lost(const struct sn_runtime_session *session);

/* After each turn of the loop: lets the road go on past what has surely been read. `since_ns` is
 * when the turn began: while it lasts, the kernel's events may keep it busy, more comes in. */
void sn_runtime_session_tend(struct sn_runtime_session *session, uint64_t since_ns);

void sn_runtime_session_stop(struct sn_runtime_session *session);
void sn_runtime_session_abandon(struct sn_runtime_session *session);

/* Takes it off the road. No-op when it is not there. */
void sn_runtime_session_close(struct sn_runtime_session *session);

#endif
