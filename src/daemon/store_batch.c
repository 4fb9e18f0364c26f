#include "daemon/store_batch.h"

#include <math.h>
#include <string.h>

#include "base/cursor.h"

enum mark { MARK_PROCESS = 1, MARK_POINT };

/* Those that the store keeps. */
static const double kept_quantiles[] = {0.5, 0.95, 0.99};
#define QUANTILES (sizeof(kept_quantiles) / sizeof(kept_quantiles[0]))

/* What a point's number can be made of, as it lies in the buffer. */
struct numbers {
    uint64_t utc_ns;
    uint64_t count;
    uint64_t interval_ns;
    double value;
    double rate;
    double total;
    double sum;
    double quantiles[QUANTILES]; /* NAN: not told */
    int kind;
    int origin;
};

static double quantile_of(const struct sonde_point *point, double at)
{
    for (size_t i = 0; i < point->quantile_count; i++)
        if (point->quantiles[i].at == at)
            return point->quantiles[i].value;
    return NAN;
}

static void put_text(struct sn_buf *to, const char *text)
{
    sn_buf_append(to, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void put_process(struct sn_buf *to, const struct sonde_process *process)
{
    sn_buf_u8(to, MARK_PROCESS);
    sn_buf_u32(to, process->pid);
    sn_buf_u64(to, process->start_ticks);
    put_text(to, process->name);
    put_text(to, process->runtime);
    put_text(to, process->user);
    put_text(to, process->container);
    put_text(to, process->command_line);
}

static void put_point(struct sn_buf *to, const struct sonde_point *point)
{
    struct numbers numbers = {.utc_ns = point->utc_ns,
                              .count = point->count,
                              .interval_ns = point->interval_ns,
                              .value = point->value,
                              .rate = point->rate,
                              .total = point->total,
                              .sum = point->sum,
                              .kind = point->kind,
                              .origin = point->origin};
    for (size_t i = 0; i < QUANTILES; i++)
        numbers.quantiles[i] = quantile_of(point, kept_quantiles[i]);
    sn_buf_u8(to, MARK_POINT);
    sn_buf_append(to, &numbers, sizeof(numbers));
    put_text(to, point->provider);
    put_text(to, point->name);
    put_text(to, point->unit);
    put_text(to, point->tag_text);
}

bool sn_store_batch_add(struct sn_store_batch *batch, const struct sonde_process *process,
                        const struct sonde_point *point)
{
    size_t start = batch->bytes.size;
    bool is_other =
        !batch->count || batch->pid != process->pid || batch->ticks != process->start_ticks;
    if (is_other)
        put_process(&batch->bytes, process);
    put_point(&batch->bytes, point);
    if (batch->bytes.failed) {
        batch->bytes.failed = false;
        batch->bytes.size = start;
        return false;
    }
    batch->pid = process->pid;
    batch->ticks = process->start_ticks;
    batch->count++;
    return true;
}

void sn_store_batch_clear(struct sn_store_batch *batch)
{
    sn_buf_clear(&batch->bytes);
    batch->count = 0;
}

/* Written above, so it is there and ends. */
static const char *get_text(struct sn_cursor *cursor)
{
    const char *text = (const char *)cursor->at;
    sn_cursor_skip(cursor, strlen(text) + 1);
    return text;
}

static void read_process(struct sn_cursor *cursor, const struct sn_store_batch_user *to)
{
    struct sonde_process process = {.architecture = "", .reason = "", .fix = ""};
    process.pid = sn_cursor_u32(cursor);
    process.start_ticks = sn_cursor_u64(cursor);
    process.name = get_text(cursor);
    process.runtime = get_text(cursor);
    process.user = get_text(cursor);
    process.container = get_text(cursor);
    process.command_line = get_text(cursor);
    to->process(to->user, &process);
}

static void read_point(struct sn_cursor *cursor, const struct sn_store_batch_user *to)
{
    struct numbers numbers;
    memcpy(&numbers, sn_cursor_bytes(cursor, sizeof(numbers)), sizeof(numbers));
    struct sonde_quantile quantiles[QUANTILES];
    for (size_t i = 0; i < QUANTILES; i++)
        quantiles[i] = (struct sonde_quantile){kept_quantiles[i], numbers.quantiles[i]};
    struct sonde_point point = {.kind = numbers.kind,
                                .origin = numbers.origin,
                                .utc_ns = numbers.utc_ns,
                                .count = numbers.count,
                                .interval_ns = numbers.interval_ns,
                                .quantiles = quantiles,
                                .quantile_count = QUANTILES,
                                .value = numbers.value,
                                .rate = numbers.rate,
                                .total = numbers.total,
                                .sum = numbers.sum,
                                .version = "",
                                .description = ""};
    point.provider = get_text(cursor);
    point.name = get_text(cursor);
    point.unit = get_text(cursor);
    point.tag_text = get_text(cursor);
    point.display_name = point.name;
    to->point(to->user, &point);
}

void sn_store_batch_read(const struct sn_store_batch *batch, const struct sn_store_batch_user *to)
{
    struct sn_cursor cursor = sn_cursor_over(batch->bytes.bytes, batch->bytes.size);
    while (sn_cursor_left(&cursor)) {
        if (sn_cursor_u8(&cursor) == MARK_PROCESS)
            read_process(&cursor, to);
        else
            read_point(&cursor, to);
    }
}
