#include "sink/export/usdt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "sink/export/export_fields.h"

/* Each probe is one nop and a note that says where its arguments are. The tracer counts itself in
 * at the semaphore, so that nothing is read or formatted for nobody. */
#define _SDT_HAS_SEMAPHORES 1 /* NOLINT(bugprone-reserved-identifier): sys/sdt.h asks for it */
#include <sys/sdt.h>

#define RUNTIME     "Microsoft-Windows-DotNETRuntime"
#define JSON_LIMIT  (64u << 10)
#define PAUSE_LIMIT 65536u

#define SEMAPHORE(name)                              \
    volatile unsigned short sonde_##name##_semaphore \
        __attribute__((used, section(".probes"), visibility("hidden")))

SEMAPHORE(event_critical);
SEMAPHORE(event_error);
SEMAPHORE(event_warning);
SEMAPHORE(event_info);
SEMAPHORE(event_verbose);
SEMAPHORE(gc_start);
SEMAPHORE(gc_end);
SEMAPHORE(gc_pause);
SEMAPHORE(gc_heap_stats);
SEMAPHORE(gc_alloc_tick);
SEMAPHORE(exception_thrown);
SEMAPHORE(contention_start);
SEMAPHORE(contention_stop);
SEMAPHORE(thread_pool_adjustment);
SEMAPHORE(method_load);

struct sn_usdt {
    struct sn_event_user user;
    struct sn_buf json;
    struct sn_table pauses; /* of a process to when it was suspended */
};

/* What a probe is made of. */
struct shot {
    struct sn_usdt *usdt;
    struct sonde_event *event;
    struct sonde_event_info info;
    uint32_t pid; /* as this machine counts it */
};

static uint64_t number(const struct shot *shot, const char *name)
{
    struct sonde_value value;
    if (!sonde_event_field(shot->event, name, &value))
        return 0;
    if (value.type == SONDE_TYPE_REAL)
        return value.real >= 0 && value.real < 0x1p63 ? (uint64_t)value.real : 0;
    return value.number;
}

static const char *text(const struct shot *shot, const char *name)
{
    struct sonde_value value;
    return sonde_event_field(shot->event, name, &value) && value.type == SONDE_TYPE_TEXT
               ? value.text
               : "";
}

/* Whether anybody listens to anything. */
static bool is_wanted(const struct sn_event_user *user)
{
    static const volatile unsigned short *const semaphores[] = {
        &sonde_event_critical_semaphore,   &sonde_event_error_semaphore,
        &sonde_event_warning_semaphore,    &sonde_event_info_semaphore,
        &sonde_event_verbose_semaphore,    &sonde_gc_start_semaphore,
        &sonde_gc_end_semaphore,           &sonde_gc_pause_semaphore,
        &sonde_gc_heap_stats_semaphore,    &sonde_gc_alloc_tick_semaphore,
        &sonde_exception_thrown_semaphore, &sonde_contention_start_semaphore,
        &sonde_contention_stop_semaphore,  &sonde_thread_pool_adjustment_semaphore,
        &sonde_method_load_semaphore,
    };
    (void)user;
    for (size_t i = 0; i < sizeof(semaphores) / sizeof(*semaphores); i++) {
        if (*semaphores[i])
            return true;
    }
    return false;
}

/* What looks complicated is inside the macros of sys/sdt.h.
 * NOLINTBEGIN(readability-function-cognitive-complexity) */

/* --- every event, by its level --- */

static void fire_level(const struct shot *shot)
{
    const char *provider = shot->info.provider;
    const char *name = shot->info.name;
    uint64_t thread = shot->info.thread_id;
    sn_buf_clear(&shot->usdt->json);
    sn_event_fields_json(shot->event, &shot->usdt->json);
    const char *json = sn_buf_string(&shot->usdt->json);
    switch (shot->info.level) {
    case 1: DTRACE_PROBE5(sonde, event_critical, shot->pid, provider, name, json, thread); break;
    case 2: DTRACE_PROBE5(sonde, event_error, shot->pid, provider, name, json, thread); break;
    case 3: DTRACE_PROBE5(sonde, event_warning, shot->pid, provider, name, json, thread); break;
    case 5: DTRACE_PROBE5(sonde, event_verbose, shot->pid, provider, name, json, thread); break;
    default: DTRACE_PROBE5(sonde, event_info, shot->pid, provider, name, json, thread); break;
    }
}

static bool is_level_wanted(uint8_t level)
{
    switch (level) {
    case 1: return sonde_event_critical_semaphore > 0;
    case 2: return sonde_event_error_semaphore > 0;
    case 3: return sonde_event_warning_semaphore > 0;
    case 5: return sonde_event_verbose_semaphore > 0;
    default: return sonde_event_info_semaphore > 0;
    }
}

/* --- those of the runtime, with arguments of their own --- */

static void fire_gc_start(const struct shot *shot)
{
    DTRACE_PROBE5(sonde, gc_start, shot->pid, number(shot, "Count"), number(shot, "Depth"),
                  number(shot, "Reason"), number(shot, "Type"));
}

static void fire_gc_end(const struct shot *shot)
{
    DTRACE_PROBE3(sonde, gc_end, shot->pid, number(shot, "Count"), number(shot, "Depth"));
}

/* A pause is known at its end; its beginning is kept meanwhile. */
static void begin_pause(const struct shot *shot)
{
    uint64_t *since = sn_table_put(&shot->usdt->pauses, shot->pid);
    if (since)
        *since = shot->info.time_ns;
}

