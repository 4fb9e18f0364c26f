/* One stack from registers and bytes: native frames by call frame information, managed frames by
 * their frame pointers and unwind data, and where native code hides the way, the explicit frames
 * that the runtime links for its own walks. One thread. */
#ifndef SN_STACK_WALK_H
#define SN_STACK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/memory/code_map.h"

struct sn_managed_thread;
struct sn_objects;
struct sn_runtime_memory;
struct sn_stack_walk;
struct sn_thread_state;
struct sonde_error;

enum sn_walk_kind {
    SN_WALK_MANAGED, /* in a method of the runtime's */
    SN_WALK_STUB,    /* the runtime's generated code */
    SN_WALK_NATIVE,
    SN_WALK_UNKNOWN, /* the way was lost here, and found again at the next frame */
};

struct sn_walk_frame {
    uint64_t address; /* instruction, or return address */
    uint64_t sp;      /* of the frame */
    uint8_t kind;     /* enum sn_walk_kind */
    bool is_return;   /* a return address: it belongs to the instruction before it */
    bool is_unwound;  /* an exception has passed it by, and a handler that stands above speaks for
                         its method: the runtime's own traces leave it out */
    struct sn_managed_code code; /* managed and stubs */
    uint64_t callee; /* managed, where it calls native code: MethodDesc of what it calls, as the
                        runtime noted it, unproved; or 0 */
    uint32_t object; /* native: of symbol/objects.h; 0: not in a file */
    uint64_t vaddr;  /* native: of the instruction, in that file */
};

#define SN_WALK_MAX 4096u /* frames of a thread */

int sn_stack_walk_new(struct sn_runtime_memory *runtime,
                      struct sn_code_map *code /* may be NULL: native only */,
                      struct sn_objects *objects, struct sn_stack_walk **ret_walk,
                      struct sonde_error *err);
void sn_stack_walk_free(struct sn_stack_walk *walk);

/* The frames of a thread, the innermost first, native ones with them; borrowed until the next call.
 * `thread` is the runtime's, or NULL. *ret_is_whole: the thread's first function was reached. */
size_t sn_stack_walk_take(struct sn_stack_walk *walk, const struct sn_thread_state *state,
                          const struct sn_managed_thread *thread,
                          const struct sn_walk_frame **ret_frames, bool *ret_is_whole);

#endif
