#include "cli/diff_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "sonde/profile.h"

#define DEFAULT_WIDTH 100
#define NUMBER_WIDTH  10
#define PERCENT_WIDTH 10
#define METHOD_COLUMN (3 * NUMBER_WIDTH + 1 + PERCENT_WIDTH + 2) /* behind the numbers */
#define MODULE_LEAST  8
#define STATE_WIDTH   10
#define LINE_LIMIT    (1u << 20)
#define NOISE         0.001 /* of all there is: what changed less is not listed */
#define STILL         0.01  /* a change of all by less is none */

/* How numbers of a view are shown: all in one unit, so that the eye can compare them. */
struct scale {
    const char *unit;
    double divisor;
};

static const char *const titles[SONDE_VIEW_COUNT] = {
    [SONDE_VIEW_CPU] = "CPU time",          [SONDE_VIEW_WALL] = "wall time",
    [SONDE_VIEW_WAIT] = "time off the CPU", [SONDE_VIEW_ALLOCATION] = "allocation",
    [SONDE_VIEW_EXCEPTION] = "exceptions",  [SONDE_VIEW_CONTENTION] = "waiting for locks",
    [SONDE_VIEW_SAMPLES] = "samples",       [SONDE_VIEW_THREAD_TIME] = "thread time",
};

const char *sn_diff_unit(const struct sn_diff *diff)
{
    const char *unit = sonde_profile_unit(diff->profiles[diff->profiles[0] ? 0 : 1]);
    if (strcmp(unit, "nanoseconds") == 0)
        return "ns/s";
    return strcmp(unit, "bytes") == 0 ? "B/s" : "1/s";
}

static struct scale scale_of(const struct sn_diff *diff, double largest)
{
    const char *unit = sn_diff_unit(diff);
    if (unit[0] == 'n')
        return (struct scale){"ms/s", 1e6};
    if (unit[0] == '1')
        return (struct scale){"/s", 1};
    if (largest >= 1e9)
        return (struct scale){"MB/s", 1e6};
    return largest >= 1e6 ? (struct scale){"KB/s", 1e3} : (struct scale){"B/s", 1};
}

/* What a method spent itself says most; one that only calls others changed with them. */
static void numbers_of(const struct sonde_change *change, double *ret_before, double *ret_after)
{
    bool has_self = change->self_before > 0 || change->self_after > 0;
    *ret_before = has_self ? change->self_before : change->total_before;
    *ret_after = has_self ? change->self_after : change->total_after;
}

const char *sn_diff_state(const struct sonde_change *change)
{
    double before;
    double after;
    if (!(change->total_before > 0) && change->total_after > 0)
        return "new";
    if (change->total_before > 0 && !(change->total_after > 0))
        return "gone";
    numbers_of(change, &before, &after);
    if (before < after)
        return "grew";
    return before > after ? "shrank" : "same";
}

/* "1,234.5", with a sign when asked for, whatever the locale. */
static const char *number(double value, bool has_sign, char to[48])
{
    char whole[32];
    double tenths = round(fabs(value) * 10);
    uint64_t all = tenths < 9e18 ? (uint64_t)tenths : UINT64_MAX;
    const char *sign = !all ? "" : value < 0 ? "-" : has_sign ? "+" : "";
    (void)snprintf(to, 48, "%s%s.%" PRIu64, sign, sn_text_count(all / 10, whole), all % 10);
    return to;
}

static const char *percent(double before, double after, char to[48])
{
    if (!(before > 0))
        return after > 0 ? "new" : "";
    if (!(after > 0))
        return "gone";
    char digits[48];
    (void)snprintf(to, 48, "%s %%", number(100 * (after - before) / before, true, digits));
    return to;
}

static void print_number(double value, bool has_sign, enum sn_style style)
{
    char digits[48];
    const char *text = number(value, has_sign, digits);
    (void)printf("%*s", NUMBER_WIDTH - (int)strlen(text), "");
    sn_terminal_put(stdout, style, text);
}

static enum sn_style style_of(double change)
{
    return change > 0 ? SN_STYLE_BAD : change < 0 ? SN_STYLE_GOOD : SN_STYLE_NONE;
}

/* One list of methods: what they spent themselves, or with what they called. */
struct list {
    bool is_total;
    bool is_growth;
    const char *title;
};

static const struct list lists[] = {
    {false, true, "GREW BY ITSELF"},
    {false, false, "SHRANK BY ITSELF"},
    {true, true, "GREW WITH WHAT IT CALLED"},
    {true, false, "SHRANK WITH WHAT IT CALLED"},
};

/* The numbers that a list is about. */
struct span {
    double before;
    double after;
};

static struct span span_of(const struct sonde_change *change, bool is_total)
{
    if (is_total)
        return (struct span){change->total_before, change->total_after};
    return (struct span){change->self_before, change->self_after};
}

static double self_change(const struct sonde_change *change)
{
    return change->self_after - change->self_before;
}

static double total_change(const struct sonde_change *change)
{
    return change->total_after - change->total_before;
}

