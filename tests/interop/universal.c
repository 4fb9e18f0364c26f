/* Writes a recorder's journal by hand, with all that a recording may hold, so that TraceEvent can
 * be asked what it makes of it: interop_universal JOURNAL SAMPLES [--unfinished | --reopened]. Two
 * processes, three threads each; names come last, as the recorder writes them, perhaps after it was
 * killed and the journal opened again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "format/universal.h"
#include "model/event.h"
#include "model/trace_info.h"
#include "sink/archive/journal.h"

#define KERNEL_AT   UINT64_C(0xffff800000000000)
#define KERNEL_CODE UINT64_C(0xffffffff81000000)
#define JIT_AT      UINT64_C(0x7f0000000000)
#define NATIVE_AT   UINT64_C(0x7f1000000000)
#define SIZE        UINT64_C(0x100000)
#define FIRST_PID   100u

struct stage {
    struct sn_journal *journal;
    struct sn_buf payload;
    struct sn_schema schemas[SN_UNIVERSAL_COUNT];
    struct sn_schema gc_start;
    uint64_t now;
    uint32_t tick;
};

static void put(struct stage *stage, const struct sn_schema *schema, uint32_t pid, uint32_t tid,
                const uint64_t *stack, uint32_t depth)
{
    struct sn_event event = {.schema = schema,
                             .time_ns = stage->now += 1000,
                             .pid = pid,
                             .thread_id = tid,
                             .cpu = stage->tick % 2,
                             .pointer_size = 8,
                             .payload = stage->payload.bytes,
                             .payload_size = (uint32_t)stage->payload.size,
                             .stack = (const uint8_t *)stack,
                             .stack_depth = depth};
    struct sonde_error err = {0};
    if (sn_journal_event(stage->journal, &event, &err) != SONDE_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void tell(struct stage *stage, enum sn_universal kind, uint32_t pid,
                 const struct sn_universal_fields *fields)
{
    sn_buf_clear(&stage->payload);
    sn_universal_encode(kind, fields, &stage->payload);
    put(stage, &stage->schemas[kind], pid, pid, NULL, 0);
}

static void tell_mapping(struct stage *stage, uint32_t pid, uint64_t id, uint64_t start,
                         uint64_t end, const char *file)
{
    tell(stage, SN_UNIVERSAL_MAPPING, pid,
         &(struct sn_universal_fields){.numbers = {id, start, end, 0, 0},
                                       .texts = {sn_universal_text_of(file)}});
}

/* The kernel's mapping is one for all; the others have their process's number in their id. */
static void tell_process(struct stage *stage, uint32_t pid, const char *name)
{
    tell(stage, SN_UNIVERSAL_EXISTING_PROCESS, pid,
         &(struct sn_universal_fields){
             .numbers = {pid}, .texts = {sn_universal_text_of(name), sn_universal_text_of("")}});
    tell(stage, SN_UNIVERSAL_PROCESS_FACTS, pid,
         &(struct sn_universal_fields){
             .numbers = {pid, 1, 0, 5, SN_PROCESS_DOTNET},
             .texts = {sn_universal_text_of("10.0.0"), sn_universal_text_of("dotnet app.dll"),
                       sn_universal_text_of("/"), sn_universal_text_of("")}});
    tell_mapping(stage, pid, 1, KERNEL_AT, UINT64_MAX, "vmlinux");
    tell_mapping(stage, pid, pid * 10 + 1, JIT_AT, JIT_AT + SIZE, "/memfd:doublemapper (deleted)");
    tell_mapping(stage, pid, pid * 10 + 2, NATIVE_AT, NATIVE_AT + SIZE,
                 "/usr/lib/dotnet/libcoreclr.so");
    tell_mapping(stage, pid, pid * 10 + 3, NATIVE_AT + SIZE, NATIVE_AT + 2 * SIZE,
                 "/app/System.Linq.dll");
}

static void tell_symbol(struct stage *stage, uint64_t id, uint64_t mapping, uint64_t start,
                        uint64_t size, const char *name)
{
    tell(stage, SN_UNIVERSAL_SYMBOL, FIRST_PID,
         &(struct sn_universal_fields){.numbers = {id, mapping, start, start + size - 1},
                                       .texts = {sn_universal_text_of(name)}});
}

static void tell_symbols(struct stage *stage, uint32_t pid)
{
    uint64_t jit = (uint64_t)pid * 10 + 1;
    char name[96];
    for (uint32_t i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "void [app] App.Process%u::Work%u(int32,string)[Tier1]",
                       pid, i);
        tell_symbol(stage, pid * 100 + i, jit, JIT_AT + (uint64_t)i * 0x100, 0x100, name);
    }
    tell_symbol(stage, pid * 100 + 8, jit + 1, NATIVE_AT + 0x10, 0x20, "coreclr_execute");
    tell_symbol(stage, pid * 100 + 9, jit + 2, NATIVE_AT + SIZE + 0x10, 0x20,
                "instance void [System.Linq] System.Linq.Enumerable::Sum()[PreJIT]");
}

