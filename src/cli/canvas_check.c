/* Whether this terminal is one for a live view. Apart from the rest, as <term.h> takes the most
 * usual names away. */
#include <stdlib.h>
#include <unistd.h>

#define NCURSES_NOMACROS 1
#include <ncursesw/curses.h>
#include <ncursesw/term.h>

#include "base/err.h"
#include "cli/canvas.h"

int sn_canvas_check(struct sonde_error *err)
{
    int found = 0;
    const char *type = getenv("TERM");
    type = type ? type : "";
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "%s describes the terminal '%.32s'",
                       found < 0 ? "no terminfo is installed that" : "no terminfo", type);
    char placing[] = "cup";
    const char *address = tigetstr(placing);
    bool can_place = address && address != (const char *)-1;
    (void)del_curterm(cur_term); /* the view opens it again */
    if (!can_place)
        return sn_fail(err, SONDE_E_UNSUPPORTED, 0, "the terminal '%.32s' cannot place text", type);
    return SONDE_OK;
}
