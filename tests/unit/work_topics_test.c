/* The sinks of JIT, thread pool and tasks on events made by hand: what belongs together is matched,
 * what is missing, repeated, cut or out of order does no harm. */
#include "method_bytes.h"
#include "sink_bench.h"

/* --- JIT --- */

static void jit_started(struct bench *bench, uint64_t time_ns, uint64_t method, uint32_t il)
{
    begin_runtime(bench, 145, 1);
    sn_buf_u64(&bench->payload, method);
    sn_buf_u64(&bench->payload, 1);
    sn_buf_u32(&bench->payload, 0x06000001);
    sn_buf_u32(&bench->payload, il);
    put_text(bench, "Shop.Tax");
    put_text(bench, "Sum");
    put_text(bench, "void ()");
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void fill_load(struct bench *bench, uint64_t method, uint32_t flags, const char *name)
{
    begin_runtime(bench, 143, 2);
    sn_buf_u64(&bench->payload, method);
    sn_buf_u64(&bench->payload, 1);
    sn_buf_u64(&bench->payload, 0x7000);
    sn_buf_u32(&bench->payload, 100);
    sn_buf_u32(&bench->payload, 0x06000001);
    sn_buf_u32(&bench->payload, flags);
    put_text(bench, "Shop.Tax");
    put_text(bench, name);
    put_text(bench, "void ()");
    sn_buf_u16(&bench->payload, 0);
    sn_buf_u64(&bench->payload, 0);
}

static void jit_loaded(struct bench *bench, uint64_t time_ns, uint64_t method, uint32_t flags,
                       const char *name)
{
    fill_load(bench, method, flags, name);
    send_event(bench, time_ns);
}

#define QUICK    (8u | 3u << 7)
#define TIER1    (8u | 4u << 7)
#define COMPILED (2u << 7) /* ahead of time */

static void compilations_are_timed_by_thread_and_method(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    jit_started(&bench, 100 * US, 1, 30);
    jit_started(&bench, 110 * US, 2, 40); /* compiled for the sake of 1: nested */
    bench.thread_id = 8;
    jit_started(&bench, 115 * US, 1, 30);
    bench.thread_id = 7;
    jit_loaded(&bench, 120 * US, 2, QUICK, "Rate");
    jit_loaded(&bench, 150 * US, 1, QUICK, "Sum");
    bench.thread_id = 8;
    jit_loaded(&bench, 215 * US, 1, TIER1, "Sum");
    jit_loaded(&bench, 216 * US, 3, COMPILED, "Pre");
    jit_loaded(&bench, 217 * US, 4, QUICK, "Untimed");
    jit_started(&bench, 300 * US, 5, 1);
    finish(&bench);
    const struct sn_jit_report *jit = &bench.report->jit;
    assert_int_equal(jit->event_count, 9);
    assert_int_equal(jit->jitted_count, 4);
    assert_int_equal(jit->timed_count, 3);
    assert_int_equal(jit->open_count, 1);
    assert_int_equal(jit->time_ns, 160 * US);
    assert_int_equal(jit->time_by_tier[3], 60 * US);
    assert_int_equal(jit->time_by_tier[4], 100 * US);
    assert_int_equal(jit->by_tier[8], 1);
    assert_int_equal(jit->native_by_tier[8], 100);
    assert_int_equal(jit->native_bytes, 400);
    assert_int_equal(jit->il_bytes, 100);
    assert_int_equal(jit->count, 3);
    assert_string_equal(jit->methods[0].method, "Sum");
    assert_string_equal(jit->methods[0].type, "Shop.Tax");
    assert_int_equal(jit->methods[0].count, 2);
    assert_int_equal(jit->methods[0].time_ns, 150 * US);
    assert_int_equal(jit->methods[0].max_time_ns, 100 * US);
    assert_string_equal(jit->methods[1].method, "Rate");
    end(&bench);
}

static void send_bare(struct bench *bench, uint64_t time_ns, uint32_t id)
{
    begin_runtime(bench, id, 0);
    sn_buf_fill(&bench->payload, 0, 16);
    send_event(bench, time_ns);
}

static void batches_and_pauses_of_tiering_are_added_up(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    send_bare(&bench, 5 * US, 284); /* its start was not seen */
    send_bare(&bench, 10 * US, 283);
    jit_started(&bench, 11 * US, 1, 1);
    jit_loaded(&bench, 14 * US, 1, TIER1, "Sum");
    send_bare(&bench, 20 * US, 284);
    jit_started(&bench, 21 * US, 2, 1);
    jit_loaded(&bench, 22 * US, 2, QUICK, "Rate");
    send_bare(&bench, 30 * US, 281);
    send_bare(&bench, 29 * US, 282); /* time goes backwards */
    send_bare(&bench, 40 * US, 281);
    send_bare(&bench, 47 * US, 282);
    send_bare(&bench, 48 * US, 282);
    send_bare(&bench, 50 * US, 281);
    finish(&bench);
    const struct sn_jit_report *jit = &bench.report->jit;
    assert_int_equal(jit->background_count, 1);
    assert_int_equal(jit->background_ns, 10 * US);
    assert_int_equal(jit->background_time_ns, 3 * US);
    assert_int_equal(jit->time_ns, 4 * US);
    assert_int_equal(jit->paused_count, 3);
    assert_int_equal(jit->paused_ns, 7 * US);
    end(&bench);
}

static void load_without_name(struct bench *bench, uint64_t method_id)
{
    begin_runtime(bench, 141, 2);
    sn_buf_u64(&bench->payload, method_id);
    sn_buf_u64(&bench->payload, 1);
    sn_buf_u64(&bench->payload, 0x7000);
    sn_buf_u32(&bench->payload, 100);
    sn_buf_u32(&bench->payload, 0x06000001);
    sn_buf_u32(&bench->payload, QUICK);
    sn_buf_u16(&bench->payload, 0);
    sn_buf_u64(&bench->payload, 0);
    send_event(bench, 10);
}

/* Without verbose events there is only the id; names come from elsewhere or not at all. */
static void a_method_without_name_goes_by_its_id(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_jit_make);
    load_without_name(&bench, 0xABC);
    load_without_name(&bench, 0xABC);
    finish(&bench);
    assert_int_equal(bench.report->jit.count, 1);
    assert_int_equal(bench.report->jit.methods[0].count, 2);
    assert_string_equal(bench.report->jit.methods[0].name, "method 0xabc");
    end(&bench);
}

