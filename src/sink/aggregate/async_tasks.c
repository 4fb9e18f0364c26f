/* Tasks: how long they wait for a worker, run, and are waited for; async methods from begin to end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "flow/sink.h"
#include "model/event.h"
#include "model/report.h"
#include "model/schema.h"
#include "sink/aggregate/event_fields.h"
#include "sink/aggregate/open_set.h"
#include "sink/aggregate/work_topics.h"
#include "symbol/methods.h"
#include "symbol/names.h"

#define OPEN_MAX    (1u << 18)
#define KIND_MAX    1024u
#define TEXT_LIMIT  8192u
#define MACHINE_MAX (1u << 18)

#define TASKS        "System.Threading.Tasks.TplEventSource"
#define ASYNC_PREFIX "Async: "

enum {
    SCHEDULED = 7,
    STARTED = 8,
    COMPLETED = 9,
    WAIT_BEGIN = 10,
    WAIT_END = 11,
    OPERATION_BEGIN = 14,
    OPERATION_END = 15,
};

enum { WAIT_BLOCKING = 1, WAIT_ASYNC = 2 };
enum { STATUS_CANCELLED = 2, STATUS_ERROR = 3 };

struct tasks {
    struct sn_sink sink;
    struct sn_report *report;      /* borrows, as below */
    struct sn_methods *methods;    /* may be NULL */
    struct sn_open_set scheduled;  /* by task */
    struct sn_open_set running;    /* by task */
    struct sn_open_set waits;      /* by thread and task */
    struct sn_open_set blocked;    /* by thread, while that is the last it said; number: the task */
    struct sn_open_set awaited;    /* by task: a thread blocked on it, and it was not done yet */
    struct sn_open_set operations; /* by task; kind: index of a kind */
    struct sn_table index;         /* hash of a name -> index of a kind + 1 */
    uint64_t last_ns;
    struct sn_buf text;
};

/* --- tasks on the scheduler --- */

static void take_started(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_task_report *report = &tasks->report->tasks;
    struct sn_open waited;
    report->started_count++;
    if (sn_open_set_end(&tasks->scheduled, task, &waited))
        sn_series_add(&report->queue_waits, sn_elapsed(waited.since_ns, event->time_ns));
    (void)sn_open_set_begin(&tasks->running, task, event->time_ns);
}

static void take_completed(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_task_report *report = &tasks->report->tasks;
    struct sn_open ran;
    report->completed_count++;
    report->failed_count += sn_event_number(event, "IsExceptional") != 0;
    if (sn_open_set_end(&tasks->running, task, &ran))
        sn_series_add(&report->runs, sn_elapsed(ran.since_ns, event->time_ns));
}

/* --- waits --- */

static uint64_t wait_key(const struct sn_event *event, uint64_t task)
{
    return sn_event_hash(event->thread_id, &task, sizeof(task));
}

static void take_wait(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_task_report *report = &tasks->report->tasks;
    uint64_t behaviour = sn_event_number(event, "Behavior");
    report->await_count += behaviour == WAIT_ASYNC;
    if (behaviour != WAIT_BLOCKING)
        return;
    report->sync_wait_count++;
    (void)sn_open_set_begin(&tasks->waits, wait_key(event, task), event->time_ns);
    (void)sn_open_set_begin(&tasks->awaited, task, event->time_ns);
    struct sn_open *blocked = sn_open_set_begin(&tasks->blocked, event->thread_id, event->time_ns);
    if (blocked)
        blocked->number = task;
}

static void take_wait_end(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_open waited;
    if (sn_open_set_end(&tasks->waits, wait_key(event, task), &waited))
        sn_series_add(&tasks->report->tasks.sync_waits,
                      sn_elapsed(waited.since_ns, event->time_ns));
}

/* Ends of waits are told at the verbose level only. Without them a thread is known to have come
 * back when it says anything, or when what it waits for is done. */
static void see_who_is_back(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_open over;
    uint32_t id = event->schema->event_id;
    (void)sn_open_set_end(&tasks->blocked, event->thread_id, &over);
    if (id == COMPLETED || id == OPERATION_END)
        (void)sn_open_set_end(&tasks->awaited, task, &over);
}

/* --- operations: async methods, delays --- */

