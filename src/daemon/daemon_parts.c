#include "daemon/daemon_parts.h"

#include <stdio.h>

#include "base/err.h"
#include "base/own.h"
#include "daemon/access.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/operation.h"
#include "daemon/own_cost.h"
#include "daemon/roads.h"
#include "daemon/router.h"
#include "daemon/sight.h"
#include "daemon/stack_taking.h"
#include "daemon/state_topics.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"
#include "daemon/workers.h"
#include "net/http_server.h"

#define WORKERS_MAX 8u
#define WAITING_MAX 256u

static int open_audit(struct sn_daemon *daemon, struct sonde_error *err)
{
    SN_AUTO(sn_free) char *path = NULL;
    const struct sn_serve_options *options = daemon->options;
    if (options->audit_path)
        return sn_audit_open(options->audit_path, &daemon->audit, err);
    if (!options->state_folder || options->is_stateless)
        return SONDE_OK;
    if (asprintf(&path, "%s/audit.log", options->state_folder) < 0)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a path");
    return sn_audit_open(path, &daemon->audit, err);
}

static int open_workers(struct sn_daemon *daemon, struct sonde_error *err)
{
    const struct sn_serve_options *options = daemon->options;
    return sn_workers_new(options->worker_max ? options->worker_max : WORKERS_MAX,
                          options->waiting_max ? options->waiting_max : WAITING_MAX,
                          &daemon->workers, err);
}

int sn_daemon_parts_new(struct sn_daemon *daemon, struct sonde_error *err)
{
    int rc = sn_router_new(daemon, &daemon->router, err);
    if (rc == SONDE_OK)
        rc = sn_http_server_new(&daemon->options->limits, sn_router_handle, daemon->router,
                                &daemon->http, err);
    if (rc == SONDE_OK)
        sn_http_server_set_early(daemon->http, sn_router_is_early);
    if (rc == SONDE_OK)
        rc = sn_access_new(&daemon->options->access, &daemon->access, err);
    if (rc == SONDE_OK)
        rc = open_audit(daemon, err);
    if (rc == SONDE_OK)
        rc = sn_topics_new(daemon, &daemon->topics, err);
    if (rc == SONDE_OK)
        rc = open_workers(daemon, err);
    if (rc == SONDE_OK)
        rc = sn_sight_new(daemon, &daemon->sight, err);
    if (rc == SONDE_OK)
        rc = sn_state_topics_new(daemon, &daemon->state_topics, err);
    if (rc == SONDE_OK)
        rc = sn_stack_taking_new(&daemon->stack_taking, err);
    return rc;
}

int sn_daemon_parts_start(struct sn_daemon *daemon, struct sonde_error *err)
{
    int rc = daemon->options->no_store ? SONDE_OK : sn_store_desk_new(daemon, &daemon->store, err);
    if (rc == SONDE_OK)
        rc = sn_operations_new(daemon, &daemon->operations, err);
    if (rc == SONDE_OK)
        rc = sn_roads_new(daemon, &daemon->roads, err);
    if (rc == SONDE_OK)
        rc = sn_own_cost_start(daemon, err);
    if (rc == SONDE_OK)
        sn_operations_start(daemon);
    return rc;
}

void sn_daemon_parts_free(struct sn_daemon *daemon)
{
    if (daemon->router)
        sn_router_close(daemon->router);
    sn_roads_stop(daemon->roads);
    sn_workers_stop(daemon->workers);
    sn_store_desk_free(daemon->store);
    daemon->store = NULL;
    sn_roads_drain(daemon->roads);
    if (daemon->http)
        (void)sn_http_server_turn(daemon->http, NULL);
    sn_http_server_free(daemon->http);
    daemon->http = NULL;
    sn_operations_free(daemon->operations);
    daemon->operations = NULL;
    sn_roads_free(daemon->roads);
    daemon->roads = NULL;
    sn_router_free(daemon->router);
    sn_stack_taking_free(daemon->stack_taking);
    sn_state_topics_free(daemon->state_topics);
    sn_sight_free(daemon->sight);
    sn_workers_free(daemon->workers);
    sn_topics_free(daemon->topics);
    sn_access_free(daemon->access);
    sn_audit_close(daemon->audit);
    sn_http_shared_release(daemon->openapi);
}
