#include "cli/canvas.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCURSES_NOMACROS 1 /* functions check their arguments; macros trip over -Wconversion */
#include <ncursesw/curses.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"

#define ESCAPE_MS    50
#define LONGEST_TEXT 8192u

/* What stands where text was cut: one terminal a program, so one answer. */
static const char *ellipsis = "…";

/* --- the terminal --- */

/* Where a static program finds no locale of the user's, glibc's own knows UTF-8 too. Numbers stay
 * as they are: only characters are asked for. Returns whether the user asked for UTF-8. */
static bool choose_characters(void)
{
    bool has_own = setlocale(LC_CTYPE, "") != NULL;
    if (has_own && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        return true;
    const char *name = getenv("LC_ALL");
    name = name && *name ? name : getenv("LC_CTYPE");
    name = name && *name ? name : getenv("LANG");
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return name && (strcasestr(name, "utf-8") || strcasestr(name, "utf8"));
}

static void choose_colours(void)
{
    const char *no_colour = getenv("NO_COLOR");
    if ((no_colour && *no_colour) || !has_colors())
        return;
    (void)start_color();
    (void)use_default_colors();
    (void)init_pair(SN_COLOUR_WARN, COLOR_YELLOW, -1);
    (void)init_pair(SN_COLOUR_GREEN, COLOR_GREEN, -1);
    (void)init_pair(SN_COLOUR_CYAN, COLOR_CYAN, -1);
    (void)init_pair(SN_COLOUR_HEAD, COLOR_BLUE, -1);
}

int sn_canvas_open(struct sn_canvas *canvas, struct sonde_error *err)
{
    *canvas = (struct sn_canvas){.has_utf8 = choose_characters()};
    ellipsis = canvas->has_utf8 ? "…" : "~";
    int rc = sn_canvas_check(err);
    if (rc != SONDE_OK)
        return rc;
    canvas->terminal = newterm(NULL, stdout, stdin);
    if (!canvas->terminal)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "the terminal cannot be used");
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, true);
    (void)nodelay(stdscr, true);
    (void)curs_set(0);
    (void)set_escdelay(ESCAPE_MS);
    choose_colours();
    return SONDE_OK;
}

void sn_canvas_close(struct sn_canvas *canvas)
{
    (void)endwin();
    delscreen(canvas->terminal);
    canvas->terminal = NULL;
}

/* --- text --- */

/* How many bytes of `text` take at most `columns`; *ret_columns: how many they take. */
static size_t fit(const char *text, int columns, int *ret_columns)
{
    size_t bytes = 0;
    *ret_columns = 0;
    for (; text[bytes]; bytes++) {
        bool begins = ((unsigned char)text[bytes] & 0xC0u) != 0x80u;
        if (begins && *ret_columns == columns)
            break;
        *ret_columns += begins;
    }
    return bytes;
}

static void put_bytes(int line, int column, enum sn_colour colour, const char *text, size_t size)
{
    int style = (int)COLOR_PAIR((int)colour);
    (void)attron(style);
    (void)mvaddnstr(line, column, text, (int)size);
    (void)attroff(style);
}

int sn_canvas_put(int line, int column, enum sn_colour colour, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit((size_t)8 * LONGEST_TEXT);
    int taken;
    if (column >= COLS)
        return column;
    sn_text_printable(&safe, text, strnlen(text, LONGEST_TEXT));
    const char *shown = sn_buf_string(&safe);
    size_t size = fit(shown, COLS - column, &taken);
    put_bytes(line, column, colour, shown, size);
    return column + taken;
}

int sn_canvas_put_cell(int line, int column, int width, enum sn_colour colour, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit((size_t)8 * LONGEST_TEXT);
    int taken;
    if (width > COLS - column)
        width = COLS - column;
    if (width <= 0)
        return column;
    sn_text_printable(&safe, text, strnlen(text, LONGEST_TEXT));
    const char *shown = sn_buf_string(&safe);
    size_t size = fit(shown, width, &taken);
    bool is_cut = shown[size] != '\0';
    if (is_cut)
        size = fit(shown, width - 1, &taken);
    put_bytes(line, column, colour, shown, size);
    if (is_cut)
        (void)mvaddstr(line, column + taken++, ellipsis);
    return column + taken;
}

int sn_canvas_put_cell_end(int line, int column, int width, enum sn_colour colour, const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit((size_t)8 * LONGEST_TEXT);
    sn_text_printable(&safe, text, strnlen(text, LONGEST_TEXT));
    const char *shown = sn_buf_string(&safe);
    int surplus = (int)sn_terminal_columns(shown) - width;
    int taken;
    if (width < 2 || column + width > COLS || surplus <= 0)
        return sn_canvas_put_cell(line, column, width, colour, text);
    (void)mvaddstr(line, column, ellipsis);
    return sn_canvas_put(line, column + 1, colour, shown + fit(shown, surplus + 1, &taken));
}

int sn_canvas_put_wrapped(int line, enum sn_colour colour, const char *text)
{
    size_t width = COLS > 20 ? (size_t)COLS - 4 : 16;
    while (*text && line < LINES - 1) {
        size_t size = strlen(text);
        if (size > width) {
            size = width;
            while (size > width / 2 && text[size] != ' ')
                size--;
        }
        char part[512];
        (void)snprintf(part, sizeof(part), "%.*s", (int)size, text);
        (void)sn_canvas_put(line++, 2, colour, part);
        text += size;
        text += strspn(text, " ");
    }
    return line;
}

void sn_canvas_mark(int line)
{
    (void)mvchgat(line, 0, -1, A_REVERSE, 0, NULL);
}

/* --- lists --- */

void sn_list_scroll(struct sn_list *list, int height)
{
    size_t room = height > 0 ? (size_t)height : 1;
    if (list->marked >= list->count)
        list->marked = list->count ? list->count - 1 : 0;
    if (list->marked < list->first)
        list->first = list->marked;
    if (list->marked >= list->first + room)
        list->first = list->marked - room + 1;
}

bool sn_list_move(struct sn_list *list, int key, int page)
{
    size_t step = page > 1 ? (size_t)page : 1;
    size_t last = list->count ? list->count - 1 : 0;
    switch (key) {
    case KEY_UP: list->marked -= list->marked > 0; break;
    case KEY_DOWN: list->marked += list->marked < last; break;
    case KEY_PPAGE: list->marked -= list->marked < step ? list->marked : step; break;
    case KEY_NPAGE: list->marked = list->marked + step < last ? list->marked + step : last; break;
    case KEY_HOME: list->marked = 0; break;
    case KEY_END: list->marked = last; break;
    default: return false;
    }
    return true;
}
