/* sonde counters on the whole terminal: processes, their providers, and the course of every
 * counter.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_NOMACROS 1 /* functions check their arguments; macros trip over -Wconversion */
#include <ncursesw/curses.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/canvas.h"
#include "cli/counter_history.h"
#include "cli/counter_text.h"
#include "cli/counters_rows.h"
#include "cli/counters_shot.h"
#include "cli/counters_views.h"
#include "cli/terminal.h"

#define HEAD_LINES      3 /* numbers, a note, and the columns' names */
#define VALUE_WIDTH     13
#define RATE_WIDTH      13
#define NAME_MIN        20
#define NAME_MAX        64
#define SPARK_NARROW    16
#define SPARK_WIDE      40
#define WIDE_COLUMNS    140
#define DETAIL_MAX      512u
#define PROCESSES_SHOWN 3u /* unfolded; of more, each begins as a line */
#define SOON_NS         (100ull * SN_NS_PER_MS)

enum page { PAGE_LIST, PAGE_SERIES, PAGE_HELP };

struct screen {
    struct sn_counters_run *run;
    struct sn_counters_screen *settings;
    struct sn_canvas canvas;
    struct sn_counters_shot shot;
    struct sn_counters_choice choice;
    struct sn_counters_rows rows;
    struct sn_list list;
    uint64_t marked_key; /* the mark stays with its row */
    enum page page;
    bool is_typing;  /* a filter */
    bool has_folded; /* a person has: what was unfolded by itself stays so */
    bool is_paused;
    bool is_over;
};

/* Where the columns are. */
struct layout {
    int name_width;
    int value;
    int rate;
    int spark;
    int spark_width;
    int detail; /* 0: none */
};

static const char *const sortings[] = {
    [SN_BY_NAME] = "name", [SN_BY_VALUE] = "value", [SN_BY_RATE] = "rate"};

/* --- the list --- */

static const struct sn_counters_row *marked_row(const struct screen *screen)
{
    return screen->list.marked < screen->rows.count ? &screen->rows.items[screen->list.marked]
                                                    : NULL;
}

static int list_anew(struct screen *screen, struct sonde_error *err)
{
    screen->choice.is_wide = COLS >= WIDE_COLUMNS;
    int rc = sn_counters_rows_make(&screen->rows, &screen->shot, &screen->choice, err);
    screen->list.count = screen->rows.count;
    for (size_t i = 0; i < screen->rows.count; i++) {
        if (screen->rows.items[i].key == screen->marked_key)
            screen->list.marked = i;
    }
    return rc;
}

static int take_shot(struct screen *screen, struct sonde_error *err)
{
    int rc = sn_counters_shot_take(&screen->shot, screen->run, err);
    if (!screen->has_folded)
        screen->choice.folds_processes = screen->shot.process_count > PROCESSES_SHOWN;
    return rc == SONDE_OK ? list_anew(screen, err) : rc;
}

/* --- drawing --- */

static struct layout lay_out(bool has_deltas)
{
    bool is_wide = COLS >= WIDE_COLUMNS;
    struct layout layout = {.spark_width = is_wide ? SPARK_WIDE : SPARK_NARROW};
    int numbers = VALUE_WIDTH + RATE_WIDTH + 2 + (has_deltas ? RATE_WIDTH + 1 : 0);
    layout.name_width = COLS - numbers - layout.spark_width - 1;
    if (layout.name_width < NAME_MIN) {
        layout.spark_width += layout.name_width - NAME_MIN;
        layout.name_width = NAME_MIN;
    }
    if (layout.name_width > NAME_MAX && is_wide)
        layout.name_width = NAME_MAX;
    layout.value = layout.name_width + 1;
    layout.rate = layout.value + VALUE_WIDTH + 1;
    layout.spark = layout.name_width + numbers + 1;
    layout.detail = is_wide ? layout.spark + layout.spark_width + 2 : 0;
    return layout;
}

/* Text with its end at column `end`; what has no room loses its end. */
static void put_right(int line, int end, int width, enum sn_colour colour, const char *text)
{
    int taken = (int)sn_terminal_columns(text);
    int start = taken < width ? end - taken : end - width;
    (void)sn_canvas_put_cell(line, start, end - start, colour, text);
}

