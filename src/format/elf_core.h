/* ELF core files of x86-64 Linux: the memory that was saved, the threads with their registers, the
 * files that were mapped. Reads what it needs through a callback, bounded; no I/O of its own,
 * nothing trusted. */
#ifndef SN_ELF_CORE_H
#define SN_ELF_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "format/elf.h"

struct sonde_error;

enum sn_core_flags {
    SN_CORE_CODE = 1,
    SN_CORE_WRITE = 2,
    SN_CORE_READ = 4
}; /* as p_flags has them */

/* A piece of memory. What lies behind `saved` was not saved. Sorted by address, none over another.
 */
struct sn_core_segment {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the core file */
    uint64_t saved;  /* bytes of it there */
    uint32_t flags;
};

/* A piece of a mapped file; sorted by address, none over another. */
struct sn_core_file {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the mapped file */
    const char *path;
};

/* In the order of registers in the file. */
struct sn_core_registers {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip,
        cs, eflags, rsp, ss;
};

struct sn_core_thread {
    uint32_t tid; /* as the process counted it */
    uint32_t signal;
    struct sn_core_registers registers;
};

struct sn_elf_core {
    struct sn_core_segment *segments; /* owns */
    size_t segment_count;
    struct sn_core_file *files; /* owns */
    size_t file_count;
    struct sn_core_thread *threads; /* owns; the one that died first */
    size_t thread_count;
    size_t thread_capacity;
    uint32_t pid;
    char name[17];         /* of the process, or "" */
    struct sn_arena paths; /* of files */
};

/* SONDE_E_FORMAT: it is no core file of this machine; SONDE_E_LIMIT. Done in any case. */
int sn_elf_core_read(const struct sn_read_at *file, struct sn_elf_core *ret_core,
                     struct sonde_error *err);
void sn_elf_core_done(struct sn_elf_core *core);

#endif
