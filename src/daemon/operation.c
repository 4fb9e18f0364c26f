#include "daemon/operation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/egress.h"
#include "daemon/operation_table.h"
#include "daemon/recordings.h"
#include "daemon/rest_call.h"
#include "daemon/roads.h"
#include "daemon/spool.h"
#include "daemon/store_desk.h"
#include "daemon/workers.h"

#define ENDED_MAX 200u /* of those that are no recordings */
/* A runtime has 64 sessions for everybody who wants one. */
#define RECORDINGS_MAX_OF_ONE 8u
#define LIVE_MAX              16u /* that run: one a process and profile, beside recordings */
#define STOP_PATIENCE_NS      (60 * (uint64_t)SN_NS_PER_SECOND)

const char *sn_operation_state_name(enum sn_operation_state state)
{
    static const char *const names[] = {
        [SN_OPERATION_CONFIGURED] = "Configured", [SN_OPERATION_STARTING] = "Starting",
        [SN_OPERATION_RUNNING] = "Running",       [SN_OPERATION_STOPPING] = "Stopping",
        [SN_OPERATION_SUCCEEDED] = "Succeeded",   [SN_OPERATION_FAILED] = "Failed",
        [SN_OPERATION_CANCELLED] = "Cancelled",
    };
    return names[state];
}

bool sn_operation_is_active(const struct sn_operation *operation)
{
    return operation->state >= SN_OPERATION_STARTING && operation->state <= SN_OPERATION_STOPPING;
}

bool sn_operation_is_enabled(const struct sn_operation *operation)
{
    return sn_operation_is_active(operation) && operation->state != SN_OPERATION_STOPPING;
}

struct sn_operation *sn_operation_first(struct sn_daemon *daemon)
{
    return daemon->operations->first;
}

struct sn_operation *sn_operation_find(struct sn_daemon *daemon, const char *id)
{
    struct sn_operation *operation = daemon->operations->first;
    while (operation && strcmp(operation->id, id) != 0)
        operation = operation->next;
    return operation;
}

static bool has_profile(const struct sn_operation *operation, const char *profile)
{
    const char *own = json_string_value(json_object_get(operation->settings, "profile"));
    return own && strcmp(own, profile) == 0;
}

struct sn_operation *sn_operation_live(struct sn_daemon *daemon, uint32_t pid, const char *uid,
                                       const char *profile)
{
    struct sn_operation *one = daemon->operations->first;
    while (one &&
           !(one->is_live && one->pid == pid && strcmp(one->process_uid, uid) == 0 &&
             has_profile(one, profile) && sn_operation_is_enabled(one) && !one->is_cancelled))
        one = one->next;
    return one;
}

bool sn_operation_has_egress(const struct sn_daemon *daemon, const char *name)
{
    return sn_egress_folder(daemon->options, name) != NULL;
}

/* --- one of them --- */

/* That nobody reads it any more: said by whoever lets go of its file, in any thread, and as often
 * as that happens. The operation may be gone when the note comes. */
struct sn_operation_note {
    struct sn_mailbox_task task;
    _Atomic unsigned reference_count; /* the operation, and the mailbox */
    struct sn_daemon *daemon;
    char id[37];
};

static int make_note(struct sn_operation *operation, struct sonde_error *err)
{
    struct sn_operation_note *note = calloc(1, sizeof(*note));
    if (!note)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an operation");
    atomic_init(&note->reference_count, 1);
    note->daemon = operation->daemon;
    memcpy(note->id, operation->id, sizeof(note->id));
    operation->note = note;
    return SONDE_OK;
}

static void release_note(struct sn_operation_note *note)
{
    if (note && atomic_fetch_sub(&note->reference_count, 1) == 1)
        free(note);
}

void sn_operation_free(struct sn_operation *operation)
{
    if (operation->kind->free)
        operation->kind->free(operation);
    if (operation->artefact)
        sn_artefact_on_alone(operation->artefact, NULL, NULL);
    sn_artefact_release(operation->artefact);
    release_note(operation->note);
    json_decref(operation->settings);
    free(operation->summary);
    free(operation);
}

