/* Unwind data written here, as .NET's compilers write it: what each code undoes, how much has run
 * at each place of a prologue, epilogues by their bytes, and that no cut leads anywhere. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format/unwind_info.h"

#define STACK 0x7f0000001000u
#define WORDS 64u

static uint64_t words[WORDS];

static bool read_word(void *user, uint64_t address, uint64_t *ret_word)
{
    (void)user;
    uint64_t at = address - STACK;
    if (address < STACK || at / 8 >= WORDS || at % 8)
        return false;
    *ret_word = words[at / 8];
    return true;
}

static const struct sn_unwind_stack stack = {read_word, NULL};

static int fill(void **context)
{
    (void)context;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 0x1000 + i;
    return 0;
}

static struct sn_unwind_state at_word(unsigned index)
{
    struct sn_unwind_state state = {.ip = 0x5000, .known = 1u << SN_UNWIND_RSP};
    state.registers[SN_UNWIND_RSP] = STACK + (uint64_t)index * 8;
    return state;
}

static unsigned word_of(const struct sn_unwind_state *state)
{
    return (unsigned)((state->registers[SN_UNWIND_RSP] - STACK) / 8);
}

/* push rbp; push r15; push rbx; sub rsp, 16 */
static const uint8_t plain[] = {1, 9, 4, 0, 9, 0x12, 4, 0x30, 3, 0xf0, 1, 0x50};

static void undoes_what_has_run(void **context)
{
    (void)context;
    struct sn_unwind_info info;
    assert_true(sn_unwind_info_parse(plain, sizeof(plain), &info));
    assert_int_equal(info.count, 4);
    struct sn_unwind_state state = at_word(0);
    assert_true(sn_unwind_info_undo(&info, UINT32_MAX, &stack, &state));
    assert_int_equal(word_of(&state), 5);
    assert_int_equal(state.registers[SN_UNWIND_RBX], 0x1002);
    assert_int_equal(state.registers[15], 0x1003);
    assert_int_equal(state.registers[SN_UNWIND_RBP], 0x1004);
    assert_true(sn_unwind_return(&stack, &state));
    assert_int_equal(state.ip, 0x1005);
    assert_int_equal(word_of(&state), 6);
    static const unsigned taken[] = {0, 1, 1, 2, 3, 3, 3, 3, 3, 5, 5}; /* words, by offset */
    for (uint32_t offset = 0; offset < sizeof(taken) / sizeof(*taken); offset++) {
        state = at_word(0);
        assert_true(sn_unwind_info_undo(&info, offset, &stack, &state));
        assert_int_equal(word_of(&state), taken[offset]);
        assert_int_equal(state.known >> SN_UNWIND_RBP & 1, offset >= 1);
    }
}

static void allocations_large_and_saves(void **context)
{
    (void)context;
    /* sub rsp, 128 (in eights); sub rsp, 64 (in bytes); rbx to 24, r12 to 32 (far) */
    static const uint8_t bytes[] = {1, 30, 10, 0,    30, 0x34, 3, 0, 28, 0xc5, 32, 0,
                                    0, 0,  20, 0x11, 64, 0,    0, 0, 10, 1,    16, 0};
    struct sn_unwind_info info;
    assert_int_equal(sn_unwind_info_size(bytes), 24);
    assert_true(sn_unwind_info_parse(bytes, sizeof(bytes), &info));
    struct sn_unwind_state state = at_word(0);
    assert_true(sn_unwind_info_undo(&info, 40, &stack, &state));
    assert_int_equal(word_of(&state), 24);
    assert_int_equal(state.registers[SN_UNWIND_RBX], 0x1003);
    assert_int_equal(state.registers[12], 0x1004);
}

static void frame_register(void **context)
{
    (void)context;
    /* push rbp; sub rsp, 32; lea rbp, [rsp+32] */
    static const uint8_t bytes[] = {1, 10, 3, 0x25, 10, 3, 5, 0x32, 1, 0x50, 0, 0};
    struct sn_unwind_info info;
    assert_true(sn_unwind_info_parse(bytes, sizeof(bytes), &info));
    struct sn_unwind_state state = at_word(0); /* more stack was taken since */
    state.registers[SN_UNWIND_RBP] = STACK + UINT64_C(14) * 8;
    state.known |= 1u << SN_UNWIND_RBP;
    assert_true(sn_unwind_info_undo(&info, 100, &stack, &state));
    assert_int_equal(word_of(&state), 15);
    assert_int_equal(state.registers[SN_UNWIND_RBP], 0x100e);
    state = at_word(10); /* rbp is not known: rsp must do */
    assert_true(sn_unwind_info_undo(&info, 100, &stack, &state));
    assert_int_equal(word_of(&state), 15);
    state = at_word(10);
    state.registers[SN_UNWIND_RBP] = STACK; /* still the caller's */
    state.known |= 1u << SN_UNWIND_RBP;
    assert_true(sn_unwind_info_undo(&info, 9, &stack, &state));
    assert_int_equal(word_of(&state), 15);
}

