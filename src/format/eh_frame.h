/* Call frame information: how a function's caller is found at an address, from .eh_frame and
 * .eh_frame_hdr. Binary search through a callback, bounded; no I/O of its own, nothing trusted. */
#ifndef SN_EH_FRAME_H
#define SN_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf.h"

enum sn_cfa_base {
    SN_CFA_UNKNOWN, /* an expression, or a register that is not recorded */
    SN_CFA_RSP,
    SN_CFA_RBP,
    SN_CFA_STRUCK,    /* rsp, but the address is not of a call: where a signal struck */
    SN_CFA_OUTERMOST, /* nobody called this: a thread or a program begins here */
};

enum sn_saved_rbp {
    SN_RBP_KEPT,    /* the caller's is still in rbp */
    SN_RBP_SAVED,   /* it lies at CFA + rbp_offset */
    SN_RBP_UNKNOWN, /* an expression, another register, or lost */
};

/* The rule at one address. The return address lies at CFA - 8, but for SN_CFA_STRUCK, and the
 * caller's rsp is the CFA. */
struct sn_cfi_row {
    uint8_t base;   /* enum sn_cfa_base */
    uint8_t rbp;    /* enum sn_saved_rbp */
    int32_t offset; /* CFA = base + offset */
    int32_t rbp_offset;
    int32_t struck_offset; /* of the address from the CFA, as it cannot lie at its top there */
    uint64_t start;        /* of the function */
    uint64_t size;
};

/* Where the two sections lie in the file and in memory, from the program header PT_GNU_EH_FRAME. */
struct sn_eh_frame {
    uint64_t hdr_vaddr;
    uint64_t hdr_offset;
    uint64_t hdr_size;
    uint64_t vaddr_to_offset; /* file offset = vaddr - this, in the segment that holds both */
};

/* Bounds of the function at `vaddr`, by the table of .eh_frame_hdr and its FDE. */
bool sn_eh_frame_bounds(const struct sn_read_at *file, const struct sn_eh_frame *frame,
                        uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_size);

/* The row at `vaddr`. An FDE without instructions has the rule of its CIE. */
bool sn_eh_frame_row(const struct sn_read_at *file, const struct sn_eh_frame *frame, uint64_t vaddr,
                     struct sn_cfi_row *ret_row);

#endif
