/* From a request to an operation: the process that is meant is found in a worker, the operation
 * made in the roads thread, the call answered when it runs. */
#include "daemon/operation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/monitor_call.h"
#include "daemon/operation_table.h"
#include "daemon/query.h"
#include "daemon/rest_call.h"
#include "daemon/sight.h"
#include "daemon/spool.h"

struct ask {
    struct sn_daemon *daemon;
    struct sn_operation_request request; /* texts are copies below */
    void (*answer)(struct sn_rest_call *call, struct sn_operation *operation);
    bool is_machine;
    bool is_gone; /* the client left before there was an operation */
    int status;
    char id[37]; /* of the operation; "" */
    char pid_text[16];
    char uid_text[64];
    char name_text[256];
    bool has_pid, has_uid, has_name;
    char process_name[128];
    char process_uid[37];
    char owner[96];
    char tags[256];
    char egress[64];
    char extension[40];
    char file_name[96];
};

static void free_ask(void *user)
{
    struct ask *ask = user;
    json_decref(ask->request.settings);
    free(ask);
}

static const char *copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
    return from ? to : NULL;
}

static void copy_request(struct ask *ask, const struct sn_operation_request *request)
{
    ask->request = *request;
    ask->request.owner = copy(ask->owner, sizeof(ask->owner), request->owner);
    ask->request.tags = copy(ask->tags, sizeof(ask->tags), request->tags);
    ask->request.egress = copy(ask->egress, sizeof(ask->egress), request->egress);
    ask->request.extension = copy(ask->extension, sizeof(ask->extension), request->extension);
    ask->request.file_name = copy(ask->file_name, sizeof(ask->file_name), request->file_name);
    json_incref(ask->request.settings);
}

static void copy_target(struct ask *ask, const struct sn_operation_target *target)
{
    ask->is_machine = target->is_machine;
    ask->has_pid = copy(ask->pid_text, sizeof(ask->pid_text), target->pid) != NULL;
    ask->has_uid = copy(ask->uid_text, sizeof(ask->uid_text), target->uid) != NULL;
    ask->has_name = copy(ask->name_text, sizeof(ask->name_text), target->name) != NULL;
}

/* --- the roads thread, again --- */

static void client_left(struct sn_rest_call *call)
{
    struct ask *ask = call->user;
    struct sn_operation *operation = ask->id[0] ? sn_operation_find(ask->daemon, ask->id) : NULL;
    if (operation && operation->call == call && !operation->egress[0])
        sn_operation_cancel(operation);
}

static void tell_failure(struct sn_rest_call *call, const struct sn_operation *operation)
{
    struct sonde_error err = {0};
    (void)sn_fail(&err, operation->status < 0 ? operation->status : SONDE_E_GONE, 0, "%s",
                  operation->message[0] ? operation->message : "it was cancelled");
    if ((operation->is_doomed || err.status == SONDE_E_SYSTEM) &&
        sn_spool_is_full(operation->daemon->operations->spool))
        err.system_error = ENOSPC;
    sn_rest_failed(call, &err);
}

/* Its answer goes out: the call is finished by who calls this. */
static void answer(struct sn_rest_call *call, struct sn_operation *operation)
{
    const struct ask *ask = call->user;
    if (operation->state == SN_OPERATION_FAILED || operation->state == SN_OPERATION_CANCELLED)
        tell_failure(call, operation);
    else
        (ask->answer ? ask->answer : sn_operation_answer)(call, operation);
}

/* Of settings that cannot be: which of them, when the text says so ("profile: ..."). */
static void refuse(struct sn_rest_call *call, const struct sonde_error *err)
{
    char member[40];
    size_t size = strspn(err->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (err->status != SONDE_E_ARGUMENT || !size || size >= sizeof(member) ||
        strncmp(err->text + size, ": ", 2) != 0) {
        sn_rest_failed(call, err);
        return;
    }
    memcpy(member, err->text, size);
    member[size] = 0;
    sn_rest_invalid(call, member, "%s", err->text + size + 2);
}

/* In the roads seat. */
static void begin(struct sn_rest_call *call)
{
    struct ask *ask = call->user;
    struct sonde_error err = {0};
    struct sn_operation *operation = NULL;
    if (!call->is_gone && ask->request.join && ask->request.join(call, &ask->request))
        return;
    if (call->is_gone ||
        sn_operation_new(call->daemon, &ask->request, &operation, &err) != SONDE_OK) {
        refuse(call, &err);
        return;
    }
    if (operation->egress[0] || operation->is_recording) {
        answer(call, operation);
        return;
    }
    (void)snprintf(ask->id, sizeof(ask->id), "%s", operation->id);
    operation->answer = answer;
    operation->call = call;
    sn_rest_park(call, client_left, ask);
}

/* --- a worker --- */

static void describe(struct ask *ask, bool is_native)
{
    char name[128];
    struct sonde_error err = {0};
    struct sonde_process_list *list = sn_sight_hold(ask->daemon->sight, &err);
    size_t count = list ? sonde_process_list_count(list) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->pid != ask->request.pid)
            continue;
        ask->request.process_name =
            copy(ask->process_name, sizeof(ask->process_name),
                 is_native ? process->name : sn_monitor_process_name(process, name));
        sn_sight_uid(process, ask->process_uid);
        ask->request.process_uid = ask->process_uid;
    }
    if (list)
        sn_sight_release(ask->daemon->sight, list);
}

/* In a worker. */
static void find(struct sn_rest_call *call)
{
    struct ask *ask = call->user;
    if (sn_sight_choose(call, ask->has_pid ? ask->pid_text : NULL,
                        ask->has_uid ? ask->uid_text : NULL, ask->has_name ? ask->name_text : NULL,
                        &ask->request.pid) != SONDE_OK)
        return;
    call->pid = ask->request.pid;
    describe(ask, sn_query_is_native(call->route));
    sn_rest_move(call, SN_SEAT_ROADS, begin);
}

void sn_operation_call(struct sn_rest_call *call, const struct sn_operation_target *target,
                       const struct sn_operation_request *request,
                       void (*answered)(struct sn_rest_call *call, struct sn_operation *operation))
{
    struct ask *ask = calloc(1, sizeof(*ask));
    if (!ask) {
        sn_rest_problem(call, 503, "no memory for an operation");
        return;
    }
    ask->daemon = call->daemon;
    ask->answer = answered;
    copy_request(ask, request);
    copy_target(ask, target);
    call->user = ask;
    call->free_user = free_ask;
    if (ask->is_machine)
        sn_rest_move(call, SN_SEAT_ROADS, begin);
    else
        sn_rest_move(call, SN_SEAT_WORKER, find);
}

void sn_operation_answer(struct sn_rest_call *call, struct sn_operation *operation)
{
    if (operation->egress[0]) {
        call->status = 202;
        sn_rest_header(call, "Location", "%s/operations/%s", call->base_url, operation->id);
        return;
    }
    call->status = 200;
    call->content_type = operation->content_type;
    call->file = sn_artefact_hold(operation->artefact);
    call->is_trace = strcmp(operation->kind->name, "trace") == 0;
    sn_rest_header(call, "Content-Disposition", "attachment; filename=%s", operation->file_name);
}
