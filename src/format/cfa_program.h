/* The small programs of .eh_frame that say, address by address, where a function's caller is found.
 * Runs one up to an address, bounded by its size; no I/O, nothing trusted. */
#ifndef SN_CFA_PROGRAM_H
#define SN_CFA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_cfi_row;

/* A piece of instructions. */
struct sn_cfa_code {
    const uint8_t *bytes; /* borrows */
    size_t size;
};

struct sn_cfa_program {
    struct sn_cfa_code initial; /* the CIE's, which hold for the whole function */
    struct sn_cfa_code own;     /* the FDE's */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint64_t start; /* of the function */
};

/* The rule at `vaddr`; leaves `start` and `size` alone. False: the program is broken or has
 * instructions that mean nothing here. */
bool sn_cfa_program_run(const struct sn_cfa_program *program, uint64_t vaddr,
                        struct sn_cfi_row *ret_row);

#endif
