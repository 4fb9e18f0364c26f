/* Keys as they are pressed, without Enter and without being shown. */
#ifndef SN_CLI_KEYBOARD_H
#define SN_CLI_KEYBOARD_H

#include <stdbool.h>
#include <termios.h>

struct sn_keyboard {
    struct termios before;
    bool is_open;
};

/* Nothing happens, and false is returned, unless standard input is a terminal. */
bool sn_keyboard_open(struct sn_keyboard *keyboard);
void sn_keyboard_close(const struct sn_keyboard *keyboard);

#endif
