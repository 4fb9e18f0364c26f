/* Recordings as files: as they are, or in another format, which a worker makes into the spool while
 * its reader follows; and what they say, as JSON. */
#include "daemon/recording_routes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/text.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/download_piece.h"
#include "daemon/operation_kinds.h"
#include "daemon/operation_table.h"
#include "daemon/rest_call.h"
#include "daemon/spool.h"
#include "daemon/upload.h"
#include "daemon/workers.h"
#include "sonde/convert.h"
#include "sonde/profile.h"

#define CONVERTED_MAX 32u /* files in the spool for readers: 429 beyond */

enum way {
    AS_IT_IS,
    BESIDE_IT,  /* a file that stands beside a trace */
    BY_PROFILE, /* one of sonde_formats */
    BY_NDJSON,
    BY_NETTRACE, /* 4 or 6 */
    BY_PERFCOLLECT,
};

static const struct format {
    const char *name;
    enum way way;
    const char *extension; /* NULL: that of sonde_formats */
    const char *content_type;
    uint32_t version;
} formats[] = {
    {"nettrace", AS_IT_IS, "", "application/octet-stream", 0},
    {"zip", AS_IT_IS, "", "application/zip", 0},
    {"cpu", BESIDE_IT, "nettrace.cpu", "application/octet-stream", 0},
    {"symbols", BESIDE_IT, "nettrace.symbols", "application/octet-stream", 0},
    {"speedscope", BY_PROFILE, NULL, "application/json", 0},
    {"pprof", BY_PROFILE, NULL, "application/octet-stream", 0},
    {"chrome", BY_PROFILE, NULL, "application/json", 0},
    {"collapsed", BY_PROFILE, NULL, "text/plain; charset=utf-8", 0},
    {"html", BY_PROFILE, NULL, "text/html; charset=utf-8", 0},
    {"ndjson", BY_NDJSON, "ndjson", "application/x-ndjson", 0},
    {"nettrace4", BY_NETTRACE, "4.nettrace", "application/octet-stream", 4},
    {"nettrace6", BY_NETTRACE, "6.nettrace", "application/octet-stream", 6},
    {"perfcollect", BY_PERFCOLLECT, "trace.zip", "application/zip", 0},
};

/* A file on its way to another format. */
struct job {
    struct sn_mailbox_task task; /* to the worker that writes the rest */
    struct sn_daemon *daemon;
    const struct format *format;
    struct sn_artefact *from; /* owns a reference */
    struct sn_artefact *to;   /* owns a reference */
    struct sonde_profile *profile;
    struct sn_download_pieces pieces;
    char title[160]; /* and the beginning of its file's name */
    char view[24];
    char process[128];
    uint64_t from_ns;
    uint64_t to_ns; /* 0: to the end */
};

static void free_job(void *user)
{
    struct job *job = user;
    sn_artefact_release(job->from);
    sn_artefact_release(job->to);
    sonde_profile_free(job->profile);
    sn_download_pieces_done(&job->pieces);
    free(job);
}

/* --- writing into the spool --- */

static void one_less(void *user)
{
    struct sn_operations *operations = user;
    atomic_fetch_sub(&operations->spool_count, 1);
}

static int make_target(struct job *job, struct sonde_error *err)
{
    char id[37];
    char path[4096];
    struct sn_operations *operations = job->daemon->operations;
    int rc = sn_spool_id(id, err);
    if (rc != SONDE_OK)
        return rc;
    int size = snprintf(path, sizeof(path), "%s/%s.out", operations->spool, id);
    if (size < 0 || (size_t)size >= sizeof(path))
        return sn_fail(err, SONDE_E_LIMIT, 0, "the path of the state folder is too long");
    if (atomic_fetch_add(&operations->spool_count, 1) >= CONVERTED_MAX) {
        one_less(operations);
        return sn_fail(err, SONDE_E_LIMIT, 0, "%u converted files are being read: try again later",
                       CONVERTED_MAX);
    }
    rc = sn_artefact_new(path, false, &job->to, err);
    if (rc == SONDE_OK) {
        sn_artefact_on_gone(job->to, one_less, operations);
        sn_download_pieces_begin(&job->pieces, job->to);
    } else {
        one_less(operations);
    }
    return rc;
}

/* In a worker, behind the call, which has its answer and follows. */
static void write_rest(void *user)
{
    struct job *job = user;
    struct sonde_error err = {0};
    const char *path = sn_artefact_path(job->from);
    struct sonde_write_options options = {.size = sizeof(options), .title = job->title};
    int rc = job->format->way == BY_NDJSON
                 ? sonde_convert_ndjson(path, NULL, sn_download_pieces_write, &job->pieces, &err)
                 : sonde_profile_write(job->profile, job->format->name, &options,
                                       sn_download_pieces_write, &job->pieces, &err);
    if (rc == SONDE_E_TRUNCATED)
        rc = SONDE_OK; /* all that is there was written: so it is told of the recording */
    int finished = sn_download_pieces_finish(&job->pieces);
    const char *why = job->pieces.err.status ? job->pieces.err.text : err.text;
    sn_artefact_end(job->to, rc < 0 ? rc : finished, why);
    free_job(job);
}

