/* A machine-wide recording as perfcollect would have written it: the text of `perf script` in a
 * zip. Written by us, so that generated code has names whatever the kernel knows of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/walk.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/perf_script.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "format/zip_writer.h"
#include "model/event.h"
#include "sonde/convert.h"
#include "symbol/code.h"
#include "symbol/methods.h"

#define NAME_LIMIT 65536u
#define NAME_SIZE  512u
#define DEFAULT_NS 1001001u /* 999 a second */
#define JITTED     8u       /* of a method's flags; else it is precompiled */
#define CPU_MAX    4096u

struct script {
    struct sn_sink sink;
    const struct sn_walk *walk; /* borrows */
    struct sn_code *code;       /* borrows */
    struct sn_zip_writer *zip;  /* borrows */
    struct sn_stream stream;
    struct sn_buf symbol;
    uint64_t last_ns[CPU_MAX]; /* when a sample of each CPU ends */
};

static int write_text(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    return sn_zip_writer_write(user, bytes, size, err);
}

/* As the runtime's own perf maps call the kinds of code. */
static const char *tier_of(const struct sn_method *method)
{
    static const char *const names[] = {"",
                                        "MinOptJitted",
                                        "Optimized",
                                        "QuickJitted",
                                        "OptimizedTier1",
                                        "OptimizedTier1OSR",
                                        "InstrumentedTier",
                                        "InstrumentedTierOptimized"};
    return method->flags & JITTED ? names[method->flags >> 7 & 7] : "PreJIT";
}

/* As the runtime's perf maps have it: the reader takes module and tier out of the name. */
static void put_managed(struct script *script, const struct sn_place *place)
{
    const struct sn_method *method = place->method;
    const struct sn_module *module = sn_methods_module(place->methods, method->module_id);
    const char *bracket = strchr(method->signature, '(');
    size_t before = bracket ? (size_t)(bracket - method->signature) : strlen(method->signature);
    while (before && method->signature[before - 1] == ' ')
        before--;
    const char *tier = tier_of(method);
    struct sn_buf *to = &script->symbol;
    sn_buf_append(to, before ? method->signature : "void", before ? before : 4);
    sn_buf_format(to, " [%s] %s::%s%s", module && *module->name ? module->name : "unknown",
                  method->type, method->name, bracket ? bracket : "()");
    if (*tier)
        sn_buf_format(to, "[%s]", tier);
}

static void put_frame(struct script *script, const struct sn_event *event, uint64_t address,
                      bool is_return)
{
    struct sn_place place;
    char map[32];
    const char *module = map;
    sn_code_find(script->code, event->pid, address, is_return, event->time_ns, &place);
    (void)snprintf(map, sizeof(map), "/tmp/perf-%u.map", event->pid);
    sn_buf_clear(&script->symbol);
    if (place.kind == SN_PLACE_MANAGED) {
        put_managed(script, &place);
    } else if (place.kind == SN_PLACE_NATIVE || place.kind == SN_PLACE_KERNEL) {
        if (*place.module) /* else it is code without a file, whose name has the module in it */
            module = place.kind == SN_PLACE_KERNEL ? "[kernel.kallsyms]" : place.module;
        if (*place.name)
            sn_buf_text(&script->symbol, place.name);
        else
            sn_buf_format(&script->symbol, "0x%llx", (unsigned long long)place.offset);
    } else {
        module = place.kind == SN_PLACE_STUB ? "[clr stub]" : "[unknown]";
        sn_buf_text(&script->symbol, "[unknown]");
    }
    sn_perf_script_frame(&script->stream.buf, address, sn_buf_string(&script->symbol), module);
}

/* Where the thread was comes first, in the kernel and again outside of it; the rest are addresses
 * to return to. */
static void put_stack(struct script *script, const struct sn_event *event)
{
    bool was_kernel = true;
    for (uint32_t i = 0; event->stack && i < event->stack_depth; i++) {
        uint64_t address = 0;
        memcpy(&address, event->stack + (size_t)i * event->pointer_size, event->pointer_size);
        bool is_kernel = sn_universal_is_kernel(address);
        bool is_return = i > 0 && !(was_kernel && !is_kernel);
        put_frame(script, event, address, is_return);
        was_kernel = is_kernel;
    }
    sn_perf_script_end(&script->stream.buf);
}

