/** @file
 * Profiles: where CPU time, wall time, allocations, exceptions or lock waits of a trace went.
 *
 * Which of its structs may grow is said in sonde/sonde.h. */
#ifndef SONDE_PROFILE_H
#define SONDE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** What a profile counts. */
enum sonde_view {
    SONDE_VIEW_CPU = 0,     /**< time on a CPU, by the kernel; needs the record beside the trace */
    SONDE_VIEW_WALL,        /**< time a thread was somewhere, running or not */
    SONDE_VIEW_WAIT,        /**< wall time less CPU time; needs the record */
    SONDE_VIEW_ALLOCATION,  /**< bytes allocated, estimated from the runtime's samples */
    SONDE_VIEW_EXCEPTION,   /**< exceptions thrown */
    SONDE_VIEW_CONTENTION,  /**< time spent waiting for locks */
    SONDE_VIEW_SAMPLES,     /**< samples of the runtime's sampler, running or not */
    SONDE_VIEW_THREAD_TIME, /**< wall time as dotnet-trace shows it, below frames for threads */
    SONDE_VIEW_COUNT        /**< how many there are */
};

/** Name of a view ("cpu"), or NULL when there is no such view. */
const char *sonde_view_name(int view);

/** The view of that name, or -1. */
int sonde_view_find(const char *name);

/** How to read a profile. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_profile_options {
    size_t size;            /**< sizeof(struct sonde_profile_options) */
    int view;               /**< enum sonde_view */
    bool with_lines;        /**< look up source lines in portable PDBs where they are at hand */
    const char *cpu_record; /**< the CPU record; NULL: the trace's name with ".cpu" */
    bool with_events;       /**< SONDE_VIEW_THREAD_TIME: events of EventSources count as samples */
    const char *process;    /**< of a recording: a pid or a pattern of names; NULL: all, and the
                               busiest .NET process for what is about one */
    const char *names;      /**< a second trace of the same process whose method names are read
                               first: of one that still runs and has no rundown yet; NULL: none,
                               and one that is not there is none */
    uint64_t from_ns;       /**< only what happens from then on, since the beginning of the trace */
    uint64_t to_ns;         /**< and before then, likewise; 0: to the end */
};

/** What kind of thing a frame stands for. */
enum sonde_frame_kind {
    SONDE_FRAME_MANAGED = 0, /**< a method of .NET */
    SONDE_FRAME_NATIVE,      /**< a function of a native library */
    SONDE_FRAME_RUNTIME,     /**< a stand-in for the runtime's own work: "[garbage collector]" */
    SONDE_FRAME_TYPE,        /**< what was allocated or thrown */
    SONDE_FRAME_KERNEL,      /**< a function of the kernel */
    SONDE_FRAME_PROCESS      /**< a process, above the stacks of its threads */
};

/** One method with its sums. Borrowed from the profile. */
struct sonde_frame {
    const char *name;       /**< readable: "Shop.Orders.PlaceAsync" */
    const char *full_name;  /**< as the runtime has it, with arguments */
    const char *module;     /**< "" when not known */
    const char *name_space; /**< "" for none */
    const char *file;       /**< source file, or NULL */
    uint32_t line;          /**< 0: not known */
    int kind;               /**< enum sonde_frame_kind */
    uint64_t self;          /**< spent in it, in the view's unit */
    uint64_t total;         /**< with everything it called; recursion counts once */
};

/** One place in the call tree. Node 0 is the root; a parent comes before its children. */
struct sonde_node {
    uint32_t parent; /**< index of the caller; of the root itself for the root */
    uint32_t frame;  /**< index of its frame; UINT32_MAX for the root */
    uint64_t self;   /**< spent here, in the view's unit */
    uint64_t total;  /**< with everything below */
};

/** One thread with its sum. */
struct sonde_profile_thread {
    uint64_t thread_id; /**< as the target counts it */
    const char *name;   /**< "" when not known */
    uint64_t total;     /**< in the view's unit */
};

/** A profile; opaque. For one thread at a time. */
struct sonde_profile;

/** Reads a trace and builds its profile. The caller frees it.
 *
 * SONDE_E_NOT_FOUND: the trace has no events of that view, or no CPU record; the text says which. A
 * cut or damaged trace gives what is in it, see sonde_profile_is_partial. */
int sonde_profile_read(const char *path, const struct sonde_profile_options *options,
                       struct sonde_profile **ret_profile, struct sonde_error *err);

/** Frees a profile; NULL is fine. */
void sonde_profile_free(struct sonde_profile *profile);

/** Whether the trace was cut or damaged: what is in it is all there, but not all of it is in it. */
bool sonde_profile_is_partial(const struct sonde_profile *profile);

/** Events, of any kind, that the runtime had no room for. */
uint64_t sonde_profile_lost_count(const struct sonde_profile *profile);

/** Additions that a ceiling of the library refused: what a trace of ordinary size never reaches. */
uint64_t sonde_profile_dropped_count(const struct sonde_profile *profile);

/** The unit of its numbers: "nanoseconds", "bytes" or "count". */
const char *sonde_profile_unit(const struct sonde_profile *profile);

/** Sum over everything. */
uint64_t sonde_profile_total(const struct sonde_profile *profile);

/** Time from the first to the last event of the trace, or of the part of it that was read. */
uint64_t sonde_profile_duration_ns(const struct sonde_profile *profile);

/** How many frames there are. */
size_t sonde_profile_frame_count(const struct sonde_profile *profile);