static void a_name_that_is_too_long_is_cut_and_not_left_out(void **state)
{
    (void)state;
    static char huge[20000];
    struct sonde_error err = {0};
    struct bench bench;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = NULL;
    memset(huge, 'M', sizeof(huge) - 1);
    assert_int_equal(sn_methods_new(&methods, &err), SONDE_OK);
    take_known(methods, 0xABC, 0x100, huge, huge);
    start_with(&bench, sn_jit_make, methods);
    load_without_name(&bench, 0xABC);
    finish(&bench);
    assert_int_equal(strlen(bench.report->jit.methods[0].name), 2 * 1024 + 1);
    end(&bench);
}

static void methods_over_the_ceiling_are_in_the_sums(void **state)
{
    (void)state;
    struct bench bench;
    char name[32];
    start(&bench, sn_jit_make);
    for (uint64_t i = 0; i < 65536 + 10; i++) {
        (void)snprintf(name, sizeof(name), "M%llu", (unsigned long long)i);
        jit_loaded(&bench, i, i, QUICK, name);
    }
    finish(&bench);
    assert_int_equal(bench.report->jit.count, 65536);
    assert_int_equal(bench.report->jit.dropped_count, 10);
    assert_int_equal(bench.report->jit.jitted_count, 65546);
    end(&bench);
}