static char state_of(uint64_t reason)
{
    switch (reason) {
    case SN_OFF_PREEMPTED: return 'R';
    case SN_OFF_DISK: return 'D';
    case SN_OFF_STOPPED: return 'T';
    case SN_OFF_EXITED: return 'X';
    default: return 'S';
    }
}

/* A reader pairs the lines of a thread, wherever they stand, and puts samples in order itself. */
static void put_switch(struct script *script, const struct sn_event *event,
                       const struct sn_universal_fields *fields, struct sn_perf_script_event *head)
{
    struct sn_buf *to = &script->stream.buf;
    uint64_t off_ns = fields->numbers[0];
    head->time_ns -= off_ns < head->time_ns ? off_ns : head->time_ns;
    sn_perf_script_leave(to, head, state_of(fields->numbers[2]));
    put_stack(script, event);
    head->time_ns = event->time_ns;
    sn_perf_script_return(to, head);
    sn_perf_script_end(to);
}

/* A reader takes a sample to last until the next one of its CPU: this one ends it, and stands for
 * what the recording has not. */
static void put_end(struct script *script, uint32_t cpu)
{
    struct sn_perf_script_event head = {
        .command = "not recorded", .cpu = cpu, .time_ns = script->last_ns[cpu]};
    sn_perf_script_sample(&script->stream.buf, &head, 1);
    sn_perf_script_frame(&script->stream.buf, 0, "[idle]", "not recorded");
    sn_perf_script_end(&script->stream.buf);
}

static void put_sample(struct script *script, const struct sn_event *event,
                       const struct sn_universal_fields *fields,
                       const struct sn_perf_script_event *head)
{
    const struct sn_trace_info *info = sn_walk_info(script->walk);
    uint64_t period = info && info->sampling_interval_ns ? info->sampling_interval_ns : DEFAULT_NS;
    uint32_t cpu = event->cpu < CPU_MAX ? event->cpu : 0;
    uint64_t last_ns = script->last_ns[cpu];
    if (last_ns && event->time_ns > last_ns && event->time_ns - last_ns > period / 2)
        put_end(script, cpu);
    sn_perf_script_sample(&script->stream.buf, head, period * fields->numbers[0]);
    put_stack(script, event);
    script->last_ns[cpu] = event->time_ns + period;
}

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct script *script = (struct script *)sink;
    struct sn_universal_fields fields;
    int kind = sn_universal_kind(event->schema);
    if ((kind != SN_UNIVERSAL_CPU && kind != SN_UNIVERSAL_SWITCH) || event->pointer_size > 8 ||
        !sn_universal_decode((enum sn_universal)kind, event, &fields))
        return SONDE_AGAIN;
    const struct sn_code_process *process =
        sn_code_process(script->code, event->pid, event->time_ns);
    struct sn_perf_script_event head = {.command = process ? process->name : "",
                                        .pid = event->pid,
                                        .thread_id = event->thread_id,
                                        .cpu = event->cpu,
                                        .time_ns = event->time_ns};
    if (kind == SN_UNIVERSAL_CPU)
        put_sample(script, event, &fields, &head);
    else
        put_switch(script, event, &fields, &head);
    sn_stream_settle(&script->stream);
    return script->stream.err.status;
}

static int finish_script(struct sn_sink *sink, struct sonde_error *err)
{
    struct script *script = (struct script *)sink;
    for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++) {
        if (script->last_ns[cpu])
            put_end(script, cpu);
    }
    return sn_stream_finish(&script->stream, err);
}

static void free_script(struct sn_sink *sink)
{
    struct script *script = (struct script *)sink;
    sn_stream_done(&script->stream);
    sn_buf_done(&script->symbol);
    free(script);
}

