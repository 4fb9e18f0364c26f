#include "symbol/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/profile.h"
#include "model/schema.h"
#include "symbol/code.h"
#include "symbol/methods.h"
#include "symbol/names.h"
#include "symbol/process_label.h"
#include "symbol/runtime_threads.h"

#define ADDRESS_LIMIT (8u << 20)
#define STACK_LIMIT   (1u << 20) /* between two sequence points: as many as the reader keeps */
#define NAME_LIMIT    (1u << 20)

/* What a table says of an address: its frame + 1, and whether its code replaced other code of the
 * same method while that ran. */
#define IS_OSR (1ull << 40)

struct sn_frames {
    struct sn_code *code;
    struct sn_profile *profile;
    sn_line_fn *find_line;
    void *line_user;
    bool is_kernel;
    bool with_processes;
    struct sn_table by_address[2]; /* place -> frame; [1]: of leaves, whose line differs */
    struct sn_table by_method;     /* pointer -> frame + 1; for places that were used twice */
    uint64_t changes;              /* of the code, when that was filled */
    struct sn_table by_stack;      /* stack -> node + 1, of this epoch */
    struct sn_table by_process;    /* its number -> node + 1 */
    uint64_t epoch;
    struct sn_buf name;
    struct sn_buf full_name;
    struct sn_buf name_space;
};

int sn_frames_new(struct sn_code *code, struct sn_profile *profile, struct sn_frames **ret_frames,
                  struct sonde_error *err)
{
    struct sn_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for frames");
    frames->code = code;
    frames->profile = profile;
    frames->by_address[0] = frames->by_address[1] = sn_table_with_limit(ADDRESS_LIMIT);
    frames->by_method = sn_table_with_limit(ADDRESS_LIMIT);
    frames->by_stack = sn_table_with_limit(STACK_LIMIT);
    frames->by_process = sn_table_with_limit(STACK_LIMIT);
    frames->name = sn_buf_with_limit(NAME_LIMIT);
    frames->full_name = sn_buf_with_limit(NAME_LIMIT);
    frames->name_space = sn_buf_with_limit(NAME_LIMIT);
    *ret_frames = frames;
    return SONDE_OK;
}

void sn_frames_free(struct sn_frames *frames)
{
    if (!frames)
        return;
    sn_table_done(&frames->by_address[0]);
    sn_table_done(&frames->by_address[1]);
    sn_table_done(&frames->by_method);
    sn_table_done(&frames->by_stack);
    sn_table_done(&frames->by_process);
    sn_buf_done(&frames->name);
    sn_buf_done(&frames->full_name);
    sn_buf_done(&frames->name_space);
    free(frames);
}

void sn_frames_set_kernel(struct sn_frames *frames)
{
    frames->is_kernel = true;
}

void sn_frames_set_processes(struct sn_frames *frames)
{
    frames->with_processes = true;
}

void sn_frames_set_lines(struct sn_frames *frames, sn_line_fn *find, void *user)
{
    frames->find_line = find;
    frames->line_user = user;
}

static const struct sn_frame unknown = {.name = "[unknown code]",
                                        .full_name = "?",
                                        .module = "",
                                        .name_space = "",
                                        .kind = SN_FRAME_NATIVE,
                                        .is_framework = true};

static const struct sn_frame stub = {.name = "[runtime stub]",
                                     .full_name = "[runtime stub]",
                                     .module = "",
                                     .name_space = "",
                                     .kind = SN_FRAME_NATIVE,
                                     .is_framework = true};

static const struct sn_frame nameless = {.name = "[managed code without names]",
                                         .full_name = "[managed code without names]",
                                         .module = "",
                                         .name_space = "",
                                         .kind = SN_FRAME_MANAGED};

