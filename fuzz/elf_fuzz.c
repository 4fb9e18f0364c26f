/* Any bytes as an ELF file: reading ends, and what is found holds what was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/elf.h"
#include "input_file.h"
#include "symbol/symbol_search.h"

#define ADDRESS_COUNT 64u

struct heard {
    const struct sn_elf *elf;
    uint64_t last;
    unsigned count;
};

static void hear(void *user, const struct sn_symbol_answer *answer)
{
    struct heard *heard = user;
    if (!answer->size || strlen(answer->name) >= SN_SYMBOL_NAME_SIZE ||
        answer->from >= answer->until || answer->from < answer->start ||
        answer->until - answer->start > answer->size)
        abort();
    if (answer->name[0] && !sn_elf_is_code(heard->elf, answer->start))
        abort();
    if (++heard->count > ADDRESS_COUNT)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input_file file = {data, size, 0};
    const struct sn_read_at reader = {input_file_read, &file};
    struct sn_elf elf = {0};
    struct sonde_error err = {0};
    uint64_t vaddrs[ADDRESS_COUNT];
    if (sn_elf_read(&reader, &elf, &err) != SONDE_OK)
        return 0;
    struct sn_symbol_tables tables = {.elf = &elf, .file = reader, .count = 2};
    tables.items[0] = (struct sn_symbol_table){reader, elf.all};
    tables.items[1] = (struct sn_symbol_table){reader, elf.exported};
    for (uint32_t i = 0; i < ADDRESS_COUNT; i++)
        vaddrs[i] = elf.code[0].vaddr + (elf.code[0].size / ADDRESS_COUNT) * i;
    if (vaddrs[ADDRESS_COUNT - 1] < vaddrs[0])
        return 0; /* not in order */
    struct heard heard = {.elf = &elf};
    sn_symbol_search(&tables, vaddrs, ADDRESS_COUNT, hear, &heard);
    return 0;
}
