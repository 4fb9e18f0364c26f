/* sonde top on the whole terminal: the processes, and behind Enter the methods of one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NCURSES_NOMACROS 1 /* functions check their arguments; macros trip over -Wconversion */
#include <ncursesw/curses.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/canvas.h"
#include "cli/top_view.h"
#include "sonde/top.h"

#define HEAD_LINES 3 /* numbers, a note, and a blank one */
#define DOINGS     2
#define NAME_SIZE  64

enum page { PAGE_PROCESSES, PAGE_METHODS, PAGE_HELP };

struct screen {
    struct sn_top_view *view;
    uint64_t started_ns;
    enum page page;
    enum page page_before; /* where help leads back to */
    bool is_paused;
    bool is_over;
    int sorting[2]; /* of processes, of methods: the column */
    struct sonde_top_state state;
    char losses[256];
    char cost[256];
    char notes[1024]; /* the way's and what could not be had; the state's texts do not last */
    struct sn_list processes;
    struct sonde_top_process *process_rows; /* owns */
    uint32_t marked_pid;
    uint32_t pid; /* whose methods are shown */
    char name[NAME_SIZE];
    int doing; /* which of the two lists has the keys */
    struct sn_list methods[DOINGS];
    struct sonde_top_method *method_rows[DOINGS]; /* own */
    struct sn_buf texts[DOINGS];                  /* what those point to */
};

/* --- order --- */

static int compare_real(double left, double right)
{
    return left < right ? 1 : left > right ? -1 : 0;
}

