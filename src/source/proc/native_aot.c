#include "source/proc/native_aot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "format/elf.h"

#define MARK "DotNetRuntimeDebugHeader"

/* Names of exports; a program with more is none that a compiler made. */
#define NAMES_LIMIT (1u << 20)
#define CHUNK_SIZE  4096u

static size_t read_at(void *user, uint64_t offset, void *to, size_t size)
{
    const int *fd = user;
    ssize_t got = offset <= INT64_MAX ? pread(*fd, to, size, (off_t)offset) : -1;
    return got > 0 ? (size_t)got : 0;
}

/* Chunks overlap by as much as a mark that is cut. */
static bool has_mark(const struct sn_read_at *file, const struct sn_elf_symbols *exported)
{
    char chunk[CHUNK_SIZE];
    uint64_t size = exported->names_size < NAMES_LIMIT ? exported->names_size : NAMES_LIMIT;
    for (uint64_t at = 0; at < size; at += CHUNK_SIZE - sizeof(MARK)) {
        uint64_t left = size - at;
        size_t wanted = left < sizeof(chunk) ? (size_t)left : sizeof(chunk);
        size_t got = file->read(file->user, exported->names_offset + at, chunk, wanted);
        if (!got)
            return false;
        if (memmem(chunk, got, MARK, sizeof(MARK)))
            return true;
    }
    return false;
}

bool sn_proc_is_native_aot(uint32_t pid)
{
    char path[64];
    struct stat status;
    struct sn_elf elf;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
    SN_AUTO(sn_close) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    struct sn_read_at file = {.read = read_at, .user = &fd};
    return sn_elf_read(&file, &elf, NULL) == 0 && has_mark(&file, &elf.exported);
}
