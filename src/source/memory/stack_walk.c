#include "source/memory/stack_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk_internal.h"
#include "source/memory/thread_state.h"
#include "symbol/objects.h"

#define RECORD_SPAN (4u << 20) /* no frame is larger: a frame pointer further up is none */

int sn_stack_walk_new(struct sn_runtime_memory *runtime, struct sn_code_map *code,
                      struct sn_objects *objects, struct sn_stack_walk **ret_walk,
                      struct sonde_error *err)
{
    struct sn_stack_walk *walk = calloc(1, sizeof(*walk));
    if (walk) {
        walk->frames = calloc(SN_WALK_MAX, sizeof(*walk->frames));
        walk->rules = calloc(SN_WALK_RULES, sizeof(*walk->rules));
        walk->modules = calloc(SN_WALK_MODULES, sizeof(*walk->modules));
    }
    if (!walk || !walk->frames || !walk->rules || !walk->modules) {
        sn_stack_walk_free(walk);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to walk stacks");
    }
    walk->runtime = runtime;
    walk->memory = runtime->memory;
    walk->code = code;
    walk->objects = objects;
    sn_explicit_frames_bind(walk);
    *ret_walk = walk;
    return SONDE_OK;
}

void sn_stack_walk_free(struct sn_stack_walk *walk)
{
    if (!walk)
        return;
    free(walk->frames);
    free(walk->rules);
    free(walk->modules);
    free(walk);
}

bool sn_walk_word(struct sn_stack_walk *walk, uint64_t address, uint64_t *ret_word)
{
    uint64_t at = address - walk->stack_start;
    uint64_t size = walk->stack_end - walk->stack_start;
    if (address < walk->stack_start || at > size || size - at < sizeof(*ret_word))
        return walk->is_elsewhere && sn_memory_u64(walk->memory, address, ret_word);
    memcpy(ret_word, walk->stack + at, sizeof(*ret_word));
    return true;
}

static const struct sn_memory_map *code_at(struct sn_stack_walk *walk, uint64_t address)
{
    const struct sn_memory_map *map = sn_memory_map_of(walk->memory, address);
    return map && (map->flags & SN_MAP_CODE) ? map : NULL;
}

bool sn_walk_is_code(struct sn_stack_walk *walk, uint64_t address)
{
    return code_at(walk, address) != NULL;
}

bool sn_walk_locate(struct sn_stack_walk *walk, uint64_t address, uint32_t *ret_object,
                    uint64_t *ret_vaddr)
{
    const struct sn_memory_map *map = code_at(walk, address);
    uint32_t object = map ? sn_walk_object(walk, map) : 0;
    if (!object)
        return false;
    *ret_object = object;
    *ret_vaddr = sn_objects_vaddr(walk->objects, object, address - map->start + map->offset);
    return true;
}

/* call rel32; call r/m64, with what forms of it there are. */
static bool ends_call(const uint8_t *bytes)
{
    const uint8_t *end = bytes + SN_WALK_CALL_BYTES;
    if (end[-5] == 0xe8)
        return true;
    if (end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0) /* a register */
        return true;
    if (end[-2] == 0xff && (end[-1] & 0x38) == 0x10) /* [register] */
        return true;
    for (unsigned size = 3; size <= 7; size++) /* with a displacement, an index or both */
        if (end[-(int)size] == 0xff && (end[1 - (int)size] & 0x38) == 0x10)
            return true;
    return false;
}

/* What was kept of a page may be from before a method was compiled into it. */
bool sn_walk_is_return(struct sn_stack_walk *walk, uint64_t address)
{
    uint8_t bytes[SN_WALK_CALL_BYTES];
    uint64_t from = address - sizeof(bytes);
    if (address <= sizeof(bytes) || !code_at(walk, address - 1))
        return false;
    if (sn_memory_read(walk->memory, from, bytes, sizeof(bytes)) && ends_call(bytes))
        return true;
    return sn_memory_read_now(walk->memory, from, bytes, sizeof(bytes)) == sizeof(bytes) &&
           ends_call(bytes);
}

bool sn_walk_is_record(struct sn_stack_walk *walk, uint64_t address)
{
    uint64_t above = 0;
    uint64_t caller = 0;
    return address % 8 == 0 && sn_walk_word(walk, address, &above) &&
           sn_walk_word(walk, address + 8, &caller) && sn_walk_is_return(walk, caller);
}

