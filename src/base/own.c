#include "base/own.h"

#include <errno.h>

void sn_close(int fd)
{
    int saved = errno;
    if (fd >= 0)
        (void)close(fd); /* nothing useful can be done: Linux has released the descriptor anyway */
    errno = saved;
}
