/* sonde top without a terminal of its own: tables, or a JSON object a line. */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/scope_options.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "sonde/top.h"

#define JSON_LIMIT (16u << 20)
#define HEAD_LIMIT 512u

/* --- shared with the screen --- */

int sn_top_wait(const struct sn_top_view *view, uint64_t deadline_ns, int input,
                struct sonde_error *err)
{
    for (;;) {
        int timeout = sonde_top_wait_ms(view->top);
        int left = sn_clock_poll_ms(deadline_ns);
        if (timeout < 0 || (left >= 0 && left < timeout))
            timeout = left;
        struct pollfd polled[] = {{.fd = sonde_top_fd(view->top), .events = POLLIN},
                                  {.fd = view->signals, .events = POLLIN},
                                  {.fd = input, .events = POLLIN}};
        bool is_interrupted = poll(polled, 3, timeout) < 0; /* the terminal's size has changed */
        if (!is_interrupted && polled[1].revents)
            return SN_TOP_SIGNAL;
        int rc = sonde_top_turn(view->top, err);
        if (rc < 0)
            return rc;
        if (is_interrupted || polled[2].revents)
            return SN_TOP_INPUT;
        if (sn_clock_monotonic_ns() >= deadline_ns)
            return SN_TOP_TIME;
    }
}

const char *sn_top_percent_text(double percent, char to[24])
{
    long long tenths = llround(percent * 10.0);
    (void)snprintf(to, 24, "%lld.%lld", tenths / 10, tenths % 10);
    return to;
}

double sn_top_own_percent(const struct sonde_top_state *state, uint64_t started_ns)
{
    uint64_t passed = sn_clock_monotonic_ns() - started_ns;
    return passed ? 100.0 * (double)state->own_cpu_ns / (double)passed : 0.0;
}

void sn_top_head(struct sn_buf *to, const struct sonde_top_state *state)
{
    char text[3][32];
    sn_buf_format(to, "%s %% of %" PRIu32 " CPU%s, %s process%s, over %s",
                  sn_top_percent_text(state->cpu_percent, text[0]), state->cpu_count,
                  state->cpu_count == 1 ? "" : "s", sn_text_count(state->process_count, text[1]),
                  state->process_count == 1 ? "" : "es",
                  sn_text_duration(state->window_ns, text[2]));
}

void sn_top_cost(struct sn_buf *to, const struct sn_top_view *view)
{
    char text[2][24];
    struct sonde_top_cost cost;
    sonde_top_cost(view->top, &cost);
    if (!cost.process_count || (view->once && !cost.is_measured))
        return;
    if (cost.is_known)
        sn_buf_format(to, "watching costs %s about %s %% of a CPU", cost.name,
                      sn_top_percent_text(cost.percent, text[0]));
    else if (cost.is_measured)
        sn_buf_format(to,
                      "what watching costs %s cannot be told: its load moves more than that (%s %% "
                      "of a CPU before, %s %% since)",
                      cost.name, sn_top_percent_text(cost.before_percent, text[0]),
                      sn_top_percent_text(cost.since_percent, text[1]));
    else
        sn_buf_format(to, "what watching costs %s is being measured", cost.name);
}

void sn_top_losses(struct sn_buf *to, const struct sn_top_view *view,
                   const struct sonde_top_state *state)
{
    char text[32];
    if (!state->lost_count)
        return;
    sn_buf_format(to, "%s events LOST: the numbers are too low; ",
                  sn_text_count(state->lost_count, text));
    if (!view->chosen.no_waits)
        sn_buf_format(to, "go without waits, or choose processes with -p");
    else
        sn_buf_format(to, "choose processes with -p, or fewer samples with -F");
}

const char *sn_top_module(const struct sonde_top_method *method)
{
    size_t size = strlen(method->module);
    bool is_said = strncmp(method->name, method->module, size) == 0 && method->name[size] == '!';
    return is_said ? "" : method->module;
}

/* --- tables --- */

