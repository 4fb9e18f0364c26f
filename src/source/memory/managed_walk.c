#include "format/unwind_info.h"
#include "source/memory/stack_walk_internal.h"

#define EPILOGUE_BYTES 40u

static bool read_word(void *user, uint64_t address, uint64_t *ret_word)
{
    return sn_walk_word(user, address, ret_word);
}

static bool read_info(struct sn_stack_walk *walk, uint64_t address, struct sn_unwind_info *ret_info)
{
    uint8_t bytes[SN_UNWIND_INFO_MAX];
    if (!sn_memory_read(walk->memory, address, bytes, 4))
        return false;
    size_t size = sn_unwind_info_size(bytes);
    return size && size <= sizeof(bytes) && sn_memory_read(walk->memory, address, bytes, size) &&
           sn_unwind_info_parse(bytes, size, ret_info);
}

/* Only an instruction that is about to run can stand in an epilogue: calls are before it. */
static bool leave(struct sn_stack_walk *walk, const struct sn_managed_code *code,
                  const struct sn_unwind_stack *stack, struct sn_unwind_state *state)
{
    uint8_t bytes[EPILOGUE_BYTES];
    size_t size = sizeof(bytes);
    if (code->function_end > state->ip && code->function_end - state->ip < size)
        size = (size_t)(code->function_end - state->ip);
    if (!sn_memory_read(walk->memory, state->ip, bytes, size))
        return false;
    const struct sn_unwind_code_bytes at = {bytes, size, code->function, code->function_end};
    return sn_unwind_epilogue(&at, stack, state);
}

/* As on entry to the function. */
static bool undo(struct sn_stack_walk *walk, const struct sn_managed_code *code, bool is_return,
                 const struct sn_unwind_stack *stack, struct sn_unwind_state *state)
{
    struct sn_unwind_info info;
    uint64_t offset = state->ip - code->function;
    if (!code->unwind_info || !read_info(walk, code->unwind_info, &info) || info.is_chained ||
        offset > UINT32_MAX)
        return false;
    if (!is_return && offset >= info.prologue_size && leave(walk, code, stack, state))
        return true;
    return sn_unwind_info_undo(&info, (uint32_t)offset, stack, state);
}

static enum sn_walk_step step_by_unwind(struct sn_stack_walk *walk,
                                        const struct sn_managed_code *code,
                                        struct sn_walk_cursor *cursor)
{
    const struct sn_unwind_stack stack = {read_word, walk};
    struct sn_unwind_state state = {.ip = cursor->ip, .known = 1u << SN_UNWIND_RSP};
    state.registers[SN_UNWIND_RSP] = cursor->sp;
    state.registers[SN_UNWIND_RBP] = cursor->bp;
    if (cursor->has_bp)
        state.known |= 1u << SN_UNWIND_RBP;
    if (!undo(walk, code, cursor->is_return, &stack, &state) || !sn_unwind_return(&stack, &state))
        return SN_STEP_LOST;
    const struct sn_walk_cursor next = {
        .ip = state.ip,
        .sp = state.registers[SN_UNWIND_RSP],
        .bp = state.registers[SN_UNWIND_RBP],
        .has_bp = state.known >> SN_UNWIND_RBP & 1,
        .is_return = true,
    };
    return sn_walk_arrive(walk, &next, cursor);
}

/* Stubs jump on and leave the stack as they found it. */
static enum sn_walk_step step_over_stub(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor next = *cursor;
    if (cursor->is_return || !sn_walk_word(walk, cursor->sp, &next.ip))
        return SN_STEP_LOST;
    next.sp += 8;
    next.is_return = true;
    return sn_walk_arrive(walk, &next, cursor);
}

enum sn_walk_step sn_managed_walk_step(struct sn_stack_walk *walk,
                                       const struct sn_managed_code *code,
                                       struct sn_walk_cursor *cursor)
{
    enum sn_walk_step step = code->kind == SN_CODE_STUB ? step_over_stub(walk, cursor)
                                                        : step_by_unwind(walk, code, cursor);
    /* where unwind data lead to no code, the return address is not what was left there */
    return step == SN_STEP_LOST && !walk->has_lost ? sn_walk_by_record(walk, cursor) : step;
}

/* The runtime calls filters with nothing but the frame pointer, from a register, and everything
 * else that handles exceptions with all registers, from memory: mov %rsi, %rbp; mov %rsp, (%rcx);
 * call *%rdx. While filters run, nothing has been unwound. */
static bool is_called_as_filter(struct sn_stack_walk *walk, uint64_t return_address)
{
    uint8_t bytes[SN_WALK_CALL_BYTES];
    return sn_memory_read(walk->memory, return_address - sizeof(bytes), bytes, sizeof(bytes)) &&
           bytes[0] == 0x48 && bytes[1] == 0x89 && (bytes[2] & 0xc7) == 0xc5 && bytes[6] == 0xff;
}

static bool is_method_of(const struct sn_walk_handler *handler, const struct sn_walk_frame *frame,
                         const struct sn_walk_cursor *cursor)
{
    return frame->kind == SN_WALK_MANAGED && !frame->code.is_funclet &&
           frame->code.start == handler->start &&
           (!handler->has_bp || !cursor->has_bp || cursor->bp == handler->bp);
}

void sn_managed_walk_mark(struct sn_stack_walk *walk, const struct sn_walk_cursor *cursor,
                          const struct sn_walk_cursor *caller)
{
    struct sn_walk_handler *handler = &walk->handler;
    size_t last = walk->count - 1;
    const struct sn_walk_frame *frame = &walk->frames[last];
    if (!handler->is_open) {
        bool is_handler = frame->kind == SN_WALK_MANAGED && frame->code.is_funclet &&
                          !is_called_as_filter(walk, caller->ip) &&
                          !(walk->code && sn_code_map_is_filter(walk->code, &frame->code));
        *handler = (struct sn_walk_handler){is_handler, cursor->has_bp, cursor->bp,
                                            frame->code.start, last};
    } else if (is_method_of(handler, frame, cursor)) {
        for (size_t i = handler->index + 1; i <= last; i++)
            walk->frames[i].is_unwound = true;
        handler->is_open = false;
    }
}
