/* The runtime's packed debug information of a piece of native code: which instruction belongs to
 * which offset in the method's IL. No I/O, nothing trusted. */
#ifndef SN_DEBUG_INFO_H
#define SN_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_debug_info_form {
    SN_DEBUG_INFO_NIBBLES, /* .NET 8, 9; images of formats before 16 */
    SN_DEBUG_INFO_BITS,    /* .NET 10; images of format 16 */
};

struct sn_debug_info_kind {
    uint8_t form;    /* enum sn_debug_info_form */
    bool has_prefix; /* a byte of flags and what they announce comes first: code of the JIT */
};

/* What is no offset in the IL. */
#define SN_IL_EPILOG     UINT32_C(0xfffffffd)
#define SN_IL_PROLOG     UINT32_C(0xfffffffe)
#define SN_IL_NO_MAPPING UINT32_C(0xffffffff)

/* From `native` on, behind the start of the code, it is the instruction at `il`. */
struct sn_debug_bound {
    uint32_t native;
    uint32_t il;
};

#define SN_DEBUG_BOUNDS_MAX (1u << 20)

/* Steps through the bounds, by rising native offset. */
struct sn_debug_bounds {
    const uint8_t *bytes; /* borrows: of the bounds alone */
    size_t size;
    uint64_t bit;       /* where the next begins */
    uint32_t left;      /* that are still to come */
    uint32_t native;    /* of the last */
    uint8_t form;       /* enum sn_debug_info_form */
    uint8_t delta_bits; /* packed by bits: how many */
    uint8_t il_bits;
};

enum sn_debug_info_result {
    SN_DEBUG_INFO_OPEN,
    SN_DEBUG_INFO_EMPTY, /* there are no bounds */
    SN_DEBUG_INFO_CUT,   /* more bytes are needed */
    SN_DEBUG_INFO_BAD,
};

/* enum sn_debug_info_result. `bytes` may go on behind the end of what belongs to it. */
int sn_debug_info_open(const uint8_t *bytes, size_t size, struct sn_debug_info_kind kind,
                       struct sn_debug_bounds *ret_bounds);

/* False: no more, or broken from here on. */
bool sn_debug_bounds_next(struct sn_debug_bounds *bounds, struct sn_debug_bound *ret_bound);

/* The IL offset of the instruction `native` bytes behind the start. False: not told. */
bool sn_debug_bounds_find(struct sn_debug_bounds bounds, uint32_t native, uint32_t *ret_il);

#endif
