/** @file
 * What every thread of a process is doing: the stacks of all of them, with names.
 *
 * Two ways. *Memory*: the runtime's own structures are read from outside; nothing in the process
 * runs, waits or has to answer, so it works for one that is stopped, deadlocked or dead (a core
 * file). Each stack is of one moment, all together are of a few milliseconds. *Port*: the runtime
 * is asked; it stops its threads and tells where each is: managed frames only, all of the same
 * moment. Threads without managed frames are absent unless native frames are asked for.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
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

/** How stacks are come by. */
enum sonde_stacks_way {
    SONDE_STACKS_BEST,   /**< memory where it can be read, else the port */
    SONDE_STACKS_MEMORY, /**< memory or nothing */
    SONDE_STACKS_PORT,   /**< the runtime's port or nothing */
};

/** How to ask. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_stacks_options {
    size_t size;         /**< sizeof(struct sonde_stacks_options) */
    uint64_t timeout_ns; /**< for all of it; 0: ten seconds */
    bool with_lines;     /**< source lines from portable PDBs, where they are at hand */
    /** Asked while it takes long; true gives it up (NULL: never). */
    bool (*is_cancelled)(void *user);
    void *cancel_user; /**< what that gets */
    int way;           /**< enum sonde_stacks_way */
    bool with_native;  /**< native frames too, and threads that have no others; memory only */
    bool with_tasks;   /**< async methods that wait, on no thread: sonde_stacks_task; memory only */
    bool with_locks;   /**< who owns and who waits: sonde_stacks_lock; memory only */
    bool no_stop; /**< do not hold a running thread for its registers: it is shown without frames */
    const char *core; /**< a core file instead of a process (`pid` 0), or NULL */
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
    int kind;                      /**< enum sonde_frame_kind */
};

/** What a thread was doing when it was looked at. */
enum sonde_thread_doing {
    SONDE_THREAD_UNKNOWN, /**< the port does not tell */
    SONDE_THREAD_WAITING, /**< in a system call */
    SONDE_THREAD_RUNNING, /**< on a CPU, or ready for one */
    SONDE_THREAD_STOPPED, /**< by a signal, by a debugger, or dead (core file) */
};

/** One thread. Borrowed from the stacks. */
struct sonde_stack_thread {
    uint64_t thread_id; /**< as the target counts it */
    const char *name;   /**< as the program named it, else as the kernel has it (15 bytes); "" when
                           that is the process's */
    bool is_managed;    /**< it was in managed code when it was looked at; otherwise in native code
                           called from there; .NET 9 says so of every thread */
    const struct sonde_stack_frame *frames; /**< the innermost first */
    size_t frame_count;                     /**< how many */
    uint32_t
        managed_id; /**< Thread.ManagedThreadId; 0: not known, or the runtime does not know it */
    int doing;      /**< enum sonde_thread_doing */
    const char *syscall;   /**< "futex": what it waits in, or "" */
    const char *exception; /**< type of the exception in flight, or "" */
    const char *message;   /**< of that exception, or "" */
    uint32_t waits_for;    /**< index of the lock that it waits for, plus one; 0: none is known */
    uint64_t moves; /**< times the kernel has switched it: the same number at two looks, it has not
                       run between them; 0: not known */
    bool is_pool;   /**< a worker of the thread pool */
    bool is_background; /**< does not keep the process alive */
    uint64_t still_ns;  /**< how long it has been seen not to run; 0: it ran, or was not compared */
};

/** A lock that somebody holds or waits for. Borrowed from the stacks. */
struct sonde_stack_lock {
    uint64_t object;         /**< address of the object */
    const char *type_name;   /**< its type: "System.Object" */
    const char *kind;        /**< "monitor", "Lock", "static constructor" */
    uint32_t owner;          /**< index of the thread that holds it, plus one; 0: not known */
    uint64_t owner_id;       /**< its id as the target counts it; 0: nobody */
    uint32_t depth;          /**< how often its owner has taken it */
    uint32_t waiter_count;   /**< threads that wait, as far as they are known */
    const uint32_t *waiters; /**< indexes of them */
    uint32_t deadlock;       /**< number of the circle that it is part of, from 1; 0: none */
};