/* --- thread pool --- */

static void send_workers(struct bench *bench, uint32_t id, uint32_t active)
{
    begin_runtime(bench, id, 0);
    sn_buf_u32(&bench->payload, active);
    sn_buf_u32(&bench->payload, 0);
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, 1);
}

static void send_adjustment(struct bench *bench, uint64_t time_ns, uint32_t count, uint32_t reason)
{
    double throughput = 12.5;
    begin_runtime(bench, 55, 0);
    sn_buf_append(&bench->payload, &throughput, sizeof(throughput));
    sn_buf_u32(&bench->payload, count);
    sn_buf_u32(&bench->payload, reason);
    sn_buf_u16(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void workers_and_reasons_are_counted(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_pool_make);
    send_workers(&bench, 50, 4);
    send_workers(&bench, 57, 2);
    send_workers(&bench, 51, 9);
    send_adjustment(&bench, 10, 5, 3);
    send_adjustment(&bench, 20, 6, SN_POOL_STARVATION);
    send_adjustment(&bench, 50, 7, SN_POOL_STARVATION);
    send_adjustment(&bench, 60, 7, 4000000000u); /* no such reason */
    finish(&bench);
    const struct sn_pool_report *pool = &bench.report->pool;
    assert_int_equal(pool->event_count, 7);
    assert_int_equal(pool->worker_min, 2);
    assert_int_equal(pool->worker_max, 9);
    assert_int_equal(pool->worker_start_count, 1);
    assert_int_equal(pool->worker_stop_count, 1);
    assert_int_equal(pool->worker_wait_count, 1);
    assert_int_equal(pool->count, 3);
    assert_int_equal(pool->by_reason[SN_POOL_STARVATION], 2);
    assert_int_equal(pool->starved_from_ns, 20);
    assert_int_equal(pool->starved_until_ns, 50);
    assert_int_equal(pool->adjustments[2].worker_count, 7);
    assert_true(pool->adjustments[2].throughput > 12.4 && pool->adjustments[2].throughput < 12.6);
    end(&bench);
}

static const struct sn_field work_fields[] = {FIELD("workID", SN_TYPE_I64)};

static void send_work(struct bench *bench, uint64_t time_ns, uint32_t id, uint64_t work)
{
    begin_source(bench, "System.Diagnostics.Eventing.FrameworkEventSource", id, work_fields,
                 COUNT(work_fields));
    sn_buf_u64(&bench->payload, work);
    send_event(bench, time_ns);
}

static void a_work_item_queued_twice_is_not_timed(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_pool_make);
    send_work(&bench, 10, 31, 5); /* queued before the trace */
    send_work(&bench, 20, 30, 5);
    send_work(&bench, 50, 31, 5);
    send_work(&bench, 60, 30, 6);
    send_work(&bench, 61, 30, 6);
    send_work(&bench, 62, 31, 6);
    send_work(&bench, 63, 31, 6);
    send_work(&bench, 70, 30, 6);
    send_work(&bench, 75, 31, 6);
    send_work(&bench, 80, 30, 9);
    finish(&bench);
    const struct sn_pool_report *pool = &bench.report->pool;
    assert_int_equal(pool->enqueue_count, 5);
    assert_int_equal(pool->dequeue_count, 5);
    assert_int_equal(pool->queue_waits.seen_count, 2);
    assert_int_equal(pool->queue_waits.sum, 35);
    assert_int_equal(pool->queue_waits.max, 30);
    assert_int_equal(pool->waiting_count, 1);
    end(&bench);
}

