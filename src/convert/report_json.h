/* A report as JSON; docs/formats/report-json.md is its schema. Each function writes one member of
 * the object that is open. */
#ifndef SN_REPORT_JSON_H
#define SN_REPORT_JSON_H

struct sn_json;
struct sn_report;

void sn_report_json_gc(struct sn_json *json, const struct sn_report *report);
void sn_report_json_exceptions(struct sn_json *json, const struct sn_report *report);
void sn_report_json_allocations(struct sn_json *json, const struct sn_report *report);
void sn_report_json_contention(struct sn_json *json, const struct sn_report *report);
void sn_report_json_jit(struct sn_json *json, const struct sn_report *report);
void sn_report_json_pool(struct sn_json *json, const struct sn_report *report);
void sn_report_json_requests(struct sn_json *json, const struct sn_report *report);
void sn_report_json_tasks(struct sn_json *json, const struct sn_report *report);
void sn_report_json_processes(struct sn_json *json, const struct sn_report *report);
void sn_report_json_off_cpu(struct sn_json *json, const struct sn_report *report);
void sn_report_json_run_queue(struct sn_json *json, const struct sn_report *report);
void sn_report_json_syscalls(struct sn_json *json, const struct sn_report *report);
void sn_report_json_suspension(struct sn_json *json, const struct sn_report *report);

#endif