enum sn_walk_step sn_walk_by_record(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor next = {.has_bp = true, .is_return = true, .sp = cursor->bp + 16};
    if (!cursor->has_bp || cursor->bp < cursor->sp || cursor->bp - cursor->sp > RECORD_SPAN ||
        !sn_walk_word(walk, cursor->bp, &next.bp) || !sn_walk_word(walk, cursor->bp + 8, &next.ip))
        return SN_STEP_LOST;
    return sn_walk_arrive(walk, &next, cursor);
}

/* Where a signal handler returns to, or code that runs in the place of a return address. */
static bool is_landing(struct sn_stack_walk *walk, struct sn_walk_cursor *at)
{
    if (sn_native_walk_is_restorer(walk, at->ip)) {
        at->is_return = false;
        return true;
    }
    return sn_explicit_frames_hijacked(walk, at->sp - 8, &at->ip);
}

/* Its mapping may be newer than what we know of, or not have been code then; asked once for a
 * thread. */
static bool is_new_code(struct sn_stack_walk *walk, uint64_t address)
{
    if (walk->has_refreshed || code_at(walk, address - 1))
        return false;
    walk->has_refreshed = true;
    return sn_memory_refresh_maps(walk->memory, NULL) == SONDE_OK &&
           sn_walk_is_return(walk, address);
}

enum sn_walk_step sn_walk_arrive(struct sn_stack_walk *walk, const struct sn_walk_cursor *next,
                                 struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor at = *next;
    if (at.sp <= cursor->sp || at.sp % 8 != 0)
        return SN_STEP_LOST;
    if (!at.ip)
        return SN_STEP_END;
    walk->has_lost =
        !sn_walk_is_return(walk, at.ip) && !is_new_code(walk, at.ip) && !is_landing(walk, &at);
    walk->lost = at;
    if (walk->has_lost)
        return SN_STEP_LOST;
    *cursor = at;
    return SN_STEP_CALLER;
}

static struct sn_walk_frame *add_frame(struct sn_stack_walk *walk,
                                       const struct sn_walk_cursor *cursor, enum sn_walk_kind kind)
{
    if (walk->count == SN_WALK_MAX)
        return NULL;
    struct sn_walk_frame *frame = &walk->frames[walk->count++];
    *frame = (struct sn_walk_frame){
        .address = cursor->ip,
        .sp = cursor->sp,
        .kind = (uint8_t)kind,
        .is_return = cursor->is_return,
    };
    return frame;
}

static uint64_t callee_at(const struct sn_stack_walk *walk, const struct sn_walk_cursor *cursor)
{
    for (size_t i = 0; i < walk->anchor_count; i++)
        if (walk->anchors[i].at.sp == cursor->sp && walk->anchors[i].at.ip == cursor->ip)
            return walk->anchors[i].callee;
    return 0;
}

/* The frame at the cursor, with what its code is. */
static const struct sn_walk_frame *take_frame(struct sn_stack_walk *walk,
                                              const struct sn_walk_cursor *cursor)
{
    uint64_t at = cursor->ip - cursor->is_return;
    struct sn_walk_frame *frame = add_frame(walk, cursor, SN_WALK_NATIVE);
    if (!frame)
        return NULL;
    if (walk->code && sn_code_map_find(walk->code, at, &frame->code))
        frame->kind = frame->code.kind == SN_CODE_STUB ? SN_WALK_STUB : SN_WALK_MANAGED;
    else
        (void)sn_walk_locate(walk, at, &frame->object, &frame->vaddr);
    if (frame->kind == SN_WALK_MANAGED)
        frame->callee = callee_at(walk, cursor);
    return frame;
}

/* The innermost explicit frame that the cursor has not come to; NULL: none. */
static const struct sn_walk_anchor *anchor_above(const struct sn_stack_walk *walk, uint64_t sp)
{
    for (size_t i = 0; i < walk->anchor_count; i++)
        if (walk->anchors[i].at.sp > sp)
            return &walk->anchors[i];
    return NULL;
}

static bool add_gap(struct sn_stack_walk *walk, const struct sn_walk_cursor *cursor)
{
    struct sn_walk_frame *gap = add_frame(walk, cursor, SN_WALK_UNKNOWN);
    if (gap)
        gap->address = 0;
    return gap != NULL;
}