static void forget(struct sn_operations *operations, struct sn_operation *operation)
{
    struct sn_operation **at = &operations->first;
    while (*at && *at != operation)
        at = &(*at)->next;
    if (*at)
        *at = operation->next;
    sn_operation_free(operation);
}

/* The oldest of those that ended and nobody keeps, when there are too many. */
static void forget_old(struct sn_operations *operations)
{
    struct sn_operation *oldest = NULL;
    size_t count = 0;
    for (struct sn_operation *one = operations->first; one; one = one->next) {
        if (one->is_recording || one->state < SN_OPERATION_SUCCEEDED)
            continue;
        if (!oldest)
            oldest = one;
        count++;
    }
    if (count >= ENDED_MAX)
        forget(operations, oldest);
}

static void append(struct sn_operations *operations, struct sn_operation *operation)
{
    struct sn_operation **at = &operations->first;
    while (*at)
        at = &(*at)->next;
    *at = operation;
}

/* What people type into a file name: letters, digits and the like; nothing that leads elsewhere. */
static void copy_safe(char *to, size_t size, const char *from)
{
    size_t at = 0;
    for (; *from && at + 1 < size; from++) {
        bool is_safe = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                       (*from >= '0' && *from <= '9') || strchr("-_", *from) ||
                       (*from == '.' && at);
        to[at++] = '_';
        if (is_safe)
            to[at - 1] = *from;
    }
    to[at] = 0;
}

/* As dotnet-monitor names them: DATE_TIME_PID.EXTENSION, in UTC. */
static void name_file(struct sn_operation *operation, const struct sn_operation_request *request)
{
    char name[96];
    const char *extension = request->extension ? request->extension : operation->kind->extension;
    const char *dot = *extension ? "." : "";
    if (request->file_name && *request->file_name) {
        copy_safe(name, sizeof(name), request->file_name);
    } else {
        time_t now = (time_t)(operation->created_utc_ns / SN_NS_PER_SECOND);
        struct tm parts = {0};
        char second[24];
        char stamp[32];
        (void)gmtime_r(&now, &parts);
        (void)strftime(second, sizeof(second), "%Y%m%d_%H%M%S", &parts);
        (void)snprintf(stamp, sizeof(stamp), "%s_%03u", second,
                       (unsigned)(operation->created_utc_ns % SN_NS_PER_SECOND / SN_NS_PER_MS));
        if (!*extension)
            (void)snprintf(name, sizeof(name), "core_%s", stamp);
        else if (operation->pid)
            (void)snprintf(name, sizeof(name), "%s_%" PRIu32, stamp, operation->pid);
        else
            (void)snprintf(name, sizeof(name), "%s_machine", stamp);
    }
    (void)snprintf(operation->file_name, sizeof(operation->file_name), "%s%s%.40s", name, dot,
                   extension);
}

/* Kept ones go where the store keeps files, so that they outlive us. */
static const char *folder_of(const struct sn_daemon *daemon, bool is_recording)
{
    struct sn_store *store =
        daemon->store && is_recording ? sn_store_desk_store(daemon->store) : NULL;
    return store ? sn_store_files(store) : daemon->operations->spool;
}

static int make_artefact(struct sn_operation *operation, const char *extension,
                         struct sonde_error *err)
{
    char path[4096];
    int size = snprintf(path, sizeof(path), "%s/%s.%s",
                        folder_of(operation->daemon, operation->is_recording), operation->id,
                        *extension ? extension : "core");
    if (size < 0 || (size_t)size >= sizeof(path))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the path of the state folder is too long");
    bool is_kept = operation->is_recording && operation->daemon->store;
    int rc = sn_artefact_new(path, is_kept, &operation->artefact, err);
    /* A recording without a store goes with us, but not with its first reader. */
    if (rc == SONDE_OK && operation->is_recording && !is_kept) {
        sn_artefact_keep(operation->artefact);
        sn_artefact_drop(operation->artefact);
    }
    return rc;
}

