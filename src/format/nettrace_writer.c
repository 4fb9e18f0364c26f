#include "format/nettrace_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "format/nettrace_internal.h"
#include "format/nettrace_reader.h"
#include "format/nettrace_row.h"
#include "format/nettrace_writer_internal.h"
#include "model/event.h"
#include "model/schema.h"

/* Blocks as large as those of runtimes; a single event may be larger. */
#define BLOCK_SIZE  65536u
#define ROW_MAX     128u
#define LARGEST_ROW (SN_NETTRACE_BLOCK_MAX - 4096u)

/* What is kept between two sequence points. */
#define STACKS_MAX (8u << 20)
#define LABELS_MAX (1u << 20)
#define IDS_MAX    65536u

#define LABEL_ACTIVITY 1u
#define LABEL_RELATED  2u
#define LABEL_LAST     0x80u

#define THREAD_PID 2u
#define THREAD_TID 3u

static const uint8_t no_guid[16];

static int settle(struct sn_nettrace_writer *writer, uint64_t time_ns, unsigned clears,
                  struct sonde_error *err)
{
    int rc = sn_nettrace_write_pending(writer, err);
    if (rc == SONDE_OK)
        rc = sn_nettrace_write_sequence_point(writer, time_ns, clears, err);
    sn_nettrace_interned_clear(&writer->stacks);
    sn_nettrace_interned_clear(&writer->labels);
    if (clears & SN_NETTRACE_CLEAR_THREADS) {
        sn_table_clear(&writer->by_thread);
        writer->thread_count = 0;
    }
    return rc;
}

/* Makes room for whatever one event may need, so that nothing changes while it is encoded. */
static int make_room(struct sn_nettrace_writer *writer, const struct sn_event *event,
                     struct sonde_error *err)
{
    size_t stack_size = (size_t)event->stack_depth * event->pointer_size;
    bool has_stacks = writer->stacks.bytes.size + stack_size + 8 <= writer->mode.stack_bytes &&
                      writer->stacks.by_hash.count < IDS_MAX;
    bool has_labels =
        writer->labels.bytes.size + 64 <= LABELS_MAX && writer->labels.by_hash.count < IDS_MAX;
    bool has_threads = writer->thread_count + 2 <= writer->mode.thread_count;

    if (event->payload_size > LARGEST_ROW || stack_size > writer->mode.stack_bytes / 2)
        return sn_fail(err, SONDE_E_LIMIT, writer->offset, "an event of %u bytes fits no block",
                       event->payload_size);
    if (!has_stacks || !has_labels || !has_threads)
        return settle(writer, writer->latest_ns, has_threads ? 0 : SN_NETTRACE_CLEAR_THREADS, err);
    bool is_full =
        writer->events.size && writer->events.size + event->payload_size + ROW_MAX > BLOCK_SIZE;
    if (is_full || writer->stacks.block.size > BLOCK_SIZE)
        return sn_nettrace_write_pending(writer, err);
    return SONDE_OK;
}

static int find_schema(struct sn_nettrace_writer *writer, const struct sn_schema *schema,
                       uint32_t *ret_id, struct sonde_error *err)
{
    if (schema == writer->last_schema) {
        *ret_id = writer->last_schema_id;
        return SONDE_OK;
    }
    uint64_t *id = sn_table_put(&writer->schemas, (uintptr_t)schema);
    if (!id)
        return sn_fail(err, SONDE_E_LIMIT, 0, "more than %u kinds of events",
                       SN_NETTRACE_SCHEMA_MAX);
    if (!*id) {
        *id = ++writer->schema_count;
        sn_nettrace_write_declaration(writer, schema, (uint32_t)*id);
        if (writer->metadata.failed)
            return sn_fail(err, SONDE_E_LIMIT, 0, "the declaration of %s/%s fits no block",
                           schema->provider, schema->name);
    }
    writer->last_schema = schema;
    writer->last_schema_id = (uint32_t)*id;
    *ret_id = (uint32_t)*id;
    return SONDE_OK;
}

