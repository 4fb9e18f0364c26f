#include "format/elf.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "format/elf_dynamic.h"

#define SEGMENT_MAX 128u
#define SECTION_MAX 4096u
#define LOAD_MAX    16u
#define NOTE_MAX    32u
#define SYMBOL_MAX  (4u << 20)
#define NAMES_MAX   (1u << 30)
#define BLOCK_SIZE  16384u /* of a walk through symbols */
#define NAME_SIZE   20u    /* the longest section name we know, and its zero */

/* What program headers tell and only reading itself needs. */
struct segments {
    struct sn_elf_segment loads[LOAD_MAX];
    uint32_t load_count;
    struct sn_elf_segment dynamic;
};

static bool take(const struct sn_read_at *file, uint64_t offset, void *to, size_t size)
{
    return file->read(file->user, offset, to, size) == size;
}

/* GNU build ids; `align` is that of the segment or section. */
static void read_notes(const struct sn_read_at *file, uint64_t offset, uint64_t size,
                       uint64_t align, struct sn_elf *elf)
{
    uint64_t mask = align == 8 ? 7 : 3;
    for (uint32_t i = 0; i < NOTE_MAX && size >= sizeof(Elf64_Nhdr) && !elf->build_id_size; i++) {
        struct {
            Elf64_Nhdr header;
            char owner[4];
        } note = {0};
        if (!take(file, offset, &note, sizeof(note)))
            return;
        uint64_t body = sizeof(note.header) + ((note.header.n_namesz + mask) & ~mask);
        uint64_t whole = body + ((note.header.n_descsz + mask) & ~mask);
        uint32_t id_size = note.header.n_descsz;
        if (id_size > sizeof(elf->build_id))
            id_size = sizeof(elf->build_id);
        if (note.header.n_type == NT_GNU_BUILD_ID && note.header.n_namesz == 4 &&
            memcmp(note.owner, "GNU", 4) == 0 && take(file, offset + body, elf->build_id, id_size))
            elf->build_id_size = (uint8_t)id_size;
        if (whole > size)
            return;
        offset += whole;
        size -= whole;
    }
}

static void take_segment(const struct sn_read_at *file, const Elf64_Phdr *header,
                         struct segments *segments, struct sn_elf *elf)
{
    const struct sn_elf_segment segment = {header->p_vaddr, header->p_offset, header->p_filesz};
    if (header->p_type == PT_LOAD) {
        if (segments->load_count < LOAD_MAX)
            segments->loads[segments->load_count++] = segment;
        if ((header->p_flags & PF_X) && elf->code_count < SN_ELF_CODE_MAX)
            elf->code[elf->code_count++] = segment;
    } else if (header->p_type == PT_NOTE) {
        read_notes(file, header->p_offset, header->p_filesz, header->p_align, elf);
    } else if (header->p_type == PT_DYNAMIC) {
        segments->dynamic = segment;
    } else if (header->p_type == PT_GNU_EH_FRAME) {
        elf->eh_frame_vaddr = header->p_vaddr;
        elf->eh_frame_offset = header->p_offset;
        elf->eh_frame_size = header->p_filesz;
    }
}

static void read_segments(const struct sn_read_at *file, const Elf64_Ehdr *head,
                          struct segments *segments, struct sn_elf *elf)
{
    uint32_t count = head->e_phentsize == sizeof(Elf64_Phdr) ? head->e_phnum : 0;
    for (uint32_t i = 0; i < count && i < SEGMENT_MAX; i++) {
        Elf64_Phdr header = {0};
        if (!take(file, head->e_phoff + (uint64_t)i * sizeof(header), &header, sizeof(header)))
            return;
        take_segment(file, &header, segments, elf);
    }
}

static bool read_section(const struct sn_read_at *file, const Elf64_Ehdr *head, uint32_t index,
                         Elf64_Shdr *ret_section)
{
    return index < head->e_shnum && head->e_shentsize == sizeof(Elf64_Shdr) &&
           take(file, head->e_shoff + (uint64_t)index * sizeof(*ret_section), ret_section,
                sizeof(*ret_section));
}

static void take_symbols(const struct sn_read_at *file, const Elf64_Ehdr *head,
                         const Elf64_Shdr *section, struct sn_elf_symbols *table)
{
    Elf64_Shdr strings = {0};
    if (table->count || section->sh_entsize != sizeof(Elf64_Sym) ||
        !read_section(file, head, section->sh_link, &strings) || strings.sh_type != SHT_STRTAB)
        return;
    uint64_t count = section->sh_size / sizeof(Elf64_Sym);
    *table = (struct sn_elf_symbols){.offset = section->sh_offset,
                                     .names_offset = strings.sh_offset,
                                     .names_size =
                                         strings.sh_size < NAMES_MAX ? strings.sh_size : NAMES_MAX,
                                     .count = count < SYMBOL_MAX ? (uint32_t)count : SYMBOL_MAX};
}