static const char *keep(struct tasks *tasks, const char *text)
{
    const char *copy = sn_arena_copy(&tasks->report->arena, text, strlen(text));
    return copy ? copy : "";
}

static uint32_t add_kind(struct tasks *tasks, uint64_t key, const char *operation, bool is_rest)
{
    struct sn_task_report *report = &tasks->report->tasks;
    uint64_t *place = sn_table_put(&tasks->index, key);
    if (!place)
        return UINT32_MAX;
    struct sn_task_kind *kinds =
        sn_array_room(report->kinds, report->count, &report->capacity, sizeof(*kinds));
    if (!kinds) {
        sn_table_remove(&tasks->index, key);
        return UINT32_MAX;
    }
    report->kinds = kinds;
    bool is_async = strncmp(operation, ASYNC_PREFIX, strlen(ASYNC_PREFIX)) == 0;
    kinds[report->count] = (struct sn_task_kind){
        .name = "", .operation = keep(tasks, operation), .is_async = is_async, .is_rest = is_rest};
    *place = ++report->count;
    return (uint32_t)report->count - 1;
}

static uint32_t kind_of(struct tasks *tasks, const struct sn_event *event)
{
    sn_buf_clear(&tasks->text);
    (void)sn_event_text(event, "OperationName", &tasks->text);
    const char *operation = sn_buf_string(&tasks->text);
    uint64_t key = sn_event_hash(1, operation, strlen(operation));
    const uint64_t *known = sn_table_find(&tasks->index, key);
    if (!known && tasks->index.count >= KIND_MAX) {
        operation = "other";
        key = 0; /* no name's hash, for all we care */
        known = sn_table_find(&tasks->index, key);
    }
    return known ? (uint32_t)*known - 1 : add_kind(tasks, key, operation, key == 0);
}

static struct sn_task_kind *kind_at(struct tasks *tasks, uint32_t index)
{
    struct sn_task_report *report = &tasks->report->tasks;
    return index < report->count ? &report->kinds[index] : NULL;
}

static void take_operation(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    uint32_t index = kind_of(tasks, event);
    struct sn_task_kind *kind = kind_at(tasks, index);
    tasks->report->tasks.operation_count++;
    if (kind)
        kind->count++;
    struct sn_open *open = sn_open_set_begin(&tasks->operations, task, event->time_ns);
    if (open)
        open->kind = index;
}

static void take_operation_end(struct tasks *tasks, const struct sn_event *event, uint64_t task)
{
    struct sn_open began;
    if (!sn_open_set_end(&tasks->operations, task, &began)) {
        tasks->report->tasks.unmatched_count++;
        return;
    }
    struct sn_task_kind *kind = kind_at(tasks, began.kind);
    if (!kind)
        return;
    uint64_t status = sn_event_number(event, "Status");
    kind->done_count++;
    kind->failed_count += status == STATUS_ERROR;
    kind->cancelled_count += status == STATUS_CANCELLED;
    sn_series_add(&kind->times, sn_elapsed(began.since_ns, event->time_ns));
}

/* --- events --- */

static int take_event(struct sn_sink *sink, const struct sn_event *event)
{
    struct tasks *tasks = (struct tasks *)sink;
    struct sn_task_report *report = &tasks->report->tasks;
    uint64_t task;
    if (strcmp(event->schema->provider, TASKS) != 0 ||
        !sn_event_find_number(event, "TaskID", &task))
        return SONDE_OK;
    report->event_count++;
    if (event->time_ns > tasks->last_ns)
        tasks->last_ns = event->time_ns;
    see_who_is_back(tasks, event, task);
    switch (event->schema->event_id) {
    case SCHEDULED:
        report->scheduled_count++;
        (void)sn_open_set_begin(&tasks->scheduled, task, event->time_ns);
        break;
    case STARTED: take_started(tasks, event, task); break;
    case COMPLETED: take_completed(tasks, event, task); break;
    case WAIT_BEGIN: take_wait(tasks, event, task); break;
    case WAIT_END: take_wait_end(tasks, event, task); break;
    case OPERATION_BEGIN: take_operation(tasks, event, task); break;
    case OPERATION_END: take_operation_end(tasks, event, task); break;
    default: break;
    }
    return SONDE_OK;
}

/* --- the end --- */

