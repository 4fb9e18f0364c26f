#include "cli/keyboard.h"

#include <unistd.h>

bool sn_keyboard_open(struct sn_keyboard *keyboard)
{
    *keyboard = (struct sn_keyboard){0};
    if (tcgetattr(STDIN_FILENO, &keyboard->before) != 0 ||
        tcgetpgrp(STDIN_FILENO) != getpgrp()) /* in the background it would stop us */
        return false;
    struct termios now = keyboard->before;
    now.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    keyboard->is_open = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
    return keyboard->is_open;
}

void sn_keyboard_close(const struct sn_keyboard *keyboard)
{
    if (keyboard->is_open)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &keyboard->before);
}
