/* The commands of the diagnostics port as functions: each asks the newest way first and falls back,
 * and checks before sending what would harm the target. All of them wait for the answer. */
#ifndef SN_IPC_COMMANDS_H
#define SN_IPC_COMMANDS_H

#include "source/ipc/call.h"

int sn_ipc_get_process_info(const struct sn_ipc_route *route, uint64_t timeout_ns,
                            struct sn_ipc_process_info *ret_info, struct sonde_error *err);

/* One row of a listing: `target` in; `status`, `info` and `err` out. */
struct sn_ipc_row {
    struct sn_ipc_target target;
    int status; /* SONDE_OK: info is there, release it; otherwise err says why not */
    struct sn_ipc_process_info info;
    struct sonde_error err;
};

/* Asks all of them at once and waits `timeout_ns` for the slowest. Those that are out of reach are
 * not asked: their row gets the reason. Fails only when nothing can be asked at all. */
int sn_ipc_get_process_infos(struct sn_ipc_row *rows, size_t count, uint64_t timeout_ns,
                             struct sonde_error *err);

/* The environment as the runtime sees it now. */
int sn_ipc_get_environment(const struct sn_ipc_route *route, uint64_t timeout_ns,
                           struct sn_ipc_environment *ret_environment, struct sonde_error *err);

/* A program reads its environment early: sure to be seen only while it is suspended at its start.
 */
int sn_ipc_set_variable(const struct sn_ipc_route *route, const char *name, const char *value,
                        struct sonde_error *err);

/* Lets a runtime go that waits at its start; does nothing to one that does not. */
int sn_ipc_resume(const struct sn_ipc_route *route, struct sonde_error *err);

/* Each call writes all methods anew: readers must let the last line win. */
int sn_ipc_enable_perf_map(const struct sn_ipc_route *route, enum sn_ipc_perf_map type,
                           struct sonde_error *err);
int sn_ipc_disable_perf_map(const struct sn_ipc_route *route, struct sonde_error *err);

/* Takes from seconds to minutes, during which the target answers nobody. The path is the target's.
 * Flags that an older runtime does not know are left out there. */
int sn_ipc_dump(const struct sn_ipc_route *route, const struct sn_ipc_dump *dump,
                uint64_t timeout_ns, struct sonde_error *err);

/* Loads a profiler into a running process; profiler->timeout_ms is the runtime's deadline, to which
 * ours is added. */
int sn_ipc_attach_profiler(const struct sn_ipc_route *route, const struct sn_ipc_profiler *profiler,
                           struct sonde_error *err);

/* Only while the runtime is suspended at its start by us: afterwards it answers "done" and does
 * nothing, so SONDE_E_ARGUMENT unless `is_suspended`. */
int sn_ipc_set_startup_profiler(const struct sn_ipc_route *route,
                                const struct sn_ipc_profiler *profiler, bool is_suspended,
                                struct sonde_error *err);

/* Runs StartupHook.Initialize of the assembly at `path` inside the target. */
int sn_ipc_apply_startup_hook(const struct sn_ipc_route *route, const char *path,
                              struct sonde_error *err);

/* A wrong hook makes the runtime abort. Fails unless `path`, as the target sees it and with the
 * rights of its user, is a managed assembly (.dll) that has a StartupHook. */
int sn_ipc_check_hook_path(const struct sn_ipc_target *target, const char *path,
                           struct sonde_error *err);

/* Fails unless `path`, seen likewise, is a shared library for this machine. */
int sn_ipc_check_profiler_path(const struct sn_ipc_target *target, const char *path,
                               struct sonde_error *err);

#endif
