/* A profile as the compact JSON that web/flame/tree.js reads: tables of columns. */
#ifndef SN_HTML_DATA_H
#define SN_HTML_DATA_H

struct sn_html_profile;
struct sn_json;
struct sn_stream;

/* Appends one object; `json` writes into the buffer of `stream`. Failures stay in the stream. */
void sn_html_data_write(struct sn_stream *stream, struct sn_json *json,
                        const struct sn_html_profile *page);

#endif
