#include "format/cfa_program.h"

#include <string.h>

#include "base/cursor.h"
#include "format/eh_frame.h"

#define STATE_DEPTH 16u /* compilers nest remembered states twice at most */

enum {
    REGISTER_RBP = 6,
    REGISTER_RSP = 7,
};

/* The two high bits; zero: the whole byte is the operation. */
enum {
    OP_ADVANCE = 0x40,
    OP_OFFSET = 0x80,
    OP_RESTORE = 0xc0,
    OP_HIGH = 0xc0,
    OP_LOW = 0x3f,
};

enum {
    OP_NOP = 0x00,
    OP_ADVANCE1 = 0x02,
    OP_ADVANCE2 = 0x03,
    OP_ADVANCE4 = 0x04,
    OP_OFFSET_EXTENDED = 0x05,
    OP_RESTORE_EXTENDED = 0x06,
    OP_UNDEFINED = 0x07,
    OP_SAME_VALUE = 0x08,
    OP_REGISTER = 0x09,
    OP_REMEMBER = 0x0a,
    OP_RESTORE_STATE = 0x0b,
    OP_DEF_CFA = 0x0c,
    OP_DEF_CFA_REGISTER = 0x0d,
    OP_DEF_CFA_OFFSET = 0x0e,
    OP_DEF_CFA_EXPRESSION = 0x0f,
    OP_EXPRESSION = 0x10,
    OP_OFFSET_EXTENDED_SF = 0x11,
    OP_DEF_CFA_SF = 0x12,
    OP_DEF_CFA_OFFSET_SF = 0x13,
    OP_VAL_OFFSET = 0x14,
    OP_VAL_OFFSET_SF = 0x15,
    OP_VAL_EXPRESSION = 0x16,
    OP_ARGS_SIZE = 0x2e,
};

/* Where a register of the caller is. */
struct place {
    uint8_t kind; /* enum sn_saved_rbp */
    bool is_undefined;
    int64_t offset;
};

struct state {
    bool is_expression;
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct place rbp;
    struct place return_address;
};

struct machine {
    const struct sn_cfa_program *program;
    uint64_t vaddr; /* whose row is wanted */
    uint64_t at;    /* the address that the program has come to */
    struct state now;
    struct state initial; /* after the CIE's part: what restore goes back to */
    struct state kept[STATE_DEPTH];
    size_t kept_count;
};

static int64_t scaled(const struct machine *machine, int64_t factor, struct sn_cursor *cur)
{
    int64_t product = 0;
    if (__builtin_mul_overflow(factor, machine->program->data_align, &product))
        cur->bad = true;
    return product;
}

static struct place saved_at(const struct machine *machine, int64_t factor, struct sn_cursor *cur)
{
    return (struct place){.kind = SN_RBP_SAVED, .offset = scaled(machine, factor, cur)};
}

static int64_t unsigned_offset(struct sn_cursor *cur)
{
    uint64_t value = sn_cursor_varuint64(cur);
    if (value > INT64_MAX)
        cur->bad = true;
    return (int64_t)value;
}

static struct place *place_of(struct state *state, const struct machine *machine, uint64_t number)
{
    if (number == REGISTER_RBP)
        return &state->rbp;
    return number == machine->program->return_register ? &state->return_address : NULL;
}

static void set_place(struct machine *machine, uint64_t number, struct place place)
{
    struct place *slot = place_of(&machine->now, machine, number);
    if (slot)
        *slot = place;
}

static void restore(struct machine *machine, uint64_t number)
{
    const struct place *first = place_of(&machine->initial, machine, number);
    if (first)
        set_place(machine, number, *first);
}

static void keep(struct machine *machine, struct sn_cursor *cur)
{
    if (machine->kept_count == STATE_DEPTH)
        cur->bad = true;
    else
        machine->kept[machine->kept_count++] = machine->now;
}

static void restore_kept(struct machine *machine, struct sn_cursor *cur)
{
    if (!machine->kept_count)
        cur->bad = true;
    else
        machine->now = machine->kept[--machine->kept_count];
}

