/* The frames that the runtime links by hand where its own walks cannot see through native code.
 * They lie on the stack, so they are read from its copy: of the same moment as all else. */
#include <string.h>

#include "source/memory/contract.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk_internal.h"

#define CONTEXT_RSP 0x98u /* of CONTEXT, as on Windows */
#define CONTEXT_RBP 0xa0u
#define CONTEXT_RIP 0xf8u
#define LIST_END    UINT64_MAX

#define AT(field) offsetof(struct sn_frame_layout, field)

static const struct sn_contract_want wants[] = {
    {"Frame", "Next", AT(next), false},
    {"Thread", "Frame", AT(thread_frame), false},
    {"InlinedCallFrame", "CallSiteSP", AT(call_sp), false},
    {"InlinedCallFrame", "CallerReturnAddress", AT(call_return), false},
    {"InlinedCallFrame", "CalleeSavedFP", AT(call_fp), false},
    {"FramedMethodFrame", "TransitionBlockPtr", AT(block), true},
    {"TransitionBlock", "!", AT(block_size), true},
    {"TransitionBlock", "ReturnAddress", AT(block_return), true},
    {"TransitionBlock", "CalleeSavedRegisters", AT(block_saved), true},
    {"CalleeSavedRegisters", "Rbp", AT(saved_rbp), true},
    {"ResumableFrame", "TargetContextPtr", AT(resumed_context), true},
    {"FaultingExceptionFrame", "TargetContext", AT(fault_context), true},
    {"SoftwareExceptionFrame", "TargetContext", AT(software_context), true},
    {"HijackFrame", "ReturnAddress", AT(hijack_return), true},
    {"HijackFrame", "HijackArgsPtr", AT(hijack_args), true},
    {"HijackArgs", "CalleeSavedRegisters", AT(hijack_saved), true},
    {"HijackArgs", "!", AT(hijack_size), true},
};

static const struct {
    const char *global;
    uint8_t way;
} kinds[] = {
    {"InlinedCallFrameIdentifier", SN_FRAME_CALL},
    {"ResumableFrameIdentifier", SN_FRAME_RESUMED},
    {"RedirectedThreadFrameIdentifier", SN_FRAME_RESUMED},
    {"FaultingExceptionFrameIdentifier", SN_FRAME_FAULT},
    {"SoftwareExceptionFrameIdentifier", SN_FRAME_SOFTWARE},
    {"HijackFrameIdentifier", SN_FRAME_HIJACK},
    {"FramedMethodFrameIdentifier", SN_FRAME_BLOCK},
    {"PInvokeCalliFrameIdentifier", SN_FRAME_BLOCK},
    {"PrestubMethodFrameIdentifier", SN_FRAME_BLOCK},
    {"CallCountingHelperFrameIdentifier", SN_FRAME_BLOCK},
    {"StubDispatchFrameIdentifier", SN_FRAME_BLOCK},
    {"ExternalMethodFrameIdentifier", SN_FRAME_BLOCK},
    {"DynamicHelperFrameIdentifier", SN_FRAME_BLOCK},
};

_Static_assert(sizeof(kinds) / sizeof(*kinds) <= SN_FRAME_KINDS, "all kinds have room");

static bool has_what_it_needs(const struct sn_frame_layout *layout, uint8_t way)
{
    bool has_saved = layout->saved_rbp != SN_CONTRACT_NONE;
    switch (way) {
    case SN_FRAME_BLOCK:
        return has_saved && layout->block != SN_CONTRACT_NONE &&
               layout->block_size != SN_CONTRACT_NONE && layout->block_return != SN_CONTRACT_NONE &&
               layout->block_saved != SN_CONTRACT_NONE;
    case SN_FRAME_RESUMED: return layout->resumed_context != SN_CONTRACT_NONE;
    case SN_FRAME_FAULT: return layout->fault_context != SN_CONTRACT_NONE;
    case SN_FRAME_SOFTWARE: return layout->software_context != SN_CONTRACT_NONE;
    case SN_FRAME_HIJACK:
        return has_saved && layout->hijack_return != SN_CONTRACT_NONE &&
               layout->hijack_args != SN_CONTRACT_NONE &&
               layout->hijack_saved != SN_CONTRACT_NONE && layout->hijack_size != SN_CONTRACT_NONE;
    default: return true;
    }
}

