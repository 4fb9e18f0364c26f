/* The threads of a stream: who sent what, and the newest sequence number of each. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "format/nettrace_internal.h"

enum thread_info {
    INFO_NAME = 1,
    INFO_PID = 2,
    INFO_TID = 3,
    INFO_TEXT = 4,
};

static struct sn_nettrace_thread_near *near_of(struct sn_nettrace_threads *threads, uint64_t key)
{
    return &threads->near[(key * 0x9E3779B97F4A7C15u) >> 58];
}

void sn_nettrace_threads_clear(struct sn_nettrace_threads *threads)
{
    sn_table_clear(&threads->by_key);
    memset(threads->near, 0, sizeof(threads->near));
    threads->count = 0;
    threads->removed = 0;
}

/* Forgets the removed ones, whose keys still fill the table. */
static void compact(struct sn_nettrace_threads *threads)
{
    uint32_t before = threads->count;
    sn_nettrace_threads_clear(threads);
    for (uint32_t i = 0; i < before; i++) {
        if (threads->items[i].is_removed)
            continue;
        uint64_t *place = sn_table_put(&threads->by_key, threads->items[i].key);
        if (!place)
            return;
        *place = threads->count;
        threads->items[threads->count++] = threads->items[i];
    }
}

static bool make_room(struct sn_nettrace_threads *threads)
{
    if (threads->count < threads->capacity)
        return true;
    uint32_t capacity = threads->capacity ? threads->capacity * 2 : 64;
    struct sn_nettrace_thread *items = realloc(threads->items, capacity * sizeof(*items));
    if (!items)
        return false;
    threads->items = items;
    threads->capacity = capacity;
    return true;
}

/* Without a place left: version 6 says which threads ended, version 4 does not, so there all are
 * forgotten and known again when they next send something. */
static struct sn_nettrace_thread *add(struct sn_nettrace_threads *threads, uint64_t key, bool is_v6)
{
    if (threads->count >= SN_NETTRACE_THREADS_MAX) {
        if (!is_v6) {
            sn_nettrace_threads_clear(threads);
            threads->has_forgotten = true;
        } else if (threads->removed >= SN_NETTRACE_THREADS_MAX / 4)
            compact(threads); /* for less it would not be worth the work */
    }
    if (threads->count >= SN_NETTRACE_THREADS_MAX || !make_room(threads))
        return NULL;
    uint64_t *place = sn_table_put(&threads->by_key, key);
    if (!place)
        return NULL;
    *place = threads->count;
    *near_of(threads, key) = (struct sn_nettrace_thread_near){key, threads->count + 1};
    struct sn_nettrace_thread *thread = &threads->items[threads->count++];
    *thread = (struct sn_nettrace_thread){.key = key};
    return thread;
}

static struct sn_nettrace_thread *find(struct sn_nettrace_threads *threads, uint64_t key)
{
    struct sn_nettrace_thread_near *near = near_of(threads, key);
    if (near->place && near->key == key)
        return &threads->items[near->place - 1];
    const uint64_t *place = threads->items ? sn_table_find(&threads->by_key, key) : NULL;
    if (!place)
        return NULL;
    struct sn_nettrace_thread *thread = &threads->items[*place];
    if (thread->is_removed)
        return NULL;
    *near = (struct sn_nettrace_thread_near){key, (uint32_t)*place + 1};
    return thread;
}

struct sn_nettrace_thread *sn_nettrace_thread_find(struct sn_nettrace_reader *reader, uint64_t key,
                                                   uint32_t sequence)
{
    struct sn_nettrace_thread *thread = find(&reader->threads, key);
    if (thread)
        return thread;
    reader->nobody.pid = reader->info.pid;
    reader->nobody.thread_id = 0;
    if (reader->info.format_version == 6)
        return &reader->nobody;
    thread = add(&reader->threads, key, false);
    if (!thread)
        return &reader->nobody;
    thread->thread_id = key;
    thread->pid = reader->info.pid;
    /* A stream that was read from its start and whole has told of every event: a thread's numbers
     * begin at 1. */
    bool is_whole = !reader->counters.damages && !reader->threads.has_forgotten;
    thread->last = is_whole ? 0 : sequence - 1;
    return thread;
}

/* The entries behind a thread's index; unknown kinds end the reading, the row has its size. */
static void read_thread(struct sn_cursor *row, struct sn_nettrace_thread *thread)
{
    while (sn_cursor_left(row) && !row->bad) {
        switch (sn_cursor_u8(row)) {
        case INFO_NAME: sn_cursor_skip(row, sn_cursor_varuint32(row)); break;
        case INFO_PID: thread->pid = (uint32_t)sn_cursor_varuint64(row); break;
        case INFO_TID: thread->thread_id = sn_cursor_varuint64(row); break;
        case INFO_TEXT:
            sn_cursor_skip(row, sn_cursor_varuint32(row));
            sn_cursor_skip(row, sn_cursor_varuint32(row));
            break;
        default: return;
        }
    }
}

static int declare(struct sn_nettrace_reader *reader, struct sn_cursor *row, uint64_t offset)
{
    uint64_t index = sn_cursor_varuint64(row);
    struct sn_nettrace_thread read = {.key = index, .pid = reader->info.pid};

    read_thread(row, &read);
    if (row->bad)
        return sn_nettrace_damage(reader, offset, 0, "thread cannot be read");
    struct sn_nettrace_thread *thread = find(&reader->threads, index);
    if (!thread)
        thread = add(&reader->threads, index, true);
    if (!thread)
        return sn_nettrace_damage(reader, offset, 0, "too many threads; one more is not known");
    /* Told twice it keeps its sequence number: only what describes it may change. */
    read.last = thread->last;
    *thread = read;
    return SONDE_OK;
}

int sn_nettrace_thread_block(struct sn_nettrace_reader *reader, const uint8_t *block, size_t size,
                             uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    while (sn_cursor_left(&cur)) {
        size_t start = sn_cursor_offset(&cur);
        uint16_t row_size = sn_cursor_u16(&cur);
        const uint8_t *bytes = sn_cursor_bytes(&cur, row_size);
        if (cur.bad)
            return sn_nettrace_damage(reader, offset + start, size - start,
                                      "thread row ends early; the rest of its block is lost");
        struct sn_cursor row = sn_cursor_over(bytes, row_size);
        int rc = declare(reader, &row, offset + start);
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

int sn_nettrace_remove_thread_block(struct sn_nettrace_reader *reader, const uint8_t *block,
                                    size_t size, uint64_t offset)
{
    struct sn_cursor cur = sn_cursor_over(block, size);
    while (sn_cursor_left(&cur)) {
        size_t start = sn_cursor_offset(&cur);
        uint64_t index = sn_cursor_varuint64(&cur);
        uint32_t sequence = sn_cursor_varuint32(&cur);
        if (cur.bad)
            return sn_nettrace_damage(reader, offset + start, size - start,
                                      "list of removed threads cannot be read");
        struct sn_nettrace_thread *thread = find(&reader->threads, index);
        if (!thread)
            continue;
        int rc = sn_nettrace_sequence_bound(reader, thread, sequence, 0);
        if (rc != SONDE_OK)
            return rc;
        thread->is_removed = true;
        reader->threads.removed++;
        near_of(&reader->threads, index)->place = 0;
    }
    return SONDE_OK;
}
