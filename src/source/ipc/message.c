#include "source/ipc/message.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/message_check.h"

#define SIZE_OFFSET      14u
#define STREAMING_OUTPUT 0u /* CollectTracing5: to this socket, not to user_events */

const char *sn_ipc_command_name(enum sn_ipc_command command)
{
    switch (command) {
    case SN_IPC_DUMP: return "GenerateCoreDump";
    case SN_IPC_DUMP2: return "GenerateCoreDump2";
    case SN_IPC_DUMP3: return "GenerateCoreDump3";
    case SN_IPC_STOP_TRACING: return "StopTracing";
    case SN_IPC_COLLECT_TRACING: return "CollectTracing";
    case SN_IPC_COLLECT_TRACING2: return "CollectTracing2";
    case SN_IPC_COLLECT_TRACING3: return "CollectTracing3";
    case SN_IPC_COLLECT_TRACING4: return "CollectTracing4";
    case SN_IPC_COLLECT_TRACING5: return "CollectTracing5";
    case SN_IPC_ATTACH_PROFILER: return "AttachProfiler";
    case SN_IPC_STARTUP_PROFILER: return "StartupProfiler";
    case SN_IPC_PROCESS_INFO: return "GetProcessInfo";
    case SN_IPC_RESUME_RUNTIME: return "ResumeRuntime";
    case SN_IPC_PROCESS_ENVIRONMENT: return "GetProcessEnvironment";
    case SN_IPC_SET_VARIABLE: return "SetEnvironmentVariable";
    case SN_IPC_PROCESS_INFO2: return "GetProcessInfo2";
    case SN_IPC_ENABLE_PERF_MAP: return "EnablePerfMap";
    case SN_IPC_DISABLE_PERF_MAP: return "DisablePerfMap";
    case SN_IPC_APPLY_STARTUP_HOOK: return "ApplyStartupHook";
    case SN_IPC_PROCESS_INFO3: return "GetProcessInfo3";
    }
    return "unknown command";
}

static void put_u32_at(struct sn_buf *buf, size_t offset, uint32_t value)
{
    if (!buf->failed)
        memcpy(buf->bytes + offset, &value, sizeof(value));
}

/* A count of UTF-16 units with the terminating zero, then the units. */
static void put_string(struct sn_buf *buf, const char *text)
{
    size_t count_at = buf->size;
    sn_buf_u32(buf, 0);
    sn_text_to_utf16(buf, text, strlen(text));
    sn_buf_u16(buf, 0);
    put_u32_at(buf, count_at, (uint32_t)((buf->size - count_at - 4) / 2));
}

static void put_arguments(struct sn_buf *buf, const char *arguments)
{
    if (arguments && *arguments)
        put_string(buf, arguments);
    else
        sn_buf_u32(buf, 0);
}

static void put_providers(struct sn_buf *buf, const struct sn_ipc_collect *collect,
                          enum sn_ipc_command command)
{
    sn_buf_u32(buf, (uint32_t)collect->provider_count);
    for (size_t i = 0; i < collect->provider_count; i++) {
        const struct sn_ipc_provider *provider = &collect->providers[i];
        sn_buf_u64(buf, provider->keywords);
        sn_buf_u32(buf, provider->level);
        put_string(buf, provider->name);
        put_arguments(buf, provider->arguments);
        if (command != SN_IPC_COLLECT_TRACING5)
            continue;
        sn_buf_u8(buf, provider->only_listed);
        sn_buf_u32(buf, (uint32_t)provider->event_id_count);
        for (size_t j = 0; j < provider->event_id_count && !buf->failed; j++)
            sn_buf_u32(buf, provider->event_ids[j]);
    }
}

static void put_collect(struct sn_buf *buf, const struct sn_ipc_collect *collect,
                        enum sn_ipc_command command)
{
    if (command == SN_IPC_COLLECT_TRACING5)
        sn_buf_u32(buf, STREAMING_OUTPUT);
    sn_buf_u32(buf, collect->buffer_mb);
    sn_buf_u32(buf, collect->format);
    if (command >= SN_IPC_COLLECT_TRACING4)
        sn_buf_u64(buf, collect->rundown_keyword);
    else if (command >= SN_IPC_COLLECT_TRACING2)
        sn_buf_u8(buf, collect->rundown_keyword != 0);
    if (command >= SN_IPC_COLLECT_TRACING3)
        sn_buf_u8(buf, collect->stacks);
    put_providers(buf, collect, command);
}

