/* The named profiles: what people want to see, as providers, keywords and levels. Documented in
 * docs/profiles.md; a test keeps the two alike. */
#include "sonde/provider.h"

#include <stddef.h>

#define RUNTIME    "Microsoft-Windows-DotNETRuntime"
#define PRIVATE    "Microsoft-Windows-DotNETRuntimePrivate"
#define SAMPLER    "Microsoft-DotNETCore-SampleProfiler"
#define TASKS      "System.Threading.Tasks.TplEventSource"
#define DIAGNOSTIC "Microsoft-Diagnostics-DiagnosticSource"

/* Keywords of the runtime's provider. */
#define GC         0x1ull
#define GC_HANDLE  0x2ull
#define BINDER     0x4ull
#define LOADER     0x8ull
#define JIT        0x10ull
#define CONTENTION 0x4000ull
#define EXCEPTION  0x8000ull
#define THREADING  0x10000ull
#define JIT_MAPS   0x20000ull /* where the lines of jitted methods are */
#define TYPE       0x80000ull
#define NAMES      0x1000000ull /* types by name as they first occur */
#define TRANSFER   0x80000000ull
#define TIERING    0x1000000000ull
#define LOOKUPS    0x2000000000ull /* of precompiled code */
#define WAIT       0x40000000000ull
#define SAMPLED    0x80000000000ull /* randomised allocation sampling, .NET 10 */

/* Keywords of the task provider. */
#define TASK_TRANSFER  0x1ull
#define TASK_EVENTS    0x2ull
#define TASK_CAUSALITY 0x8ull
#define TASK_STOPS     0x40ull
#define ACTIVITY_FLOW  0x80ull /* activity ids follow awaits; nearly free */

#define ERROR   2
#define INFO    4
#define VERBOSE 5

/* Methods as they are compiled, with their lines: beside the rundown that a live recording reads.
 */
#define LIVE_NAMES (LOADER | JIT | JIT_MAPS)

/* Methods and modules, so that stacks get names: see docs/profiles.md. */
#define NAMES_RUNDOWN 0x80020139ull
#define GC_RUNDOWN    0x1ull