static void declare_thread(struct sn_nettrace_writer *writer, struct sn_nettrace_out_thread *thread)
{
    struct sn_buf row = sn_buf_with_limit(64);
    thread->index = ++writer->next_index;
    if (writer->version == 4)
        return;
    sn_buf_varuint(&row, thread->index);
    sn_buf_u8(&row, THREAD_PID);
    sn_buf_varuint(&row, thread->pid);
    sn_buf_u8(&row, THREAD_TID);
    sn_buf_varuint(&row, thread->thread_id);
    sn_buf_u16(&writer->threads, (uint16_t)row.size);
    sn_buf_append(&writer->threads, row.bytes, row.size);
    writer->threads.failed |= row.failed;
    sn_buf_done(&row);
}

static bool widen_threads(struct sn_nettrace_writer *writer)
{
    if (writer->thread_count < writer->thread_capacity)
        return true;
    uint32_t capacity = writer->thread_capacity ? writer->thread_capacity * 2 : 64;
    struct sn_nettrace_out_thread *known = realloc(writer->known, capacity * sizeof(*known));
    if (!known)
        return false;
    writer->known = known;
    writer->thread_capacity = capacity;
    return true;
}

/* In version 4 the process does not count: the stream has one. */
static uint64_t thread_key(const struct sn_nettrace_writer *writer, uint32_t pid,
                           uint64_t thread_id)
{
    return writer->version == 4 ? thread_id : thread_id ^ ((uint64_t)pid << 32);
}

/* The place of a thread in writer->known, new or not; -1 without memory. */
static int64_t find_thread(struct sn_nettrace_writer *writer, uint32_t pid, uint64_t thread_id)
{
    uint64_t key = thread_key(writer, pid, thread_id);
    uint64_t *place = sn_table_find(&writer->by_thread, key);
    if (place)
        return (int64_t)*place;
    place = widen_threads(writer) ? sn_table_put(&writer->by_thread, key) : NULL;
    if (!place)
        return -1;
    *place = writer->thread_count;
    struct sn_nettrace_out_thread *thread = &writer->known[writer->thread_count++];
    *thread = (struct sn_nettrace_out_thread){.key = key, .pid = pid, .thread_id = thread_id};
    declare_thread(writer, thread);
    return (int64_t)*place;
}

/* A thread id that begins to count anew is another thread; version 6 wants another index. */
static int replace_thread(struct sn_nettrace_writer *writer, struct sn_nettrace_out_thread *thread,
                          struct sonde_error *err)
{
    if (writer->version == 4) {
        thread->written = 0;
        return SONDE_OK;
    }
    int rc = sn_nettrace_write_pending(writer, err);
    if (rc == SONDE_OK)
        rc = sn_nettrace_write_removal(writer, thread->index, thread->written, err);
    thread->written = 0;
    declare_thread(writer, thread);
    return rc;
}

/* Gives the event its number in the stream: from 1, with the gaps it came with, less what was left
 * out. */
static int count_event(struct sn_nettrace_writer *writer, struct sn_nettrace_out_thread *thread,
                       uint32_t sequence, struct sonde_error *err)
{
    uint32_t step = thread->has_sent ? sequence - thread->given : 1;
    int rc = SONDE_OK;
    if (step == 0 || step > INT32_MAX || (sequence == 1 && step != 1)) {
        rc = replace_thread(writer, thread, err);
        step = 1;
    }
    thread->given = sequence;
    thread->written += step;
    thread->has_sent = true;
    return rc;
}

static uint32_t find_stack(struct sn_nettrace_writer *writer, const struct sn_event *event)
{
    size_t size = (size_t)event->stack_depth * event->pointer_size;
    bool is_new;
    if (!event->stack)
        return 0;
    uint32_t id = sn_nettrace_intern(&writer->stacks, event->stack, size, &is_new);
    if (is_new) {
        sn_buf_u32(&writer->stacks.block, (uint32_t)size);
        sn_buf_append(&writer->stacks.block, event->stack, size);
    }
    return id;
}

static uint32_t find_label(struct sn_nettrace_writer *writer, const struct sn_event *event)
{
    uint8_t both[32] = {0};
    bool is_new;
    if (!event->activity && !event->related)
        return 0;
    if (event->activity)
        memcpy(both, event->activity, 16);
    if (event->related)
        memcpy(both + 16, event->related, 16);
    uint32_t id = sn_nettrace_intern(&writer->labels, both, sizeof(both), &is_new);
    struct sn_buf *block = &writer->labels.block;
    if (is_new && event->activity) {
        sn_buf_u8(block, (uint8_t)(LABEL_ACTIVITY | (event->related ? 0 : LABEL_LAST)));
        sn_buf_append(block, event->activity, 16);
    }
    if (is_new && event->related) {
        sn_buf_u8(block, LABEL_RELATED | LABEL_LAST);
        sn_buf_append(block, event->related, 16);
    }
    return id;
}

