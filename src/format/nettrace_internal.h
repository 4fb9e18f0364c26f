/* What the files of the NetTrace reader share; nobody else includes it. Layouts:
 * docs/formats/nettrace.md. */
#ifndef SN_NETTRACE_INTERNAL_H
#define SN_NETTRACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"
#include "format/nettrace_reader.h"
#include "model/schema.h"
#include "model/trace_info.h"

/* Ceilings. Runtimes write blocks of about 100 KB, some hundred schemas, stacks of 100 frames. */
#define SN_NETTRACE_BLOCK_MAX   (16u << 20)
#define SN_NETTRACE_SCHEMA_MAX  65536u
#define SN_NETTRACE_SCHEMA_MEM  (64u << 20)
#define SN_NETTRACE_FIELDS_MAX  4096u /* of one schema, nested ones included */
#define SN_NETTRACE_STRING_MAX  65536u
#define SN_NETTRACE_STACK_MEM   (64u << 20)
#define SN_NETTRACE_STACKS_MAX  (1u << 20)
#define SN_NETTRACE_THREADS_MAX 65536u
#define SN_NETTRACE_LABELS_MAX  (1u << 18)

/* What is forgotten at a sequence point of version 6, besides stacks and labels. */
#define SN_NETTRACE_CLEAR_THREADS  1u
#define SN_NETTRACE_CLEAR_METADATA 2u

/* Blocks by their number in version 6; version 4 has names for the same. */
enum sn_nettrace_block {
    SN_NETTRACE_END = 0,
    SN_NETTRACE_TRACE = 1,
    SN_NETTRACE_EVENTS = 2,
    SN_NETTRACE_METADATA = 3,
    SN_NETTRACE_SEQUENCE_POINT = 4,
    SN_NETTRACE_STACKS = 5,
    SN_NETTRACE_THREADS = 6,
    SN_NETTRACE_REMOVE_THREADS = 7,
    SN_NETTRACE_LABELS = 8,
    SN_NETTRACE_UNKNOWN = 9, /* this and above: passed over */
};

enum sn_nettrace_state {
    SN_NETTRACE_AT_START,
    SN_NETTRACE_AT_BLOCK,
    SN_NETTRACE_SCANNING, /* for the next block, after damage */
    SN_NETTRACE_AT_END,
};

struct sn_nettrace_thread {
    uint64_t key; /* version 4: the thread's id; 6: its index */
    uint64_t thread_id;
    uint32_t pid;
    uint32_t last; /* sequence number of its newest event */
    bool is_removed;
};

struct sn_nettrace_thread_near {
    uint64_t key;
    uint32_t place; /* in items, plus one; 0: nothing here */
};

#define SN_NETTRACE_NEAR 64u

struct sn_nettrace_threads {
    bool has_forgotten;               /* there were too many: some were known before */
    struct sn_nettrace_thread *items; /* owns */
    uint32_t count;
    uint32_t removed; /* among them */
    uint32_t capacity;
    struct sn_table by_key;                                /* place in items */
    struct sn_nettrace_thread_near near[SN_NETTRACE_NEAR]; /* spares the table most lookups */
};

struct sn_nettrace_stack {
    uint32_t offset; /* in bytes */
    uint32_t size;   /* UINT32_MAX: this id was never sent */
};

/* The stacks since the last sequence point. */
struct sn_nettrace_stacks {
    struct sn_buf bytes;
    struct sn_buf entries; /* struct sn_nettrace_stack */
    uint32_t first;        /* id of the first entry */
    uint32_t count;
    uint32_t epoch; /* goes up whenever an id may mean another stack than before */
};

struct sn_nettrace_label {
    uint8_t activity[16];
    uint8_t related[16];
    bool has_activity;
    bool has_related;
};

/* The label lists since the last sequence point; version 6. */
struct sn_nettrace_labels {
    struct sn_buf entries; /* struct sn_nettrace_label */
    uint32_t first;
    uint32_t count;
};

/* Metadata ids below this are looked up without hashing; runtimes count from 1. */
#define SN_NETTRACE_DENSE_MAX 4096u

struct sn_nettrace_schema_slot {
    struct sn_schema *schema;
};

struct sn_nettrace_schemas {
    struct sn_arena arena;
    struct sn_nettrace_schema_slot *by_id; /* owns the array; ids below dense_count */
    uint32_t dense_count;
    uint32_t count;
    struct sn_table far_ids; /* metadata ids from SN_NETTRACE_DENSE_MAX: a pointer */
    struct sn_table by_hash; /* hash of a declaration: a pointer to its schema */
    struct sn_table strings; /* hash of a string: a pointer */
    struct sn_buf scratch;
    struct sn_buf nodes; /* fields as they are read, see nettrace_fields.c */
};

/* Told once a sequence point, not once an event. */
struct sn_nettrace_tally {
    uint64_t count;
    uint64_t offset; /* of the first block it happened in */
    uint64_t id;     /* the first one */
};

struct sn_nettrace_reader {
    struct sn_nettrace_ops ops;
    void *user;
    sn_nettrace_layout_fn *layout;
    void *layout_user;
    struct sonde_error *err; /* borrows: of the running call */
    int status;              /* once it is not SONDE_OK it stays */

