#include "format/elf_dynamic.h"

#include <elf.h>

#define ENTRY_MAX  256u
#define SYMBOL_MAX (1u << 20)
#define BUCKET_MAX (1u << 20)

struct image {
    const struct sn_read_at *file;
    const struct sn_elf_segment *loads;
    size_t load_count;
};

/* Reads at a virtual address, which must lie in a segment as a whole. */
static bool read_vaddr(const struct image *image, uint64_t vaddr, void *to, size_t size)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const struct sn_elf_segment *load = &image->loads[i];
        if (vaddr >= load->vaddr && vaddr - load->vaddr < load->size)
            return image->file->read(image->file->user, load->offset + (vaddr - load->vaddr), to,
                                     size) == size;
    }
    return false;
}

static uint64_t to_offset(const struct image *image, uint64_t vaddr)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const struct sn_elf_segment *load = &image->loads[i];
        if (vaddr >= load->vaddr && vaddr - load->vaddr < load->size)
            return load->offset + (vaddr - load->vaddr);
    }
    return 0;
}

/* DT_HASH says it outright. */
static uint32_t count_by_hash(const struct image *image, uint64_t vaddr)
{
    uint32_t head[2] = {0}; /* buckets, chains */
    return vaddr && read_vaddr(image, vaddr, head, sizeof(head)) ? head[1] : 0;
}

/* DT_GNU_HASH has no count: the last chain's end is the last symbol. */
static uint32_t count_by_gnu_hash(const struct image *image, uint64_t vaddr)
{
    uint32_t head[4] = {0}; /* buckets, first symbol, words of the filter, shift */
    if (!vaddr || !read_vaddr(image, vaddr, head, sizeof(head)) || head[0] > BUCKET_MAX)
        return 0;
    uint64_t buckets = vaddr + sizeof(head) + (uint64_t)head[2] * 8;
    uint64_t chains = buckets + (uint64_t)head[0] * 4;
    uint32_t last = 0;
    for (uint32_t i = 0; i < head[0]; i++) {
        uint32_t symbol = 0;
        if (!read_vaddr(image, buckets + (uint64_t)i * 4, &symbol, sizeof(symbol)))
            return 0;
        last = symbol > last ? symbol : last;
    }
    if (last < head[1])
        return last;
    for (; last < SYMBOL_MAX; last++) {
        uint32_t hash = 0;
        if (!read_vaddr(image, chains + (uint64_t)(last - head[1]) * 4, &hash, sizeof(hash)))
            return 0;
        if (hash & 1)
            return last + 1;
    }
    return 0;
}

struct sn_elf_symbols sn_elf_dynamic_symbols(const struct sn_read_at *file,
                                             const struct sn_elf_segment *loads, size_t load_count,
                                             const struct sn_elf_segment *dynamic)
{
    const struct image image = {file, loads, load_count};
    struct sn_elf_symbols table = {0};
    uint64_t hash = 0;
    uint64_t gnu_hash = 0;
    for (uint64_t i = 0; i < ENTRY_MAX && (i + 1) * sizeof(Elf64_Dyn) <= dynamic->size; i++) {
        Elf64_Dyn entry = {0};
        uint64_t at = dynamic->offset + i * sizeof(entry);
        if (file->read(file->user, at, &entry, sizeof(entry)) != sizeof(entry) ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            table.offset = to_offset(&image, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRTAB)
            table.names_offset = to_offset(&image, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_STRSZ)
            table.names_size = entry.d_un.d_val;
        else if (entry.d_tag == DT_HASH)
            hash = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_GNU_HASH)
            gnu_hash = entry.d_un.d_ptr;
    }
    if (table.offset && table.names_offset)
        table.count = count_by_gnu_hash(&image, gnu_hash);
    if (table.offset && table.names_offset && !table.count)
        table.count = count_by_hash(&image, hash);
    table.count = table.count < SYMBOL_MAX ? table.count : SYMBOL_MAX;
    return table;
}
