#include "format/unwind_info.h"

#include <string.h>

#include "base/cursor.h"

#define HEADER_SIZE     4u
#define FUNCTION_SIZE   12u /* begin, end, unwind data: what a chain ends with */
#define FLAG_CHAINED    4u
#define STACK_STEPS_MAX (1u << 28) /* no frame is larger */
#define EPILOGUE_STEPS  32u

enum op {
    OP_PUSH,      /* info: register */
    OP_ALLOC,     /* large: the size in one or two more words */
    OP_ALLOC_FEW, /* info: eights, less one */
    OP_FRAME,     /* frame register = rsp + offset of the header */
    OP_SAVE,      /* info: register; where, in one more word, in eights */
    OP_SAVE_FAR,
    OP_XMM = 8, /* not ours to restore */
    OP_XMM_FAR,
    OP_FRAME_FAR = 11, /* the runtime's own: the offset in two more words, in sixteens */
};

size_t sn_unwind_info_size(const uint8_t first[4])
{
    unsigned flags = first[0] >> 3;
    size_t codes = (first[2] + 1u) & ~1u;
    if ((first[0] & 7) != 1)
        return 0;
    return HEADER_SIZE + codes * 2 + (flags & FLAG_CHAINED ? FUNCTION_SIZE : 0);
}

/* Words of 16 bits behind the code's own; -1: not known. */
static int extra_words(unsigned op, unsigned info)
{
    switch (op) {
    case OP_PUSH:
    case OP_ALLOC_FEW:
    case OP_FRAME: return 0;
    case OP_ALLOC: return info == 0 ? 1 : info == 1 ? 2 : -1;
    case OP_SAVE:
    case OP_XMM: return 1;
    case OP_SAVE_FAR:
    case OP_XMM_FAR:
    case OP_FRAME_FAR: return 2;
    default: return -1;
    }
}

/* The number in a code's words, in bytes. */
static uint64_t value_of(const struct sn_unwind_code *code, uint32_t words)
{
    switch (code->op) {
    case OP_ALLOC: return code->info ? words : (uint64_t)words * 8;
    case OP_ALLOC_FEW: return (uint64_t)code->info * 8 + 8;
    case OP_SAVE: return (uint64_t)words * 8;
    case OP_FRAME_FAR: return (uint64_t)words * 16;
    default: return words;
    }
}

static bool read_code(struct sn_cursor *cur, uint32_t *left, struct sn_unwind_info *info)
{
    struct sn_unwind_code *code = &info->codes[info->count];
    code->at = sn_cursor_u8(cur);
    unsigned op_and_info = sn_cursor_u8(cur);
    code->op = op_and_info & 15;
    code->info = (uint8_t)(op_and_info >> 4);
    int extra = extra_words(code->op, code->info);
    if (extra < 0 || (uint32_t)extra >= *left)
        return false;
    uint32_t words = extra ? sn_cursor_u16(cur) : 0;
    if (extra == 2)
        words |= (uint32_t)sn_cursor_u16(cur) << 16;
    uint64_t value = value_of(code, words);
    if (cur->bad || value > STACK_STEPS_MAX)
        return false;
    code->value = (uint32_t)value;
    if (code->op == OP_FRAME_FAR)
        info->frame_offset = code->value;
    *left -= (uint32_t)extra + 1;
    info->count++;
    return true;
}

bool sn_unwind_info_parse(const uint8_t *bytes, size_t size, struct sn_unwind_info *ret_info)
{
    size_t whole = size >= HEADER_SIZE ? sn_unwind_info_size(bytes) : 0;
    if (!whole || size < whole)
        return false;
    struct sn_cursor cur = sn_cursor_over(bytes, whole);
    ret_info->is_chained = (sn_cursor_u8(&cur) >> 3 & FLAG_CHAINED) != 0;
    ret_info->prologue_size = sn_cursor_u8(&cur);
    uint32_t left = sn_cursor_u8(&cur);
    unsigned frame = sn_cursor_u8(&cur);
    ret_info->frame_register = frame & 15;
    ret_info->frame_offset = (frame >> 4) * 16;
    ret_info->count = 0;
    bool is_odd = left & 1;
    while (left)
        if (!read_code(&cur, &left, ret_info))
            return false;
    if (ret_info->is_chained) /* what it is chained to: there, or it is cut */
        sn_cursor_skip(&cur, (is_odd ? 2 : 0) + FUNCTION_SIZE);
    return !cur.bad && ret_info->frame_register != SN_UNWIND_RSP;
}

static bool is_known(const struct sn_unwind_state *state, unsigned number)
{
    return state->known >> number & 1;
}

static void set(struct sn_unwind_state *state, unsigned number, uint64_t value)
{
    state->registers[number] = value;
    state->known = (uint16_t)(state->known | 1u << number);
}

static bool pop(const struct sn_unwind_stack *stack, struct sn_unwind_state *state, unsigned number)
{
    uint64_t sp = state->registers[SN_UNWIND_RSP];
    uint64_t word = 0;
    if (number == SN_UNWIND_RSP || !stack->read(stack->user, sp, &word))
        return false;
    set(state, number, word);
    state->registers[SN_UNWIND_RSP] = sp + sizeof(word);
    return true;
}

static bool restore(const struct sn_unwind_stack *stack, struct sn_unwind_state *state,
                    const struct sn_unwind_code *code, uint64_t frame)
{
    uint64_t word = 0;
    if (code->info == SN_UNWIND_RSP || !stack->read(stack->user, frame + code->value, &word))
        return false;
    set(state, code->info, word);
    return true;
}

