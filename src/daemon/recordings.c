#include "daemon/recordings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_table.h"
#include "daemon/problem.h"
#include "daemon/recording_body.h"
#include "daemon/recording_json.h"
#include "daemon/recording_reading.h"
#include "daemon/recording_routes.h"
#include "daemon/recording_store.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/sight.h"
#include "daemon/store_desk.h"
#include "daemon/topic.h"

#define LIST_MAX       1000u
#define TOLD_MAX       100u /* newest ones: of those who watch */
#define TELL_BYTES_MAX (1u << 20)

/* --- those who watch --- */

static void tell_now(void *user)
{
    struct sn_operations *operations = user;
    struct sonde_error err = {0};
    operations->tell_ns = 0;
    (void)sn_operation_table_ride(operations, &err); /* without, the next change tells them */
}

/* In the HTTP thread: the first reader has come. */
static void topic_wanted(void *user, bool is_wanted)
{
    struct sn_daemon *daemon = user;
    if (is_wanted)
        (void)sn_roads_nudge(daemon->roads, &daemon->operations->telling, tell_now,
                             daemon->operations);
}

void sn_recordings_open(struct sn_daemon *daemon, struct sn_operations *operations)
{
    const struct sn_topic_options options = {
        .name = "recordings", .keep = 1, .renews = true, .wanted = topic_wanted, .user = daemon};
    operations->topic = sn_topics_open(daemon->topics, &options);
}

static bool is_any_active(struct sn_daemon *daemon)
{
    const struct sn_operation *one = sn_operation_first(daemon);
    while (one && !(one->is_recording && sn_operation_is_active(one)))
        one = one->next;
    return one != NULL;
}

uint64_t sn_recordings_tell(struct sn_daemon *daemon)
{
    struct sn_topic *topic = daemon->operations->topic;
    if (!topic || !sn_topic_is_wanted(topic))
        return UINT64_MAX;
    struct sn_buf message = sn_buf_with_limit(TELL_BYTES_MAX);
    sn_recording_json_list(&message, daemon, TOLD_MAX);
    sn_topic_publish(topic, &message);
    return is_any_active(daemon) ? sn_clock_deadline(SN_NS_PER_SECOND) : UINT64_MAX;
}

void sn_recordings_keep(struct sn_operation *operation)
{
    operation->is_unkept = !sn_recording_store_put(operation);
}

void sn_recordings_changed(struct sn_operation *operation)
{
    operation->daemon->operations->tell_ns = 0;
    sn_recordings_keep(operation);
    if (operation->state == SN_OPERATION_SUCCEEDED && !operation->is_live)
        sn_recording_store_profile(operation);
}

void sn_recordings_gone(struct sn_operation *operation)
{
    operation->daemon->operations->tell_ns = 0;
    sn_readings_forget(operation->daemon->operations, operation->id);
    sn_recording_store_delete(operation);
}

/* --- one of them --- */

/* Files that the store has swept away take their recordings with them. */
static bool is_swept(const struct sn_operation *operation)
{
    return operation->state >= SN_OPERATION_SUCCEEDED && sn_artefact_size(operation->artefact) &&
           access(sn_artefact_path(operation->artefact), F_OK) != 0;
}

struct sn_operation *sn_recordings_find(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    char id[37];
    (void)snprintf(id, sizeof(id), "%s", sn_rest_text(call, "id"));
    for (char *at = id; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'F' ? *at | 0x20 : *at);
    struct sn_operation *operation = sn_operation_find(call->daemon, id);
    if (operation && operation->is_recording && !is_swept(operation)) {
        sn_operation_renew(operation);
        return operation;
    }
    if (operation && operation->is_recording)
        (void)sn_operation_delete(operation, &err);
    sn_rest_problem(call, 404, "there is no recording %s", id);
    return NULL;
}

static void show(struct sn_rest_call *call, struct sn_operation *operation)
{
    struct sn_json json = sn_json_to(&call->out);
    sn_recording_json_write(&json, operation, true);
}

/* --- answered when it is kept --- */

bool sn_recordings_let_in(struct sn_rest_call *call)
{
    if (!call->daemon->store || !sn_store_desk_is_full(call->daemon->store))
        return true;
    sn_rest_header(call, "Retry-After", "1");
    sn_rest_problem(call, 503, "too much waits to be kept already; try again in a moment");
    return false;
}

