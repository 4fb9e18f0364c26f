/* Timelines for other programs: the topics that happen at a time, read once over. */
#include "sonde/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "api/options_in.h"
#include "api/profile_internal.h"
#include "api/read_report.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/timeline_json.h"
#include "model/report.h"
#include "model/timeline.h"

#define TOPICS          "samples,gc,exceptions,requests"
#define DEFAULT_BUCKETS 600u

struct sonde_timeline {
    struct sn_report *report; /* owns */
    char *process_name;       /* owns */
};

static void sonde_timeline_free_auto(struct sonde_timeline **slot)
{
    sonde_timeline_free(*slot);
}

static int check(const struct sonde_timeline_options *asked, struct sonde_error *err)
{
    if (asked->to_ns && asked->to_ns <= asked->from_ns)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "to: a time after 'from'");
    if (asked->bucket_count && (asked->bucket_count < SN_TIMELINE_BUCKETS_MIN ||
                                asked->bucket_count > SN_TIMELINE_BUCKETS_MAX))
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "buckets: a number from %u to %u",
                       SN_TIMELINE_BUCKETS_MIN, SN_TIMELINE_BUCKETS_MAX);
    return SONDE_OK;
}

int sonde_timeline_read(const char *path, const struct sonde_timeline_options *options,
                        struct sonde_timeline **ret_timeline, struct sonde_error *err)
{
    struct sonde_timeline_options asked;
    struct sn_read_end end;
    int rc = sn_options_in(options, &asked, sizeof(asked), "timeline options", err);
    if (rc == SONDE_OK)
        rc = check(&asked, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sonde_timeline_free) struct sonde_timeline *timeline = calloc(1, sizeof(*timeline));
    if (!timeline ||
        !(timeline->process_name = strdup(asked.process_name ? asked.process_name : "")))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a timeline");
    const struct sn_timeline_window window = {
        .from_ns = asked.from_ns,
        .to_ns = asked.to_ns ? asked.to_ns : UINT64_MAX,
        .bucket_count = asked.bucket_count ? asked.bucket_count : DEFAULT_BUCKETS};
    const struct sn_read_options reading = {.topic = TOPICS,
                                            .process = asked.process,
                                            .cpu_record = asked.cpu_record,
                                            .names = asked.names,
                                            .timeline = &window};
    rc = sn_read_report(path, &reading, &timeline->report, &end, err);
    if (rc == SONDE_OK)
        *ret_timeline = SN_TAKE(timeline);
    return rc;
}

void sonde_timeline_free(struct sonde_timeline *timeline)
{
    if (!timeline)
        return;
    sn_report_free(timeline->report);
    free(timeline->process_name);
    free(timeline);
}

int sonde_timeline_write(const struct sonde_timeline *timeline, sonde_write_fn *write, void *user,
                         struct sonde_error *err)
{
    SN_AUTO(sn_stream_done) struct sn_stream stream = {0};
    struct sn_writer writer = {.write = write, .user = user};
    sn_stream_init(&stream, sn_writer_write, &writer);
    sn_timeline_json_write(&stream, timeline->report, timeline->process_name);
    return sn_stream_finish(&stream, err);
}
