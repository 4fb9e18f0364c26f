/* The list of threads of a report: what their samples add up to. */
#ifndef SN_SAMPLE_THREADS_H
#define SN_SAMPLE_THREADS_H

struct sn_report;

/* Fills report->threads from report->samples (columns cpu, wall, wait, samples), most first. */
void sn_sample_threads_list(struct sn_report *report);

#endif
