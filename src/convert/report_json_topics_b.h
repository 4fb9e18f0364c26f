/* Parts of a report as JSON: JIT, thread pool, requests, tasks. Each writes one member into the
 * object that is open, or nothing when the trace has nothing of it. The schema is in
 * docs/formats/report-json.md. */
#ifndef SN_REPORT_JSON_TOPICS_B_H
#define SN_REPORT_JSON_TOPICS_B_H

struct sn_json;
struct sn_report;

void sn_report_json_jit(struct sn_json *json, const struct sn_report *report);
void sn_report_json_pool(struct sn_json *json, const struct sn_report *report);
void sn_report_json_requests(struct sn_json *json, const struct sn_report *report);
void sn_report_json_tasks(struct sn_json *json, const struct sn_report *report);

#endif
