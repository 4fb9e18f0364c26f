#include "daemon/stack_taking.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"
#include "sonde/stacks.h"

/* Of all processes at once: workers are there for others, too. */
#define TAKING_MAX 4u

/* Stacks from memory take milliseconds: it is mostly enough to wait. By the port they take tenths
 * of a second, of a runtime that hangs ten seconds, and workers do not wait for those. */
#define TURN_NS (1000ull * SN_NS_PER_MS)

struct sn_stack_taking {
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t left;  /* somebody is done */
    uint32_t pids[TAKING_MAX];
    unsigned count;
};

int sn_stack_taking_new(struct sn_stack_taking **ret_taking, struct sonde_error *err)
{
    struct sn_stack_taking *taking = calloc(1, sizeof(*taking));
    if (!taking)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    (void)pthread_mutex_init(&taking->lock, NULL);
    (void)pthread_cond_init(&taking->left, NULL);
    *ret_taking = taking;
    return SONDE_OK;
}

void sn_stack_taking_free(struct sn_stack_taking *taking)
{
    if (!taking)
        return;
    (void)pthread_cond_destroy(&taking->left);
    (void)pthread_mutex_destroy(&taking->lock);
    free(taking);
}

static bool is_taken(const struct sn_stack_taking *taking, uint32_t pid)
{
    for (unsigned i = 0; i < taking->count; i++) {
        if (taking->pids[i] == pid)
            return true;
    }
    return false;
}

static int refuse(const struct sn_stack_taking *taking, uint32_t pid, struct sonde_error *err)
{
    if (is_taken(taking, pid))
        return sn_fail(err, SONDE_E_LIMIT, 0,
                       "stacks of pid %" PRIu32 " are being taken for somebody else; ask again "
                       "in a second",
                       pid);
    return sn_fail(err, SONDE_E_LIMIT, 0,
                   "stacks of %u processes are being taken, which is the most at a time; ask again "
                   "in a second",
                   TAKING_MAX);
}

/* Waits for its turn: two who hold running threads of one process would be in each other's way. */
static int enter(struct sn_stack_taking *taking, uint32_t pid, struct sonde_error *err)
{
    int rc = SONDE_OK;
    int late = 0;
    uint64_t until_ns = sn_clock_monotonic_ns() + TURN_NS;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / SN_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % SN_NS_PER_SECOND)};
    (void)pthread_mutex_lock(&taking->lock);
    while (!late && (taking->count == TAKING_MAX || is_taken(taking, pid)))
        late = pthread_cond_clockwait(&taking->left, &taking->lock, CLOCK_MONOTONIC, &until);
    if (taking->count == TAKING_MAX || is_taken(taking, pid))
        rc = refuse(taking, pid, err);
    else
        taking->pids[taking->count++] = pid;
    (void)pthread_mutex_unlock(&taking->lock);
    return rc;
}

static void leave(struct sn_stack_taking *taking, uint32_t pid)
{
    (void)pthread_mutex_lock(&taking->lock);
    unsigned at = 0;
    while (at < taking->count && taking->pids[at] != pid)
        at++;
    if (at < taking->count)
        taking->pids[at] = taking->pids[--taking->count];
    (void)pthread_cond_broadcast(&taking->left);
    (void)pthread_mutex_unlock(&taking->lock);
}

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

static int append(void *user, const void *bytes, size_t size)
{
    struct sn_buf *out = user;
    sn_buf_append(out, bytes, size);
    return out->failed ? SONDE_E_NOMEM : SONDE_OK; /* not "ask again": it would not be smaller */
}

int sn_stack_taking_write(struct sn_stack_taking *taking, const struct sn_stack_request *request,
                          struct sn_buf *out, struct sonde_error *err)
{
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = NULL;
    const struct sonde_stacks_options options = {.size = sizeof(options),
                                                 .with_lines = request->with_lines,
                                                 .is_cancelled = request->is_cancelled,
                                                 .cancel_user = request->cancel_user,
                                                 .way = request->way,
                                                 .with_native = request->with_native,
                                                 .with_tasks = request->with_tasks,
                                                 .with_locks = request->with_locks};
    int rc = enter(taking, request->pid, err);
    if (rc != SONDE_OK)
        return rc;
    rc = sonde_stacks_take(request->pid, &options, &stacks, err);
    leave(taking, request->pid);
    return rc == SONDE_OK ? sonde_stacks_write(stacks, request->format, append, out, err) : rc;
}

/* --- the native route --- */

