#include "daemon/exception_operation.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/exception_formats.h"
#include "daemon/exception_history.h"

#define TEXT_LIMIT           (16u << 20)
#define EXCEPTIONS_AT_A_TIME 1u

struct work {
    struct sn_exception_filter filter; /* borrows of the operation's settings */
    enum sn_exception_format format;
    bool shows_secrets;
    bool is_asking;
};

static void write_shot(struct sn_operation *operation, const struct sn_exception_shot *shot,
                       struct sonde_error *err)
{
    const struct work *work = operation->user;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    sn_exceptions_write(&text, shot, &work->filter, work->format, work->shows_secrets);
    struct sn_buf_view whole = sn_buf_view(&text);
    if (text.failed)
        (void)sn_fail(err, SONDE_E_LIMIT, 0, "the exceptions are too large");
    else
        (void)sn_artefact_append(operation->artefact, whole.text, whole.size, err);
}

static void take(void *user, struct sn_exception_shot *shot)
{
    struct sn_operation *operation = user;
    struct work *work = operation->user;
    struct sonde_error err = {0};
    work->is_asking = false;
    if (shot)
        write_shot(operation, shot, &err);
    else
        (void)sn_fail(&err, SONDE_E_GONE, 0, "the process has ended");
    sn_exception_shot_free(shot);
    sn_operation_ended(operation, err.status, err.text);
}

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    const json_t *settings = operation->settings;
    struct sn_exception_history *history = operation->daemon->exceptions;
    if (!history)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "the 'Exceptions' feature is not enabled");
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
    operation->user = work;
    work->format =
        (enum sn_exception_format)json_integer_value(json_object_get(settings, "format"));
    work->shows_secrets = json_is_true(json_object_get(settings, "secrets"));
    int rc = sn_exception_filter_read(json_object_get(settings, "filter"), &work->filter, err);
    if (rc != SONDE_OK)
        return rc;
    sn_operation_running(operation);
    work->is_asking = true;
    rc = sn_exception_history_ask(history, operation->pid, take, operation, err);
    if (rc != SONDE_OK)
        work->is_asking = false;
    return rc;
}

static void forget(struct sn_operation *operation)
{
    struct work *work = operation->user;
    if (work && work->is_asking)
        sn_exception_history_forget(operation->daemon->exceptions, operation);
    operation->user = NULL;
    free(work);
}

static void cancel(struct sn_operation *operation)
{
    struct work *work = operation->user;
    if (work->is_asking)
        sn_exception_history_forget(operation->daemon->exceptions, operation);
    work->is_asking = false;
    sn_operation_ended(operation, SONDE_OK, "");
}

const struct sn_operation_kind sn_exception_operation = {
    .name = "exceptions",
    .extension = "exceptions.txt",
    .content_type = "text/plain",
    .concurrent_max = EXCEPTIONS_AT_A_TIME,
    .is_whole = true,
    .start = start,
    .stop = cancel,
    .cancel = cancel,
    .free = forget,
};