static void describe(struct sn_frames *frames, const struct sn_place *place, struct sn_frame *frame)
{
    const struct sn_method *method = place->method;
    const struct sn_module *module = sn_methods_module(place->methods, method->module_id);
    sn_buf_clear(&frames->name);
    sn_buf_clear(&frames->full_name);
    sn_buf_clear(&frames->name_space);
    sn_name_readable(&frames->name, method->type, method->name);
    sn_name_full(&frames->full_name, method->type, method->name, method->signature);
    sn_name_space(&frames->name_space, method->type);
    *frame = (struct sn_frame){.name = sn_buf_string(&frames->name),
                               .full_name = sn_buf_string(&frames->full_name),
                               .module = module ? module->name : "",
                               .name_space = sn_buf_string(&frames->name_space),
                               .kind = SN_FRAME_MANAGED};
    frame->is_async = sn_name_is_async(method->type, method->name, method->signature);
    frame->is_framework = sn_name_is_framework(frame->module, frame->name_space);
    frame->is_waiting = sn_name_is_waiting(method->type, method->name);
    frame->is_moving_data = sn_name_is_moving_data(method->type, method->name);
    frame->is_stop = sn_name_is_stop(method->type, method->name);
}

/* A frame without file and line: one a method. */
static uint32_t frame_of_method(struct sn_frames *frames, const struct sn_place *place)
{
    if (frames->changes != sn_code_changes(frames->code))
        sn_table_clear(&frames->by_method);
    frames->changes = sn_code_changes(frames->code);
    uint64_t *slot = sn_table_put(&frames->by_method, (uint64_t)(uintptr_t)place->method);
    if (slot && *slot)
        return (uint32_t)(*slot - 1);
    struct sn_frame frame;
    describe(frames, place, &frame);
    uint32_t index = sn_profile_frame(frames->profile, &frame);
    if (slot && index != SN_NO_INDEX)
        *slot = (uint64_t)index + 1;
    return index;
}

/* A frame with both, where they are known: one for each line of the method. */
static uint32_t frame_with_line(struct sn_frames *frames, const struct sn_place *place,
                                uint64_t address)
{
    uint32_t plain = frame_of_method(frames, place);
    const char *file = NULL;
    uint32_t line = 0;
    if (plain == SN_NO_INDEX || !frames->find_line ||
        !frames->find_line(frames->line_user, place, address, &file, &line))
        return plain;
    struct sn_frame frame = frames->profile->frames[plain];
    frame.file = file;
    frame.line = line;
    return sn_profile_frame(frames->profile, &frame);
}

/* Native code or the kernel's. What has no name goes by its place in the file, which is the same
 * in every process and run. */
static uint32_t frame_of_native(struct sn_frames *frames, const struct sn_place *place)
{
    if (place->kind == SN_PLACE_NATIVE && !place->name[0] && !place->module[0])
        return sn_profile_frame(frames->profile, &unknown);
    const char *name = place->name;
    if (!name[0]) {
        sn_buf_clear(&frames->name);
        sn_buf_format(&frames->name, "%s!0x%" PRIx64, place->module, place->offset);
        name = sn_buf_string(&frames->name);
    }
    const struct sn_frame frame = {
        .name = name,
        .full_name = name,
        .module = place->module,
        .name_space = "",
        .file = frames->find_line ? place->file : NULL,
        .line = frames->find_line ? place->line : 0,
        .kind = place->kind == SN_PLACE_KERNEL ? SN_FRAME_KERNEL : SN_FRAME_NATIVE,
        .is_framework = true,
    };
    return sn_profile_frame(frames->profile, &frame);
}

static bool is_osr(const struct sn_method *method)
{
    enum { TIER_SHIFT = 7, TIER_MASK = 7, TIER_OSR = 5 };
    return (method->flags >> TIER_SHIFT & TIER_MASK) == TIER_OSR;
}

