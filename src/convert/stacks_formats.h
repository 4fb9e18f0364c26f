/* The formats that stacks of one moment can be written in: one file each, one line in the table. */
#ifndef SN_STACKS_FORMATS_H
#define SN_STACKS_FORMATS_H

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

#endif
