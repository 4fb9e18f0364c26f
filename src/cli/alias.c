#include "cli/alias.h"

#include <stddef.h>
#include <string.h>

#include "cli/dotnet_counters.h"
#include "cli/dotnet_gcdump.h"
#include "cli/dotnet_monitor.h"
#include "cli/dotnet_stack.h"
#include "cli/dotnet_trace.h"

static const struct {
    const char *name;
    sn_alias_fn *run;
} aliases[] = {
    {"dotnet-trace", sn_dotnet_trace_main},
    {"dotnet-counters", sn_dotnet_counters_main},
    {"dotnet-stack", sn_dotnet_stack_main},
    {"dotnet-gcdump", sn_dotnet_gcdump_main}, /* says what is not there */
    {"dotnet-monitor", sn_dotnet_monitor_main},
};

sn_alias_fn *sn_alias_find(const char *program)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    const char *name = slash ? slash + 1 : program;
    for (size_t i = 0; name && i < sizeof(aliases) / sizeof(*aliases); i++) {
        if (strcmp(aliases[i].name, name) == 0)
            return aliases[i].run;
    }
    return NULL;
}

/* The word behind "--as", and how many words that takes; NULL: it is not there. */
static const char *find_as(int argc, char **argv, int *ret_at, int *ret_count)
{
    for (int i = 2; i < argc; i++) {
        *ret_at = i;
        *ret_count = strcmp(argv[i], "--as") == 0 && i + 1 < argc ? 2 : 1;
        if (*ret_count == 2)
            return argv[i + 1];
        if (strncmp(argv[i], "--as=", 5) == 0)
            return argv[i] + 5;
    }
    return NULL;
}

sn_alias_fn *sn_alias_serve(int argc, char **argv, int *ret_argc)
{
    static char collect[] = "collect";
    int at;
    int count;
    if (argc < 3 || strcmp(argv[1], "serve") != 0)
        return NULL;
    const char *tool = find_as(argc, argv, &at, &count);
    if (!tool || strcmp(tool, "dotnet-monitor") != 0)
        return NULL;
    argv[1] = collect;
    memmove(&argv[at], &argv[at + count], (size_t)(argc - at - count) * sizeof(*argv));
    argv[argc - count] = NULL;
    *ret_argc = argc - count;
    return sn_dotnet_monitor_main;
}
