/* Any bytes as a stream: it ends, nothing outside is touched, and however they are cut, the same
 * comes out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "model/schema.h"
#include "sonde/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches everything an event points to. */
static int touch(void *user, const struct sn_event *event)
{
    uint64_t *sum = user;
    for (uint32_t i = 0; i < event->payload_size; i++)
        *sum = *sum * 31 + event->payload[i];
    for (uint32_t i = 0; i < event->stack_depth * event->pointer_size; i++)
        *sum = *sum * 31 + event->stack[i];
    for (unsigned i = 0; i < 16; i++)
        *sum = *sum * 31 + (event->activity ? event->activity[i] : 0u) +
               (event->related ? event->related[i] : 0u);
    *sum += event->time_ns + event->thread_id + event->sequence + strlen(event->schema->name);
    return SONDE_OK;
}

static int read_in_steps(const uint8_t *data, size_t size, size_t step, uint64_t *sum,
                         struct sn_nettrace_counters *counters)
{
    struct sn_nettrace_ops ops = {.event = touch};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    struct sonde_error err = {0};
    int rc = sn_nettrace_reader_new(&ops, sum, &reader, &err);
    for (size_t at = 0; rc == SONDE_OK && at < size; at += step) {
        size_t part = size - at < step ? size - at : step;
        SN_AUTO(sn_free) uint8_t *copy = malloc(part);
        memcpy(copy, data + at, part);
        rc = sn_nettrace_reader_feed(reader, copy, part, &err);
    }
    if (rc == SONDE_OK)
        rc = sn_nettrace_reader_finish(reader, &err);
    *counters = sn_nettrace_reader_counters(reader);
    counters->bytes = 0; /* counts up to where it stopped */
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_nettrace_counters whole;
    struct sn_nettrace_counters parts;
    uint64_t whole_sum = 0;
    uint64_t parts_sum = 0;
    size_t step = size ? 1 + data[size - 1] % 97u : 1;
    int whole_rc = read_in_steps(data, size, size + 1, &whole_sum, &whole);
    int parts_rc = read_in_steps(data, size, step, &parts_sum, &parts);
    if (whole_rc != parts_rc || whole_sum != parts_sum ||
        memcmp(&whole, &parts, sizeof(whole)) != 0)
        abort();
    return 0;
}
