#include "daemon/recording_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/operation_kinds.h"
#include "daemon/operation_table.h"
#include "daemon/recordings.h"
#include "daemon/roads.h"
#include "daemon/store_desk.h"
#include "daemon/workers.h"
#include "sonde/record.h"

#define TEXTS       9u
#define LOAD_MAX    1000u
#define SUMMARY_MAX (64u << 10)

/* One on its way between the threads, with its texts. */
struct kept {
    struct sn_mailbox_task task; /* to the store; of the first of a list: back */
    struct kept *next;
    struct sn_daemon *daemon;
    struct sn_store_recording recording;
    char *texts[TEXTS]; /* owns */
};

static void free_kept(struct kept *kept)
{
    for (size_t i = 0; kept && i < TEXTS; i++)
        free(kept->texts[i]);
    free(kept);
}

static struct kept *copy(struct sn_daemon *daemon, const struct sn_store_recording *recording)
{
    const char *given[TEXTS] = {recording->id,        recording->kind,  recording->file,
                                recording->file_name, recording->state, recording->settings,
                                recording->summary,   recording->owner, recording->process};
    struct kept *kept = calloc(1, sizeof(*kept));
    for (size_t i = 0; kept && i < TEXTS; i++) {
        kept->texts[i] = strdup(given[i] ? given[i] : "");
        if (!kept->texts[i]) {
            free_kept(kept);
            return NULL;
        }
    }
    if (!kept)
        return NULL;
    char *const *texts = kept->texts;
    kept->daemon = daemon;
    kept->recording = *recording;
    kept->recording.id = texts[0];
    kept->recording.kind = texts[1];
    kept->recording.file = texts[2];
    kept->recording.file_name = texts[3];
    kept->recording.state = texts[4];
    kept->recording.settings = texts[5];
    kept->recording.summary = texts[6];
    kept->recording.owner = texts[7];
    kept->recording.process = texts[8];
    return kept;
}

/* --- there --- */

/* In the store's thread. What it cannot write now it writes later, or says so in /health. */
static void put(void *user)
{
    struct kept *kept = user;
    struct sn_store *store = sn_store_desk_store(kept->daemon->store);
    struct sonde_error err = {0};
    if (store)
        (void)sn_store_recording_put(store, &kept->recording, &err);
    free_kept(kept);
}

static void take_away(void *user)
{
    struct kept *kept = user;
    struct sn_store *store = sn_store_desk_store(kept->daemon->store);
    struct sonde_error err = {0};
    if (store)
        (void)sn_store_recording_delete(store, kept->recording.id, &err);
    free_kept(kept);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* How it fared, and what is to be known of it. */
static void write_summary(struct sn_operation *operation, struct sn_buf *to)
{
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    /* While it runs that would be old when somebody reads it after we were killed. */
    if (operation->kind->progress && !sn_operation_is_active(operation))
        operation->kind->progress(operation, &json);
    sn_json_text(&json, "message", operation->message);
    sn_json_text(&json, "processUid", operation->process_uid);
    sn_json_u64(&json, "startedUtcNs", operation->started_utc_ns);
    sn_json_close(&json);
}

bool sn_recording_store_put(struct sn_operation *operation)
{
    if (!operation->daemon->store || !operation->artefact)
        return true;
    SN_AUTO(sn_free) char *settings = json_dumps(operation->settings, JSON_COMPACT);
    SN_AUTO(sn_buf_done) struct sn_buf summary = sn_buf_with_limit(SUMMARY_MAX);
    write_summary(operation, &summary);
    struct sn_store_recording recording = {
        .id = operation->id,
        .kind = operation->kind->name,
        .file = base_name(sn_artefact_path(operation->artefact)),
        .file_name = operation->file_name,
        .state = sn_operation_state_name(operation->state),
        .settings = settings,
        .summary = sn_buf_string(&summary),
        .owner = operation->owner,
        .pid = operation->pid,
        .process = operation->process_name,
        .created_utc_ns = operation->created_utc_ns,
        /* One that only waits does not run: it may be swept away as those that ended. */
        .ended_utc_ns = operation->state == SN_OPERATION_CONFIGURED ? operation->created_utc_ns
                                                                    : operation->ended_utc_ns,
        .bytes = sn_artefact_size(operation->artefact),
    };
    struct kept *kept = settings && !summary.failed ? copy(operation->daemon, &recording) : NULL;
    if (kept)
        sn_store_desk_post(operation->daemon->store, &kept->task, put, kept);
    return kept != NULL;
}

void sn_recording_store_delete(const struct sn_operation *operation)
{
    struct sn_store_recording recording = {.id = operation->id};
    struct kept *kept = operation->daemon->store ? copy(operation->daemon, &recording) : NULL;
    if (kept)
        sn_store_desk_post(operation->daemon->store, &kept->task, take_away, kept);
}

/* --- and back --- */

static const struct sn_operation_kind *kind_of(const char *name)
{
    if (strcmp(name, sn_trace_operation.name) == 0)
        return &sn_trace_operation;
    if (strcmp(name, sn_upload_operation.name) == 0)
        return &sn_upload_operation;
    return strcmp(name, sn_record_operation.name) == 0 ? &sn_record_operation : NULL;
}

/* What ran when the controller ended did not end well; what was only configured still can. */
static enum sn_operation_state state_of(const char *name)
{
    static const enum sn_operation_state ended[] = {SN_OPERATION_CONFIGURED, SN_OPERATION_SUCCEEDED,
                                                    SN_OPERATION_CANCELLED};
    for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++) {
        if (strcmp(sn_operation_state_name(ended[i]), name) == 0)
            return ended[i];
    }
    return SN_OPERATION_FAILED;
}

