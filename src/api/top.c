/* A live view: the road of a machine, its stacks of the last seconds, its processes. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/live_maps.h"
#include "api/machine.h"
#include "api/options_in.h"
#include "api/top_internal.h"
#include "api/top_window.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/table.h"
#include "flow/request.h"
#include "flow/road.h"
#include "flow/sink.h"
#include "format/universal.h"
#include "model/event.h"
#include "sonde/record.h"
#include "source/proc/facts.h"
#include "symbol/code.h"
#include "symbol/kallsyms.h"

#define DEFAULT_FREQUENCY 249u /* not in step with what runs every so many milliseconds */
#define DEFAULT_WINDOW_NS (5ull * SN_NS_PER_SECOND)
#define STACK_MAX         1024u
#define PROCESSES_MAX     65536u
#define TEXTS_LIMIT       (32u << 20)
#define SAMPLER           "Microsoft-DotNETCore-SampleProfiler"
#define NAME_SIZE         64u
#define COMMAND_SIZE      512u
#define LATE_NS           (5ull * SN_NS_PER_SECOND) /* events may come after an exit */
#define THREADS_MAX       65536u
#define SAMPLER_GAP_NS    (100ull * SN_NS_PER_MS) /* a longer one: the thread was not sampled */

/* --- events into the window --- */

struct stack_sink {
    struct sn_sink sink;
    struct sonde_top *top;       /* borrows */
    struct sn_table last_sample; /* of the runtime's sampler: thread to time */
    uint64_t frames[STACK_MAX];
};

static void add_stack(struct stack_sink *sink, const struct sn_event *event, enum sn_top_kind kind,
                      uint64_t weight_ns, uint64_t ready_ns)
{
    struct sn_top_stack stack = {.pid = event->pid,
                                 .kind = (uint8_t)kind,
                                 .weight_ns = weight_ns,
                                 .ready_ns = ready_ns,
                                 .last_ns = event->time_ns,
                                 .frames = sink->frames};
    if (event->pointer_size == sizeof(uint64_t))
        stack.depth = event->stack_depth < STACK_MAX ? event->stack_depth : STACK_MAX;
    if (stack.depth)
        memcpy(sink->frames, event->stack, stack.depth * sizeof(uint64_t));
    sn_top_window_add(sink->top->window, &stack);
}

/* Waits that began before the window count as far as they lie in it. */
static void add_switch(struct stack_sink *sink, const struct sn_event *event,
                       const struct sn_universal_fields *fields)
{
    uint64_t off_ns = fields->numbers[0];
    uint64_t ready_ns = fields->numbers[1] < off_ns ? fields->numbers[1] : off_ns;
    uint64_t wait_ns = off_ns - ready_ns;
    uint64_t window_ns = sink->top->window_ns;
    if (fields->numbers[2] == SN_OFF_PREEMPTED) {
        ready_ns = off_ns;
        wait_ns = 0;
    }
    add_stack(sink, event, SN_TOP_WAIT, wait_ns < window_ns ? wait_ns : window_ns,
              ready_ns < window_ns ? ready_ns : window_ns);
}

/* The runtime stops all threads and tells of each: it stands for the time since the one before. In
 * managed code a thread runs, as much as the kernel's clock says; in native code it waits. */
static void add_managed_sample(struct stack_sink *sink, const struct sn_event *event)
{
    struct sn_cursor payload = sn_cursor_over(event->payload, event->payload_size);
    bool is_managed = sn_cursor_u32(&payload) == 2;
    if (sink->last_sample.count >= THREADS_MAX)
        sn_table_clear(&sink->last_sample);
    uint64_t *last = sn_table_put(&sink->last_sample, event->thread_id);
    uint64_t gap = last && event->time_ns > *last ? event->time_ns - *last : 0;
    if (last)
        *last = event->time_ns;
    sn_top_clocks_watch(&sink->top->clocks, event->pid);
    if (gap <= SAMPLER_GAP_NS)
        add_stack(sink, event, is_managed ? SN_TOP_RUN : SN_TOP_WAIT, gap, 0);
}