static void advance(struct machine *machine, uint64_t delta, struct sn_cursor *cur)
{
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(delta, machine->program->code_align, &bytes) ||
        __builtin_add_overflow(machine->at, bytes, &machine->at))
        cur->bad = true;
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->now.is_expression = false;
    machine->now.cfa_register = number;
    machine->now.cfa_offset = offset;
}

/* Linkers describe all entries of a procedure linkage table with one expression:
 * rsp + 8 + ((rip & 15) >= N) * 8. Entries are 16 bytes and files are loaded at whole pages, so
 * that the address in the file has the same last digit. */
static void set_expression(struct machine *machine, struct sn_cursor *cur)
{
    static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    enum { N_AT = 6, LIT0 = 0x30, LIT15 = 0x3f };
    size_t size = (size_t)sn_cursor_varuint64(cur);
    const uint8_t *bytes = sn_cursor_bytes(cur, size);
    machine->now.is_expression = true;
    if (!bytes || size != sizeof(plt) || bytes[N_AT] < LIT0 || bytes[N_AT] > LIT15 ||
        memcmp(bytes, plt, N_AT) != 0 ||
        memcmp(bytes + N_AT + 1, plt + N_AT + 1, sizeof(plt) - N_AT - 1) != 0)
        return;
    bool is_pushed = (machine->vaddr & 15) >= (uint64_t)(bytes[N_AT] - LIT0);
    set_cfa(machine, REGISTER_RSP, is_pushed ? 16 : 8);
}

static void run_cfa_op(struct machine *machine, uint8_t op, struct sn_cursor *cur)
{
    uint64_t number = machine->now.cfa_register;
    if (op == OP_DEF_CFA || op == OP_DEF_CFA_SF || op == OP_DEF_CFA_REGISTER)
        number = sn_cursor_varuint64(cur);
    int64_t offset = machine->now.cfa_offset;
    if (op == OP_DEF_CFA || op == OP_DEF_CFA_OFFSET)
        offset = (int64_t)sn_cursor_varuint64(cur);
    else if (op == OP_DEF_CFA_SF || op == OP_DEF_CFA_OFFSET_SF)
        offset = scaled(machine, sn_cursor_varint64(cur), cur);
    set_cfa(machine, number, offset);
}

static void run_place_op(struct machine *machine, uint8_t op, struct sn_cursor *cur)
{
    uint64_t number = sn_cursor_varuint64(cur);
    struct place place = {.kind = SN_RBP_UNKNOWN};
    if (op == OP_OFFSET_EXTENDED || op == OP_OFFSET_EXTENDED_SF) {
        int64_t factor = op == OP_OFFSET_EXTENDED ? unsigned_offset(cur) : sn_cursor_varint64(cur);
        place = saved_at(machine, factor, cur);
    } else if (op == OP_UNDEFINED) {
        place.is_undefined = true;
    } else if (op == OP_SAME_VALUE) {
        place.kind = SN_RBP_KEPT;
    } else if (op == OP_REGISTER || op == OP_VAL_OFFSET) {
        (void)sn_cursor_varuint64(cur); /* not followed */
    } else if (op == OP_VAL_OFFSET_SF) {
        (void)sn_cursor_varint64(cur);
    } else if (op == OP_EXPRESSION || op == OP_VAL_EXPRESSION) {
        sn_cursor_skip(cur, (size_t)sn_cursor_varuint64(cur));
    }
    set_place(machine, number, place);
}

