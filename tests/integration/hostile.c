/* Writes a trace whose names try to break out of every place they may be written to: methods,
 * modules and types of exceptions. The same bytes each time.
 *
 *   integration_hostile FILE [--long | --many]
 *
 * --long: a name of 64 KB too. --many: samples of more threads than anybody has. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "clr/runtime_events.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/schema.h"
#include "model/trace_info.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"
#define SAMPLER "Microsoft-DotNETCore-SampleProfiler"

#define CODE         0x7f0000000000u
#define CODE_SIZE    0x1000u
#define MODULE       0x7e0000000000u
#define START_NS     5000000000u
#define STEP_NS      1000000u
#define THREAD       4242u
#define MANY_THREADS 66000u
#define LONG_UNITS   30000u /* a payload of an event holds no more than 64 KB */

/* In UTF-8; \xED\xA0\x80 stands for half a surrogate pair, which UTF-8 cannot say. */
static const char *const names[] = {
    "Plain",
    "<script>alert(1)</script><!--",
    "</title>\"'><img src=x onerror=alert(2)>",
    "\x1B[31mred\x1B[0m\x07\x9B",
    "first\nsecond\r\nthird\ttab",
    "quote\"back\\slash'tick`{}[],:",
    "semi;colon 42",
    " ends with space ",
    "half \xED\xA0\x80 a pair",
    "\xE2\x80\xAEright to left\xE2\x80\xA8line\xE2\x80\xA9paragraph",
    "$(reboot) %s%n%99999d",
    "\xF0\x9F\x94\xA5 \xE6\x97\xA5\xE6\x9C\xAC \xC3\xBC",
    "",
};
#define NAME_COUNT (sizeof(names) / sizeof(*names))

struct trace {
    int fd;
    struct sn_nettrace_writer *writer;
    struct sn_buf payload;
    uint64_t now_ns;
    uint64_t thread_id;
    uint32_t sequence;
    struct sonde_error err;
};

static int write_bytes(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct trace *trace = user;
    return sn_file_write_all(trace->fd, bytes, size, err);
}

static void put_text(struct sn_buf *to, const char *text)
{
    const char *half = strstr(text, "\xED\xA0\x80");
    size_t length = half ? (size_t)(half - text) : strlen(text);
    sn_text_to_utf16(to, text, length);
    if (half) {
        sn_buf_u16(to, 0xD800);
        sn_text_to_utf16(to, half + 3, strlen(half + 3));
    }
    sn_buf_u16(to, 0);
}

/* Sends what is in the payload, with a stack of `depth` methods, the first as the outermost. */
static void send_event(struct trace *trace, const struct sn_schema *schema, size_t depth)
{
    uint64_t stack[NAME_COUNT + 1];
    for (size_t i = 0; i < depth; i++)
        stack[i] = CODE + (depth - 1 - i) * CODE_SIZE + 16;
    trace->now_ns += STEP_NS;
    struct sn_event event = {.schema = schema,
                             .time_ns = trace->now_ns,
                             .pid = 77,
                             .cpu = UINT32_MAX,
                             .thread_id = trace->thread_id,
                             .capture_thread_id = trace->thread_id,
                             .sequence = ++trace->sequence,
                             .pointer_size = 8,
                             .payload = trace->payload.bytes,
                             .payload_size = (uint32_t)trace->payload.size,
                             .stack = (const uint8_t *)stack,
                             .stack_depth = (uint32_t)depth};
    (void)sn_nettrace_writer_event(trace->writer, &event, &trace->err);
    sn_buf_clear(&trace->payload);
}

static struct sn_schema describe(const char *provider, uint32_t id, uint32_t version)
{
    struct sn_schema schema = {
        .provider = provider, .event_id = id, .version = version, .level = 4};
    (void)sn_clr_describe(&schema);
    return schema;
}

static void send_module(struct trace *trace, const struct sn_schema *schema, size_t index)
{
    struct sn_buf *to = &trace->payload;
    sn_buf_u64(to, MODULE + index);
    sn_buf_u64(to, 1); /* assembly */
    sn_buf_u64(to, 0); /* flags, reserved */
    put_text(to, names[index]);
    put_text(to, "");
    sn_buf_u16(to, 0);
    send_event(trace, schema, 0);
}