static int take_event(struct sn_sink *base, const struct sn_event *event)
{
    struct stack_sink *sink = (struct stack_sink *)base;
    struct sn_universal_fields fields;
    int kind = sn_universal_kind(event->schema);
    if (strcmp(event->schema->provider, SAMPLER) == 0)
        add_managed_sample(sink, event);
    else if (kind == SN_UNIVERSAL_CPU && sn_universal_decode(SN_UNIVERSAL_CPU, event, &fields))
        add_stack(sink, event, SN_TOP_RUN, sink->top->sample_ns * fields.numbers[0], 0);
    else if (kind == SN_UNIVERSAL_SWITCH &&
             sn_universal_decode(SN_UNIVERSAL_SWITCH, event, &fields))
        add_switch(sink, event, &fields);
    return SONDE_OK;
}

static void free_sink(struct sn_sink *base)
{
    struct stack_sink *sink = (struct stack_sink *)base;
    sn_table_done(&sink->last_sample);
    free(sink);
}

static const struct sn_sink_ops stack_ops = {.name = "top", .event = take_event, .free = free_sink};

static const struct sn_request_item stack_items[] = {{.provider = "Universal.Events"},
                                                     {.provider = SAMPLER}};
static const struct sn_request stack_request = {
    .item_count = sizeof(stack_items) / sizeof(*stack_items), .items = stack_items};

static int subscribe(struct sonde_top *top, struct sonde_error *err)
{
    struct sn_road *road = sn_machine_road(top->machine);
    struct stack_sink *sink = calloc(1, sizeof(*sink));
    if (!sink)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a live view");
    sink->sink.ops = &stack_ops;
    sink->top = top;
    sink->last_sample = sn_table_with_limit(THREADS_MAX);
    int rc = sn_road_subscribe(road, &stack_request, &sink->sink, false, err);
    struct sn_sink *names = rc < 0 ? NULL : sn_code_sink(top->code);
    if (rc >= 0 && !names)
        rc = sn_fail(err, SONDE_E_NOMEM, 0, "no memory for names");
    if (rc >= 0)
        rc = sn_road_subscribe(road, &sn_code_request, names, false, err);
    return rc < 0 ? rc : SONDE_OK;
}

/* --- its life --- */

static int build(struct sonde_top *top, const struct sonde_top_options *options,
                 struct sonde_error *err)
{
    uint32_t frequency = options->frequency ? options->frequency : DEFAULT_FREQUENCY;
    struct sonde_record_options record = {.size = sizeof(record),
                                          .way = options->way,
                                          .pids = options->pids,
                                          .pid_count = options->pid_count,
                                          .names = options->names,
                                          .name_count = options->name_count,
                                          .cgroup = options->cgroup,
                                          .frequency = frequency,
                                          .with_switches = !options->no_waits,
                                          .no_runtimes = options->no_runtimes};
    top->sample_ns = SN_NS_PER_SECOND / frequency;
    top->window_ns = options->window_ns ? options->window_ns : DEFAULT_WINDOW_NS;
    top->process_texts = sn_arena_with_limit(TEXTS_LIMIT);
    top->method_texts = sn_arena_with_limit(TEXTS_LIMIT);
    sn_top_clocks_init(&top->clocks);
    sn_top_cost_before(&top->cost, options);
    int rc = sn_top_window_new(top->window_ns, &top->window, err);
    if (rc == SONDE_OK)
        rc = sn_code_new(&top->code, err);
    if (rc == SONDE_OK)
        rc = sn_machine_new(&record, &top->machine, err);
    if (rc == SONDE_OK)
        rc = sn_live_maps_new(sn_machine_objects(top->machine), &top->maps, err);
    if (rc == SONDE_OK)
        rc = subscribe(top, err);
    if (rc != SONDE_OK)
        return rc;
    sn_code_set_native(top->code, sn_live_maps_find, top->maps);
    sn_top_window_move(top->window, sn_clock_monotonic_ns());
    return sn_machine_start(top->machine, err);
}

