#include "convert/html_chart.h"

#include "base/buf.h"
#include "convert/report_text.h"

/* Of the drawing, in its own unit; the page stretches it. */
#define WIDTH     10000u
#define HEIGHT    1000u
#define BAR_WIDTH 30u
#define BAR_LEAST 25u

static unsigned scaled(uint64_t value, uint64_t whole, unsigned size)
{
    if (!whole)
        return 0;
    double share = (double)value / (double)whole;
    return share >= 1 ? size : (unsigned)(share * size);
}

static unsigned x_of(const struct sn_html_chart *chart, uint64_t time_ns)
{
    uint64_t since = time_ns > chart->from_ns ? time_ns - chart->from_ns : 0;
    return scaled(since, chart->span_ns, WIDTH - BAR_WIDTH);
}

unsigned sn_html_chart_place(const struct sn_html_chart *chart, uint64_t time_ns)
{
    return x_of(chart, time_ns) * SN_HTML_CHART_PLACES / WIDTH;
}

void sn_html_chart_begin(struct sn_buf *out, const char *label)
{
    sn_buf_format(out,
                  "<svg class=chart role=img aria-label=\"%s\" viewBox=\"0 0 %u %u\" "
                  "preserveAspectRatio=none><path class=axis d=\"M0 %uH%u\"/>\n",
                  label, WIDTH, HEIGHT, HEIGHT - 2, WIDTH);
}

void sn_html_chart_bar_begin(struct sn_buf *out, const struct sn_html_chart *chart,
                             uint64_t time_ns, uint64_t value, const char *class_name)
{
    unsigned height = scaled(value, chart->top, HEIGHT);
    if (height < BAR_LEAST)
        height = BAR_LEAST;
    sn_buf_format(out, "<rect class=%s x=%u y=%u width=%u height=%u><title>", class_name,
                  x_of(chart, time_ns), HEIGHT - height, BAR_WIDTH, height);
}

void sn_html_chart_bar_end(struct sn_buf *out)
{
    sn_buf_text(out, "</title></rect>\n");
}

void sn_html_chart_line_begin(struct sn_buf *out)
{
    sn_buf_text(out, "<polyline class=line points=\"");
}

void sn_html_chart_point(struct sn_buf *out, const struct sn_html_chart *chart, uint64_t time_ns,
                         uint64_t value)
{
    sn_buf_format(out, "%u,%u ", x_of(chart, time_ns),
                  HEIGHT - scaled(value, chart->top, HEIGHT - 20));
}

void sn_html_chart_line_end(struct sn_buf *out)
{
    sn_buf_text(out, "\"/>\n");
}

void sn_html_chart_end(struct sn_buf *out, const struct sn_html_chart *chart, const char *top_label)
{
    char end[32];
    sn_buf_format(
        out, "</svg>\n<div class=chart-scale><span>0</span><span>%s</span><span>%s</span></div>\n",
        top_label, sn_text_ns(chart->span_ns, end));
}