static void print_head(const struct sn_top_view *view, const struct sonde_top_state *state)
{
    SN_AUTO(sn_buf_done) struct sn_buf numbers = sn_buf_with_limit(HEAD_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf cost = sn_buf_with_limit(HEAD_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf losses = sn_buf_with_limit(HEAD_LIMIT);
    sn_top_head(&numbers, state);
    sn_top_cost(&cost, view);
    sn_top_losses(&losses, view, state);
    (void)puts(sn_buf_string(&numbers));
    if (cost.size) {
        sn_terminal_put(stdout, SN_STYLE_NONE, sn_buf_string(&cost));
        (void)putchar('\n');
    }
    if (losses.size) {
        sn_terminal_put(stdout, SN_STYLE_WARN, sn_buf_string(&losses));
        (void)putchar('\n');
    }
    if (*state->way_note) {
        sn_terminal_put(stdout, SN_STYLE_WARN, state->way_note);
        (void)putchar('\n');
    }
    if (*state->note) {
        sn_terminal_put(stdout, SN_STYLE_WARN, state->note);
        (void)putchar('\n');
    }
}

static void print_process(const struct sonde_top_process *process)
{
    char text[3][24];
    (void)printf("%8" PRIu32 " %8s %8s %9s %7" PRIu32 "  ", process->pid,
                 sn_top_percent_text(process->cpu_percent, text[0]),
                 sn_top_percent_text(process->ready_percent, text[1]),
                 sn_top_percent_text(process->wait_percent / 100.0, text[2]),
                 process->thread_count);
    sn_terminal_cell(stdout, SN_STYLE_NONE, process->is_dotnet ? process->runtime : "", 9);
    (void)putchar(' ');
    sn_terminal_put(stdout, SN_STYLE_BOLD, process->name);
    (void)putchar('\n');
}

static void print_methods(const char *head, const struct sonde_top_method *methods, size_t count)
{
    if (!count)
        return;
    (void)printf("\n%8s %8s  %s\n", "SELF %", "TOTAL %", head);
    for (size_t i = 0; i < count; i++) {
        char text[2][24];
        (void)printf("%8s %8s  ", sn_top_percent_text(methods[i].self_percent, text[0]),
                     sn_top_percent_text(methods[i].total_percent, text[1]));
        sn_terminal_put(stdout, SN_STYLE_NONE, methods[i].name);
        const char *module = sn_top_module(&methods[i]);
        if (*module) {
            (void)fputs("  ", stdout);
            sn_terminal_put(stdout, SN_STYLE_DIM, module);
        }
        (void)putchar('\n');
    }
}

static size_t least(size_t count, uint64_t rows)
{
    return count < rows ? count : (size_t)rows;
}

static int print_tables(const struct sn_top_view *view, struct sonde_error *err)
{
    const struct sonde_top_process *processes;
    const struct sonde_top_method *methods;
    size_t count;
    int rc = sonde_top_processes(view->top, &processes, &count, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_top_state state;
    sonde_top_state(view->top, &state);
    print_head(view, &state);
    (void)printf("\n%8s %8s %8s %9s %7s  %-9s %s\n", "PID", "CPU %", "READY %", "WAITS", "THREADS",
                 ".NET", "NAME");
    for (size_t i = 0; i < least(count, view->rows); i++)
        print_process(&processes[i]);
    rc = sonde_top_methods(view->top, 0, SONDE_TOP_RUNNING, &methods, &count, err);
    if (rc != SONDE_OK)
        return rc;
    print_methods("ON CPU", methods, least(count, view->rows));
    rc = sonde_top_methods(view->top, 0, SONDE_TOP_WAITING, &methods, &count, err);
    if (rc != SONDE_OK)
        return rc;
    print_methods("WAITING", methods, least(count, view->rows));
    (void)putchar('\n');
    return SONDE_OK;
}

/* --- JSON --- */

static const char *code_name(int code)
{
    static const char *const names[] = {
        [SONDE_TOP_UNKNOWN] = "unknown", [SONDE_TOP_MANAGED] = "managed",
        [SONDE_TOP_RUNTIME] = "runtime", [SONDE_TOP_NATIVE] = "native",
        [SONDE_TOP_KERNEL] = "kernel",
    };
    return names[code];
}

static void write_process(struct sn_json *json, const struct sonde_top_process *process)
{
    sn_json_object(json, NULL);
    sn_json_u64(json, "pid", process->pid);
    sn_json_text(json, "name", process->name);
    sn_json_text(json, "command", process->command);
    sn_json_bool(json, "dotnet", process->is_dotnet);
    sn_json_text(json, "runtime", process->runtime);
    sn_json_u64(json, "threads", process->thread_count);
    sn_json_real(json, "cpuPercent", process->cpu_percent);
    sn_json_real(json, "readyPercent", process->ready_percent);
    sn_json_real(json, "waitPercent", process->wait_percent);
    sn_json_close(json);
}

static int write_methods(const struct sn_top_view *view, struct sn_json *json, const char *key,
                         int doing, struct sonde_error *err)
{
    const struct sonde_top_method *methods;
    size_t count;
    int rc = sonde_top_methods(view->top, 0, doing, &methods, &count, err);
    if (rc != SONDE_OK)
        return rc;
    sn_json_array(json, key);
    for (size_t i = 0; i < least(count, view->rows); i++) {
        sn_json_object(json, NULL);
        sn_json_text(json, "name", methods[i].name);
        sn_json_text(json, "module", methods[i].module);
        sn_json_text(json, "code", code_name(methods[i].code));
        sn_json_real(json, "selfPercent", methods[i].self_percent);
        sn_json_real(json, "totalPercent", methods[i].total_percent);
        sn_json_close(json);
    }
    sn_json_close(json);
    return SONDE_OK;
}

static void write_cost(struct sn_json *json, const struct sonde_top *top)
{
    struct sonde_top_cost cost;
    sonde_top_cost(top, &cost);
    if (!cost.is_measured)
        return;
    sn_json_object(json, "cost");
    sn_json_bool(json, "known", cost.is_known);
    sn_json_real(json, "beforePercent", cost.before_percent);
    sn_json_real(json, "sincePercent", cost.since_percent);
    sn_json_close(json);
}

static void write_state(struct sn_json *json, const struct sonde_top_state *state)
{
    char time[32];
    sn_json_text(json, "time", sn_clock_rfc3339(sn_clock_utc_ns(), time));
    sn_json_real(json, "windowSeconds", (double)state->window_ns / 1e9);
    sn_json_text(json, "way", sn_way_name(state->way));
    sn_json_text(json, "wayNote", state->way_note);
    sn_json_text(json, "note", state->note);
    sn_json_u64(json, "cpus", state->cpu_count);
    sn_json_real(json, "cpuPercent", state->cpu_percent);
    sn_json_u64(json, "samples", state->sample_count);
    sn_json_u64(json, "lost", state->lost_count);
    sn_json_real(json, "ownCpuSeconds", (double)state->own_cpu_ns / 1e9);
}

static int print_json(const struct sn_top_view *view, struct sonde_error *err)
{
    const struct sonde_top_process *processes;
    size_t count;
    int rc = sonde_top_processes(view->top, &processes, &count, err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(JSON_LIMIT);
    struct sn_json json = sn_json_to(&out);
    struct sonde_top_state state;
    sonde_top_state(view->top, &state);
    sn_json_object(&json, NULL);
    write_state(&json, &state);
    write_cost(&json, view->top);
    sn_json_array(&json, "processes");
    for (size_t i = 0; i < least(count, view->rows); i++)
        write_process(&json, &processes[i]);
    sn_json_close(&json);
    rc = write_methods(view, &json, "running", SONDE_TOP_RUNNING, err);
    if (rc == SONDE_OK)
        rc = write_methods(view, &json, "waiting", SONDE_TOP_WAITING, err);
    sn_json_close(&json);
    if (rc == SONDE_OK && !sn_terminal_flush(&out))
        rc = sn_fail(err, SONDE_E_SYSTEM, 0, "cannot write to standard output");
    return rc;
}

/* "| head" has seen enough; what it did not take is dropped, so that nobody tries again. */
static bool has_reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    if (poll(&out, 1, 0) != 1 || !(out.revents & (POLLERR | POLLHUP)))
        return false;
    __fpurge(stdout);
    return true;
}

int sn_top_print(const struct sn_top_view *view, struct sonde_error *err)
{
    do {
        int rc = sn_top_wait(view, sn_clock_deadline(view->interval_ns), -1, err);
        if (rc < 0)
            return rc;
        if (rc == SN_TOP_SIGNAL)
            return SONDE_OK;
        rc = view->json ? print_json(view, err) : print_tables(view, err);
        if (rc == SONDE_OK && fflush(stdout) != 0)
            rc = sn_fail_errno(err, "cannot write to standard output");
        if (ferror(stdout) && has_reader_left())
            return SONDE_OK;
        if (rc != SONDE_OK) {
            clearerr(stdout); /* the caller prints the reason; once is enough */
            return rc;
        }
    } while (!view->once);
    return SONDE_OK;
}