/* In place of what the call has needed until now. False: no memory. */
static bool take_id(struct sn_rest_call *call, const struct sn_operation *operation)
{
    char *id = strdup(operation->id);
    if (!id)
        return false;
    if (call->free_user && call->user)
        call->free_user(call->user);
    call->user = id;
    call->free_user = free;
    return true;
}

static void cannot_keep(struct sn_rest_call *call, const struct sonde_error *err)
{
    call->header_count = 0; /* of the answer that it would have been */
    if (sn_problem_of_disk(err)) {
        sn_rest_failed(call, err);
        return;
    }
    sn_rest_header(call, "Retry-After", "5");
    sn_rest_problem(call, 503, "it cannot be kept: %s", err->text);
}

/* What its maker was told does not exist is not left behind. */
static void undo_it(struct sn_operation *operation)
{
    struct sonde_error err = {0};
    if (sn_operation_is_active(operation))
        sn_operation_cancel(operation);
    else
        (void)sn_operation_delete(operation, &err);
}

/* Back in the roads seat. */
static void undo(struct sn_rest_call *call)
{
    struct sn_operation *operation = sn_operation_find(call->daemon, call->user);
    if (operation)
        undo_it(operation);
}

/* In the store's seat, behind the change itself. */
static void when_kept(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    bool is_new = call->status == 201;
    if (sn_store_commit(sn_store_desk_store(call->daemon->store), &err) == SONDE_OK)
        return;
    cannot_keep(call, &err);
    if (is_new)
        sn_rest_move(call, SN_SEAT_ROADS, undo);
}

/* The answer is there, and goes out when what it says survives us. */
static void answer_when_kept(struct sn_rest_call *call, struct sn_operation *operation)
{
    bool is_new = call->status == 201;
    bool is_kept = call->daemon->store && !(is_new && operation->is_live);
    struct sonde_error err = {0};
    if (call->out.failed || (is_kept && (operation->is_unkept || !take_id(call, operation)))) {
        (void)sn_fail(&err, SONDE_E_NOMEM, 0, "no memory");
        cannot_keep(call, &err);
        if (is_new)
            undo_it(operation);
    } else if (is_kept) {
        sn_rest_move(call, SN_SEAT_STORE, when_kept);
    }
}

/* --- handlers --- */

void sn_recordings_created(struct sn_rest_call *call, struct sn_operation *operation)
{
    call->status = 201;
    sn_rest_header(call, "Location", "%s/api/v1/recordings/%s", call->base_url, operation->id);
    show(call, operation);
    answer_when_kept(call, operation);
}

/* Who wants what runs live already watches with the others. */
static bool join(struct sn_rest_call *call, const struct sn_operation_request *request)
{
    const char *uid = request->process_uid ? request->process_uid : "";
    const char *profile = json_string_value(json_object_get(request->settings, "profile"));
    struct sn_operation *operation =
        request->is_live && profile ? sn_operation_live(call->daemon, request->pid, uid, profile)
                                    : NULL;
    if (!operation)
        return false;
    sn_operation_renew(operation);
    show(call, operation);
    return true;
}

void sn_recordings_post(struct sn_rest_call *call)
{
    struct sn_recording_body body;
    if (!sn_recording_body_read(call, &body) ||
        (!body.request.is_live && !sn_recordings_let_in(call)))
        return;
    body.request.join = join;
    sn_operation_call(call, &body.target, &body.request, sn_recordings_created);
}

void sn_recordings_list(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_operation *next;
    for (struct sn_operation *one = sn_operation_first(call->daemon); one; one = next) {
        next = one->next;
        if (one->is_recording && is_swept(one))
            (void)sn_operation_delete(one, &err);
    }
    sn_recording_json_list(&call->out, call->daemon, LIST_MAX);
}

void sn_recordings_get(struct sn_rest_call *call)
{
    struct sn_operation *operation = sn_recordings_find(call);
    if (operation)
        show(call, operation);
}

static void answer_change(struct sn_rest_call *call, struct sn_operation *operation)
{
    show(call, operation);
    answer_when_kept(call, operation);
}