static const struct sn_sink_ops script_ops = {
    .name = "perf script", .event = take_event, .finish = finish_script, .free = free_script};

/* Names come last in a recording, so it is read twice. */
static int read_names(const char *path, struct sn_code *code, struct sonde_error *err)
{
    SN_AUTO(sn_walk_done) struct sn_walk walk;
    int rc = sn_walk_init(&walk, path, err);
    if (rc == SONDE_OK)
        rc = sn_walk_subscribe(&walk, &sn_code_request, sn_code_sink(code), false, err);
    if (rc == SONDE_OK)
        rc = sn_walk_run(&walk, NULL, NULL, err);
    if (rc == SONDE_OK && !sn_road_has_provider(walk.road, "Universal.Events"))
        rc = sn_fail(err, SONDE_E_NOT_FOUND, 0,
                     "'%s' has no CPU samples of the kernel; 'sonde record' takes them", path);
    return rc;
}

static int write_script(const char *path, struct sn_code *code, struct sn_zip_writer *zip,
                        struct sonde_error *err)
{
    static const struct sn_request_item items[] = {{.provider = "Universal.Events"}};
    static const struct sn_request request = {.item_count = 1, .items = items};
    SN_AUTO(sn_walk_done) struct sn_walk walk;
    int rc = sn_walk_init(&walk, path, err);
    if (rc != SONDE_OK)
        return rc;
    struct script *script = calloc(1, sizeof(*script));
    if (!script)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a conversion");
    *script = (struct script){.sink.ops = &script_ops, .walk = &walk, .code = code, .zip = zip};
    script->symbol = sn_buf_with_limit(NAME_LIMIT);
    sn_stream_init(&script->stream, write_text, zip);
    rc = sn_walk_subscribe(&walk, &request, &script->sink, true, err);
    return rc == SONDE_OK ? sn_walk_run(&walk, NULL, NULL, err) : rc;
}

/* "shop.trace.zip" holds "shop.trace/perf.data.txt". */
static void name_member(const char *output, char name[NAME_SIZE])
{
    const char *slash = strrchr(output, '/');
    const char *base = slash ? slash + 1 : output;
    const char *end = strstr(base, ".trace.zip"); /* perhaps a draft of it */
    size_t size = end ? (size_t)(end - base) : strcspn(base, ".");
    (void)snprintf(name, NAME_SIZE, "%.*s.trace/perf.data.txt", size < 255 ? (int)size : 255, base);
}

static int write_zip(const char *path, struct sn_code *code, const char *output,
                     struct sonde_error *err)
{
    SN_AUTO(sn_close) int fd = -1;
    SN_AUTO(sn_zip_writer_free) struct sn_zip_writer *zip = NULL;
    char member[NAME_SIZE];
    name_member(output, member);
    int rc = sn_file_create(output, &fd, err);
    if (rc != SONDE_OK)
        return rc;
    sn_file_truncate(fd);
    rc = sn_zip_writer_new(fd, sn_clock_utc_ns(), &zip, err);
    if (rc == SONDE_OK)
        rc = sn_zip_writer_begin(zip, member, UINT64_MAX, err);
    if (rc != SONDE_OK)
        return rc;
    int read = write_script(path, code, zip, err);
    if (read != SONDE_OK && read != SONDE_E_TRUNCATED)
        return read;
    rc = sn_zip_writer_end(zip, err);
    if (rc == SONDE_OK)
        rc = sn_zip_writer_finish(zip, err);
    return rc == SONDE_OK ? read : rc;
}

int sonde_convert_perfcollect(const char *path, const char *output, struct sonde_error *err)
{
    SN_AUTO(sn_code_free) struct sn_code *code = NULL;
    struct sonde_error cut = {0}; /* told by the second reading again */
    int rc = sn_code_new(&code, err);
    if (rc != SONDE_OK)
        return rc;
    rc = read_names(path, code, &cut);
    if (rc != SONDE_OK && rc != SONDE_E_TRUNCATED)
        return sn_fail_as(err, &cut);
    return write_zip(path, code, output, err);
}
