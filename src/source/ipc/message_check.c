#include "source/ipc/message_check.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/text.h"
#include "source/ipc/message.h"

#define MOST_PROVIDERS    1000u
#define HIGHEST_LEVEL     5u
#define LARGEST_BUFFER_MB 4096u
#define LONGEST_PATH      4095u /* PATH_MAX without its zero */

static int check_utf8(const char *what, const char *text, struct sonde_error *err)
{
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        uint32_t point;
        bool valid;
        at += sn_text_decode(text + at, size - at, &point, &valid);
        if (!valid)
            return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s is not valid UTF-8 at byte %zu", what,
                           at - 1);
    }
    return SONDE_OK;
}

static int check_text(const char *what, const char *text, struct sonde_error *err)
{
    if (!text || !*text)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s is empty", what);
    return check_utf8(what, text, err);
}

static int check_path(const char *what, const char *path, struct sonde_error *err)
{
    int rc = check_text(what, path, err);
    if (rc != SONDE_OK)
        return rc;
    if (path[0] != '/')
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s '%.200s' is not absolute", what, path);
    if (strlen(path) > LONGEST_PATH)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s is over %u bytes", what, LONGEST_PATH);
    return SONDE_OK;
}

static int check_event_filter(const struct sn_ipc_provider *provider, enum sn_ipc_command command,
                              struct sonde_error *err)
{
    if (!provider->event_id_count && !provider->only_listed)
        return SONDE_OK;
    if (command != SN_IPC_COLLECT_TRACING5)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "provider '%.100s' has an event filter, which %s cannot carry",
                       provider->name, sn_ipc_command_name(command));
    if (!provider->event_id_count)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "the event filter of provider '%.100s' lets no event through",
                       provider->name);
    return SONDE_OK;
}

static int check_provider(const struct sn_ipc_provider *provider, enum sn_ipc_command command,
                          struct sonde_error *err)
{
    int rc = check_text("a provider name", provider->name, err);
    if (rc == SONDE_OK && provider->arguments)
        rc = check_utf8("the arguments of a provider", provider->arguments, err);
    if (rc == SONDE_OK)
        rc = check_event_filter(provider, command, err);
    if (rc != SONDE_OK)
        return rc;
    if (provider->level > HIGHEST_LEVEL)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "provider '%.100s' has level %u, not 0 to %u",
                       provider->name, provider->level, HIGHEST_LEVEL);
    return SONDE_OK;
}

static int check_providers(const struct sn_ipc_collect *collect, enum sn_ipc_command command,
                           struct sonde_error *err)
{
    if (!collect->provider_count || collect->provider_count > MOST_PROVIDERS)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%zu providers, not 1 to %u",
                       collect->provider_count, MOST_PROVIDERS);
    for (size_t i = 0; i < collect->provider_count; i++) {
        int rc = check_provider(&collect->providers[i], command, err);
        if (rc != SONDE_OK)
            return rc;
        for (size_t j = 0; j < i; j++) {
            if (strcasecmp(collect->providers[i].name, collect->providers[j].name) == 0)
                return sn_fail(err, SONDE_E_ARGUMENT, 0, "provider '%.100s' is asked for twice",
                               collect->providers[i].name);
        }
    }
    return SONDE_OK;
}

/* What an older command cannot say must not be asked of it: the caller has to know. */
static int check_rundown_and_stacks(const struct sn_ipc_collect *collect,
                                    enum sn_ipc_command command, struct sonde_error *err)
{
    const char *name = sn_ipc_command_name(command);
    if (!collect->stacks && command < SN_IPC_COLLECT_TRACING3)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s cannot leave out the stacks", name);
    if (!collect->rundown_keyword && command == SN_IPC_COLLECT_TRACING)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s cannot leave out the rundown", name);
    if (collect->rundown_keyword && collect->rundown_keyword != SN_IPC_DEFAULT_RUNDOWN &&
        command < SN_IPC_COLLECT_TRACING4)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%s cannot carry rundown keyword 0x%" PRIx64, name,
                       collect->rundown_keyword);
    return SONDE_OK;
}

