/* Names of frames that were found in a process's memory: methods by the runtime's own tables,
 * functions by their files. */
#include "api/memory_frames.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/inspection.h"
#include "api/stacks_internal.h"
#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "source/memory/code_map.h"
#include "source/memory/source_lines.h"
#include "source/memory/stack_walk.h"
#include "source/memory/type_system.h"
#include "symbol/names.h"
#include "symbol/objects.h"

#define KNOWN_MAX  (1u << 19)
#define NAME_LIMIT 65536u
#define KERNEL_MAX 32u /* frames of a thread in the kernel */

void sn_memory_frames_init(struct sn_memory_frames *frames, struct sonde_stacks *stacks,
                           struct sn_inspection *inspection, bool with_native)
{
    *frames = (struct sn_memory_frames){.stacks = stacks,
                                        .inspection = inspection,
                                        .with_native = with_native,
                                        .by_address = sn_table_with_limit(KNOWN_MAX),
                                        .name = sn_buf_with_limit(NAME_LIMIT)};
}

void sn_memory_frames_done(struct sn_memory_frames *frames)
{
    free(frames->known);
    sn_table_done(&frames->by_address);
    sn_buf_done(&frames->name);
}

static const char *keep(struct sn_memory_frames *frames, const char *text)
{
    return sn_stacks_keep(frames->stacks, text);
}

static struct sonde_stack_frame frame_of(const char *name, int kind, uint64_t address)
{
    return (struct sonde_stack_frame){.name = name,
                                      .type_name = "",
                                      .method_name = "",
                                      .signature = "",
                                      .module = "",
                                      .file = "",
                                      .address = address,
                                      .kind = kind};
}

/* --- managed --- */

void sn_memory_frames_name(struct sn_memory_frames *frames, const char *type, const char *method,
                           const struct sn_memory_module *module,
                           struct sonde_stack_frame *ret_frame)
{
    sn_buf_clear(&frames->name);
    sn_name_readable(&frames->name, type, method);
    *ret_frame = frame_of(keep(frames, sn_buf_string(&frames->name)), SONDE_FRAME_MANAGED, 0);
    ret_frame->type_name = keep(frames, type);
    ret_frame->method_name = keep(frames, method);
    if (!module)
        return;
    ret_frame->module = keep(frames, module->name);
    memcpy(ret_frame->module_version_id, module->version_id, sizeof(module->version_id));
}

static void add_line(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                     const struct sn_memory_method *method, struct sonde_stack_frame *frame)
{
    struct sn_inspection *inspection = frames->inspection;
    const char *file = NULL;
    uint32_t line = 0;
    uint32_t il_offset;
    if (!inspection->lines || !method->module || !method->token ||
        !sn_code_map_il_offset(inspection->code, &walked->code, walked->address - walked->is_return,
                               &il_offset) ||
        !sn_source_lines_find(inspection->lines, method->module, method->token, il_offset, &file,
                              &line))
        return;
    frame->file = keep(frames, file);
    frame->line = line;
}

/* How many types "[A,B`1[C,D]]" lists. */
static unsigned count_arguments(const char *list)
{
    unsigned depth = 0;
    unsigned count = 0;
    for (const char *at = list; *at; at++) {
        depth += *at == '[';
        count += depth == 1 && (*at == '[' || *at == ',');
        depth -= *at == ']' && depth;
    }
    return count;
}

/* Behind the readable name, the arguments of a generic method, as those of a type are written. */
static const char *name_with_arguments(struct sn_memory_frames *frames, const char *name,
                                       const char *arguments)
{
    static const char stand_in[] = "M";
    SN_AUTO(sn_buf_done) struct sn_buf type = sn_buf_with_limit(NAME_LIMIT);
    sn_buf_format(&type, "%s`%u%s", stand_in, count_arguments(arguments), arguments);
    sn_buf_clear(&frames->name);
    sn_name_type(&frames->name, sn_buf_string(&type));
    struct sn_buf_view readable = sn_buf_view(&frames->name);
    sn_buf_clear(&type);
    sn_buf_text(&type, name);
    if (readable.size > strlen(stand_in))
        sn_buf_text(&type, readable.text + strlen(stand_in));
    return keep(frames, sn_buf_string(&type));
}