void sn_explicit_frames_bind(struct sn_stack_walk *walk)
{
    struct sn_contract *contract = walk->runtime ? walk->runtime->contract : NULL;
    struct sn_frame_layout *layout = &walk->layout;
    const char *missing = NULL;
    if (!contract ||
        !sn_contract_bind(contract, wants, sizeof(wants) / sizeof(*wants), layout, &missing))
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        struct sn_frame_kind *kind = &layout->kinds[layout->kind_count];
        if (!has_what_it_needs(layout, kinds[i].way) ||
            !sn_contract_number(contract, kinds[i].global, &kind->identifier))
            continue;
        kind->way = kinds[i].way;
        layout->kind_count++;
    }
    walk->has_explicit = layout->kind_count != 0;
}

static uint8_t way_of(const struct sn_stack_walk *walk, uint64_t identifier)
{
    for (size_t i = 0; i < walk->layout.kind_count; i++)
        if (walk->layout.kinds[i].identifier == identifier)
            return walk->layout.kinds[i].way;
    return SN_FRAME_NONE;
}

/* The return address was put right below where the stack pointer comes to be. */
static bool is_told_twice(struct sn_stack_walk *walk, const struct sn_walk_cursor *at)
{
    uint64_t word = 0;
    return sn_walk_word(walk, at->sp - 8, &word) && word == at->ip;
}

static bool read_call(struct sn_stack_walk *walk, uint64_t frame, struct sn_walk_cursor *ret_at)
{
    const struct sn_frame_layout *layout = &walk->layout;
    return sn_walk_word(walk, frame + layout->call_return, &ret_at->ip) && ret_at->ip &&
           sn_walk_word(walk, frame + layout->call_sp, &ret_at->sp) &&
           sn_walk_word(walk, frame + layout->call_fp, &ret_at->bp) && is_told_twice(walk, ret_at);
}

static bool read_block(struct sn_stack_walk *walk, uint64_t frame, struct sn_walk_cursor *ret_at)
{
    const struct sn_frame_layout *layout = &walk->layout;
    uint64_t block = 0;
    if (!sn_walk_word(walk, frame + layout->block, &block) ||
        !sn_walk_word(walk, block + layout->block_return, &ret_at->ip) ||
        !sn_walk_word(walk, block + layout->block_saved + layout->saved_rbp, &ret_at->bp))
        return false;
    ret_at->sp = block + layout->block_size;
    return true;
}

static bool read_hijack(struct sn_stack_walk *walk, uint64_t frame, struct sn_walk_cursor *ret_at)
{
    const struct sn_frame_layout *layout = &walk->layout;
    uint64_t args = 0;
    if (!sn_walk_word(walk, frame + layout->hijack_return, &ret_at->ip) ||
        !sn_walk_word(walk, frame + layout->hijack_args, &args) ||
        !sn_walk_word(walk, args + layout->hijack_saved + layout->saved_rbp, &ret_at->bp))
        return false;
    ret_at->sp = args + layout->hijack_size;
    return true;
}

static bool read_context(struct sn_stack_walk *walk, uint64_t context,
                         struct sn_walk_cursor *ret_at)
{
    ret_at->is_return = false;
    return sn_walk_word(walk, context + CONTEXT_RIP, &ret_at->ip) &&
           sn_walk_word(walk, context + CONTEXT_RSP, &ret_at->sp) &&
           sn_walk_word(walk, context + CONTEXT_RBP, &ret_at->bp);
}

