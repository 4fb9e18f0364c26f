/* Tells a terminal, from the second second on, that something is still being worked on; for calls
 * that return only when they are done. One at a time. */
#ifndef SN_CLI_PATIENCE_H
#define SN_CLI_PATIENCE_H

/* `text` is borrowed until the end: "converting shop.nettrace". Nothing unless standard error is a
 * terminal. */
void sn_patience_start(const char *text);
void sn_patience_end(void);

#endif
