/* Frames of a walk (source/memory/stack_walk.h) to those of sonde/stacks.h, each address named
 * once; and the kernel's frames of a thread. One thread. */
#ifndef SN_MEMORY_FRAMES_H
#define SN_MEMORY_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "sonde/stacks.h"

struct sn_inspection;
struct sn_memory_module;
struct sn_walk_frame;
struct sonde_stacks;

struct sn_memory_frames {
    struct sonde_stacks *stacks;      /* borrows: what frames are added to */
    struct sn_inspection *inspection; /* borrows */
    bool with_native;
    struct sonde_stack_frame *known; /* owns; one for each address */
    size_t known_count;
    size_t known_capacity;
    struct sn_table by_address; /* and whether it is one to return to -> index in `known` + 1 */
    struct sn_buf name;
    uint64_t named;    /* places in managed code, each counted once */
    uint64_t nameless; /* those without a name */
};

void sn_memory_frames_init(struct sn_memory_frames *frames, struct sonde_stacks *stacks,
                           struct sn_inspection *inspection, bool with_native);
void sn_memory_frames_done(struct sn_memory_frames *frames);

static inline void sn_memory_frames_done_auto(struct sn_memory_frames *frames)
{
    sn_memory_frames_done(frames);
}

/* Appends the frames of a thread to the stacks', those that are wanted. False: no room. */
bool sn_memory_frames_add(struct sn_memory_frames *frames, const struct sn_walk_frame *walked,
                          size_t count);

/* Appends what the kernel says of a thread that waits in it, the innermost first; nothing unless it
 * lets us see. */
void sn_memory_frames_add_kernel(struct sn_memory_frames *frames, uint32_t pid, uint32_t tid);

/* A frame of a method that is on no thread: names, module and, when `il_offset` is told (not
 * UINT32_MAX), the line. */
void sn_memory_frames_name(struct sn_memory_frames *frames, const char *type, const char *method,
                           const struct sn_memory_module *module,
                           struct sonde_stack_frame *ret_frame);

#endif
