/* A profile: where something (CPU time, bytes, exceptions, waits) went, by stack and thread.
 *
 * Strings, frames, nodes, threads and rows are arrays that refer to each other by index; a node's
 * parent always has a smaller index, so one pass backwards over the nodes adds up a tree. Node 0 is
 * the root and has no frame. A row is what one thread spent in one node itself. The timeline, where
 * there is one, says when. Everything is owned by the profile; one thread writes, then many read.
 */
#ifndef SN_PROFILE_H
#define SN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"

struct sonde_error;

#define SN_COLUMN_MAX 4u
#define SN_NO_INDEX   UINT32_MAX

enum sn_unit {
    SN_UNIT_COUNT,
    SN_UNIT_NS,
    SN_UNIT_BYTES,
};

/* One number of every row. */
struct sn_column {
    const char *name; /* static: "cpu", "wall", "wait", "samples", "bytes", "count", "time" */
    uint8_t unit;     /* enum sn_unit */
};

enum sn_frame_kind {
    SN_FRAME_MANAGED,
    SN_FRAME_NATIVE,  /* code that no name is known for, or native code */
    SN_FRAME_RUNTIME, /* a stand-in for work of the runtime itself: "[garbage collector]" */
    SN_FRAME_TYPE,    /* what was allocated or thrown: a leaf below the code that did it */
    SN_FRAME_KERNEL,
    SN_FRAME_PROCESS, /* a process: above the stacks of its threads, where there are many */
};

/* A method, in all its versions and tiers. Two frames are never the same in full_name, module,
 * kind, file and line. */
struct sn_frame {
    const char *name;       /* for people: "Shop.Orders.PlaceAsync" */
    const char *full_name;  /* as TraceEvent has it: "Shop.Orders+<PlaceAsync>d__3.MoveNext()" */
    const char *module;     /* "Shop" (no path, no .dll); "" when not known */
    const char *name_space; /* "Shop"; "" for none */
    const char *file;       /* source file, or NULL */
    uint32_t line;          /* 0: not known */
    uint8_t kind;           /* enum sn_frame_kind */
    bool is_async;          /* the body of an async method */
    bool is_framework;      /* System.*, Microsoft.*: not what the reader wrote */
    bool is_moving_data;    /* waits, or works in the kernel: reads, receives */
    bool is_stop;           /* the runtime's own place to stop a thread: its caller's time */
    bool is_waiting;        /* as a leaf it waits: Thread.Sleep, Monitor.Wait and the like */
};

/* What viewers are told of a frame, as bits: 1 framework, 2 async, 4 waiting. */
static inline uint32_t sn_frame_flags(const struct sn_frame *frame)
{
    return (frame->is_framework ? 1u : 0) | (frame->is_async ? 2u : 0) |
           (frame->is_waiting ? 4u : 0);
}

struct sn_node {
    uint32_t parent;
    uint32_t frame; /* SN_NO_INDEX for the root */
};

struct sn_profile_thread {
    uint64_t thread_id;
    uint32_t pid;
    const char *name; /* the kernel's, or "" */
    uint32_t frame;   /* where the profile has a threads_node: its own, shown below that */
    struct sn_buf runs;
    /* of the encoder: */
    uint64_t last_end_ns;
    uint64_t run_count;
};

struct sn_row {
    uint32_t thread;
    uint32_t node;
    uint64_t values[SN_COLUMN_MAX];
};

/* A thread stayed in a node from start to end; `values` as in a row. */
struct sn_run {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t node;
    uint64_t values[SN_COLUMN_MAX];
};