/* A file name, a zero, padding to four, the checksum. */
static void take_debug_link(const struct sn_read_at *file, const Elf64_Shdr *section,
                            struct sn_elf *elf)
{
    char bytes[SN_ELF_LINK_SIZE + 4] = {0};
    size_t size = section->sh_size < sizeof(bytes) ? (size_t)section->sh_size : sizeof(bytes);
    if (!take(file, section->sh_offset, bytes, size))
        return;
    size_t length = strnlen(bytes, SN_ELF_LINK_SIZE);
    size_t crc = (length + 4) & ~(size_t)3;
    if (length == SN_ELF_LINK_SIZE || crc + 4 > size || memchr(bytes, '/', length))
        return;
    memcpy(elf->debug_link, bytes, length + 1);
    memcpy(&elf->debug_crc, bytes + crc, sizeof(elf->debug_crc));
}

static void take_section(const struct sn_read_at *file, const Elf64_Ehdr *head,
                         const Elf64_Shdr *section, uint64_t names_offset, struct sn_elf *elf)
{
    char name[NAME_SIZE] = {0};
    if (section->sh_type == SHT_SYMTAB) {
        take_symbols(file, head, section, &elf->all);
    } else if (section->sh_type == SHT_DYNSYM) {
        take_symbols(file, head, section, &elf->exported);
    } else if (section->sh_type == SHT_NOTE) {
        read_notes(file, section->sh_offset, section->sh_size, section->sh_addralign, elf);
    } else if (section->sh_type == SHT_PROGBITS && !(section->sh_flags & SHF_ALLOC)) {
        (void)file->read(file->user, names_offset + section->sh_name, name,
                         sizeof(name) - 1); /* "" when it cannot */
        if (strcmp(name, ".gnu_debuglink") == 0)
            take_debug_link(file, section, elf);
        else if (strcmp(name, ".debug_info") == 0)
            elf->has_debug_info = section->sh_size > 0;
    }
}

static void read_sections(const struct sn_read_at *file, const Elf64_Ehdr *head, struct sn_elf *elf)
{
    Elf64_Shdr names = {0};
    if (!read_section(file, head, head->e_shstrndx, &names))
        return;
    for (uint32_t i = 1; i < head->e_shnum && i < SECTION_MAX; i++) {
        Elf64_Shdr section = {0};
        if (!read_section(file, head, i, &section))
            return;
        take_section(file, head, &section, names.sh_offset, elf);
    }
}

int sn_elf_read(const struct sn_read_at *file, struct sn_elf *ret_elf, struct sonde_error *err)
{
    Elf64_Ehdr head = {0};
    struct segments segments = {0};
    struct sn_elf elf = {0};
    if (!take(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return sn_fail(err, SONDE_E_FORMAT, 0, "not a 64-bit little-endian ELF file");
    read_segments(file, &head, &segments, &elf);
    read_sections(file, &head, &elf);
    if (!elf.exported.count && segments.dynamic.size)
        elf.exported =
            sn_elf_dynamic_symbols(file, segments.loads, segments.load_count, &segments.dynamic);
    *ret_elf = elf;
    return SONDE_OK;
}

bool sn_elf_is_code(const struct sn_elf *elf, uint64_t vaddr)
{
    for (uint32_t i = 0; i < elf->code_count; i++) {
        if (vaddr >= elf->code[i].vaddr && vaddr - elf->code[i].vaddr < elf->code[i].size)
            return true;
    }
    return false;
}

/* Defined here, and a function or without a type; IFUNC is the resolver's own code. A local label
 * without type and size is a place to jump to within a function. */
static bool can_be_code(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    bool is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
    if (!symbol->st_name || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
        symbol->st_shndx == SHN_COMMON)
        return false;
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && (symbol->st_size || !is_local));
}

void sn_elf_walk(const struct sn_read_at *file, const struct sn_elf_symbols *table,
                 sn_elf_symbol_fn *take_symbol, void *user)
{
    Elf64_Sym block[BLOCK_SIZE / sizeof(Elf64_Sym)];
    const uint32_t most = sizeof(block) / sizeof(block[0]);
    for (uint32_t done = 0; done < table->count;) {
        uint32_t want = table->count - done < most ? table->count - done : most;
        size_t got = file->read(file->user, table->offset + (uint64_t)done * sizeof(block[0]),
                                block, want * sizeof(block[0]));
        uint32_t count = (uint32_t)(got / sizeof(block[0]));
        for (uint32_t i = 0; i < count; i++) {
            const struct sn_elf_symbol symbol = {
                .start = block[i].st_value,
                .size = block[i].st_size,
                .name = block[i].st_name,
                .is_local = ELF64_ST_BIND(block[i].st_info) == STB_LOCAL,
                .is_label = ELF64_ST_TYPE(block[i].st_info) == STT_NOTYPE};
            if (can_be_code(&block[i]) && !take_symbol(user, &symbol))
                return;
        }
        if (count < want)
            return;
        done += count;
    }
}

size_t sn_elf_name(const struct sn_read_at *file, const struct sn_elf_symbols *table, uint32_t name,
                   char *to, size_t size)
{
    uint64_t left = name < table->names_size ? table->names_size - name : 0;
    size_t want = left < size - 1 ? (size_t)left : size - 1;
    size_t got = want ? file->read(file->user, table->names_offset + name, to, want) : 0;
    to[got < size ? got : size - 1] = 0;
    size_t length = strcspn(to, "@");
    to[length] = 0;
    return length;
}
