/* What recordings say second by second, as JSON: a kind of reading. */
#include "daemon/recording_routes.h"

#include "base/own.h"
#include "base/text.h"
#include "daemon/operation.h"
#include "daemon/reading_page.h"
#include "daemon/recording_reading.h"
#include "daemon/rest_call.h"
#include "sonde/timeline.h"

static void free_timeline_auto(struct sonde_timeline **slot)
{
    sonde_timeline_free(*slot);
}

/* In a worker. */
static int read_timeline(const struct sn_reading_order *order, void **ret_result,
                         struct sonde_error *err)
{
    const struct sn_reading_subject *of = order->of;
    const struct sonde_timeline_options options = {
        .size = sizeof(options),
        .from_ns = of->from_ns,
        .to_ns = of->to_ns,
        .bucket_count = (uint32_t)of->nodes_max,
        .process = of->process[0] ? of->process : NULL,
        .process_name = of->process_name,
        .names = order->names,
    };
    SN_AUTO(free_timeline) struct sonde_timeline *timeline = NULL;
    int rc = sonde_timeline_read(order->path, &options, &timeline, err);
    if (rc < 0)
        return rc;
    struct sn_reading_page *page = sn_reading_page_new(err);
    if (!page)
        return SONDE_E_NOMEM;
    rc = sonde_timeline_write(timeline, sn_reading_page_write, page, err);
    if (rc >= 0)
        *ret_result = page;
    else
        sn_reading_page_release(page);
    return rc;
}

static const struct sn_reading_kind kind = {.read = read_timeline,
                                            .hold = sn_reading_page_hold,
                                            .release = sn_reading_page_release,
                                            .bytes = sn_reading_page_bytes,
                                            .answer = sn_reading_page_answer};

void sn_timeline_resource_get(struct sn_rest_call *call)
{
    struct sn_reading_subject subject = {
        .kind = &kind, .is_patient = true, .nodes_max = (size_t)sn_rest_number(call, "buckets")};
    struct sn_operation *operation = sn_recordings_find(call);
    if (!operation || !sn_reading_subject_fill(call, &subject))
        return;
    sn_text_copy(subject.process_name, sizeof(subject.process_name), operation->process_name);
    sn_reading_ask(call, operation, &subject);
}