/* How it fared, if it came to its end. */
static void fill_summary(struct sn_operation *operation, const struct sn_store_recording *from)
{
    json_t *summary = json_loads(from->summary, JSON_REJECT_DUPLICATES, NULL);
    const char *message = json_string_value(json_object_get(summary, "message"));
    const char *uid = json_string_value(json_object_get(summary, "processUid"));
    (void)snprintf(operation->message, sizeof(operation->message), "%s", message ? message : "");
    (void)snprintf(operation->process_uid, sizeof(operation->process_uid), "%s", uid ? uid : "");
    json_int_t started = json_integer_value(json_object_get(summary, "startedUtcNs"));
    operation->started_utc_ns = started > 0 ? (uint64_t)started : 0;
    (void)json_object_del(summary, "message"); /* these are no progress */
    (void)json_object_del(summary, "processUid");
    (void)json_object_del(summary, "startedUtcNs");
    if (json_object_size(summary) && operation->state != SN_OPERATION_CONFIGURED)
        operation->summary = json_dumps(summary, JSON_COMPACT);
    json_decref(summary);
}

static void fill(struct sn_operation *operation, const struct sn_store_recording *from)
{
    (void)snprintf(operation->id, sizeof(operation->id), "%s", from->id);
    (void)snprintf(operation->file_name, sizeof(operation->file_name), "%s", from->file_name);
    (void)snprintf(operation->owner, sizeof(operation->owner), "%s", from->owner);
    (void)snprintf(operation->process_name, sizeof(operation->process_name), "%s", from->process);
    operation->pid = from->pid;
    operation->state = state_of(from->state);
    operation->created_utc_ns = from->created_utc_ns;
    operation->ended_utc_ns = operation->state == SN_OPERATION_CONFIGURED ? 0 : from->ended_utc_ns;
    operation->duration_ns = UINT64_MAX;
    operation->deadline_ns = UINT64_MAX;
    operation->lease_end_ns = UINT64_MAX;
    operation->is_recording = true;
    operation->content_type = operation->kind->content_type;
    operation->settings = json_loads(from->settings, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(operation->settings)) {
        json_decref(operation->settings);
        operation->settings = json_object();
    }
    operation->lease_ns =
        (uint64_t)json_integer_value(json_object_get(operation->settings, "leaseSeconds")) *
        SN_NS_PER_SECOND;
    const char *name = json_string_value(json_object_get(operation->settings, "name"));
    (void)snprintf(operation->tags, sizeof(operation->tags), "%s", name ? name : "");
    const json_t *duration = json_object_get(operation->settings, "durationSeconds");
    if (json_is_number(duration))
        operation->duration_ns = (uint64_t)(json_number_value(duration) * 1e9);
    fill_summary(operation, from);
}

static void forget(struct sn_operation *operation)
{
    sn_recording_store_delete(operation);
    sn_artefact_drop(operation->artefact);
    sn_operation_free(operation);
}

/* What was live is looked at by nobody any more; of a file that was being sent nobody was told that
 * it had arrived. */
static bool is_over(const struct sn_operation *operation)
{
    return json_is_true(json_object_get(operation->settings, "live")) ||
           (operation->kind == &sn_upload_operation && operation->state != SN_OPERATION_SUCCEEDED);
}

