#include "source/ipc/ipc_commands.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/own.h"

static const enum sn_ipc_command info_ladder[] = {SN_IPC_PROCESS_INFO3, SN_IPC_PROCESS_INFO2,
                                                  SN_IPC_PROCESS_INFO};
#define INFO_RUNGS (sizeof(info_ladder) / sizeof(*info_ladder))

static bool is_unknown_command(int status, const struct sonde_error *err)
{
    return status == SONDE_E_REFUSED && err->hresult == SN_IPC_HR_UNKNOWN_COMMAND;
}

static int pass_on(int status, const struct sonde_error *cause, struct sonde_error *err)
{
    if (status != SONDE_OK && err && !err->status)
        *err = *cause;
    return status;
}

static int call_for_result(const struct sn_ipc_route *route, const struct sn_ipc_request *request,
                           uint64_t timeout_ns, struct sonde_error *err)
{
    SN_AUTO(sn_ipc_reply_done) struct sn_ipc_reply reply = {0};
    return sn_ipc_call(route, request, timeout_ns, &reply, err);
}

int sn_ipc_get_process_info(const struct sn_ipc_route *route, uint64_t timeout_ns,
                            struct sn_ipc_process_info *ret_info, struct sonde_error *err)
{
    for (unsigned rung = 0;; rung++) {
        SN_AUTO(sn_ipc_reply_done) struct sn_ipc_reply reply = {0};
        struct sonde_error cause = {0};
        struct sn_ipc_request request = {.command = info_ladder[rung]};
        int rc = sn_ipc_call(route, &request, timeout_ns, &reply, &cause);
        if (is_unknown_command(rc, &cause) && rung + 1 < INFO_RUNGS)
            continue;
        if (rc == SONDE_OK)
            rc = sn_ipc_decode_process_info(reply.payload.bytes, reply.payload.size, 3 - rung,
                                            ret_info, &cause);
        return pass_on(rc, &cause, err);
    }
}

/* One row being asked. */
struct asking {
    struct sn_ipc_call call;
    struct sn_ipc_row *row;
    uint64_t timeout_ns;
    unsigned rung;
};

static int ask(struct asking *asking, struct sn_loop *loop)
{
    struct sn_ipc_route route = sn_ipc_route_to(&asking->row->target);
    struct sn_ipc_request request = {.command = info_ladder[asking->rung]};
    return sn_ipc_call_start(&asking->call, loop, &route, &request, asking->timeout_ns,
                             &asking->row->err);
}

static void answered(struct sn_ipc_call *call, int status)
{
    struct asking *asking = call->user;
    struct sn_ipc_row *row = asking->row;
    if (is_unknown_command(status, &call->err) && asking->rung + 1 < INFO_RUNGS) {
        asking->rung++;
        row->status = ask(asking, call->loop);
        return;
    }
    if (status == SONDE_OK) {
        status = sn_ipc_decode_process_info(call->reply.payload.bytes, call->reply.payload.size,
                                            3 - asking->rung, &row->info, &row->err);
        sn_ipc_reply_done(&call->reply);
    }
    row->status = pass_on(status, &call->err, &row->err);
}

static int ask_all(struct asking *all, size_t count, struct sonde_error *err)
{
    SN_AUTO(sn_loop_free) struct sn_loop *loop = NULL;
    int rc = sn_loop_new(&loop, err);
    if (rc != SONDE_OK)
        return rc;
    for (size_t i = 0; i < count; i++) {
        struct sn_ipc_row *row = all[i].row;
        row->status = row->target.reach == SN_IPC_REACH_OK
                          ? ask(&all[i], loop)
                          : sn_ipc_reach_fail(&row->target, row->target.reach, &row->err);
    }
    rc = sn_loop_run(loop, err);
    for (size_t i = 0; i < count; i++)
        sn_ipc_call_cancel(&all[i].call); /* those that a failed loop has left behind */
    return rc;
}

int sn_ipc_get_process_infos(struct sn_ipc_row *rows, size_t count, uint64_t timeout_ns,
                             struct sonde_error *err)
{
    struct asking *all = calloc(count ? count : 1, sizeof(*all));
    if (!all)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to ask %zu processes", count);
    for (size_t i = 0; i < count; i++) {
        rows[i].info = (struct sn_ipc_process_info){0};
        rows[i].err = (struct sonde_error){0};
        all[i].row = &rows[i];
        all[i].timeout_ns = timeout_ns;
        all[i].call.done = answered;
        all[i].call.user = &all[i];
    }
    int rc = ask_all(all, count, err);
    free(all);
    return rc;
}