/* The frame + 1, with IS_OSR; 0: there is no room. */
static uint64_t resolve(struct sn_frames *frames, const struct sn_place *place, uint64_t address,
                        bool is_leaf)
{
    uint32_t frame = SN_NO_INDEX;
    switch ((enum sn_place_kind)place->kind) {
    case SN_PLACE_MANAGED:
        /* A return address may be the first of the next line; the call itself lies before it. */
        frame = frame_with_line(frames, place, address - !is_leaf);
        break;
    case SN_PLACE_NATIVE:
    case SN_PLACE_KERNEL: frame = frame_of_native(frames, place); break;
    case SN_PLACE_STUB: frame = sn_profile_frame(frames->profile, &stub); break;
    case SN_PLACE_NAMELESS: frame = sn_profile_frame(frames->profile, &nameless); break;
    case SN_PLACE_UNKNOWN: frame = sn_profile_frame(frames->profile, &unknown); break;
    }
    if (frame == SN_NO_INDEX)
        return 0;
    return ((uint64_t)frame + 1) | (place->method && is_osr(place->method) ? IS_OSR : 0);
}

/* One number for an address of a process. Programs live in the lower 47 bits, the kernel has its
 * top bits set and is the same for all. 0: it cannot be told in one. */
static uint64_t place_key(uint64_t address, uint32_t process)
{
    if (!process || sn_universal_is_kernel(address))
        return address;
    return address >> 47 || process >> 16 ? 0 : address | (uint64_t)process << 48;
}

/* `process`: its number + 1, 0 when there is but one. */
static uint64_t frame_of(struct sn_frames *frames, const struct sn_event *event, uint64_t address,
                         bool is_leaf, uint32_t process)
{
    uint64_t key = place_key(address, process);
    bool is_told_apart = is_leaf && (frames->find_line || frames->is_kernel);
    uint64_t *slot = key ? sn_table_put(&frames->by_address[is_told_apart], key) : NULL;
    if (slot && *slot)
        return *slot;
    struct sn_place place;
    sn_code_find(frames->code, event->pid, address, frames->is_kernel && !is_leaf, event->time_ns,
                 &place);
    uint64_t found = resolve(frames, &place, address, is_leaf);
    if (slot && place.is_settled)
        *slot = found;
    return found;
}

static uint64_t address_at(const struct sn_event *event, uint32_t index)
{
    uint64_t address = 0; /* little-endian: a narrow one fills the low bytes */
    memcpy(&address, event->stack + (size_t)index * event->pointer_size, event->pointer_size);
    return address;
}

/* Whether the innermost address is that of the instruction which ran, and not one to return to. The
 * sampler stops a thread anywhere in managed code; every other event is written by what that code
 * called. */
static bool is_stopped_anywhere(const struct sn_event *event)
{
    enum { IN_MANAGED_CODE = 2 };
    struct sn_cursor cur = sn_cursor_over(event->payload, event->payload_size);
    return sn_cursor_u32(&cur) == IN_MANAGED_CODE &&
           strcmp(event->schema->provider, "Microsoft-DotNETCore-SampleProfiler") == 0;
}

/* Whether an address is one to return to: not the first, and not the one at which the kernel was
 * entered. */
static bool is_place(const struct sn_frames *frames, const struct sn_event *event, uint32_t index,
                     bool has_leaf)
{
    if (index == 0)
        return has_leaf || frames->is_kernel;
    return frames->is_kernel && !sn_universal_is_kernel(address_at(event, index)) &&
           sn_universal_is_kernel(address_at(event, index - 1));
}

static uint32_t walk(struct sn_frames *frames, const struct sn_event *event, bool has_leaf,
                     uint32_t process, uint32_t root)
{
    uint32_t node = root;
    uint32_t above = SN_NO_INDEX;
    for (uint32_t i = event->stack_depth; i-- > 0;) {
        bool is_leaf = is_place(frames, event, i, has_leaf);
        uint64_t found = frame_of(frames, event, address_at(event, i), is_leaf, process);
        uint32_t frame = (uint32_t)found - 1; /* 0: SN_NO_INDEX */
        if (frames->is_kernel && found & IS_OSR && frame == above)
            continue;
        node = sn_profile_node(frames->profile, node, frame);
        above = frame;
    }
    return node;
}

