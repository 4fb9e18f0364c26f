/* What people see: safe text, cells of a width, colour on terminals only. */
#include "check.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal.h"

static char shown[4096];

static FILE *open_shown(void)
{
    memset(shown, 0, sizeof(shown));
    FILE *to = fmemopen(shown, sizeof(shown), "w");
    assert_non_null(to);
    return to;
}

static const char *cell(const char *text, int width)
{
    FILE *to = open_shown();
    sn_terminal_cell(to, SN_STYLE_BOLD, text, width);
    (void)fclose(to);
    return shown;
}

static void text_cannot_command_the_terminal(void **state)
{
    (void)state;
    FILE *to = open_shown();
    sn_terminal_put(to, SN_STYLE_BAD, "a\033[2Jb\n\xE2\x80\xAE");
    (void)fclose(to);
    assert_string_equal(shown, "a\\x1b[2Jb\\x0a\\u{202e}");
}

static void cells_are_padded_or_cut_to_their_width(void **state)
{
    (void)state;
    assert_string_equal(cell("abc", 6), "abc   ");
    assert_string_equal(cell("abc", 3), "abc");
    assert_string_equal(cell("abcdef", 4), "abc…");
    assert_string_equal(cell("", 3), "   ");
    assert_string_equal(cell("abc", 0), "abc");
}

static void cells_count_characters_and_not_bytes(void **state)
{
    (void)state;
    assert_string_equal(cell("äöü", 4), "äöü ");
    assert_string_equal(cell("äöüß", 3), "äö…");
    assert_int_equal(sn_terminal_columns("äöü…"), 4);
    assert_int_equal(sn_terminal_columns(""), 0);
}

static void a_file_is_no_terminal(void **state)
{
    (void)state;
    FILE *to = fopen("/dev/null", "w");
    assert_non_null(to);
    assert_false(sn_terminal_has_colour(to));
    assert_int_equal(sn_terminal_width(to), 0);
    (void)fclose(to);
}

static void a_terminal_has_colour_unless_told_otherwise(void **state)
{
    (void)state;
    int master;
    int slave;
    struct winsize size = {.ws_col = 123, .ws_row = 45};
    if (openpty(&master, &slave, NULL, NULL, &size) != 0)
        skip_because("no pseudo-terminal");
    FILE *to = fdopen(slave, "w");
    assert_non_null(to);
    (void)setenv("TERM", "xterm", 1);
    (void)unsetenv("NO_COLOR");
    assert_true(sn_terminal_has_colour(to));
    assert_int_equal(sn_terminal_width(to), 123);
    (void)setenv("NO_COLOR", "1", 1);
    assert_false(sn_terminal_has_colour(to));
    (void)setenv("NO_COLOR", "", 1);
    assert_true(sn_terminal_has_colour(to));
    (void)setenv("TERM", "dumb", 1);
    assert_false(sn_terminal_has_colour(to));
    (void)unsetenv("TERM");
    assert_false(sn_terminal_has_colour(to));
    size.ws_col = 0; /* a serial line does not know */
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    assert_int_equal(sn_terminal_width(to), 80);

    (void)setenv("TERM", "xterm", 1);
    sn_terminal_put(to, SN_STYLE_GOOD, "ok");
    (void)fflush(to);
    char got[64] = "";
    assert_true(read(master, got, sizeof(got) - 1) > 0);
    assert_string_equal(got, "\033[32mok\033[0m");
    (void)fclose(to);
    (void)close(master);
}

static void a_live_line_replaces_the_one_before(void **state)
{
    (void)state;
    FILE *to = open_shown();
    sn_terminal_live(to, "10 events");
    sn_terminal_live(to, "");
    (void)fclose(to);
    assert_string_equal(shown, "\r\033[K10 events\r\033[K");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_cannot_command_the_terminal),
        cmocka_unit_test(cells_are_padded_or_cut_to_their_width),
        cmocka_unit_test(cells_count_characters_and_not_bytes),
        cmocka_unit_test(a_file_is_no_terminal),
        cmocka_unit_test(a_terminal_has_colour_unless_told_otherwise),
        cmocka_unit_test(a_live_line_replaces_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