int sonde_top_new(const struct sonde_top_options *options, struct sonde_top **ret_top,
                  struct sonde_error *err)
{
    struct sonde_top_options known;
    int rc = sn_options_in(options, &known, sizeof(known), "top options", err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_top *top = calloc(1, sizeof(*top));
    rc = top ? build(top, &known, err) : sn_fail(err, SONDE_E_NOMEM, 0, "no memory");
    if (rc < 0)
        sonde_top_free(top);
    else
        *ret_top = top;
    return rc < 0 ? rc : SONDE_OK;
}

/* The road's sinks use the rest until the machine is gone. */
void sonde_top_free(struct sonde_top *top)
{
    if (!top)
        return;
    sn_machine_free(top->machine);
    sn_code_free(top->code);
    sn_live_maps_free(top->maps);
    sn_kallsyms_free(top->kernel);
    sn_top_window_free(top->window);
    sn_arena_done(&top->process_texts);
    sn_arena_done(&top->method_texts);
    sn_top_clocks_done(&top->clocks);
    free(top->processes);
    free(top->methods);
    free(top);
}

int sonde_top_fd(const struct sonde_top *top)
{
    return sn_loop_fd(sn_machine_loop(top->machine));
}

int sonde_top_wait_ms(const struct sonde_top *top)
{
    return sn_loop_wait_ms(sn_machine_loop(top->machine));
}

int sonde_top_turn(struct sonde_top *top, struct sonde_error *err)
{
    int rc = sn_loop_turn(sn_machine_loop(top->machine), 0, err);
    sn_top_cost_settle(&top->cost, sn_clock_monotonic_ns());
    return rc < 0 ? rc : sn_machine_tend(top->machine, err);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec ran;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran) != 0)
        return 0;
    return (uint64_t)ran.tv_sec * SN_NS_PER_SECOND + (uint64_t)ran.tv_nsec;
}

void sonde_top_state(const struct sonde_top *top, struct sonde_top_state *ret_state)
{
    struct sonde_record_stats stats = {.way_note = "", .note = ""};
    sn_machine_stats(top->machine, &stats);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *ret_state = (struct sonde_top_state){
        .way = stats.way,
        .way_note = stats.way_note,
        .note = stats.note,
        .window_ns = sn_top_window_span(top->window),
        .sample_count = stats.sample_count,
        .lost_count = stats.kernel_lost_count + stats.event_lost_count,
        .own_cpu_ns = own_cpu_ns(),
        .cpu_percent = top->cpu_percent,
        .cpu_count = cpus > 0 ? (uint32_t)cpus : 1,
        .process_count = top->process_count,
    };
}

void sonde_top_cost(const struct sonde_top *top, struct sonde_top_cost *ret_cost)
{
    sn_top_cost_tell(&top->cost, ret_cost);
}

void sn_top_settle(struct sonde_top *top)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    uint64_t known_ns = top->window_ns + LATE_NS;
    sn_top_window_move(top->window, now_ns);
    if (now_ns > known_ns)
        sn_code_forget_before(top->code, now_ns - known_ns);
    sn_top_clocks_settle(&top->clocks, top->window, top->window_ns);
    sn_top_cost_settle(&top->cost, now_ns);
}

double sn_top_percent(const struct sonde_top *top, uint64_t ns)
{
    uint64_t span = sn_top_window_span(top->window);
    return span ? 100.0 * (double)ns / (double)span : 0.0;
}

/* --- processes --- */

struct process_sum {
    uint32_t pid;
    uint64_t run_ns;
    uint64_t ready_ns;
    uint64_t wait_ns;
};

struct process_sums {
    const struct sonde_top *top;
    struct sn_table index; /* pid to number and one */
    struct process_sum *items;
    size_t count;
    size_t capacity;
};

static void sum_process(void *user, const struct sn_top_stack *stack)
{
    struct process_sums *sums = user;
    uint64_t *number = sn_table_put(&sums->index, stack->pid);
    if (!number)
        return;
    if (!*number) {
        struct process_sum *items =
            sn_array_room(sums->items, sums->count, &sums->capacity, sizeof(*items));
        if (!items)
            return;
        sums->items = items;
        items[sums->count++] = (struct process_sum){.pid = stack->pid};
        *number = sums->count;
    }
    struct process_sum *sum = &sums->items[*number - 1];
    sum->ready_ns += stack->ready_ns;
    if (stack->kind == SN_TOP_RUN)
        sum->run_ns += sn_top_clocks_real(&sums->top->clocks, stack->pid, stack->weight_ns);
    else
        sum->wait_ns += stack->weight_ns;
}

static const char *keep(struct sn_arena *arena, const char *text)
{
    const char *copy = sn_arena_copy(arena, text, strlen(text));
    return copy ? copy : "";
}