/* In the roads seat: who was meant is still there. */
static void enable(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation)
        return;
    bool is_enabled = sn_operation_is_enabled(operation);
    if (operation->is_going)
        sn_rest_problem(call, 409, "it is being deleted");
    else if (!is_enabled && operation->state != SN_OPERATION_CONFIGURED)
        sn_rest_problem(call, 409, "it is %s: a recording runs once; configure another",
                        sn_operation_state_name(operation->state));
    else if (!is_enabled && sn_operation_enable(operation, &err) != SONDE_OK)
        sn_rest_failed(call, &err);
    else
        answer_change(call, operation);
}

struct target {
    uint32_t pid;
    char uid[37];
};

/* In a worker. A pid may be another process by now, also since before the controller began. */
static void check_target(struct sn_rest_call *call)
{
    char uid[37] = "";
    struct sonde_error err = {0};
    const struct target *target = call->user;
    struct sonde_process_list *list = sn_sight_hold(call->daemon->sight, &err);
    if (!list) {
        sn_rest_failed(call, &err);
        return;
    }
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->pid == target->pid)
            sn_sight_uid(process, uid);
    }
    sn_sight_release(call->daemon->sight, list);
    if (!uid[0])
        sn_rest_problem(call, 404, "there is no .NET process %u any more", target->pid);
    else if (target->uid[0] && strcmp(uid, target->uid) != 0)
        sn_rest_problem(call, 409,
                        "%u is another process now than the one that was meant: configure another "
                        "recording",
                        target->pid);
    else
        sn_rest_move(call, SN_SEAT_ROADS, enable);
}

static void enable_checked(struct sn_rest_call *call, const struct sn_operation *operation)
{
    struct target *target = malloc(sizeof(*target));
    if (!target) {
        sn_rest_problem(call, 503, "no memory");
        return;
    }
    target->pid = operation->pid;
    memcpy(target->uid, operation->process_uid, sizeof(target->uid));
    call->user = target;
    call->free_user = free;
    sn_rest_move(call, SN_SEAT_WORKER, check_target);
}

static void keep(struct sn_rest_call *call, struct sn_operation *operation)
{
    struct sonde_error err = {0};
    if (sn_operation_keep(operation, &err) == SONDE_OK)
        answer_change(call, operation);
    else if (err.status == SONDE_E_GONE)
        sn_rest_problem(call, 409, "%s", err.text);
    else
        sn_rest_failed(call, &err);
}

void sn_recordings_patch(struct sn_rest_call *call)
{
    enum sn_recording_change change;
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation || !sn_recording_body_change(call, &change) || !sn_recordings_let_in(call))
        return;
    bool is_enabled = change == SN_RECORDING_ENABLE;
    if (change == SN_RECORDING_KEEP) {
        keep(call, operation);
    } else if (is_enabled && operation->pid && operation->state == SN_OPERATION_CONFIGURED) {
        enable_checked(call, operation);
    } else if (is_enabled) {
        enable(call);
    } else {
        sn_operation_stop(operation);
        answer_change(call, operation);
    }
}

/* Back in the roads seat: the store has forgotten it, or could not. */
static void delete_here(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_operation *operation = sn_operation_find(call->daemon, call->user);
    if (!operation)
        return;
    operation->is_going = false;
    if (call->status == 204)
        (void)sn_operation_delete(operation, &err);
}

/* In the store's seat. One that it does not know was never kept. */
static void delete_kept(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_store *store = sn_store_desk_store(call->daemon->store);
    int rc = sn_store_recording_delete(store, call->user, &err);
    call->status = 204;
    if (rc != SONDE_OK && rc != SONDE_E_NOT_FOUND)
        cannot_keep(call, &err);
    sn_rest_move(call, SN_SEAT_ROADS, delete_here);
}

/* From the store first: what it still has comes back. */
void sn_recordings_delete(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation || !sn_recordings_let_in(call))
        return;
    if (call->daemon->store && !sn_operation_is_active(operation)) {
        if (!take_id(call, operation)) {
            sn_rest_problem(call, 503, "no memory");
            return;
        }
        operation->is_going = true;
        sn_rest_move(call, SN_SEAT_STORE, delete_kept);
    } else if (sn_operation_delete(operation, &err) == SONDE_OK) {
        call->status = 204;
    } else {
        sn_rest_problem(call, 409, "%s", err.text);
    }
}