/** Async methods that wait for each other, on no thread; the same chains counted. Borrowed. */
struct sonde_stack_task {
    const struct sonde_stack_frame *frames; /**< the innermost first: which await it stands at */
    size_t frame_count;                     /**< how many */
    uint64_t count;                         /**< chains that look like this */
    uint64_t object;                        /**< address of one of them: its innermost box */
    const char *waits_on;                   /**< what the innermost waits for: a type, or "" */
    int64_t state;   /**< of that one's state machine: the number of the await */
    uint32_t blocks; /**< index of a thread that does nothing but wait for one of them (sync over
                        async), plus one; 0: none is known */
    bool is_circle;  /**< they wait for each other: none will ever go on */
    bool is_ready;   /**< what the innermost waited for has completed: it waits for a thread */
};

/** The thread pool. */
struct sonde_stack_pool {
    bool is_known;         /**< it could be read */
    uint64_t queued;       /**< items in the global queues */
    uint64_t queued_local; /**< items in the queues of workers */
    uint32_t workers;      /**< worker threads seen */
    bool has_limits;       /**< what follows is known */
    uint32_t working;      /**< workers that are not idle */
    uint32_t goal;         /**< how many may work at a time, as the pool has it now */
    uint32_t least;        /**< workers that it makes without waiting */
    uint32_t most;         /**< workers that it may have */
};

/** Threads with the same frames. */
struct sonde_stack_group {
    const uint32_t *threads; /**< indexes of them */
    size_t thread_count;     /**< how many */
};

/** The stacks of one moment; opaque. */
struct sonde_stacks;

/** Looks at every thread once. From memory: milliseconds. By the port: a short session of the
 * runtime's sampler, which is gone when this returns; some tenths of a second, most of it for
 * names. Waits, half a second longer than `timeout_ns` at most; the caller frees what comes.
 * `options` may be NULL. Any thread. While a running thread is held the caller's process traces it:
 * it gets a SIGCHLD, and a wait() for any child in another of its threads may see the stop.
 *
 * SONDE_E_NOT_FOUND, SONDE_E_DENIED, SONDE_E_GONE; SONDE_E_TIMEOUT: the runtime was asked and does
 * not answer, as one does whose process is stopped; SONDE_E_UNSUPPORTED: it cannot be read and was
 * not to be asked; SONDE_END: it was cancelled, and nothing comes. */
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

/** Tells of every thread of `stacks` how long it has not run (`still_ns`), by stacks of the same
 * process that were taken `before` them and may have been compared themselves. */
void sonde_stacks_compare(struct sonde_stacks *stacks, const struct sonde_stacks *before);

/** How they were come by, for people: "the memory of .NET 10.0.12", "the port of .NET 8.0.31". */
const char *sonde_stacks_source(const struct sonde_stacks *stacks);

/** Remark `index` for people: what was left out and why, what was tried before; NULL past the last.
 */
const char *sonde_stacks_remark(const struct sonde_stacks *stacks, size_t index);

/** Locks, those of deadlocks first. */
size_t sonde_stacks_lock_count(const struct sonde_stacks *stacks);
/** Lock `index`; NULL when there is none. */
const struct sonde_stack_lock *sonde_stacks_lock(const struct sonde_stacks *stacks, size_t index);

/** Chains of async methods that wait, the most frequent first. */
size_t sonde_stacks_task_count(const struct sonde_stacks *stacks);
/** Chain `index`; NULL when there is none. */
const struct sonde_stack_task *sonde_stacks_task(const struct sonde_stacks *stacks, size_t index);

/** The thread pool; `is_known` false when it was not asked for or cannot be read. */
const struct sonde_stack_pool *sonde_stacks_pool(const struct sonde_stacks *stacks);

/** Writes them: "text" for people (threads in the same place together), "threads" (one by one),
 * "tree" (merged from the outermost frame on), "json", "speedscope", "collapsed", "dotnet-stack"
 * (as that tool prints them); and as dotnet-monitor does, "dotnet-monitor-json",
 * "dotnet-monitor-text", "dotnet-monitor-speedscope". SONDE_E_ARGUMENT: there is no such format;
 * SONDE_E_NOMEM. */
int sonde_stacks_write(const struct sonde_stacks *stacks, const char *format, sonde_write_fn *write,
                       void *user, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