    enum sn_nettrace_state state;
    bool is_final;   /* no more bytes will come */
    uint64_t offset; /* in the stream, of the first byte not taken */
    size_t need;     /* bytes from there that the next step wants to see */
    struct sn_buf carry;
    size_t carry_start; /* what lies before it in `carry` was taken */
    uint64_t scan_from; /* SN_NETTRACE_SCANNING: where the damage began */
    const char *scan_why;

    struct sn_trace_info info;
    bool has_info;
    struct sn_nettrace_schemas schemas;
    struct sn_nettrace_threads threads;
    struct sn_nettrace_thread nobody; /* stands for threads that were never declared */
    struct sn_nettrace_stacks stacks;
    struct sn_nettrace_labels labels;
    struct sn_nettrace_counters counters;
    struct sn_nettrace_tally undecodable;
    struct sn_nettrace_tally stackless;
};

/* All of them return SONDE_OK, or a status that stops the reader. `offset` is that of `block`. */
int sn_nettrace_trace_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset);
int sn_nettrace_event_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset);
int sn_nettrace_metadata_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                               uint64_t offset);
int sn_nettrace_stack_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset);
int sn_nettrace_label_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                            uint64_t offset);
int sn_nettrace_sequence_point_block(struct sn_nettrace_reader *reader, const uint8_t *block,
                                     size_t size, uint64_t offset);
int sn_nettrace_thread_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                             uint64_t offset);
int sn_nettrace_remove_thread_block(struct sn_nettrace_reader *reader, const uint8_t *block,
                                    size_t size, uint64_t offset);

/* One block of any kind. */
int sn_nettrace_block(struct sn_nettrace_reader *reader, unsigned kind, const uint8_t *block,
                      size_t size, uint64_t offset);

/* Takes one step at the start of the stream, a block, or a stretch of damage. *ret_used is how much
 * of the window it took; 0: reader->need bytes are needed. */
int sn_nettrace_take(struct sn_nettrace_reader *reader, const uint8_t *window, size_t size,
                     size_t *ret_used);

/* Tells the trace callback, with what a runtime writes when the stream did not say. */
int sn_nettrace_announce(struct sn_nettrace_reader *reader);

/* Counts and reports one damage. */
int sn_nettrace_damage(struct sn_nettrace_reader *reader, uint64_t offset, uint64_t bytes,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Reports what the tallies hold and empties them. */
int sn_nettrace_report_tallies(struct sn_nettrace_reader *reader);

/* The thread that sent a row; in version 4 it is new when not known, its last sequence number the
 * one before `sequence`. Never NULL; dies with the next call. */
struct sn_nettrace_thread *sn_nettrace_thread_find(struct sn_nettrace_reader *reader, uint64_t key,
                                                   uint32_t sequence);

/* Called when `sequence` is not thread->last + 1: counts what is missing and moves on. */
int sn_nettrace_sequence_gap(struct sn_nettrace_reader *reader, struct sn_nettrace_thread *thread,
                             uint32_t sequence, uint64_t time_ns);

/* Counts what is missing when `sequence` is a number the thread had reached by then. */
int sn_nettrace_sequence_bound(struct sn_nettrace_reader *reader, struct sn_nettrace_thread *thread,
                               uint32_t sequence, uint64_t time_ns);

void sn_nettrace_threads_clear(struct sn_nettrace_threads *threads);

/* How a list of fields is laid out. */
enum sn_nettrace_fields_kind {
    SN_NETTRACE_FIELDS_V1, /* in the body of version 4 metadata */
    SN_NETTRACE_FIELDS_V2, /* in a tag of it */
    SN_NETTRACE_FIELDS_V6,
};

struct sn_cursor;

/* Reads a list of fields into schema->fields. False, with *ret_why, when it cannot be used; the
 * cursor is bad or anywhere then. */
bool sn_nettrace_fields_read(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur,
                             enum sn_nettrace_fields_kind kind, struct sn_schema *schema,
                             const char **ret_why);

/* A string of the stream as UTF-8 that lives as long as the reader; NULL when it does not fit. */
const char *sn_nettrace_string16(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur);
const char *sn_nettrace_string8(struct sn_nettrace_schemas *schemas, struct sn_cursor *cur);

/* The stack of an id; false when it was never sent. */
static inline bool sn_nettrace_stack_find(const struct sn_nettrace_stacks *stacks, uint32_t id,
                                          struct sn_nettrace_stack *ret_stack)
{
    const struct sn_nettrace_stack *entries = (const void *)stacks->entries.bytes;
    uint32_t place = id - stacks->first;
    if (place >= stacks->count || entries[place].size == UINT32_MAX)
        return false;
    *ret_stack = entries[place];
    return true;
}

static inline struct sn_schema *sn_nettrace_schema_find(const struct sn_nettrace_schemas *schemas,
                                                        uint32_t id)
{
    if (id < schemas->dense_count)
        return schemas->by_id[id].schema;
    uint64_t *far_id = sn_table_find(&schemas->far_ids, id);
    return far_id ? (struct sn_schema *)(uintptr_t)*far_id : NULL;
}

#endif
