#include "daemon/stack_operation.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "daemon/artefact.h"
#include "daemon/daemon.h"
#include "daemon/roads.h"
#include "daemon/stack_taking.h"
#include "daemon/workers.h"

#define STACKS_AT_A_TIME 1u
#define TEXT_LIMIT       (64u << 20)

/* Belongs to the worker while that is at it; `operation` is the roads thread's. */
struct work {
    struct sn_operation *operation; /* NULL: it is no more */
    struct sn_roads *roads;
    struct sn_stack_taking *taking;
    struct sn_artefact *artefact; /* owns a reference */
    uint32_t pid;
    char format[32];
    struct sn_mailbox_task task; /* to the worker and back */
    atomic_bool is_cancelled;
    int status;
    struct sonde_error err;
};

static void free_job(struct work *work)
{
    sn_artefact_release(work->artefact);
    free(work);
}

/* In the roads thread. */
static void finish(void *user)
{
    struct work *work = user;
    struct sn_operation *operation = work->operation;
    if (operation) {
        operation->user = NULL;
        sn_operation_ended(operation, work->status, work->err.text);
    }
    free_job(work);
}

/* --- in a worker --- */

static bool is_cancelled(void *user)
{
    const struct work *work = user;
    return atomic_load(&work->is_cancelled);
}

static void run(void *user)
{
    struct work *work = user;
    struct sn_buf text = sn_buf_with_limit(TEXT_LIMIT);
    const struct sn_stack_request request = {.pid = work->pid,
                                             .format = work->format,
                                             .is_cancelled = is_cancelled,
                                             .cancel_user = work};
    work->status = sn_stack_taking_write(work->taking, &request, &text, &work->err);
    struct sn_buf_view whole = sn_buf_view(&text);
    if (work->status == SONDE_OK && text.failed)
        work->status = sn_fail(&work->err, SONDE_E_LIMIT, 0, "the stacks are too large");
    else if (work->status == SONDE_OK)
        work->status = sn_artefact_append(work->artefact, whole.text, whole.size, &work->err);
    sn_buf_done(&text);
    sn_roads_post(work->roads, &work->task, finish, work);
}

/* --- in the roads thread --- */

static int start(struct sn_operation *operation, struct sonde_error *err)
{
    const char *format = json_string_value(json_object_get(operation->settings, "format"));
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    work->operation = operation;
    work->roads = operation->daemon->roads;
    work->taking = operation->daemon->stack_taking;
    work->artefact = sn_artefact_hold(operation->artefact);
    work->pid = operation->pid;
    (void)snprintf(work->format, sizeof(work->format), "%s", format ? format : "text");
    if (!sn_workers_offer(operation->daemon->workers, &work->task, run, work)) {
        free_job(work);
        return sn_fail(err, SONDE_E_LIMIT, 0, "too much is under way already");
    }
    operation->user = work;
    sn_operation_running(operation);
    return SONDE_OK;
}

static void cancel(struct sn_operation *operation)
{
    struct work *work = operation->user;
    if (work)
        atomic_store(&work->is_cancelled, true);
}

static void forget(struct sn_operation *operation)
{
    struct work *work = operation->user;
    cancel(operation);
    if (work)
        work->operation = NULL;
    operation->user = NULL;
}

const struct sn_operation_kind sn_stack_operation = {
    .name = "stacks",
    .extension = "stacks.txt",
    .content_type = "text/plain",
    .concurrent_max = STACKS_AT_A_TIME,
    .is_whole = true,
    .start = start,
    .stop = cancel,
    .cancel = cancel,
    .free = forget,
};
