#include "convert/html.h"

#include "base/buf.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/formats.h"
#include "convert/html_page.h"
#include "convert/report_text.h"

#define SUBTITLE_LIMIT (64u << 10)

/* "CPU of 10.2 s, 12 threads". */
static void append_subtitle(struct sn_buf *out, const struct sn_profile *profile,
                            const struct sn_format_options *options)
{
    char text[32];
    sn_buf_text(out, options->view);
    if (profile->end_ns > profile->start_ns)
        sn_buf_format(out, ", %s", sn_text_ns(profile->end_ns - profile->start_ns, text));
    sn_buf_format(out, ", %s thread%s", sn_text_count(profile->thread_count, text),
                  profile->thread_count == 1 ? "" : "s");
}

void sn_html_write(struct sn_stream *stream, const struct sn_profile *profile,
                   const struct sn_format_options *options)
{
    SN_AUTO(sn_buf_done) struct sn_buf subtitle = sn_buf_with_limit(SUBTITLE_LIMIT);
    struct sn_html_profile page = {.profile = profile,
                                   .column = options->column,
                                   .full_names = options->full_names,
                                   .merge_threads = options->merge_threads};
    append_subtitle(&subtitle, profile, options);
    sn_html_page_begin(stream, options->title[0] ? options->title : "Profile",
                       sn_buf_string(&subtitle));
    sn_html_page_note(stream, options->note);
    sn_html_page_flame(stream, &page, 1);
    sn_html_page_end(stream);
}