static void frame_register_far(void **context)
{
    (void)context;
    /* push rbp; sub rsp, 0x140; lea rbp, [rsp+0x140] */
    static const uint8_t bytes[] = {1, 16, 6, 0xf5, 16, 11, 0x14, 0, 0, 0, 9, 1, 40, 0, 1, 0x50};
    struct sn_unwind_info info;
    assert_true(sn_unwind_info_parse(bytes, sizeof(bytes), &info));
    assert_int_equal(info.frame_offset, 0x140);
    struct sn_unwind_state state = at_word(0);
    state.registers[SN_UNWIND_RBP] = STACK + 0x148;
    state.known |= 1u << SN_UNWIND_RBP;
    assert_true(sn_unwind_info_undo(&info, 16, &stack, &state));
    assert_int_equal(word_of(&state), 42);
}

static void chained(void **context)
{
    (void)context;
    static const uint8_t bytes[] = {0x21, 4, 1, 0,    4, 0x30, 0,    0,    0x00, 0x10,
                                    0,    0, 0, 0x20, 0, 0,    0x78, 0x56, 0x34, 0x12};
    struct sn_unwind_info info;
    assert_int_equal(sn_unwind_info_size(bytes), sizeof(bytes));
    assert_true(sn_unwind_info_parse(bytes, sizeof(bytes), &info));
    assert_true(info.is_chained);
    for (size_t size = 0; size < sizeof(bytes); size++)
        assert_false(sn_unwind_info_parse(bytes, size, &info));
}

static void refuses(void **context)
{
    (void)context;
    struct sn_unwind_info info;
    uint8_t bytes[sizeof(plain)];
    for (size_t size = 0; size < sizeof(plain); size++)
        assert_false(sn_unwind_info_parse(plain, size, &info));
    for (unsigned version = 0; version < 8; version++) {
        memcpy(bytes, plain, sizeof(bytes));
        bytes[0] = (uint8_t)version;
        assert_int_equal(sn_unwind_info_parse(bytes, sizeof(bytes), &info), version == 1);
    }
    for (unsigned op = 0; op < 16; op++) { /* as the last one, where no more words fit */
        memcpy(bytes, plain, sizeof(bytes));
        bytes[11] = (uint8_t)(0x50 | op);
        bool fits = op == 0 || op == 2 || op == 3;
        assert_int_equal(sn_unwind_info_parse(bytes, sizeof(bytes), &info), fits);
    }
    assert_true(sn_unwind_info_parse(plain, sizeof(plain), &info));
    struct sn_unwind_state state = at_word(WORDS - 1); /* the stack ends before the frame does */
    struct sn_unwind_state before = state;
    assert_false(sn_unwind_info_undo(&info, 100, &stack, &state));
    assert_memory_equal(&state, &before, sizeof(state));
}

#define NONE 99u /* it is no epilogue */

struct ending {
    unsigned words; /* taken until the return address */
    size_t size;
    uint8_t bytes[16];
};

static void epilogues(void **context)
{
    (void)context;
    static const struct ending endings[] = {
        {0, 1, {0xc3}},
        {0, 2, {0xf3, 0xc3}},
        {1, 2, {0x5d, 0xc3}},
        {4, 6, {0x48, 0x83, 0xc4, 24, 0x5d, 0xc3}},
        {NONE, 9, {0x48, 0x81, 0xc4, 0x00, 1, 0, 0, 0x41, 0x5f}}, /* cut: no end */
        {10, 6, {0x48, 0x8d, 0x65, 0xf0, 0x5b, 0xc3}},            /* rbp is at word 11 */
        {3, 5, {0x5b, 0x41, 0x5f, 0x5d, 0xc3}},
        {1, 6, {0x5d, 0xe9, 0, 0, 1, 0}},       /* a jump far out */
        {NONE, 6, {0x5d, 0xe9, 8, 0, 0, 0}},    /* within the function */
        {NONE, 2, {0xeb, 0x10}},                /* likewise */
        {1, 4, {0x5d, 0x48, 0xff, 0xe0}},       /* rex.jmp rax: a tail call */
        {NONE, 2, {0xff, 0xe0}},                /* jmp rax: a switch */
        {1, 7, {0x5d, 0xff, 0x25, 0, 0, 0, 0}}, /* through a cell */
        {NONE, 3, {0x48, 0x8b, 0xc1}},          /* mov */
        {NONE, 5, {0xe8, 0, 0, 0, 0}},          /* call */
        {NONE, 2, {0x5c, 0xc3}},                /* pop rsp */
    };
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        const struct ending *ending = &endings[i];
        for (size_t size = 0; size <= ending->size; size++) {
            struct sn_unwind_state state = at_word(0);
            state.registers[SN_UNWIND_RBP] = STACK + UINT64_C(11) * 8;
            state.known |= 1u << SN_UNWIND_RBP;
            const struct sn_unwind_code_bytes code = {ending->bytes, size, 0x4f00, 0x5100};
            bool is_found = sn_unwind_epilogue(&code, &stack, &state);
            if (size == ending->size)
                assert_int_equal(is_found, ending->words != NONE);
            assert_int_equal(word_of(&state), is_found ? ending->words : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(undoes_what_has_run, fill),
        cmocka_unit_test_setup(allocations_large_and_saves, fill),
        cmocka_unit_test_setup(frame_register, fill),
        cmocka_unit_test_setup(frame_register_far, fill),
        cmocka_unit_test_setup(chained, fill),
        cmocka_unit_test_setup(refuses, fill),
        cmocka_unit_test_setup(epilogues, fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