static void times_of_items_that_wait_together_count_once(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct bench bench;
    start(&bench, sn_pool_make);
    send_work(&bench, 0, 30, 1);
    send_work(&bench, 50 * MS, 30, 2);
    send_work(&bench, 90 * MS, 30, 3);
    send_work(&bench, 91 * MS, 31, 3);  /* soon */
    send_work(&bench, 150 * MS, 31, 1); /* late: from 0 to 150 */
    send_work(&bench, 200 * MS, 31, 2); /* late: 50 more */
    send_work(&bench, 500 * MS, 30, 4);
    send_work(&bench, 700 * MS, 31, 4); /* late, later: 200 more */
    finish(&bench);
    assert_int_equal(bench.report->pool.late_ns, 400 * MS);
    assert_int_equal(bench.report->pool.late_begun_count, 4);
    end(&bench);
}

/* --- tasks --- */

static const struct sn_field task_fields[] = {
    FIELD("OriginatingTaskSchedulerID", SN_TYPE_I32), FIELD("OriginatingTaskID", SN_TYPE_I32),
    FIELD("TaskID", SN_TYPE_I32), FIELD("IsExceptional", SN_TYPE_BOOL32)};
static const struct sn_field wait_fields[] = {
    FIELD("OriginatingTaskSchedulerID", SN_TYPE_I32), FIELD("OriginatingTaskID", SN_TYPE_I32),
    FIELD("TaskID", SN_TYPE_I32), FIELD("Behavior", SN_TYPE_I32)};
static const struct sn_field operation_fields[] = {FIELD("TaskID", SN_TYPE_I32),
                                                   FIELD("OperationName", SN_TYPE_STRING16),
                                                   FIELD("RelatedContext", SN_TYPE_I64)};
static const struct sn_field operation_end_fields[] = {FIELD("TaskID", SN_TYPE_I32),
                                                       FIELD("Status", SN_TYPE_I32)};

#define TPL "System.Threading.Tasks.TplEventSource"

static void send_task(struct bench *bench, uint64_t time_ns, uint32_t id, uint32_t task,
                      uint32_t last)
{
    bool is_wait = id == 10;
    begin_source(bench, TPL, id, is_wait ? wait_fields : task_fields, COUNT(task_fields));
    sn_buf_u32(&bench->payload, 1);
    sn_buf_u32(&bench->payload, 0);
    sn_buf_u32(&bench->payload, task);
    sn_buf_u32(&bench->payload, last);
    send_event(bench, time_ns);
}

static void begin_operation(struct bench *bench, uint64_t time_ns, uint32_t task, const char *name)
{
    begin_source(bench, TPL, 14, operation_fields, COUNT(operation_fields));
    sn_buf_u32(&bench->payload, task);
    put_text(bench, name);
    sn_buf_u64(&bench->payload, 0);
    send_event(bench, time_ns);
}

static void end_operation(struct bench *bench, uint64_t time_ns, uint32_t task, uint32_t status)
{
    begin_source(bench, TPL, 15, operation_end_fields, COUNT(operation_end_fields));
    sn_buf_u32(&bench->payload, task);
    sn_buf_u32(&bench->payload, status);
    send_event(bench, time_ns);
}

static void tasks_wait_run_and_are_waited_for(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    send_task(&bench, 10, 7, 1, 0);
    send_task(&bench, 15, 8, 1, 0);
    send_task(&bench, 27, 9, 1, 1);
    send_task(&bench, 30, 8, 2, 0); /* scheduled before the trace */
    send_task(&bench, 31, 7, 3, 0);
    send_task(&bench, 40, 10, 1, 1); /* blocks */
    send_task(&bench, 41, 10, 1, 2); /* awaits */
    bench.thread_id = 8;
    send_task(&bench, 45, 11, 1, 0); /* not the thread that blocked */
    bench.thread_id = 7;
    send_task(&bench, 50, 11, 1, 0);
    send_task(&bench, 60, 10, 3, 1);
    bench.thread_id = 8;
    send_task(&bench, 90, 9, 77, 0);
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    assert_int_equal(tasks->scheduled_count, 2);
    assert_int_equal(tasks->started_count, 2);
    assert_int_equal(tasks->completed_count, 2);
    assert_int_equal(tasks->failed_count, 1);
    assert_int_equal(tasks->queue_waits.sum, 5);
    assert_int_equal(tasks->runs.sum, 12);
    assert_int_equal(tasks->waiting_count, 1);
    assert_int_equal(tasks->running_count, 1);
    assert_int_equal(tasks->await_count, 1);
    assert_int_equal(tasks->sync_wait_count, 2);
    assert_int_equal(tasks->sync_waits.seen_count, 1);
    assert_int_equal(tasks->sync_waits.sum, 10);
    assert_int_equal(tasks->blocked_count, 1);
    assert_int_equal(tasks->blocked_ns, 30);
    end(&bench);
}

