#include "daemon/recordings.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_table.h"
#include "daemon/recording_body.h"
#include "daemon/recording_json.h"
#include "daemon/recording_routes.h"
#include "daemon/recording_store.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
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
        (void)sn_roads_post(daemon->roads, tell_now, daemon->operations);
}

void sn_recordings_open(struct sn_daemon *daemon, struct sn_operations *operations)
{
    const struct sn_topic_options options = {
        .name = "recordings", .keep = 1, .wanted = topic_wanted, .user = daemon};
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

void sn_recordings_changed(struct sn_operation *operation)
{
    operation->daemon->operations->tell_ns = 0;
    if (operation->state == SN_OPERATION_STARTING || operation->state == SN_OPERATION_STOPPING)
        return;
    sn_recording_store_put(operation);
    if (operation->state == SN_OPERATION_SUCCEEDED)
        sn_recording_store_profile(operation);
}

void sn_recordings_gone(struct sn_operation *operation)
{
    operation->daemon->operations->tell_ns = 0;
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
    if (operation && operation->is_recording && !is_swept(operation))
        return operation;
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

/* --- handlers --- */

static void created(struct sn_rest_call *call, struct sn_operation *operation)
{
    call->status = 201;
    sn_rest_header(call, "Location", "%s/api/v1/recordings/%s", call->base_url, operation->id);
    show(call, operation);
}

void sn_recordings_post(struct sn_rest_call *call)
{
    struct sn_recording_body body;
    if (sn_recording_body_read(call, &body))
        sn_operation_call(call, &body.target, &body.request, created);
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

static void enable(struct sn_rest_call *call, struct sn_operation *operation)
{
    struct sonde_error err = {0};
    if (sn_operation_is_active(operation))
        return;
    if (operation->state != SN_OPERATION_CONFIGURED)
        sn_rest_problem(call, 409, "it is %s: a recording runs once; configure another",
                        sn_operation_state_name(operation->state));
    else if (sn_operation_enable(operation, &err) != SONDE_OK)
        sn_rest_failed(call, &err);
}

void sn_recordings_patch(struct sn_rest_call *call)
{
    bool is_enabled;
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation || !sn_recording_body_enabled(call, &is_enabled))
        return;
    if (is_enabled)
        enable(call, operation);
    else
        sn_operation_stop(operation);
    if (call->status == 200)
        show(call, operation);
}

void sn_recordings_delete(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation)
        return;
    if (sn_operation_delete(operation, &err) == SONDE_OK)
        call->status = 204;
    else
        sn_rest_problem(call, 409, "%s", err.text);
}