static void draw_head(const struct screen *screen)
{
    char text[4][32];
    SN_AUTO(sn_buf_done) struct sn_buf line = sn_buf_with_limit(1024);
    uint64_t lost = 0;
    size_t count = screen->shot.process_count;
    for (size_t i = 0; i < count; i++)
        lost += screen->shot.processes[i].lost_count;
    sn_buf_format(&line, "sonde counters%s: ", screen->is_paused ? " PAUSED" : "");
    if (*screen->choice.filter)
        sn_buf_format(&line, "only '%s', ", screen->choice.filter);
    sn_buf_format(&line, "by %s, %s process%s, every %s, %s values, %s lost",
                  sortings[screen->choice.sorting], sn_text_count(count, text[0]),
                  count == 1 ? "" : "es",
                  sn_text_duration(sn_counters_interval_ns(screen->run), text[1]),
                  sn_text_count(screen->run->value_count, text[2]), sn_text_count(lost, text[3]));
    (void)sn_canvas_put(0, 0, screen->is_paused ? SN_COLOUR_WARN : SN_COLOUR_PLAIN,
                        sn_buf_string(&line));
}

/* What is not as it was asked for, of everybody. */
static void collect_notes(const struct screen *screen, struct sn_buf *to)
{
    for (size_t i = 0; i < screen->shot.process_count; i++) {
        const struct sn_shot_process *process = &screen->shot.processes[i];
        if (!*process->note)
            continue;
        sn_buf_text(to, to->size ? "; " : "");
        if (strncmp(process->note, "pid ", 4) != 0)
            sn_buf_format(to, "pid %" PRIu32 ": ", process->pid);
        sn_buf_text(to, process->note);
    }
}

static void draw_columns(const struct layout *layout, bool has_deltas)
{
    (void)sn_canvas_put(HEAD_LINES - 1, 0, SN_COLOUR_HEAD, "NAME");
    put_right(HEAD_LINES - 1, layout->value + VALUE_WIDTH, VALUE_WIDTH, SN_COLOUR_HEAD, "VALUE");
    put_right(HEAD_LINES - 1, layout->rate + RATE_WIDTH, RATE_WIDTH, SN_COLOUR_HEAD, "RATE");
    if (has_deltas)
        put_right(HEAD_LINES - 1, layout->spark - 1, RATE_WIDTH, SN_COLOUR_HEAD, "CHANGE");
    (void)sn_canvas_put(HEAD_LINES - 1, layout->spark + 1, SN_COLOUR_HEAD, "COURSE");
    if (layout->detail)
        (void)sn_canvas_put(HEAD_LINES - 1, layout->detail, SN_COLOUR_HEAD, "OF THE INTERVAL");
}

static const char *fold_mark(const struct screen *screen, const struct sn_counters_row *row)
{
    if (screen->canvas.has_utf8)
        return row->is_folded ? "▸" : "▾";
    return row->is_folded ? "+" : "-";
}

static void draw_process(const struct screen *screen, const struct sn_counters_row *row, int line)
{
    static const char *const phases[] = {[SONDE_CONSUMER_OPENING] = "asked ...",
                                         [SONDE_CONSUMER_LIVE] = "",
                                         [SONDE_CONSUMER_ENDED] = "ended"};
    const struct sn_shot_process *process = row->process;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(2048);
    sn_buf_format(&text, "%s %" PRIu32 " %s", fold_mark(screen, row), process->pid, process->name);
    int at = sn_canvas_put_cell(line, 0, COLS / 3, SN_COLOUR_GREEN, sn_buf_string(&text));
    if (*process->runtime) {
        sn_buf_clear(&text);
        sn_buf_format(&text, ".NET %s", process->runtime);
        at = sn_canvas_put(line, at + 2, SN_COLOUR_PLAIN, sn_buf_string(&text));
    }
    const char *phase =
        process->phase >= 0 && process->phase <= SONDE_CONSUMER_ENDED ? phases[process->phase] : "";
    if (*phase)
        at = sn_canvas_put(line, at + 2, SN_COLOUR_WARN, phase);
    if (screen->choice.is_wide)
        (void)sn_canvas_put_cell(line, at + 2, COLS - at - 2, SN_COLOUR_CYAN, process->summary);
}

static void draw_provider(const struct screen *screen, const struct sn_counters_row *row, int line)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    sn_buf_format(&text, "  %s %s", fold_mark(screen, row), row->point->provider);
    int at = sn_canvas_put(line, 0, SN_COLOUR_HEAD, sn_buf_string(&text));
    char count[32];
    sn_buf_clear(&text);
    sn_buf_format(&text, "  (%s)", sn_text_count(row->series_count, count));
    if (row->is_folded)
        (void)sn_canvas_put(line, at, SN_COLOUR_PLAIN, sn_buf_string(&text));
}

