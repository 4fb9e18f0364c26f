/* The parts of a timeline that are made of other topics' results: threads and collections. */
#ifndef SN_TIMELINE_FILL_H
#define SN_TIMELINE_FILL_H

struct sn_cpu_slices;
struct sn_report;
struct sonde_error;

/* When every topic is finished. `cpu` is the record that the samples were weighed with, or NULL.
 * Without a timeline in the report it does nothing. */
int sn_timeline_fill(struct sn_report *report, const struct sn_cpu_slices *cpu,
                     struct sonde_error *err);

#endif