static void count_open(struct tasks *tasks, uint64_t end_ns)
{
    struct sn_task_report *report = &tasks->report->tasks;
    for (size_t i = 0; i < tasks->operations.count; i++) {
        const struct sn_open *open = &tasks->operations.items[i];
        struct sn_task_kind *kind = open->is_used ? kind_at(tasks, open->kind) : NULL;
        uint64_t age_ns = sn_elapsed(open->since_ns, end_ns);
        if (kind && age_ns > kind->oldest_ns)
            kind->oldest_ns = age_ns;
    }
    for (size_t i = 0; report->kinds && i < report->count; i++) {
        struct sn_task_kind *kind = &report->kinds[i];
        kind->open_count = kind->count - kind->done_count;
        report->open_count += kind->open_count;
    }
}

static void count_blocked(struct tasks *tasks, uint64_t end_ns)
{
    struct sn_task_report *report = &tasks->report->tasks;
    report->waiting_count = tasks->scheduled.index.count;
    report->running_count = tasks->running.index.count;
    for (size_t i = 0; i < tasks->blocked.count; i++) {
        const struct sn_open *open = &tasks->blocked.items[i];
        if (!open->is_used || !sn_open_set_find(&tasks->awaited, open->number))
            continue;
        uint64_t age_ns = sn_elapsed(open->since_ns, end_ns);
        report->blocked_count++;
        if (age_ns > report->blocked_ns)
            report->blocked_ns = age_ns;
    }
}

/* The last part of a type's name, up to its type arguments: what an operation is called by. */
static uint64_t hash_of_innermost(const char *type, size_t size)
{
    size_t end = 0;
    while (end < size && type[end] != '[')
        end++;
    size_t start = end;
    while (start > 0 && type[start - 1] != '+' && type[start - 1] != '.')
        start--;
    return sn_event_hash(0, type + start, end - start);
}

/* State machines that were compiled, by the name an operation goes by: index + 1 of a method, and
 * what else is known of all that share the name. */
#define MACHINE_SHARED (1ull << 63) /* by two types or more */
#define MACHINE_OWN    (1ull << 62) /* one of them at least is not of the framework */
#define MACHINE_INDEX  (MACHINE_OWN - 1)

static const struct sn_method *machine_at(const struct tasks *tasks, uint64_t machine)
{
    return sn_methods_at(tasks->methods, (size_t)(machine & MACHINE_INDEX) - 1);
}

static bool is_of_framework(struct tasks *tasks, const struct sn_method *method)
{
    const struct sn_module *module = sn_methods_module(tasks->methods, method->module_id);
    sn_buf_clear(&tasks->text);
    sn_name_space(&tasks->text, method->type);
    return sn_name_is_framework(module ? module->name : "", sn_buf_string(&tasks->text));
}

static bool has_same_type(const struct sn_method *a, const struct sn_method *b)
{
    size_t size = strcspn(a->type, "[");
    return strcspn(b->type, "[") == size && strncmp(a->type, b->type, size) == 0;
}

static void index_machine(struct tasks *tasks, struct sn_table *machines, size_t index)
{
    const struct sn_method *method = sn_methods_at(tasks->methods, index);
    if (strcmp(method->name, "MoveNext") != 0 || !strchr(method->type, '+'))
        return;
    uint64_t *place = sn_table_put(machines, hash_of_innermost(method->type, strlen(method->type)));
    if (!place)
        return;
    if (!*place)
        *place = index + 1;
    else if (has_same_type(method, machine_at(tasks, *place)))
        return;
    else
        *place |= MACHINE_SHARED;
    if (!is_of_framework(tasks, method))
        *place |= MACHINE_OWN;
}

/* "Async: <PlaceAsync>d__3" is what the compiler made of PlaceAsync; whose, the methods tell. */
static void name_async(struct tasks *tasks, const struct sn_table *machines,
                       struct sn_task_kind *kind)
{
    const char *type = kind->operation + strlen(ASYNC_PREFIX);
    const uint64_t *machine = sn_table_find(machines, sn_event_hash(0, type, strlen(type)));
    char *plain = NULL;
    if (machine && !(*machine & MACHINE_SHARED)) {
        const char *whole = machine_at(tasks, *machine)->type;
        plain = sn_arena_copy(&tasks->report->arena, whole, strcspn(whole, "["));
    }
    sn_buf_clear(&tasks->text);
    sn_name_readable(&tasks->text, plain ? plain : type, "MoveNext");
    kind->name = keep(tasks, sn_buf_string(&tasks->text));
    kind->is_framework = machine && !(*machine & MACHINE_OWN);
}

