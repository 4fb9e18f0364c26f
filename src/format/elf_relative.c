/* Relative relocations: the sorted head of DT_RELA. */
#include "format/elf_relative.h"

#include <elf.h>
#include <string.h>

#define HEADERS_MAX 64u
#define DYNAMIC_MAX 256u
#define COUNT_MAX   (1u << 24)
#define BLOCK       64u /* entries that are read at a time */

struct segments {
    Elf64_Phdr items[HEADERS_MAX];
    size_t count;
};

static bool read_all(const struct sn_read_at *file, uint64_t offset, void *to, size_t size)
{
    return file->read(file->user, offset, to, size) == size;
}

static bool read_segments(const struct sn_read_at *file, struct segments *ret_segments)
{
    Elf64_Ehdr header;
    if (!read_all(file, 0, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > HEADERS_MAX)
        return false;
    ret_segments->count = header.e_phnum;
    return read_all(file, header.e_phoff, ret_segments->items,
                    header.e_phnum * sizeof(*ret_segments->items));
}

/* A file offset to its virtual address, or the reverse. False: in no segment. */
static bool move(const struct segments *segments, uint64_t from, bool is_offset, uint64_t *ret_to)
{
    for (size_t i = 0; i < segments->count; i++) {
        const Elf64_Phdr *segment = &segments->items[i];
        uint64_t start = is_offset ? segment->p_offset : segment->p_vaddr;
        uint64_t other = is_offset ? segment->p_vaddr : segment->p_offset;
        if (segment->p_type != PT_LOAD || from < start || from - start >= segment->p_filesz)
            continue;
        *ret_to = other + (from - start);
        return true;
    }
    return false;
}

bool sn_elf_relative_find(const struct sn_read_at *file, struct sn_elf_relative *ret_table)
{
    struct segments segments;
    uint64_t dynamic = 0;
    uint64_t table = 0;
    *ret_table = (struct sn_elf_relative){0};
    if (!read_segments(file, &segments))
        return false;
    for (size_t i = 0; i < segments.count; i++) {
        if (segments.items[i].p_type == PT_DYNAMIC)
            dynamic = segments.items[i].p_offset;
    }
    for (unsigned i = 0; dynamic && i < DYNAMIC_MAX; i++) {
        Elf64_Dyn entry;
        if (!read_all(file, dynamic + i * sizeof(entry), &entry, sizeof(entry)) ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_RELA)
            table = entry.d_un.d_ptr;
        if (entry.d_tag == DT_RELACOUNT && entry.d_un.d_val <= COUNT_MAX)
            ret_table->count = entry.d_un.d_val;
    }
    return ret_table->count && move(&segments, table, false, &ret_table->offset);
}

static bool read_entry(const struct sn_read_at *file, const struct sn_elf_relative *table,
                       uint64_t index, Elf64_Rela *ret_entry)
{
    return index < table->count && read_all(file, table->offset + index * sizeof(*ret_entry),
                                            ret_entry, sizeof(*ret_entry));
}

/* How many came. */
static size_t read_block(const struct sn_read_at *file, const struct sn_elf_relative *table,
                         uint64_t index, Elf64_Rela block[BLOCK])
{
    uint64_t left = index < table->count ? table->count - index : 0;
    size_t wanted = left < BLOCK ? (size_t)left : BLOCK;
    size_t got = wanted ? file->read(file->user, table->offset + index * sizeof(*block), block,
                                     wanted * sizeof(*block))
                        : 0;
    return got / sizeof(*block);
}

/* The first entry at `vaddr` or behind it. */
static uint64_t first_at(const struct sn_read_at *file, const struct sn_elf_relative *table,
                         uint64_t vaddr)
{
    uint64_t low = 0;
    uint64_t high = table->count;
    while (low < high) {
        Elf64_Rela entry;
        uint64_t middle = low + (high - low) / 2;
        if (!read_entry(file, table, middle, &entry))
            return table->count;
        if (entry.r_offset < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes as much of the word at `at` (relative to the piece) as lies in it. */
static void put_word(uint64_t value, int64_t at, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof(value); i++) {
        int64_t place = at + (int64_t)i;
        if (place >= 0 && (uint64_t)place < size)
            bytes[place] = (uint8_t)(value >> (8 * i));
    }
}

void sn_elf_relative_apply(const struct sn_read_at *file, const struct sn_elf_relative *table,
                           uint64_t bias, uint64_t offset, void *bytes, size_t size)
{
    struct segments segments;
    uint64_t vaddr;
    if (!table->count || !read_segments(file, &segments) || !move(&segments, offset, true, &vaddr))
        return;
    uint64_t index = first_at(file, table, vaddr > 7 ? vaddr - 7 : 0);
    uint64_t last = 0;
    for (size_t i = 0; i < size / sizeof(uint64_t) + 2;) {
        Elf64_Rela block[BLOCK];
        size_t count = read_block(file, table, index, block);
        for (size_t k = 0; k < count; k++, i++) {
            const Elf64_Rela *entry = &block[k];
            if (entry->r_offset < last || entry->r_offset >= vaddr + size)
                return; /* behind the piece, or not in order */
            last = entry->r_offset;
            if (ELF64_R_TYPE(entry->r_info) == R_X86_64_RELATIVE)
                put_word(bias + (uint64_t)entry->r_addend, (int64_t)(entry->r_offset - vaddr),
                         bytes, size);
        }
        index += count;
        if (!count)
            return;
    }
}
