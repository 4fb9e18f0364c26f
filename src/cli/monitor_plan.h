/* What settings of dotnet-monitor mean for the controller. */
#ifndef SN_CLI_MONITOR_PLAN_H
#define SN_CLI_MONITOR_PLAN_H

#include "base/arena.h"
#include "cli/monitor_settings.h"
#include "daemon/process_filter.h"
#include "daemon/serve.h"

#define SN_MONITOR_PLAN_LIST_MAX 64u

/* Owns what `options` points to; the settings are borrowed. */
struct sn_monitor_plan {
    struct sn_serve_options options;
    struct sn_arena arena;
    const char *counters[SN_MONITOR_PLAN_LIST_MAX];
    const char *egress[SN_MONITOR_PLAN_LIST_MAX];
    struct sn_process_filter filters[SN_MONITOR_PLAN_LIST_MAX];
};

void sn_monitor_plan_done(struct sn_monitor_plan *plan);

/* SONDE_E_ARGUMENT: a setting makes no sense. Authentication is left to the caller. */
int sn_monitor_plan_make(const struct sn_monitor_settings *settings, struct sn_monitor_plan *plan,
                         struct sonde_error *err);

#endif
