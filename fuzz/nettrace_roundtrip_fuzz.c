/* Whatever the reader makes of any bytes, written again in either version and read once more, is as
 * many events with the same content. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "format/nettrace_reader.h"
#include "format/nettrace_writer.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUTPUT_MAX (64u << 20)

struct copy {
    uint32_t version;
    struct sn_nettrace_writer *writer;
    struct sn_buf stream;
    uint64_t sum;
    uint64_t written;
};

static uint64_t sum_of(const struct sn_event *event)
{
    uint64_t sum = event->time_ns + event->thread_id + event->capture_thread_id;
    for (uint32_t i = 0; i < event->payload_size; i++)
        sum = sum * 31 + event->payload[i];
    for (uint32_t i = 0; i < event->stack_depth * event->pointer_size; i++)
        sum = sum * 31 + event->stack[i];
    for (unsigned i = 0; event->activity && i < 16; i++)
        sum = sum * 31 + event->activity[i];
    return sum + event->schema->event_id + strlen(event->schema->name);
}

static int store(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    struct copy *copy = user;
    (void)err;
    sn_buf_append(&copy->stream, bytes, size);
    return copy->stream.failed ? SONDE_E_LIMIT : SONDE_OK;
}

static int begin(void *user, const struct sn_trace_info *info)
{
    struct copy *copy = user;
    return sn_nettrace_writer_new(copy->version, info, store, copy, &copy->writer, NULL);
}

static int write_event(void *user, const struct sn_event *event)
{
    struct copy *copy = user;
    int rc = sn_nettrace_writer_event(copy->writer, event, NULL);
    if (rc == SONDE_OK) {
        copy->written++;
        copy->sum += sum_of(event);
    }
    return rc;
}

static int write_loss(void *user, const struct sn_nettrace_loss *loss)
{
    struct copy *copy = user;
    return sn_nettrace_writer_lost(copy->writer, loss, NULL);
}

static int count(void *user, const struct sn_event *event)
{
    *(uint64_t *)user += sum_of(event);
    return SONDE_OK;
}

/* Reads the copy again and compares. */
static void compare(const struct copy *copy)
{
    uint64_t sum = 0;
    struct sn_nettrace_ops ops = {.event = count};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    if (sn_nettrace_reader_new(&ops, &sum, &reader, NULL) != SONDE_OK)
        return;
    if (sn_nettrace_reader_feed(reader, copy->stream.bytes, copy->stream.size, NULL) != SONDE_OK ||
        sn_nettrace_reader_finish(reader, NULL) != SONDE_OK)
        abort();
    struct sn_nettrace_counters counters = sn_nettrace_reader_counters(reader);
    if (counters.events != copy->written || counters.damages || sum != copy->sum)
        abort();
}

static void copy_to(const uint8_t *data, size_t size, uint32_t version)
{
    struct copy copy = {.version = version, .stream = sn_buf_with_limit(OUTPUT_MAX)};
    struct sn_nettrace_ops ops = {.trace = begin, .event = write_event, .lost = write_loss};
    struct sn_nettrace_reader *reader = NULL;
    if (sn_nettrace_reader_new(&ops, &copy, &reader, NULL) != SONDE_OK)
        return;
    (void)sn_nettrace_reader_feed(reader, data, size, NULL); /* what came out is what counts */
    (void)sn_nettrace_reader_finish(reader, NULL);
    if (copy.writer && sn_nettrace_writer_finish(copy.writer, NULL) == SONDE_OK)
        compare(&copy);
    sn_nettrace_writer_free(copy.writer);
    sn_nettrace_reader_free(reader);
    sn_buf_done(&copy.stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    copy_to(data, size, 4);
    copy_to(data, size, 6);
    return 0;
}
