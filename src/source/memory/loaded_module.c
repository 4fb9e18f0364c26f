/* Exported symbols of a loaded ELF file: program headers, dynamic section, GNU hash table. */
#include "source/memory/loaded_module.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "source/memory/memory.h"

#define HEADERS_MAX   64u
#define DYNAMIC_MAX   256u
#define CHAIN_MAX     4096u
#define NAME_MAX_SIZE 128u

struct tables {
    uint64_t symbols;
    uint64_t names;
    uint64_t hash;
};

static bool read_header(struct sn_memory *memory, uint64_t base, Elf64_Ehdr *ret_header)
{
    return sn_memory_read(memory, base, ret_header, sizeof(*ret_header)) &&
           memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_header->e_ident[EI_CLASS] == ELFCLASS64 &&
           ret_header->e_ident[EI_DATA] == ELFDATA2LSB &&
           ret_header->e_phentsize == sizeof(Elf64_Phdr) && ret_header->e_phnum <= HEADERS_MAX;
}

/* Where the file's address 0 lies, and its dynamic section. */
static bool find_dynamic(struct sn_memory *memory, uint64_t base, uint64_t *ret_bias,
                         uint64_t *ret_dynamic)
{
    Elf64_Ehdr header;
    bool has_load = false;
    bool has_dynamic = false;
    if (!read_header(memory, base, &header))
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!sn_memory_read(memory, base + header.e_phoff + i * sizeof(segment), &segment,
                            sizeof(segment)))
            return false;
        if (segment.p_type == PT_LOAD && !has_load) {
            *ret_bias = base - (segment.p_vaddr - segment.p_offset);
            has_load = true;
        }
        if (segment.p_type == PT_DYNAMIC) {
            *ret_dynamic = segment.p_vaddr;
            has_dynamic = true;
        }
    }
    *ret_dynamic += *ret_bias;
    return has_load && has_dynamic;
}

/* glibc's loader has made addresses of these, musl's has not. */
static uint64_t place(uint64_t value, uint64_t bias)
{
    return value < bias ? value + bias : value;
}

static bool find_tables(struct sn_memory *memory, uint64_t bias, uint64_t dynamic,
                        struct tables *ret_tables)
{
    *ret_tables = (struct tables){0};
    for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
        Elf64_Dyn entry;
        if (!sn_memory_read(memory, dynamic + i * sizeof(entry), &entry, sizeof(entry)))
            return false;
        switch (entry.d_tag) {
        case DT_NULL: return ret_tables->symbols && ret_tables->names && ret_tables->hash;
        case DT_SYMTAB: ret_tables->symbols = place(entry.d_un.d_ptr, bias); break;
        case DT_STRTAB: ret_tables->names = place(entry.d_un.d_ptr, bias); break;
        case DT_GNU_HASH: ret_tables->hash = place(entry.d_un.d_ptr, bias); break;
        default: break;
        }
    }
    return false;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static uint64_t symbol_at(struct sn_memory *memory, const struct tables *tables, uint32_t index,
                          const char *name)
{
    Elf64_Sym symbol;
    char text[NAME_MAX_SIZE];
    size_t size = strlen(name) + 1;
    if (!sn_memory_read(memory, tables->symbols + (uint64_t)index * sizeof(symbol), &symbol,
                        sizeof(symbol)) ||
        symbol.st_shndx == SHN_UNDEF || size > sizeof(text) ||
        !sn_memory_read(memory, tables->names + symbol.st_name, text, size) ||
        memcmp(text, name, size) != 0)
        return 0;
    return symbol.st_value;
}

static uint64_t search(struct sn_memory *memory, const struct tables *tables, const char *name)
{
    uint32_t head[4]; /* buckets, first symbol, words of the filter, its shift */
    uint32_t index;
    uint32_t hash = hash_of(name);
    if (!sn_memory_read(memory, tables->hash, head, sizeof(head)) || !head[0])
        return 0;
    uint64_t buckets = tables->hash + sizeof(head) + (uint64_t)head[2] * sizeof(uint64_t);
    uint64_t chains = buckets + (uint64_t)head[0] * sizeof(uint32_t);
    if (!sn_memory_u32(memory, buckets + (uint64_t)(hash % head[0]) * sizeof(index), &index))
        return 0;
    for (unsigned i = 0; i < CHAIN_MAX && index >= head[1]; i++, index++) {
        uint32_t found;
        if (!sn_memory_u32(memory, chains + (uint64_t)(index - head[1]) * sizeof(found), &found))
            return 0;
        uint64_t value = (found | 1u) == (hash | 1u) ? symbol_at(memory, tables, index, name) : 0;
        if (value || (found & 1u))
            return value;
    }
    return 0;
}

uint64_t sn_loaded_module_symbol(struct sn_memory *memory, uint64_t base, const char *name)
{
    struct tables tables;
    uint64_t bias = 0;
    uint64_t dynamic = 0;
    if (!find_dynamic(memory, base, &bias, &dynamic) ||
        !find_tables(memory, bias, dynamic, &tables))
        return 0;
    uint64_t value = search(memory, &tables, name);
    return value ? bias + value : 0;
}