/* Threads and tasks have small numbers: every pair of them must be told from every other. */
static void waits_of_neighbours_are_not_mixed_up(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    for (uint32_t thread = 0; thread < 64; thread++) {
        bench.thread_id = thread;
        for (uint32_t task = 0; task < 64; task++)
            send_task(&bench, 100, 10, task, 1);
    }
    bench.thread_id = 1000;
    send_task(&bench, 150, 11, 1000, 0);
    for (uint32_t thread = 0; thread < 64; thread++) {
        bench.thread_id = thread;
        for (uint32_t task = 0; task < 64; task++)
            send_task(&bench, 200 + task, 11, task, 0);
    }
    finish(&bench);
    assert_int_equal(bench.report->tasks.sync_waits.seen_count, 64 * 64);
    assert_int_equal(bench.report->tasks.sync_waits.max, 163);
    end(&bench);
}

/* At the informational level no end of a wait is told. */
static void threads_are_not_blocked_for_ever_where_no_end_is_told(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    for (uint32_t i = 0; i < 20; i++) {
        bench.thread_id = 7;
        send_task(&bench, 10 + i, 10, 100 + i, 1); /* blocks, again and again */
    }
    bench.thread_id = 8;
    send_task(&bench, 40, 10, 1, 1);
    bench.thread_id = 9;
    send_task(&bench, 41, 10, 2, 1);
    bench.thread_id = 10;
    send_task(&bench, 50, 9, 1, 0); /* so 8 is back */
    bench.thread_id = 9;
    send_task(&bench, 60, 7, 3, 0); /* and so is 9 */
    bench.thread_id = 10;
    send_task(&bench, 80, 7, 4, 0);
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    assert_int_equal(tasks->sync_wait_count, 22);
    assert_int_equal(tasks->blocked_count, 1);
    assert_int_equal(tasks->blocked_ns, 80 - 29);
    end(&bench);
}

static void operations_are_the_programs_own_or_the_frameworks(void **state)
{
    (void)state;
    static const char *const types[] = {"Shop.Desk+<CheckOut>d__4",  "System.Net.Pipe+<Read>d__1",
                                        "Shop.Desk+<Both>d__2",      "System.Net.Pipe+<Both>d__2",
                                        "System.Net.Pipe+<Two>d__3", "Microsoft.Host+<Two>d__3"};
    static const struct {
        const char *operation;
        const char *name;
        bool is_framework;
    } kinds[] = {{"Async: <CheckOut>d__4", "Shop.Desk.CheckOut", false},
                 {"Async: <Read>d__1", "System.Net.Pipe.Read", true},
                 {"Async: <Both>d__2", "Both", false},
                 {"Async: <Two>d__3", "Two", true},
                 {"Async: <Nobody>d__9", "Nobody", false},
                 {"Task.WhenAll", "Task.WhenAll", true},
                 {"Task: <Main>b__0", "Task: <Main>b__0", false}};
    struct sonde_error err = {0};
    SN_AUTO(sn_methods_free) struct sn_methods *methods = NULL;
    assert_int_equal(sn_methods_new(&methods, &err), SONDE_OK);
    for (uint32_t i = 0; i < COUNT(types); i++)
        take_known(methods, 0x1000ull * (i + 1), 0x100, types[i], "MoveNext");
    struct bench bench;
    start_with(&bench, sn_tasks_make, methods);
    for (uint32_t i = 0; i < COUNT(kinds); i++)
        begin_operation(&bench, 100ull * i, i, kinds[i].operation);
    finish(&bench);
    for (size_t i = 0; i < COUNT(kinds); i++) { /* the oldest first */
        const struct sn_task_kind *kind = &bench.report->tasks.kinds[i];
        assert_string_equal(kind->name, kinds[i].name);
        assert_int_equal(kind->is_framework, kinds[i].is_framework);
    }
    end(&bench);
}

