/* What dotnet-monitor's routes have in common: how a process is named, how an artefact is asked for
 * and answered, which format an Accept header means. */
#ifndef SN_MONITOR_CALL_H
#define SN_MONITOR_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/route.h"

struct sn_operation_kind;
struct sn_rest_call;
struct sonde_process;

/* Rows of parameters. */
#define SN_MONITOR_PROCESS                                                                 \
    {.name = "pid",                                                                        \
     .kind = SN_PARAMETER_NUMBER,                                                          \
     .min = 0,                                                                             \
     .max = INT32_MAX,                                                                     \
     .summary = "which process"},                                                          \
        {.name = "uid", .kind = SN_PARAMETER_GUID, .summary = "which runtime in it"},      \
    {                                                                                      \
        .name = "name", .kind = SN_PARAMETER_TEXT, .summary = "which process, by its name" \
    }
#define SN_MONITOR_EGRESS                                                                      \
    {.name = "egressProvider",                                                                 \
     .kind = SN_PARAMETER_TEXT,                                                                \
     .summary = "where it is saved (scope control); otherwise it is the answer"},              \
    {                                                                                          \
        .name = "tags", .kind = SN_PARAMETER_TEXT, .summary = "words to find its operation by" \
    }
#define SN_MONITOR_DURATION                                                                  \
    {                                                                                        \
        .name = "durationSeconds", .kind = SN_PARAMETER_NUMBER, .standard = "30", .min = -1, \
        .max = INT32_MAX, .summary = "how long; -1: until it is stopped"                     \
    }

/* An artefact that a request asks for. */
struct sn_monitor_artefact {
    const struct sn_operation_kind *kind;
    const char *extension;    /* NULL: the kind's */
    const char *content_type; /* likewise */
    json_t *settings;         /* taken; NULL: no memory */
};

/* Roads seat. Starts it and answers: the file as it grows with 200, or 202 when it goes to a
 * provider; Location is that of its operation either way. */
void sn_monitor_make(struct sn_rest_call *call, const struct sn_monitor_artefact *artefact);

/* Whether the request has a body that is an object; otherwise it has its problem. */
bool sn_monitor_has_body(struct sn_rest_call *call);

/* A member of an object, whatever the case of its name, as .NET reads them; NULL: there is none. */
json_t *sn_monitor_member(const json_t *object, const char *name);

/* Which of the types, ended by NULL, the client wants: one that it names, by their order, or else
 * one that its patterns allow; the first when it says nothing. -1: none. */
int sn_monitor_choose_type(const struct sn_rest_call *call, const char *const *types);

/* What dotnet-monitor calls a process: its executable's name. `to` needs 128 bytes. */
const char *sn_monitor_process_name(const struct sonde_process *process, char to[128]);

#endif
