#include "symbol/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/table.h"
#include "model/event.h"
#include "model/profile.h"
#include "model/schema.h"
#include "symbol/methods.h"
#include "symbol/names.h"

#define ADDRESS_LIMIT (8u << 20)
#define STACK_LIMIT   (1u << 20) /* between two sequence points: as many as the reader keeps */
#define NAME_LIMIT    (1u << 20)

struct sn_frames {
    struct sn_methods *methods;
    struct sn_profile *profile;
    sn_line_fn *find_line;
    void *line_user;
    struct sn_table by_address[2]; /* address -> frame + 1; [1]: of leaves, whose line differs */
    struct sn_table by_method;     /* pointer -> frame + 1; for places that were used twice */
    uint64_t changes;              /* of the methods, when that was filled */
    struct sn_table by_stack;      /* stack -> node + 1, of this epoch */
    uint64_t epoch;
    struct sn_buf name;
    struct sn_buf full_name;
    struct sn_buf name_space;
};

int sn_frames_new(struct sn_methods *methods, struct sn_profile *profile,
                  struct sn_frames **ret_frames, struct sonde_error *err)
{
    struct sn_frames *frames = calloc(1, sizeof(*frames));
    if (!frames)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for frames");
    frames->methods = methods;
    frames->profile = profile;
    frames->by_address[0] = frames->by_address[1] = sn_table_with_limit(ADDRESS_LIMIT);
    frames->by_method = sn_table_with_limit(ADDRESS_LIMIT);
    frames->by_stack = sn_table_with_limit(STACK_LIMIT);
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
    sn_buf_done(&frames->name);
    sn_buf_done(&frames->full_name);
    sn_buf_done(&frames->name_space);
    free(frames);
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

static void describe(struct sn_frames *frames, const struct sn_method *method,
                     struct sn_frame *frame)
{
    const struct sn_module *module = sn_methods_module(frames->methods, method->module_id);
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
static uint32_t frame_of_method(struct sn_frames *frames, const struct sn_method *method)
{
    if (frames->changes != sn_methods_changes(frames->methods))
        sn_table_clear(&frames->by_method);
    frames->changes = sn_methods_changes(frames->methods);
    uint64_t *place = sn_table_put(&frames->by_method, (uint64_t)(uintptr_t)method);
    if (place && *place)
        return (uint32_t)(*place - 1);
    struct sn_frame frame;
    describe(frames, method, &frame);
    uint32_t index = sn_profile_frame(frames->profile, &frame);
    if (place && index != SN_NO_INDEX)
        *place = (uint64_t)index + 1;
    return index;
}

/* A frame with both, where they are known: one for each line of the method. */
static uint32_t frame_with_line(struct sn_frames *frames, const struct sn_method *method,
                                uint64_t address)
{
    uint32_t plain = frame_of_method(frames, method);
    const char *file = NULL;
    uint32_t line = 0;
    if (plain == SN_NO_INDEX ||
        !frames->find_line(frames->line_user, method, address, &file, &line))
        return plain;
    struct sn_frame frame = frames->profile->frames[plain];
    frame.file = file;
    frame.line = line;
    return sn_profile_frame(frames->profile, &frame);
}

static uint32_t resolve(struct sn_frames *frames, uint64_t address, bool is_leaf, uint64_t time_ns)
{
    const struct sn_method *method = sn_methods_find(frames->methods, address, time_ns);
    if (!method)
        return sn_profile_frame(frames->profile, &unknown);
    if (!frames->find_line)
        return frame_of_method(frames, method);
    /* A return address may be the first of the next line; the call itself lies before it. */
    return frame_with_line(frames, method, address - !is_leaf);
}

static uint32_t frame_of(struct sn_frames *frames, uint64_t address, bool is_leaf, uint64_t time_ns)
{
    uint64_t *place =
        sn_table_put(&frames->by_address[is_leaf && frames->find_line != NULL], address);
    if (place && *place)
        return (uint32_t)(*place - 1);
    uint32_t frame = resolve(frames, address, is_leaf, time_ns);
    if (place && frame != SN_NO_INDEX && sn_methods_is_settled(frames->methods, address))
        *place = (uint64_t)frame + 1;
    return frame;
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

static uint32_t walk(struct sn_frames *frames, const struct sn_event *event, bool has_leaf)
{
    uint32_t node = 0;
    for (uint32_t i = event->stack_depth; i-- > 0;) {
        bool is_leaf = i == 0 && has_leaf;
        uint32_t frame = frame_of(frames, address_at(event, i), is_leaf, event->time_ns);
        node = sn_profile_node(frames->profile, node, frame);
    }
    return node;
}

uint32_t sn_frames_node(struct sn_frames *frames, const struct sn_event *event)
{
    if (!event->stack_depth)
        return 0;
    bool has_leaf = frames->find_line && is_stopped_anywhere(event);
    if (!event->stack_key)
        return walk(frames, event, has_leaf);
    if (event->stack_key >> 32 != frames->epoch) {
        frames->epoch = event->stack_key >> 32;
        sn_table_clear(&frames->by_stack);
    }
    /* Within an epoch the upper half is the same: a place to say how the stack is meant. */
    uint64_t key = (uint32_t)event->stack_key | (uint64_t)has_leaf << 32;
    uint64_t *place = sn_table_put(&frames->by_stack, key);
    if (place && *place)
        return (uint32_t)(*place - 1);
    uint32_t node = walk(frames, event, has_leaf);
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
