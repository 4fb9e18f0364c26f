#include "source/ipc/reply.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "source/ipc/message.h"

#define SERVER_SET         0xFFu
#define REPLY_OK           0x00u
#define REPLY_ERROR        0xFFu
#define LONGEST_STRING     32768u /* units; the longest command lines are cut by the kernel before */
#define INFO_MEMORY        (1u << 20) /* a reply of 64 KiB as UTF-8, with room */
#define ENVIRONMENT_MEMORY (16u << 20)

int sn_ipc_decode_reply_header(const void *bytes, size_t size, struct sn_ipc_reply_header *ret,
                               struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    const uint8_t *magic = sn_cursor_bytes(&cur, sizeof(SN_IPC_MAGIC));
    uint16_t whole = sn_cursor_u16(&cur);
    unsigned set = sn_cursor_u8(&cur);
    unsigned id = sn_cursor_u8(&cur);
    (void)sn_cursor_u16(&cur); /* reserved */

    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the reply ends within its header");
    if (memcmp(magic, SN_IPC_MAGIC, sizeof(SN_IPC_MAGIC)) != 0)
        return sn_fail(err, SONDE_E_FORMAT, 0, "the reply does not begin with the magic");
    if (whole < SN_IPC_HEADER_SIZE)
        return sn_fail(err, SONDE_E_FORMAT, 14, "the reply says it has %u bytes", whole);
    if (set != SERVER_SET || (id != REPLY_OK && id != REPLY_ERROR))
        return sn_fail(err, SONDE_E_FORMAT, 16, "the reply has command 0x%02x%02x", set, id);
    *ret = (struct sn_ipc_reply_header){.size = whole, .is_error = id == REPLY_ERROR};
    return SONDE_OK;
}

/* The units of a string without its terminator; NULL and 0 when it is empty or the cursor is bad.
 */
static const uint8_t *read_units(struct sn_cursor *cur, size_t *ret_count)
{
    uint32_t count = sn_cursor_u32(cur);
    *ret_count = 0;
    if (!count)
        return NULL;
    if (count > LONGEST_STRING)
        cur->bad = true;
    const uint8_t *units = sn_cursor_bytes(cur, (size_t)count * 2);
    if (!units)
        return NULL;
    if (units[count * 2 - 2] || units[count * 2 - 1]) {
        cur->bad = true;
        return NULL;
    }
    *ret_count = count - 1;
    return units;
}

int sn_ipc_decode_error(const void *payload, size_t size, uint32_t *ret_hresult,
                        struct sn_buf *message, struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(payload, size);
    uint32_t hresult = sn_cursor_u32(&cur);
    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the error reply ends within its code");
    if (message && sn_cursor_left(&cur)) {
        size_t count;
        const uint8_t *units = read_units(&cur, &count);
        if (cur.bad)
            return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(&cur),
                           "the text of the error reply is malformed");
        sn_text_from_utf16(message, units, count);
    }
    *ret_hresult = hresult;
    return SONDE_OK;
}

int sn_ipc_decode_result(const void *payload, size_t size, uint32_t *ret_hresult,
                         struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(payload, size);
    uint32_t hresult = size ? sn_cursor_u32(&cur) : 0;
    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the reply ends within its result");
    *ret_hresult = hresult;
    return SONDE_OK;
}

int sn_ipc_decode_session_id(const void *payload, size_t size, uint64_t *ret_id,
                             struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(payload, size);
    uint64_t id = sn_cursor_u64(&cur);
    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size, "the reply ends within the session's id");
    *ret_id = id;
    return SONDE_OK;
}

int sn_ipc_decode_environment_size(const void *payload, size_t size, size_t *ret_size,
                                   struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(payload, size);
    uint32_t more = sn_cursor_u32(&cur);
    sn_cursor_skip(&cur, 2); /* reserved */
    if (cur.bad)
        return sn_fail(err, SONDE_E_TRUNCATED, size,
                       "the reply ends within the environment's size");
    if (more > SN_IPC_LARGEST_ENVIRONMENT)
        return sn_fail(err, SONDE_E_LIMIT, 0, "an environment of %u bytes is over our %u", more,
                       SN_IPC_LARGEST_ENVIRONMENT);
    *ret_size = more;
    return SONDE_OK;
}

/* A string as UTF-8 in `texts`. NULL without a mark on the cursor means that memory ran out. */
static const char *read_text(struct sn_cursor *cur, struct sn_arena *texts)
{
    size_t count;
    const uint8_t *units = read_units(cur, &count);
    if (!count)
        return "";
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)LONGEST_STRING * 3);
    sn_text_from_utf16(&text, units, count);
    if (text.failed)
        return NULL;
    if (memchr(text.bytes, 0, text.size)) {
        cur->bad = true;
        return "";
    }
    return sn_arena_copy(texts, text.bytes, text.size);
}

static unsigned major_of(const char *version)
{
    unsigned major = 0;
    for (; *version >= '0' && *version <= '9' && major < 10000; version++)
        major = major * 10 + (unsigned)(*version - '0');
    return *version == '.' ? major : 0;
}

static int read_process_info(struct sn_cursor *cur, unsigned generation,
                             struct sn_ipc_process_info *info, struct sonde_error *err)
{
    uint32_t layout = generation >= 3 ? sn_cursor_u32(cur) : 1;
    info->ns_pid = sn_cursor_u64(cur);
    const uint8_t *cookie = sn_cursor_bytes(cur, sizeof(info->cookie.bytes));
    if (cookie)
        memcpy(info->cookie.bytes, cookie, sizeof(info->cookie.bytes));
    info->command_line = read_text(cur, &info->texts);
    info->os = read_text(cur, &info->texts);
    info->arch = read_text(cur, &info->texts);
    info->entry_assembly = generation >= 2 ? read_text(cur, &info->texts) : "";
    info->version = generation >= 2 ? read_text(cur, &info->texts) : "";
    info->rid = generation >= 3 ? read_text(cur, &info->texts) : "";