static void name_method(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                        struct sonde_stack_frame *ret_frame)
{
    const struct sn_memory_method *method =
        walked->code.method ? sn_type_system_method(frames->inspection->types, walked->code.method)
                            : NULL;
    if (!method) {
        frames->nameless++;
        *ret_frame = frame_of("[unknown code]", SONDE_FRAME_MANAGED, walked->address);
        return;
    }
    const char *arguments = strchr(method->signature, '(');
    frames->named++;
    sn_memory_frames_name(frames, method->type_name, method->name, method->module, ret_frame);
    if (method->arguments[0])
        ret_frame->name = name_with_arguments(frames, ret_frame->name, method->arguments);
    ret_frame->signature = keep(frames, arguments ? arguments : "");
    ret_frame->token = method->token;
    ret_frame->address = walked->address;
    if (method->is_stub) /* marshalling and the like: no code of the program */
        ret_frame->kind = SONDE_FRAME_RUNTIME;
    add_line(frames, walked, method, ret_frame);
}

/* --- native --- */

static void name_function(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                          struct sonde_stack_frame *ret_frame)
{
    struct sn_object_facts facts;
    struct sn_object_symbol symbol;
    struct sn_objects *objects = frames->inspection->objects;
    *ret_frame = frame_of("[unknown native code]", SONDE_FRAME_NATIVE, walked->address);
    if (!walked->object || !sn_objects_facts(objects, walked->object, &facts))
        return;
    const char *module = keep(frames, facts.name);
    ret_frame->module = module;
    sn_buf_clear(&frames->name);
    if (sn_objects_symbol(objects, walked->object, walked->vaddr, &symbol) && symbol.name[0])
        sn_buf_text(&frames->name, symbol.name);
    else
        sn_buf_format(&frames->name, "%s!0x%" PRIx64, module, walked->vaddr + walked->is_return);
    ret_frame->name = keep(frames, sn_buf_string(&frames->name));
}

static void name_one(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                     struct sonde_stack_frame *ret_frame)
{
    switch (walked->kind) {
    case SN_WALK_MANAGED: name_method(frames, walked, ret_frame); break;
    case SN_WALK_NATIVE: name_function(frames, walked, ret_frame); break;
    case SN_WALK_STUB:
        *ret_frame = frame_of("[stub of the runtime]", SONDE_FRAME_NATIVE, walked->address);
        break;
    default:
        *ret_frame = frame_of("[frames that could not be found]", SONDE_FRAME_NATIVE, 0);
        break;
    }
}

/* --- all --- */

static const struct sonde_stack_frame *find(struct sn_memory_frames *frames,
                                            const struct sn_walk_frame *walked)
{
    uint64_t key = walked->address << 3 | (uint64_t)walked->kind << 1 | walked->is_return;
    uint64_t *slot = sn_table_put(&frames->by_address, key);
    if (!slot)
        return NULL;
    if (*slot)
        return &frames->known[*slot - 1];
    struct sonde_stack_frame *known =
        sn_array_room(frames->known, frames->known_count, &frames->known_capacity, sizeof(*known));
    if (!known)
        return NULL;
    frames->known = known;
    *slot = ++frames->known_count;
    name_one(frames, walked, &known[frames->known_count - 1]);
    return &known[frames->known_count - 1];
}

bool sn_memory_frames_add(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (walked[i].is_unwound || (walked[i].kind != SN_WALK_MANAGED && !frames->with_native))
            continue;
        const struct sonde_stack_frame *frame = find(frames, &walked[i]);
        if (frame && frame->kind != SONDE_FRAME_MANAGED && !frames->with_native)
            continue;
        if (!sn_stacks_append(frames->stacks, frame))
            return false;
    }
    return true;
}

/* "[<0>] futex_wait_queue+0x63/0x90" */
void sn_memory_frames_add_kernel(struct sn_memory_frames *frames, uint32_t pid, uint32_t tid)
{
    char path[64];
    char text[4096];
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/stack", pid, tid);
    if (sn_file_peek_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
        return;
    char *line = text;
    for (unsigned i = 0; i < KERNEL_MAX; i++) {
        char *name = strstr(line, "] ");
        char *end = name ? strchr(name, '\n') : NULL;
        if (!end)
            return;
        *end = '\0';
        name += 2;
        name[strcspn(name, "+")] = '\0';
        struct sonde_stack_frame frame = frame_of(keep(frames, name), SONDE_FRAME_KERNEL, 0);
        frame.module = "kernel";
        if (!sn_stacks_append(frames->stacks, &frame))
            return;
        line = end + 1;
    }
}
