#include "convert/diff_html.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/html_page.h"
#include "convert/html_text.h"
#include "convert/report_text.h"
#include "model/profile.h"

#define TITLE_LIMIT (64u << 10)

/* The columns of the merged profile, in the order that the page expects. */
enum { AFTER, BEFORE };

/* In thousandths, so that one exception an hour does not vanish. */
static uint64_t per_second(uint64_t value, uint64_t duration_ns)
{
    double seconds = duration_ns ? (double)duration_ns / SN_NS_PER_SECOND : 1;
    return (uint64_t)((double)value * SN_HTML_DIFF_SCALE / seconds + 0.5);
}

/* A method is what has the same name in the same module, as everywhere in a comparison: lines may
 * have moved, and compilers number anew. */
static uint32_t merge_frame(struct sn_profile *merged, const struct sn_frame *frame)
{
    struct sn_frame same = *frame;
    same.full_name = same.name;
    same.file = NULL;
    same.line = 0;
    return sn_profile_frame(merged, &same);
}

/* Adds one column of `from` to one of the merged profile, whose nodes it shares or extends. */
static bool merge(struct sn_profile *merged, const struct sn_profile *from, const char *column_name,
                  uint64_t duration_ns, size_t to)
{
    int column = sn_profile_column(from, column_name);
    SN_AUTO(sn_free) uint32_t *places = calloc(from->node_count, sizeof(*places));
    SN_AUTO(sn_free) uint32_t *frames = calloc(from->frame_count + 1, sizeof(*frames));
    if (!places || !frames)
        return false;
    if (column < 0)
        return true;
    for (size_t i = 0; i < from->frame_count; i++)
        frames[i] = merge_frame(merged, &from->frames[i]);
    for (size_t i = 1; i < from->node_count; i++) {
        const struct sn_node *node = &from->nodes[i];
        places[i] = sn_profile_node(merged, places[node->parent], frames[node->frame]);
    }
    uint32_t thread = sn_profile_thread(merged, 0, 0, NULL);
    for (size_t i = 0; i < from->row_count; i++) {
        uint64_t values[SN_COLUMN_MAX] = {0};
        values[to] = per_second(from->rows[i].values[column], duration_ns);
        sn_profile_add(merged, thread, places[from->rows[i].node], values);
    }
    return true;
}

static int merge_both(const struct sn_profile *before, const struct sn_profile *after,
                      const struct sn_diff_html_options *options, struct sn_profile **ret_merged,
                      struct sonde_error *err)
{
    int index = sn_profile_column(after, options->column);
    const struct sn_profile *with_column = index < 0 ? before : after;
    index = sn_profile_column(with_column, options->column);
    uint8_t unit = index < 0 ? SN_UNIT_COUNT : with_column->columns[index].unit;
    const struct sn_column columns[] = {{"after", unit}, {"before", unit}};
    SN_AUTO(sn_profile_free) struct sn_profile *merged = NULL;
    int rc = sn_profile_new(columns, 2, &merged, err);
    if (rc != SONDE_OK)
        return rc;
    if (!merge(merged, before, options->column, options->duration_before_ns, BEFORE) ||
        !merge(merged, after, options->column, options->duration_after_ns, AFTER))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a page");
    *ret_merged = SN_TAKE(merged);
    return SONDE_OK;
}

/* To three digits, as the flame graph shows it. */
static uint64_t rounded(uint64_t value)
{
    uint64_t step = 1;
    while (value / step >= 1000)
        step *= 10;
    return (value + step / 2) / step * step;
}

static void write_fact(struct sn_buf *out, const char *label, const struct sn_profile *merged,
                       int column)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(64);
    uint64_t total = rounded(sn_profile_total(merged, column, SN_NO_INDEX) / SN_HTML_DIFF_SCALE);
    char number[32];
    if (merged->columns[column].unit == SN_UNIT_NS)
        sn_buf_text(&text, sn_text_ns(total, number));
    else if (merged->columns[column].unit == SN_UNIT_BYTES)
        sn_buf_text(&text, sn_text_bytes(total, number));
    else
        sn_buf_text(&text, sn_text_count(total, number));
    sn_buf_text(&text, " per s");
    sn_html_fact_text(out, label, sn_buf_string(&text));
}

static void write_outcomes(struct sn_buf *out, const struct sn_diff_html_options *options)
{
    if (options->outcome_count)
        sn_buf_text(out, "<ul class=outcomes>\n");
    for (size_t i = 0; i < options->outcome_count; i++) {
        const struct sn_diff_outcome *outcome = &options->outcomes[i];
        sn_buf_text(out, outcome->holds ? "<li class=is-bad><b>FAILED</b> <code>"
                                        : "<li><b>ok</b> <code>");
        sn_html_text(out, outcome->condition);
        sn_buf_text(out, "</code> ");
        sn_html_text(out, outcome->text);
        sn_buf_text(out, "</li>\n");
    }
    if (options->outcome_count)
        sn_buf_text(out, "</ul>\n");
}

static void write_summary(struct sn_buf *out, const struct sn_diff_html_options *options)
{
    if (!options->summary)
        return;
    sn_buf_text(out, "<p class=summary>");
    sn_html_text(out, options->summary);
    sn_buf_text(out, "</p>\n");
}

static void write_headline(struct sn_stream *stream, const struct sn_profile *merged,
                           const struct sn_diff_html_options *options)
{
    SN_AUTO(sn_buf_done) struct sn_buf title = sn_buf_with_limit(TITLE_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf subtitle = sn_buf_with_limit(TITLE_LIMIT);
    sn_buf_format(&title, "%s → %s", sn_html_file_name(options->title_before),
                  sn_html_file_name(options->title_after));
    sn_buf_format(&subtitle, "%s per second: red grew, blue shrank", options->view);
    sn_html_page_begin(stream, options->title ? options->title : sn_buf_string(&title),
                       sn_buf_string(&subtitle));
    write_summary(&stream->buf, options);
    write_outcomes(&stream->buf, options);
    sn_html_facts_begin(&stream->buf);
    write_fact(&stream->buf, "before", merged, BEFORE);
    write_fact(&stream->buf, "after", merged, AFTER);
    sn_html_facts_end(&stream->buf);
}

void sn_diff_html_write(struct sn_stream *stream, const struct sn_profile *before,
                        const struct sn_profile *after, const struct sn_diff_html_options *options)
{
    SN_AUTO(sn_profile_free) struct sn_profile *merged = NULL;
    if (merge_both(before, after, options, &merged, &stream->err) != SONDE_OK || !merged)
        return;
    write_headline(stream, merged, options);
    struct sn_html_profile page = {
        .profile = merged,
        .column = AFTER,
        .labels = {"After", "Before"},
        .merge_threads = true,
        .is_diff = true,
    };
    sn_html_page_flame(stream, &page, 1);
    sn_html_page_end(stream);
}
