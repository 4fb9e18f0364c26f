/* What the files of the NetTrace writer share; nobody else includes it. */
#ifndef SN_NETTRACE_WRITER_INTERNAL_H
#define SN_NETTRACE_WRITER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/table.h"
#include "format/nettrace_writer.h"
#include "model/trace_info.h"

struct sn_schema;

/* A thread that events come from or are about. */
struct sn_nettrace_out_thread {
    uint64_t key; /* in the table */
    uint64_t thread_id;
    uint32_t pid;
    uint32_t index;   /* version 6 */
    uint32_t given;   /* sequence number of its newest event */
    uint32_t written; /* the same as the stream counts */
    bool has_sent;
};

/* Things with an id, until the next sequence point. */
struct sn_nettrace_interned {
    struct sn_table by_hash; /* offset of the entry in `bytes` */
    struct sn_buf bytes;     /* each: u32 id, u32 size, content */
    struct sn_buf block;     /* those not written yet */
    uint32_t next;           /* id */
    uint32_t pending;        /* how many are in `block` */
};

/* The values of the row before, in this block. */
struct sn_nettrace_out_row {
    uint64_t ticks;
    uint64_t capture;
    uint64_t thread;
    uint32_t metadata_id;
    uint32_t sequence;
    uint32_t cpu;
    uint32_t stack_id;
    uint32_t label_id;
    uint32_t payload_size;
    uint8_t activity[16];
    uint8_t related[16];
};

struct sn_nettrace_writer {
    sn_nettrace_write_fn *write;
    void *user;
    uint32_t version;
    int status;
    struct sn_nettrace_writer_mode mode;
    struct sn_trace_info info;
    uint64_t offset; /* bytes handed to `write` */

    struct sn_buf frame;    /* a block's head or a small block */
    struct sn_buf events;   /* rows of the block being filled */
    struct sn_buf metadata; /* rows not written yet */
    struct sn_buf threads;  /* version 6: rows not written yet */
    struct sn_buf scratch;
    struct sn_nettrace_out_row row;
    uint64_t oldest_ns; /* of the events in the block */
    uint64_t newest_ns;
    uint64_t latest_ns; /* of all events */

    const struct sn_schema *last_schema;
    uint32_t last_schema_id;
    struct sn_table schemas; /* by address: the metadata id */
    uint32_t schema_count;

    struct sn_table by_thread;            /* place in `known` */
    struct sn_nettrace_out_thread *known; /* owns */
    uint32_t thread_count;
    uint32_t thread_capacity;
    uint32_t next_index;

    struct sn_nettrace_interned stacks;
    struct sn_nettrace_interned labels;
};

/* Appends a declaration of `schema` to writer->metadata; sn_buf's mark tells when it failed. */
void sn_nettrace_write_declaration(struct sn_nettrace_writer *writer,
                                   const struct sn_schema *schema, uint32_t id);

/* The stream's first bytes and the trace block. */
int sn_nettrace_write_head(struct sn_nettrace_writer *writer, struct sonde_error *err);

/* Everything pending, in the order that readers need. */
int sn_nettrace_write_pending(struct sn_nettrace_writer *writer, struct sonde_error *err);

/* `clears`: SN_NETTRACE_CLEAR_*. */
int sn_nettrace_write_sequence_point(struct sn_nettrace_writer *writer, uint64_t time_ns,
                                     unsigned clears, struct sonde_error *err);
int sn_nettrace_write_removal(struct sn_nettrace_writer *writer, uint32_t index, uint32_t sequence,
                              struct sonde_error *err);
int sn_nettrace_write_end(struct sn_nettrace_writer *writer, struct sonde_error *err);

/* The id of a content, new or known. 0: it does not fit any more. */
uint32_t sn_nettrace_intern(struct sn_nettrace_interned *interned, const void *bytes, size_t size,
                            bool *ret_is_new);
void sn_nettrace_interned_clear(struct sn_nettrace_interned *interned);

#endif