int sn_ipc_get_environment(const struct sn_ipc_route *route, uint64_t timeout_ns,
                           struct sn_ipc_environment *ret_environment, struct sonde_error *err)
{
    SN_AUTO(sn_ipc_reply_done) struct sn_ipc_reply reply = {0};
    struct sn_ipc_request request = {.command = SN_IPC_PROCESS_ENVIRONMENT};
    int rc = sn_ipc_call(route, &request, timeout_ns, &reply, err);
    if (rc != SONDE_OK)
        return rc;
    return sn_ipc_decode_environment(reply.more.bytes, reply.more.size, ret_environment, err);
}

int sn_ipc_set_variable(const struct sn_ipc_route *route, const char *name, const char *value,
                        struct sonde_error *err)
{
    struct sn_ipc_request request = {
        .command = SN_IPC_SET_VARIABLE,
        .variable = {.name = name, .value = value},
    };
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}

int sn_ipc_resume(const struct sn_ipc_route *route, struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = SN_IPC_RESUME_RUNTIME};
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}

int sn_ipc_enable_perf_map(const struct sn_ipc_route *route, enum sn_ipc_perf_map type,
                           struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = SN_IPC_ENABLE_PERF_MAP, .perf_map = type};
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}

int sn_ipc_disable_perf_map(const struct sn_ipc_route *route, struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = SN_IPC_DISABLE_PERF_MAP};
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}

int sn_ipc_dump(const struct sn_ipc_route *route, const struct sn_ipc_dump *dump,
                uint64_t timeout_ns, struct sonde_error *err)
{
    static const enum sn_ipc_command ladder[] = {SN_IPC_DUMP3, SN_IPC_DUMP2, SN_IPC_DUMP};
    for (unsigned rung = 0;; rung++) {
        struct sonde_error cause = {0};
        struct sn_ipc_request request = {.command = ladder[rung], .dump = *dump};
        if (request.command == SN_IPC_DUMP)
            request.dump.flags &= SN_IPC_DUMP_LOGGING;
        int rc = call_for_result(route, &request, timeout_ns, &cause);
        if (is_unknown_command(rc, &cause) && request.command != SN_IPC_DUMP)
            continue;
        return pass_on(rc, &cause, err);
    }
}

int sn_ipc_attach_profiler(const struct sn_ipc_route *route, const struct sn_ipc_profiler *profiler,
                           struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = SN_IPC_ATTACH_PROFILER, .profiler = *profiler};
    int rc = sn_ipc_check_profiler_path(&route->target, profiler->path, err);
    if (rc != SONDE_OK)
        return rc;
    uint64_t timeout_ns = profiler->timeout_ms * UINT64_C(1000000) + SN_IPC_USUAL_TIMEOUT_NS;
    return call_for_result(route, &request, timeout_ns, err);
}

int sn_ipc_set_startup_profiler(const struct sn_ipc_route *route,
                                const struct sn_ipc_profiler *profiler, bool is_suspended,
                                struct sonde_error *err)
{
    struct sn_ipc_request request = {
        .command = SN_IPC_STARTUP_PROFILER,
        .profiler = {.clsid = profiler->clsid, .path = profiler->path},
    };
    if (!is_suspended)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "pid %d runs already: a startup profiler would be ignored, attach it",
                       route->target.pid);
    int rc = sn_ipc_check_profiler_path(&route->target, profiler->path, err);
    if (rc != SONDE_OK)
        return rc;
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}

int sn_ipc_apply_startup_hook(const struct sn_ipc_route *route, const char *path,
                              struct sonde_error *err)
{
    struct sn_ipc_request request = {.command = SN_IPC_APPLY_STARTUP_HOOK, .hook_path = path};
    int rc = sn_ipc_check_hook_path(&route->target, path, err);
    if (rc != SONDE_OK)
        return rc;
    return call_for_result(route, &request, SN_IPC_USUAL_TIMEOUT_NS, err);
}