/* Columns of text from outside once it is made safe. */
static int columns_of(const char *text)
{
    SN_AUTO(sn_buf_done) struct sn_buf safe = sn_buf_with_limit(LINE_LIMIT);
    sn_text_printable(&safe, text, strnlen(text, LINE_LIMIT / 8));
    return (int)sn_terminal_columns(sn_buf_string(&safe));
}

/* The module stands at the right edge and gives way first; then the name loses its beginning. Only
 * a terminal has an edge: what reads a pipe gets all of it. */
static void print_method(const struct sonde_change *change)
{
    int edge = (int)sn_terminal_width(stdout);
    int room = (edge ? edge : DEFAULT_WIDTH) - METHOD_COLUMN;
    int name_width = columns_of(change->name);
    int module_width = columns_of(change->module);
    int left = room - name_width - 1; /* for the module */
    bool is_cut = edge && left < module_width;
    if (!module_width || (is_cut && left < MODULE_LEAST)) {
        sn_terminal_cell_end(stdout, SN_STYLE_BOLD, change->name,
                             edge && name_width > room ? room : 0);
        return;
    }
    sn_terminal_put(stdout, SN_STYLE_BOLD, change->name);
    (void)printf("%*s", 1 + (left > module_width ? left - module_width : 0), "");
    sn_terminal_cell(stdout, SN_STYLE_DIM, change->module, is_cut ? left : 0);
}

static void print_change(const struct sonde_change *change, struct span span,
                         const struct scale *scale)
{
    char digits[48];
    double by = (span.after - span.before) / scale->divisor;
    print_number(span.before / scale->divisor, false, SN_STYLE_NONE);
    print_number(span.after / scale->divisor, false, SN_STYLE_NONE);
    print_number(by, true, style_of(by));
    (void)printf(" %*s  ", PERCENT_WIDTH, percent(span.before, span.after, digits));
    print_method(change);
    (void)putchar('\n');
}

/* Whether a method belongs into a list; with what it called only if that is more than itself. */
static bool is_listed(const struct sonde_change *change, const struct list *list, double least)
{
    double by = list->is_total ? total_change(change) : self_change(change);
    double others = total_change(change) - self_change(change);
    return (by > 0) == list->is_growth && fabs(by) > least &&
           (!list->is_total || fabs(others) > least);
}

static void print_list(const struct sn_diff *diff, const struct list *list,
                       const struct sonde_change *changes, const struct scale *scale, double least)
{
    size_t count = sonde_comparison_count(diff->comparison);
    uint64_t shown = 0;
    uint64_t hidden = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_listed(&changes[i], list, least))
            continue;
        if (shown == diff->most) {
            hidden++;
            continue;
        }
        if (!shown++)
            (void)printf("\n%*s%*s%*s %*s  %s, %s\n", NUMBER_WIDTH, "BEFORE", NUMBER_WIDTH, "AFTER",
                         NUMBER_WIDTH, "CHANGE", PERCENT_WIDTH, "", list->title, scale->unit);
        print_change(&changes[i], span_of(&changes[i], list->is_total), scale);
    }
    if (hidden)
        (void)printf("%*sand %" PRIu64 " more (--count)\n", METHOD_COLUMN, "", hidden);
}

static int by_total_change(const void *left, const void *right)
{
    double a = fabs(total_change(left));
    double b = fabs(total_change(right));
    if (a != b)
        return a > b ? -1 : 1;
    return strcmp(((const struct sonde_change *)left)->name,
                  ((const struct sonde_change *)right)->name);
}

/* The comparison has them by what they spent themselves; for the rest they are sorted anew. */
static void print_lists(const struct sn_diff *diff, const struct scale *scale, double least)
{
    size_t count = sonde_comparison_count(diff->comparison);
    SN_AUTO(sn_free) struct sonde_change *changes = calloc(count + 1, sizeof(*changes));
    bool is_sorted = false;
    for (size_t i = 0; changes && i < count; i++)
        (void)sonde_comparison_get(diff->comparison, i, &changes[i]); /* there are as many */
    for (size_t i = 0; changes && i < sizeof(lists) / sizeof(*lists); i++) {
        if (lists[i].is_total && !is_sorted)
            qsort(changes, count, sizeof(*changes), by_total_change);
        is_sorted = lists[i].is_total;
        print_list(diff, &lists[i], changes, scale, least);
    }
}

static void print_side(const struct sn_diff *diff, int side, double rate, const struct scale *scale)
{
    const struct sonde_profile *profile = diff->profiles[side];
    char text[48];
    (void)printf("%-8s", side ? "after" : "before");
    sn_terminal_put(stdout, SN_STYLE_BOLD, diff->paths[side]);
    if (!profile) {
        (void)printf(", no such events: counted as none\n");
        return;
    }
    (void)printf(", %s: ", sn_text_duration(sonde_profile_duration_ns(profile), text));
    (void)printf("%s %s", number(rate / scale->divisor, false, text), scale->unit);
    if (sonde_profile_is_partial(profile))
        sn_terminal_put(stdout, SN_STYLE_WARN, " (partial: cut or damaged)");
    if (sonde_profile_lost_count(profile))
        (void)printf(" (%s events lost)", sn_text_count(sonde_profile_lost_count(profile), text));
    if (sonde_profile_dropped_count(profile))
        (void)printf(" (%s additions over a ceiling left out)",
                     sn_text_count(sonde_profile_dropped_count(profile), text));
    (void)putchar('\n');
}

