/* The frame of every page: head with its policy, the embedded style and script, the profiles' data.
 * A page needs no other file and no network, and its policy admits nothing but its own two pieces.
 */
#ifndef SN_HTML_PAGE_H
#define SN_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/profile.h"

struct sn_stream;

/* What the numbers of a comparison are multiplied with. */
#define SN_HTML_DIFF_SCALE 1000u

/* One profile of a page and how its views are called. */
struct sn_html_profile {
    const struct sn_profile *profile;
    int column;                        /* the view that comes first */
    const char *labels[SN_COLUMN_MAX]; /* of the columns; NULL: by the column's name */
    bool full_names;
    bool merge_threads;
    bool is_diff; /* columns are after and before, both per second, times SN_HTML_DIFF_SCALE */
};

/* Up to and with the heading; what follows is the content. */
void sn_html_page_begin(struct sn_stream *stream, const char *title, const char *subtitle);
void sn_html_page_end(struct sn_stream *stream);

/* The last part of a path: pages are passed on, and folders are nobody's business. */
const char *sn_html_file_name(const char *path);

/* A caveat, if there is one. */
void sn_html_page_note(struct sn_stream *stream, const char *note);

/* The flame graph of these profiles; at most one a page. */
void sn_html_page_flame(struct sn_stream *stream, const struct sn_html_profile *profiles,
                        size_t count);

#endif
