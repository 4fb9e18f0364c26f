/** @file
 * What every thread of a process is doing: the managed stacks of all of them, with names.
 *
 * The runtime stops its threads for a moment and tells where each is: all stacks are of the same
 * moment. Only managed frames are told. Threads that have none, because they run native code that
 * no managed code called, are absent; so are those of the runtime itself. */
#ifndef SONDE_STACKS_H
#define SONDE_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/profile.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** How to ask. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_stacks_options {
    size_t size;         /**< sizeof(struct sonde_stacks_options) */
    uint64_t timeout_ns; /**< for all of it; 0: ten seconds */
    bool with_lines;     /**< source lines from portable PDBs, where they are at hand */
    /** Asked while it takes long; true gives it up (NULL: never). */
    bool (*is_cancelled)(void *user);
    void *cancel_user; /**< what that gets */
};

/** One frame. Texts are UTF-8, never NULL, come from the process: escape them for wherever they go.
 * Borrowed from the stacks. */
struct sonde_stack_frame {
    const char *name;              /**< readable: "Shop.Orders.PlaceAsync"; "[unknown code]" */
    const char *type_name;         /**< as the runtime has it: "Shop.Orders+<PlaceAsync>d__3"; "" */
    const char *method_name;       /**< as the runtime has it: "MoveNext"; "" */
    const char *signature;         /**< of its arguments: "(int32,class System.String)", or "" */
    const char *module;            /**< "shop.dll", or "" */
    uint8_t module_version_id[16]; /**< of that module; zeros when not known */
    uint32_t token;                /**< of the method in its module; 0: not known */
    uint64_t address;              /**< where in the code */
    const char *file;              /**< source file, or "" */
    uint32_t line;                 /**< 0: not known */
    int kind;                      /**< enum sonde_frame_kind: SONDE_FRAME_NATIVE without a name */
};

/** One thread. Borrowed from the stacks. */
struct sonde_stack_thread {
    uint64_t thread_id; /**< as the target counts it */
    const char *name;   /**< as the kernel has it, 15 bytes of it; "" when that is the process's */
    bool is_managed;    /**< it was in managed code when it was looked at; otherwise in native code
                           called from there; .NET 9 says so of every thread */
    const struct sonde_stack_frame *frames; /**< the innermost first */
    size_t frame_count;                     /**< how many */
};

/** Threads with the same frames. */
struct sonde_stack_group {
    const uint32_t *threads; /**< indexes of them */
    size_t thread_count;     /**< how many */
};

/** The stacks of one moment; opaque. */
struct sonde_stacks;

/** Looks at every managed thread once, by a short session of the runtime's sampler, which is gone
 * when this returns; takes some tenths of a second, most of it for names. Waits, half a second
 * longer than `timeout_ns` at most; the caller frees what comes. `options` may be NULL. Any thread.
 *
 * SONDE_E_NOT_FOUND, SONDE_E_DENIED, SONDE_E_GONE; SONDE_E_TIMEOUT: the runtime does not answer, as
 * one does whose process is stopped; SONDE_END: it was cancelled, and nothing comes. */
int sonde_stacks_take(uint32_t pid, const struct sonde_stacks_options *options,
                      struct sonde_stacks **ret_stacks, struct sonde_error *err);

/** Frees them; NULL is fine. */
void sonde_stacks_free(struct sonde_stacks *stacks);

/** How many threads there are. */
size_t sonde_stacks_thread_count(const struct sonde_stacks *stacks);

/** How many more were seen than found room: of ordinary processes none. */
size_t sonde_stacks_lost_count(const struct sonde_stacks *stacks);

/** When it was, in nanoseconds since 1970. */
uint64_t sonde_stacks_utc_ns(const struct sonde_stacks *stacks);

/** Thread `index`, by rising id; NULL when there is none. */
const struct sonde_stack_thread *sonde_stacks_thread(const struct sonde_stacks *stacks,
                                                     size_t index);

/** How many groups of threads in the same place there are, the largest first. */
size_t sonde_stacks_group_count(const struct sonde_stacks *stacks);

/** Group `index`; NULL when there is none. */
const struct sonde_stack_group *sonde_stacks_group(const struct sonde_stacks *stacks, size_t index);

/** Writes them: "text" for people (threads in the same place together), "json", "speedscope",
 * "collapsed"; and as dotnet-monitor does, "dotnet-monitor-json", "dotnet-monitor-text",
 * "dotnet-monitor-speedscope". SONDE_E_ARGUMENT: there is no such format; SONDE_E_NOMEM. */
int sonde_stacks_write(const struct sonde_stacks *stacks, const char *format, sonde_write_fn *write,
                       void *user, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