/* "Task.Delay" and "Task.WhenAll" stand below the method that waits for them; "Task: <Main>b__0" is
 * somebody's code. */
static void name_other(struct sn_task_kind *kind)
{
    kind->name = kind->operation;
    kind->is_framework = strncmp(kind->operation, "Task", 4) == 0 && !strchr(kind->operation, ':');
}

static void name_kinds(struct tasks *tasks)
{
    struct sn_task_report *report = &tasks->report->tasks;
    struct sn_table machines = sn_table_with_limit(MACHINE_MAX);
    size_t method_count = tasks->methods && report->count ? sn_methods_count(tasks->methods) : 0;
    for (size_t i = 0; i < method_count; i++)
        index_machine(tasks, &machines, i);
    for (size_t i = 0; i < report->count; i++) {
        if (report->kinds[i].is_async)
            name_async(tasks, &machines, &report->kinds[i]);
        else
            name_other(&report->kinds[i]);
    }
    sn_table_done(&machines);
}

static int most_time_first(const void *left, const void *right)
{
    const struct sn_task_kind *a = left;
    const struct sn_task_kind *b = right;
    if (a->times.sum != b->times.sum)
        return a->times.sum < b->times.sum ? 1 : -1;
    if (a->oldest_ns != b->oldest_ns)
        return a->oldest_ns < b->oldest_ns ? 1 : -1;
    return strcmp(a->operation, b->operation);
}

static int finish(struct sn_sink *sink, struct sonde_error *err)
{
    (void)err;
    struct tasks *tasks = (struct tasks *)sink;
    struct sn_task_report *report = &tasks->report->tasks;
    uint64_t end_ns = sn_end_of_trace(tasks->report, tasks->last_ns);
    count_open(tasks, end_ns);
    count_blocked(tasks, end_ns);
    name_kinds(tasks);
    if (report->count)
        qsort(report->kinds, report->count, sizeof(*report->kinds), most_time_first);
    return SONDE_OK;
}

static void free_tasks(struct sn_sink *sink)
{
    struct tasks *tasks = (struct tasks *)sink;
    sn_open_set_done(&tasks->scheduled);
    sn_open_set_done(&tasks->running);
    sn_open_set_done(&tasks->waits);
    sn_open_set_done(&tasks->blocked);
    sn_open_set_done(&tasks->awaited);
    sn_open_set_done(&tasks->operations);
    sn_table_done(&tasks->index);
    sn_buf_done(&tasks->text);
    free(tasks);
}

static const struct sn_sink_ops ops = {
    .name = "tasks", .event = take_event, .finish = finish, .free = free_tasks};

struct sn_sink *sn_tasks_make(const struct sn_aggregate_context *context, struct sonde_error *err)
{
    struct tasks *tasks = calloc(1, sizeof(*tasks));
    if (!tasks) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for the tasks' part of a report");
        return NULL;
    }
    *tasks = (struct tasks){.sink.ops = &ops,
                            .report = context->report,
                            .methods = context->methods,
                            .scheduled = sn_open_set_with_limit(OPEN_MAX),
                            .running = sn_open_set_with_limit(OPEN_MAX),
                            .waits = sn_open_set_with_limit(OPEN_MAX),
                            .blocked = sn_open_set_with_limit(OPEN_MAX),
                            .awaited = sn_open_set_with_limit(OPEN_MAX),
                            .operations = sn_open_set_with_limit(OPEN_MAX),
                            .index = sn_table_with_limit(KIND_MAX + 1),
                            .text = sn_buf_with_limit(TEXT_LIMIT)};
    return &tasks->sink;
}

static const uint32_t ids[] = {SCHEDULED, STARTED,         COMPLETED,    WAIT_BEGIN,
                               WAIT_END,  OPERATION_BEGIN, OPERATION_END};
static const struct sn_request_item items[] = {
    {.provider = TASKS, .ids = ids, .id_count = sizeof(ids) / sizeof(*ids)},
};
const struct sn_request sn_tasks_request = {.items = items, .item_count = 1};
