/* SIGINT, SIGTERM and SIGHUP as something readable instead of something that ends us: what runs
 * until somebody stops it ends in good order. */
#ifndef SN_CLI_SIGNALS_H
#define SN_CLI_SIGNALS_H

#include <stdbool.h>

struct sonde_error;

/* Blocks them and gives a descriptor that is readable when one came. The caller closes it. */
int sn_signals_open(int *ret_fd, struct sonde_error *err);

/* Whether one came and was not read; only looks. */
bool sn_signals_pending(int fd);

/* Reads all there are: several that came together, as a terminal and a supervisor may send them,
 * are one request. */
bool sn_signals_drain(int fd);

/* The next of them that was not read, its number; 0 when there is none. */
int sn_signals_take(int fd);

#endif