static void fire_gc_pause(const struct shot *shot)
{
    const uint64_t *since = sn_table_find(&shot->usdt->pauses, shot->pid);
    if (!since || *since > shot->info.time_ns)
        return;
    uint64_t ns = shot->info.time_ns - *since;
    sn_table_remove(&shot->usdt->pauses, shot->pid);
    DTRACE_PROBE2(sonde, gc_pause, shot->pid, ns);
}

static void fire_gc_heap_stats(const struct shot *shot)
{
    DTRACE_PROBE8(sonde, gc_heap_stats, shot->pid, number(shot, "GenerationSize0"),
                  number(shot, "GenerationSize1"), number(shot, "GenerationSize2"),
                  number(shot, "GenerationSize3"), number(shot, "GenerationSize4"),
                  number(shot, "PinnedObjectCount"), number(shot, "GCHandleCount"));
}

static void fire_gc_alloc_tick(const struct shot *shot)
{
    DTRACE_PROBE5(sonde, gc_alloc_tick, shot->pid, number(shot, "AllocationAmount64"),
                  text(shot, "TypeName"), number(shot, "AllocationKind"), shot->info.thread_id);
}

static void fire_exception_thrown(const struct shot *shot)
{
    DTRACE_PROBE4(sonde, exception_thrown, shot->pid, text(shot, "ExceptionType"),
                  text(shot, "ExceptionMessage"), shot->info.thread_id);
}

static void fire_contention_start(const struct shot *shot)
{
    DTRACE_PROBE4(sonde, contention_start, shot->pid, shot->info.thread_id, number(shot, "LockID"),
                  number(shot, "LockOwnerThreadID"));
}

static void fire_contention_stop(const struct shot *shot)
{
    DTRACE_PROBE3(sonde, contention_stop, shot->pid, shot->info.thread_id,
                  number(shot, "DurationNs"));
}

static void fire_thread_pool_adjustment(const struct shot *shot)
{
    DTRACE_PROBE4(sonde, thread_pool_adjustment, shot->pid, number(shot, "NewWorkerThreadCount"),
                  number(shot, "Reason"), number(shot, "AverageThroughput"));
}

static void fire_method_load(const struct shot *shot)
{
    DTRACE_PROBE6(sonde, method_load, shot->pid, text(shot, "MethodNamespace"),
                  text(shot, "MethodName"), text(shot, "MethodSignature"),
                  number(shot, "MethodStartAddress"), number(shot, "MethodSize"));
}

/* NOLINTEND(readability-function-cognitive-complexity) */

static const struct {
    const char *event;
    const volatile unsigned short *semaphore;
    void (*fire)(const struct shot *shot);
} typed[] = {
    {"GCStart", &sonde_gc_start_semaphore, fire_gc_start},
    {"GCEnd", &sonde_gc_end_semaphore, fire_gc_end},
    {"GCSuspendEEBegin", &sonde_gc_pause_semaphore, begin_pause},
    {"GCRestartEEEnd", &sonde_gc_pause_semaphore, fire_gc_pause},
    {"GCHeapStats", &sonde_gc_heap_stats_semaphore, fire_gc_heap_stats},
    {"GCAllocationTick", &sonde_gc_alloc_tick_semaphore, fire_gc_alloc_tick},
    {"ExceptionThrown", &sonde_exception_thrown_semaphore, fire_exception_thrown},
    {"ContentionStart", &sonde_contention_start_semaphore, fire_contention_start},
    {"ContentionStop", &sonde_contention_stop_semaphore, fire_contention_stop},
    {"ThreadPoolWorkerThreadAdjustmentAdjustment", &sonde_thread_pool_adjustment_semaphore,
     fire_thread_pool_adjustment},
    {"MethodLoadVerbose", &sonde_method_load_semaphore, fire_method_load},
};

static void fire_typed(const struct shot *shot)
{
    for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
        if (*typed[i].semaphore && strcmp(typed[i].event, shot->info.name) == 0)
            typed[i].fire(shot);
    }
}

static void take(struct sn_event_user *user, struct sonde_event *event,
                 const struct sn_export_labels *labels)
{
    struct shot shot = {
        .usdt = (struct sn_usdt *)user, .event = event, .pid = labels->process->pid};
    sonde_event_info(event, &shot.info);
    if (strcmp(shot.info.provider, RUNTIME) == 0)
        fire_typed(&shot);
    if (is_level_wanted(shot.info.level))
        fire_level(&shot);
}

/* --- life --- */

int sn_usdt_open(struct sn_configuration *configuration, const struct sn_settings *settings,
                 struct sn_usdt **ret_usdt, struct sonde_error *err)
{
    struct sn_usdt *usdt = calloc(1, sizeof(*usdt));
    if (!usdt)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for probes");
    usdt->user.take = take;
    usdt->user.is_wanted = is_wanted;
    usdt->json = sn_buf_with_limit(JSON_LIMIT);
    usdt->pauses = sn_table_with_limit(PAUSE_LIMIT);
    int rc = sn_event_choice_of_probes(&usdt->user.choice, configuration, settings, err);
    if (rc == SONDE_OK)
        *ret_usdt = usdt;
    else
        sn_usdt_free(usdt);
    return rc;
}

void sn_usdt_free(struct sn_usdt *usdt)
{
    if (!usdt)
        return;
    sn_event_choice_done(&usdt->user.choice);
    sn_buf_done(&usdt->json);
    sn_table_done(&usdt->pauses);
    free(usdt);
}

struct sn_event_user *sn_usdt_user(struct sn_usdt *usdt)
{
    return &usdt->user;
}
