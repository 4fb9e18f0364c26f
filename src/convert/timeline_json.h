/* A timeline as JSON: docs/formats/timeline-json.md. */
#ifndef SN_TIMELINE_JSON_H
#define SN_TIMELINE_JSON_H

struct sn_report;
struct sn_stream;

/* Of a report that has one. `process_name` is what a trace of one process calls it; "". */
void sn_timeline_json_write(struct sn_stream *stream, const struct sn_report *report,
                            const char *process_name);

#endif
