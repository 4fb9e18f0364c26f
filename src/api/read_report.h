/* Reads a trace into a report: names first, then everything else, so that every stack has its names
 * when it is seen. Two passes, bounded memory. */
#ifndef SN_READ_REPORT_H
#define SN_READ_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct sn_report;
struct sn_timeline_window;
struct sonde_error;
struct sonde_summary;

struct sn_read_options {
    const char *topic;             /* of sn_aggregates, those only ("gc,requests"); NULL: all */
    bool with_lines;               /* source lines from portable PDBs */
    const char *process;           /* pid or pattern of names; NULL: all, and the busiest runtime */
    const char *cpu_record;        /* NULL: the trace's name with ".cpu", if it is there */
    const char *names;             /* a trace whose names are read first; NULL, or not there */
    uint64_t from_ns;              /* since the beginning: what is before does not count */
    uint64_t to_ns;                /* likewise what is after; 0: to the end */
    struct sonde_summary *summary; /* filled as well, unless NULL: of all of the file */
    const struct sn_timeline_window *timeline; /* made as well, unless NULL */
};

/* What the file itself was like. */
struct sn_read_end {
    bool is_cut;
    uint64_t lost_count;
    uint64_t event_count;
    uint64_t damage_count;
    uint64_t start_utc_ns;
    uint32_t pid;
    uint32_t sampling_interval_ns; /* 0: not told */
};

int sn_read_report(const char *path, const struct sn_read_options *options,
                   struct sn_report **ret_report, struct sn_read_end *ret_end,
                   struct sonde_error *err);

#endif
