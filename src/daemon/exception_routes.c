#include "daemon/exception_routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "daemon/daemon.h"
#include "daemon/exception_history.h"
#include "daemon/rest_call.h"
#include "daemon/route.h"

struct answering {
    struct sn_rest_call *call;
    enum sn_exception_format format;
    struct sn_exception_filter filter;
};

static void answer(void *user, struct sn_exception_shot *shot)
{
    struct answering *answering = user;
    struct sn_rest_call *call = answering->call;
    if (shot) {
        sn_exceptions_write(&call->out, shot, &answering->filter, answering->format,
                            call->who.scope >= SN_SCOPE_SECRETS);
        call->content_type = sn_exception_format_type(answering->format);
    } else {
        sn_rest_problem(call, 404, "the process has ended");
    }
    sn_exception_shot_free(shot);
    free(answering);
    sn_rest_finish(call);
}

static void client_left(struct sn_rest_call *call)
{
    sn_exception_history_forget(call->daemon->exceptions, call->user);
    free(call->user);
    sn_rest_finish(call);
}

void sn_exceptions_answer(struct sn_rest_call *call, uint32_t pid, enum sn_exception_format format,
                          const struct sn_exception_filter *filter)
{
    struct sonde_error err = {0};
    struct answering *answering = calloc(1, sizeof(*answering));
    if (!call->daemon->exceptions || !answering) {
        sn_rest_problem(call, answering ? 404 : 503,
                        answering ? "exceptions are switched off" : "no memory for exceptions");
        free(answering);
        return;
    }
    answering->call = call;
    answering->format = format;
    if (filter)
        answering->filter = *filter;
    if (sn_exception_history_ask(call->daemon->exceptions, pid, answer, answering, &err) ==
        SONDE_OK) {
        sn_rest_park(call, client_left, answering);
        return;
    }
    free(answering);
    sn_rest_failed(call, &err);
}

/* --- the native route --- */

static const struct {
    const char *word;
    enum sn_exception_format format;
} formats[] = {
    {"json", SN_EXCEPTIONS_JSON}, {"ndjson", SN_EXCEPTIONS_NDJSON}, {"text", SN_EXCEPTIONS_TEXT}};

/* False: the client accepts none of them. */
static bool find_format(const struct sn_rest_call *call, enum sn_exception_format *ret_format)
{
    const char *asked = sn_rest_text(call, "format");
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
            const char *type = sn_exception_format_type(formats[i].format);
            bool is_it = asked       ? strcmp(asked, formats[i].word) == 0
                         : pass == 0 ? sn_rest_prefers(call, type)
                                     : sn_rest_accepts(call, type);
            if (is_it) {
                *ret_format = formats[i].format;
                return true;
            }
        }
    }
    return false;
}

static void get_exceptions(struct sn_rest_call *call)
{
    enum sn_exception_format format;
    if (!find_format(call, &format)) {
        sn_rest_problem(call, 406,
                        "exceptions are application/json, application/x-ndjson or text/plain");
        return;
    }
    struct sn_exception_filter filter = {
        .include = {{.exception_type = sn_rest_text(call, "type"),
                     .type_name = sn_rest_text(call, "typeName"),
                     .method_name = sn_rest_text(call, "methodName"),
                     .module_name = sn_rest_text(call, "moduleName")}},
        .include_count = 1,
        .exclude = {{.exception_type = sn_rest_text(call, "excludeType")}},
        .exclude_count = 1};
    sn_exceptions_answer(call, (uint32_t)sn_rest_number(call, "pid"), format, &filter);
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
     .words = "json,ndjson,text"},
    {.name = "type",
     .kind = SN_PARAMETER_TEXT,
     .summary = "only exceptions of this type: System.InvalidOperationException"},
    {.name = "excludeType", .kind = SN_PARAMETER_TEXT, .summary = "none of this type"},
    {.name = "typeName",
     .kind = SN_PARAMETER_TEXT,
     .summary = "only those whose innermost frame is of this type"},
    {.name = "methodName", .kind = SN_PARAMETER_TEXT, .summary = "of this method"},
    {.name = "moduleName", .kind = SN_PARAMETER_TEXT, .summary = "of this module: shop.dll"},
    {.name = NULL},
};

static const struct sn_response responses[] = {
    {200, "application/json,application/x-ndjson,text/plain", "Exceptions",
     "the last exceptions that were thrown, caught or not, the oldest first"},
    {404, "application/problem+json", "Problem", "there is no such process"},
    {406, "application/problem+json", "Problem", "none of the types there are is accepted"},
    {.status = 0},
};

const struct sn_route sn_exception_routes[] = {
    {.method = "GET",
     .path = "/api/v1/processes/{pid}/exceptions",
     .resource = "exceptions",
     .scope = SN_SCOPE_READ,
     .seat = SN_SEAT_ROADS,
     .parameters = parameters,
     .responses = responses,
     .summary = "the last exceptions that were thrown in a process",
     .handle = get_exceptions},
    {.method = NULL},
};
