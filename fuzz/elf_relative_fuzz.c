/* Any bytes as an ELF file whose words the loader changed: putting them right ends, and stays
 * within its piece. */
#include <stdlib.h>
#include <string.h>

#include "format/elf_relative.h"

#define PIECE 256u

struct file {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static size_t read_bytes(void *user, uint64_t offset, void *to, size_t size)
{
    struct file *file = user;
    if (file->reads++ > 1u << 20)
        abort(); /* no input of a few kilobytes makes it read on and on */
    if (offset >= file->size)
        return 0;
    size_t part = size < file->size - offset ? size : file->size - (size_t)offset;
    memcpy(to, file->bytes + offset, part);
    return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file file = {data, size, 0};
    const struct sn_read_at reader = {read_bytes, &file};
    struct sn_elf_relative table;
    uint8_t piece[PIECE + 2];
    if (!sn_elf_relative_find(&reader, &table))
        return 0;
    for (uint64_t offset = 0; offset < size; offset += PIECE / 2 + 1) {
        memset(piece, 0x5a, sizeof(piece));
        sn_elf_relative_apply(&reader, &table, 0x10000, offset, piece + 1, PIECE);
        if (piece[0] != 0x5a || piece[PIECE + 1] != 0x5a)
            abort();
    }
    return 0;
}