static void operations_are_told_by_kind_and_the_open_ones_have_an_age(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_tasks_make);
    bench.report->first_ns = 5;
    bench.report->duration_ns = 995;
    begin_operation(&bench, 10, 1, "Async: <CheckOut>d__4");
    begin_operation(&bench, 20, 2, "Async: <CheckOut>d__4");
    begin_operation(&bench, 30, 3, "Task.Delay");
    end_operation(&bench, 25, 1, 3);
    end_operation(&bench, 20, 3, 2); /* time goes backwards */
    end_operation(&bench, 26, 1, 1); /* a second end */
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    assert_int_equal(tasks->operation_count, 3);
    assert_int_equal(tasks->open_count, 1);
    assert_int_equal(tasks->unmatched_count, 1);
    assert_int_equal(tasks->count, 2);
    const struct sn_task_kind *kind = &tasks->kinds[0];
    assert_string_equal(kind->operation, "Async: <CheckOut>d__4");
    assert_string_equal(kind->name, "CheckOut");
    assert_true(kind->is_async);
    assert_int_equal(kind->failed_count, 1);
    assert_int_equal(kind->times.sum, 15);
    assert_int_equal(kind->open_count, 1);
    assert_int_equal(kind->oldest_ns, 980);
    assert_string_equal(tasks->kinds[1].name, "Task.Delay");
    assert_int_equal(tasks->kinds[1].cancelled_count, 1);
    assert_int_equal(tasks->kinds[1].times.sum, 0);
    end(&bench);
}

static void names_over_the_ceiling_share_one_line(void **state)
{
    (void)state;
    struct bench bench;
    char name[32];
    start(&bench, sn_tasks_make);
    for (uint32_t i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "Operation %u", i);
        begin_operation(&bench, i, i, name);
    }
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    uint64_t rest = 0;
    assert_int_equal(tasks->count, 1025);
    for (size_t i = 0; i < tasks->count; i++)
        rest += tasks->kinds[i].is_rest ? tasks->kinds[i].count : 0;
    assert_int_equal(rest, 3000 - 1024);
    assert_int_equal(tasks->open_count, 3000);
    end(&bench);
}

/* --- hostile --- */

enum { TEXT_MAX = 1024 }; /* of a name in a report */

/* Every event cut at every byte, and names of 64 KB; the sanitizer watches. Returns how many bytes
 * the event of a method that was loaded has. */
static size_t send_cut_and_oversized(struct bench *bench)
{
    static char huge[65536];
    memset(huge, '<', sizeof(huge) - 1);
    fill_load(bench, 1, QUICK, huge);
    send_event(bench, 1);
    fill_load(bench, 1, QUICK, "Sum");
    size_t size = bench->payload.size;
    for (size_t cut = 0; cut < size; cut++)
        send_part(bench, 2, cut);
    begin_operation(bench, 7, 1, huge);
    for (size_t cut = 0; cut < 20; cut++)
        send_part(bench, 8, cut);
    for (uint32_t id = 0; id < 320; id++) { /* no fields at all */
        bench->schema = (struct sn_schema){
            .provider = id % 2 ? SN_RUNTIME_PROVIDER : TPL, .name = "", .event_id = id};
        send_part(bench, 9, 4);
    }
    return size;
}