static struct sn_operation *remake(struct sn_daemon *daemon, const struct sn_store_recording *from)
{
    char path[4096];
    struct sonde_error err = {0};
    const struct sn_operation_kind *kind = kind_of(from->kind);
    const struct sn_store *store = sn_store_desk_store(daemon->store);
    struct sn_operation *operation = kind && store ? calloc(1, sizeof(*operation)) : NULL;
    if (!operation)
        return NULL;
    operation->kind = kind;
    operation->daemon = daemon;
    fill(operation, from);
    int size = snprintf(path, sizeof(path), "%s/%s", sn_store_files(store), base_name(from->file));
    if (size < 0 || (size_t)size >= sizeof(path) ||
        sn_artefact_new(path, true, &operation->artefact, &err) != SONDE_OK) {
        sn_operation_free(operation);
        return NULL;
    }
    if (is_over(operation)) {
        forget(operation);
        return NULL;
    }
    if (operation->state != SN_OPERATION_CONFIGURED)
        sn_artefact_end(operation->artefact, SONDE_OK, "");
    return operation;
}

/* A recording of the machine that was cut off left its journal, which can be finished. */
struct repair {
    struct sn_mailbox_task task;
    struct sn_artefact *artefact; /* owns a reference */
    char journal[4096];
    char archive[4096];
};

static void finish_journal(void *user)
{
    struct repair *repair = user;
    struct sonde_error err = {0};
    (void)sonde_journal_finish(repair->journal, repair->archive, &err);
    sn_artefact_grown(repair->artefact);
    sn_artefact_release(repair->artefact);
    free(repair);
}

static void finish_old(const struct sn_operation *operation)
{
    struct stat status;
    struct repair *repair = calloc(1, sizeof(*repair));
    const char *path = sn_artefact_path(operation->artefact);
    size_t size = strlen(path);
    if (!repair || operation->kind != &sn_record_operation || size < 5 ||
        size >= sizeof(repair->archive) || stat(path, &status) == 0) {
        free(repair);
        return;
    }
    memcpy(repair->archive, path, size);
    memcpy(repair->journal, path, size - strlen(".zip"));
    repair->artefact = sn_artefact_hold(operation->artefact);
    if (stat(repair->journal, &status) == 0 && S_ISDIR(status.st_mode) &&
        sn_workers_offer(operation->daemon->workers, &repair->task, finish_journal, repair))
        return;
    sn_artefact_release(repair->artefact);
    free(repair);
}

/* In the roads thread: before those of this life, as they are older. */
static void restore(void *user)
{
    struct kept *kept = user;
    struct sn_operation **at = kept ? &kept->daemon->operations->first : NULL;
    if (kept)
        kept->daemon->operations->tell_ns = 0;
    while (kept) {
        struct kept *next = kept->next;
        struct sn_operation *known = sn_operation_find(kept->daemon, kept->recording.id);
        struct sn_operation *operation = known ? NULL : remake(kept->daemon, &kept->recording);
        if (operation) {
            operation->next = *at;
            *at = operation;
            at = &operation->next;
            finish_old(operation);
        }
        free_kept(kept);
        kept = next;
    }
}

struct loading {
    struct sn_daemon *daemon;
    struct kept *first;
    struct kept **end;
    size_t count;
};

static bool take_one(void *user, const struct sn_store_recording *recording)
{
    struct loading *loading = user;
    struct kept *kept = copy(loading->daemon, recording);
    if (!kept)
        return false;
    *loading->end = kept;
    loading->end = &kept->next;
    if (++loading->count > LOAD_MAX) {
        struct kept *oldest = loading->first;
        loading->first = oldest->next;
        loading->count--;
        free_kept(oldest);
    }
    return true;
}

/* In the store's thread. */
static void load(void *user)
{
    struct sn_daemon *daemon = user;
    struct sonde_error err = {0};
    struct sn_store *store = sn_store_desk_store(daemon->store);
    struct loading loading = {.daemon = daemon};
    const struct sn_store_query query = {.to_ns = UINT64_MAX};
    loading.end = &loading.first;
    if (store && sn_store_recordings(store, &query, take_one, &loading, &err) != SONDE_OK)
        sn_store_desk_when_open(daemon->store, load, daemon);
    if (loading.first)
        sn_roads_post(daemon->roads, &loading.first->task, restore, loading.first);
}

void sn_recording_store_load(struct sn_daemon *daemon)
{
    if (daemon->store)
        sn_store_desk_post(daemon->store, &daemon->operations->loading, load, daemon);
}
