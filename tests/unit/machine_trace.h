/* A small recording of a machine, written by hand as NetTrace 6: two .NET processes, a native one
 * and the kernel, with samples, switches, system calls and collections. For tests. */
#ifndef SN_TEST_MACHINE_TRACE_H
#define SN_TEST_MACHINE_TRACE_H

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "method_bytes.h"
#include "model/trace_info.h"
#include "sink/archive/nettrace_archive.h"
#include "universal_bytes.h"

#define MS     1000000ull
#define START  (1000 * MS) /* of the recording */
#define SHOP   100u
#define WORKER 200u
#define SHELL  300u
#define GC_TID 109u

#define KERNEL_AT 0xffff800000000000ull
#define SCHEDULE  0xffffffff81000000ull
#define FUTEX     0xffffffff81000100ull
#define COPY      0xffffffff81000200ull
#define NANOSLEEP 0xffffffff81000300ull
#define JIT_AT    0x7f0000000000ull
#define COMPUTE   (JIT_AT + 0x000) /* Shop.Tax.Compute */
#define WAIT_LOCK (JIT_AT + 0x100) /* Shop.Orders.Place */
#define SLEEPER   (JIT_AT + 0x200) /* System.Threading.Thread.Sleep */
#define LIBC_AT   0x7f1000000000ull
#define LIBC_READ (LIBC_AT + 0x100)
#define LIBC_WAIT (LIBC_AT + 0x200)
#define CLR_AT    0x7f2000000000ull
#define SHELL_AT  0x560000000000ull

struct machine_trace {
    char path[64];
    struct sn_nettrace_archive *archive;
    struct sn_schema runtime[256]; /* by event id */
};

static inline void put_to_file(void *to, const struct sn_event *event)
{
    struct sonde_error err = {0};
    assert_int_equal(sn_nettrace_archive_event(to, event, &err), 0);
}

static inline void put(struct machine_trace *trace, struct universal_event made)
{
    send_universal(&made, put_to_file, trace->archive);
}

static inline void put_process(struct machine_trace *trace, uint32_t pid, const char *name,
                               enum sn_process_kind kind, const char *command)
{
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_EXISTING_PROCESS,
                                        .pid = pid,
                                        .time_ns = START,
                                        .numbers = {pid},
                                        .texts = {name}});
    put(trace, (struct universal_event){
                   .kind = SN_UNIVERSAL_PROCESS_FACTS,
                   .pid = pid,
                   .time_ns = START,
                   .numbers = {pid, 1, 1000, 5, kind},
                   .texts = {kind == SN_PROCESS_DOTNET ? "10.0.1" : "", command, "", ""}});
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_MAPPING,
                                        .pid = pid,
                                        .time_ns = START,
                                        .numbers = {1, KERNEL_AT, UINT64_MAX, 0, 0},
                                        .texts = {"vmlinux"}});
}

static inline void put_mapping(struct machine_trace *trace, uint32_t pid, uint64_t id,
                               uint64_t start, const char *path)
{
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_MAPPING,
                                        .pid = pid,
                                        .time_ns = START,
                                        .numbers = {id, start, start + 0x10000, 0, 0},
                                        .texts = {path}});
}

static inline void put_symbol(struct machine_trace *trace, uint64_t mapping, uint64_t start,
                              const char *name)
{
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_SYMBOL,
                                        .pid = SHOP,
                                        .time_ns = START + 5000 * MS,
                                        .numbers = {start & 0xffff, mapping, start, start + 0xff},
                                        .texts = {name}});
}

static inline void put_thread(struct machine_trace *trace, uint32_t pid, uint64_t tid,
                              const char *name)
{
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_THREAD_NAME,
                                        .pid = pid,
                                        .thread_id = tid,
                                        .time_ns = START,
                                        .texts = {name}});
}

static inline void put_runtime(struct machine_trace *trace, uint32_t pid, uint64_t tid, uint32_t id,
                               uint64_t time_ns, const struct sn_buf *payload)
{
    struct sn_schema *schema = &trace->runtime[id];
    *schema = (struct sn_schema){.provider = RUNTIME_PROVIDER,
                                 .name = "",
                                 .event_id = id,
                                 .version = 2,
                                 .level = 4,
                                 .index = SN_UNIVERSAL_COUNT + id};
    const struct sn_event event = {.schema = schema,
                                   .time_ns = time_ns,
                                   .pid = pid,
                                   .cpu = UINT32_MAX,
                                   .thread_id = tid,
                                   .capture_thread_id = tid,
                                   .pointer_size = 8,
                                   .payload = payload->bytes,
                                   .payload_size = (uint32_t)payload->size};
    put_to_file(trace->archive, &event);
}