static uint8_t *put_varuint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80u);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_guid(uint8_t *at, const uint8_t guid[16])
{
    memcpy(at, guid, 16);
    return at + 16;
}

static uint8_t changes(const struct sn_nettrace_out_row *old, const struct sn_nettrace_out_row *row)
{
    unsigned flags = 0;
    if (row->metadata_id != old->metadata_id)
        flags |= SN_ROW_METADATA;
    if (row->capture != old->capture || row->cpu != old->cpu || row->sequence != old->sequence + 1)
        flags |= SN_ROW_CAPTURE;
    if (row->thread != old->thread)
        flags |= SN_ROW_THREAD;
    if (row->stack_id != old->stack_id)
        flags |= SN_ROW_STACK;
    if (row->label_id != old->label_id || memcmp(row->activity, old->activity, 16) != 0)
        flags |= SN_ROW_ACTIVITY;
    if (memcmp(row->related, old->related, 16) != 0)
        flags |= SN_ROW_RELATED;
    if (row->payload_size != old->payload_size)
        flags |= SN_ROW_SIZE;
    return (uint8_t)flags;
}

/* The mirror of sn_row_header. */
static uint8_t *put_row(uint8_t *at, const struct sn_nettrace_out_row *old,
                        const struct sn_nettrace_out_row *row, uint8_t flags, bool is_v6)
{
    *at++ = flags;
    if (flags & SN_ROW_METADATA)
        at = put_varuint(at, row->metadata_id);
    if (flags & SN_ROW_CAPTURE) {
        at = put_varuint(at, (uint32_t)(row->sequence - old->sequence - 1));
        at = put_varuint(at, row->capture);
        at = put_varuint(at, row->cpu);
    }
    if (flags & SN_ROW_THREAD)
        at = put_varuint(at, row->thread);
    if (flags & SN_ROW_STACK)
        at = put_varuint(at, row->stack_id);
    at = put_varuint(at, row->ticks - old->ticks);
    if (flags & SN_ROW_ACTIVITY)
        at = is_v6 ? put_varuint(at, row->label_id) : put_guid(at, row->activity);
    if (flags & SN_ROW_RELATED)
        at = put_guid(at, row->related);
    if (flags & SN_ROW_SIZE)
        at = put_varuint(at, row->payload_size);
    return at;
}

static int append_row(struct sn_nettrace_writer *writer, const struct sn_nettrace_out_row *row,
                      const struct sn_event *event, struct sonde_error *err)
{
    uint8_t *start = sn_buf_reserve(&writer->events, ROW_MAX + (size_t)event->payload_size);
    if (!start)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for an event block");
    bool is_first = writer->events.size == 0;
    uint8_t flags = changes(&writer->row, row);
    if (event->is_sorted)
        flags |= SN_ROW_SORTED;
    uint8_t *at = put_row(start, &writer->row, row, flags, writer->version == 6);
    if (event->payload_size)
        memcpy(at, event->payload, event->payload_size);
    sn_buf_grow(&writer->events, (size_t)(at - start) + event->payload_size);
    writer->row = *row;
    if (is_first || event->time_ns < writer->oldest_ns)
        writer->oldest_ns = event->time_ns;
    if (is_first || event->time_ns > writer->newest_ns)
        writer->newest_ns = event->time_ns;
    if (event->time_ns > writer->latest_ns)
        writer->latest_ns = event->time_ns;
    return SONDE_OK;
}

/* The thread whose numbers count an event: in a journal one for all. */
static int64_t find_capture(struct sn_nettrace_writer *writer, uint32_t pid, uint64_t thread_id)
{
    bool is_ordered = writer->mode.is_ordered;
    return find_thread(writer, is_ordered ? 0 : pid, is_ordered ? 0 : thread_id);
}

