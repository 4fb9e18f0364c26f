/* A socket that listens where it is told, with errors that say what to do about them. */
#ifndef SN_LISTENER_H
#define SN_LISTENER_H

#include <stddef.h>

#include "sonde/error.h"

#define SN_LISTENER_NAME_SIZE 64

/* `address`: "host:port", "[::1]:port", ":port" (every address); port 0 takes a free one. Not
 * blocking. `ret_name`: "127.0.0.1:9464", where it is. */
int sn_listener_open(const char *address, int *ret_fd, char ret_name[SN_LISTENER_NAME_SIZE],
                     struct sonde_error *err);

#endif