/* Leaf in the kernel (sometimes), then library, R2R and JIT code, then the runtime. */
static void put_sample(struct stage *stage, uint32_t pid, uint32_t tid, uint32_t number)
{
    uint64_t stack[8];
    uint32_t depth = 0;
    if (number % 4 == 0)
        stack[depth++] = KERNEL_CODE + 0x10;
    stack[depth++] = NATIVE_AT + SIZE + 0x18;
    stack[depth++] = JIT_AT + (uint64_t)(number % 4) * 0x100 + 8 + number % 64;
    stack[depth++] = NATIVE_AT + 0x20;
    sn_buf_clear(&stage->payload);
    sn_universal_encode(SN_UNIVERSAL_CPU, &(struct sn_universal_fields){.numbers = {1}},
                        &stage->payload);
    put(stage, &stage->schemas[SN_UNIVERSAL_CPU], pid, tid, stack, depth);
}

static void put_switch(struct stage *stage, uint32_t pid, uint32_t tid)
{
    uint64_t stack[] = {KERNEL_CODE + 0x18, JIT_AT + 0x110, NATIVE_AT + 0x20};
    struct sn_universal_fields fields = {.numbers = {500, 100, SN_OFF_SLEEPING, 77}};
    sn_buf_clear(&stage->payload);
    sn_universal_encode(SN_UNIVERSAL_SWITCH, &fields, &stage->payload);
    put(stage, &stage->schemas[SN_UNIVERSAL_SWITCH], pid, tid, stack, 3);
}

/* GCStart, version 2: count, depth, reason, type, instance, sequence number. */
static void put_gc(struct stage *stage, uint32_t pid, uint32_t tid, uint32_t count)
{
    sn_buf_clear(&stage->payload);
    sn_buf_u32(&stage->payload, count);
    sn_buf_u32(&stage->payload, 1);
    sn_buf_u32(&stage->payload, 0);
    sn_buf_u32(&stage->payload, 0);
    sn_buf_u16(&stage->payload, 9);
    sn_buf_u64(&stage->payload, count);
    put(stage, &stage->gc_start, pid, tid, NULL, 0);
}

static void record(struct stage *stage, uint32_t samples)
{
    sn_buf_clear(&stage->payload);
    for (uint32_t i = 0; i < samples; i++, stage->tick++) {
        uint32_t pid = FIRST_PID * (1 + i % 2);
        uint32_t tid = pid + i / 2 % 3;
        put_sample(stage, pid, tid, i);
        if (i % 10 == 0)
            put_switch(stage, pid, tid);
        if (i % 100 == 0)
            put_gc(stage, pid, tid, i / 100 + 1);
        if (i % 50 == 0)
            (void)sn_journal_flush(stage->journal, NULL);
    }
}

int main(int argc, char **argv)
{
    struct stage stage = {.payload = sn_buf_with_limit(65536),
                          .gc_start = {.provider = "Microsoft-Windows-DotNETRuntime",
                                       .name = "GCStart",
                                       .event_id = 1,
                                       .version = 2,
                                       .level = 4,
                                       .opcode = 1,
                                       .keywords = 1,
                                       .layout_from_table = true}};
    uint64_t samples;
    if (argc < 3 || !sn_text_to_u64(argv[2], 10000000, &samples))
        return 2;
    stage.now = sn_clock_monotonic_ns() - UINT64_C(60000000000);
    struct sn_trace_info info = {.start_utc_ns = sn_clock_utc_ns() - UINT64_C(60000000000),
                                 .start_ticks = stage.now,
                                 .ticks_per_second = 1000000000u,
                                 .pointer_size = 8,
                                 .processor_count = 2,
                                 .sampling_interval_ns = 1000000};
    struct sonde_error err = {0};
    sn_universal_schemas(stage.schemas);
    if (sn_journal_new(argv[1], &info, &stage.journal, &err) != SONDE_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tell_process(&stage, FIRST_PID, "first");
    tell_process(&stage, FIRST_PID * 2, "second");
    record(&stage, (uint32_t)samples);
    bool is_finished = argc == 3 || strcmp(argv[3], "--reopened") == 0;
    if (argc > 3) {
        sn_journal_free(stage.journal);
        stage.journal = NULL;
    }
    if (!stage.journal && is_finished &&
        sn_journal_reopen(argv[1], &stage.journal, &err) != SONDE_OK)
        return 1;
    if (is_finished) {
        tell_symbol(&stage, 1, 1, KERNEL_CODE, 0x100, "do_syscall_64");
        tell_symbols(&stage, FIRST_PID);
        tell_symbols(&stage, FIRST_PID * 2);
    }
    int rc = is_finished ? sn_journal_finish(stage.journal, &err) : SONDE_OK;
    sn_journal_free(stage.journal);
    sn_buf_done(&stage.payload);
    return rc == SONDE_OK ? 0 : 1;
}