static void send_method(struct trace *trace, const struct sn_schema *schema, size_t index,
                        const char *name)
{
    struct sn_buf *to = &trace->payload;
    sn_buf_u64(to, index + 1);
    sn_buf_u64(to, MODULE + index % NAME_COUNT);
    sn_buf_u64(to, CODE + index * CODE_SIZE);
    sn_buf_u32(to, CODE_SIZE);
    sn_buf_u32(to, 0x06000001);
    sn_buf_u32(to, 0);
    put_text(to, "Hostile.Names");
    put_text(to, name);
    put_text(to, "void  (class System.String)");
    sn_buf_u16(to, 0);
    send_event(trace, schema, 0);
}

static void send_exception(struct trace *trace, const struct sn_schema *schema, size_t index)
{
    struct sn_buf *to = &trace->payload;
    put_text(to, names[index]);
    put_text(to, names[NAME_COUNT - 1 - index]);
    sn_buf_u64(to, CODE);
    sn_buf_u32(to, 0x80131500);
    sn_buf_u16(to, 0);
    sn_buf_u16(to, 0);
    send_event(trace, schema, index + 1);
}

static void send_all(struct trace *trace, bool has_long)
{
    static struct sn_schema module, method, exception, sample; /* outlive the writer */
    module = describe(RUNTIME, 152, 1);
    method = describe(RUNTIME, 143, 1);
    exception = describe(RUNTIME, 80, 1);
    sample = describe(SAMPLER, 0, 0);
    static char large[LONG_UNITS + 1];
    memset(large, 'A', LONG_UNITS);
    for (size_t i = 0; i < NAME_COUNT; i++)
        send_module(trace, &module, i);
    for (size_t i = 0; i < NAME_COUNT; i++)
        send_method(trace, &method, i, names[i]);
    if (has_long)
        send_method(trace, &method, NAME_COUNT, large);
    size_t deepest = has_long ? NAME_COUNT + 1 : NAME_COUNT;
    for (size_t depth = 1; depth <= deepest; depth++) {
        sn_buf_u32(&trace->payload, 2); /* managed code */
        send_event(trace, &sample, depth);
    }
    for (size_t i = 0; i < NAME_COUNT; i++)
        send_exception(trace, &exception, i);
}

static void send_many(struct trace *trace)
{
    static struct sn_schema sample; /* outlives the writer */
    sample = describe(SAMPLER, 0, 0);
    for (size_t i = 0; i < 2 * (size_t)MANY_THREADS; i++) {
        trace->thread_id = THREAD + i % MANY_THREADS;
        trace->sequence = (uint32_t)(i / MANY_THREADS);
        sn_buf_u32(&trace->payload, 2); /* managed code */
        send_event(trace, &sample, 1);
    }
}

int main(int argc, char **argv)
{
    static const struct sn_trace_info info = {.format_version = 6,
                                              .start_utc_ns = 1700000000123456789u,
                                              .start_ticks = START_NS,
                                              .ticks_per_second = 1000000000u,
                                              .pointer_size = 8,
                                              .pid = 77,
                                              .processor_count = 1,
                                              .sampling_interval_ns = STEP_NS};
    if (argc < 2)
        return 2;
    struct trace trace = {
        .payload = sn_buf_with_limit(1u << 20), .now_ns = START_NS, .thread_id = THREAD};
    bool has_long = argc > 2 && strcmp(argv[2], "--long") == 0;
    bool has_many = argc > 2 && strcmp(argv[2], "--many") == 0;
    trace.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (sn_nettrace_writer_new(6, &info, write_bytes, &trace, &trace.writer, &trace.err) ==
        SONDE_OK) {
        if (has_many)
            send_many(&trace);
        else
            send_all(&trace, has_long);
        (void)sn_nettrace_writer_finish(trace.writer, &trace.err);
    }
    sn_nettrace_writer_free(trace.writer);
    sn_buf_done(&trace.payload);
    sn_close(trace.fd);
    if (trace.err.status)
        (void)fprintf(stderr, "%s\n", trace.err.text);
    return trace.err.status ? 1 : 0;
}
