/* A file from elsewhere as a recording that has ended. Roads thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_kinds.h"
#include "daemon/recordings.h"
#include "daemon/rest_call.h"
#include "daemon/store_desk.h"
#include "daemon/upload.h"

/* There is nothing to start or to stop: it ends where it was made. */
static int start(struct sn_operation *operation, struct sonde_error *err)
{
    (void)operation;
    (void)err;
    return SONDE_OK;
}

static void stop(struct sn_operation *operation)
{
    (void)operation;
}

static void progress(struct sn_operation *operation, struct sn_json *json)
{
    const struct sn_upload_facts *facts = operation->user;
    char text[32];
    if (!facts)
        return;
    sn_json_real(json, "durationSeconds", (double)facts->duration_ns / 1e9);
    sn_json_u64(json, "events", facts->event_count);
    sn_json_u64(json, "lost", facts->lost_count);
    sn_json_u64(json, "bytes", facts->byte_count);
    sn_json_u64(json, "damages", facts->damage_count);
    sn_json_text(json, "recordedUtc",
                 facts->start_utc_ns ? sn_clock_rfc3339(facts->start_utc_ns, text) : NULL);
}

static void free_it(struct sn_operation *operation)
{
    free(SN_TAKE(operation->user));
}

const struct sn_operation_kind sn_upload_operation = {
    .name = "upload",
    .extension = "nettrace",
    .content_type = "application/octet-stream",
    .recording_max = 16,
    .start = start,
    .stop = stop,
    .cancel = stop,
    .progress = progress,
    .free = free_it,
};

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

bool sn_upload_is_archive(const struct sn_operation *operation)
{
    return operation->kind == &sn_record_operation ||
           (operation->kind == &sn_upload_operation && ends_with(operation->file_name, ".zip"));
}

/* Without what says its kind: that is added again, as it is. */
static void copy_stem(char to[SN_UPLOAD_NAME_MAX], const char *name)
{
    static const char *const endings[] = {".sonde.zip", ".trace.zip", ".zip", ".nettrace"};
    size_t size = strlen(name);
    memcpy(to, name, size + 1);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t ending = strlen(endings[i]);
        if (size > ending && ends_with(to, endings[i])) {
            to[size - ending] = 0;
            return;
        }
    }
}

/* Into the folder where recordings are. */
static int move_file(struct sn_upload *upload, struct sn_operation *operation,
                     struct sonde_error *err)
{
    struct sn_upload_facts *facts = malloc(sizeof(*facts));
    if (!facts)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory");
    *facts = upload->facts;
    operation->user = facts;
    if (rename(upload->path, sn_artefact_path(operation->artefact)) != 0)
        return sn_fail_errno(err, "it cannot be put where recordings are");
    upload->path[0] = 0;
    sn_artefact_grown(operation->artefact);
    return SONDE_OK;
}

static int make(struct sn_rest_call *call, struct sn_upload *upload,
                struct sn_operation **ret_operation, struct sonde_error *err)
{
    char stem[SN_UPLOAD_NAME_MAX];
    json_t *settings = json_object();
    if (!settings || json_object_set_new(settings, "name", json_string(upload->name)) != 0) {
        json_decref(settings);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory");
    }
    copy_stem(stem, upload->name);
    const struct sn_operation_request request = {
        .kind = &sn_upload_operation,
        .pid = upload->facts.pid,
        .process_name = upload->facts.process_name,
        .owner = call->who.name,
        .tags = upload->name,
        .extension = upload->facts.is_archive ? "sonde.zip" : "nettrace",
        .file_name = stem,
        .settings = settings,
        .duration_ns = UINT64_MAX,
        .is_recording = true,
    };
    int rc = sn_operation_new(call->daemon, &request, ret_operation, err);
    json_decref(settings);
    return rc;
}

/* In the roads seat again. */
static void put_in_place(struct sn_rest_call *call)
{
    struct sn_upload *upload = call->user;
    struct sonde_error err = {0};
    struct sn_operation *operation = sn_operation_find(call->daemon, upload->recording);
    if (!operation) { /* nobody can delete it while it runs */
        sn_rest_problem(call, 409, "it was deleted");
        return;
    }
    int rc = move_file(upload, operation, &err);
    sn_operation_ended(operation, rc,
                       upload->facts.is_cut ? "the file was cut: it ends early" : "");
    if (rc == SONDE_OK) {
        sn_recordings_created(call, operation);
        return;
    }
    (void)sn_operation_delete(operation, &(struct sonde_error){0});
    sn_rest_failed(call, &err);
}

/* In the store's seat. A failure to keep the row shows when the operation has ended. */
static void keep_its_place(struct sn_rest_call *call)
{
    (void)sn_store_commit(sn_store_desk_store(call->daemon->store), NULL);
    sn_rest_move(call, SN_SEAT_ROADS, put_in_place);
}

/* Its row comes first: if we are killed before it has succeeded, the next life finds the file by
 * that, and removes both (daemon/recording_store.c). */
void sn_upload_make_recording(struct sn_rest_call *call)
{
    struct sn_upload *upload = call->user;
    struct sonde_error err = {0};
    struct sn_operation *operation = NULL;
    if (call->is_gone) {
        sn_rest_problem(call, 400, "its sender left");
        return;
    }
    if (!sn_recordings_let_in(call))
        return;
    if (make(call, upload, &operation, &err) != SONDE_OK) {
        sn_rest_failed(call, &err);
        return;
    }
    sn_operation_running(operation);
    (void)snprintf(upload->recording, sizeof(upload->recording), "%s", operation->id);
    if (call->daemon->store)
        sn_rest_move(call, SN_SEAT_STORE, keep_its_place);
    else
        put_in_place(call);
}
