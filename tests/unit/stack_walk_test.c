/* Stacks made here, of code that no file describes: frame pointers, signals, the runtime's own
 * notes of calls and of return addresses that it replaced; and what is broken ends. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "source/memory/contract.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"
#include "symbol/objects.h"

#define STACK    0x7f0000000000u
#define CODE     0x7f1000000000u
#define THREAD   0x7f2000000000u
#define PART     4096u
#define RETURN   (CODE + 0x105) /* right behind a call */
#define RETURN_2 (CODE + 0x205)
#define RETURN_3 (CODE + 0x305)
#define RESTORER (CODE + 0x400)
#define STUB     (CODE + 0x500) /* code, but behind no call */

static const char layouts[] =
    "{\"version\":0,\"baseline\":\"empty\",\"types\":{"
    "\"Frame\":{\"Next\":8},\"Thread\":{\"Frame\":8},"
    "\"InlinedCallFrame\":{\"!\":56,\"CallSiteSP\":24,\"CallerReturnAddress\":32,"
    "\"CalleeSavedFP\":40}},\"globals\":{\"InlinedCallFrameIdentifier\":[\"0x1\",\"nuint\"]},"
    "\"contracts\":{}}";

struct world {
    uint64_t stack[PART / 8];
    uint8_t code[PART];
    uint64_t thread[PART / 8];
    struct sn_runtime_memory runtime;
    struct sn_objects *objects;
    struct sn_stack_walk *walk;
    const struct sn_walk_frame *frames;
    bool is_whole;
};

static size_t read_world(void *user, uint64_t address, void *to, size_t size)
{
    const struct world *world = user;
    const uint8_t *parts[] = {(const uint8_t *)world->stack, world->code,
                              (const uint8_t *)world->thread};
    uint64_t at = address & 0xffffffffu;
    uint64_t part = (address - STACK) >> 36;
    if (address < STACK || part > 2 || at >= PART)
        return 0;
    size = size < PART - at ? size : (size_t)(PART - at);
    memcpy(to, parts[part] + at, size);
    return size;
}

static int set_up(void **context)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    for (uint64_t at = 0x100; at <= 0x300; at += 0x100)
        world->code[at] = 0xe8; /* call */
    static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    memcpy(world->code + 0x400, restorer, sizeof(restorer));
    world->thread[1] = UINT64_MAX; /* no explicit frames */
    const struct sn_memory_source source = {read_world, NULL, world};
    const struct sn_memory_map maps[] = {
        {.start = STACK, .end = STACK + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_WRITE},
        {.start = CODE, .end = CODE + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_CODE},
        {.start = THREAD, .end = THREAD + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_WRITE},
    };
    assert_int_equal(sn_memory_of_source(&source, maps, 3, &world->runtime.memory, NULL), 0);
    assert_int_equal(sn_contract_new(&world->runtime.contract, NULL), 0);
    assert_int_equal(
        sn_contract_add(world->runtime.contract, layouts, sizeof(layouts) - 1, NULL, 0, NULL), 0);
    assert_int_equal(sn_objects_new(&world->objects, NULL), 0);
    assert_int_equal(sn_stack_walk_new(&world->runtime, NULL, world->objects, &world->walk, NULL),
                     0);
    *context = world;
    return 0;
}

static int tear_down(void **context)
{
    struct world *world = *context;
    sn_stack_walk_free(world->walk);
    sn_objects_free(world->objects);
    sn_contract_free(world->runtime.contract);
    sn_memory_free(world->runtime.memory);
    free(world);
    return 0;
}

static uint64_t word_at(unsigned index)
{
    return STACK + (uint64_t)index * 8;
}

/* A frame pointer's place at word `at`: the next one's word, and where it returns to. */
static void put_record(struct world *world, unsigned at, unsigned above, uint64_t returns_to)
{
    world->stack[at] = above ? word_at(above) : 0;
    world->stack[at + 1] = returns_to;
}

/* Walks from word `sp`; `bp` 0: not known. */
static size_t walk(struct world *world, unsigned sp, unsigned bp)
{
    const struct sn_thread_state state = {
        .how = bp ? SN_THREAD_STOPPED : SN_THREAD_WAITING,
        .registers = {.ip = CODE + 0x10, .sp = word_at(sp), .bp = word_at(bp), .has_bp = bp},
        .stack = (uint8_t *)(world->stack + sp),
        .stack_size = PART - (size_t)sp * 8,
    };
    const struct sn_managed_thread thread = {.address = THREAD};
    return sn_stack_walk_take(world->walk, &state, &thread, &world->frames, &world->is_whole);
}

