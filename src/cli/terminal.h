/* What is shown to people: colour only on a terminal, names made safe, a line that is rewritten. */
#ifndef SN_CLI_TERMINAL_H
#define SN_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/style.h"

struct sn_buf;

/* Whether `to` is a terminal that wants colour (NO_COLOR and TERM=dumb are honoured). */
bool sn_terminal_has_colour(FILE *to);

/* Columns of the terminal behind `to`; 0 when it is none. */
unsigned sn_terminal_width(FILE *to);

/* Prints text from outside so that it cannot command the terminal, in a style when `to` has colour.
 */
void sn_terminal_put(FILE *to, enum sn_style style, const char *text);

/* The same, padded with spaces to `width` columns, or cut there with an ellipsis. */
void sn_terminal_cell(FILE *to, enum sn_style style, const char *text, int width);

/* The same, but what is cut away is the beginning: the end of a qualified name says more. */
void sn_terminal_cell_end(FILE *to, enum sn_style style, const char *text, int width);

/* Replaces the present line of a terminal; "" clears it. */
void sn_terminal_live(FILE *to, const char *text);

/* Writes `buf` and a newline to standard output; false when that fails. */
bool sn_terminal_flush(const struct sn_buf *buf);

/* Columns that UTF-8 text takes; wide and combining characters are counted as one. */
size_t sn_terminal_columns(const char *text);

#endif