static const struct sonde_provider common[] = {
    {RUNTIME, GC | BINDER | LOADER | JIT | EXCEPTION | THREADING | JIT_MAPS | TIERING, INFO, NULL,
     NULL, 0, false},
};
static const struct sonde_provider light[] = {
    {RUNTIME, GC | CONTENTION | EXCEPTION | THREADING, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider sampled[] = {
    {SAMPLER, 0, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider cpu_sampling[] = {
    {SAMPLER, 0, INFO, NULL, NULL, 0, false},
    {RUNTIME, 0x14C14FCCBDull, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider gc_verbose[] = {
    {RUNTIME, GC | GC_HANDLE | EXCEPTION, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider gc_collect[] = {
    {RUNTIME, GC, INFO, NULL, NULL, 0, false},
    {PRIVATE, GC, INFO, NULL, NULL, 0, false},
};

/* Commands with their text, database and server; not the connection string, which carries
 * passwords. */
#define COMMAND_FIELDS                                                                         \
    "CommandText=Command.CommandText;Timeout=Command.CommandTimeout;Type=Command.CommandType;" \
    "Database=Command.Connection.Database;DataSource=Command.Connection.DataSource"
static const struct sonde_provider database[] = {
    {TASKS, ACTIVITY_FLOW, INFO, NULL, NULL, 0, false},
    {DIAGNOSTIC, 0x3, VERBOSE,
     "FilterAndPayloadSpecs=\""
     "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:-" COMMAND_FIELDS
     "\r\n"
     "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter@Activity1Stop:\r\n"
     "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandBefore@Activity1Start:-" COMMAND_FIELDS
     "\r\n"
     "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandAfter@Activity1Stop:\r\n"
     "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting"
     "@Activity2Start:-" COMMAND_FIELDS "\r\n"
     "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted"
     "@Activity2Stop:\"",
     NULL, 0, false},
};

static const struct sonde_provider aspnet[] = {
    {"Microsoft.AspNetCore.Hosting", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"Microsoft-AspNetCore-Server-Kestrel", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {TASKS, ACTIVITY_FLOW, INFO, NULL, NULL, 0, false},
    {RUNTIME, EXCEPTION, ERROR, NULL, NULL, 0, false},
};
static const struct sonde_provider http[] = {
    {"System.Net.Http", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"System.Net.Sockets", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"System.Net.NameResolution", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"System.Net.Security", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {TASKS, ACTIVITY_FLOW, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider alloc[] = {
    {RUNTIME, GC | TYPE | NAMES | SAMPLED, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider exceptions[] = {
    {RUNTIME, EXCEPTION, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider locks[] = {
    {RUNTIME, CONTENTION, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider threadpool[] = {
    {RUNTIME, THREADING | TRANSFER, INFO, NULL, NULL, 0, false},
    {"System.Diagnostics.Eventing.FrameworkEventSource", 0x2, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider async[] = {
    /* verbose: only there the ends of waits are told */
    {TASKS, TASK_TRANSFER | TASK_EVENTS | TASK_CAUSALITY | TASK_STOPS | ACTIVITY_FLOW, VERBOSE,
     NULL, NULL, 0, false},
};
static const struct sonde_provider jit[] = {
    {RUNTIME, JIT | TIERING | LOOKUPS, VERBOSE, NULL, NULL, 0, false},
};
/* Method names as they come, and their lines: nobody waits for the rundown. */
static const struct sonde_provider live[] = {
    {SAMPLER, 0, INFO, NULL, NULL, 0, false},
    {RUNTIME, GC | LOADER | JIT | CONTENTION | EXCEPTION | THREADING | JIT_MAPS | SAMPLED, VERBOSE,
     NULL, NULL, 0, false},
    {"Microsoft.AspNetCore.Hosting", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"System.Net.Http", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {TASKS, ACTIVITY_FLOW, INFO, NULL, NULL, 0, false},
};
/* The parts of it, one for what each view of the page shows: nobody pays for what nobody looks at.
 * A runtime names the methods that it compiles at level VERBOSE only. */
static const struct sonde_provider live_cpu[] = {
    {SAMPLER, 0, INFO, NULL, NULL, 0, false},
    {RUNTIME, LIVE_NAMES, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider live_alloc[] = {
    {RUNTIME, LIVE_NAMES | GC | SAMPLED, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider live_exceptions[] = {
    {RUNTIME, LIVE_NAMES | EXCEPTION, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider live_locks[] = {
    {RUNTIME, LIVE_NAMES | CONTENTION, VERBOSE, NULL, NULL, 0, false},
};
static const struct sonde_provider live_gc[] = {
    {RUNTIME, GC, INFO, NULL, NULL, 0, false},
};
static const struct sonde_provider live_requests[] = {
    {"Microsoft.AspNetCore.Hosting", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {"System.Net.Http", UINT64_MAX, INFO, NULL, NULL, 0, false},
    {TASKS, ACTIVITY_FLOW, INFO, NULL, NULL, 0, false},
    {RUNTIME, EXCEPTION, ERROR, NULL, NULL, 0, false},
};
static const struct sonde_provider waits[] = {
    {RUNTIME, WAIT | CONTENTION, VERBOSE, NULL, NULL, 0, false},
};

#define PROFILE(name, summary, providers, rundown)                                  \
    {                                                                               \
        name, summary, providers, sizeof(providers) / sizeof(*(providers)), rundown \
    }

static const struct sonde_trace_profile profiles[] = {
    PROFILE("dotnet-common",
            "GC, JIT, loader, exceptions, thread pool, tiering: cheap, the default", common,
            NAMES_RUNDOWN),
    PROFILE("dotnet-sampled-thread-time",
            "stacks of all managed threads, about a thousand times a second", sampled,
            NAMES_RUNDOWN),
    PROFILE("cpu-sampling", "the old default: sampled stacks and the runtime's usual events",
            cpu_sampling, NAMES_RUNDOWN),
    PROFILE("gc-verbose", "collections, sampled allocations, handles", gc_verbose, NAMES_RUNDOWN),
    PROFILE("gc-collect", "collections only; the cheapest, for hours", gc_collect, GC_RUNDOWN),
    PROFILE("database", "ADO.NET and Entity Framework commands", database, NAMES_RUNDOWN),
    PROFILE("light", "collections, exceptions, contention, thread pool: beside a recording", light,
            NAMES_RUNDOWN),
    PROFILE("aspnet",
            "requests of ASP.NET Core and Kestrel, with activity ids, and exceptions thrown",
            aspnet, NAMES_RUNDOWN),
    PROFILE("http", "outgoing HTTP, sockets, name look-ups and TLS", http, NAMES_RUNDOWN),
    PROFILE("alloc", "allocations by type and site, sampled", alloc, NAMES_RUNDOWN),
    PROFILE("exceptions", "every exception: thrown, caught, filtered, with stacks", exceptions,
            NAMES_RUNDOWN),
    PROFILE("locks", "lock contention: who waited, how long, for whom", locks, NAMES_RUNDOWN),
    PROFILE("threadpool", "thread pool: threads, work items, starvation", threadpool,
            NAMES_RUNDOWN),
    PROFILE("async", "tasks and awaits: begun, waited for, completed; costly, for seconds", async,
            NAMES_RUNDOWN),
    PROFILE("jit", "what is compiled, how long it takes, tiers; for seconds", jit, NAMES_RUNDOWN),
    PROFILE("waits", "blocking waits on handles and locks, .NET 9 and later; costly", waits,
            NAMES_RUNDOWN),
    PROFILE("live",
            "samples, allocations, collections, exceptions, locks, requests: what the page shows",
            live, NAMES_RUNDOWN),
    PROFILE("live-cpu", "of live: samples, for flame graphs of CPU and wall time", live_cpu,
            NAMES_RUNDOWN),
    PROFILE("live-alloc", "of live: sampled allocations", live_alloc, NAMES_RUNDOWN),
    PROFILE("live-exceptions", "of live: exceptions", live_exceptions, NAMES_RUNDOWN),
    PROFILE("live-locks", "of live: lock contention", live_locks, NAMES_RUNDOWN),
    PROFILE("live-gc", "of live: collections", live_gc, GC_RUNDOWN),
    PROFILE("live-requests", "of live: requests that come in and go out", live_requests,
            NAMES_RUNDOWN),
};

const struct sonde_trace_profile *sonde_trace_profiles(size_t *ret_count)
{
    *ret_count = sizeof(profiles) / sizeof(*profiles);
    return profiles;
}
