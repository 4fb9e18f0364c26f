/* Any bytes as an ELF file whose words the loader changed: putting them right ends, and stays
 * within its piece. */
#include <stdlib.h>
#include <string.h>

#include "format/elf_relative.h"
#include "input_file.h"

#define PIECE 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input_file file = {data, size, 0};
    const struct sn_read_at reader = {input_file_read, &file};
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
