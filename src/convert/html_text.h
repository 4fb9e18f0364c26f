/* Text and tables in a page. Whatever comes from a trace passes sn_html_text on its way. */
#ifndef SN_HTML_TEXT_H
#define SN_HTML_TEXT_H

#include <stdint.h>

struct sn_buf;

/* Appends text from outside, for content and quoted attributes: markup is escaped, what is
 * invisible or turns the direction of text is written out, and what is longer than a name can be is
 * cut. */
void sn_html_text(struct sn_buf *out, const char *text);

/* --- tables: begin, then rows of a name and cells, then end --- */

/* `headings` are our own words, ended by NULL. */
void sn_html_table_begin(struct sn_buf *out, const char *const *headings);
void sn_html_table_end(struct sn_buf *out);

void sn_html_row(struct sn_buf *out, const char *name);
void sn_html_row_with(struct sn_buf *out, const char *name, const char *detail); /* below it */
void sn_html_cell_count(struct sn_buf *out, uint64_t count);
void sn_html_cell_ns(struct sn_buf *out, uint64_t ns);
void sn_html_cell_bytes(struct sn_buf *out, uint64_t bytes);
void sn_html_cell_share(struct sn_buf *out, uint64_t part, uint64_t whole);

/* --- facts: large numbers with a word above them --- */

void sn_html_facts_begin(struct sn_buf *out);
void sn_html_facts_end(struct sn_buf *out);
void sn_html_fact_text(struct sn_buf *out, const char *label, const char *text);
void sn_html_fact_count(struct sn_buf *out, const char *label, uint64_t count);
void sn_html_fact_ns(struct sn_buf *out, const char *label, uint64_t ns);
void sn_html_fact_bytes(struct sn_buf *out, const char *label, uint64_t bytes);

#endif