/* --- in a worker --- */

static int read_profile(struct job *job, struct sonde_error *err)
{
    int view = job->view[0] ? sonde_view_find(job->view) : SONDE_VIEW_CPU;
    struct sonde_profile_options options = {.size = sizeof(options),
                                            .view = view,
                                            .process = job->process[0] ? job->process : NULL,
                                            .from_ns = job->from_ns,
                                            .to_ns = job->to_ns};
    const char *path = sn_artefact_path(job->from);
    int rc = sonde_profile_read(path, &options, &job->profile, err);
    if (rc != SONDE_E_NOT_FOUND || job->view[0])
        return rc;
    *err = (struct sonde_error){0};
    options.view = SONDE_VIEW_WALL; /* nobody asked for CPU time in particular */
    return sonde_profile_read(path, &options, &job->profile, err);
}

/* Formats that are written in any other order than from beginning to end are made before the
 * answer. */
static int convert_whole(struct job *job, struct sonde_error *err)
{
    const char *from = sn_artefact_path(job->from);
    const char *to = sn_artefact_path(job->to);
    int rc = job->format->way == BY_NETTRACE
                 ? sonde_convert_nettrace(from, job->format->version, to, err)
                 : sonde_convert_perfcollect(from, to, err);
    if (rc == SONDE_E_TRUNCATED)
        rc = SONDE_OK;
    if (rc == SONDE_OK)
        sn_artefact_end(job->to, SONDE_OK, "");
    return rc;
}

/* As "sonde convert" calls its file. */
static const char *extension_of(const struct format *format)
{
    size_t count;
    const struct sonde_format *profiles = sonde_formats(&count);
    for (size_t i = 0; !format->extension && i < count; i++) {
        if (strcmp(profiles[i].name, format->name) == 0)
            return profiles[i].extension;
    }
    return format->extension;
}

static void answer(struct sn_rest_call *call, const struct job *job)
{
    call->file = sn_artefact_hold(job->to);
    call->is_trace = job->format->way == BY_NETTRACE;
    call->content_type = job->format->content_type;
    sn_rest_header(call, "Content-Disposition", "attachment; filename=%s.%s", job->title,
                   extension_of(job->format));
}

static void convert(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct job *job = call->user;
    bool is_followed = job->format->way == BY_PROFILE || job->format->way == BY_NDJSON;
    int rc = job->format->way == BY_PROFILE ? read_profile(job, &err) : SONDE_OK;
    if (rc >= 0)
        rc = make_target(job, &err);
    if (rc >= 0 && !is_followed)
        rc = convert_whole(job, &err);
    if (rc < 0) {
        sn_rest_failed(call, &err);
        return;
    }
    answer(call, job);
    if (!is_followed)
        return;
    call->user = NULL; /* the job goes on alone */
    if (!sn_workers_offer(job->daemon->workers, &job->task, write_rest, job)) {
        call->header_count = 0; /* of the file that it would have been */
        sn_rest_header(call, "Retry-After", "5");
        sn_rest_problem(call, 503, "too much is under way: try again later");
        free_job(job);
    }
}

/* --- in the roads seat --- */

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

static bool has_bytes(struct sn_rest_call *call, const struct sn_operation *operation)
{
    if (operation->kind == &sn_record_operation && operation->state < SN_OPERATION_SUCCEEDED)
        sn_rest_problem(call, 409, "it is %s: the archive is made at its end",
                        sn_operation_state_name(operation->state));
    else if (!sn_artefact_size(operation->artefact))
        sn_rest_problem(call, 409, "it is %s and has no data%s%s",
                        sn_operation_state_name(operation->state),
                        operation->message[0] ? ": " : "", operation->message);
    else
        return true;
    return false;
}

/* The name without what its kind adds to it. */
static void copy_title(struct job *job, const struct sn_operation *operation)
{
    sn_text_copy(job->title, sizeof(job->title), operation->file_name);
    size_t size = strlen(job->title);
    const char *extension = sn_upload_is_archive(operation) ? sn_record_operation.extension
                                                            : operation->kind->extension;
    size_t ending = strlen(extension) + 1;
    if (size > ending && strcmp(job->title + size - ending + 1, extension) == 0)
        job->title[size - ending] = 0;
}

