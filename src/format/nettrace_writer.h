/* Writes events as a .nettrace stream, version 4 or 6, that TraceEvent reads as well.
 *
 * Schemas, threads, stacks and activities are declared when first used. Memory has a ceiling: what
 * is interned is forgotten at sequence points, which are written whenever it becomes too much. Time
 * stamps are nanoseconds. One thread. */
#ifndef SN_NETTRACE_WRITER_H
#define SN_NETTRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_event;
struct sn_nettrace_loss;
struct sn_nettrace_writer;
struct sn_trace_info;
struct sonde_error;

/* Takes the next bytes of the stream. Anything but SONDE_OK stops the writer for good. */
typedef int sn_nettrace_write_fn(void *user, const void *bytes, size_t size,
                                 struct sonde_error *err);

/* `version` is 4 or 6. Writes the head of the stream already. */
int sn_nettrace_writer_new(uint32_t version, const struct sn_trace_info *info,
                           sn_nettrace_write_fn *write, void *user,
                           struct sn_nettrace_writer **ret_writer, struct sonde_error *err);
void sn_nettrace_writer_free(struct sn_nettrace_writer *writer);

/* How a recorder's journal differs from a copy of a stream. */
struct sn_nettrace_writer_mode {
    bool is_ordered;       /* events of many sources, ordered by time: they are numbered anew, as if
                              one thread had captured all; what comes late gets the time before it */
    size_t stack_bytes;    /* stacks kept until a sequence point; 0: 8 MiB */
    uint32_t thread_count; /* threads likewise; 0: 65,536 */
};

/* Before the first event. */
void sn_nettrace_writer_set_mode(struct sn_nettrace_writer *writer,
                                 const struct sn_nettrace_writer_mode *mode);

/* Goes on with a version 6 stream that was cut behind a whole block at `offset`; its newest event
 * is of `latest_ns`. Begins with a sequence point that makes readers forget all that was declared.
 */
int sn_nettrace_writer_append(uint64_t offset, uint64_t latest_ns, sn_nettrace_write_fn *write,
                              void *user, struct sn_nettrace_writer **ret_writer,
                              struct sonde_error *err);

static inline void sn_nettrace_writer_free_auto(struct sn_nettrace_writer **slot)
{
    sn_nettrace_writer_free(*slot);
}

/* Adds an event. Its schema must live until the writer is freed; the rest is copied. The numbers
 * of a thread begin at 1 and keep the gaps they came with. SONDE_E_LIMIT: the event fits no block.
 */
int sn_nettrace_writer_event(struct sn_nettrace_writer *writer, const struct sn_event *event,
                             struct sonde_error *err);

/* An event that is left out on purpose: it leaves no gap, so that nobody takes it for lost. */
int sn_nettrace_writer_skip(struct sn_nettrace_writer *writer, const struct sn_event *event);

/* Notes losses, so that they show even when the thread sends nothing more. To be called where the
 * reader called it: before the event behind the gap. */
int sn_nettrace_writer_lost(struct sn_nettrace_writer *writer, const struct sn_nettrace_loss *loss,
                            struct sonde_error *err);

/* Writes what is pending: a reader of what is there gets every event so far. */
int sn_nettrace_writer_flush(struct sn_nettrace_writer *writer, struct sonde_error *err);

/* Writes what is pending, then a sequence point: no event before it is newer, none behind it older
 * than `time_ns`. */
int sn_nettrace_writer_sequence_point(struct sn_nettrace_writer *writer, uint64_t time_ns,
                                      struct sonde_error *err);

/* Writes what is pending and the end mark. */
int sn_nettrace_writer_finish(struct sn_nettrace_writer *writer, struct sonde_error *err);

/* The stream's length so far, what is pending included. */
uint64_t sn_nettrace_writer_bytes(const struct sn_nettrace_writer *writer);

#endif
