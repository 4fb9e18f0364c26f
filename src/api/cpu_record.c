#include "api/cpu_record.h"

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
#define FLUSH_NS        SN_NS_PER_SECOND /* who reads a trace that runs has it, too */
#define TRACING_NAME    ".NET EventPipe"
#define TRACING_THREADS 64u

struct sn_cpu_record {
    struct sn_loop *loop;
    struct sn_timer timer;
    struct sn_cpu_times *times;
    uint32_t pid;
    bool with_our_ids;
    int fd;           /* -1: no file */
    char *trace_path; /* the trace that the file is beside */
    struct sn_buf text;
    uint64_t flushed_ns;
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

static uint32_t id_of(const struct sn_cpu_record *record, const struct sn_cpu_slice *slice)
{
    return record->with_our_ids ? slice->tid : slice->ns_tid;
}

static void take_slice(void *user, const struct sn_cpu_slice *slice)
{
    struct sn_cpu_record *record = user;
    if (slice->new_name) {
        if (strncmp(slice->new_name, TRACING_NAME, strlen(TRACING_NAME)) == 0)
            (void)sn_table_put(&record->tracing,
                               slice->tid); /* over the limit: counted as the target's own */
        sn_buf_format(&record->text, "n %" PRIu32 " ", id_of(record, slice));
        sn_text_printable(&record->text, slice->new_name, strlen(slice->new_name));
        sn_buf_u8(&record->text, '\n');
    }
    if (!slice->ran_ns)
        return;
    record->total_ns += slice->ran_ns;
    if (sn_table_find(&record->tracing, slice->tid))
        record->tracing_ns += slice->ran_ns;
    sn_buf_format(&record->text, "%" PRIu32 " %" PRIu64 "\n", id_of(record, slice), slice->ran_ns);
}

static bool poll_once(struct sn_cpu_record *record)
{
    uint64_t now = sn_clock_monotonic_ns();
    sn_buf_format(&record->text, "t %" PRIu64 "\n", now);
    bool is_there = sn_cpu_times_poll(record->times, take_slice, record) == SONDE_OK;
    uint64_t ended_ns = sn_cpu_times_ended(record->times);
    record->total_ns += ended_ns;
    if (ended_ns)
        sn_buf_format(&record->text, "e %" PRIu64 "\n", ended_ns);
    if (record->text.size > FLUSH_AT || record->text.failed ||
        now - record->flushed_ns > FLUSH_NS) {
        flush(record);
        record->flushed_ns = now;
    }
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

int sn_cpu_record_open(struct sn_cpu_record *record, const char *trace_path,
                       struct sonde_error *err)
{
    if (record->trace_path && strcmp(record->trace_path, trace_path) == 0)
        return SONDE_OK;
    SN_AUTO(sn_free) char *path = NULL;
    char *kept = strdup(trace_path);
    if (!kept || asprintf(&path, "%s.cpu", trace_path) < 0) {
        free(kept);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a file name");
    }
    flush(record);
    sn_close(record->fd);
    free(record->trace_path);
    record->fd = -1;
    record->trace_path = kept;
    int rc = sn_file_create(path, &record->fd, err);
    if (rc != SONDE_OK)
        return rc;
    sn_file_truncate(record->fd);
    sn_cpu_times_repeat_names(record->times);
    sn_buf_format(&record->text, "sonde-cpu 1 pid=%" PRIu32 " clock=monotonic unit=ns\n",
                  record->pid);
    return SONDE_OK;
}

int sn_cpu_record_new(struct sn_loop *loop, uint32_t pid, bool with_our_ids,
                      struct sn_cpu_record **ret_record, struct sonde_error *err)
{
    struct sn_cpu_record *record = calloc(1, sizeof(*record));
    if (!record)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for CPU times");
    record->fd = -1;
    record->pid = pid;
    record->with_our_ids = with_our_ids;
    record->loop = loop;
    record->text = sn_buf_with_limit(BUFFER_LIMIT);
    record->tracing = sn_table_with_limit(TRACING_THREADS);
    record->timer = (struct sn_timer){.expired = poll_again, .user = record};
    int rc = sn_cpu_times_new(pid, &record->times, err);
    if (rc != SONDE_OK) {
        sn_cpu_record_free(record);
        return rc;
    }
    sn_loop_timer(loop, &record->timer, 0);
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
    free(record->trace_path);
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