static void put_dump(struct sn_buf *buf, const struct sn_ipc_dump *dump)
{
    put_string(buf, dump->path);
    sn_buf_u32(buf, dump->type);
    sn_buf_u32(buf, dump->flags);
}

static void put_attach(struct sn_buf *buf, const struct sn_ipc_profiler *profiler)
{
    sn_buf_u32(buf, profiler->timeout_ms);
    sn_buf_append(buf, profiler->clsid.bytes, sizeof(profiler->clsid.bytes));
    put_string(buf, profiler->path);
    sn_buf_u32(buf, (uint32_t)profiler->client_data_size);
    sn_buf_append(buf, profiler->client_data, profiler->client_data_size);
}

static void put_payload(struct sn_buf *buf, const struct sn_ipc_request *request)
{
    switch (request->command) {
    case SN_IPC_PROCESS_INFO:
    case SN_IPC_PROCESS_INFO2:
    case SN_IPC_PROCESS_INFO3:
    case SN_IPC_RESUME_RUNTIME:
    case SN_IPC_PROCESS_ENVIRONMENT:
    case SN_IPC_DISABLE_PERF_MAP: break;
    case SN_IPC_STOP_TRACING: sn_buf_u64(buf, request->session_id); break;
    case SN_IPC_DUMP:
    case SN_IPC_DUMP2:
    case SN_IPC_DUMP3: put_dump(buf, &request->dump); break;
    case SN_IPC_COLLECT_TRACING:
    case SN_IPC_COLLECT_TRACING2:
    case SN_IPC_COLLECT_TRACING3:
    case SN_IPC_COLLECT_TRACING4:
    case SN_IPC_COLLECT_TRACING5: put_collect(buf, &request->collect, request->command); break;
    case SN_IPC_ATTACH_PROFILER: put_attach(buf, &request->profiler); break;
    case SN_IPC_STARTUP_PROFILER:
        sn_buf_append(buf, request->profiler.clsid.bytes, sizeof(request->profiler.clsid.bytes));
        put_string(buf, request->profiler.path);
        break;
    case SN_IPC_SET_VARIABLE:
        put_string(buf, request->variable.name);
        put_string(buf, request->variable.value);
        break;
    case SN_IPC_APPLY_STARTUP_HOOK: put_string(buf, request->hook_path); break;
    case SN_IPC_ENABLE_PERF_MAP: sn_buf_u32(buf, request->perf_map); break;
    }
}

static void put_message(struct sn_buf *buf, const struct sn_ipc_request *request)
{
    sn_buf_append(buf, SN_IPC_MAGIC, sizeof(SN_IPC_MAGIC));
    sn_buf_u16(buf, 0);
    sn_buf_u8(buf, (uint8_t)((unsigned)request->command >> 8));
    sn_buf_u8(buf, (uint8_t)request->command);
    sn_buf_u16(buf, 0);
    put_payload(buf, request);
    uint16_t size = (uint16_t)buf->size;
    if (!buf->failed)
        memcpy(buf->bytes + SIZE_OFFSET, &size, sizeof(size));
}

/* The proof that no message of ours is one of those that kill a runtime. */
static int prove(const struct sn_buf *message, struct sonde_error *err)
{
    struct sn_arena arena = sn_arena_with_limit(SN_IPC_REQUEST_MEMORY);
    struct sn_ipc_request decoded;
    int rc = sn_ipc_decode_request(message->bytes, message->size, &arena, &decoded, err);
    sn_arena_done(&arena);
    return rc;
}

int sn_ipc_encode(const struct sn_ipc_request *request, struct sn_buf *out, struct sonde_error *err)
{
    int rc = sn_ipc_check_request(request, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_buf_done) struct sn_buf message = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    put_message(&message, request);
    if (message.failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "%s does not fit into one message of %u bytes",
                       sn_ipc_command_name(request->command), SN_IPC_LARGEST_MESSAGE);
    rc = prove(&message, err);
    if (rc != SONDE_OK)
        return rc;
    sn_buf_append(out, message.bytes, message.size);
    if (out->failed)
        return sn_fail(err, SONDE_E_LIMIT, 0, "no room for a request of %zu bytes", message.size);
    return SONDE_OK;
}
