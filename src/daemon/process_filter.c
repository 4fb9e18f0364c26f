#include "daemon/process_filter.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "daemon/monitor_call.h"
#include "daemon/serve.h"
#include "sonde/process.h"

static const char *const keys[] = {"ProcessId", "ProcessName", "CommandLine",
                                   "ManagedEntryPointAssemblyName"};

int sn_process_filter_find(const char *key)
{
    for (int i = 0; i < (int)(sizeof(keys) / sizeof(*keys)); i++) {
        if (strcasecmp(keys[i], key) == 0)
            return i;
    }
    return -1;
}

static bool is_like(const struct sn_process_filter *filter, const char *text)
{
    return filter->is_contained ? strcasestr(text, filter->value) != NULL
                                : strcasecmp(text, filter->value) == 0;
}

static bool holds(const struct sn_process_filter *filter, const struct sonde_process *process)
{
    char text[128];
    switch (filter->key) {
    case SN_PROCESS_ID:
        (void)snprintf(text, sizeof(text), "%u", (unsigned)process->pid);
        return strcmp(text, filter->value) == 0;
    case SN_PROCESS_NAME:
        return is_like(filter, sn_monitor_process_name(process, text)) ||
               is_like(filter, process->name);
    case SN_PROCESS_COMMAND_LINE: return is_like(filter, process->command_line);
    case SN_PROCESS_ASSEMBLY: return is_like(filter, process->name);
    }
    return false;
}

bool sn_process_filter_holds(const struct sn_serve_options *options,
                             const struct sonde_process *process)
{
    for (size_t i = 0; i < options->default_process_count; i++) {
        if (!holds(&options->default_process[i], process))
            return false;
    }
    return process->is_reachable;
}
