/* The whole terminal, by ncurses: what the live views have in common. Text from outside is made
 * safe on its way. Their files include <ncursesw/curses.h> for keys. */
#ifndef SN_CLI_CANVAS_H
#define SN_CLI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_error;

#define SN_KEY_ESCAPE 27

enum sn_colour {
    SN_COLOUR_PLAIN,
    SN_COLOUR_WARN,
    SN_COLOUR_GREEN,
    SN_COLOUR_CYAN,
    SN_COLOUR_HEAD,
    SN_COLOUR_COUNT
};

struct sn_canvas {
    void *terminal; /* owns; ncurses' SCREEN */
    bool has_utf8;  /* characters beyond ASCII show as they are */
};

/* Whether text can be placed on the terminal: SONDE_E_UNSUPPORTED and why not. */
int sn_canvas_check(struct sonde_error *err);

/* Takes the terminal. SONDE_E_UNSUPPORTED, with the reason, before anything is shown. */
int sn_canvas_open(struct sn_canvas *canvas, struct sonde_error *err);

/* Leaves it as it was. */
void sn_canvas_close(struct sn_canvas *canvas);

/* Puts text there, cut at the right edge. Returns the column behind it. */
int sn_canvas_put(int line, int column, enum sn_colour colour, const char *text);

/* The same, cut so that it takes no more than `width` columns, with an ellipsis. */
int sn_canvas_put_cell(int line, int column, int width, enum sn_colour colour, const char *text);

/* The same, but what is cut away is the beginning. */
int sn_canvas_put_cell_end(int line, int column, int width, enum sn_colour colour,
                           const char *text);

/* Text of any length over several lines. Returns the line behind it. */
int sn_canvas_put_wrapped(int line, enum sn_colour colour, const char *text);

/* Shows the line as the marked one. */
void sn_canvas_mark(int line);

/* A list on the screen: what is marked, and what is the first that shows. */
struct sn_list {
    size_t count;
    size_t marked;
    size_t first;
};

/* Keeps the marked one among the `height` that show. */
void sn_list_scroll(struct sn_list *list, int height);

/* Moves the mark when `key` is one that does; `page`: how many fit. */
bool sn_list_move(struct sn_list *list, int key, int page);

#endif
