/* Makes traces of the runtime's own events by hand, and reads them into reports. For tests. */
#ifndef TOPIC_TRACE_H
#define TOPIC_TRACE_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/read_report.h"
#include "base/file.h"
#include "model/report.h"
#include "nettrace_bytes.h"

#define RUNTIME     "Microsoft-Windows-DotNETRuntime"
#define THREADS_MAX 20000u

struct topic_trace {
    struct sn_buf stream;
    struct sn_buf payload;
    uint32_t sequences[THREADS_MAX]; /* by thread id */
};

struct topic_kind {
    uint32_t id;
    uint32_t version;
};

static inline uint32_t metadata_id(uint32_t id, uint32_t version)
{
    return id * 8 + version + 1;
}

static inline struct topic_trace *begin_topic_trace(const struct topic_kind *kinds, size_t count)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(65536);
    SN_AUTO(sn_buf_done) struct sn_buf record = sn_buf_with_limit(4096);
    struct topic_trace *trace = calloc(1, sizeof(*trace));
    assert_non_null(trace);
    trace->stream = sn_buf_with_limit(STREAM_MAX);
    trace->payload = sn_buf_with_limit(1u << 20);
    put_start_v4(&trace->stream, 1000000000);
    begin_rows(&block, 1);
    for (size_t i = 0; i < count; i++) {
        sn_buf_clear(&record);
        sn_buf_u32(&record, metadata_id(kinds[i].id, kinds[i].version));
        put_text16(&record, RUNTIME);
        sn_buf_u32(&record, kinds[i].id);
        put_text16(&record, "");
        sn_buf_u64(&record, 0);
        sn_buf_u32(&record, kinds[i].version);
        sn_buf_u32(&record, 4);
        sn_buf_u32(&record, 0);
        put_metadata_row(&block, &record);
    }
    put_object(&trace->stream, "MetadataBlock", &block);
    return trace;
}

#define BEGIN_TOPIC_TRACE(kinds) begin_topic_trace(kinds, sizeof(kinds) / sizeof(*(kinds)))

/* An event of `thread` with what is in the payload, which is empty again afterwards. */
static inline void add_event(struct topic_trace *trace, struct topic_kind kind, uint32_t thread,
                             uint64_t ns)
{
    SN_AUTO(sn_buf_done) struct sn_buf block = sn_buf_with_limit(1u << 20);
    assert_true(thread < THREADS_MAX);
    begin_rows(&block, 1);
    sn_buf_u8(&block, 0x87);
    sn_buf_varuint(&block, metadata_id(kind.id, kind.version));
    sn_buf_varuint(&block, trace->sequences[thread]++);
    sn_buf_varuint(&block, thread);
    sn_buf_varuint(&block, UINT32_MAX);
    sn_buf_varuint(&block, thread);
    sn_buf_varuint(&block, ns);
    sn_buf_varuint(&block, trace->payload.size);
    sn_buf_append(&block, trace->payload.bytes, trace->payload.size);
    put_object(&trace->stream, "EventBlock", &block);
    assert_false(trace->stream.failed);
    sn_buf_clear(&trace->payload);
}

/* `count` events of the thread never came. */
static inline void lose_events(struct topic_trace *trace, uint32_t thread, uint32_t count)
{
    trace->sequences[thread] += count;
}

static inline struct sn_report *read_bytes(const void *bytes, size_t size)
{
    struct sonde_error err = {0};
    struct sn_report *report = NULL;
    struct sn_read_end end;
    const struct sn_read_options options = {0};
    char path[64];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sn_file_write_all(fd, bytes, size, &err), SONDE_OK);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)sn_read_report(path, &options, &report, &end, &err);
    (void)close(fd);
    return report;
}

/* Reads and frees the trace. The caller frees the report. */
static inline struct sn_report *end_topic_trace(struct topic_trace *trace)
{
    sn_buf_u8(&trace->stream, 1);
    struct sn_report *report = read_bytes(trace->stream.bytes, trace->stream.size);
    assert_non_null(report);
    sn_buf_done(&trace->stream);
    sn_buf_done(&trace->payload);
    free(trace);
    return report;
}

static inline void load_golden(const char *name, struct sn_buf *bytes)
{
    struct sonde_error err = {0};
    SN_AUTO(sn_free) char *path = NULL;
    assert_true(asprintf(&path, "%s/tests/golden/%s", SONDE_SOURCE_DIR, name) > 0);
    *bytes = sn_buf_with_limit(STREAM_MAX);
    assert_int_equal(sn_file_read_at(AT_FDCWD, path, bytes, &err), SONDE_OK);
}

static inline struct sn_report *read_golden(const char *name)
{
    SN_AUTO(sn_buf_done) struct sn_buf bytes = {0};
    load_golden(name, &bytes);
    struct sn_report *report = read_bytes(bytes.bytes, bytes.size);
    assert_non_null(report);
    return report;
}

#endif