static bool read_by(struct sn_stack_walk *walk, uint8_t way, uint64_t frame,
                    struct sn_walk_cursor *ret_at)
{
    const struct sn_frame_layout *layout = &walk->layout;
    uint64_t context = 0;
    switch (way) {
    case SN_FRAME_CALL: return read_call(walk, frame, ret_at);
    case SN_FRAME_BLOCK: return read_block(walk, frame, ret_at);
    case SN_FRAME_HIJACK: return read_hijack(walk, frame, ret_at);
    case SN_FRAME_RESUMED:
        return sn_walk_word(walk, frame + layout->resumed_context, &context) &&
               read_context(walk, context, ret_at);
    case SN_FRAME_FAULT: return read_context(walk, frame + layout->fault_context, ret_at);
    case SN_FRAME_SOFTWARE:
        ret_at->is_return = true;
        return read_context(walk, frame + layout->software_context, ret_at);
    default: return false;
    }
}

/* A note of a call has one word more than is told of: what is called, if it has its low bits
 * clear. */
static uint64_t callee_of(struct sn_stack_walk *walk, uint64_t frame)
{
    const struct sn_frame_layout *layout = &walk->layout;
    uint64_t callee = 0;
    if (layout->call_sp != layout->next + 16 ||
        !sn_walk_word(walk, frame + layout->next + 8, &callee))
        return 0;
    return callee & 7 ? 0 : callee;
}

/* Where a frame leads; false: nowhere, or not to managed code. */
static bool read_anchor(struct sn_stack_walk *walk, uint64_t frame,
                        struct sn_walk_anchor *ret_anchor)
{
    uint64_t identifier = 0;
    struct sn_managed_code code;
    struct sn_walk_cursor at = {.has_bp = true, .is_return = true};
    if (!sn_walk_word(walk, frame, &identifier))
        return false;
    uint8_t way = way_of(walk, identifier);
    if (!read_by(walk, way, frame, &at) || at.sp <= walk->stack_start || at.sp >= walk->stack_end ||
        at.sp % 8 != 0)
        return false;
    if (way == SN_FRAME_SOFTWARE) /* its context is of behind the call that throws */
        at.is_return = true;
    if (walk->code ? !sn_code_map_find(walk->code, at.ip - at.is_return, &code)
                   : !sn_walk_is_return(walk, at.ip))
        return false;
    *ret_anchor = (struct sn_walk_anchor){
        .at = at,
        .callee = way == SN_FRAME_CALL ? callee_of(walk, frame) : 0,
        .is_only_way = way == SN_FRAME_HIJACK,
    };
    return true;
}

void sn_explicit_frames_read(struct sn_stack_walk *walk, uint64_t first)
{
    uint64_t frame = first;
    uint64_t last = 0;
    walk->anchor_count = 0;
    if (!walk->has_explicit)
        return;
    for (unsigned i = 0; i < SN_WALK_EXPLICIT * 4; i++) {
        if (frame == LIST_END || frame <= last || frame % 8 != 0)
            return;
        struct sn_walk_anchor *anchor = &walk->anchors[walk->anchor_count];
        bool is_rising = read_anchor(walk, frame, anchor) &&
                         (!walk->anchor_count || anchor[-1].at.sp <= anchor->at.sp);
        if (is_rising && ++walk->anchor_count == SN_WALK_EXPLICIT)
            return;
        last = frame;
        if (!sn_walk_word(walk, frame + walk->layout.next, &frame))
            return;
    }
}

/* The runtime's Thread remembers the place and, right before it, what was there. */
bool sn_explicit_frames_hijacked(struct sn_stack_walk *walk, uint64_t slot, uint64_t *ret_address)
{
    for (size_t i = 8; i + 8 <= walk->note_size; i += 8) {
        uint64_t words[2]; /* what was there; the place */
        memcpy(words, walk->note + i - 8, sizeof(words));
        if (words[1] != slot || !sn_walk_is_return(walk, words[0]))
            continue;
        *ret_address = words[0];
        return true;
    }
    return false;
}
