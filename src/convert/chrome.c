/* Chrome's trace event format (JSON), which Perfetto and chrome://tracing open: frames begin (B)
 * and end (E) on their threads. */
#include "convert/writers.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/stream.h"
#include "convert/formats.h"
#include "convert/label.h"
#include "convert/spans.h"
#include "model/profile.h"

#define LABEL_LIMIT (4u << 20)

struct writer {
    struct sn_stream *stream;
    const struct sn_profile *profile;
    const struct sn_format_options *options;
    struct sn_spans spans;
    struct sn_buf label;
    uint32_t pid;
    uint64_t thread_id;
    bool has_cpu; /* what is spent is CPU time: the format has a clock of its own for that */
};

static const char *label_text(struct writer *writer)
{
    return sn_buf_string(&writer->label);
}

/* Microseconds with all nanoseconds behind the point. */
static void write_us(struct sn_buf *out, uint64_t ns)
{
    uint64_t rest = ns % 1000;
    char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                        (char)('0' + rest % 10)};
    sn_buf_decimal(out, ns / 1000);
    sn_buf_append(out, fraction, sizeof(fraction));
}

static void write_member(struct sn_buf *out, const char *key, uint64_t value)
{
    sn_buf_text(out, key);
    sn_buf_decimal(out, value);
}

/* The rest of an event after its phase and name. */
static void write_place(struct writer *writer, uint64_t at, uint64_t spent)
{
    struct sn_buf *out = &writer->stream->buf;
    write_member(out, ",\"pid\":", writer->pid);
    write_member(out, ",\"tid\":", writer->thread_id);
    sn_buf_text(out, ",\"ts\":");
    write_us(out, at);
    if (writer->has_cpu) {
        sn_buf_text(out, ",\"tts\":");
        write_us(out, spent);
    }
    sn_buf_u8(out, '}');
    sn_stream_settle(writer->stream);
}

static void open_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    struct writer *writer = user;
    struct sn_json name = sn_json_to(&writer->stream->buf);
    sn_buf_clear(&writer->label);
    sn_label_frame(&writer->label, &writer->profile->frames[frame], writer->options);
    sn_buf_text(&writer->stream->buf, ",\n{\"ph\":\"B\",\"name\":");
    sn_json_text(&name, NULL, label_text(writer));
    write_place(writer, at, spent);
}

static void close_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    struct writer *writer = user;
    (void)frame;
    sn_buf_text(&writer->stream->buf, ",\n{\"ph\":\"E\"");
    write_place(writer, at, spent);
}

/* Names a process or thread; the first element of all has no comma before it. */
static void write_name(struct writer *writer, const char *what, uint64_t thread_id)
{
    struct sn_buf *out = &writer->stream->buf;
    struct sn_json json = sn_json_to(out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "ph", "M");
    sn_json_text(&json, "name", what);
    sn_json_u64(&json, "pid", writer->pid);
    sn_json_u64(&json, "tid", thread_id);
    sn_json_object(&json, "args");
    sn_json_text(&json, "name", label_text(writer));
    sn_json_close(&json);
    sn_json_close(&json);
}

static void write_thread(struct writer *writer, uint32_t thread)
{
    static const struct sn_spans_ops ops = {.open = open_frame, .close = close_frame};
    sn_buf_clear(&writer->label);
    writer->thread_id = 0;
    if (thread == SN_NO_INDEX) {
        sn_buf_text(&writer->label, "all threads");
    } else {
        sn_label_thread(&writer->label, &writer->profile->threads[thread]);
        writer->thread_id = writer->profile->threads[thread].thread_id;
        writer->pid = writer->profile->threads[thread].pid;
    }
    sn_buf_text(&writer->stream->buf, ",\n");
    write_name(writer, "thread_name", writer->thread_id);
    (void)sn_spans_walk(&writer->spans, thread, &ops, writer);
}

static void write_threads(struct writer *writer)
{
    uint32_t count = 0;
    uint32_t *threads = sn_label_threads(writer->profile, writer->options->column, &count);
    if (!threads)
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    if (writer->options->merge_threads)
        write_thread(writer, SN_NO_INDEX);
    for (uint32_t i = 0; i < count && !writer->options->merge_threads; i++)
        write_thread(writer, threads[i]);
    free(threads);
}

static const char *axis_of(const struct writer *writer)
{
    if (writer->spans.by_time)
        return "time";
    switch (writer->profile->columns[writer->options->column].unit) {
    case SN_UNIT_NS: return "nanoseconds spent, as nanoseconds";
    case SN_UNIT_BYTES: return "bytes, as nanoseconds";
    default: return "count, as nanoseconds";
    }
}

static void write_document(struct writer *writer)
{
    struct sn_buf *out = &writer->stream->buf;
    const struct sn_profile *profile = writer->profile;
    sn_buf_text(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    writer->pid = profile->thread_count ? profile->threads[0].pid : 0;
    sn_label_document(&writer->label, writer->options);
    write_name(writer, "process_name", 0);
    write_threads(writer);
    sn_buf_text(out, "\n],\"otherData\":");
    struct sn_json json = sn_json_to(out);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "exporter", "sonde " SONDE_VERSION);
    sn_json_text(&json, "axis", axis_of(writer));
    sn_json_close(&json);
    sn_buf_text(out, "}\n");
}

/* Where there is a timeline, its time is the axis, whatever is counted: a run in which nothing was
 * spent is not drawn. CPU time goes beside it as the format's thread clock. */
void sn_chrome_write(struct sn_stream *stream, const struct sn_profile *profile,
                     const struct sn_format_options *options)
{
    struct writer writer = {.stream = stream,
                            .profile = profile,
                            .options = options,
                            .label = sn_buf_with_limit(LABEL_LIMIT)};
    if (sn_spans_init(&writer.spans, profile, options->column, true, options->merge_threads)) {
        writer.has_cpu =
            writer.spans.by_time && strcmp(profile->columns[options->column].name, "cpu") == 0;
        write_document(&writer);
    } else {
        (void)sn_fail(&stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    }
    sn_spans_done(&writer.spans);
    sn_buf_done(&writer.label);
}