const struct sn_frame *sn_frames_at(struct sn_frames *frames, const struct sn_event *event,
                                    uint32_t index)
{
    const struct sn_code_process *process =
        sn_code_process(frames->code, event->pid, event->time_ns);
    bool has_leaf = index == 0 && is_stopped_anywhere(event);
    uint64_t found =
        frame_of(frames, event, address_at(event, index), is_place(frames, event, index, has_leaf),
                 process ? process->index : 0);
    uint32_t frame = (uint32_t)found - 1; /* 0: SN_NO_INDEX */
    if (frame == SN_NO_INDEX || frame == sn_profile_frame(frames->profile, &unknown))
        return NULL;
    return &frames->profile->frames[frame];
}

static uint32_t node_named(struct sn_frames *frames, uint32_t parent, const char *name,
                           uint8_t kind)
{
    const struct sn_frame frame = {.name = name,
                                   .full_name = name,
                                   .module = "",
                                   .name_space = "",
                                   .kind = kind,
                                   .is_framework = true};
    return sn_profile_node(frames->profile, parent, sn_profile_frame(frames->profile, &frame));
}

/* The node of a process, which has a frame of its own. */
static uint32_t process_node(struct sn_frames *frames, const struct sn_code_process *process)
{
    uint64_t *slot = sn_table_put(&frames->by_process, process->index);
    if (slot && *slot)
        return (uint32_t)(*slot - 1);
    sn_buf_clear(&frames->name);
    sn_process_label(&frames->name, frames->code, process);
    uint32_t node = node_named(frames, 0, sn_buf_string(&frames->name), SN_FRAME_PROCESS);
    if (slot && node != SN_NO_INDEX)
        *slot = (uint64_t)node + 1;
    return node;
}

uint32_t sn_frames_node(struct sn_frames *frames, const struct sn_event *event)
{
    return sn_frames_role_node(frames, event, 0);
}

uint32_t sn_frames_role_node(struct sn_frames *frames, const struct sn_event *event, unsigned role)
{
    const struct sn_code_process *process =
        sn_code_process(frames->code, event->pid, event->time_ns);
    uint32_t number = process ? process->index : 0;
    uint32_t root = frames->with_processes && process ? process_node(frames, process) : 0;
    if (role)
        root = node_named(frames, root, sn_runtime_role_name(role), SN_FRAME_RUNTIME);
    if (!event->stack_depth)
        return root;
    bool has_leaf = frames->find_line && is_stopped_anywhere(event);
    if (!event->stack_key)
        return walk(frames, event, has_leaf, number, root);
    if (event->stack_key >> 32 != frames->epoch) {
        frames->epoch = event->stack_key >> 32;
        sn_table_clear(&frames->by_stack);
    }
    /* Within an epoch the upper half is the same: a place to say how the stack is meant. */
    uint64_t key = (uint32_t)event->stack_key | (uint64_t)has_leaf << 32 | (uint64_t)role << 33 |
                   (uint64_t)number << 40;
    uint64_t *place = sn_table_put(&frames->by_stack, key);
    if (place && *place)
        return (uint32_t)(*place - 1);
    uint32_t node = walk(frames, event, has_leaf, number, root);
    if (place && node != SN_NO_INDEX)
        *place = (uint64_t)node + 1;
    return node;
}

uint32_t sn_frames_leaf(struct sn_frames *frames, const struct sn_event *event, const char *name,
                        uint8_t kind)
{
    struct sn_frame leaf = {
        .name = name, .full_name = name, .module = "", .name_space = "", .kind = kind};
    uint32_t parent = sn_frames_node(frames, event);
    return sn_profile_node(frames->profile, parent, sn_profile_frame(frames->profile, &leaf));
}