static int make(struct sn_daemon *daemon, const struct sn_operation_request *request,
                struct sn_operation **ret_operation, struct sonde_error *err)
{
    struct sn_operation *operation = calloc(1, sizeof(*operation));
    if (!operation)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an operation");
    operation->kind = request->kind;
    operation->daemon = daemon;
    operation->pid = request->pid;
    sn_text_copy(operation->process_name, sizeof(operation->process_name), request->process_name);
    sn_text_copy(operation->process_uid, sizeof(operation->process_uid), request->process_uid);
    sn_text_copy(operation->owner, sizeof(operation->owner), request->owner);
    sn_text_copy(operation->tags, sizeof(operation->tags), request->tags);
    sn_text_copy(operation->egress, sizeof(operation->egress), request->egress);
    operation->settings = json_incref(request->settings);
    operation->duration_ns = request->duration_ns;
    operation->deadline_ns = UINT64_MAX;
    operation->lease_end_ns = UINT64_MAX;
    operation->lease_ns =
        (uint64_t)json_integer_value(json_object_get(request->settings, "leaseSeconds")) *
        SN_NS_PER_SECOND;
    operation->created_utc_ns = sn_clock_utc_ns();
    operation->is_recording = request->is_recording;
    operation->is_live = request->is_live;
    operation->content_type =
        request->content_type ? request->content_type : request->kind->content_type;
    name_file(operation, request);
    int rc = sn_spool_id(operation->id, err);
    if (rc == SONDE_OK)
        rc = make_note(operation, err);
    if (rc == SONDE_OK)
        rc = make_artefact(operation,
                           request->extension ? request->extension : request->kind->extension, err);
    if (rc != SONDE_OK)
        sn_operation_free(operation);
    else
        *ret_operation = operation;
    return rc;
}

/* --- limits --- */

/* Of one process, or (pid 0) of all. */
static size_t count_active(const struct sn_operations *operations,
                           const struct sn_operation_kind *kind, bool is_recording, uint32_t pid)
{
    size_t count = 0;
    for (const struct sn_operation *one = operations->first; one; one = one->next)
        count += sn_operation_is_active(one) && one->is_recording == is_recording &&
                 !one->is_live && strcmp(one->kind->name, kind->name) == 0 &&
                 (!pid || one->pid == pid);
    return count;
}

static int check_limit(const struct sn_operations *operations, const struct sn_operation_kind *kind,
                       bool is_recording, uint32_t pid, struct sonde_error *err)
{
    if (operations->is_ending)
        return sn_fail(err, SONDE_E_BUSY, 0, "the controller is ending");
    size_t most = is_recording ? kind->recording_max : kind->concurrent_max;
    if (count_active(operations, kind, is_recording, 0) >= most)
        return sn_fail(err, SONDE_E_LIMIT, 0,
                       "%zu operations of kind %s run, which is as many as may: stop one or wait",
                       most, kind->name);
    if (is_recording && pid &&
        count_active(operations, kind, is_recording, pid) >= RECORDINGS_MAX_OF_ONE)
        return sn_fail(err, SONDE_E_LIMIT, 0,
                       "%u recordings of process %" PRIu32
                       " run, which is as many as may: stop one",
                       RECORDINGS_MAX_OF_ONE, pid);
    return SONDE_OK;
}

/* Beside this one; NULL. One that ended is there until its lease is over, and its file with it. */
static int check_live(const struct sn_operations *operations, const struct sn_operation *but,
                      struct sonde_error *err)
{
    size_t count = 0;
    if (operations->is_ending)
        return sn_fail(err, SONDE_E_BUSY, 0, "the controller is ending");
    for (const struct sn_operation *one = operations->first; one; one = one->next)
        count += one->is_live && one != but;
    if (count >= LIVE_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0,
                       "%u live recordings run, which is as many as may: leave a view, and try "
                       "again in half a minute",
                       LIVE_MAX);
    return SONDE_OK;
}

