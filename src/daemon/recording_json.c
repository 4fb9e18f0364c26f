#include "daemon/recording_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/operation.h"

#define TEXT_MAX (256u << 10)

static void write_time(struct sn_json *json, const char *key, uint64_t utc_ns)
{
    char text[32];
    sn_json_text(json, key, utc_ns ? sn_clock_rfc3339(utc_ns, text) : NULL);
}

/* JSON that was written before, by us: as it stands. */
static void write_again(struct sn_json *json, const char *key, const char *text)
{
    sn_json_object(json, key);
    size_t size = strlen(text);
    if (size > 2)
        sn_buf_append(json->out, text + 1, size - 2);
    sn_json_close(json);
}

void sn_recording_json_progress(struct sn_json *json, const char *key,
                                struct sn_operation *operation)
{
    if (operation->summary) {
        write_again(json, key, operation->summary);
        return;
    }
    sn_json_object(json, key);
    if (operation->kind->progress)
        operation->kind->progress(operation, json);
    /* One that was cut off in an earlier life: its file is all that is known. */
    if (!operation->user && operation->state != SN_OPERATION_CONFIGURED && operation->artefact)
        sn_json_u64(json, "bytes", sn_artefact_size(operation->artefact));
    sn_json_close(json);
}

static void write_settings(struct sn_json *json, const json_t *settings)
{
    SN_AUTO(sn_free) char *text = json_dumps(settings, JSON_COMPACT);
    if (text && text[0] == '{' && strlen(text) < TEXT_MAX)
        write_again(json, "settings", text);
}

static void write_process(struct sn_json *json, const struct sn_operation *operation)
{
    if (!operation->pid) {
        sn_json_null(json, "process");
        return;
    }
    sn_json_object(json, "process");
    sn_json_u64(json, "pid", operation->pid);
    sn_json_text(json, "name", operation->process_name);
    sn_json_text(json, "uid", operation->process_uid);
    sn_json_close(json);
}

void sn_recording_json_write(struct sn_json *json, struct sn_operation *operation,
                             bool with_settings)
{
    sn_json_object(json, NULL);
    sn_json_text(json, "id", operation->id);
    sn_json_text(json, "kind", operation->kind->name);
    sn_json_text(json, "name", operation->tags);
    sn_json_text(json, "state", sn_operation_state_name(operation->state));
    sn_json_bool(json, "enabled", sn_operation_is_enabled(operation));
    sn_json_bool(json, "live", operation->is_live);
    sn_json_text(json, "message", operation->message);
    write_process(json, operation);
    sn_json_text(json, "owner", operation->owner);
    write_time(json, "createdUtc", operation->created_utc_ns);
    write_time(json, "startedUtc", operation->started_utc_ns);
    write_time(json, "endedUtc", operation->ended_utc_ns);
    sn_json_text(json, "fileName", operation->file_name);
    sn_json_u64(json, "fileBytes", operation->artefact ? sn_artefact_size(operation->artefact) : 0);
    sn_recording_json_progress(json, "progress", operation);
    if (with_settings)
        write_settings(json, operation->settings);
    sn_json_close(json);
}

void sn_recording_json_list(struct sn_buf *to, struct sn_daemon *daemon, size_t most)
{
    size_t count = 0;
    for (const struct sn_operation *one = sn_operation_first(daemon); one; one = one->next)
        count += one->is_recording;
    SN_AUTO(sn_free) struct sn_operation **all = calloc(count + 1, sizeof(struct sn_operation *));
    size_t at = 0;
    for (struct sn_operation *one = sn_operation_first(daemon); all && one; one = one->next) {
        if (one->is_recording)
            all[at++] = one;
    }
    struct sn_json json = sn_json_to(to);
    sn_json_object(&json, NULL);
    sn_json_array(&json, "recordings");
    for (size_t i = 0; i < at && i < most; i++)
        sn_recording_json_write(&json, all[at - 1 - i], false);
    sn_json_close(&json);
    sn_json_close(&json);
}