struct sn_profile {
    struct sn_column columns[SN_COLUMN_MAX];
    size_t column_count;
    struct sn_arena arena; /* names */
    struct sn_frame *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct sn_node *nodes;
    size_t node_count;
    size_t node_capacity;
    struct sn_profile_thread *threads;
    size_t thread_count;
    size_t thread_capacity;
    struct sn_row *rows;
    size_t row_count;
    size_t row_capacity;
    struct sn_table
        frame_index; /* hash of a frame -> index + 1, chained by probing, see profile.c */
    struct sn_table node_index;   /* parent << 32 | frame -> index */
    struct sn_table thread_index; /* pid << 32 ^ tid -> index + 1 */
    struct sn_table row_index;    /* thread << 32 | node -> index + 1 */
    bool has_timeline;
    uint64_t start_ns; /* of the trace, CLOCK_MONOTONIC */
    uint64_t end_ns;
    uint64_t start_utc_ns;  /* wall clock at start_ns */
    uint64_t dropped_count; /* additions that a ceiling or memory refused */
    uint32_t threads_node;  /* 0: none; else shown per thread, each has a frame between it and its
                             * children, which is in no node */
};

/* `columns` are copied. */
int sn_profile_new(const struct sn_column *columns, size_t count, struct sn_profile **ret_profile,
                   struct sonde_error *err);
void sn_profile_free(struct sn_profile *profile);

static inline void sn_profile_free_auto(struct sn_profile **slot)
{
    sn_profile_free(*slot);
}

/* All of these return SN_NO_INDEX over a ceiling or without memory, and count it. */
uint32_t sn_profile_frame(struct sn_profile *profile, const struct sn_frame *frame); /* copies */
uint32_t sn_profile_node(struct sn_profile *profile, uint32_t parent, uint32_t frame);
uint32_t sn_profile_thread(struct sn_profile *profile, uint32_t pid, uint64_t thread_id,
                           const char *name); /* a name replaces "" */

/* Adds to the row of that thread and node. SN_NO_INDEX for either is counted as dropped. */
void sn_profile_add(struct sn_profile *profile, uint32_t thread, uint32_t node,
                    const uint64_t values[SN_COLUMN_MAX]);

/* Appends to a thread's timeline; in order of time for each thread. */
void sn_profile_run(struct sn_profile *profile, uint32_t thread, const struct sn_run *run);

/* Walks a thread's timeline: `cursor` begins as zeroes. False at the end. */
struct sn_run_cursor {
    size_t at;
    uint64_t time_ns;
};
bool sn_profile_next_run(const struct sn_profile *profile, uint32_t thread,
                         struct sn_run_cursor *cursor, struct sn_run *ret_run);

/* The column of that name, or -1. */
int sn_profile_column(const struct sn_profile *profile, const char *name);

/* --- walking the tree: parents before children, in and out again; depth costs nothing --- */

struct sn_visitor {
    void (*enter)(void *user, uint32_t node);
    void (*leave)(void *user, uint32_t node);
};

/* Visits every node but the root. False without memory. */
bool sn_profile_walk(const struct sn_profile *profile, const struct sn_visitor *visitor,
                     void *user);

/* For each node whether one of its group stands above it: what is counted for both would count
 * twice. `group_of` says to which group a frame belongs; NULL: each to its own. A new array that
 * the caller frees, NULL without memory. */
bool *sn_profile_repeats(const struct sn_profile *profile, const uint32_t *group_of);

/* --- sums; each a new array that the caller frees, NULL without memory --- */

struct sn_frame_sum {
    uint64_t self;
    uint64_t total; /* with everything it called; recursion counts once */
};

/* One entry a frame. `thread` SN_NO_INDEX: all threads. */
struct sn_frame_sum *sn_profile_frame_sums(const struct sn_profile *profile, int column,
                                           uint32_t thread);

/* One entry a node: total of the node and all below it; `ret_self` (may be NULL) gets an array of
 * its own. */
uint64_t *sn_profile_node_totals(const struct sn_profile *profile, int column, uint32_t thread,
                                 uint64_t **ret_self);

/* Sum of a column over all rows, or those of one thread. */
uint64_t sn_profile_total(const struct sn_profile *profile, int column, uint32_t thread);

#endif
