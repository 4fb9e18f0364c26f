/* Two profiles as one page: a flame graph of what grew (red) and what shrank (blue). */
#ifndef SN_DIFF_HTML_H
#define SN_DIFF_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_profile;
struct sn_stream;

/* How a condition came out. */
struct sn_diff_outcome {
    const char *condition;
    const char *text;
    bool holds;
};

struct sn_diff_html_options {
    const char *title_before; /* the files; of a path the last part is shown */
    const char *title_after;
    const char *title;           /* of the page; NULL: both files */
    const char *view;            /* "CPU", "wall time": for people */
    const char *column;          /* of both profiles, by its name: "cpu" */
    uint64_t duration_before_ns; /* numbers are compared per second; 0 counts as one */
    uint64_t duration_after_ns;
    const char *summary; /* the answer in a sentence, or NULL */
    const struct sn_diff_outcome *outcomes;
    size_t outcome_count;
};

/* Appends the whole page; failures stay in the stream. A profile without that column counts as
 * empty. */
void sn_diff_html_write(struct sn_stream *stream, const struct sn_profile *before,
                        const struct sn_profile *after, const struct sn_diff_html_options *options);

#endif