static void draw_value(const struct screen *screen, const struct layout *layout,
                       const struct sonde_point *point, int line)
{
    char text[SN_COUNTER_TEXT];
    char marked[SN_COUNTER_TEXT + 1];
    const char *unit = screen->settings->shows_whole ? "" : point->unit;
    (void)snprintf(marked, sizeof(marked), "%s%s", point->is_provisional ? "~" : "",
                   sn_counter_text(sn_counter_main(point), unit, text));
    put_right(line, layout->value + VALUE_WIDTH, VALUE_WIDTH,
              point->is_provisional ? SN_COLOUR_WARN : SN_COLOUR_PLAIN, marked);
    put_right(line, layout->rate + RATE_WIDTH, RATE_WIDTH, SN_COLOUR_PLAIN,
              sn_counter_rate_text(point, text));
    double change = sn_counter_history_change(&screen->settings->history, sn_counter_key(point));
    if (screen->settings->shows_deltas && isfinite(change))
        put_right(line, layout->spark - 1, RATE_WIDTH, SN_COLOUR_PLAIN,
                  sn_counter_text(change, unit, text));
}

static void draw_spark(const struct screen *screen, const struct sonde_point *point, int line,
                       int column, int width)
{
    double values[SN_HISTORY_LENGTH];
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)SN_HISTORY_LENGTH * 4);
    if (width <= 1)
        return;
    size_t count = sn_counter_history_get(&screen->settings->history, sn_counter_key(point), values,
                                          (size_t)width - 1);
    sn_counter_spark(&text, values, count, !screen->canvas.has_utf8);
    (void)sn_canvas_put(line, column + width - (int)count, SN_COLOUR_CYAN, sn_buf_string(&text));
}

/* Where they have no room, keys lose what stands before their last dot. */
static void draw_tags(const char *tags, int line, int column, int end)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    bool fits = (int)sn_terminal_columns(tags) <= end - column;
    if (!fits)
        sn_counter_short_tags(&text, tags);
    (void)sn_canvas_put_cell(line, column, end - column, SN_COLOUR_CYAN,
                             fits ? tags : sn_buf_string(&text));
}

/* What tags get beside a name: as much as they take when short, but a third is the name's. */
static int tag_room(const char *tags, int width)
{
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(65536);
    sn_counter_short_tags(&text, tags);
    int wanted = *tags ? (int)sn_terminal_columns(sn_buf_string(&text)) + 1 : 0;
    int most = width - width / 3;
    return wanted < most ? wanted : most;
}

static void draw_series(const struct screen *screen, const struct layout *layout,
                        const struct sn_counters_row *row, int line)
{
    const struct sonde_point *point = row->point;
    int indent = row->is_below_name ? 6 : 4;
    int at = indent;
    int room = layout->name_width - indent;
    if (!row->is_below_name) /* names that have tags often begin alike */
        at = (*point->tag_text ? sn_canvas_put_cell_end : sn_canvas_put_cell)(
            line, at, room - tag_room(point->tag_text, room), SN_COLOUR_PLAIN, point->display_name);
    if (*point->tag_text && at + 4 < layout->name_width)
        draw_tags(point->tag_text, line, at + (at > indent), layout->name_width);
    draw_value(screen, layout, point, line);
    draw_spark(screen, point, line, layout->spark, layout->spark_width);
    if (!layout->detail)
        return;
    SN_AUTO(sn_buf_done) struct sn_buf detail = sn_buf_with_limit(DETAIL_MAX);
    sn_counter_detail(&detail, point);
    (void)sn_canvas_put_cell(line, layout->detail, COLS - layout->detail, SN_COLOUR_PLAIN,
                             sn_buf_string(&detail));
}

static void draw_detail(const struct sn_counters_row *row, int line)
{
    SN_AUTO(sn_buf_done) struct sn_buf detail = sn_buf_with_limit(DETAIL_MAX);
    if (!row->point) {
        (void)sn_canvas_put_cell(line, 2, COLS - 2, SN_COLOUR_CYAN, row->process->summary);
        return;
    }
    sn_counter_detail(&detail, row->point);
    (void)sn_canvas_put_cell(line, 8, COLS - 8, SN_COLOUR_PLAIN, sn_buf_string(&detail));
}

