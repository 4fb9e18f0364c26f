#include "cli/entrance.h"

#include <sys/wait.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/signals.h"
#include "sonde/trace.h"

static bool has_signal(void *user)
{
    const struct sn_entrance *entrance = user;
    return entrance->signals >= 0 && sn_signals_pending(entrance->signals);
}

/* A session that brings next to nothing: a runtime is let go once it has one. */
static const struct sonde_provider quiet = {
    .name = "Microsoft-DotNETCore-EventPipe", .keywords = 0, .level = 1};

static struct sonde_trace_options hold_options(struct sn_entrance *entrance)
{
    return (struct sonde_trace_options){
        .size = sizeof(struct sonde_trace_options),
        .providers = &quiet,
        .provider_count = 1,
        .buffer_mb = 1,
        .no_stacks = true,
        .no_rundown = true,
        .output = "/dev/null",
        .is_cancelled = has_signal,
        .cancel_user = entrance,
        .no_cpu_record = true,
        .hide_child_io = true,
    };
}

/* The session has served; what was started stays known. */
static int settle(struct sn_entrance *entrance, int index)
{
    struct sonde_trace_stats stats;
    if (index < 0) {
        sn_entrance_done(entrance);
        return index;
    }
    sonde_tracer_stats(entrance->tracer, 0, &stats);
    entrance->pid = stats.pid;
    sonde_tracer_stop(entrance->tracer);
    return SONDE_OK;
}

int sn_entrance_launch(struct sn_entrance *entrance, char *const argv[], struct sonde_error *err)
{
    struct sonde_trace_options options = hold_options(entrance);
    entrance->is_command = true;
    int rc = sonde_tracer_new(&entrance->tracer, err);
    return rc == SONDE_OK
               ? settle(entrance, sonde_tracer_launch(entrance->tracer, argv, &options, err))
               : rc;
}

int sn_entrance_listen(struct sn_entrance *entrance, const char *path, bool leave_suspended,
                       struct sonde_error *err)
{
    struct sonde_trace_options options = hold_options(entrance);
    options.leave_suspended = leave_suspended;
    int rc = sonde_tracer_new(&entrance->tracer, err);
    return rc == SONDE_OK
               ? settle(entrance, sonde_tracer_listen(entrance->tracer, path, &options, err))
               : rc;
}

void sn_entrance_done(struct sn_entrance *entrance)
{
    sonde_tracer_free(SN_TAKE(entrance->tracer));
}

int sn_entrance_fd(const struct sn_entrance *entrance)
{
    return sonde_tracer_fd(entrance->tracer);
}

int sn_entrance_turn(struct sn_entrance *entrance, struct sonde_error *err)
{
    return sonde_tracer_turn(entrance->tracer, err);
}

int sn_entrance_exit_code(const struct sn_entrance *entrance)
{
    int status = sonde_tracer_child_status(entrance->tracer, 0);
    if (status < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