static struct job *new_job(struct sn_rest_call *call, const struct sn_operation *operation)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job) {
        sn_rest_problem(call, 503, "no memory");
        return NULL;
    }
    job->daemon = call->daemon;
    job->from = sn_artefact_hold(operation->artefact);
    copy_title(job, operation);
    sn_text_copy(job->view, sizeof(job->view), sn_rest_text(call, "view"));
    sn_text_copy(job->process, sizeof(job->process), sn_rest_text(call, "process"));
    job->from_ns = sn_rest_seconds_ns(call, "from", 0);
    job->to_ns = sn_rest_seconds_ns(call, "to", 0);
    call->user = job;
    call->free_user = free_job;
    return job;
}

/* CPU time by thread, or the names of a process that died: whole when the trace has ended. */
static void answer_beside(struct sn_rest_call *call, const struct sn_operation *operation,
                          const struct format *format)
{
    char path[4096];
    struct stat status;
    struct sonde_error err = {0};
    int size =
        snprintf(path, sizeof(path), "%s.%s", sn_artefact_path(operation->artefact), format->name);
    if (operation->state < SN_OPERATION_SUCCEEDED) {
        sn_rest_problem(call, 409, "it is %s: this file is whole at its end",
                        sn_operation_state_name(operation->state));
        return;
    }
    if (size < 0 || (size_t)size >= sizeof(path) || lstat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || !status.st_size) {
        sn_rest_problem(call, 404, "%s",
                        strcmp(format->name, "cpu") == 0
                            ? "CPU time was not recorded with it"
                            : "there is no file of names: the trace has its own, or has none");
        return;
    }
    if (sn_artefact_new(path, true, &call->file, &err) != SONDE_OK) {
        sn_rest_failed(call, &err);
        return;
    }
    sn_artefact_end(call->file, SONDE_OK, "");
    call->content_type = format->content_type;
    sn_rest_header(call, "Content-Disposition", "attachment; filename=%s.%s", operation->file_name,
                   format->name);
}

static void answer_file(struct sn_rest_call *call, const struct sn_operation *operation,
                        const struct format *format)
{
    call->file = sn_artefact_hold(operation->artefact);
    call->is_trace = !sn_upload_is_archive(operation);
    call->content_type = format->content_type;
    sn_rest_header(call, "Content-Disposition", "attachment; filename=%s", operation->file_name);
}

/* What is compressed cannot be covered on its way out. */
static bool is_raw_archive(const struct format *format)
{
    return format->way == BY_PERFCOLLECT || strcmp(format->name, "zip") == 0;
}

/* A part of it can be had as a profile: a trace cannot be cut without losing what names it. */
static bool is_part_right(struct sn_rest_call *call, const struct format *format)
{
    uint64_t from_ns = sn_rest_seconds_ns(call, "from", 0);
    bool has_end = sn_rest_text(call, "to") != NULL;
    if (format->way != BY_PROFILE && (sn_rest_text(call, "from") || has_end))
        sn_rest_invalid(call, has_end ? "to" : "from",
                        "a part can be had as speedscope, pprof, chrome, collapsed or html only");
    else if (has_end && sn_rest_seconds_ns(call, "to", 0) <= from_ns)
        sn_rest_invalid(call, "to", "'to' is not after 'from'");
    else
        return true;
    return false;
}

void sn_download_get(struct sn_rest_call *call)
{
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation || !has_bytes(call, operation))
        return;
    const char *name = sn_rest_text(call, "format");
    bool is_archive = sn_upload_is_archive(operation);
    const struct format *format = find_format(name ? name : is_archive ? "zip" : "nettrace");
    if (format->way == AS_IT_IS && is_archive != (strcmp(format->name, "zip") == 0)) {
        sn_rest_invalid(call, "format", "this recording is a %s file",
                        is_archive ? "zip" : "nettrace");
        return;
    }
    if (format->way == BY_PERFCOLLECT && !is_archive) {
        sn_rest_invalid(call, "format", "only a recording of kind record has what perfcollect has");
        return;
    }
    if (!is_part_right(call, format))
        return;
    if (is_raw_archive(format) && call->who.scope < SN_SCOPE_SECRETS) {
        sn_rest_problem(call, 403,
                        "such an archive holds the texts of programs as they are, secrets among "
                        "them: take a key of scope 'secrets', or another format, such as "
                        "format=nettrace6, html or ndjson");
        return;
    }
    if (format->way == AS_IT_IS) {
        answer_file(call, operation, format);
        return;
    }
    if (format->way == BESIDE_IT) {
        answer_beside(call, operation, format);
        return;
    }
    struct job *job = new_job(call, operation);
    if (!job)
        return;
    job->format = format;
    job->pieces.hides_secrets = format->way == BY_NDJSON && call->who.scope < SN_SCOPE_SECRETS;
    sn_rest_move(call, SN_SEAT_WORKER, convert);
}
