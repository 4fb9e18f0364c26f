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
#define NAMES_LIMIT (512u << 20) /* a ceiling of the profile's own names, escaped */

struct writer {
    struct sn_stream *stream;
    const struct sn_profile *profile;
    const struct sn_format_options *options;
    struct sn_spans spans;
    struct sn_buf label;
    struct sn_buf names; /* of all frames, quoted and escaped once */
    size_t *name_starts; /* of each in there, and the end */
    uint32_t pid;
    uint64_t thread_id;
    uint64_t at; /* of the event before: most share it */
    uint64_t spent;
    struct sn_buf place; /* and how it ends */
    bool has_cpu;        /* what is spent is CPU time: the format has a clock of its own for that */
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

/* The rest of an event after its phase and name; the same for all that happens at one moment. */
static void write_place(struct writer *writer, uint64_t at, uint64_t spent)
{
    struct sn_buf *place = &writer->place;
    if (at != writer->at || spent != writer->spent || !place->size) {
        sn_buf_clear(place);
        write_member(place, ",\"pid\":", writer->pid);
        write_member(place, ",\"tid\":", writer->thread_id);
        sn_buf_text(place, ",\"ts\":");
        write_us(place, at);
        if (writer->has_cpu) {
            sn_buf_text(place, ",\"tts\":");
            write_us(place, spent);
        }
        sn_buf_u8(place, '}');
        writer->at = at;
        writer->spent = spent;
    }
    sn_buf_append(&writer->stream->buf, place->bytes, place->size);
    sn_stream_settle(writer->stream);
}

static void open_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    struct writer *writer = user;
    struct sn_buf *out = &writer->stream->buf;
    if (frame == SN_NO_INDEX)
        frame = (uint32_t)writer->profile->frame_count;
    size_t start = writer->name_starts[frame];
    sn_buf_text(out, ",\n{\"ph\":\"B\",\"name\":");
    sn_buf_append(out, writer->names.bytes + start, writer->name_starts[frame + 1] - start);
    write_place(writer, at, spent);
}

static void close_frame(void *user, uint32_t frame, uint64_t at, uint64_t spent)
{
    struct writer *writer = user;
    (void)frame;
    sn_buf_text(&writer->stream->buf, ",\n{\"ph\":\"E\"");
    write_place(writer, at, spent);
}

static bool prepare_names(struct writer *writer)
{
    const struct sn_profile *profile = writer->profile;
    writer->name_starts = calloc(profile->frame_count + 2, sizeof(*writer->name_starts));
    for (size_t i = 0; writer->name_starts && i <= profile->frame_count; i++) {
        struct sn_json name = sn_json_to(&writer->names);
        sn_buf_clear(&writer->label);
        if (i < profile->frame_count)
            sn_label_frame_line(&writer->label, &profile->frames[i], writer->options);
        else
            sn_buf_text(&writer->label, SN_LABEL_NO_STACK);
        sn_json_text(&name, NULL, label_text(writer));
        writer->name_starts[i + 1] = writer->names.size;
    }
    sn_buf_clear(&writer->label);
    return writer->name_starts && !writer->names.failed;
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
    sn_buf_clear(&writer->place);
    (void)sn_spans_walk(&writer->spans, thread, &ops, writer);
}

static void write_threads(struct writer *writer)
{
    uint32_t count = 0;
    uint32_t *threads = sn_label_threads(writer->profile, writer->options->column, &count);
    if (!threads) {
        (void)sn_fail(&writer->stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
        return;
    }
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
                            .label = sn_buf_with_limit(LABEL_LIMIT),
                            .names = sn_buf_with_limit(NAMES_LIMIT),
                            .place = sn_buf_with_limit(256)};
    if (sn_spans_init(&writer.spans, profile, options->column, true, options->merge_threads) &&
        prepare_names(&writer)) {
        writer.has_cpu =
            writer.spans.by_time && strcmp(profile->columns[options->column].name, "cpu") == 0;
        write_document(&writer);
    } else {
        (void)sn_fail(&stream->err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    }
    sn_spans_done(&writer.spans);
    sn_buf_done(&writer.label);
    sn_buf_done(&writer.names);
    sn_buf_done(&writer.place);
    free(writer.name_starts);
}
