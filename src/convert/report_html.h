/* A report as one page: what stands out, a flame graph of everything that has stacks, and a section
 * for each topic the trace has events of. */
#ifndef SN_REPORT_HTML_H
#define SN_REPORT_HTML_H

struct sn_report_show;
struct sn_stream;

/* Appends the whole page; failures stay in the stream. */
void sn_report_html_write(struct sn_stream *stream, const struct sn_report_show *show);

#endif
