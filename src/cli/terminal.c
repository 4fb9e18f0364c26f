#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"

/* Longer text is cut; escaped, a byte takes four at most, a character eight. */
#define LONGEST_TEXT 65536u
#define PRINT_LIMIT  (8u * LONGEST_TEXT + 16u)

bool sn_terminal_has_colour(FILE *to)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fileno(to)) && !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
}

unsigned sn_terminal_width(FILE *to)
{
    struct winsize size;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col ? size.ws_col : 80;
}

static void put_styled(FILE *to, enum sn_style style, const char *safe)
{
    const char *code = sn_terminal_has_colour(to) ? sn_style_code(style) : NULL;
    if (code)
        (void)fprintf(to, "\033[%sm%s\033[0m", code, safe);
    else
        (void)fputs(safe, to);
}

void sn_terminal_put(FILE *to, enum sn_style style, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(PRINT_LIMIT);
    sn_text_printable(&safe, text, strnlen(text, LONGEST_TEXT));
    if (strlen(text) > LONGEST_TEXT)
        sn_buf_text(&safe, "…");
    put_styled(to, style, sn_buf_string(&safe));
}

size_t sn_terminal_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xC0u) != 0x80u;
    return columns;
}

/* Where character number `index` of UTF-8 text begins. */
static char *character(char *text, size_t index)
{
    for (; *text; text++) {
        bool begins = ((unsigned char)*text & 0xC0u) != 0x80u;
        if (begins && index-- == 0)
            break;
    }
    return text;
}

static void put_cell(FILE *to, enum sn_style style, const char *text, int width, bool keeps_end)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(PRINT_LIMIT);
    sn_text_printable(&safe, text, strnlen(text, LONGEST_TEXT));
    char *shown = (char *)(uintptr_t)sn_buf_string(&safe); /* ours: the buffer is local */
    size_t columns = sn_terminal_columns(shown);
    bool is_cut = width > 1 && columns > (size_t)width;
    if (is_cut && keeps_end)
        shown = character(shown, columns - (size_t)width + 1);
    else if (is_cut)
        *character(shown, (size_t)width - 1) = '\0';
    (void)fputs(is_cut && keeps_end ? "…" : "", to);
    put_styled(to, style, shown);
    (void)fprintf(to, "%s%*s", is_cut && !keeps_end ? "…" : "",
                  width > (int)columns ? width - (int)columns : 0, "");
}

void sn_terminal_cell(FILE *to, enum sn_style style, const char *text, int width)
{
    put_cell(to, style, text, width, false);
}

void sn_terminal_cell_end(FILE *to, enum sn_style style, const char *text, int width)
{
    put_cell(to, style, text, width, true);
}

void sn_terminal_live(FILE *to, const char *text)
{
    unsigned width = sn_terminal_width(to);
    char line[512];
    (void)snprintf(line, sizeof(line), "%s", text);
    if (width > 1)
        *character(line, width - 1) = '\0'; /* a wrapped line could not be replaced */
    (void)fprintf(to, "\r\033[K%s", line);
    (void)fflush(to);
}

bool sn_terminal_flush(const struct sn_buf *buf)
{
    return !buf->failed && fwrite(buf->bytes, 1, buf->size, stdout) == buf->size &&
           putchar('\n') != EOF && fflush(stdout) == 0;
}
