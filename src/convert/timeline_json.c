#include "convert/timeline_json.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/stream.h"
#include "clr/words.h"
#include "model/report.h"
#include "model/timeline.h"

#define NAME_LIMIT 16384u

/* Shares of a bucket: four decimals are finer than any sample, and a third of the bytes. */
#define SHARE_PARTS 10000.0

struct writing {
    struct sn_stream *stream;
    struct sn_json json;
    const struct sn_report *report;
    const struct sn_timeline *timeline;
    const char *process_name;
    struct sn_buf name;
};

static double seconds(uint64_t ns)
{
    return (double)ns / (double)SN_NS_PER_SECOND;
}

/* Since the beginning of the trace. */
static double moment(const struct writing *writing, uint64_t time_ns)
{
    uint64_t first_ns = writing->report->first_ns;
    return time_ns > first_ns ? seconds(time_ns - first_ns) : 0;
}

static void write_shares(struct writing *writing, const char *key, const double *ns)
{
    const struct sn_timeline *timeline = writing->timeline;
    sn_json_array(&writing->json, key);
    for (size_t i = 0; i < timeline->bucket_count; i++) {
        double share = timeline->bucket_ns > 0 ? ns[i] / timeline->bucket_ns : 0;
        uint64_t parts = (uint64_t)(share * SHARE_PARTS + 0.5);
        sn_json_real(&writing->json, NULL, (double)parts / SHARE_PARTS);
    }
    sn_json_close(&writing->json);
    sn_stream_settle(writing->stream);
}

/* --- threads --- */

static void write_thread(struct writing *writing, const struct sn_timeline_thread *thread)
{
    struct sn_json *json = &writing->json;
    const char *process = thread->process[0] || writing->report->machine.is_machine
                              ? thread->process
                              : writing->process_name;
    sn_json_object(json, NULL);
    sn_json_u64(json, "pid", thread->pid);
    sn_json_u64(json, "tid", thread->thread_id);
    sn_json_text(json, "process", process);
    sn_json_text(json, "name", thread->name);
    sn_json_real(json, "cpuSeconds", thread->ns / (double)SN_NS_PER_SECOND);
    write_shares(writing, "running", thread->running);
    sn_json_close(json);
}

static void write_threads(struct writing *writing)
{
    sn_json_array(&writing->json, "threads");
    for (size_t i = 0; i < writing->timeline->thread_count; i++)
        write_thread(writing, &writing->timeline->threads[i]);
    sn_json_close(&writing->json);
    sn_json_u64(&writing->json, "threadsLeftOut", writing->timeline->thread_left_count);
}

/* --- collections --- */

static void write_collection(struct writing *writing, const struct sn_collection *collection)
{
    struct sn_json *json = &writing->json;
    uint64_t end_ns = collection->is_ended
                          ? collection->start_ns + collection->duration_ns
                          : writing->report->first_ns + writing->report->duration_ns;
    sn_json_object(json, NULL);
    sn_json_u64(json, "number", collection->number);
    sn_json_real(json, "start", moment(writing, collection->start_ns));
    sn_json_real(json, "end", moment(writing, end_ns));
    sn_json_bool(json, "ended", collection->is_ended);
    sn_json_u64(json, "generation", collection->generation);
    sn_json_text(json, "type", sn_clr_gc_type(collection->type));
    sn_json_text(json, "reason", sn_clr_gc_reason(collection->reason));
    if (collection->pause_start_ns)
        sn_json_real(json, "pauseStart", moment(writing, collection->pause_start_ns));
    sn_json_real(json, "pauseMilliseconds", (double)collection->pause_ns / (double)SN_NS_PER_MS);
    sn_json_close(json);
    sn_stream_settle(writing->stream);
}

static void write_collections(struct writing *writing)
{
    const struct sn_timeline *timeline = writing->timeline;
    sn_json_array(&writing->json, "gc");
    for (size_t i = 0; i < timeline->gc_count; i++)
        write_collection(writing, &writing->report->gc.collections[timeline->collections[i]]);
    sn_json_close(&writing->json);
    sn_json_u64(&writing->json, "gcLeftOut", timeline->gc_left_count);
}

