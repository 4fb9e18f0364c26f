#include "daemon/profile_names.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "sonde/trace.h"

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

int sn_profile_names_fetch(uint32_t pid, const char *path, struct sonde_error *err)
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