static void run_op(struct machine *machine, uint8_t op, struct sn_cursor *cur)
{
    switch (op) {
    case OP_NOP: return;
    case OP_ADVANCE1: advance(machine, sn_cursor_u8(cur), cur); return;
    case OP_ADVANCE2: advance(machine, sn_cursor_u16(cur), cur); return;
    case OP_ADVANCE4: advance(machine, sn_cursor_u32(cur), cur); return;
    case OP_REMEMBER: keep(machine, cur); return;
    case OP_RESTORE_STATE: restore_kept(machine, cur); return;
    case OP_RESTORE_EXTENDED: restore(machine, sn_cursor_varuint64(cur)); return;
    case OP_DEF_CFA:
    case OP_DEF_CFA_REGISTER:
    case OP_DEF_CFA_OFFSET:
    case OP_DEF_CFA_SF:
    case OP_DEF_CFA_OFFSET_SF: run_cfa_op(machine, op, cur); return;
    case OP_DEF_CFA_EXPRESSION: set_expression(machine, cur); return;
    case OP_OFFSET_EXTENDED:
    case OP_OFFSET_EXTENDED_SF:
    case OP_UNDEFINED:
    case OP_SAME_VALUE:
    case OP_REGISTER:
    case OP_EXPRESSION:
    case OP_VAL_OFFSET:
    case OP_VAL_OFFSET_SF:
    case OP_VAL_EXPRESSION: run_place_op(machine, op, cur); return;
    case OP_ARGS_SIZE: (void)sn_cursor_varuint64(cur); return;
    default: cur->bad = true;
    }
}

static bool run(struct machine *machine, struct sn_cfa_code code)
{
    struct sn_cursor cur = sn_cursor_over(code.bytes, code.size);
    while (sn_cursor_left(&cur) && !cur.bad) {
        uint8_t op = sn_cursor_u8(&cur);
        uint8_t low = op & OP_LOW;
        if ((op & OP_HIGH) == OP_ADVANCE)
            advance(machine, low, &cur);
        else if ((op & OP_HIGH) == OP_OFFSET)
            set_place(machine, low, saved_at(machine, unsigned_offset(&cur), &cur));
        else if ((op & OP_HIGH) == OP_RESTORE)
            restore(machine, low);
        else
            run_op(machine, op, &cur);
        if (machine->at > machine->vaddr)
            break; /* what comes now is for later addresses */
    }
    return !cur.bad;
}

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

/* A CFA lies above the return address; some hand-written code says otherwise, and errs. */
static bool is_rule(const struct state *state)
{
    return !state->is_expression && state->cfa_offset >= 8 && fits(state->cfa_offset) &&
           state->return_address.kind == SN_RBP_SAVED && state->return_address.offset == -8;
}

/* The stack below a place where a signal struck may be in use, so that what is put there as its
 * caller lies further down. */
static bool is_struck(const struct state *state)
{
    const struct place *place = &state->return_address;
    return !state->is_expression && state->cfa_register == REGISTER_RSP && state->cfa_offset >= 8 &&
           fits(state->cfa_offset) && place->kind == SN_RBP_SAVED && place->offset < -8 &&
           place->offset >= -state->cfa_offset;
}

static void fill_row(const struct state *state, struct sn_cfi_row *row)
{
    row->base = state->return_address.is_undefined ? SN_CFA_OUTERMOST : SN_CFA_UNKNOWN;
    if (is_rule(state) && state->cfa_register == REGISTER_RSP)
        row->base = SN_CFA_RSP;
    else if (is_rule(state) && state->cfa_register == REGISTER_RBP)
        row->base = SN_CFA_RBP;
    else if (is_struck(state))
        row->base = SN_CFA_STRUCK;
    bool has_offset = row->base != SN_CFA_UNKNOWN && row->base != SN_CFA_OUTERMOST;
    row->struck_offset = row->base == SN_CFA_STRUCK ? (int32_t)state->return_address.offset : 0;
    row->offset = has_offset ? (int32_t)state->cfa_offset : 0;
    row->rbp = fits(state->rbp.offset) ? state->rbp.kind : SN_RBP_UNKNOWN;
    row->rbp_offset = row->rbp == SN_RBP_SAVED ? (int32_t)state->rbp.offset : 0;
}

bool sn_cfa_program_run(const struct sn_cfa_program *program, uint64_t vaddr,
                        struct sn_cfi_row *ret_row)
{
    struct machine machine = {.program = program, .vaddr = vaddr, .at = program->start};
    machine.now.return_address.kind = SN_RBP_UNKNOWN;
    machine.initial = machine.now;
    if (!run(&machine, program->initial))
        return false;
    machine.initial = machine.now;
    machine.kept_count = 0;
    if (!run(&machine, program->own))
        return false;
    fill_row(&machine.now, ret_row);
    return true;
}