/* --- requests --- */

/* "GET /orders/{n}", and with the host what goes out. */
static const char *name_of(struct writing *writing, const struct sn_timeline_request *request)
{
    struct sn_buf *name = &writing->name;
    sn_buf_clear(name);
    sn_buf_text(name, request->method);
    sn_buf_text(name, request->method[0] ? " " : "");
    sn_buf_text(name, request->host ? request->host : "");
    sn_buf_text(name, request->pattern);
    return sn_buf_string(name);
}

static void write_request(struct writing *writing, const struct sn_timeline_request *request)
{
    struct sn_json *json = &writing->json;
    sn_json_object(json, NULL);
    sn_json_real(json, "start", moment(writing, request->start_ns));
    sn_json_real(json, "end", moment(writing, request->end_ns));
    sn_json_bool(json, "ended", !request->is_open);
    sn_json_text(json, "name", name_of(writing, request));
    sn_json_text(json, "direction", request->host ? "sent" : "served");
    if (request->status)
        sn_json_u64(json, "status", request->status);
    sn_json_bool(json, "failed", request->is_failed);
    sn_json_close(json);
    sn_stream_settle(writing->stream);
}

static void write_requests(struct writing *writing)
{
    const struct sn_timeline *timeline = writing->timeline;
    sn_json_array(&writing->json, "requests");
    for (size_t i = 0; i < timeline->request_count; i++)
        write_request(writing, &timeline->requests[i]);
    sn_json_close(&writing->json);
    sn_json_u64(&writing->json, "requestsLeftOut", timeline->request_left_count);
}

/* --- all of it --- */

/* Whose collections, requests and exceptions these are: of many processes, the busiest. */
static void write_runtime(struct writing *writing)
{
    const struct sn_machine_report *machine = &writing->report->machine;
    struct sn_json *json = &writing->json;
    if (!machine->is_machine)
        return;
    if (!machine->chosen_pid) {
        sn_json_null(json, "runtime");
        return;
    }
    sn_json_object(json, "runtime");
    sn_json_u64(json, "pid", machine->chosen_pid);
    sn_json_text(json, "name", machine->chosen_name);
    sn_json_close(json);
}

static void write_head(struct writing *writing)
{
    static const char *const bases[] = {"none", "cpu", "samples"};
    const struct sn_timeline *timeline = writing->timeline;
    struct sn_json *json = &writing->json;
    sn_json_real(json, "durationSeconds", seconds(writing->report->duration_ns));
    sn_json_real(json, "from", moment(writing, timeline->from_ns));
    sn_json_real(json, "to", moment(writing, timeline->to_ns));
    sn_json_u64(json, "buckets", timeline->bucket_count);
    sn_json_text(json, "basis", bases[timeline->basis]);
    write_runtime(writing);
    write_shares(writing, "cpu", timeline->cpu);
}

static void write_exceptions(struct writing *writing)
{
    sn_json_array(&writing->json, "exceptions");
    for (size_t i = 0; i < writing->timeline->bucket_count; i++)
        sn_json_u64(&writing->json, NULL, writing->timeline->exceptions[i]);
    sn_json_close(&writing->json);
}

void sn_timeline_json_write(struct sn_stream *stream, const struct sn_report *report,
                            const char *process_name)
{
    struct writing writing = {.stream = stream,
                              .json = sn_json_to(&stream->buf),
                              .report = report,
                              .timeline = report->timeline,
                              .process_name = process_name,
                              .name = sn_buf_with_limit(NAME_LIMIT)};
    sn_json_object(&writing.json, NULL);
    write_head(&writing);
    write_threads(&writing);
    write_collections(&writing);
    write_requests(&writing);
    write_exceptions(&writing);
    sn_json_close(&writing.json);
    sn_buf_done(&writing.name);
}
