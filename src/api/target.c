#include "sonde/target.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "source/ipc/ipc_commands.h"

#define DUMP_TIMEOUT_NS (600ull * SN_NS_PER_SECOND)

static int route_to(uint32_t pid, struct sn_ipc_route *ret_route, struct sonde_error *err)
{
    struct sn_ipc_target target;
    int rc = sn_ipc_target_of_pid((int)pid, &target, err);
    if (rc == SONDE_OK)
        *ret_route = sn_ipc_route_to(&target);
    return rc;
}

int sonde_target_environment(uint32_t pid, sonde_variable_fn *each, void *user,
                             struct sonde_error *err)
{
    struct sn_ipc_route route;
    int rc = route_to(pid, &route, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_ipc_environment_done) struct sn_ipc_environment environment = {0};
    rc = sn_ipc_get_environment(&route, SN_IPC_USUAL_TIMEOUT_NS, &environment, err);
    if (rc != SONDE_OK)
        return rc;
    for (size_t i = 0; i < environment.count; i++)
        each(user, environment.variables[i], strlen(environment.variables[i]));
    return SONDE_OK;
}

int sonde_target_dump(uint32_t pid, enum sonde_dump_type type, const char *path,
                      uint64_t timeout_ns, struct sonde_error *err)
{
    struct sn_ipc_route route;
    int rc = route_to(pid, &route, err);
    if (rc != SONDE_OK)
        return rc;
    struct sn_ipc_dump dump = {.path = path, .type = (uint32_t)type};
    return sn_ipc_dump(&route, &dump, timeout_ns ? timeout_ns : DUMP_TIMEOUT_NS, err);
}
