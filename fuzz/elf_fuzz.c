/* Any bytes as an ELF file: reading ends, and what is found holds what was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "format/elf.h"
#include "symbol/symbol_search.h"

#define ADDRESS_COUNT 64u

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
    struct file file = {data, size, 0};
    const struct sn_read_at reader = {read_bytes, &file};
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