/* What began now would end at once. */
static int check_disk(const struct sn_operations *operations, struct sonde_error *err)
{
    if (!sn_spool_is_full(operations->spool))
        return SONDE_OK;
    errno = ENOSPC;
    return sn_fail_errno(err, "nothing more is recorded");
}

static int check_recordings(const struct sn_operations *operations, struct sonde_error *err)
{
    size_t count = 0;
    for (const struct sn_operation *one = operations->first; one; one = one->next)
        count += one->is_recording && !one->is_live;
    if (count >= SN_RECORDINGS_MAX)
        return sn_fail(err, SONDE_E_LIMIT, 0, "there are %u recordings: delete some",
                       SN_RECORDINGS_MAX);
    return SONDE_OK;
}

/* --- what happens to them --- */

static void told(struct sn_operation *operation)
{
    if (operation->is_recording)
        sn_recordings_changed(operation);
}

/* In the roads thread: nobody reads it any more. */
static void reader_left(void *user)
{
    struct sn_operation_note *note = user;
    struct sn_operation *operation = sn_operation_find(note->daemon, note->id);
    if (operation && sn_operation_is_active(operation))
        sn_operation_cancel(operation);
    else if (operation && operation->artefact)
        sn_artefact_release(SN_TAKE(operation->artefact));
    release_note(note);
}

/* In the thread that let go of it. */
static void on_alone(void *user)
{
    const struct sn_operation *operation = user;
    struct sn_operation_note *note = operation->note;
    (void)atomic_fetch_add(&note->reference_count, 1);
    if (!sn_roads_nudge(note->daemon->roads, &note->task, reader_left, note))
        release_note(note);
}

int sn_operation_enable(struct sn_operation *operation, struct sonde_error *err)
{
    if (operation->state != SN_OPERATION_CONFIGURED)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "it is %s: only what never ran can be enabled",
                       sn_operation_state_name(operation->state));
    int rc = operation->is_live ? check_live(operation->daemon->operations, operation, err)
                                : check_limit(operation->daemon->operations, operation->kind,
                                              operation->is_recording, operation->pid, err);
    if (rc == SONDE_OK && operation->is_recording)
        rc = check_disk(operation->daemon->operations, err);
    if (rc != SONDE_OK)
        return rc;
    operation->state = SN_OPERATION_STARTING;
    sn_operation_renew(operation);
    rc = operation->kind->start(operation, err);
    if (rc != SONDE_OK)
        operation->state = SN_OPERATION_CONFIGURED;
    else
        told(operation);
    return rc;
}

int sn_operation_new(struct sn_daemon *daemon, const struct sn_operation_request *request,
                     struct sn_operation **ret_operation, struct sonde_error *err)
{
    struct sn_operations *operations = daemon->operations;
    struct sn_operation *operation = NULL;
    int rc =
        request->egress && *request->egress && !sn_operation_has_egress(daemon, request->egress)
            ? sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no egress provider '%.64s'",
                      request->egress)
            : sn_operation_table_ride(operations, err);
    if (rc == SONDE_OK && request->is_recording && !request->is_live)
        rc = check_recordings(operations, err);
    if (rc == SONDE_OK && request->is_live)
        rc = check_live(operations, NULL, err);
    else if (rc == SONDE_OK && !request->is_disabled)
        rc = check_limit(operations, request->kind, request->is_recording, request->pid, err);
    if (rc == SONDE_OK)
        rc = make(daemon, request, &operation, err);
    if (rc != SONDE_OK || !operation)
        return rc;
    forget_old(operations);
    append(operations, operation);
    if (!request->is_disabled)
        rc = sn_operation_enable(operation, err);
    else
        told(operation);
    if (rc != SONDE_OK) {
        forget(operations, operation);
        return rc;
    }
    if (!operation->is_recording && !operation->egress[0])
        sn_artefact_on_alone(operation->artefact, on_alone, operation);
    *ret_operation = operation;
    return SONDE_OK;
}