    if (cur->bad)
        return sn_fail(err, sn_cursor_left(cur) ? SONDE_E_FORMAT : SONDE_E_TRUNCATED,
                       sn_cursor_offset(cur), "the process information is malformed at byte %zu",
                       sn_cursor_offset(cur));
    if (!info->command_line || !info->os || !info->arch || !info->entry_assembly ||
        !info->version || !info->rid)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the process information");
    if (!layout)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "process information of layout 0");
    /* Later layouts only ever append, so what follows in generation 3 is not ours to read. */
    if (generation < 3 && sn_cursor_left(cur))
        return sn_fail(err, SONDE_E_FORMAT, sn_cursor_offset(cur),
                       "%zu bytes follow the process information", sn_cursor_left(cur));
    info->major = major_of(info->version);
    return SONDE_OK;
}

int sn_ipc_decode_process_info(const void *payload, size_t size, unsigned generation,
                               struct sn_ipc_process_info *ret_info, struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(payload, size);
    struct sn_ipc_process_info info = {.texts = sn_arena_with_limit(INFO_MEMORY)};
    int rc = read_process_info(&cur, generation, &info, err);
    if (rc == SONDE_OK)
        *ret_info = info;
    else
        sn_arena_done(&info.texts);
    return rc;
}

void sn_ipc_process_info_done(struct sn_ipc_process_info *info)
{
    sn_arena_done(&info->texts);
    *info = (struct sn_ipc_process_info){0};
}

static int read_environment(struct sn_cursor *cur, struct sn_ipc_environment *environment,
                            struct sonde_error *err)
{
    uint32_t count = sn_cursor_u32(cur);
    if (cur->bad || count > sn_cursor_left(cur) / sizeof(uint32_t))
        return sn_fail(err, SONDE_E_TRUNCATED, sn_cursor_offset(cur),
                       "the environment ends before its last variable");
    if (count > SN_IPC_MOST_VARIABLES)
        return sn_fail(err, SONDE_E_LIMIT, 0, "an environment of %u variables is over our %u",
                       count, SN_IPC_MOST_VARIABLES);
    environment->variables =
        sn_arena_alloc(&environment->texts, (count + 1) * sizeof(*environment->variables));
    for (uint32_t i = 0; environment->variables && i < count; i++) {
        const char *variable = read_text(cur, &environment->texts);
        if (cur->bad)
            return sn_fail(err, sn_cursor_left(cur) ? SONDE_E_FORMAT : SONDE_E_TRUNCATED,
                           sn_cursor_offset(cur), "variable %u of the environment is malformed", i);
        if (!variable)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the environment");
        environment->variables[environment->count++] = variable;
    }
    if (!environment->variables)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the environment");
    return SONDE_OK;
}

int sn_ipc_decode_environment(const void *bytes, size_t size,
                              struct sn_ipc_environment *ret_environment, struct sonde_error *err)
{
    struct sn_cursor cur = sn_cursor_over(bytes, size);
    struct sn_ipc_environment environment = {.texts = sn_arena_with_limit(ENVIRONMENT_MEMORY)};
    int rc = read_environment(&cur, &environment, err);
    if (rc == SONDE_OK)
        *ret_environment = environment;
    else
        sn_arena_done(&environment.texts);
    return rc;
}

void sn_ipc_environment_done(struct sn_ipc_environment *environment)
{
    sn_arena_done(&environment->texts);
    *environment = (struct sn_ipc_environment){0};
}

const char *sn_ipc_hresult_text(uint32_t hresult)
{
    switch (hresult) {
    case 0: return "it went well";
    case 0x80004002u: return "the profiler lacks an interface that was asked of it";
    case SN_IPC_HR_FAIL: return "it failed, and the runtime does not say why";
    case 0x8007000Eu: return "the runtime ran out of memory";
    case 0x80070005u: return "the runtime may not do this";
    case 0x80070057u: return "the runtime does not take this value";
    case 0x8007007Au: return "a buffer of the runtime is too small";
    case 0x8007007Eu:
        return "the library cannot be loaded: not there, not ELF, or a dependency is missing";
    case 0x8007007Fu: return "the library is no profiler: it has no DllGetClassObject";
    case 0x800000CBu: return "there is no such environment variable";
    case 0x80040111u: return "the library does not know this class id";
    case SN_IPC_HR_NOT_YET_AVAILABLE: return "not before the runtime has started: resume it first";
    case 0x80131367u: return "a profiler is just being detached; try again shortly";
    case 0x80131368u: return "this profiler cannot be attached";
    case SN_IPC_HR_PROFILER_ACTIVE: return "another profiler is active in this process";
    case 0x8013136Eu: return "the profiler is too old to be attached";
    case 0x8013136Fu: return "the profiler wants what cannot be had after attach";
    case 0x80131370u: return "the profiler has instrumented code and cannot leave";
    case 0x80131371u: return "the runtime has not started yet";
    case SN_IPC_HR_BAD_ENCODING: return "the runtime found the request malformed";
    case SN_IPC_HR_UNKNOWN_COMMAND: return "this version of the runtime does not know the command";
    case 0x80131386u: return "the runtime did not recognise the protocol";
    case 0x80131387u: return "the runtime met an error it has no name for";
    case SN_IPC_HR_NOT_SUPPORTED: return "the runtime was built without this";
    default: return "a code we have no words for";
    }
}
