#include "source/proc/environment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

#define LONGEST_TEXT 256u
#define PIECE_SIZE   4096u

bool sn_proc_environment_has(uint32_t pid, const char *text)
{
    char path[64];
    char piece[LONGEST_TEXT + PIECE_SIZE];
    size_t length = strlen(text);
    size_t kept = 0; /* of the piece before: the text may lie across */
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/environ", pid);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || !length || length > LONGEST_TEXT)
        return false;
    for (;;) {
        ssize_t got = read(fd, piece + kept, PIECE_SIZE);
        if (got <= 0)
            return false;
        size_t size = kept + (size_t)got;
        if (memmem(piece, size, text, length))
            return true;
        kept = size < length - 1 ? size : length - 1;
        memmove(piece, piece + size - kept, kept);
    }
}