/** Frame `index`; false when there is none. */
bool sonde_profile_frame(const struct sonde_profile *profile, size_t index,
                         struct sonde_frame *ret_frame);

/** What is to be known of a frame beside its name; any of them together. */
enum sonde_frame_flag {
    SONDE_FRAME_FRAMEWORK = 1, /**< of .NET itself, not what its reader wrote */
    SONDE_FRAME_ASYNC = 2,     /**< the body of an async method */
    SONDE_FRAME_WAITING = 4    /**< as the last frame of a stack it waits: Thread.Sleep and such */
};

/** Flags of frame `index`, enum sonde_frame_flag; 0 when there is none. */
uint32_t sonde_profile_frame_flags(const struct sonde_profile *profile, size_t index);

/** How many nodes the call tree has, the root included. */
size_t sonde_profile_node_count(const struct sonde_profile *profile);

/** Node `index`; false when there is none. */
bool sonde_profile_node(const struct sonde_profile *profile, size_t index,
                        struct sonde_node *ret_node);

/** How many threads there are. */
size_t sonde_profile_thread_count(const struct sonde_profile *profile);

/** Thread `index`; false when there is none. */
bool sonde_profile_thread(const struct sonde_profile *profile, size_t index,
                          struct sonde_profile_thread *ret_thread);

/** Takes all of `bytes`: SONDE_OK, or a status that ends the writing. */
typedef int sonde_write_fn(void *user, const void *bytes, size_t size);

/** A format that profiles can be written in. */
struct sonde_format {
    const char *name;      /**< "speedscope" */
    const char *extension; /**< of its files, without the first dot: "speedscope.json" */
    const char *summary;   /**< one line */
};

/** The formats there are; *ret_count of them. */
const struct sonde_format *sonde_formats(size_t *ret_count);

/** How to write a profile. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_write_options {
    size_t size;        /**< sizeof(struct sonde_write_options) */
    const char *title;  /**< shown by viewers; NULL: the trace's name */
    bool full_names;    /**< TraceEvent's names instead of readable ones */
    bool merge_threads; /**< one tree for all threads */
};

/** Writes a profile in one of sonde_formats. `options` may be NULL. */
int sonde_profile_write(const struct sonde_profile *profile, const char *format,
                        const struct sonde_write_options *options, sonde_write_fn *write,
                        void *user, struct sonde_error *err);

/* --- comparing two --- */

/** One method in both profiles: everything of that name and module, whatever the compiler numbered.
 * Numbers are in the view's unit per second of trace time, so that traces of different length
 * compare. Borrowed from the comparison. */
struct sonde_change {
    const char *name;    /**< readable, as in sonde_frame */
    const char *module;  /**< "" when not known */
    double self_before;  /**< spent in it, in the first */
    double self_after;   /**< in the second */
    double total_before; /**< with everything it called, in the first */
    double total_after;  /**< in the second */
};

/** Two profiles side by side; opaque. For one thread at a time, together with its profiles. */
struct sonde_comparison;

/** Compares two profiles of the same view. Both must outlive the comparison, which the caller
 * frees. One of them may be NULL: a trace that has nothing for the view. SONDE_E_ARGUMENT: the
 * views differ, or a trace has no length. */
int sonde_compare(const struct sonde_profile *before, const struct sonde_profile *after,
                  struct sonde_comparison **ret_comparison, struct sonde_error *err);

/** Frees a comparison; NULL is fine. */
void sonde_comparison_free(struct sonde_comparison *comparison);

/** Everything together, with the name "": per second, as the changes. */
void sonde_comparison_all(const struct sonde_comparison *comparison,
                          struct sonde_change *ret_change);

/** How many methods there are in either, the largest change of self time first. */
size_t sonde_comparison_count(const struct sonde_comparison *comparison);

/** Change `index`; false when there is none. */
bool sonde_comparison_get(const struct sonde_comparison *comparison, size_t index,
                          struct sonde_change *ret_change);

/** How a condition came out, for a page. */
struct sonde_outcome {
    const char *condition; /**< as it was given */
    const char *text;      /**< of sonde_comparison_test */
    bool holds;            /**< it is shown as failed */
};

/** What a page says beside its graph. Set `size` to sizeof, zero the rest for the defaults. */
struct sonde_page_options {
    size_t size;                          /**< sizeof(struct sonde_page_options) */
    const char *title;                    /**< NULL: the names of both traces */
    const char *summary;                  /**< the answer in a sentence; NULL: none */
    const struct sonde_outcome *outcomes; /**< of conditions that were tested */
    size_t outcome_count;                 /**< how many */
};

/** A differential flame graph, one HTML page. `options` may be NULL. */
int sonde_comparison_write_html(const struct sonde_comparison *comparison,
                                const struct sonde_page_options *options, sonde_write_fn *write,
                                void *user, struct sonde_error *err);

/** Whether a condition holds: "cpu(Shop.*) > +10%", "self(Shop.Tax) > +5ms/s". *ret_text says with
 * numbers how it came out, borrowed until the next call. SONDE_END: no method of either trace is
 * called so, and it does not hold. SONDE_E_ARGUMENT: it cannot be read (`offset` of the error says
 * where), or is about another view or unit. Grammar: sonde-diff(1). */
int sonde_comparison_test(struct sonde_comparison *comparison, const char *condition,
                          bool *ret_holds, const char **ret_text, struct sonde_error *err);

/** Which view a condition is about; -1 for whichever is compared. SONDE_E_ARGUMENT as above. */
int sonde_condition_view(const char *condition, int *ret_view, struct sonde_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
