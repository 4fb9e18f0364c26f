#include "api/cpu_record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/table.h"
#include "base/text.h"
#include "source/proc/cpu_times.h"

/* Often enough to tell which thread ran in a tenth of a second, rarely enough to cost nothing: one
 * more interval for every 64 threads. */
#define INTERVAL_NS     (50ull * SN_NS_PER_MS)
#define THREADS_A_LOOK  64u
#define BUFFER_LIMIT    (1u << 20)
#define FLUSH_AT        8192u
#define TRACING_NAME    ".NET EventPipe"
#define TRACING_THREADS 64u

struct sn_cpu_record {
    struct sn_loop *loop;
    struct sn_timer timer;
    struct sn_cpu_times *times;
    int fd;
    struct sn_buf text;
    struct sn_table tracing; /* tids of the runtime's own tracing threads */
    uint64_t total_ns;
    uint64_t tracing_ns;
};

static void flush(struct sn_cpu_record *record)
{
    /* A full disk ends the trace itself; this record is only its companion and then ends as well.
     */
    if (record->fd >= 0 &&
        sn_file_write_all(record->fd, record->text.bytes, record->text.size, NULL) != SONDE_OK) {
        sn_close(record->fd);
        record->fd = -1;
    }
    sn_buf_clear(&record->text);
}

static void take_slice(void *user, const struct sn_cpu_slice *slice)
{
    struct sn_cpu_record *record = user;
    if (slice->new_name) {
        if (strncmp(slice->new_name, TRACING_NAME, strlen(TRACING_NAME)) == 0)
            (void)sn_table_put(&record->tracing,
                               slice->tid); /* over the limit: counted as the target's own */
        sn_buf_format(&record->text, "n %" PRIu32 " ", slice->ns_tid);
        sn_text_printable(&record->text, slice->new_name, strlen(slice->new_name));
        sn_buf_u8(&record->text, '\n');
    }
    if (!slice->ran_ns)
        return;
    record->total_ns += slice->ran_ns;
    if (sn_table_find(&record->tracing, slice->tid))
        record->tracing_ns += slice->ran_ns;
    sn_buf_format(&record->text, "%" PRIu32 " %" PRIu64 "\n", slice->ns_tid, slice->ran_ns);
}

static bool poll_once(struct sn_cpu_record *record)
{
    sn_buf_format(&record->text, "t %" PRIu64 "\n", sn_clock_monotonic_ns());
    bool is_there = sn_cpu_times_poll(record->times, take_slice, record) == SONDE_OK;
    if (record->text.size > FLUSH_AT || record->text.failed)
        flush(record);
    return is_there;
}

static void poll_again(struct sn_timer *timer)
{
    struct sn_cpu_record *record = timer->user;
    if (!poll_once(record))
        return;
    uint64_t looks = 1 + sn_cpu_times_thread_count(record->times) / THREADS_A_LOOK;
    sn_loop_timer(record->loop, timer, sn_clock_deadline(INTERVAL_NS * looks));
}

static int open_file(struct sn_cpu_record *record, uint32_t pid, const char *path,
                     struct sonde_error *err)
{
    record->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (record->fd < 0)
        return sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write '%s'", path);
    sn_buf_format(&record->text, "sonde-cpu 1 pid=%" PRIu32 " clock=monotonic unit=ns\n", pid);
    return SONDE_OK;
}

int sn_cpu_record_new(struct sn_loop *loop, uint32_t pid, const char *path,
                      struct sn_cpu_record **ret_record, struct sonde_error *err)
{
    struct sn_cpu_record *record = calloc(1, sizeof(*record));
    if (!record)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for CPU times");
    record->fd = -1;
    record->loop = loop;
    record->text = sn_buf_with_limit(BUFFER_LIMIT);
    record->tracing = sn_table_with_limit(TRACING_THREADS);
    record->timer = (struct sn_timer){.expired = poll_again, .user = record};
    int rc = sn_cpu_times_new(pid, &record->times, err);
    if (rc == SONDE_OK && path)
        rc = open_file(record, pid, path, err);
    if (rc != SONDE_OK) {
        sn_cpu_record_free(record);
        return rc;
    }
    poll_again(&record->timer);
    *ret_record = record;
    return SONDE_OK;
}

void sn_cpu_record_stop(struct sn_cpu_record *record)
{
    sn_loop_untimer(&record->timer);
    if (!record->times)
        return;
    (void)poll_once(record);
    flush(record);
    sn_cpu_times_free(record->times);
    record->times = NULL;
}

void sn_cpu_record_free(struct sn_cpu_record *record)
{
    if (!record)
        return;
    sn_cpu_record_stop(record);
    sn_close(record->fd);
    sn_buf_done(&record->text);
    sn_table_done(&record->tracing);
    free(record);
}

uint64_t sn_cpu_record_total_ns(const struct sn_cpu_record *record)
{
    return record->total_ns;
}

uint64_t sn_cpu_record_tracing_ns(const struct sn_cpu_record *record)
{
    return record->tracing_ns;
}