static int check_collect(const struct sn_ipc_collect *collect, enum sn_ipc_command command,
                         struct sonde_error *err)
{
    if (!collect->buffer_mb || collect->buffer_mb > LARGEST_BUFFER_MB)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a buffer of %u MB, not 1 to %u",
                       collect->buffer_mb, LARGEST_BUFFER_MB);
    if (collect->format > 1)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "stream format %u is not known", collect->format);
    int rc = check_rundown_and_stacks(collect, command, err);
    return rc == SONDE_OK ? check_providers(collect, command, err) : rc;
}

static int check_dump(const struct sn_ipc_dump *dump, enum sn_ipc_command command,
                      struct sonde_error *err)
{
    if (dump->type < SN_IPC_DUMP_MINI || dump->type > SN_IPC_DUMP_FULL)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "dump type %u, not 1 to 4", dump->type);
    uint32_t known = command == SN_IPC_DUMP
                         ? SN_IPC_DUMP_LOGGING
                         : SN_IPC_DUMP_LOGGING | SN_IPC_DUMP_VERBOSE | SN_IPC_DUMP_CRASH_REPORT;
    if (dump->flags & ~known)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "dump flags 0x%x are not all known to %s",
                       dump->flags, sn_ipc_command_name(command));
    return check_path("the dump path", dump->path, err);
}

static int check_profiler(const struct sn_ipc_profiler *profiler, enum sn_ipc_command command,
                          struct sonde_error *err)
{
    if (sn_ipc_guid_is_zero(&profiler->clsid))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the profiler's class id is zero");
    if (command == SN_IPC_ATTACH_PROFILER && !profiler->timeout_ms)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "the profiler gets no time to attach");
    if (command == SN_IPC_STARTUP_PROFILER && profiler->client_data_size)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a startup profiler gets no client data");
    if (profiler->client_data_size && !profiler->client_data)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "%zu bytes of client data at no address",
                       profiler->client_data_size);
    return check_path("the profiler path", profiler->path, err);
}

static int check_variable(const struct sn_ipc_variable *variable, struct sonde_error *err)
{
    int rc = check_text("the variable's name", variable->name, err);
    if (rc != SONDE_OK)
        return rc;
    if (strchr(variable->name, '='))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "variable name '%.100s' has a '=' in it",
                       variable->name);
    if (!variable->value)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "variable '%.100s' has no value", variable->name);
    return check_utf8("the variable's value", variable->value, err);
}

int sn_ipc_check_request(const struct sn_ipc_request *request, struct sonde_error *err)
{
    enum sn_ipc_command command = request->command;
    switch (command) {
    case SN_IPC_PROCESS_INFO:
    case SN_IPC_PROCESS_INFO2:
    case SN_IPC_PROCESS_INFO3:
    case SN_IPC_RESUME_RUNTIME:
    case SN_IPC_PROCESS_ENVIRONMENT:
    case SN_IPC_DISABLE_PERF_MAP:
    case SN_IPC_STOP_TRACING: return SONDE_OK;
    case SN_IPC_DUMP:
    case SN_IPC_DUMP2:
    case SN_IPC_DUMP3: return check_dump(&request->dump, command, err);
    case SN_IPC_COLLECT_TRACING:
    case SN_IPC_COLLECT_TRACING2:
    case SN_IPC_COLLECT_TRACING3:
    case SN_IPC_COLLECT_TRACING4:
    case SN_IPC_COLLECT_TRACING5: return check_collect(&request->collect, command, err);
    case SN_IPC_ATTACH_PROFILER:
    case SN_IPC_STARTUP_PROFILER: return check_profiler(&request->profiler, command, err);
    case SN_IPC_SET_VARIABLE: return check_variable(&request->variable, err);
    case SN_IPC_APPLY_STARTUP_HOOK: return check_path("the hook path", request->hook_path, err);
    case SN_IPC_ENABLE_PERF_MAP:
        if (request->perf_map >= SN_IPC_PERF_MAP_AND_JITDUMP &&
            request->perf_map <= SN_IPC_PERF_MAP)
            return SONDE_OK;
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "perf map type %u, not 1 to 3", request->perf_map);
    }
    return sn_fail(err, SONDE_E_ARGUMENT, 0, "command 0x%04x is not known", (unsigned)command);
}