/* The host's name says nothing: what it runs does. */
static void name_process(const struct sonde_top_process *process, const char *name,
                         char to[NAME_SIZE])
{
    (void)snprintf(to, NAME_SIZE, "%s", *name ? name : "?");
    const char *end = strstr(process->command, ".dll");
    if (!process->is_dotnet || strcmp(name, "dotnet") != 0 || !end)
        return;
    const char *start = end;
    while (start > process->command && !strchr("/ ", start[-1]))
        start--;
    (void)snprintf(to, NAME_SIZE, "%.*s", (int)(end - start), start);
}

/* For those of which no event told: without its secrets, as in events. */
static const char *read_command(struct sonde_top *top, uint32_t pid)
{
    char path[32];
    char arguments[COMMAND_SIZE];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)16 * COMMAND_SIZE);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cmdline", pid);
    long size = sn_file_peek_at(AT_FDCWD, path, arguments, sizeof(arguments));
    if (size > 0)
        (void)sn_redact_arguments(&text, arguments, (size_t)size);
    return keep(&top->process_texts, sn_buf_string(&text));
}

static void describe(struct sonde_top *top, const struct process_sum *sum,
                     struct sonde_top_process *to)
{
    const struct sn_code_process *known =
        sn_code_process(top->code, sum->pid, sn_clock_monotonic_ns());
    struct sn_proc_facts facts = {.comm = ""};
    bool is_alive = sn_proc_facts_read(sum->pid, &facts);
    const char *name = known && *known->name ? known->name : facts.comm;
    char version[32] = "";
    bool is_dotnet =
        (known && known->kind != SN_PROCESS_NATIVE) || sn_top_clocks_has(&top->clocks, sum->pid);
    if (is_dotnet && !(known && *known->runtime))
        (void)sn_proc_runtime_version(sum->pid, version, sizeof(version));
    *to = (struct sonde_top_process){
        .pid = sum->pid,
        .thread_count = is_alive ? facts.thread_count : 0,
        .is_dotnet = is_dotnet,
        .cpu_percent = sn_top_percent(top, sum->run_ns),
        .ready_percent = sn_top_percent(top, sum->ready_ns),
        .wait_percent = sn_top_percent(top, sum->wait_ns),
        .runtime = keep(&top->process_texts, known && *known->runtime ? known->runtime : version),
        .command = known && *known->command ? keep(&top->process_texts, known->command)
                                            : read_command(top, sum->pid),
    };
    char shown[NAME_SIZE];
    name_process(to, name, shown);
    to->name = keep(&top->process_texts, shown);
}

static int by_cpu(const void *left, const void *right)
{
    const struct process_sum *a = left;
    const struct process_sum *b = right;
    if (a->run_ns != b->run_ns)
        return a->run_ns < b->run_ns ? 1 : -1;
    if (a->wait_ns != b->wait_ns)
        return a->wait_ns < b->wait_ns ? 1 : -1;
    return a->pid < b->pid ? -1 : 1;
}

int sonde_top_processes(struct sonde_top *top, const struct sonde_top_process **ret_processes,
                        size_t *ret_count, struct sonde_error *err)
{
    struct process_sums sums = {.top = top, .index = sn_table_with_limit(PROCESSES_MAX)};
    uint64_t run_ns = 0;
    sn_top_settle(top);
    sn_top_window_each(top->window, sum_process, &sums);
    if (sums.count)
        qsort(sums.items, sums.count, sizeof(*sums.items), by_cpu);
    free(top->processes);
    top->processes = calloc(sums.count + 1, sizeof(*top->processes));
    sn_arena_done(&top->process_texts);
    top->process_texts = sn_arena_with_limit(TEXTS_LIMIT);
    for (size_t i = 0; top->processes && i < sums.count; i++) {
        describe(top, &sums.items[i], &top->processes[i]);
        run_ns += sums.items[i].run_ns;
    }
    top->cpu_percent = sn_top_percent(top, run_ns);
    top->process_count = (uint32_t)sums.count;
    *ret_count = sums.count;
    *ret_processes = top->processes;
    sn_table_done(&sums.index);
    free(sums.items);
    return top->processes ? SONDE_OK : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
}