static inline void put_method(struct machine_trace *trace, uint32_t pid, uint64_t start,
                              const char *type, const char *name)
{
    struct sn_buf payload = sn_buf_with_limit(65536);
    sn_buf_u64(&payload, start);
    sn_buf_u64(&payload, 77);
    sn_buf_u64(&payload, start);
    sn_buf_u32(&payload, 0x100);
    sn_buf_u32(&payload, 0x06000001);
    sn_buf_u32(&payload, 8);
    put_wide(&payload, type);
    put_wide(&payload, name);
    put_wide(&payload, "void ()");
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, 0);
    put_runtime(trace, pid, pid, 143, START, &payload);
    sn_buf_done(&payload);
}

static inline void put_numbers(struct machine_trace *trace, uint32_t pid, uint64_t tid, uint32_t id,
                               uint64_t time_ns, const uint32_t *numbers, size_t count)
{
    struct sn_buf payload = sn_buf_with_limit(256);
    for (size_t i = 0; i < count; i++)
        sn_buf_u32(&payload, numbers[i]);
    sn_buf_u16(&payload, 0);
    sn_buf_u64(&payload, 0);
    put_runtime(trace, pid, tid, id, time_ns, &payload);
    sn_buf_done(&payload);
}

#define STACK(...)                            \
    .stack = (const uint64_t[]){__VA_ARGS__}, \
    .depth = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static inline struct machine_trace *begin_machine_trace(void)
{
    struct machine_trace *trace = calloc(1, sizeof(*trace));
    assert_non_null(trace);
    const struct sn_trace_info info = {.format_version = 6,
                                       .start_utc_ns = 1700000000000000000ull,
                                       .start_ticks = START,
                                       .ticks_per_second = 1000000000,
                                       .pointer_size = 8,
                                       .processor_count = 2,
                                       .sampling_interval_ns = MS};
    struct sonde_error err = {0};
    (void)snprintf(trace->path, sizeof(trace->path), "/tmp/machine-trace-%d.nettrace", getpid());
    assert_int_equal(sn_nettrace_archive_open(trace->path, 6, &info, &trace->archive, &err), 0);
    put_process(trace, SHOP, "dotnet", SN_PROCESS_DOTNET, "dotnet /srv/Shop.dll --port 80");
    put_process(trace, WORKER, "worker", SN_PROCESS_DOTNET, "/srv/worker");
    put_process(trace, SHELL, "sh", SN_PROCESS_NATIVE, "sh -c x");
    put_process(trace, SHELL + 1, "sh", SN_PROCESS_NATIVE, "sh -c y");
    for (uint32_t pid = SHOP; pid <= WORKER; pid += WORKER - SHOP) {
        put_mapping(trace, pid, pid + 1, JIT_AT, "/memfd:doublemapper (deleted)");
        put_mapping(trace, pid, pid + 2, LIBC_AT, "/lib/libc.so.6");
        put_mapping(trace, pid, pid + 3, CLR_AT, "/usr/share/dotnet/libcoreclr.so");
    }
    put_mapping(trace, SHELL, SHELL + 2, SHELL_AT, "/bin/sh");
    put_mapping(trace, SHELL + 1, SHELL + 3, SHELL_AT, "/bin/sh");
    put_method(trace, SHOP, COMPUTE, "Shop.Tax", "Compute");
    put_method(trace, SHOP, WAIT_LOCK, "Shop.Orders", "Place");
    put_method(trace, SHOP, SLEEPER, "System.Threading.Thread", "Sleep");
    put_method(trace, WORKER, COMPUTE, "Worker.Queue", "Drain");
    put_thread(trace, SHOP, SHOP, "dotnet");
    put_thread(trace, SHOP, SHOP + 1, ".NET TP Worker");
    put_thread(trace, SHOP, GC_TID, ".NET Server GC");
    return trace;
}

/* Samples a millisecond apart: 60 of the shop's method, 10 of its collector, 20 of the worker's, 10
 * of the kernel below the shells' code. */
static inline void put_samples(struct machine_trace *trace)
{
    for (uint64_t i = 0; i < 60; i++)
        put(trace, (struct universal_event){.kind = SN_UNIVERSAL_CPU,
                                            .pid = SHOP,
                                            .thread_id = SHOP + 1,
                                            .time_ns = START + (i + 1) * MS,
                                            .numbers = {1},
                                            STACK(COMPUTE + 8, LIBC_AT + 0x5000)});
    for (uint64_t i = 0; i < 10; i++)
        put(trace, (struct universal_event){.kind = SN_UNIVERSAL_CPU,
                                            .pid = SHOP,
                                            .thread_id = GC_TID,
                                            .time_ns = START + (i + 61) * MS,
                                            .numbers = {1},
                                            STACK(CLR_AT + 0x10)});
    for (uint64_t i = 0; i < 20; i++)
        put(trace, (struct universal_event){.kind = SN_UNIVERSAL_CPU,
                                            .pid = WORKER,
                                            .time_ns = START + (i + 71) * MS,
                                            .numbers = {1},
                                            STACK(COMPUTE + 8)});
    for (uint64_t i = 0; i < 10; i++)
        put(trace, (struct universal_event){.kind = SN_UNIVERSAL_CPU,
                                            .pid = SHELL + (uint32_t)i % 2,
                                            .time_ns = START + (i + 91) * MS,
                                            .numbers = {1},
                                            STACK(COPY + 4, SHELL_AT + 0x10)});
}

