/* The formats that stacks of one moment can be written in: one file each, one line in the table. */
#ifndef SN_STACKS_FORMATS_H
#define SN_STACKS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/stacks.h"

struct sn_buf;
struct sn_stream;

/* What there is to write. Everything is borrowed. */
struct sn_stacks_view {
    const struct sonde_stack_thread *threads;
    size_t thread_count;
    const struct sonde_stack_group *groups;
    size_t group_count;
    size_t lost_count;
    uint32_t pid;     /* as we see it */
    uint64_t main_id; /* of its first thread, as it counts itself */
    const char *name; /* of the process */
    uint64_t utc_ns;
    const struct sonde_stack_lock *locks;
    size_t lock_count;
    bool has_locks; /* they were looked for */
    const struct sonde_stack_task *tasks;
    size_t task_count;
    bool has_tasks; /* they were looked for */
    struct sonde_stack_pool pool;
    const char *source; /* "the memory of .NET 10.0.12", "", or NULL */
    const char *const *remarks;
    size_t remark_count;
    bool is_compared; /* with what was before: `still_ns` of threads is told */
};

struct sn_stacks_format {
    const char *name; /* "text" */
    /* Appends everything; failures stay in the stream. */
    void (*write)(struct sn_stream *stream, const struct sn_stacks_view *view);
};

/* Ended by one without a name. */
extern const struct sn_stacks_format sn_stacks_formats[];

const struct sn_stacks_format *sn_stacks_format_find(const char *name); /* NULL: there is none */

void sn_stacks_text_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_threads_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_tree_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_dotnet_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_json_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_collapsed_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_speedscope_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_monitor_json_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_monitor_text_write(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_monitor_speedscope_write(struct sn_stream *stream,
                                        const struct sn_stacks_view *view);

/* "main (4711)", ".NET TP Worker (4720)", "thread 4731": what a thread is called among people. */
void sn_stacks_thread_label(struct sn_buf *to, const struct sn_stacks_view *view,
                            const struct sonde_stack_thread *thread);

/* "waiting", "running", "stopped"; "" when it is not known. */
const char *sn_stacks_doing(const struct sonde_stack_thread *thread);

/* The message of a thread's exception without what looks like a secret: stacks go to people who may
 * not know those. */
void sn_stacks_message(struct sn_buf *to, const struct sonde_stack_thread *thread);

/* The threads of circle `number`, each of which waits for a lock that the next one holds, and the
 * last for one of the first: indexes, `most` of them at most. 0: it cannot be followed. */
size_t sn_stacks_deadlock(const struct sn_stacks_view *view, uint32_t number, uint32_t *to,
                          size_t most);

/* How many circles there are. */
uint32_t sn_stacks_deadlock_count(const struct sn_stacks_view *view);

/* Parts of texts for people. Everything from the process as a terminal may show it. */
void sn_stacks_put(struct sn_stream *stream, const char *text);
void sn_stacks_put_label(struct sn_stream *stream, const struct sn_stacks_view *view,
                         uint32_t thread);

/* "waits for the monitor of X at 0x1, held by B"; of one that waits. */
void sn_stacks_put_wait(struct sn_stream *stream, const struct sn_stacks_view *view,
                        const struct sonde_stack_thread *thread);
void sn_stacks_put_frame(struct sn_stream *stream, const struct sonde_stack_frame *frame);

/* What threads do, before and after all stacks: head line, deadlocks; locks, tasks, the pool,
 * remarks. */
void sn_stacks_write_head(struct sn_stream *stream, const struct sn_stacks_view *view);
void sn_stacks_write_tail(struct sn_stream *stream, const struct sn_stacks_view *view);

#endif