static int find_threads(struct sn_nettrace_writer *writer, const struct sn_event *event,
                        struct sn_nettrace_out_row *row, struct sonde_error *err)
{
    bool is_ordered = writer->mode.is_ordered;
    int64_t place = find_capture(writer, event->pid, event->capture_thread_id);
    if (place < 0)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a thread");
    uint32_t sequence = is_ordered ? writer->known[place].given + 1 : event->sequence;
    int rc = count_event(writer, &writer->known[place], sequence, err);
    row->sequence = writer->known[place].written;
    if (writer->version == 4) {
        row->capture = event->capture_thread_id;
        row->thread = event->thread_id;
        return rc;
    }
    row->capture = writer->known[place].index;
    place = find_thread(writer, event->pid, event->thread_id);
    if (place < 0)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a thread");
    row->thread = writer->known[place].index;
    return rc;
}

static int add_event(struct sn_nettrace_writer *writer, const struct sn_event *event,
                     struct sonde_error *err)
{
    struct sn_nettrace_out_row row = {
        .ticks = event->time_ns,
        .cpu = event->cpu,
        .payload_size = event->payload_size,
    };
    int rc = make_room(writer, event, err);
    if (rc == SONDE_OK)
        rc = find_schema(writer, event->schema, &row.metadata_id, err);
    if (rc == SONDE_OK)
        rc = find_threads(writer, event, &row, err);
    if (rc != SONDE_OK)
        return rc;
    /* TraceEvent takes the capturing thread over only in sorted events, or at a block's start. */
    if (writer->events.size && row.capture != writer->row.capture && !event->is_sorted)
        rc = sn_nettrace_write_pending(writer, err);
    if (rc != SONDE_OK)
        return rc;
    row.stack_id = find_stack(writer, event);
    if (writer->version == 6)
        row.label_id = find_label(writer, event);
    else {
        memcpy(row.activity, event->activity ? event->activity : no_guid, 16);
        memcpy(row.related, event->related ? event->related : no_guid, 16);
    }
    return append_row(writer, &row, event, err);
}

static struct sn_nettrace_interned interned_with_limit(size_t limit)
{
    return (struct sn_nettrace_interned){
        .by_hash = sn_table_with_limit(IDS_MAX + 1),
        .bytes = sn_buf_with_limit(limit * 2),
        .block = sn_buf_with_limit(SN_NETTRACE_BLOCK_MAX - 4096u),
        .next = 1,
    };
}

static void interned_done(struct sn_nettrace_interned *interned)
{
    sn_table_done(&interned->by_hash);
    sn_buf_done(&interned->bytes);
    sn_buf_done(&interned->block);
}

static struct sn_nettrace_writer *writer_to(uint32_t version, sn_nettrace_write_fn *write,
                                            void *user)
{
    struct sn_nettrace_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return NULL;
    writer->write = write;
    writer->user = user;
    writer->version = version;
    writer->frame = sn_buf_with_limit(4096);
    writer->events = sn_buf_with_limit(SN_NETTRACE_BLOCK_MAX);
    writer->metadata = sn_buf_with_limit(SN_NETTRACE_BLOCK_MAX - 4096u);
    writer->threads = sn_buf_with_limit(SN_NETTRACE_BLOCK_MAX - 4096u);
    writer->scratch = sn_buf_with_limit(SN_NETTRACE_BLOCK_MAX - 4096u);
    writer->schemas = sn_table_with_limit(SN_NETTRACE_SCHEMA_MAX);
    writer->by_thread = sn_table_with_limit(SN_NETTRACE_THREADS_MAX);
    writer->stacks = interned_with_limit(STACKS_MAX);
    writer->labels = interned_with_limit(LABELS_MAX);
    sn_nettrace_writer_set_mode(writer, &(struct sn_nettrace_writer_mode){0});
    return writer;
}

int sn_nettrace_writer_new(uint32_t version, const struct sn_trace_info *info,
                           sn_nettrace_write_fn *write, void *user,
                           struct sn_nettrace_writer **ret_writer, struct sonde_error *err)
{
    if (version != 4 && version != 6)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "nettrace version %u cannot be written", version);
    SN_AUTO(sn_nettrace_writer_free)
    struct sn_nettrace_writer *writer = writer_to(version, write, user);
    if (!writer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a nettrace writer");
    writer->info = *info;
    int rc = sn_nettrace_write_head(writer, err);
    if (rc == SONDE_OK)
        *ret_writer = SN_TAKE(writer);
    return rc;
}