static void draw_row(const struct screen *screen, const struct layout *layout,
                     const struct sn_counters_row *row, int line)
{
    switch (row->kind) {
    case SN_ROW_PROCESS: draw_process(screen, row, line); break;
    case SN_ROW_PROVIDER: draw_provider(screen, row, line); break;
    case SN_ROW_NAME:
        (void)sn_canvas_put_cell(line, 4, COLS - 4, SN_COLOUR_PLAIN, row->point->display_name);
        break;
    case SN_ROW_SERIES: draw_series(screen, layout, row, line); break;
    case SN_ROW_DETAIL: draw_detail(row, line); break;
    }
}

static void draw_list(struct screen *screen)
{
    struct layout layout = lay_out(screen->settings->shows_deltas);
    int height = LINES - HEAD_LINES - 1;
    SN_AUTO(sn_buf_done) struct sn_buf notes = sn_buf_with_limit(65536);
    collect_notes(screen, &notes);
    (void)sn_canvas_put_cell(1, 0, COLS, SN_COLOUR_WARN, sn_buf_string(&notes));
    draw_columns(&layout, screen->settings->shows_deltas);
    sn_list_scroll(&screen->list, height);
    for (int i = 0; i < height; i++) {
        size_t row = screen->list.first + (size_t)i;
        if (row >= screen->rows.count)
            break;
        draw_row(screen, &layout, &screen->rows.items[row], HEAD_LINES + i);
        if (row == screen->list.marked)
            sn_canvas_mark(HEAD_LINES + i);
    }
    if (!screen->rows.count)
        (void)sn_canvas_put(HEAD_LINES + 1, 2, SN_COLOUR_PLAIN,
                            *screen->choice.filter ? "nothing is called so; Esc shows all"
                                                   : "waiting for a process");
}

/* --- one counter --- */

static int put_fact(int line, const char *name, const char *text)
{
    if (!*text || line >= LINES - 1)
        return line;
    (void)sn_canvas_put(line, 2, SN_COLOUR_HEAD, name);
    (void)sn_canvas_put(line, 16, SN_COLOUR_PLAIN, text);
    return line + 1;
}

static int put_number(int line, const char *name, double value, const char *unit)
{
    char text[2][SN_COUNTER_TEXT];
    char both[2 * SN_COUNTER_TEXT + 8];
    if (!isfinite(value))
        return line;
    (void)sn_counter_text(value, unit, text[0]);
    (void)snprintf(both, sizeof(both), "%s  (%s)", text[0], sn_text_real(value, text[1]));
    return put_fact(line, name, strncmp(text[0], text[1], strlen(text[1])) == 0 ? text[0] : both);
}

static int put_tags(int line, const char *tags)
{
    while (*tags && line < LINES - 1) {
        size_t size = strcspn(tags, ",");
        char tag[256];
        (void)snprintf(tag, sizeof(tag), "%.*s", (int)(size < 255 ? size : 255), tags);
        line = put_fact(line, "tag", tag);
        tags += size + (tags[size] == ',');
    }
    return line;
}

static void draw_one(const struct screen *screen)
{
    const struct sn_counters_row *row = marked_row(screen);
    const struct sonde_point *point = row ? row->point : NULL;
    char text[32];
    char rate[SN_COUNTER_TEXT];
    if (!point) {
        (void)sn_canvas_put(HEAD_LINES, 2, SN_COLOUR_PLAIN, "it is no more; any key leads back");
        return;
    }
    int line = put_fact(1, "provider", point->provider);
    line = put_fact(line, "version", point->version);
    line = put_fact(line, "name", point->name);
    line = put_fact(line, "is", point->description);
    line = put_fact(line, "unit", point->unit);
    line = put_tags(line, point->tag_text);
    line = put_fact(line, "interval", sn_text_duration(point->interval_ns, text));
    line = put_number(line, "value", point->value, point->unit);
    line = put_fact(line, "rate", sn_counter_rate_text(point, rate));
    line = put_number(line, "total", point->total, point->unit);
    for (size_t i = 0; i < point->quantile_count; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "quantile %s",
                       sn_text_real(point->quantiles[i].at, text));
        line = put_number(line, name, point->quantiles[i].value, point->unit);
    }
    line = put_number(line, "sum", point->sum, point->unit);
    line = put_number(line, "least", point->min, point->unit);
    line = put_number(line, "most", point->max, point->unit);
    line = put_number(line, "deviation", point->deviation, point->unit);
    if (point->count)
        line = put_fact(line, "measurements", sn_text_count(point->count, text));
    if (line + 1 < LINES - 1)
        draw_spark(screen, point, line + 1, 2, COLS - 4);
}

