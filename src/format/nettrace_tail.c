#include "format/nettrace_tail.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

#define FILE_HEAD_SIZE 20u
#define HEAD_SIZE      4u
#define PEEK_SIZE      24u /* a block's head, and an event block's own with its times */
#define NEWEST_AT      16u /* in there */

static bool read_at(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    ssize_t got;
    do
        got = pread(fd, to, size, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)size;
}

static bool is_version_6(int fd)
{
    uint8_t head[FILE_HEAD_SIZE];
    if (!read_at(fd, head, sizeof(head), 0) || memcmp(head, "Nettrace", 8) != 0)
        return false;
    struct sn_cursor cur = sn_cursor_over(head + 8, sizeof(head) - 8);
    uint32_t reserved = sn_cursor_u32(&cur);
    uint32_t version = sn_cursor_u32(&cur);
    return !reserved && version == 6;
}

static void note_newest(int fd, uint64_t offset, struct sn_nettrace_tail *tail)
{
    uint8_t head[PEEK_SIZE];
    if (!read_at(fd, head, sizeof(head), offset))
        return;
    struct sn_cursor cur = sn_cursor_over(head + NEWEST_AT, sizeof(uint64_t));
    uint64_t newest = sn_cursor_u64(&cur);
    if (newest > tail->newest_ns)
        tail->newest_ns = newest;
}

int sn_nettrace_find_tail(int fd, const char *path, struct sn_nettrace_tail *ret_tail,
                          struct sonde_error *err)
{
    struct sn_nettrace_tail tail = {.offset = FILE_HEAD_SIZE};
    struct stat status;
    if (fstat(fd, &status) != 0)
        return sn_fail_errno(err, "cannot read '%s'", path);
    if (!is_version_6(fd))
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%s' is no nettrace file of version 6", path);
    uint8_t bytes[HEAD_SIZE];
    while (!tail.is_finished && read_at(fd, bytes, sizeof(bytes), tail.offset)) {
        struct sn_cursor cur = sn_cursor_over(bytes, sizeof(bytes));
        uint32_t head = sn_cursor_u32(&cur);
        uint64_t size = HEAD_SIZE + (head & 0xFFFFFFu);
        tail.is_finished = head >> 24 == SN_NETTRACE_END;
        if (tail.is_finished || tail.offset + size > (uint64_t)status.st_size)
            break;
        if (head >> 24 == SN_NETTRACE_EVENTS && size > PEEK_SIZE)
            note_newest(fd, tail.offset, &tail);
        tail.offset += size;
    }
    if (tail.offset == FILE_HEAD_SIZE)
        return sn_fail(err, SONDE_E_FORMAT, 0, "'%s' is cut before anything was recorded", path);
    *ret_tail = tail;
    return SONDE_OK;
}
