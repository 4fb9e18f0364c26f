#include "cli/diff_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "sonde/profile.h"

#define DEFAULT_WIDTH 100
#define NUMBER_WIDTH  10
#define METHOD_COLUMN 42 /* behind the numbers */
#define METHOD_LEAST  24
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
    [SONDE_VIEW_SAMPLES] = "samples",
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
    (void)snprintf(to, 48, "%s%%", number(100 * (after - before) / before, true, digits));
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

/* The module stands at the right edge; the name gets what is between. */
static void print_method(const struct sonde_change *change)
{
    int width = (int)sn_terminal_width(stdout);
    int name_width = (width ? width : DEFAULT_WIDTH) - METHOD_COLUMN - 1 -
                     (int)sn_terminal_columns(change->module);
    if (!change->module[0]) {
        sn_terminal_put(stdout, SN_STYLE_BOLD, change->name);
        return;
    }
    sn_terminal_cell(stdout, SN_STYLE_BOLD, change->name,
                     name_width < METHOD_LEAST ? METHOD_LEAST : name_width);
    (void)putchar(' ');
    sn_terminal_put(stdout, SN_STYLE_DIM, change->module);
}

static void print_change(const struct sonde_change *change, struct span span,
                         const struct scale *scale)
{
    char digits[48];
    double by = (span.after - span.before) / scale->divisor;
    print_number(span.before / scale->divisor, false, SN_STYLE_NONE);
    print_number(span.after / scale->divisor, false, SN_STYLE_NONE);
    print_number(by, true, style_of(by));
    (void)printf(" %9s  ", percent(span.before, span.after, digits));
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
            (void)printf("\n%*s%*s%*s %9s  %s, %s\n", NUMBER_WIDTH, "BEFORE", NUMBER_WIDTH, "AFTER",
                         NUMBER_WIDTH, "CHANGE", "", list->title, scale->unit);
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
        (void)printf(", no events of this view\n");
        return;
    }
    (void)printf(", %s: ", sn_text_duration(sonde_profile_duration_ns(profile), text));
    (void)printf("%s %s", number(rate / scale->divisor, false, text), scale->unit);
    if (sonde_profile_is_partial(profile))
        sn_terminal_put(stdout, SN_STYLE_WARN, " (partial: cut or damaged)");
    if (sonde_profile_lost_count(profile))
        (void)printf(" (%s events lost)", sn_text_count(sonde_profile_lost_count(profile), text));
    (void)putchar('\n');
}

static size_t print_conditions(const struct sn_diff *diff)
{
    size_t held = 0;
    for (size_t i = 0; i < diff->condition_count; i++) {
        const struct sn_diff_condition *condition = &diff->conditions[i];
        held += condition->holds;
        if (i == 0)
            (void)putchar('\n');
        sn_terminal_cell(stdout, condition->holds ? SN_STYLE_BAD : SN_STYLE_GOOD,
                         condition->holds ? "FAILED" : "ok", 8);
        sn_terminal_put(stdout, SN_STYLE_BOLD, condition->text);
        (void)fputs(": ", stdout);
        sn_terminal_put(stdout, SN_STYLE_NONE, condition->outcome);
        (void)putchar('\n');
    }
    return held;
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

static void print_verdict(const struct sn_diff *diff, const struct sonde_change *all,
                          const struct scale *scale, size_t held)
{
    struct sonde_change cause;
    char text[3][48];
    double by = all->total_after - all->total_before;
    bool is_still = fabs(by) <= STILL * all->total_before;
    (void)printf("\n%s ", titles[diff->view]);
    if (is_still) {
        (void)printf("stayed at %s %s", number(all->total_after / scale->divisor, false, text[0]),
                     scale->unit);
    } else {
        (void)printf("%s from %s to %s %s", by > 0 ? "rose" : "fell",
                     number(all->total_before / scale->divisor, false, text[0]),
                     number(all->total_after / scale->divisor, false, text[1]), scale->unit);
        if (all->total_before > 0)
            (void)printf(" (%s)", percent(all->total_before, all->total_after, text[2]));
    }
    if (!is_still && find_cause(diff, by, &cause)) {
        (void)fputs(", most in ", stdout);
        sn_terminal_put(stdout, SN_STYLE_BOLD, cause.name);
        (void)printf(" (%s %s)", number(self_change(&cause) / scale->divisor, true, text[0]),
                     scale->unit);
    }
    if (diff->condition_count)
        (void)printf("; %zu of %zu conditions failed", held, diff->condition_count);
    (void)putchar('\n');
}

void sn_diff_print(const struct sn_diff *diff)
{
    struct sonde_change all;
    sonde_comparison_all(diff->comparison, &all);
    double largest = fmax(all.total_before, all.total_after);
    struct scale scale = scale_of(diff, largest);
    print_side(diff, 0, all.total_before, &scale);
    print_side(diff, 1, all.total_after, &scale);
    print_lists(diff, &scale, largest * NOISE);
    size_t held = print_conditions(diff);
    print_verdict(diff, &all, &scale, held);
}