static inline void put_switch(struct machine_trace *trace, uint32_t pid, uint64_t tid,
                              uint64_t end_ms, uint64_t off_ms, uint64_t queue_us,
                              enum sn_off_reason reason, const uint64_t *stack, uint32_t depth)
{
    put(trace, (struct universal_event){.kind = SN_UNIVERSAL_SWITCH,
                                        .pid = pid,
                                        .thread_id = tid,
                                        .time_ns = START + end_ms * MS,
                                        .numbers = {off_ms * MS, queue_us * 1000, reason, 0},
                                        .stack = stack,
                                        .depth = depth});
}

/* After the samples: a lock for 40 ms, a sleep for 100, preempted for 5; then a collection that
 * stops the worker thread for 9 of its 10 ms. */
static inline void put_switches(struct machine_trace *trace)
{
    const uint64_t lock[] = {SCHEDULE, FUTEX + 4, LIBC_WAIT + 4, WAIT_LOCK + 8};
    const uint64_t sleep[] = {SCHEDULE, FUTEX + 4, LIBC_WAIT + 4, SLEEPER + 8, WAIT_LOCK + 8};
    const uint64_t preempted[] = {SCHEDULE, COMPUTE + 8};
    const uint64_t stopped[] = {SCHEDULE, FUTEX + 4, CLR_AT + 0x20, COMPUTE + 8};
    put_switch(trace, SHOP, SHOP + 1, 150, 40, 30, SN_OFF_SLEEPING, lock, 4);
    put_switch(trace, SHOP, SHOP, 260, 100, 3, SN_OFF_SLEEPING, sleep, 5);
    put_switch(trace, SHOP, SHOP + 1, 270, 5, 0, SN_OFF_PREEMPTED, preempted, 2);
    const uint32_t for_gc[] = {1, 7};
    const uint32_t started[] = {7, 0, 0, 0};
    put_numbers(trace, SHOP, SHOP, 9, START + 300 * MS, for_gc, 2);
    put_numbers(trace, SHOP, SHOP, 1, START + 301 * MS, started, 4);
    /* A sampler wants to stop them as well, and has to wait. */
    const uint32_t for_sampler[] = {0, 7};
    put_numbers(trace, SHOP, GC_TID, 9, START + 305 * MS, for_sampler, 2);
    put_numbers(trace, SHOP, SHOP, 3, START + 310 * MS, for_gc, 0);
    put_numbers(trace, SHOP, GC_TID, 3, START + 311 * MS, for_gc, 0);
    put_switch(trace, SHOP, SHOP + 1, 310, 9, 10, SN_OFF_SLEEPING, stopped, 4);
}

static inline void put_syscalls(struct machine_trace *trace)
{
    for (uint64_t i = 0; i < 5; i++)
        put(trace, (struct universal_event){.kind = SN_UNIVERSAL_SYSCALL,
                                            .pid = SHOP,
                                            .thread_id = SHOP + 1,
                                            .time_ns = START + (320 + i) * MS,
                                            .numbers = {0, (i + 1) * 1000, i ? 10 : (uint64_t)-11},
                                            STACK(LIBC_READ + 4, COMPUTE + 8)});
}

/* Names come last, as a recorder writes them. */
static inline void end_machine_trace(struct machine_trace *trace)
{
    struct sonde_error err = {0};
    put_symbol(trace, 1, SCHEDULE, "__schedule");
    put_symbol(trace, 1, FUTEX, "futex_wait");
    put_symbol(trace, 1, COPY, "copy_page");
    put_symbol(trace, SHOP + 2, LIBC_READ, "read");
    put_symbol(trace, SHOP + 2, LIBC_WAIT, "pthread_cond_wait");
    put_symbol(trace, SHELL + 2, SHELL_AT, "main");
    put_symbol(trace, SHELL + 3, SHELL_AT, "main");
    assert_int_equal(sn_nettrace_archive_finish(trace->archive, &err), 0);
    sn_nettrace_archive_free(trace->archive);
    trace->archive = NULL;
}

static inline void free_machine_trace(struct machine_trace *trace)
{
    (void)unlink(trace->path);
    free(trace);
}

#endif
