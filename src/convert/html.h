/* The format "html": a profile as one page with an interactive flame graph. */
#ifndef SN_HTML_H
#define SN_HTML_H

struct sn_format_options;
struct sn_profile;
struct sn_stream;

void sn_html_write(struct sn_stream *stream, const struct sn_profile *profile,
                   const struct sn_format_options *options);

#endif
