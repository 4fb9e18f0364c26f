/* How a walk keeps what it knows, for its parts. */
#ifndef SN_STACK_WALK_INTERNAL_H
#define SN_STACK_WALK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/eh_frame.h"
#include "source/memory/memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"

#define SN_WALK_RULES      4096u /* call frame rules that are kept; a power of two */
#define SN_WALK_MODULES    1024u /* mappings whose file is known; a power of two */
#define SN_WALK_EXPLICIT   512u  /* explicit frames that are followed */
#define SN_WALK_CALL_BYTES 8u    /* before a return address, enough for any call */

/* The registers of one frame after the other. */
struct sn_walk_cursor {
    uint64_t ip;
    uint64_t sp;
    uint64_t bp;
    bool has_bp;
    bool is_return; /* ip is where a call returns to */
};

/* Of an explicit frame: where its managed caller stands. */
struct sn_walk_anchor {
    struct sn_walk_cursor at;
    uint64_t callee;  /* MethodDesc of what it calls, or 0 */
    bool is_only_way; /* nothing on the stack leads there: it returned into the runtime */
};

/* A catch or finally that runs: it has the frame of its method, which lies further up. */
struct sn_walk_handler {
    bool is_open; /* its method has not been come to */
    bool has_bp;
    uint64_t bp;    /* the method's */
    uint64_t start; /* of the method's code */
    size_t index;   /* of the handler's frame */
};

struct sn_walk_rule {
    uint64_t vaddr;
    uint32_t object; /* 0: free */
    bool is_known;
    struct sn_cfi_row row;
};

struct sn_walk_module {
    uint64_t start;
    uint64_t end;
    uint64_t inode;
    uint32_t object;
    bool is_used;
};

/* How an explicit frame tells of the managed code that it stands for. */
enum sn_frame_way {
    SN_FRAME_NONE,
    SN_FRAME_CALL,     /* managed code called native code, and left itself a note */
    SN_FRAME_BLOCK,    /* it called a stub, which saved its registers */
    SN_FRAME_RESUMED,  /* it was interrupted: all registers, behind a pointer */
    SN_FRAME_FAULT,    /* all registers, in the frame */
    SN_FRAME_SOFTWARE, /* likewise: it throws */
    SN_FRAME_HIJACK,   /* it returned into the runtime, which waits */
};
#define SN_FRAME_KINDS 16u

struct sn_frame_kind {
    uint64_t identifier; /* first word of the frame */
    uint8_t way;         /* enum sn_frame_way */
};

struct sn_frame_layout {
    uint32_t next;
    uint32_t call_sp, call_return, call_fp;
    uint32_t block, block_size, block_return, block_saved;
    uint32_t resumed_context, fault_context, software_context;
    uint32_t hijack_return, hijack_args, hijack_saved, hijack_size;
    uint32_t saved_rbp;
    uint32_t thread_frame;
    struct sn_frame_kind kinds[SN_FRAME_KINDS];
    size_t kind_count;
};

struct sn_stack_walk {
    struct sn_runtime_memory *runtime; /* borrows, as all of these */
    struct sn_memory *memory;
    struct sn_code_map *code; /* or NULL */
    struct sn_objects *objects;
    struct sn_walk_frame *frames; /* owns */
    size_t count;
    struct sn_walk_rule *rules;     /* owns */
    struct sn_walk_module *modules; /* owns */
    struct sn_frame_layout layout;
    bool has_explicit; /* the runtime tells of its explicit frames */
    /* of the thread that is walked */
    const uint8_t *stack;
    uint64_t stack_start;
    uint64_t stack_end;
    const uint8_t *note; /* the runtime's Thread at that moment */
    size_t note_size;
    uint8_t note_now[SN_THREAD_NOTE]; /* or a little later */
    struct sn_walk_cursor lost;       /* where the last step would have led */
    bool has_lost;
    bool is_elsewhere;  /* a signal was handled on another stack: more than the copy is read */
    bool is_doubtful;   /* not all registers were known: explicit frames know better */
    bool has_refreshed; /* mappings were looked at again */
    struct sn_walk_handler handler;
    struct sn_walk_anchor anchors[SN_WALK_EXPLICIT];
    size_t anchor_count;
};

enum sn_walk_step {
    SN_STEP_CALLER, /* the cursor is the caller's */
    SN_STEP_END,    /* nobody called this */
    SN_STEP_LOST,
};

/* A word of the stack of that moment. */
bool sn_walk_word(struct sn_stack_walk *walk, uint64_t address, uint64_t *ret_word);

/* The number of the file behind a mapping, for symbol/objects.h; 0: none, or of a dead process,
 * none that is known to be the one that was mapped. */
uint32_t sn_walk_object(struct sn_stack_walk *walk, const struct sn_memory_map *map);

/* The file at an address, and the address in it; false: none. */
bool sn_walk_locate(struct sn_stack_walk *walk, uint64_t address, uint32_t *ret_object,
                    uint64_t *ret_vaddr);

/* It lies in memory that can be run. */
bool sn_walk_is_code(struct sn_stack_walk *walk, uint64_t address);

/* A call ends right before it, in memory that can be run. */
bool sn_walk_is_return(struct sn_stack_walk *walk, uint64_t address);

/* A frame pointer's place: the caller's above it, then a return address. */
bool sn_walk_is_record(struct sn_stack_walk *walk, uint64_t address);

/* The caller by the frame pointer. */
enum sn_walk_step sn_walk_by_record(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor);

/* Takes `cursor` on to where `ip` was read from the stack, if that can be. */
enum sn_walk_step sn_walk_arrive(struct sn_stack_walk *walk, const struct sn_walk_cursor *next,
                                 struct sn_walk_cursor *cursor);

/* A signal handler returns there. */
bool sn_native_walk_is_restorer(struct sn_stack_walk *walk, uint64_t ip);
enum sn_walk_step sn_native_walk_step(struct sn_stack_walk *walk, struct sn_walk_cursor *cursor);
enum sn_walk_step sn_managed_walk_step(struct sn_stack_walk *walk,
                                       const struct sn_managed_code *code,
                                       struct sn_walk_cursor *cursor);

/* Marks what lies between a handler and its method. `frame` is the last one; `caller` where it
 * returns to. */
void sn_managed_walk_mark(struct sn_stack_walk *walk, const struct sn_walk_cursor *cursor,
                          const struct sn_walk_cursor *caller);

/* Where the explicit frames of the thread lead, by rising address. */
void sn_explicit_frames_bind(struct sn_stack_walk *walk);
void sn_explicit_frames_read(struct sn_stack_walk *walk, uint64_t first);

/* What the runtime put in place of a return address while it suspends: the one that was there. */
bool sn_explicit_frames_hijacked(struct sn_stack_walk *walk, uint64_t slot, uint64_t *ret_address);

#endif
