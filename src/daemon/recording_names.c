#include "daemon/recording_names.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_kinds.h"
#include "daemon/roads.h"
#include "daemon/workers.h"
#include "sonde/trace.h"

#define EVERY_NS    (30 * (uint64_t)SN_NS_PER_SECOND)
#define PATIENCE_NS (10 * (uint64_t)SN_NS_PER_SECOND)
#define BUFFER_MB   64u

static void free_tracer_auto(struct sonde_tracer **slot)
{
    sonde_tracer_free(*slot);
}

static int drive(struct sonde_tracer *tracer, struct sonde_error *err)
{
    uint64_t deadline_ns = sn_clock_deadline(PATIENCE_NS);
    sonde_tracer_stop(tracer);
    while (!sonde_tracer_is_done(tracer)) {
        int left_ms = sn_clock_poll_ms(deadline_ns);
        int wait_ms = sonde_tracer_wait_ms(tracer);
        struct pollfd polled = {.fd = sonde_tracer_fd(tracer), .events = POLLIN};
        if (!left_ms)
            return sn_fail(err, SONDE_E_TIMEOUT, 0, "the process does not tell its names");
        (void)poll(&polled, 1, wait_ms < 0 || wait_ms > left_ms ? left_ms : wait_ms);
        int rc = sonde_tracer_turn(tracer, err);
        if (rc < 0)
            return rc;
    }
    return SONDE_OK;
}

/* `path` is replaced when it is whole. */
static int fetch(uint32_t pid, const char *path, struct sonde_error *err)
{
    static const struct sonde_provider nothing = {.name = "Microsoft-DotNETCore-EventPipe",
                                                  .level = 1};
    char partial[4096];
    int size = snprintf(partial, sizeof(partial), "%s.partial", path);
    if (size < 0 || (size_t)size >= sizeof(partial))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the path of the state folder is too long");
    const struct sonde_trace_options options = {.size = sizeof(options),
                                                .providers = &nothing,
                                                .provider_count = 1,
                                                .buffer_mb = BUFFER_MB,
                                                .no_cpu_record = true,
                                                .output = partial};
    SN_AUTO(free_tracer) struct sonde_tracer *tracer = NULL;
    int rc = sonde_tracer_new(&tracer, err);
    if (rc == SONDE_OK)
        rc = sonde_tracer_add(tracer, pid, &options, err);
    if (rc >= 0)
        rc = drive(tracer, err);
    if (rc == SONDE_OK && rename(partial, path) != 0)
        rc = sn_fail_errno(err, "cannot keep %s", path);
    if (rc != SONDE_OK)
        (void)unlink(partial);
    return rc;
}

struct fetching {
    struct sn_daemon *daemon;
    struct sn_mailbox_task task;  /* to the worker and back */
    struct sn_artefact *artefact; /* owns a reference: its file is not gone before */
    uint32_t pid;
    char id[37];
    char path[4096];
};

/* Back in the roads thread. One that could not be is tried again when it would be anyway. */
static void fetched(void *user)
{
    struct fetching *fetching = user;
    struct sn_operation *operation = sn_operation_find(fetching->daemon, fetching->id);
    if (operation) {
        operation->names_ns = sn_clock_monotonic_ns();
        operation->is_naming = false;
    }
    sn_artefact_release(fetching->artefact);
    free(fetching);
}

/* In a worker. */
static void fetch_it(void *user)
{
    struct fetching *fetching = user;
    struct sonde_error unnamed = {0};
    (void)fetch(fetching->pid, fetching->path, &unnamed);
    sn_roads_post(fetching->daemon->roads, &fetching->task, fetched, fetching);
}

void sn_recording_names_want(struct sn_operation *operation)
{
    uint64_t now = sn_clock_monotonic_ns();
    if (operation->kind != &sn_trace_operation || operation->state != SN_OPERATION_RUNNING ||
        operation->is_naming || (operation->names_ns && now - operation->names_ns < EVERY_NS))
        return;
    struct fetching *fetching = calloc(1, sizeof(*fetching));
    if (!fetching)
        return;
    fetching->daemon = operation->daemon;
    fetching->artefact = sn_artefact_hold(operation->artefact);
    fetching->pid = operation->pid;
    sn_text_copy(fetching->id, sizeof(fetching->id), operation->id);
    (void)snprintf(fetching->path, sizeof(fetching->path), "%s.names",
                   sn_artefact_path(operation->artefact));
    operation->is_naming =
        sn_workers_offer(operation->daemon->workers, &fetching->task, fetch_it, fetching);
    if (operation->is_naming)
        return;
    sn_artefact_release(fetching->artefact);
    free(fetching);
}

bool sn_recording_names_are_coming(const struct sn_operation *operation)
{
    return operation->is_naming && !operation->names_ns;
}
