/* The strict decoder of requests: the other half of message.h. */
#include "source/ipc/message.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/message_check.h"

/* The least one provider takes on the wire: keywords, level, a name of one unit, no arguments. */
#define SMALLEST_PROVIDER 24u

/* A message being taken apart. Whatever is not exactly as the encoder writes it marks the cursor.
 */
struct reading {
    struct sn_cursor cur;
    struct sn_arena *arena;
    bool no_memory;
};

static void *take_memory(struct reading *reading, size_t size)
{
    void *memory = sn_arena_alloc(reading->arena, size);
    if (!memory) {
        reading->no_memory = true;
        reading->cur.bad = true;
    }
    return memory;
}

/* True when UTF-8 and back gives the same units: no lone surrogate, no zero inside. */
static bool is_round_trip(const char *text, size_t size, const uint8_t *units, size_t unit_count)
{
    SN_AUTO(sn_buf_done) struct sn_buf again = sn_buf_with_limit(SN_IPC_LARGEST_MESSAGE);
    if (memchr(text, 0, size))
        return false;
    sn_text_to_utf16(&again, text, size);
    return !again.failed && again.size == unit_count * 2 &&
           (!again.size || memcmp(again.bytes, units, again.size) == 0);
}

static const char *keep_text(struct reading *reading, const uint8_t *units, size_t unit_count)
{
    SN_AUTO(sn_buf_done)
    struct sn_buf text = sn_buf_with_limit((size_t)SN_IPC_LARGEST_MESSAGE * 2);
    sn_text_from_utf16(&text, units, unit_count);
    if (text.failed ||
        (text.size && !is_round_trip((const char *)text.bytes, text.size, units, unit_count))) {
        reading->cur.bad = true;
        return "";
    }
    char *kept = sn_arena_copy(reading->arena, text.bytes, text.size);
    if (!kept) {
        reading->no_memory = true;
        reading->cur.bad = true;
        return "";
    }
    return kept;
}

static const char *read_string(struct reading *reading)
{
    uint32_t count = sn_cursor_u32(&reading->cur);
    if (!count || count > sn_cursor_left(&reading->cur) / 2) {
        reading->cur.bad = true;
        return "";
    }
    const uint8_t *units = sn_cursor_bytes(&reading->cur, (size_t)count * 2);
    if (!units || units[count * 2 - 2] || units[count * 2 - 1]) {
        reading->cur.bad = true;
        return "";
    }
    return keep_text(reading, units, count - 1);
}

/* The encoder writes a name of at least one unit; only a variable's value may be empty. */
static const char *read_filled_string(struct reading *reading)
{
    const char *text = read_string(reading);
    if (!*text)
        reading->cur.bad = true;
    return text;
}

static const char *read_arguments(struct reading *reading)
{
    struct sn_cursor ahead = reading->cur;
    if (sn_cursor_u32(&ahead) == 0 && !ahead.bad) {
        reading->cur = ahead;
        return NULL;
    }
    return read_filled_string(reading);
}

static bool read_bool(struct reading *reading)
{
    uint8_t byte = sn_cursor_u8(&reading->cur);
    if (byte > 1)
        reading->cur.bad = true;
    return byte == 1;
}

static void read_event_filter(struct reading *reading, struct sn_ipc_provider *provider)
{
    provider->only_listed = read_bool(reading);
    uint32_t count = sn_cursor_u32(&reading->cur);
    if (count > sn_cursor_left(&reading->cur) / sizeof(uint32_t))
        reading->cur.bad = true;
    if (reading->cur.bad || !count)
        return;
    uint32_t *ids = take_memory(reading, count * sizeof(*ids));
    for (uint32_t i = 0; ids && i < count; i++)
        ids[i] = sn_cursor_u32(&reading->cur);
    provider->event_ids = ids;
    provider->event_id_count = count;
}

static void read_providers(struct reading *reading, enum sn_ipc_command command,
                           struct sn_ipc_collect *collect)
{
    uint32_t count = sn_cursor_u32(&reading->cur);
    if (count > sn_cursor_left(&reading->cur) / SMALLEST_PROVIDER)
        reading->cur.bad = true;
    if (reading->cur.bad)
        return;
    struct sn_ipc_provider *providers = take_memory(reading, count * sizeof(*providers));
    for (uint32_t i = 0; i < count && !reading->cur.bad; i++) {
        providers[i].keywords = sn_cursor_u64(&reading->cur);
        providers[i].level = sn_cursor_u32(&reading->cur);
        providers[i].name = read_filled_string(reading);
        providers[i].arguments = read_arguments(reading);
        if (command == SN_IPC_COLLECT_TRACING5)
            read_event_filter(reading, &providers[i]);
    }
    collect->providers = providers;
    collect->provider_count = count;
}

static void read_collect(struct reading *reading, enum sn_ipc_command command,
                         struct sn_ipc_collect *collect)
{
    struct sn_cursor *cur = &reading->cur;
    if (command == SN_IPC_COLLECT_TRACING5 && sn_cursor_u32(cur) != 0)
        cur->bad = true; /* user_events: the server would then wait for a descriptor */
    collect->buffer_mb = sn_cursor_u32(cur);
    collect->format = sn_cursor_u32(cur);
    collect->rundown_keyword = SN_IPC_DEFAULT_RUNDOWN;
    collect->stacks = true;
    if (command >= SN_IPC_COLLECT_TRACING4)
        collect->rundown_keyword = sn_cursor_u64(cur);
    else if (command >= SN_IPC_COLLECT_TRACING2 && !read_bool(reading))
        collect->rundown_keyword = 0;
    if (command >= SN_IPC_COLLECT_TRACING3)
        collect->stacks = read_bool(reading);
    read_providers(reading, command, collect);
}

