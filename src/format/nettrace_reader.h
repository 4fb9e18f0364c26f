/* Reads a .nettrace stream, version 4 (with the metadata tags of version 5) or 6, as it arrives.
 *
 * Bytes go in at any cut, events come out through callbacks; nothing is kept of an event once its
 * callback returned. Memory has a ceiling that does not depend on the stream's length (see
 * docs/formats/nettrace.md). Damaged input yields whatever is intact and says what was lost where.
 * One thread. */
#ifndef SN_NETTRACE_READER_H
#define SN_NETTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_arena;
struct sn_event;
struct sn_nettrace_reader;
struct sn_schema;
struct sn_trace_info;
struct sonde_error;

/* A part of the stream that could not be used. `text` is borrowed. */
struct sn_nettrace_damage {
    uint64_t offset;  /* where it begins in the stream */
    uint64_t bytes;   /* how many bytes were passed over; 0 when none were */
    const char *text; /* one line, lower case */
};

/* Events that a thread sent and the stream does not hold: gaps in its sequence numbers. */
struct sn_nettrace_loss {
    uint64_t capture_thread_id;
    uint64_t count;
    uint64_t time_ns; /* of the event or sequence point that showed it; 0: neither had a time */
    uint32_t pid;
    bool is_before_first; /* nothing of this thread came before; other readers do not count these in
                             version 4 */
};

/* Any member may be NULL. A callback that returns anything but SONDE_OK stops the reader: the
 * status is returned from feed or finish, then and ever after. */
struct sn_nettrace_ops {
    int (*trace)(void *user, const struct sn_trace_info *info); /* once, before everything else */
    int (*schema)(void *user,
                  struct sn_schema *schema); /* once each; lives as long as the reader */
    int (*event)(void *user, const struct sn_event *event);
    int (*lost)(void *user, const struct sn_nettrace_loss *loss);
    int (*sequence_point)(void *user, uint64_t time_ns);
    int (*damage)(void *user, const struct sn_nettrace_damage *damage);
};

/* Fills in name, fields and has_layout of a schema that the stream declared by provider, id and
 * version only. Memory comes from `arena` or is static. Returns false when it knows no such event.
 */
typedef bool sn_nettrace_layout_fn(void *user, struct sn_schema *schema, struct sn_arena *arena);

struct sn_nettrace_counters {
    uint64_t bytes;       /* fed */
    uint64_t events;      /* delivered, or counted when nobody wants them */
    uint64_t lost;        /* by sequence numbers */
    uint64_t undecodable; /* events whose metadata never came */
    uint64_t stackless;   /* events whose stack never came; delivered without */
    uint64_t damages;
};

/* `ops` is copied; `user` is handed to every callback. */
int sn_nettrace_reader_new(const struct sn_nettrace_ops *ops, void *user,
                           struct sn_nettrace_reader **ret_reader, struct sonde_error *err);
void sn_nettrace_reader_free(struct sn_nettrace_reader *reader);

static inline void sn_nettrace_reader_free_auto(struct sn_nettrace_reader **slot)
{
    sn_nettrace_reader_free(*slot);
}

/* Sets who is asked about events without name and fields. Before the first feed. */
void sn_nettrace_reader_set_layouts(struct sn_nettrace_reader *reader,
                                    sn_nettrace_layout_fn *layout, void *user);

/* Takes the next bytes, as many or few as there are; they are not needed once it returns.
 * SONDE_E_FORMAT and SONDE_E_UNSUPPORTED: this is no stream we read, known after its first bytes.
 */
int sn_nettrace_reader_feed(struct sn_nettrace_reader *reader, const void *bytes, size_t size,
                            struct sonde_error *err);

/* Says that no more will come; what an unfinished last block holds is delivered. SONDE_OK when the
 * stream had ended as it should, SONDE_E_TRUNCATED when it was cut. */
int sn_nettrace_reader_finish(struct sn_nettrace_reader *reader, struct sonde_error *err);

/* Whether the stream's own end was read; bytes behind it are ignored. */
bool sn_nettrace_reader_at_end(const struct sn_nettrace_reader *reader);

struct sn_nettrace_counters sn_nettrace_reader_counters(const struct sn_nettrace_reader *reader);

#endif
