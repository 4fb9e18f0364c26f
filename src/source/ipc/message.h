/* The requests of the .NET diagnostics port: the one encoder, and the strict decoder that proves
 * each of its messages. Layouts and rules: docs/formats/diagnostics-port.md.
 *
 * A malformed request can kill the runtime that reads it, so nothing is sent that did not pass
 * both.
 */
#ifndef SN_IPC_MESSAGE_H
#define SN_IPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/ipc/guid.h"

struct sn_arena;
struct sn_buf;
struct sonde_error;

#define SN_IPC_HEADER_SIZE     20u
#define SN_IPC_LARGEST_MESSAGE 65535u          /* header included: the size field has 16 bits */
#define SN_IPC_MAGIC           "DOTNET_IPC_V1" /* its zero belongs to it: 14 bytes */

/* What `rundown` means to the commands that know it only as yes or no. */
#define SN_IPC_DEFAULT_RUNDOWN 0x80020139u

/* Memory for a decoded request: no message needs more. */
#define SN_IPC_REQUEST_MEMORY (1u << 20)

/* Command set in the high byte, command in the low one. */
enum sn_ipc_command {
    SN_IPC_DUMP = 0x0101,
    SN_IPC_DUMP2 = 0x0102,
    SN_IPC_DUMP3 = 0x0103,
    SN_IPC_STOP_TRACING = 0x0201,
    SN_IPC_COLLECT_TRACING = 0x0202,
    SN_IPC_COLLECT_TRACING2 = 0x0203,
    SN_IPC_COLLECT_TRACING3 = 0x0204,
    SN_IPC_COLLECT_TRACING4 = 0x0205,
    SN_IPC_COLLECT_TRACING5 = 0x0206,
    SN_IPC_ATTACH_PROFILER = 0x0301,
    SN_IPC_STARTUP_PROFILER = 0x0302,
    SN_IPC_PROCESS_INFO = 0x0400,
    SN_IPC_RESUME_RUNTIME = 0x0401,
    SN_IPC_PROCESS_ENVIRONMENT = 0x0402,
    SN_IPC_SET_VARIABLE = 0x0403,
    SN_IPC_PROCESS_INFO2 = 0x0404,
    SN_IPC_ENABLE_PERF_MAP = 0x0405,
    SN_IPC_DISABLE_PERF_MAP = 0x0406,
    SN_IPC_APPLY_STARTUP_HOOK = 0x0407,
    SN_IPC_PROCESS_INFO3 = 0x0408,
};

enum sn_ipc_perf_map {
    SN_IPC_PERF_MAP_AND_JITDUMP = 1,
    SN_IPC_JITDUMP = 2,
    SN_IPC_PERF_MAP = 3,
};

enum sn_ipc_dump_type {
    SN_IPC_DUMP_MINI = 1,
    SN_IPC_DUMP_HEAP = 2,
    SN_IPC_DUMP_TRIAGE = 3,
    SN_IPC_DUMP_FULL = 4,
};

enum sn_ipc_dump_flag {
    SN_IPC_DUMP_LOGGING = 1,
    SN_IPC_DUMP_VERBOSE = 2,      /* not with SN_IPC_DUMP */
    SN_IPC_DUMP_CRASH_REPORT = 4, /* not with SN_IPC_DUMP */
};

struct sn_ipc_provider {
    const char *name;
    const char *arguments; /* "key=value;key=value"; NULL or "": none */
    uint64_t keywords;
    const uint32_t *event_ids; /* CollectTracing5 only; none means every event */
    size_t event_id_count;
    bool only_listed; /* these ids only; else all but these */
    uint32_t level;   /* 0..5 */
};

struct sn_ipc_collect {
    uint32_t buffer_mb;
    uint32_t format;          /* 1 is NetTrace, 0 the older NetPerf */
    uint64_t rundown_keyword; /* 0: none; before CollectTracing4 0 or SN_IPC_DEFAULT_RUNDOWN */
    bool stacks;              /* before CollectTracing3 always true */
    const struct sn_ipc_provider *providers;
    size_t provider_count;
};

struct sn_ipc_dump {
    const char *path; /* as the target sees it */
    uint32_t type;    /* enum sn_ipc_dump_type */
    uint32_t flags;   /* enum sn_ipc_dump_flag */
};

struct sn_ipc_profiler {
    struct sn_ipc_guid clsid;
    const char *path; /* as the target sees it */

    /* AttachProfiler only */
    uint32_t timeout_ms;
    const void *client_data;
    size_t client_data_size;
};

struct sn_ipc_variable {
    const char *name;
    const char *value; /* may be "" */
};

/* Everything it points to is borrowed. */
struct sn_ipc_request {
    enum sn_ipc_command command;
    union { /* by command; those not named here have no parameters */
        struct sn_ipc_collect collect;
        struct sn_ipc_dump dump;
        struct sn_ipc_profiler profiler;
        struct sn_ipc_variable variable;
        const char *hook_path;
        uint32_t perf_map; /* enum sn_ipc_perf_map */
        uint64_t session_id;
    };
};

/* "CollectTracing5"; "unknown command" for a number that is none. */
const char *sn_ipc_command_name(enum sn_ipc_command command);

/* Appends the whole message to `out`. SONDE_E_ARGUMENT says what is wrong with the request,
 * SONDE_E_LIMIT that it does not fit into one message. `out` is unchanged on failure. */
int sn_ipc_encode(const struct sn_ipc_request *request, struct sn_buf *out,
                  struct sonde_error *err);

/* Reads one whole message and accepts it only if every byte is accounted for and sn_ipc_encode
 * would write the same. What *ret_request points to lies in `arena` (SN_IPC_REQUEST_MEMORY
 * suffices) and in `bytes`. */
int sn_ipc_decode_request(const void *bytes, size_t size, struct sn_arena *arena,
                          struct sn_ipc_request *ret_request, struct sonde_error *err);

#endif
