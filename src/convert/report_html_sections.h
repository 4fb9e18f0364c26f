/* The sections of a report's page, one a topic. Each is called only if the trace has events of it.
 */
#ifndef SN_REPORT_HTML_SECTIONS_H
#define SN_REPORT_HTML_SECTIONS_H

#include <stddef.h>

struct sn_profile;
struct sn_report;
struct sn_series;
struct sn_stream;

struct sn_html_report {
    struct sn_stream *stream;       /* borrows */
    const struct sn_report *report; /* borrows */
    size_t row_count;               /* of each list at most */
};

void sn_report_html_threads(const struct sn_html_report *page);
void sn_report_html_gc(const struct sn_html_report *page);
void sn_report_html_exceptions(const struct sn_html_report *page);
void sn_report_html_allocations(const struct sn_html_report *page);
void sn_report_html_contention(const struct sn_html_report *page);
void sn_report_html_jit(const struct sn_html_report *page);
void sn_report_html_pool(const struct sn_html_report *page);
void sn_report_html_requests(const struct sn_html_report *page);
void sn_report_html_tasks(const struct sn_html_report *page);
void sn_report_html_processes(const struct sn_html_report *page);
void sn_report_html_off_cpu(const struct sn_html_report *page);
void sn_report_html_run_queue(const struct sn_html_report *page);
void sn_report_html_syscalls(const struct sn_html_report *page);
void sn_report_html_suspension(const struct sn_html_report *page);

/* Facts p50, p90, p99 and the longest, inside a list of facts. */
void sn_report_html_percentiles(const struct sn_html_report *page, const struct sn_series *series);

/* A table of the code that did it: the nearest frame of each stack that is not the framework's, by
 * the first column of the profile. */
void sn_report_html_sites(const struct sn_html_report *page, const struct sn_profile *profile,
                          const char *heading, const char *first, const char *second);

#endif