static void draw_help(const struct screen *screen)
{
    static const char *const words[] = {
        "Up, Down, Page Up and Down, Home, End  move the mark",
        "Enter   all of a counter; fold a group, or unfold it",
        "Space   fold the group that this is in, or unfold it",
        "f       fold all processes, or unfold them",
        "Tab     one process after the other, then all",
        "/       show only what is called so; Esc shows all",
        "s       sort by name, value, rate",
        "p, r    pause, and go on",
        "q       quit",
        "",
    };
    static const char *const texts[] = {
        "RATE is a second. ~: over a short first interval. COURSE: the rate of what adds up, the "
        "median of what is spread, else the value; from its least to its most.",
        "The first line of a process is the kernel's: CPU in percent of one, throttled by its "
        "limit; memory in use, and that of its control group against its limit; and for what the "
        "group or the whole machine waited, in the last 10 s.",
    };
    int line = 1;
    SN_AUTO(sn_buf_done) struct sn_buf notes = sn_buf_with_limit(65536);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && line < LINES - 1; i++)
        (void)sn_canvas_put(line++, 2, SN_COLOUR_PLAIN, words[i]);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        line = sn_canvas_put_wrapped(line, SN_COLOUR_PLAIN, texts[i]);
    collect_notes(screen, &notes);
    (void)sn_canvas_put_wrapped(line, SN_COLOUR_WARN, sn_buf_string(&notes));
}

static void draw_keys(const struct screen *screen)
{
    static const char *const keys[] = {
        [PAGE_LIST] =
            "Enter more  Space fold  Tab process  / find  s sort  p pause  ? help  q quit",
        [PAGE_SERIES] = "Up, Down the next  Esc back  q quit",
        [PAGE_HELP] = "any key leads back",
    };
    char typed[128];
    (void)snprintf(typed, sizeof(typed), "/%s_   Enter keeps it, Esc shows all",
                   screen->choice.filter);
    (void)sn_canvas_put(LINES - 1, 0, SN_COLOUR_HEAD,
                        screen->is_typing ? typed : keys[screen->page]);
}

static void draw(struct screen *screen)
{
    (void)erase();
    draw_head(screen);
    switch (screen->page) {
    case PAGE_LIST: draw_list(screen); break;
    case PAGE_SERIES: draw_one(screen); break;
    case PAGE_HELP: draw_help(screen); break;
    }
    draw_keys(screen);
    (void)refresh();
}

/* --- keys --- */

static void remember_mark(struct screen *screen)
{
    const struct sn_counters_row *row = marked_row(screen);
    screen->marked_key = row ? row->key : 0;
}

static void next_process(struct screen *screen)
{
    size_t index = 0;
    size_t count = screen->shot.process_count;
    while (index < count && screen->shot.processes[index].pid != screen->choice.pid)
        index++;
    if (!screen->choice.pid)
        screen->choice.pid = count ? screen->shot.processes[0].pid : 0;
    else
        screen->choice.pid = index + 1 < count ? screen->shot.processes[index + 1].pid : 0;
}

static void type(struct screen *screen, int key)
{
    char *filter = screen->choice.filter;
    size_t size = strlen(filter);
    sn_table_clear(&screen->choice.flipped_found);
    switch (key) {
    case SN_KEY_ESCAPE:
        filter[0] = '\0';
        screen->is_typing = false;
        break;
    case '\n':
    case '\r':
    case KEY_ENTER: screen->is_typing = false; break;
    case KEY_BACKSPACE:
    case 127:
    case '\b':
        while (size && ((unsigned char)filter[--size] & 0xC0u) == 0x80u)
            ;
        filter[size] = '\0';
        break;
    default:
        if (key >= ' ' && key < 256 && size + 1 < sizeof(screen->choice.filter)) {
            filter[size] = (char)key;
            filter[size + 1] = '\0';
        }
    }
}

static void flip(struct screen *screen, const struct sn_counters_row *row)
{
    screen->has_folded = true;
    sn_counters_flip(&screen->choice, row);
}

static void open_or_fold(struct screen *screen)
{
    const struct sn_counters_row *row = marked_row(screen);
    if (!row)
        return;
    if (row->kind == SN_ROW_PROCESS || row->kind == SN_ROW_PROVIDER)
        flip(screen, row);
    else
        screen->page = PAGE_SERIES;
}

