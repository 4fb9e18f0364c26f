/* Windows' x64 unwind data (UNWIND_INFO), which .NET's compilers write on Linux too, with one code
 * of their own: what a function's prologue did to the stack, so that it can be undone. And its
 * epilogues, which have no data: they are known by their instructions. Pure; nothing trusted. */
#ifndef SN_UNWIND_INFO_H
#define SN_UNWIND_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_UNWIND_INFO_MAX 528u /* bytes: header, 255 codes and one of padding, and a chain */
#define SN_UNWIND_CODES    256u

enum sn_unwind_register {
    SN_UNWIND_RBX = 3,
    SN_UNWIND_RSP = 4,
    SN_UNWIND_RBP = 5,
    SN_UNWIND_REGISTERS = 16,
};

struct sn_unwind_code {
    uint8_t at; /* offset in the function of the end of the instruction */
    uint8_t op;
    uint8_t info;
    uint32_t value; /* in bytes */
};

struct sn_unwind_info {
    uint8_t prologue_size;
    uint8_t frame_register; /* 0: none */
    uint32_t frame_offset;  /* register = rsp + this, when it was set */
    bool is_chained;        /* the rest is told by another one */
    uint32_t count;         /* of codes, the last of the prologue first */
    struct sn_unwind_code codes[SN_UNWIND_CODES];
};

/* How many bytes there are in all, by the first four; 0: not one that we know. */
size_t sn_unwind_info_size(const uint8_t first[4]);

/* False: cut, or a code or version that is not known: then nothing can be said. */
bool sn_unwind_info_parse(const uint8_t *bytes, size_t size, struct sn_unwind_info *ret_info);

/* Registers by their numbers in instructions; `known` has a bit for each that is. */
struct sn_unwind_state {
    uint64_t ip;
    uint64_t registers[SN_UNWIND_REGISTERS];
    uint16_t known;
};

/* A word of the stack; false: it is not there. */
typedef bool sn_unwind_read_fn(void *user, uint64_t address, uint64_t *ret_word);
struct sn_unwind_stack {
    sn_unwind_read_fn *read;
    void *user;
};

/* Undoes what the prologue had done at `offset` in the function. UINT32_MAX: all of it, as behind
 * the prologue, and always for what a chain leads to. `state` is then as on entry, the return
 * address still on top. When the frame register is needed but not known, rsp is taken as it was
 * left by the prologue, which is right but where the function takes stack at will. */
bool sn_unwind_info_undo(const struct sn_unwind_info *info, uint32_t offset,
                         const struct sn_unwind_stack *stack, struct sn_unwind_state *state);

/* The caller, by the return address on top. */
bool sn_unwind_return(const struct sn_unwind_stack *stack, struct sn_unwind_state *state);

/* The bytes from an instruction on, and the bounds of its function: a jump out of it ends it. */
struct sn_unwind_code_bytes {
    const uint8_t *bytes;
    size_t size;
    uint64_t start;
    uint64_t end;
};

/* If state->ip stands in an epilogue: does the rest of it, up to the return address. False: it does
 * not (`state` is as before), or the stack cannot be read. */
bool sn_unwind_epilogue(const struct sn_unwind_code_bytes *code,
                        const struct sn_unwind_stack *stack, struct sn_unwind_state *state);

#endif
