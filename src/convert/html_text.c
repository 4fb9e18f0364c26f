#include "convert/html_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "convert/report_text.h"

#define TEXT_MAX ((size_t)1000) /* bytes; the whole name is in the data of the flame graph */

static void append_escaped(struct sn_buf *out, char byte)
{
    switch (byte) {
    case '&': sn_buf_text(out, "&amp;"); break;
    case '<': sn_buf_text(out, "&lt;"); break;
    case '>': sn_buf_text(out, "&gt;"); break;
    case '"': sn_buf_text(out, "&quot;"); break;
    case '\'': sn_buf_text(out, "&#39;"); break;
    default: sn_buf_u8(out, (uint8_t)byte);
    }
}

/* Not in the middle of a character. */
static size_t cut_length(const char *text)
{
    size_t size = strnlen(text, TEXT_MAX + 1);
    if (size <= TEXT_MAX)
        return size;
    size = TEXT_MAX;
    while (size && ((uint8_t)text[size] & 0xC0u) == 0x80)
        size--;
    return size;
}

void sn_html_text(struct sn_buf *out, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf shown = sn_buf_with_limit(TEXT_MAX * 16);
    size_t size = cut_length(text);
    sn_text_printable(&shown, text, size);
    for (size_t i = 0; i < shown.size; i++)
        append_escaped(out, (char)shown.bytes[i]);
    if (text[size])
        sn_buf_text(out, "…");
}

/* --- tables --- */

void sn_html_table_begin(struct sn_buf *out, const char *const *headings)
{
    sn_buf_text(out, "<div class=wide><table><thead><tr>");
    for (; *headings; headings++)
        sn_buf_format(out, "<th scope=col>%s", *headings);
    sn_buf_text(out, "<tbody>\n");
}

void sn_html_table_end(struct sn_buf *out)
{
    sn_buf_text(out, "</table></div>\n");
}

void sn_html_row(struct sn_buf *out, const char *name)
{
    sn_buf_text(out, "<tr><th scope=row><bdi>");
    sn_html_text(out, name);
    sn_buf_text(out, "</bdi>\n");
}

void sn_html_row_with(struct sn_buf *out, const char *name, const char *detail)
{
    sn_html_row(out, name);
    sn_buf_text(out, "<small><bdi>");
    sn_html_text(out, detail);
    sn_buf_text(out, "</bdi></small>");
}

void sn_html_cell_count(struct sn_buf *out, uint64_t count)
{
    char text[32];
    sn_buf_format(out, "<td>%s", sn_text_count(count, text));
}

void sn_html_cell_ns(struct sn_buf *out, uint64_t ns)
{
    char text[32];
    sn_buf_format(out, "<td>%s", sn_text_ns(ns, text));
}

void sn_html_cell_bytes(struct sn_buf *out, uint64_t bytes)
{
    char text[16];
    sn_buf_format(out, "<td>%s", sn_text_bytes(bytes, text));
}

void sn_html_cell_share(struct sn_buf *out, uint64_t part, uint64_t whole)
{
    char text[16];
    sn_buf_format(out, "<td>%s", sn_text_share(part, whole, text));
}

/* --- facts --- */

void sn_html_facts_begin(struct sn_buf *out)
{
    sn_buf_text(out, "<dl class=facts>\n");
}

void sn_html_facts_end(struct sn_buf *out)
{
    sn_buf_text(out, "</dl>\n");
}

void sn_html_fact_text(struct sn_buf *out, const char *label, const char *text)
{
    sn_buf_format(out, "<div><dt>%s<dd>", label);
    sn_html_text(out, text);
    sn_buf_text(out, "</div>\n");
}

void sn_html_fact_count(struct sn_buf *out, const char *label, uint64_t count)
{
    char text[32];
    sn_html_fact_text(out, label, sn_text_count(count, text));
}

void sn_html_fact_ns(struct sn_buf *out, const char *label, uint64_t ns)
{
    char text[32];
    sn_html_fact_text(out, label, sn_text_ns(ns, text));
}

void sn_html_fact_bytes(struct sn_buf *out, const char *label, uint64_t bytes)
{
    char text[16];
    sn_html_fact_text(out, label, sn_text_bytes(bytes, text));
}
