/* Small charts over the time of a trace, as SVG inside the page. */
#ifndef SN_HTML_CHART_H
#define SN_HTML_CHART_H

#include <stdint.h>

struct sn_buf;

struct sn_html_chart {
    uint64_t from_ns; /* left edge */
    uint64_t span_ns;
    uint64_t top; /* the value at the upper edge */
};

/* How many places there are for bars: more of them would cover each other. */
#define SN_HTML_CHART_PLACES 1000u

/* The place of a time, below SN_HTML_CHART_PLACES. */
unsigned sn_html_chart_place(const struct sn_html_chart *chart, uint64_t time_ns);

/* `label` is what a screen reader says, in our own words. */
void sn_html_chart_begin(struct sn_buf *out, const char *label);

/* A bar that begins at a time; the caller appends the text of its tooltip, then ends it. */
void sn_html_chart_bar_begin(struct sn_buf *out, const struct sn_html_chart *chart,
                             uint64_t time_ns, uint64_t value, const char *class_name);
void sn_html_chart_bar_end(struct sn_buf *out);

/* A line through points; begin, points, end. */
void sn_html_chart_line_begin(struct sn_buf *out);
void sn_html_chart_point(struct sn_buf *out, const struct sn_html_chart *chart, uint64_t time_ns,
                         uint64_t value);
void sn_html_chart_line_end(struct sn_buf *out);

/* Ends it, with the scale below: "0" and the length on the sides, `top_label` in the middle. */
void sn_html_chart_end(struct sn_buf *out, const struct sn_html_chart *chart,
                       const char *top_label);

#endif