/* Only the return address is of no use: the caller's frame is known, and so is its caller. */
static bool skip_caller(struct sn_stack_walk *walk, const struct sn_walk_anchor *anchor,
                        struct sn_walk_cursor *cursor)
{
    struct sn_walk_cursor next = walk->lost;
    const struct sn_walk_cursor lost = next;
    if (!walk->has_lost || !next.has_bp || next.bp < next.sp ||
        (anchor && next.bp >= anchor->at.sp) || !sn_walk_is_record(walk, next.bp) ||
        sn_walk_by_record(walk, &next) != SN_STEP_CALLER || !add_gap(walk, &lost))
        return false;
    *cursor = next;
    return true;
}

/* Where the way was lost, or led past where the runtime says that managed code stands. */
static bool find_way(struct sn_stack_walk *walk, const struct sn_walk_anchor *anchor,
                     struct sn_walk_cursor *cursor)
{
    if (!(anchor && anchor->is_only_way) && skip_caller(walk, anchor, cursor))
        return true;
    if (!anchor || (!anchor->is_only_way && !add_gap(walk, cursor)))
        return false;
    *cursor = anchor->at;
    return true;
}

static enum sn_walk_step step_from(struct sn_stack_walk *walk, const struct sn_walk_frame *frame,
                                   struct sn_walk_cursor *cursor)
{
    return frame->kind == SN_WALK_NATIVE ? sn_native_walk_step(walk, cursor)
                                         : sn_managed_walk_step(walk, &frame->code, cursor);
}

/* One frame, and on to its caller. False: that was the last. */
static bool advance(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor, bool *ret_is_whole)
{
    const struct sn_walk_cursor here = *cursor;
    const struct sn_walk_frame *frame = take_frame(walk, cursor);
    if (!frame)
        return false;
    const struct sn_walk_anchor *anchor = anchor_above(walk, here.sp);
    walk->has_lost = false;
    enum sn_walk_step step = step_from(walk, frame, cursor);
    bool is_past = anchor && walk->is_doubtful && !walk->is_elsewhere &&
                   (step == SN_STEP_END || (step == SN_STEP_CALLER && cursor->sp > anchor->at.sp));
    sn_managed_walk_mark(walk, &here, cursor);
    if (step == SN_STEP_LOST || is_past) {
        *cursor = here;
        return find_way(walk, anchor, cursor);
    }
    *ret_is_whole = step == SN_STEP_END;
    return step == SN_STEP_CALLER;
}

/* The runtime's Thread as it was with the stack; else as it is now, if the thread has not run. */
static void take_note(struct sn_stack_walk *walk, const struct sn_thread_state *state,
                      const struct sn_managed_thread *thread)
{
    bool is_noted = state->note && thread && state->note_address == thread->address;
    walk->note = state->note;
    walk->note_size = is_noted ? SN_THREAD_NOTE : 0;
    if (is_noted || !thread || state->how == SN_THREAD_HELD)
        return;
    walk->note = walk->note_now;
    walk->note_size =
        sn_memory_read_now(walk->memory, thread->address, walk->note_now, sizeof(walk->note_now));
}

static uint64_t first_frame(const struct sn_stack_walk *walk)
{
    uint64_t frame = 0;
    size_t at = walk->layout.thread_frame;
    if (walk->has_explicit && at <= walk->note_size && walk->note_size - at >= sizeof(frame))
        memcpy(&frame, walk->note + at, sizeof(frame));
    return frame;
}

static void begin(struct sn_stack_walk *walk, const struct sn_thread_state *state,
                  const struct sn_managed_thread *thread)
{
    walk->count = 0;
    walk->stack = state->stack;
    walk->stack_start = state->registers.sp;
    walk->stack_end = state->registers.sp + state->stack_size;
    walk->is_elsewhere = false;
    walk->has_refreshed = !sn_memory_pid(walk->memory);
    walk->has_lost = false;
    walk->anchor_count = 0;
    walk->handler.is_open = false;
    walk->is_doubtful = !state->registers.has_bp;
    take_note(walk, state, thread);
    sn_explicit_frames_read(walk, first_frame(walk));
}

size_t sn_stack_walk_take(struct sn_stack_walk *walk, const struct sn_thread_state *state,
                          const struct sn_managed_thread *thread,
                          const struct sn_walk_frame **ret_frames, bool *ret_is_whole)
{
    *ret_frames = walk->frames;
    *ret_is_whole = false;
    begin(walk, state, thread);
    if (!state->stack_size)
        return 0;
    struct sn_walk_cursor cursor = {
        .ip = state->registers.ip,
        .sp = state->registers.sp,
        .bp = state->registers.bp,
        .has_bp = state->registers.has_bp,
    };
    while (advance(walk, &cursor, ret_is_whole))
        continue;
    return walk->count;
}
