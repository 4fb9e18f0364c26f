/* /processes, /process and /env of dotnet-monitor. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/monitor_call.h"
#include "daemon/monitor_tables.h"
#include "daemon/process_filter.h"
#include "daemon/process_json.h"
#include "daemon/rest_call.h"
#include "daemon/sight.h"
#include "sonde/process.h"
#include "sonde/target.h"

#define COMMAND_LINE_MAX (256u << 10)

/* --- /processes --- */

/* The pid of the one that can be the default process; 0: it is none or several. */
static uint32_t find_default(const struct sn_rest_call *call, const struct sonde_process_list *list)
{
    uint32_t pid = 0;
    unsigned count = 0;
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (!sn_process_filter_holds(call->daemon->options, process))
            continue;
        pid = process->pid;
        count++;
    }
    return count == 1 ? pid : 0;
}

static void put_identity(struct sn_json *json, const struct sonde_process *process)
{
    char uid[37];
    char name[128];
    sn_sight_uid(process, uid);
    sn_json_u64(json, "pid", process->pid);
    sn_json_text(json, "uid", uid);
    sn_json_text(json, "name", sn_monitor_process_name(process, name));
}

static void get_processes(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_json json = sn_json_to(&call->out);
    struct sonde_process_list *list = sn_sight_hold(call->daemon->sight, &err);
    if (!list) {
        sn_rest_problem(call, 400, "Unable to enumerate processes: %s", err.text);
        return;
    }
    uint32_t standard = find_default(call, list);
    sn_json_array(&json, NULL);
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (!process->is_reachable)
            continue;
        sn_json_object(&json, NULL);
        put_identity(&json, process);
        sn_json_bool(&json, "isDefault", process->pid == standard);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_sight_release(call->daemon->sight, list);
}

/* --- /process --- */

#define LINE_LIMIT (1u << 20)

static bool choose(struct sn_rest_call *call)
{
    return sn_sight_choose(call, sn_rest_text(call, "pid"), sn_rest_text(call, "uid"),
                           sn_rest_text(call, "name"), &call->pid) == SONDE_OK;
}

static const struct sonde_process *find(const struct sonde_process_list *list, uint32_t pid)
{
    for (size_t i = 0; i < sonde_process_list_count(list); i++) {
        const struct sonde_process *process = sonde_process_list_get(list, i);
        if (process->pid == pid)
            return process;
    }
    return NULL;
}

static void put_process(struct sn_rest_call *call, const struct sonde_process *process)
{
    struct sn_json json = sn_json_to(&call->out);
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(COMMAND_LINE_MAX);
    sn_process_json_command_line(&line, process, call->who.scope);
    sn_json_object(&json, NULL);
    put_identity(&json, process);
    sn_json_text(&json, "commandLine", sn_buf_string(&line));
    sn_json_text(&json, "operatingSystem", "Linux");
    sn_json_text(&json, "processArchitecture", process->architecture);
    sn_json_text(&json, "managedEntryPointAssemblyName", process->name);
    sn_json_close(&json);
}

static void get_process(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    if (!choose(call))
        return;
    struct sonde_process_list *list = sn_sight_hold(call->daemon->sight, &err);
    const struct sonde_process *process = list ? find(list, call->pid) : NULL;
    if (process)
        put_process(call, process);
    else
        sn_rest_problem(call, 400, "Unable to discover a target process.");
    if (list)
        sn_sight_release(call->daemon->sight, list);
}

/* --- /env --- */

#define NAME_LIMIT 4096u

static void put_variable(void *user, const char *variable, size_t size)
{
    struct sn_json *json = user;
    const char *sign = memchr(variable, '=', size);
    char name[NAME_LIMIT];
    if (!sign || sign == variable || (size_t)(sign - variable) >= sizeof(name))
        return;
    size_t length = (size_t)(sign - variable);
    memcpy(name, variable, length);
    name[length] = '\0';
    sn_json_bytes(json, name, sign + 1, size - length - 1);
}

static void get_environment(struct sn_rest_call *call)
{
    struct sonde_error err = {0};
    struct sn_json json = sn_json_to(&call->out);
    if (!choose(call))
        return;
    sn_json_object(&json, NULL);
    int rc = sonde_target_environment(call->pid, put_variable, &json, &err);
    sn_json_close(&json);
    if (rc == SONDE_OK)
        return;
    sn_buf_clear(&call->out);
    sn_rest_problem(call, 400, "Unable to get process environment: %s", err.text);
}

/* --- the table --- */

static const struct sn_parameter process_parameters[] = {SN_MONITOR_PROCESS, {0}};

static const struct sn_response processes_responses[] = {
    {200, "application/json", "ProcessIdentifiers", "the processes that answer"}, {0}};
static const struct sn_response process_responses[] = {
    {200, "application/json", "ProcessInfo", "who it is"}, {0}};
static const struct sn_response environment_responses[] = {
    {200, "application/json", "TextMap", "its variables"}, {0}};

const struct sn_route sn_monitor_process_routes[] = {{.method = "GET",
                                                      .path = "/processes",
                                                      .resource = "processes",
                                                      .scope = SN_SCOPE_READ,
                                                      .seat = SN_SEAT_WORKER,
                                                      .has_head = true,
                                                      .responses = processes_responses,
                                                      .summary = "the .NET processes that answer",
                                                      .handle = get_processes},
                                                     {.method = "GET",
                                                      .path = "/process",
                                                      .resource = "processes",
                                                      .scope = SN_SCOPE_READ,
                                                      .seat = SN_SEAT_WORKER,
                                                      .has_head = true,
                                                      .parameters = process_parameters,
                                                      .responses = process_responses,
                                                      .summary = "one process",
                                                      .handle = get_process},
                                                     {.method = "GET",
                                                      .path = "/env",
                                                      .resource = "env",
                                                      .scope = SN_SCOPE_SECRETS,
                                                      .seat = SN_SEAT_WORKER,
                                                      .parameters = process_parameters,
                                                      .responses = environment_responses,
                                                      .summary = "the environment of a process",
                                                      .handle = get_environment},
                                                     {0}};