void sn_operation_stop(struct sn_operation *operation)
{
    if (operation->state != SN_OPERATION_STARTING && operation->state != SN_OPERATION_RUNNING)
        return;
    operation->state = SN_OPERATION_STOPPING;
    operation->deadline_ns = sn_clock_deadline(STOP_PATIENCE_NS);
    operation->kind->stop(operation);
    told(operation);
}

void sn_operation_renew(struct sn_operation *operation)
{
    bool is_there =
        operation->is_live ? !operation->is_cancelled : sn_operation_is_active(operation);
    if (operation->lease_ns && is_there)
        operation->lease_end_ns = sn_clock_deadline(operation->lease_ns);
}

int sn_operation_keep(struct sn_operation *operation, struct sonde_error *err)
{
    if (operation->is_cancelled || operation->is_going)
        return sn_fail(err, SONDE_E_GONE, 0, "it is being deleted: nobody had asked for it");
    if (!operation->is_live)
        return SONDE_OK;
    int rc = check_recordings(operation->daemon->operations, err);
    if (rc == SONDE_OK && sn_operation_is_active(operation)) /* it is none of those counted yet */
        rc = check_limit(operation->daemon->operations, operation->kind, true, operation->pid, err);
    if (rc != SONDE_OK)
        return rc;
    operation->is_live = false;
    operation->lease_ns = 0;
    operation->lease_end_ns = UINT64_MAX;
    (void)json_object_del(operation->settings, "live");
    (void)json_object_del(operation->settings, "leaseSeconds");
    told(operation);
    return SONDE_OK;
}

void sn_operation_cut(struct sn_operation *operation, const char *cause)
{
    if (!operation->cause)
        operation->cause = cause;
    sn_operation_stop(operation);
}

void sn_operation_doom(struct sn_operation *operation, const char *cause)
{
    if (operation->is_doomed || operation->is_saving)
        return;
    operation->is_doomed = true;
    operation->cause = cause;
    sn_operation_cancel(operation);
}

void sn_operation_cancel(struct sn_operation *operation)
{
    if (!sn_operation_is_active(operation) || operation->is_cancelled || operation->is_saving)
        return;
    operation->is_cancelled = true;
    operation->kind->cancel(operation);
}

int sn_operation_delete(struct sn_operation *operation, struct sonde_error *err)
{
    if (sn_operation_is_active(operation))
        return sn_fail(err, SONDE_E_BUSY, 0, "it is %s: stop it before deleting it",
                       sn_operation_state_name(operation->state));
    if (operation->is_recording)
        sn_recordings_gone(operation);
    if (operation->artefact)
        sn_artefact_drop(operation->artefact);
    forget(operation->daemon->operations, operation);
    return SONDE_OK;
}

/* --- from its kind --- */

/* Who waits for it hears of it. */
static void answer(struct sn_operation *operation)
{
    struct sn_rest_call *call = SN_TAKE(operation->call);
    if (!call)
        return;
    operation->answer(call, operation);
    sn_rest_finish(call);
}

void sn_operation_running(struct sn_operation *operation)
{
    if (operation->state != SN_OPERATION_STARTING)
        return; /* it was stopped meanwhile */
    operation->state = SN_OPERATION_RUNNING;
    operation->started_utc_ns = sn_clock_utc_ns();
    operation->deadline_ns = operation->duration_ns == UINT64_MAX
                                 ? UINT64_MAX
                                 : sn_clock_deadline(operation->duration_ns);
    if (!operation->kind->is_whole)
        answer(operation);
    told(operation);
}

