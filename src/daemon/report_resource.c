/* What recordings say by topic, as JSON: a kind of reading. */
#include "daemon/recording_routes.h"

#include "base/own.h"
#include "base/text.h"
#include "daemon/reading_page.h"
#include "daemon/recording_reading.h"
#include "daemon/rest_call.h"
#include "sonde/report.h"

static void free_report_auto(struct sonde_report **slot)
{
    sonde_report_free(*slot);
}

static int read_report(const struct sn_reading_order *order, void **ret_result,
                       struct sonde_error *err)
{
    const struct sn_reading_subject *of = order->of;
    const struct sonde_report_options options = {.size = sizeof(options),
                                                 .process = of->process[0] ? of->process : NULL,
                                                 .names = order->names,
                                                 .from_ns = of->from_ns,
                                                 .to_ns = of->to_ns};
    const struct sonde_report_show show = {.size = sizeof(show),
                                           .format = SONDE_REPORT_JSON,
                                           .sections = of->sections[0] ? of->sections : NULL};
    SN_AUTO(free_report) struct sonde_report *report = NULL;
    struct sn_reading_page *page = sn_reading_page_new(err);
    if (!page)
        return SONDE_E_NOMEM;
    int rc = sonde_report_read(order->path, &options, &report, err);
    if (rc >= 0)
        rc = sonde_report_write(report, &show, sn_reading_page_write, page, err);
    if (rc >= 0)
        *ret_result = page;
    else
        sn_reading_page_release(page);
    return rc;
}

static const struct sn_reading_kind report = {.read = read_report,
                                              .hold = sn_reading_page_hold,
                                              .release = sn_reading_page_release,
                                              .bytes = sn_reading_page_bytes,
                                              .answer = sn_reading_page_answer};

void sn_report_resource_get(struct sn_rest_call *call)
{
    struct sn_reading_subject subject = {.kind = &report, .is_patient = true};
    struct sn_operation *operation = sn_recordings_find(call);
    sn_text_copy(subject.sections, sizeof(subject.sections), sn_rest_text(call, "sections"));
    if (operation && sn_reading_subject_fill(call, &subject))
        sn_reading_ask(call, operation, &subject);
}
