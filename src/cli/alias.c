#include "cli/alias.h"

#include <stddef.h>
#include <string.h>

#include "cli/dotnet_counters.h"
#include "cli/dotnet_trace.h"

static const struct {
    const char *name;
    sn_alias_fn *run;
} aliases[] = {
    {"dotnet-trace", sn_dotnet_trace_main},
    {"dotnet-counters", sn_dotnet_counters_main},
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