/* The frame register has been set at `offset`. */
static bool is_framed(const struct sn_unwind_info *info, uint32_t offset)
{
    if (!info->frame_register)
        return false;
    for (uint32_t i = 0; i < info->count; i++)
        if (info->codes[i].op == OP_FRAME || info->codes[i].op == OP_FRAME_FAR)
            return offset >= info->codes[i].at;
    return info->is_chained || offset >= info->prologue_size; /* set by what it is chained to */
}

static bool undo_one(const struct sn_unwind_code *code, const struct sn_unwind_stack *stack,
                     uint64_t frame, struct sn_unwind_state *state)
{
    switch (code->op) {
    case OP_PUSH: return pop(stack, state, code->info);
    case OP_ALLOC:
    case OP_ALLOC_FEW: state->registers[SN_UNWIND_RSP] += code->value; return true;
    case OP_SAVE:
    case OP_SAVE_FAR: return restore(stack, state, code, frame);
    default: /* the frame register has had its say, and the others do not matter */ return true;
    }
}

bool sn_unwind_info_undo(const struct sn_unwind_info *info, uint32_t offset,
                         const struct sn_unwind_stack *stack, struct sn_unwind_state *state)
{
    struct sn_unwind_state now = *state;
    if (is_framed(info, offset) && is_known(&now, info->frame_register))
        now.registers[SN_UNWIND_RSP] = now.registers[info->frame_register] - info->frame_offset;
    uint64_t frame = now.registers[SN_UNWIND_RSP];
    for (uint32_t i = 0; i < info->count; i++)
        if (info->codes[i].at <= offset && !undo_one(&info->codes[i], stack, frame, &now))
            return false;
    *state = now;
    return true;
}

bool sn_unwind_return(const struct sn_unwind_stack *stack, struct sn_unwind_state *state)
{
    uint64_t sp = state->registers[SN_UNWIND_RSP];
    if (!stack->read(stack->user, sp, &state->ip))
        return false;
    state->registers[SN_UNWIND_RSP] = sp + sizeof(state->ip);
    return true;
}

static int32_t number_of(struct sn_cursor *cur, bool is_wide)
{
    return is_wide ? (int32_t)sn_cursor_u32(cur) : (int8_t)sn_cursor_u8(cur);
}

/* add rsp, N or lea rsp, [rbp+N], which only an epilogue begins with. */
static bool free_frame(struct sn_cursor *cur, struct sn_unwind_state *state)
{
    struct sn_cursor at = *cur;
    if (sn_cursor_u8(&at) != 0x48)
        return false;
    unsigned op = sn_cursor_u8(&at);
    unsigned mode = sn_cursor_u8(&at);
    uint64_t *sp = &state->registers[SN_UNWIND_RSP];
    if ((op == 0x83 || op == 0x81) && mode == 0xc4)
        *sp += (uint64_t)(int64_t)number_of(&at, op == 0x81);
    else if (op == 0x8d && (mode == 0x65 || mode == 0xa5) && is_known(state, SN_UNWIND_RBP))
        *sp = state->registers[SN_UNWIND_RBP] + (uint64_t)(int64_t)number_of(&at, mode == 0xa5);
    else
        return false;
    *cur = at;
    return !at.bad;
}

/* pop of a register; -1: another instruction. */
static int popped(struct sn_cursor *cur)
{
    struct sn_cursor at = *cur;
    unsigned byte = sn_cursor_u8(&at);
    unsigned high = 0;
    if (byte == 0x41) {
        high = 8;
        byte = sn_cursor_u8(&at);
    }
    if (at.bad || (byte & 0xf8) != 0x58)
        return -1;
    *cur = at;
    return (int)(high + (byte & 7));
}

/* A jump to an address that is told, out of the function. */
static bool is_jump_out(struct sn_cursor *cur, unsigned op, uint64_t ip,
                        const struct sn_unwind_code_bytes *code)
{
    int64_t by = number_of(cur, op == 0xe9);
    uint64_t to = ip + sn_cursor_offset(cur) + (uint64_t)by;
    return !cur->bad && code->end > code->start && (to < code->start || to >= code->end);
}

/* ret, or a jump as tail calls have it. */
static bool is_end(struct sn_cursor *cur, uint64_t ip, const struct sn_unwind_code_bytes *code)
{
    unsigned byte = sn_cursor_u8(cur);
    if (cur->bad)
        return false;
    if (byte == 0xc3 || byte == 0xc2)
        return true;
    if (byte == 0xf3)
        return sn_cursor_u8(cur) == 0xc3;
    if (byte == 0xeb || byte == 0xe9)
        return is_jump_out(cur, byte, ip, code);
    if (byte == 0x48 && sn_cursor_u8(cur) == 0xff) /* the prefix is what marks it as an end */
        return (sn_cursor_u8(cur) & 0x38) == 0x20;
    return byte == 0xff && sn_cursor_u8(cur) == 0x25;
}

bool sn_unwind_epilogue(const struct sn_unwind_code_bytes *code,
                        const struct sn_unwind_stack *stack, struct sn_unwind_state *state)
{
    struct sn_cursor cur = sn_cursor_over(code->bytes, code->size);
    struct sn_unwind_state now = *state;
    (void)free_frame(&cur, &now);
    if (now.registers[SN_UNWIND_RSP] < state->registers[SN_UNWIND_RSP])
        return false;
    for (unsigned i = 0; i < EPILOGUE_STEPS; i++) {
        int number = popped(&cur);
        if (number < 0)
            break;
        if (!pop(stack, &now, (unsigned)number))
            return false;
    }
    if (!is_end(&cur, state->ip, code))
        return false;
    *state = now;
    return true;
}
