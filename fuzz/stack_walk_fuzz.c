/* Any bytes as the stack, the code and the runtime's Thread of a thread: walks stay short, stay on
 * the stack, and go up only. The explicit frames are laid out as .NET 10 tells it. */
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "source/memory/contract.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"
#include "symbol/objects.h"

#define STACK     0x7f0000000000u
#define CODE      0x7f1000000000u
#define THREAD    0x7f2000000000u
#define PART      4096u
#define HEAD      40u
#define READS_MAX 400000u

static const char layouts[] =
    "{\"version\":0,\"baseline\":\"empty\",\"types\":{"
    "\"Frame\":{\"Next\":8},\"Thread\":{\"Frame\":8},"
    "\"InlinedCallFrame\":{\"!\":56,\"CallSiteSP\":24,\"CallerReturnAddress\":32,"
    "\"CalleeSavedFP\":40},\"FramedMethodFrame\":{\"TransitionBlockPtr\":16},"
    "\"TransitionBlock\":{\"!\":104,\"ReturnAddress\":96,\"CalleeSavedRegisters\":48},"
    "\"CalleeSavedRegisters\":{\"!\":48,\"Rbp\":40},\"ResumableFrame\":{\"TargetContextPtr\":16},"
    "\"FaultingExceptionFrame\":{\"TargetContext\":32},"
    "\"HijackFrame\":{\"ReturnAddress\":16,\"HijackArgsPtr\":32},"
    "\"HijackArgs\":{\"!\":80,\"CalleeSavedRegisters\":24}},"
    "\"globals\":{\"InlinedCallFrameIdentifier\":[\"0x1\",\"nuint\"],"
    "\"ResumableFrameIdentifier\":[\"0x2\",\"nuint\"],"
    "\"FaultingExceptionFrameIdentifier\":[\"0x4\",\"nuint\"],"
    "\"HijackFrameIdentifier\":[\"0x8\",\"nuint\"],"
    "\"PrestubMethodFrameIdentifier\":[\"0x9\",\"nuint\"]},\"contracts\":{}}";

/* The input, over and over: a third each for stack, code and Thread. */
struct input {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
};

static size_t read_bytes(void *user, uint64_t address, void *to, size_t size)
{
    struct input *input = user;
    uint8_t *bytes = to;
    uint64_t base = address >> 36 << 36;
    uint64_t at = address - base;
    if (++input->reads > READS_MAX)
        abort(); /* no input makes it read on and on */
    if ((base != STACK && base != CODE && base != THREAD) || at >= PART)
        return 0;
    size = size < PART - at ? size : (size_t)(PART - at);
    for (size_t i = 0; i < size; i++)
        bytes[i] = input->bytes[(at + i + (base >> 36 & 3) * 7) % input->size];
    return size;
}

static void check(const struct sn_walk_frame *frames, size_t count)
{
    uint64_t sp = 0;
    bool is_elsewhere = false; /* one switch of stacks, by a signal */
    if (count > SN_WALK_MAX)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (frames[i].sp < sp && is_elsewhere)
            abort();
        is_elsewhere |= frames[i].sp < sp;
        sp = frames[i].sp;
    }
}

static void walk_one(struct sn_stack_walk *walk, struct input *input, const uint64_t head[5])
{
    const struct sn_walk_frame *frames = NULL;
    bool is_whole = false;
    uint64_t sp = STACK + head[0] % PART;
    uint8_t stack[PART];
    const struct sn_thread_state state = {
        .how = head[4] & 1 ? SN_THREAD_HELD : SN_THREAD_WAITING,
        .registers = {.sp = sp,
                      .ip = CODE + head[1] % PART,
                      .bp = STACK + head[2] % PART,
                      .has_bp = head[4] & 2},
        .stack = stack,
        .stack_size = read_bytes(input, sp, stack, (size_t)(STACK + PART - sp)),
    };
    const struct sn_managed_thread thread = {.address = THREAD, .frame = STACK + head[3] % PART};
    size_t count =
        sn_stack_walk_take(walk, &state, head[4] & 4 ? NULL : &thread, &frames, &is_whole);
    check(frames, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t head[5];
    if (size < HEAD + 1)
        return 0;
    memcpy(head, data, sizeof(head));
    struct input input = {data + HEAD, size - HEAD, 0};
    const struct sn_memory_source source = {read_bytes, NULL, &input};
    const struct sn_memory_map maps[] = {
        {.start = STACK, .end = STACK + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_WRITE},
        {.start = CODE, .end = CODE + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_CODE},
        {.start = THREAD, .end = THREAD + PART, .path = "", .flags = SN_MAP_READ | SN_MAP_WRITE},
    };
    struct sn_runtime_memory runtime = {0};
    struct sn_objects *objects = NULL;
    struct sn_stack_walk *walk = NULL;
    if (sn_memory_of_source(&source, maps, 3, &runtime.memory, NULL) ||
        sn_contract_new(&runtime.contract, NULL) ||
        sn_contract_add(runtime.contract, layouts, sizeof(layouts) - 1, NULL, 0, NULL) ||
        sn_objects_new(&objects, NULL) || sn_stack_walk_new(&runtime, NULL, objects, &walk, NULL))
        abort();
    walk_one(walk, &input, head);
    sn_stack_walk_free(walk);
    sn_objects_free(objects);
    sn_contract_free(runtime.contract);
    sn_memory_free(runtime.memory);
    return 0;
}