/* What came of a condition, in a word. */
static const char *state_of(const struct sn_diff_condition *condition, enum sn_style *ret_style)
{
    *ret_style = SN_STYLE_WARN;
    if (condition->holds) {
        *ret_style = SN_STYLE_BAD;
        return "FAILED";
    }
    if (condition->is_doubtful)
        return "unsure";
    if (!condition->is_matched && !condition->is_absent)
        return "no match";
    *ret_style = SN_STYLE_GOOD;
    return "ok";
}

static void print_conditions(const struct sn_diff *diff)
{
    for (size_t i = 0; i < diff->condition_count; i++) {
        const struct sn_diff_condition *condition = &diff->conditions[i];
        enum sn_style style;
        const char *state = state_of(condition, &style);
        sn_terminal_cell(stdout, style, state, STATE_WIDTH);
        sn_terminal_put(stdout, SN_STYLE_BOLD, condition->text);
        (void)fputs(": ", stdout);
        sn_terminal_put(stdout, SN_STYLE_NONE, condition->outcome);
        (void)putchar('\n');
    }
}

/* The method that moved most in the direction in which everything moved. */
static bool find_cause(const struct sn_diff *diff, double by, struct sonde_change *ret_change)
{
    for (size_t i = 0; sonde_comparison_get(diff->comparison, i, ret_change); i++) {
        double own = self_change(ret_change);
        if (own != 0 && (own > 0) == (by > 0))
            return true;
    }
    return false;
}

static double largest_of(const struct sonde_change *all)
{
    return fmax(all->total_before, all->total_after);
}

static void put_mover(const struct sonde_change *change, const struct scale *scale,
                      struct sn_buf *to)
{
    char text[48];
    sn_buf_format(to, "%s (%s %s)", change->name,
                  number(self_change(change) / scale->divisor, true, text), scale->unit);
}

/* What moved most, and what moved more still against everything: the sum alone would hide it. */
static void put_cause(const struct sn_diff *diff, double by, const struct scale *scale,
                      struct sn_buf *to)
{
    struct sonde_change cause;
    struct sonde_change against;
    if (!find_cause(diff, by, &cause))
        return;
    sn_buf_text(to, ", most in ");
    put_mover(&cause, scale, to);
    if (!find_cause(diff, -by, &against) ||
        fabs(self_change(&against)) <= fmax(fabs(by), fabs(self_change(&cause))))
        return;
    sn_buf_text(to, by > 0 ? "; what fell most is " : "; what rose most is ");
    put_mover(&against, scale, to);
}

void sn_diff_sentence(const struct sn_diff *diff, struct sn_buf *to)
{
    struct sonde_change all;
    char text[3][48];
    sonde_comparison_all(diff->comparison, &all);
    struct scale scale = scale_of(diff, largest_of(&all));
    double by = all.total_after - all.total_before;
    bool is_still = fabs(by) <= STILL * all.total_before;
    const char *after = number(all.total_after / scale.divisor, false, text[1]);
    sn_buf_format(to, "%s ", titles[diff->view]);
    if (is_still) {
        sn_buf_format(to, "stayed at %s %s", after, scale.unit);
    } else {
        sn_buf_format(to, "%s from %s to %s %s", by > 0 ? "rose" : "fell",
                      number(all.total_before / scale.divisor, false, text[0]), after, scale.unit);
        if (all.total_before > 0 && all.total_after > 0)
            sn_buf_format(to, " (%s)", percent(all.total_before, all.total_after, text[2]));
        put_cause(diff, by, &scale, to);
    }
    size_t held = 0;
    for (size_t i = 0; i < diff->condition_count; i++)
        held += diff->conditions[i].holds;
    if (diff->condition_count)
        sn_buf_format(to, "; %zu of %zu condition%s failed", held, diff->condition_count,
                      diff->condition_count == 1 ? "" : "s");
}

void sn_diff_print(const struct sn_diff *diff)
{
    SN_AUTO(sn_buf_done) struct sn_buf sentence = sn_buf_with_limit(LINE_LIMIT);
    struct sonde_change all;
    sonde_comparison_all(diff->comparison, &all);
    struct scale scale = scale_of(diff, largest_of(&all));
    sn_diff_sentence(diff, &sentence);
    sn_terminal_put(stdout, SN_STYLE_BOLD, sn_buf_string(&sentence));
    (void)putchar('\n');
    print_conditions(diff);
    (void)putchar('\n');
    print_side(diff, 0, all.total_before, &scale);
    print_side(diff, 1, all.total_after, &scale);
    print_lists(diff, &scale, largest_of(&all) * NOISE);
}
