/* ELF files, 64-bit little-endian: segments, sections, symbols, build id, debug link. Reads what it
 * needs through a callback, bounded; no I/O of its own, nothing trusted, nothing kept but where
 * things lie: symbols are walked, not loaded. */
#ifndef SN_ELF_H
#define SN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_error;

/* Reads `size` bytes at `offset` into `to`: how many came (fewer at the end), 0 on failure. */
typedef size_t sn_read_at_fn(void *user, uint64_t offset, void *to, size_t size);

struct sn_read_at {
    sn_read_at_fn *read;
    void *user;
};

#define SN_ELF_CODE_MAX     4u  /* executable segments; linkers make one, rarely two */
#define SN_ELF_BUILD_ID_MAX 20u /* SHA-1; longer ones are cut, as the kernel does */
#define SN_ELF_LINK_SIZE    64u

struct sn_elf_segment {
    uint64_t vaddr;
    uint64_t offset; /* in the file */
    uint64_t size;   /* in the file, and so in memory: code has no zeroes at its end */
};

/* A symbol table with its strings. */
struct sn_elf_symbols {
    uint64_t offset;
    uint64_t names_offset;
    uint64_t names_size;
    uint32_t count; /* 0: none */
};

struct sn_elf {
    struct sn_elf_segment code[SN_ELF_CODE_MAX];
    struct sn_elf_symbols all;      /* .symtab */
    struct sn_elf_symbols exported; /* .dynsym */
    uint64_t eh_frame_vaddr;        /* .eh_frame_hdr */
    uint64_t eh_frame_offset;
    uint64_t eh_frame_size; /* 0: none */
    uint32_t code_count;
    uint32_t debug_crc;
    uint8_t build_id[SN_ELF_BUILD_ID_MAX];
    uint8_t build_id_size;             /* 0: none */
    bool has_debug_info;               /* .debug_info with something in it */
    char debug_link[SN_ELF_LINK_SIZE]; /* a file name without a directory, or "" */
};

/* SONDE_E_FORMAT for what is no 64-bit little-endian ELF file. Damage further in only costs what
 * was damaged. */
int sn_elf_read(const struct sn_read_at *file, struct sn_elf *ret_elf, struct sonde_error *err);

bool sn_elf_is_code(const struct sn_elf *elf, uint64_t vaddr);

/* A function, or a label in code. */
struct sn_elf_symbol {
    uint64_t start;
    uint64_t size; /* 0: not told */
    uint32_t name; /* in the table's strings */
    bool is_local; /* not seen outside its file when it was linked */
    bool is_label; /* no type: assembly */
};

/* Calls `take` for every symbol of the table that can be code, in the table's order, until it
 * returns false. */
typedef bool sn_elf_symbol_fn(void *user, const struct sn_elf_symbol *symbol);
void sn_elf_walk(const struct sn_read_at *file, const struct sn_elf_symbols *table,
                 sn_elf_symbol_fn *take, void *user);

/* The name without its version ("read@@GLIBC_2.2.5"), cut to `size` - 1; its length. */
size_t sn_elf_name(const struct sn_read_at *file, const struct sn_elf_symbols *table, uint32_t name,
                   char *to, size_t size);

#endif
