#include "symbol/runtime_threads.h"

#include <string.h>

struct role {
    const char *prefix; /* of the kernel's name, which is cut at 15 bytes */
    const char *work;
    bool is_tracing;
    bool is_gc;
};

/* The first that fits; the number of an entry is its role. */
static const struct role roles[] = {
    {"\n", "[native code]", false, false}, /* no thread is called so */
    {".NET EventPipe", "[runtime: writing events]", true, false},
    {".NET Server GC", "[runtime: garbage collector]", false, true},
    {".NET BGC", "[runtime: background garbage collector]", false, true},
    {".NET BgGC", "[runtime: background garbage collector]", false, true},
    {".NET Tiered Com", "[runtime: compiling hot methods]", false, false},
    {".NET Tiering", "[runtime: compiling hot methods]", false, false},
    {".NET Finalizer", "[runtime: finalizers]", false, false},
    {".NET SigHandler", "[runtime: signals]", false, false},
    {".NET SynchManag", "[runtime: synchronization]", false, false},
    {".NET Debugger", "[runtime: debugger]", false, false},
    {".NET DebugPipe", "[runtime: debugger]", false, false},
};

unsigned sn_runtime_role(const char *thread_name)
{
    for (unsigned i = 1; i < sizeof(roles) / sizeof(*roles); i++) {
        if (strncmp(thread_name, roles[i].prefix, strlen(roles[i].prefix)) == 0)
            return i;
    }
    return 0;
}

const char *sn_runtime_role_name(unsigned role)
{
    return roles[role].work;
}

bool sn_runtime_role_is_tracing(unsigned role)
{
    return roles[role].is_tracing;
}

bool sn_runtime_role_is_gc(unsigned role)
{
    return roles[role].is_gc;
}
