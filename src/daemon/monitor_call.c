#include "daemon/monitor_call.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/operation.h"
#include "daemon/rest_call.h"
#include "sonde/process.h"

/* Text is shown where it is asked for, everything else is saved. */
static bool is_shown(const struct sn_operation *operation)
{
    return strcmp(operation->content_type, "text/plain") == 0 &&
           strcmp(operation->kind->name, "stacks") != 0;
}

static void answer(struct sn_rest_call *call, struct sn_operation *operation)
{
    sn_operation_answer(call, operation);
    if (call->status >= 300)
        return;
    call->header_count = 0;
    sn_rest_header(call, "Location", "%s/operations/%s", call->base_url, operation->id);
    if (call->status == 200 && !is_shown(operation))
        sn_rest_header(call, "Content-Disposition", "attachment; filename=%s",
                       operation->file_name);
}

/* Nothing leaves by HTTP where the administrator said so. */
static bool may_leave(struct sn_rest_call *call, const char *egress)
{
    if (egress && *egress && call->who.scope < SN_SCOPE_CONTROL) {
        sn_rest_problem(call, 403,
                        "egressProvider needs a key of scope 'control'; the one shown has '%s'",
                        sn_scope_name(call->who.scope));
        return false;
    }
    if (egress && *egress) {
        if (sn_operation_has_egress(call->daemon, egress))
            return true;
        sn_rest_problem(call, 400, "Egress provider '%.64s' does not exist.", egress);
        return false;
    }
    if (call->daemon->options->no_http_egress)
        sn_rest_problem(call, 400, "HTTP egress is not enabled.");
    return !call->daemon->options->no_http_egress;
}

static uint64_t duration_of(const struct sn_rest_call *call)
{
    if (!sn_rest_text(call, "durationSeconds"))
        return UINT64_MAX;
    int64_t seconds = sn_rest_number(call, "durationSeconds");
    return seconds < 0 ? UINT64_MAX : (uint64_t)seconds * SN_NS_PER_SECOND;
}

static void start(struct sn_rest_call *call, const struct sn_monitor_artefact *artefact)
{
    const char *egress = sn_rest_text(call, "egressProvider");
    if (!may_leave(call, egress))
        return;
    const struct sn_operation_target target = {.pid = sn_rest_text(call, "pid"),
                                               .uid = sn_rest_text(call, "uid"),
                                               .name = sn_rest_text(call, "name")};
    const struct sn_operation_request request = {.kind = artefact->kind,
                                                 .owner = call->who.name,
                                                 .tags = sn_rest_text(call, "tags"),
                                                 .egress = egress,
                                                 .extension = artefact->extension,
                                                 .content_type = artefact->content_type,
                                                 .settings = artefact->settings,
                                                 .duration_ns = duration_of(call)};
    sn_operation_call(call, &target, &request, answer);
}

void sn_monitor_make(struct sn_rest_call *call, const struct sn_monitor_artefact *artefact)
{
    json_t *settings = artefact->settings;
    if (settings)
        start(call, artefact);
    else
        sn_rest_problem(call, 500, "no memory for the request");
    json_decref(settings);
}

bool sn_monitor_has_body(struct sn_rest_call *call)
{
    if (!json_is_object(call->body))
        sn_rest_invalid(call, "body", "A non-empty request body is required: a JSON object.");
    return json_is_object(call->body);
}

json_t *sn_monitor_member(const json_t *object, const char *name)
{
    json_t *mutable_object = (json_t *)(uintptr_t)object; /* the library's iterator wants it so */
    json_t *exact = json_object_get(object, name);
    const char *key;
    json_t *value;
    if (exact)
        return exact;
    json_object_foreach(mutable_object, key, value)
    {
        if (strcasecmp(key, name) == 0)
            return value;
    }
    return NULL;
}

int sn_monitor_choose_type(const struct sn_rest_call *call, const char *const *types)
{
    for (int i = 0; types[i]; i++) {
        if (sn_rest_prefers(call, types[i]))
            return i;
    }
    for (int i = 0; types[i]; i++) {
        if (sn_rest_accepts(call, types[i]))
            return i;
    }
    return -1;
}

const char *sn_monitor_process_name(const struct sonde_process *process, char to[128])
{
    const char *line = process->command_line;
    size_t size = strcspn(line, " \t\n");
    size_t start_at = size;
    while (start_at > 0 && line[start_at - 1] != '/')
        start_at--;
    if (start_at == size)
        (void)snprintf(to, 128, "%s", process->name);
    else
        (void)snprintf(to, 128, "%.*s", (int)(size - start_at), line + start_at);
    return to;
}