static void fold(struct screen *screen)
{
    size_t at = screen->list.marked;
    while (at && at < screen->rows.count && screen->rows.items[at].kind != SN_ROW_PROVIDER &&
           screen->rows.items[at].kind != SN_ROW_PROCESS)
        at--; /* the group that it is in */
    if (at >= screen->rows.count)
        return;
    screen->list.marked = at;
    flip(screen, &screen->rows.items[at]);
}

static void fold_all(struct screen *screen)
{
    screen->has_folded = true;
    screen->choice.folds_processes = !screen->choice.folds_processes;
    sn_table_clear(&screen->choice.flipped);
}

static void take_list_key(struct screen *screen, int key)
{
    switch (key) {
    case 'p': screen->is_paused = !screen->is_paused; break;
    case 'r': screen->is_paused = false; break;
    case 's': screen->choice.sorting = (screen->choice.sorting + 1) % SN_SORTING_COUNT; break;
    case '/': screen->is_typing = true; break;
    case '?':
    case 'h': screen->page = PAGE_HELP; break;
    case '\t': next_process(screen); break;
    case ' ': fold(screen); break;
    case 'f': fold_all(screen); break;
    case '\n':
    case '\r':
    case KEY_ENTER: open_or_fold(screen); break;
    case SN_KEY_ESCAPE: screen->choice.filter[0] = '\0'; break;
    default: (void)sn_list_move(&screen->list, key, LINES - HEAD_LINES - 2);
    }
}

static void take_key(struct screen *screen, int key)
{
    if (key == KEY_RESIZE)
        return;
    if (screen->is_typing)
        type(screen, key);
    else if (key == 'q' || key == 'Q')
        screen->is_over = true;
    else if (screen->page == PAGE_LIST)
        take_list_key(screen, key);
    else if (screen->page == PAGE_HELP || !sn_list_move(&screen->list, key, 10))
        screen->page = PAGE_LIST;
    remember_mark(screen);
}

static int take_keys(struct screen *screen, struct sonde_error *err)
{
    for (int key; (key = getch()) != ERR && !screen->is_over;) {
        take_key(screen, key);
        int rc = list_anew(screen, err); /* what is marked now depends on it */
        if (rc != SONDE_OK)
            return rc;
    }
    return SONDE_OK;
}

/* --- the whole --- */

static void take(void *user, const struct sonde_point *point)
{
    struct sn_counters_screen *settings = user;
    sn_counter_history_add(&settings->history, point);
}

/* Values of one interval come in a few bunches: shown together, soon after the first. */
static int drive(struct screen *screen, struct sonde_error *err)
{
    uint64_t due_ns = sn_clock_deadline(SOON_NS);
    bool is_due_soon = true;
    int rc = take_shot(screen, err);
    while (rc == SONDE_OK && !screen->is_over) {
        draw(screen);
        int why;
        while ((why = sn_counters_wait(screen->run, due_ns, STDIN_FILENO, err)) ==
               SN_COUNTERS_TURNED) {
            if (!is_due_soon)
                due_ns = sn_clock_deadline(SOON_NS);
            is_due_soon = true;
        }
        if (why < 0 || why == SN_COUNTERS_OVER)
            return why < 0 ? why : SONDE_OK;
        if (why == SN_COUNTERS_INPUT)
            rc = take_keys(screen, err);
        if (sn_clock_monotonic_ns() < due_ns)
            continue;
        due_ns = sn_clock_deadline(SN_NS_PER_SECOND);
        is_due_soon = false;
        if (rc == SONDE_OK && !screen->is_paused)
            rc = take_shot(screen, err);
    }
    return rc == SONDE_OK ? SONDE_END : rc; /* a person has seen enough */
}

static int show(struct sn_counters_run *run, void *user, struct sonde_error *err)
{
    struct screen screen = {.run = run, .settings = user};
    int rc = sn_canvas_open(&screen.canvas, err);
    if (rc != SONDE_OK)
        return rc;
    rc = drive(&screen, err);
    sn_canvas_close(&screen.canvas);
    sn_counters_rows_done(&screen.rows);
    sn_counters_shot_done(&screen.shot);
    sn_table_done(&screen.choice.flipped);
    sn_table_done(&screen.choice.flipped_found);
    sn_counter_history_done(&screen.settings->history);
    return rc;
}

const struct sn_counters_view sn_counters_screen_view = {.take = take, .show = show};