/* What can be read of a cut event counts, and what is sound behind it is told as ever. */
static void compilations_behind_cut_events_are_told(void **state)
{
    (void)state;
    enum { UP_TO_FLAGS = 36 };
    struct bench bench;
    start(&bench, sn_jit_make);
    size_t size = send_cut_and_oversized(&bench);
    jit_started(&bench, 100 * US, 77, 30);
    jit_loaded(&bench, 120 * US, 77, TIER1, "Sound");
    finish(&bench);
    const struct sn_jit_report *jit = &bench.report->jit;
    assert_int_equal(jit->jitted_count, 1 + (size - UP_TO_FLAGS) + 1);
    assert_int_equal(jit->timed_count, 1);
    assert_int_equal(jit->time_ns, 20 * US);
    assert_string_equal(jit->methods[0].method, "Sound"); /* the dearest first */
    for (size_t i = 0; i < jit->count; i++)
        assert_true(strlen(jit->methods[i].method) <= TEXT_MAX);
    end(&bench);
}

static void work_behind_cut_events_is_told(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench, sn_pool_make);
    (void)send_cut_and_oversized(&bench);
    send_work(&bench, 20, 30, 5);
    send_work(&bench, 50, 31, 5);
    finish(&bench);
    const struct sn_pool_report *pool = &bench.report->pool;
    assert_false(pool->has_workers);
    assert_int_equal(pool->count, 0);
    assert_int_equal(pool->queue_waits.seen_count, 1);
    assert_int_equal(pool->queue_waits.sum, 30);
    end(&bench);
}

static void operations_behind_cut_events_are_told(void **state)
{
    (void)state;
    enum { UP_TO_TASK = 4 };
    struct bench bench;
    start(&bench, sn_tasks_make);
    (void)send_cut_and_oversized(&bench);
    begin_operation(&bench, 100, 77, "Async: <CheckOut>d__4");
    end_operation(&bench, 130, 77, 1);
    finish(&bench);
    const struct sn_task_report *tasks = &bench.report->tasks;
    const struct sn_task_kind *sound = NULL;
    for (size_t i = 0; i < tasks->count; i++) {
        assert_true(strlen(tasks->kinds[i].operation) <= TEXT_MAX);
        if (strcmp(tasks->kinds[i].operation, "Async: <CheckOut>d__4") == 0)
            sound = &tasks->kinds[i];
    }
    assert_int_equal(tasks->operation_count, 1 + (20 - UP_TO_TASK) + 1);
    assert_int_equal(tasks->open_count, 1 + (20 - UP_TO_TASK));
    assert_non_null(sound);
    assert_int_equal(sound->done_count, 1);
    assert_int_equal(sound->times.sum, 30);
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilations_are_timed_by_thread_and_method),
        cmocka_unit_test(batches_and_pauses_of_tiering_are_added_up),
        cmocka_unit_test(a_method_without_name_goes_by_its_id),
        cmocka_unit_test(a_name_that_is_too_long_is_cut_and_not_left_out),
        cmocka_unit_test(methods_over_the_ceiling_are_in_the_sums),
        cmocka_unit_test(workers_and_reasons_are_counted),
        cmocka_unit_test(times_of_items_that_wait_together_count_once),
        cmocka_unit_test(a_work_item_queued_twice_is_not_timed),
        cmocka_unit_test(tasks_wait_run_and_are_waited_for),
        cmocka_unit_test(waits_of_neighbours_are_not_mixed_up),
        cmocka_unit_test(threads_are_not_blocked_for_ever_where_no_end_is_told),
        cmocka_unit_test(operations_are_the_programs_own_or_the_frameworks),
        cmocka_unit_test(operations_are_told_by_kind_and_the_open_ones_have_an_age),
        cmocka_unit_test(names_over_the_ceiling_share_one_line),
        cmocka_unit_test(compilations_behind_cut_events_are_told),
        cmocka_unit_test(work_behind_cut_events_is_told),
        cmocka_unit_test(operations_behind_cut_events_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
