/* What sonde counters can make of points: lines for people, files for programs, a page for
 * Prometheus, the whole terminal. */
#ifndef SN_CLI_COUNTERS_VIEWS_H
#define SN_CLI_COUNTERS_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/counter_formats.h"
#include "cli/counter_history.h"
#include "cli/counters_run.h"

struct sn_export_series;

/* --- a format of cli/counter_formats.h, as points come --- */

struct sn_counters_writer {
    const struct sn_counter_format *format;
    struct sn_counter_document document;
    const char *path;     /* emptied once everything is watched; NULL or "-": standard output */
    int fd;               /* the view's own from here on */
    struct sn_buf buffer; /* what is not written yet */
    const struct sn_counters_run *run;
    uint32_t pid;     /* whose name is known: a process tells many points in one go */
    const char *name; /* NULL: nobody's; borrowed for one turn of the hub */
};

extern const struct sn_counters_view sn_counters_write_view;

/* Writes to `fd`; a reader of standard output that has left is SONDE_END. */
int sn_counters_put(int fd, struct sn_buf *buffer, struct sonde_error *err);

/* --- a page of the latest values, each interval --- */

struct sn_counters_prometheus {
    const char *path; /* replaced as a whole; NULL: standard output, one page after the other */

    /* While it runs. */
    const struct sn_counters_run *run;
    struct sn_export_series *series; /* owns */
};

extern const struct sn_counters_view sn_counters_prometheus_view;

/* --- lines, each interval --- */

struct sn_counters_lines {
    bool has_head;
    uint64_t shown_ns; /* until when values were shown */
};

extern const struct sn_counters_view sn_counters_lines_view;

/* --- the whole terminal --- */

struct sn_counters_screen {
    bool shows_deltas;                 /* a column of what has changed since the value before */
    bool shows_whole;                  /* numbers are not scaled */
    struct sn_counter_history history; /* begins empty; the view's own */
};

/* Its user is one of the above. SONDE_E_UNSUPPORTED, with the reason, before anything is shown:
 * this terminal cannot. */
extern const struct sn_counters_view sn_counters_screen_view;

#endif
