/* What lines of a text report are made of. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/text.h"
#include "convert/report_text.h"

/* Longer text is cut before it is made safe. */
#define LONGEST_TEXT 4096u
#define SAFE_LIMIT   (8u * LONGEST_TEXT + 16u)
#define TITLE_WIDTH  12u

static size_t columns_of(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xC0u) != 0x80u;
    return columns;
}

/* Where character number `index` of UTF-8 text begins. */
static const char *character(const char *text, size_t index)
{
    for (; *text; text++) {
        if (((unsigned char)*text & 0xC0u) != 0x80u && index-- == 0)
            break;
    }
    return text;
}

static void put(struct sn_text_report *page, enum sn_style style, const char *safe, size_t size)
{
    if (page->is_muted)
        return;
    struct sn_buf *buf = &page->out->buf;
    const char *code = page->has_colour ? sn_style_code(style) : NULL;
    if (code)
        sn_buf_format(buf, "\033[%sm", code);
    sn_buf_append(buf, safe, size);
    if (code)
        sn_buf_text(buf, "\033[0m");
}

static void pad(struct sn_text_report *page, size_t count)
{
    if (page->is_muted)
        return;
    sn_buf_fill(&page->out->buf, ' ', count);
    page->column += (unsigned)count;
}

static void put_safe(struct sn_text_report *page, enum sn_style style, const char *safe)
{
    put(page, style, safe, strlen(safe));
    page->column += (unsigned)columns_of(safe);
}

void sn_text_heading(struct sn_text_report *page, const char *title, const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    page->is_muted = false;
    if (!page->only_headings)
        sn_text_end(page);
    sn_text_cell(page, SN_STYLE_BOLD, title, TITLE_WIDTH);
    sn_text_name(page, SN_STYLE_NONE, words);
    sn_text_end(page);
    page->is_muted = page->only_headings;
}

void sn_text_words(struct sn_text_report *page, enum sn_style style, const char *format, ...)
{
    char words[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_safe(page, style, words);
}

static const char *make_safe(struct sn_buf *safe, const char *text)
{
    size_t size = strlen(text);
    bool is_cut = size > LONGEST_TEXT;
    size = is_cut ? LONGEST_TEXT + 1 : size;
    while (is_cut && size > LONGEST_TEXT - 4 && ((unsigned char)text[--size] & 0xC0u) == 0x80u) {
        /* back to where a character begins */
    }
    sn_text_printable(safe, text, size);
    if (is_cut)
        sn_buf_text(safe, "…");
    return sn_buf_string(safe);
}

void sn_text_name(struct sn_text_report *page, enum sn_style style, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(SAFE_LIMIT);
    put_safe(page, style, make_safe(&safe, text));
}

/* At most `width` columns of it; returns how many. */
static size_t put_cut(struct sn_text_report *page, enum sn_style style, const char *text,
                      size_t width, bool keep_end)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(SAFE_LIMIT);
    const char *shown = make_safe(&safe, text);
    size_t columns = columns_of(shown);
    if (columns <= width || !width) {
        put(page, style, shown, strlen(shown));
        page->column += (unsigned)columns;
        return columns;
    }
    if (keep_end)
        put(page, SN_STYLE_NONE, "…", strlen("…"));
    const char *from = keep_end ? character(shown, columns - width + 1) : shown;
    put(page, style, from, (size_t)(character(from, width - 1) - from));
    if (!keep_end)
        put(page, SN_STYLE_NONE, "…", strlen("…"));
    page->column += (unsigned)width;
    return width;
}

static void put_padded(struct sn_text_report *page, enum sn_style style, const char *text,
                       unsigned width, bool keep_end)
{
    size_t columns = put_cut(page, style, text, width, keep_end);
    if (columns < width)
        pad(page, width - columns);
}

void sn_text_cell(struct sn_text_report *page, enum sn_style style, const char *text,
                  unsigned width)
{
    put_padded(page, style, text, width, false);
}

void sn_text_cell_end(struct sn_text_report *page, enum sn_style style, const char *text,
                      unsigned width)
{
    put_padded(page, style, text, width, true);
}

void sn_text_right(struct sn_text_report *page, enum sn_style style, const char *text,
                   unsigned width)
{
    size_t columns = columns_of(text);
    if (columns < width)
        pad(page, width - columns);
    put_safe(page, style, text);
}

static unsigned columns_left(const struct sn_text_report *page)
{
    return page->width > page->column + 8 ? page->width - page->column : 8;
}