static void settle(struct sn_operation *operation, enum sn_operation_state state)
{
    operation->state = state;
    operation->is_saving = false;
    operation->deadline_ns = UINT64_MAX;
    if (operation->is_live && operation->is_cancelled)
        operation->lease_end_ns = 0; /* the table deletes it in its next turn */
    operation->ended_utc_ns = sn_clock_utc_ns();
    bool is_good = state == SN_OPERATION_SUCCEEDED;
    if (operation->artefact)
        sn_artefact_end(operation->artefact, is_good ? SONDE_OK : SONDE_E_GONE, operation->message);
    answer(operation);
    told(operation);
    /* Nothing of a failed one is wanted, nor of one that lies elsewhere by now. */
    if (!operation->is_recording && (!is_good || operation->egress[0])) {
        sn_artefact_on_alone(operation->artefact, NULL, NULL);
        sn_artefact_release(SN_TAKE(operation->artefact));
    }
    sn_operation_table_ended(operation->daemon->operations);
}

/* --- to its provider --- */

struct saving {
    struct sn_mailbox_task task; /* to the worker and back */
    struct sn_daemon *daemon;
    char id[37];
    char path[4096];
    char name[160];
    char location[512];
    const char *folder; /* borrows of the options */
    struct sonde_error err;
    int status;
};

static void saved(void *user)
{
    SN_AUTO(sn_free) struct saving *saving = user;
    struct sn_operation *operation = sn_operation_find(saving->daemon, saving->id);
    if (!operation)
        return;
    if (saving->status == SONDE_OK)
        sn_text_copy(operation->location, sizeof(operation->location), saving->location);
    else
        sn_text_copy(operation->message, sizeof(operation->message), saving->err.text);
    operation->status = saving->status;
    settle(operation, saving->status == SONDE_OK ? SN_OPERATION_SUCCEEDED : SN_OPERATION_FAILED);
}

static void save(void *user)
{
    struct saving *saving = user;
    struct sn_egress_order order = {
        .path = saving->path, .folder = saving->folder, .name = saving->name, .id = saving->id};
    saving->status =
        sn_egress_save(&order, saving->location, sizeof(saving->location), &saving->err);
    sn_roads_post(saving->daemon->roads, &saving->task, saved, saving);
}

static bool start_saving(struct sn_operation *operation)
{
    SN_AUTO(sn_free) struct saving *saving = calloc(1, sizeof(*saving));
    if (!saving)
        return false;
    saving->daemon = operation->daemon;
    saving->folder = sn_egress_folder(operation->daemon->options, operation->egress);
    sn_text_copy(saving->id, sizeof(saving->id), operation->id);
    sn_text_copy(saving->path, sizeof(saving->path), sn_artefact_path(operation->artefact));
    sn_text_copy(saving->name, sizeof(saving->name), operation->file_name);
    operation->is_saving = true;
    if (!sn_workers_offer(operation->daemon->workers, &saving->task, save, saving))
        return false;
    (void)SN_TAKE(saving);
    return true;
}

void sn_operation_ended(struct sn_operation *operation, int status, const char *message)
{
    /* One that was cut has what came until then, even if its end found no room. */
    if (operation->is_recording && operation->cause && status < 0 &&
        sn_artefact_size(operation->artefact)) {
        status = SONDE_END;
        message = "";
    }
    bool is_good = status >= 0;
    if (operation->cause && (operation->is_doomed || (is_good && !*message)))
        message = operation->cause;
    sn_text_copy(operation->message, sizeof(operation->message), message);
    operation->status = status;
    if (operation->is_doomed) {
        operation->status = SONDE_E_LIMIT;
        settle(operation, SN_OPERATION_FAILED);
        return;
    }
    if (operation->is_cancelled) {
        settle(operation, SN_OPERATION_CANCELLED);
        return;
    }
    if (is_good && operation->egress[0]) {
        if (start_saving(operation))
            return;
        operation->status = SONDE_E_LIMIT;
        sn_text_copy(operation->message, sizeof(operation->message),
                     "too much is being saved: try again later");
        is_good = false;
    }
    settle(operation, is_good ? SN_OPERATION_SUCCEEDED : SN_OPERATION_FAILED);
}