static int by_cpu(const void *left, const void *right)
{
    const struct sonde_top_process *a = left;
    const struct sonde_top_process *b = right;
    int order = compare_real(a->cpu_percent, b->cpu_percent);
    return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_wait(const void *left, const void *right)
{
    const struct sonde_top_process *a = left;
    const struct sonde_top_process *b = right;
    int order = compare_real(a->wait_percent, b->wait_percent);
    return order ? order : by_cpu(left, right);
}

static int by_ready(const void *left, const void *right)
{
    const struct sonde_top_process *a = left;
    const struct sonde_top_process *b = right;
    int order = compare_real(a->ready_percent, b->ready_percent);
    return order ? order : by_cpu(left, right);
}

static int by_name(const void *left, const void *right)
{
    const struct sonde_top_process *a = left;
    const struct sonde_top_process *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : by_cpu(left, right);
}

static int by_self(const void *left, const void *right)
{
    const struct sonde_top_method *a = left;
    const struct sonde_top_method *b = right;
    int order = compare_real(a->self_percent, b->self_percent);
    return order ? order : strcmp(a->name, b->name);
}

static int by_total(const void *left, const void *right)
{
    const struct sonde_top_method *a = left;
    const struct sonde_top_method *b = right;
    int order = compare_real(a->total_percent, b->total_percent);
    return order ? order : strcmp(a->name, b->name);
}

struct sorting {
    const char *name;
    int (*compare)(const void *left, const void *right);
};

static const struct sorting process_sortings[] = {
    {"CPU", by_cpu}, {"waiting", by_wait}, {"ready", by_ready}, {"name", by_name}};
static const struct sorting method_sortings[] = {{"self", by_self}, {"total", by_total}};
#define PROCESS_SORTINGS ((int)(sizeof(process_sortings) / sizeof(*process_sortings)))
#define METHOD_SORTINGS  ((int)(sizeof(method_sortings) / sizeof(*method_sortings)))

static const char *sorting_name(const struct screen *screen)
{
    return screen->page == PAGE_PROCESSES ? process_sortings[screen->sorting[0]].name
                                          : method_sortings[screen->sorting[1]].name;
}

/* --- what is shown --- */

static void sort_processes(struct screen *screen)
{
    if (screen->processes.count)
        qsort(screen->process_rows, screen->processes.count, sizeof(*screen->process_rows),
              process_sortings[screen->sorting[0]].compare);
    screen->processes.marked = 0; /* the mark stays with its process */
    for (size_t i = 0; i < screen->processes.count; i++) {
        if (screen->process_rows[i].pid == screen->marked_pid)
            screen->processes.marked = i;
    }
}

static void sort_methods(struct screen *screen)
{
    for (int doing = 0; doing < DOINGS; doing++) {
        if (screen->methods[doing].count)
            qsort(screen->method_rows[doing], screen->methods[doing].count,
                  sizeof(**screen->method_rows), method_sortings[screen->sorting[1]].compare);
    }
}

/* A copy to sort, whose texts stay the view's until its next snapshot. */
static int take_processes(struct screen *screen, struct sonde_error *err)
{
    const struct sonde_top_process *rows;
    size_t count;
    int rc = sonde_top_processes(screen->view->top, &rows, &count, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_top_process *copy = calloc(count + 1, sizeof(*copy));
    if (!copy)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
    if (count)
        memcpy(copy, rows, count * sizeof(*copy));
    free(screen->process_rows);
    screen->process_rows = copy;
    screen->processes.count = count;
    sort_processes(screen);
    return SONDE_OK;
}

/* The view has one list of methods at a time, and here are two: the names are copied too. */
static int take_methods(struct screen *screen, int doing, struct sonde_error *err)
{
    const struct sonde_top_method *rows;
    size_t count;
    struct sn_buf *texts = &screen->texts[doing];
    int rc = sonde_top_methods(screen->view->top, screen->pid, doing, &rows, &count, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_top_method *copy = calloc(count + 1, sizeof(*copy));
    sn_buf_clear(texts);
    for (size_t i = 0; i < count; i++) {
        sn_buf_append(texts, rows[i].name, strlen(rows[i].name) + 1);
        sn_buf_append(texts, rows[i].module, strlen(rows[i].module) + 1);
    }
    if (!copy || texts->failed) {
        free(copy);
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a list");
    }
    const char *text = (const char *)texts->bytes;
    for (size_t i = 0; i < count; i++) {
        copy[i] = rows[i];
        copy[i].name = text;
        copy[i].module = text + strlen(text) + 1;
        text = copy[i].module + strlen(copy[i].module) + 1;
    }
    free(screen->method_rows[doing]);
    screen->method_rows[doing] = copy;
    screen->methods[doing].count = count;
    return SONDE_OK;
}

static int take(struct screen *screen, struct sonde_error *err)
{
    int rc = take_processes(screen, err);
    for (int doing = 0; screen->pid && doing < DOINGS && rc == SONDE_OK; doing++)
        rc = take_methods(screen, doing, err);
    sort_methods(screen);
    sonde_top_state(screen->view->top, &screen->state);
    SN_AUTO(sn_buf_done) struct sn_buf losses = sn_buf_with_limit(sizeof(screen->losses));
    SN_AUTO(sn_buf_done) struct sn_buf cost = sn_buf_with_limit(sizeof(screen->cost));
    sn_top_losses(&losses, screen->view, &screen->state);
    sn_top_cost(&cost, screen->view);
    (void)snprintf(screen->losses, sizeof(screen->losses), "%s", sn_buf_string(&losses));
    (void)snprintf(screen->cost, sizeof(screen->cost), "%s", sn_buf_string(&cost));
    bool has_both = *screen->state.way_note && *screen->state.note;
    (void)snprintf(screen->notes, sizeof(screen->notes), "%s%s%s", screen->state.way_note,
                   has_both ? "; " : "", screen->state.note);
    return rc;
}

/* --- drawing --- */

static void draw_head(const struct screen *screen)
{
    char line[512];
    char text[32];
    const struct sonde_top_state *state = &screen->state;
    SN_AUTO(sn_buf_done) struct sn_buf numbers = sn_buf_with_limit(sizeof(line));
    sn_top_head(&numbers, state);
    (void)snprintf(line, sizeof(line), "sonde top%s: %s; by %s%s; %s%ssonde itself %s %%",
                   screen->is_paused ? " PAUSED" : "", sn_buf_string(&numbers),
                   sorting_name(screen), screen->view->chosen.no_waits ? "" : ", with waits",
                   screen->cost, *screen->cost ? "; " : "",
                   sn_top_percent_text(sn_top_own_percent(state, screen->started_ns), text));
    (void)sn_canvas_put(0, 0, SN_COLOUR_PLAIN, line);
    (void)sn_canvas_put(1, 0, SN_COLOUR_WARN, *screen->losses ? screen->losses : screen->notes);
}

static void draw_keys(const struct screen *screen)
{
    static const char *const keys[] = {
        [PAGE_PROCESSES] = "Enter methods  s sort  w waits  p pause  ? help  q quit",
        [PAGE_METHODS] = "Tab running/waiting  Esc back  s sort  w waits  p pause  ? help  q quit",
        [PAGE_HELP] = "any key leads back",
    };
    (void)sn_canvas_put(LINES - 1, 0, SN_COLOUR_HEAD, keys[screen->page]);
}

static void draw_process(const struct sonde_top_process *process, int line)
{
    char text[512];
    char number[3][24];
    (void)snprintf(text, sizeof(text), "%8" PRIu32 " %8s %8s %9s %7" PRIu32 " %-9.9s %-16.64s ",
                   process->pid, sn_top_percent_text(process->cpu_percent, number[0]),
                   sn_top_percent_text(process->ready_percent, number[1]),
                   sn_top_percent_text(process->wait_percent / 100.0, number[2]),
                   process->thread_count, process->is_dotnet ? process->runtime : "",
                   process->name);
    int at = sn_canvas_put(line, 0, process->is_dotnet ? SN_COLOUR_GREEN : SN_COLOUR_PLAIN, text);
    (void)sn_canvas_put(line, at, SN_COLOUR_PLAIN, process->command);
}

static void draw_processes(struct screen *screen)
{
    int lines = LINES - HEAD_LINES - 1;
    char head[128];
    (void)snprintf(head, sizeof(head), "%8s %8s %8s %9s %7s %-9s %-16s %s", "PID", "CPU %",
                   "READY %", "WAITS", "THREADS", ".NET", "NAME", "COMMAND");
    (void)sn_canvas_put(HEAD_LINES - 1, 0, SN_COLOUR_HEAD, head);
    sn_list_scroll(&screen->processes, lines);
    for (int i = 0; i < lines; i++) {
        size_t row = screen->processes.first + (size_t)i;
        if (row >= screen->processes.count)
            break;
        draw_process(&screen->process_rows[row], HEAD_LINES + i);
        if (row == screen->processes.marked)
            sn_canvas_mark(HEAD_LINES + i);
    }
}

static enum sn_colour colour_of(int code)
{
    if (code == SONDE_TOP_MANAGED)
        return SN_COLOUR_GREEN;
    return code == SONDE_TOP_KERNEL ? SN_COLOUR_CYAN : SN_COLOUR_PLAIN;
}

static void draw_method(const struct sonde_top_method *method, int line)
{
    char text[32];
    char number[2][24];
    (void)snprintf(text, sizeof(text), "%8s %8s  ",
                   sn_top_percent_text(method->self_percent, number[0]),
                   sn_top_percent_text(method->total_percent, number[1]));
    int at = sn_canvas_put(line, 0, SN_COLOUR_PLAIN, text);
    at = sn_canvas_put(line, at, colour_of(method->code), method->name);
    (void)sn_canvas_put(line, at + 2, SN_COLOUR_PLAIN, sn_top_module(method));
}

static void draw_methods(struct screen *screen, int doing, int top, int bottom)
{
    static const char *const heads[] = {
        [SONDE_TOP_RUNNING] = "ON CPU", [SONDE_TOP_WAITING] = "WAITING"};
    struct sn_list *list = &screen->methods[doing];
    char head[160];
    (void)snprintf(head, sizeof(head), "%8s %8s  %s: %" PRIu32 " %s", "SELF %", "TOTAL %",
                   heads[doing], screen->pid, screen->name);
    (void)sn_canvas_put(top, 0, SN_COLOUR_HEAD, head);
    sn_list_scroll(list, bottom - top - 1);
    for (int line = top + 1; line < bottom; line++) {
        size_t row = list->first + (size_t)(line - top - 1);
        if (row >= list->count)
            break;
        draw_method(&screen->method_rows[doing][row], line);
        if (row == list->marked && doing == screen->doing)
            sn_canvas_mark(line);
    }
}

static void draw_help(const struct screen *screen)
{
    static const char *const words[] = {
        "Up, Down, Page Up, Page Down, Home, End   move the mark",
        "Enter                                     the methods of the process",
        "Esc, Backspace                            back to the processes",
        "Tab                                       from what runs to what waits, and back",
        "s                                         sort by another column",
        "w                                         what waits, too, or no longer: it costs more",
        "p                                         pause, and go on",
        "q                                         quit",
        "",
        "Percentages are of one CPU, or of one thread when it waits; over the last seconds.",
        "READY: could have run, and had no CPU. WAITS: threads that waited, on average, in waits that ended.",
        "",
    };
    int line = HEAD_LINES;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && line < LINES - 1; i++)
        (void)sn_canvas_put(line++, 2, SN_COLOUR_PLAIN, words[i]);
    (void)sn_canvas_put_wrapped(line, SN_COLOUR_WARN, screen->notes);
}

static void draw(struct screen *screen)
{
    int middle = HEAD_LINES - 1 + (LINES - HEAD_LINES) * 3 / 5;
    (void)erase();
    draw_head(screen);
    switch (screen->page) {
    case PAGE_PROCESSES: draw_processes(screen); break;
    case PAGE_METHODS:
        draw_methods(screen, SONDE_TOP_RUNNING, HEAD_LINES - 1, middle);
        draw_methods(screen, SONDE_TOP_WAITING, middle, LINES - 1);
        break;
    case PAGE_HELP: draw_help(screen); break;
    }
    draw_keys(screen);
    (void)refresh();
}

/* --- keys --- */

static struct sn_list *list_with_keys(struct screen *screen)
{
    return screen->page == PAGE_METHODS ? &screen->methods[screen->doing] : &screen->processes;
}

static void move_mark(struct screen *screen, int key)
{
    struct sn_list *list = list_with_keys(screen);
    if (!sn_list_move(list, key, LINES - HEAD_LINES - 2))
        return;
    if (screen->page == PAGE_PROCESSES && list->count)
        screen->marked_pid = screen->process_rows[list->marked].pid;
}

static int open_methods(struct screen *screen, struct sonde_error *err)
{
    if (screen->page != PAGE_PROCESSES || !screen->processes.count)
        return SONDE_OK;
    const struct sonde_top_process *process = &screen->process_rows[screen->processes.marked];
    screen->marked_pid = process->pid;
    screen->pid = process->pid;
    screen->page = PAGE_METHODS;
    screen->doing = SONDE_TOP_RUNNING;
    (void)snprintf(screen->name, sizeof(screen->name), "%s", process->name);
    memset(screen->methods, 0, sizeof(screen->methods));
    int rc = SONDE_OK;
    for (int doing = 0; doing < DOINGS && rc == SONDE_OK; doing++)
        rc = take_methods(screen, doing, err);
    sort_methods(screen);
    return rc;
}

static void go_back(struct screen *screen)
{
    screen->page = PAGE_PROCESSES;
    screen->pid = 0;
}

static void sort_otherwise(struct screen *screen)
{
    if (screen->page == PAGE_PROCESSES) {
        screen->sorting[0] = (screen->sorting[0] + 1) % PROCESS_SORTINGS;
        sort_processes(screen);
    } else if (screen->page == PAGE_METHODS) {
        screen->sorting[1] = (screen->sorting[1] + 1) % METHOD_SORTINGS;
        sort_methods(screen);
    }
}

static void toggle_help(struct screen *screen)
{
    screen->page_before = screen->page;
    screen->page = PAGE_HELP;
}

/* A view cannot be changed: another takes its place, as it takes the place of its numbers. */
static int toggle_waits(struct screen *screen, struct sonde_error *err)
{
    struct sn_top_view *view = screen->view;
    sonde_top_free(SN_TAKE(view->top));
    view->chosen.no_waits = !view->chosen.no_waits;
    int rc = sonde_top_new(&view->chosen, &view->top, err);
    return rc == SONDE_OK ? take(screen, err) : rc;
}

static int take_key(struct screen *screen, int key, struct sonde_error *err)
{
    if (screen->page == PAGE_HELP && key != 'q' && key != KEY_RESIZE) {
        screen->page = screen->page_before;
        return SONDE_OK;
    }
    switch (key) {
    case 'q': screen->is_over = true; break;
    case 'p': screen->is_paused = !screen->is_paused; break;
    case 's': sort_otherwise(screen); break;
    case 'w': return toggle_waits(screen, err);
    case '?':
    case 'h': toggle_help(screen); break;
    case '\t': screen->doing = !screen->doing; break;
    case '\n':
    case '\r':
    case KEY_ENTER: return open_methods(screen, err);
    case SN_KEY_ESCAPE:
    case KEY_BACKSPACE:
    case 127:
    case '\b': go_back(screen); break;
    default: move_mark(screen, key);
    }
    return SONDE_OK;
}

static int take_keys(struct screen *screen, struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (int key; rc == SONDE_OK && (key = getch()) != ERR;)
        rc = take_key(screen, key, err);
    return rc;
}

/* --- the terminal --- */

static int show(struct screen *screen, struct sonde_error *err)
{
    uint64_t due_ns = sn_clock_deadline(screen->view->interval_ns / 4); /* something soon */
    int rc = take(screen, err);
    while (rc == SONDE_OK && !screen->is_over) {
        draw(screen);
        int why = sn_top_wait(screen->view, due_ns, STDIN_FILENO, err);
        if (why < 0 || why == SN_TOP_SIGNAL)
            return why < 0 ? why : SONDE_OK;
        if (why == SN_TOP_INPUT)
            rc = take_keys(screen, err);
        if (sn_clock_monotonic_ns() < due_ns)
            continue;
        due_ns = sn_clock_deadline(screen->view->interval_ns);
        if (rc == SONDE_OK && !screen->is_paused)
            rc = take(screen, err);
    }
    return rc;
}

int sn_top_screen(struct sn_top_view *view, struct sonde_error *err)
{
    struct sn_canvas canvas;
    int rc = sn_canvas_open(&canvas, err);
    if (rc != SONDE_OK)
        return rc;
    struct screen screen = {.view = view, .started_ns = sn_clock_monotonic_ns()};
    for (int doing = 0; doing < DOINGS; doing++)
        screen.texts[doing] = sn_buf_with_limit(64u << 20);
    rc = show(&screen, err);
    sn_canvas_close(&canvas);
    for (int doing = 0; doing < DOINGS; doing++) {
        sn_buf_done(&screen.texts[doing]);
        free(screen.method_rows[doing]);
    }
    free(screen.process_rows);
    return rc;
}