static const struct {
    const char *format;
    const char *type;
} types[] = {{"json", "application/json"},
             {"text", "text/plain"},
             {"speedscope", "application/speedscope+json"},
             {"threads", "text/plain"},
             {"tree", "text/plain"},
             {"collapsed", "text/plain"},
             {"dotnet-stack", "text/plain"},
             {"dotnet-monitor-json", "application/json"},
             {"dotnet-monitor-text", "text/plain"},
             {"dotnet-monitor-speedscope", "application/speedscope+json"}};

const char *sn_stack_taking_type(const char *format)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcmp(types[i].format, format) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* What was asked for; else what the client names first of what there is; else JSON. */
static const char *format_of(const struct sn_rest_call *call)
{
    const char *asked = sn_rest_text(call, "format");
    if (asked)
        return asked;
    for (size_t i = 0; i < 3; i++) {
        if (sn_rest_prefers(call, types[i].type))
            return types[i].format;
    }
    for (size_t i = 0; i < 3; i++) {
        if (sn_rest_accepts(call, types[i].type))
            return types[i].format;
    }
    return NULL;
}

static int way_of(const struct sn_rest_call *call)
{
    const char *asked = sn_rest_text(call, "way");
    if (!asked)
        return SONDE_STACKS_BEST;
    return strcmp(asked, "memory") == 0 ? SONDE_STACKS_MEMORY : SONDE_STACKS_PORT;
}

static void get_stacks(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    const char *format = format_of(call);
    if (!format) {
        sn_rest_problem(call, 406,
                        "stacks are application/json, text/plain or application/speedscope+json");
        return;
    }
    const struct sn_stack_request request = {.pid = (uint32_t)sn_rest_number(call, "pid"),
                                             .format = format,
                                             .with_lines = sn_rest_flag(call, "lines"),
                                             .with_native = sn_rest_flag(call, "native"),
                                             .with_tasks = sn_rest_flag(call, "async"),
                                             .with_locks = sn_rest_flag(call, "locks") &&
                                                           way_of(call) != SONDE_STACKS_PORT,
                                             .way = way_of(call)};
    int rc = sn_stack_taking_write(call->daemon->stack_taking, &request, &call->out, &err);
    if (rc != SONDE_OK) {
        sn_rest_failed(call, &err);
        return;
    }
    call->content_type = sn_stack_taking_type(format);
}

static const struct sn_parameter parameters[] = {
    {.name = "pid",
     .kind = SN_PARAMETER_NUMBER,
     .summary = "the process",
     .min = 1,
     .max = INT32_MAX,
     .is_required = true},
    {.name = "format",
     .kind = SN_PARAMETER_WORD,
     .summary = "instead of what Accept says",
     .words = "json,text,threads,tree,speedscope,collapsed,dotnet-stack"},
    {.name = "lines",
     .kind = SN_PARAMETER_FLAG,
     .summary = "with source lines, from portable PDBs where they are at hand",
     .standard = "false"},
    {.name = "native",
     .kind = SN_PARAMETER_FLAG,
     .summary = "with native frames, and threads that have no others",
     .standard = "false"},
    {.name = "async",
     .kind = SN_PARAMETER_FLAG,
     .summary = "with async methods that wait, on no thread, and the thread pool",
     .standard = "false"},
    {.name = "locks",
     .kind = SN_PARAMETER_FLAG,
     .summary = "with who holds and who waits for locks",
     .standard = "true"},
    {.name = "way",
     .kind = SN_PARAMETER_WORD,
     .summary = "memory: read from outside, whatever state the process is in; port: its runtime is "
                "asked; without it the best there is",
     .words = "memory,port"},
    {.name = NULL},
};

static const struct sn_response responses[] = {
    {200, "application/json,text/plain,application/speedscope+json", "Stacks",
     "all threads at one moment; those in the same place together"},
    {404, "application/problem+json", "Problem", "there is no such process"},
    {406, "application/problem+json", "Problem", "none of the types there are is accepted"},
    {429, "application/problem+json", "Problem",
     "stacks of that process are being taken already, and for long"},
    {501, "application/problem+json", "Problem", "its memory cannot be read in the way asked for"},
    {504, "application/problem+json", "Problem", "its runtime does not answer"},
    {.status = 0},
};

const struct sn_route sn_stack_routes[] = {
    {.method = "GET",
     .path = "/api/v1/processes/{pid}/stacks",
     .resource = "stacks",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_WORKER,
     .parameters = parameters,
     .responses = responses,
     .summary = "what every thread of a process does at this moment, stuck or not",
     .handle = get_stacks},
    {.method = NULL},
};