static void read_clsid(struct reading *reading, struct sn_ipc_profiler *profiler)
{
    const uint8_t *bytes = sn_cursor_bytes(&reading->cur, sizeof(profiler->clsid.bytes));
    if (bytes)
        memcpy(profiler->clsid.bytes, bytes, sizeof(profiler->clsid.bytes));
}

static void read_attach(struct reading *reading, struct sn_ipc_profiler *profiler)
{
    profiler->timeout_ms = sn_cursor_u32(&reading->cur);
    read_clsid(reading, profiler);
    profiler->path = read_filled_string(reading);
    profiler->client_data_size = sn_cursor_u32(&reading->cur);
    profiler->client_data = sn_cursor_bytes(&reading->cur, profiler->client_data_size);
}

static void read_dump(struct reading *reading, struct sn_ipc_dump *dump)
{
    dump->path = read_filled_string(reading);
    dump->type = sn_cursor_u32(&reading->cur);
    dump->flags = sn_cursor_u32(&reading->cur);
}

static void read_payload(struct reading *reading, struct sn_ipc_request *request)
{
    switch (request->command) {
    case SN_IPC_PROCESS_INFO:
    case SN_IPC_PROCESS_INFO2:
    case SN_IPC_PROCESS_INFO3:
    case SN_IPC_RESUME_RUNTIME:
    case SN_IPC_PROCESS_ENVIRONMENT:
    case SN_IPC_DISABLE_PERF_MAP: break;
    case SN_IPC_STOP_TRACING: request->session_id = sn_cursor_u64(&reading->cur); break;
    case SN_IPC_DUMP:
    case SN_IPC_DUMP2:
    case SN_IPC_DUMP3: read_dump(reading, &request->dump); break;
    case SN_IPC_COLLECT_TRACING:
    case SN_IPC_COLLECT_TRACING2:
    case SN_IPC_COLLECT_TRACING3:
    case SN_IPC_COLLECT_TRACING4:
    case SN_IPC_COLLECT_TRACING5: read_collect(reading, request->command, &request->collect); break;
    case SN_IPC_ATTACH_PROFILER: read_attach(reading, &request->profiler); break;
    case SN_IPC_STARTUP_PROFILER:
        read_clsid(reading, &request->profiler);
        request->profiler.path = read_filled_string(reading);
        break;
    case SN_IPC_SET_VARIABLE:
        request->variable.name = read_filled_string(reading);
        request->variable.value = read_string(reading);
        break;
    case SN_IPC_APPLY_STARTUP_HOOK: request->hook_path = read_filled_string(reading); break;
    case SN_IPC_ENABLE_PERF_MAP: request->perf_map = sn_cursor_u32(&reading->cur); break;
    }
}

static int read_header(struct sn_cursor *cur, size_t size, struct sn_ipc_request *request,
                       struct sonde_error *err)
{
    const uint8_t *magic = sn_cursor_bytes(cur, sizeof(SN_IPC_MAGIC));
    uint16_t declared = sn_cursor_u16(cur);
    unsigned set = sn_cursor_u8(cur);
    unsigned id = sn_cursor_u8(cur);
    uint16_t reserved = sn_cursor_u16(cur);

    if (cur->bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the request ends within its header");
    if (memcmp(magic, SN_IPC_MAGIC, sizeof(SN_IPC_MAGIC)) != 0)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the request does not begin with the magic");
    if (declared != size)
        return sn_fail(err, declared > size ? SONDE_E_TRUNCATED : SONDE_E_FORMAT, 14,
                       "the request says %u bytes and has %zu", declared, size);
    request->command = (enum sn_ipc_command)(set << 8 | id);
    if (reserved || strcmp(sn_ipc_command_name(request->command), "unknown command") == 0)
        return sn_fail(err, SONDE_E_FORMAT, 16, "the request has command 0x%02x%02x, reserved %u",
                       set, id, reserved);
    return SONDE_OK;
}

int sn_ipc_decode_request(const void *bytes, size_t size, struct sn_arena *arena,
                          struct sn_ipc_request *ret_request, struct sonde_error *err)
{
    struct reading reading = {.cur = sn_cursor_over(bytes, size), .arena = arena};
    struct sn_ipc_request request = {0};
    int rc = read_header(&reading.cur, size, &request, err);
    if (rc != SONDE_OK)
        return rc;
    const char *name = sn_ipc_command_name(request.command);

    read_payload(&reading, &request);
    if (reading.no_memory)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the parameters of %s", name);
    if (reading.cur.bad)
        return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(&reading.cur),
                       "the parameters of %s are malformed at byte %zu", name,
                       sn_cursor_offset(&reading.cur));
    if (sn_cursor_left(&reading.cur))
        return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(&reading.cur),
                       "%zu bytes follow the parameters of %s", sn_cursor_left(&reading.cur), name);
    rc = sn_ipc_check_request(&request, err);
    if (rc == SONDE_OK)
        *ret_request = request;
    return rc;
}
