/* Decodes a .nettrace file as fast as the reader can, three times, and prints events a second:
 * headers only, or with every payload field. The file is read into memory first, as the peer's
 * times have it cached too. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "clr/runtime_events.h"
#include "format/nettrace_reader.h"
#include "model/event.h"
#include "model/payload.h"

#define FEED_SIZE (256u << 10)

struct totals {
    uint64_t events;
    uint64_t values;
    uint64_t mix; /* keeps the compiler from skipping the work */
};

static int take_header(void *user, const struct sn_event *event)
{
    struct totals *totals = user;
    totals->events++;
    totals->mix += event->time_ns ^ event->thread_id;
    return SONDE_OK;
}

static int take_payload(void *user, const struct sn_event *event)
{
    struct totals *totals = user;
    struct sn_payload payload;
    struct sn_value value;
    totals->events++;
    sn_payload_start(&payload, event);
    while (sn_payload_next(&payload, &value) == SONDE_OK) {
        totals->values++;
        totals->mix += value.number;
    }
    return SONDE_OK;
}

static bool describe(void *user, struct sn_schema *schema, struct sn_arena *arena)
{
    (void)user;
    (void)arena;
    return sn_clr_describe(schema);
}

static double decode(const struct sn_buf *file, bool with_payload, struct totals *totals)
{
    struct sn_nettrace_ops ops = {.event = with_payload ? take_payload : take_header};
    SN_AUTO(sn_nettrace_reader_free) struct sn_nettrace_reader *reader = NULL;
    struct sonde_error err = {0};
    *totals = (struct totals){0};
    if (sn_nettrace_reader_new(&ops, totals, &reader, &err) != SONDE_OK)
        return 0;
    sn_nettrace_reader_set_layouts(reader, describe, NULL);
    uint64_t start = sn_clock_monotonic_ns();
    for (size_t at = 0; at < file->size; at += FEED_SIZE) {
        size_t size = file->size - at < FEED_SIZE ? file->size - at : FEED_SIZE;
        if (sn_nettrace_reader_feed(reader, file->bytes + at, size, &err) != SONDE_OK)
            return 0;
    }
    (void)sn_nettrace_reader_finish(reader, &err);
    return (double)(sn_clock_monotonic_ns() - start) / 1e9;
}

int main(int argc, char **argv)
{
    SN_AUTO(sn_buf_done) struct sn_buf file = sn_buf_with_limit(SIZE_MAX / 4);
    struct sonde_error err = {0};
    if (argc < 2 || sn_file_read_at(AT_FDCWD, argv[1], &file, &err) != SONDE_OK) {
        (void)fprintf(stderr, "usage: decode FILE [--payload]\n%s\n", err.text);
        return 2;
    }
    bool with_payload = argc > 2 && strcmp(argv[2], "--payload") == 0;
    struct totals totals = {0};
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double seconds = decode(&file, with_payload, &totals);
        best = best == 0 || seconds < best ? seconds : best;
    }
    (void)printf("events\t%" PRIu64 "\nvalues\t%" PRIu64 "\nseconds\t%.6f\nevents/s\t%.0f\n",
                 totals.events, totals.values, best, (double)totals.events / best);
    return totals.mix == 1; /* never, but the compiler does not know */
}
