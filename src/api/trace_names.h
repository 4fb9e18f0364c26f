/* Names for a trace whose target may die before its rundown: what its samples hold is looked up in
 * its memory while it lives, and written beside the trace only when no rundown came
 * (docs/adr/0034-names-of-those-who-die.md). One thread: the loop's. */
#ifndef SN_TRACE_NAMES_H
#define SN_TRACE_NAMES_H

#include <stdint.h>

struct sn_road;
struct sn_trace_info;
struct sn_trace_names;
struct sonde_error;

/* Where the names of the trace at `path` stand. Allocated; NULL: no memory. */
char *sn_trace_names_path(const char *path);

/* Listens to `road`, which outlives it only until sn_trace_names_free after the road is freed. */
int sn_trace_names_new(struct sn_road *road, uint32_t pid, struct sn_trace_names **ret_names,
                       struct sonde_error *err);
void sn_trace_names_free(struct sn_trace_names *names);

/* After each turn of the loop. */
void sn_trace_names_tend(struct sn_trace_names *names);

/* Writes what was found beside the trace at `path`, whose head said `info`. */
int sn_trace_names_write(struct sn_trace_names *names, const char *path,
                         const struct sn_trace_info *info, struct sonde_error *err);

/* Removes the names of an older trace at `path`. */
void sn_trace_names_remove(const char *path);

#endif