int sn_nettrace_writer_append(uint64_t offset, uint64_t latest_ns, sn_nettrace_write_fn *write,
                              void *user, struct sn_nettrace_writer **ret_writer,
                              struct sonde_error *err)
{
    SN_AUTO(sn_nettrace_writer_free)
    struct sn_nettrace_writer *writer = writer_to(6, write, user);
    if (!writer)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a nettrace writer");
    writer->info.pointer_size = 8;
    writer->offset = offset;
    writer->latest_ns = latest_ns;
    int rc = settle(writer, latest_ns, SN_NETTRACE_CLEAR_THREADS | SN_NETTRACE_CLEAR_METADATA, err);
    if (rc == SONDE_OK)
        *ret_writer = SN_TAKE(writer);
    return rc;
}

void sn_nettrace_writer_set_mode(struct sn_nettrace_writer *writer,
                                 const struct sn_nettrace_writer_mode *mode)
{
    writer->mode = *mode;
    if (!mode->stack_bytes)
        writer->mode.stack_bytes = STACKS_MAX;
    if (!mode->thread_count)
        writer->mode.thread_count = SN_NETTRACE_THREADS_MAX;
}

void sn_nettrace_writer_free(struct sn_nettrace_writer *writer)
{
    if (!writer)
        return;
    sn_buf_done(&writer->frame);
    sn_buf_done(&writer->events);
    sn_buf_done(&writer->metadata);
    sn_buf_done(&writer->threads);
    sn_buf_done(&writer->scratch);
    sn_table_done(&writer->schemas);
    sn_table_done(&writer->by_thread);
    free(writer->known);
    interned_done(&writer->stacks);
    interned_done(&writer->labels);
    free(writer);
}

int sn_nettrace_writer_event(struct sn_nettrace_writer *writer, const struct sn_event *event,
                             struct sonde_error *err)
{
    struct sn_event ordered = *event;
    if (writer->mode.is_ordered) {
        ordered.is_sorted = true;
        if (ordered.time_ns < writer->latest_ns)
            ordered.time_ns = writer->latest_ns;
    }
    if (writer->status == SONDE_OK)
        writer->status = add_event(writer, &ordered, err);
    return writer->status;
}

int sn_nettrace_writer_skip(struct sn_nettrace_writer *writer, const struct sn_event *event)
{
    const uint64_t *place =
        sn_table_find(&writer->by_thread, thread_key(writer, event->pid, event->capture_thread_id));
    struct sn_nettrace_out_thread *thread = place ? &writer->known[*place] : NULL;
    if (!thread || !thread->has_sent)
        return SONDE_OK;
    uint32_t step = event->sequence - thread->given;
    if (step > 0 && step <= INT32_MAX)
        thread->written += step - 1;
    thread->given = event->sequence;
    return SONDE_OK;
}

int sn_nettrace_writer_lost(struct sn_nettrace_writer *writer, const struct sn_nettrace_loss *loss,
                            struct sonde_error *err)
{
    if (writer->status == SONDE_OK && writer->thread_count >= writer->mode.thread_count)
        writer->status = settle(writer, writer->latest_ns, SN_NETTRACE_CLEAR_THREADS, err);
    if (writer->status != SONDE_OK)
        return writer->status;
    int64_t place = find_capture(writer, loss->pid, loss->capture_thread_id);
    if (place < 0)
        return writer->status = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a thread");
    struct sn_nettrace_out_thread *thread = &writer->known[place];
    thread->given += (uint32_t)loss->count;
    thread->written += (uint32_t)loss->count;
    return SONDE_OK;
}

int sn_nettrace_writer_flush(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (writer->status == SONDE_OK)
        writer->status = sn_nettrace_write_pending(writer, err);
    return writer->status;
}

int sn_nettrace_writer_sequence_point(struct sn_nettrace_writer *writer, uint64_t time_ns,
                                      struct sonde_error *err)
{
    if (writer->status == SONDE_OK)
        writer->status = settle(writer, time_ns, 0, err);
    return writer->status;
}

int sn_nettrace_writer_finish(struct sn_nettrace_writer *writer, struct sonde_error *err)
{
    if (writer->status == SONDE_OK)
        writer->status = settle(writer, writer->latest_ns, 0, err);
    if (writer->status == SONDE_OK)
        writer->status = sn_nettrace_write_end(writer, err);
    return writer->status;
}

uint64_t sn_nettrace_writer_bytes(const struct sn_nettrace_writer *writer)
{
    return writer->offset + writer->events.size + writer->metadata.size + writer->threads.size +
           writer->stacks.block.size + writer->labels.block.size;
}