void sn_text_rest(struct sn_text_report *page, enum sn_style style, const char *text)
{
    (void)put_cut(page, style, text, columns_left(page), true);
}

void sn_text_rest_start(struct sn_text_report *page, enum sn_style style, const char *text)
{
    (void)put_cut(page, style, text, columns_left(page), false);
}

void sn_text_end(struct sn_text_report *page)
{
    if (page->is_muted)
        return;
    sn_buf_u8(&page->out->buf, '\n');
    page->column = 0;
    sn_stream_settle(page->out);
}

/* --- numbers --- */

/* Three digits of a value in thousandths, rounded: 4560 is "4.56", 45600 is "45.6". */
static const char *three_digits(uint64_t thousandths, char *to, size_t size)
{
    uint64_t step = thousandths < 9995 ? 10 : thousandths < 99950 ? 100 : 1000;
    uint64_t rounded = (thousandths + step / 2) / step;
    uint64_t per_one = 1000 / step;
    if (step == 1000)
        (void)snprintf(to, size, "%" PRIu64, rounded);
    else
        (void)snprintf(to, size, "%" PRIu64 ".%0*" PRIu64, rounded / per_one, step == 10 ? 2 : 1,
                       rounded % per_one);
    return to;
}

const char *sn_text_ns(uint64_t ns, char to[32])
{
    /* The unit in which it has at most three digits before the point, once rounded. */
    static const struct {
        uint64_t from_ns;
        uint64_t ns;
        const char *name;
    } units[] = {{999500000, SN_NS_PER_SECOND, "s"}, {999500, SN_NS_PER_MS, "ms"}, {0, 1000, "us"}};
    char digits[24];
    size_t unit = 0;
    if (ns >= 100ull * SN_NS_PER_SECOND)
        return sn_text_duration(ns, to);
    if (!ns)
        return memcpy(to, "0", 2);
    while (ns < units[unit].from_ns)
        unit++;
    (void)snprintf(to, 32, "%s %s",
                   three_digits(ns / (units[unit].ns / 1000), digits, sizeof(digits)),
                   units[unit].name);
    return to;
}

const char *sn_text_share(uint64_t part, uint64_t whole, char to[16])
{
    double thousandths = whole ? (double)part / (double)whole * 1000 + 0.5 : 0;
    uint32_t number = thousandths < 1e9 ? (uint32_t)thousandths : 1000000000u;
    (void)snprintf(to, 16, "%" PRIu32 ".%" PRIu32 " %%", number / 10, number % 10);
    return to;
}

void sn_text_right_count(struct sn_text_report *page, uint64_t count, unsigned width)
{
    char text[32];
    sn_text_right(page, SN_STYLE_NONE, sn_text_count(count, text), width);
}

void sn_text_right_bytes(struct sn_text_report *page, uint64_t bytes, unsigned width)
{
    char text[16];
    sn_text_right(page, SN_STYLE_NONE, sn_text_bytes(bytes, text), width);
}

void sn_text_right_ns(struct sn_text_report *page, uint64_t ns, unsigned width)
{
    char text[32];
    sn_text_right(page, SN_STYLE_NONE, sn_text_ns(ns, text), width);
}

void sn_text_right_share(struct sn_text_report *page, uint64_t part, uint64_t whole, unsigned width)
{
    char text[16];
    sn_text_right(page, SN_STYLE_NONE, sn_text_share(part, whole, text), width);
}

void sn_text_thread(struct sn_text_report *page, uint64_t thread_id, const char *name,
                    const char *process)
{
    enum { NAME_COLUMNS = 15 }; /* the kernel keeps no more */
    sn_text_words(page, SN_STYLE_NONE, "  %-7" PRIu64 " ", thread_id);
    if (!*process) {
        sn_text_rest_start(page, SN_STYLE_NONE, name);
        return;
    }
    sn_text_cell(page, SN_STYLE_NONE, name, NAME_COLUMNS);
    sn_text_words(page, SN_STYLE_NONE, "  ");
    sn_text_rest_start(page, SN_STYLE_DIM, process);
}

void sn_text_more(struct sn_text_report *page, size_t count, unsigned column, const char *what)
{
    char number[32];
    if (count <= page->count)
        return;
    sn_text_words(page, SN_STYLE_DIM, "%*sand %s more%s (--count)", (int)column, "",
                  sn_text_count(count - page->count, number), what);
    sn_text_end(page);
}