static void by_frame_pointers(void **context)
{
    struct world *world = *context;
    put_record(world, 10, 20, RETURN);
    put_record(world, 20, 30, RETURN_2);
    put_record(world, 30, 0, 0);
    assert_int_equal(walk(world, 4, 10), 3);
    assert_true(world->is_whole);
    assert_int_equal(world->frames[0].address, CODE + 0x10);
    assert_false(world->frames[0].is_return);
    assert_int_equal(world->frames[1].address, RETURN);
    assert_true(world->frames[1].is_return);
    assert_int_equal(world->frames[2].address, RETURN_2);
    assert_int_equal(world->frames[2].sp, word_at(22));
}

static void broken_ones_end(void **context)
{
    struct world *world = *context;
    put_record(world, 10, 20, RETURN);
    put_record(world, 20, 10, RETURN_2); /* leads back down */
    assert_int_equal(walk(world, 4, 10), 3);
    assert_false(world->is_whole);
    put_record(world, 20, 20, RETURN_2); /* on itself */
    assert_int_equal(walk(world, 4, 10), 3);
    put_record(world, 10, 20, STUB); /* to where nothing calls */
    put_record(world, 20, 0, STUB);
    assert_int_equal(walk(world, 4, 10), 1);
    assert_int_equal(walk(world, 4, PART), 1); /* beyond the stack */
    assert_false(world->is_whole);
}

static void over_a_signal(void **context)
{
    struct world *world = *context;
    put_record(world, 10, 0, RESTORER);
    uint64_t *saved = world->stack + 12; /* ucontext_t, right above */
    saved[15] = word_at(80);             /* rbp, rsp, rip */
    saved[20] = word_at(70);
    saved[21] = CODE + 0x20;
    put_record(world, 80, 0, 0);
    assert_int_equal(walk(world, 4, 10), 3);
    assert_true(world->is_whole);
    assert_int_equal(world->frames[1].address, RESTORER);
    assert_int_equal(world->frames[2].address, CODE + 0x20);
    assert_false(world->frames[2].is_return);
    assert_int_equal(world->frames[2].sp, word_at(70));
}

static void put_call(struct world *world, unsigned at, unsigned sp, unsigned bp, uint64_t ip)
{
    uint64_t *frame = world->stack + at;
    frame[0] = 1;
    frame[1] = UINT64_MAX;
    frame[3] = word_at(sp);
    frame[4] = ip;
    frame[5] = word_at(bp);
    world->stack[sp - 1] = ip; /* as the call put it there */
    world->thread[1] = word_at(at);
}

static void by_a_note_of_a_call(void **context)
{
    struct world *world = *context;
    put_call(world, 40, 38, 50, RETURN_3);
    put_record(world, 50, 0, 0);
    assert_int_equal(walk(world, 4, 0), 3); /* the frame pointer is not known */
    assert_true(world->is_whole);
    assert_int_equal(world->frames[1].kind, SN_WALK_UNKNOWN);
    assert_int_equal(world->frames[2].address, RETURN_3);
    world->stack[37] = RETURN; /* the stack tells otherwise: it is an old one */
    assert_int_equal(walk(world, 4, 0), 1);
    assert_false(world->is_whole);
}

static void replaced_return_address(void **context)
{
    struct world *world = *context;
    put_record(world, 10, 20, STUB);
    put_record(world, 20, 30, RETURN_2);
    put_record(world, 30, 0, 0);
    assert_int_equal(walk(world, 4, 10), 3); /* the caller is not known, its caller is */
    assert_true(world->is_whole);
    assert_int_equal(world->frames[1].kind, SN_WALK_UNKNOWN);
    assert_int_equal(world->frames[2].address, RETURN_2);
    world->thread[60] = RETURN; /* as the runtime remembers it */
    world->thread[61] = word_at(11);
    assert_int_equal(walk(world, 4, 10), 3);
    assert_int_equal(world->frames[1].kind, SN_WALK_NATIVE);
    assert_int_equal(world->frames[1].address, RETURN);
    assert_int_equal(world->frames[2].address, RETURN_2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_frame_pointers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_ones_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(over_a_signal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_a_note_of_a_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaced_return_address, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
