/* Two profiles side by side, method by method, per second of trace time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/options_in.h"
#include "api/profile_internal.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/stream.h"
#include "base/table.h"
#include "base/text.h"
#include "convert/diff_html.h"

#define METHOD_LIMIT (4u << 20)
#define TEXT_LIMIT   4096u

/* Before and after. */
#define SIDES 2

struct side {
    const struct sonde_profile *profile; /* borrows; NULL: nothing there */
    double per_second;                   /* one of its unit, as a rate */
    uint32_t *method_of; /* owns; one a frame: index of its change before they are sorted */
};

struct sonde_comparison {
    int view;
    struct side sides[SIDES];
    struct sonde_change *changes; /* owns */
    size_t count;
    size_t capacity;
    struct sn_table index; /* hash of name and module -> index + 1 */
    struct sn_buf text;    /* of the last condition */
};

/* --- methods --- */

static bool is_method(const struct sonde_change *change, const struct sonde_frame *frame)
{
    return strcmp(change->name, frame->name) == 0 && strcmp(change->module, frame->module) == 0;
}

/* The index of a frame's method, added when it is new; SN_NO_INDEX without memory. */
static uint32_t find_method(struct sonde_comparison *comparison, const struct sonde_frame *frame)
{
    uint64_t key = sn_text_hash(sn_text_hash(0, frame->name), frame->module);
    uint64_t *place = sn_table_put(&comparison->index, key);
    while (place && *place && !is_method(&comparison->changes[*place - 1], frame))
        place = sn_table_put(&comparison->index, ++key);
    if (place && *place)
        return (uint32_t)(*place - 1);
    struct sonde_change *grown = place ? sn_array_room(comparison->changes, comparison->count,
                                                       &comparison->capacity, sizeof(*grown))
                                       : NULL;
    if (!grown)
        return SN_NO_INDEX;
    comparison->changes = grown;
    grown[comparison->count] = (struct sonde_change){.name = frame->name, .module = frame->module};
    *place = ++comparison->count;
    return (uint32_t)(comparison->count - 1);
}

static int find_methods(struct sonde_comparison *comparison, struct side *side)
{
    size_t count = side->profile ? sonde_profile_frame_count(side->profile) : 0;
    struct sonde_frame frame;
    side->method_of = calloc(count + 1, sizeof(*side->method_of));
    if (!side->method_of)
        return SONDE_E_NOMEM;
    for (size_t i = 0; i < count && sonde_profile_frame(side->profile, i, &frame); i++) {
        side->method_of[i] = find_method(comparison, &frame);
        if (side->method_of[i] == SN_NO_INDEX)
            return SONDE_E_NOMEM;
    }
    return SONDE_OK;
}

/* --- sums --- */

/* A tree to walk down and up again, which the profile's own links do not allow. */
struct descent {
    uint32_t *first_child; /* owns; one a node; 0: none, for the root is nobody's child */
    uint32_t *next_sibling;
    uint32_t *depth_of; /* owns; one a method: how often it is on the way to the present node */
};

static void descent_done_auto(struct descent *descent)
{
    free(descent->first_child);
    free(descent->next_sibling);
    free(descent->depth_of);
}

static bool build_descent(const struct sonde_comparison *comparison, const struct side *side,
                          struct descent *descent)
{
    size_t count = sonde_profile_node_count(side->profile);
    struct sonde_node node;
    descent->first_child = calloc(count + 1, sizeof(uint32_t));
    descent->next_sibling = calloc(count + 1, sizeof(uint32_t));
    descent->depth_of = calloc(comparison->count + 1, sizeof(uint32_t));
    if (!descent->first_child || !descent->next_sibling || !descent->depth_of)
        return false;
    for (size_t i = count; i-- > 1;) {
        if (!sonde_profile_node(side->profile, i, &node))
            return false;
        descent->next_sibling[i] = descent->first_child[node.parent];
        descent->first_child[node.parent] = (uint32_t)i;
    }
    return true;
}

/* Self to every node's method, total to the outermost of each method on the way to it. */
static void enter(struct sonde_comparison *comparison, int which, const struct sonde_node *node,
                  struct descent *descent)
{
    const struct side *side = &comparison->sides[which];
    uint32_t method = side->method_of[node->frame];
    struct sonde_change *change = &comparison->changes[method];
    double *self = which ? &change->self_after : &change->self_before;
    double *total = which ? &change->total_after : &change->total_before;
    *self += (double)node->self * side->per_second;
    if (descent->depth_of[method]++ == 0)
        *total += (double)node->total * side->per_second;
}

static int add_sums(struct sonde_comparison *comparison, int which)
{
    const struct side *side = &comparison->sides[which];
    SN_AUTO(descent_done) struct descent descent = {0};
    struct sonde_node node;
    if (!side->profile || !comparison->changes)
        return SONDE_OK;
    if (!build_descent(comparison, side, &descent))
        return SONDE_E_NOMEM;
    uint32_t at = 0;
    for (;;) {
        if (descent.first_child[at]) {
            at = descent.first_child[at];
        } else {
            while (at && !descent.next_sibling[at]) { /* up again */
                (void)sonde_profile_node(side->profile, at, &node);
                descent.depth_of[side->method_of[node.frame]]--;
                at = node.parent;
            }
            if (!at)
                return SONDE_OK;
            (void)sonde_profile_node(side->profile, at, &node);
            descent.depth_of[side->method_of[node.frame]]--;
            at = descent.next_sibling[at];
        }
        (void)sonde_profile_node(side->profile, at, &node); /* every index came from the profile */
        enter(comparison, which, &node, &descent);
    }
}

/* A process is no method: only what had no stack counts for it. */
static void leave_out_processes(struct sonde_comparison *comparison, const struct side *side)
{
    size_t count =
        side->profile && comparison->changes ? sonde_profile_frame_count(side->profile) : 0;
    struct sonde_frame frame;
    for (size_t i = 0; i < count && sonde_profile_frame(side->profile, i, &frame); i++) {
        struct sonde_change *change = &comparison->changes[side->method_of[i]];
        if (frame.kind != SONDE_FRAME_PROCESS)
            continue;
        change->total_before = change->self_before;
        change->total_after = change->self_after;
    }
}

static int by_change(const void *left, const void *right)
{
    const struct sonde_change *a = left;
    const struct sonde_change *b = right;
    double change_a = fabs(a->self_after - a->self_before);
    double change_b = fabs(b->self_after - b->self_before);
    double total_a = fabs(a->total_after - a->total_before);
    double total_b = fabs(b->total_after - b->total_before);
    if (change_a != change_b)
        return change_a > change_b ? -1 : 1;
    if (total_a != total_b)
        return total_a > total_b ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names ? names : strcmp(a->module, b->module);
}

/* --- comparing --- */

static int check_sides(const struct sonde_profile *before, const struct sonde_profile *after,
                       struct sonde_error *err)
{
    if (!before && !after)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "neither trace has anything for this view");
    if (before && after && before->view != after->view)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "a view '%s' cannot be compared with a view '%s'",
                       sonde_view_name(before->view), sonde_view_name(after->view));
    const struct sonde_profile *empty = before && !before->duration_ns ? before
                                        : after && !after->duration_ns ? after
                                                                       : NULL;
    if (empty)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "'%s' has no length: nothing per second can be told of it", empty->title);
    return SONDE_OK;
}

int sonde_compare(const struct sonde_profile *before, const struct sonde_profile *after,
                  struct sonde_comparison **ret_comparison, struct sonde_error *err)
{
    const struct sonde_profile *const profiles[SIDES] = {before, after};
    int rc = check_sides(before, after, err);
    if (rc != SONDE_OK)
        return rc;
    struct sonde_comparison *comparison = calloc(1, sizeof(*comparison));
    if (!comparison)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to compare profiles");
    comparison->view = before ? before->view : after->view;
    comparison->index = sn_table_with_limit(METHOD_LIMIT);
    comparison->text = sn_buf_with_limit(TEXT_LIMIT);
    for (int i = 0; i < SIDES && rc == SONDE_OK; i++) {
        struct side *side = &comparison->sides[i];
        side->profile = profiles[i];
        side->per_second = profiles[i] ? 1e9 / (double)profiles[i]->duration_ns : 0;
        rc = find_methods(comparison, side);
    }
    for (int i = 0; i < SIDES && rc == SONDE_OK; i++)
        rc = add_sums(comparison, i);
    for (int i = 0; i < SIDES && rc == SONDE_OK; i++)
        leave_out_processes(comparison, &comparison->sides[i]);
    if (rc != SONDE_OK) {
        sonde_comparison_free(comparison);
        return sn_fail(err, rc, 0, "no memory to compare profiles");
    }
    sn_table_done(&comparison->index); /* sorting moves the methods: it would be wrong now */
    if (comparison->count)
        qsort(comparison->changes, comparison->count, sizeof(*comparison->changes), by_change);
    *ret_comparison = comparison;
    return SONDE_OK;
}

void sonde_comparison_free(struct sonde_comparison *comparison)
{
    if (!comparison)
        return;
    for (int i = 0; i < SIDES; i++)
        free(comparison->sides[i].method_of);
    free(comparison->changes);
    sn_table_done(&comparison->index);
    sn_buf_done(&comparison->text);
    free(comparison);
}

/* Everything of a side, per second. */
static double all_of(const struct side *side)
{
    return side->profile ? (double)sonde_profile_total(side->profile) * side->per_second : 0;
}

void sonde_comparison_all(const struct sonde_comparison *comparison,
                          struct sonde_change *ret_change)
{
    double before = all_of(&comparison->sides[0]);
    double after = all_of(&comparison->sides[1]);
    *ret_change = (struct sonde_change){.name = "",
                                        .module = "",
                                        .self_before = before,
                                        .self_after = after,
                                        .total_before = before,
                                        .total_after = after};
}

size_t sonde_comparison_count(const struct sonde_comparison *comparison)
{
    return comparison->count;
}

bool sonde_comparison_get(const struct sonde_comparison *comparison, size_t index,
                          struct sonde_change *ret_change)
{
    if (index >= comparison->count)
        return false;
    *ret_change = comparison->changes[index];
    return true;
}

/* --- conditions --- */

int sonde_condition_view(const char *condition, int *ret_view, struct sonde_error *err)
{
    struct sn_condition parsed = {0};
    int rc = sn_condition_parse(condition, &parsed, err);
    if (rc == SONDE_OK)
        *ret_view = parsed.view;
    return rc;
}

/* What the matching methods took, per second, each stack counted once; negative without memory. */
static double measure(const struct side *side, const struct sn_condition *condition,
                      bool *is_matched)
{
    size_t count = side->profile ? sonde_profile_node_count(side->profile) : 0;
    size_t frame_count = side->profile ? sonde_profile_frame_count(side->profile) : 0;
    SN_AUTO(sn_free) bool *matches = calloc(frame_count + 1, sizeof(*matches));
    SN_AUTO(sn_free) bool *is_below = calloc(count + 1, sizeof(*is_below)); /* or one itself */
    struct sonde_frame frame;
    struct sonde_node node;
    uint64_t sum = 0;
    if (!matches || !is_below)
        return -1;
    if (sn_condition_matches(condition, "")) { /* all there is, with and without a stack */
        *is_matched = true;
        return all_of(side);
    }
    for (size_t i = 0; i < frame_count && sonde_profile_frame(side->profile, i, &frame); i++) {
        matches[i] = sn_condition_matches(condition, frame.name);
        *is_matched |= matches[i];
    }
    for (size_t i = 1; i < count && sonde_profile_node(side->profile, i, &node); i++) {
        is_below[i] = is_below[node.parent] || matches[node.frame];
        if (condition->is_self && matches[node.frame])
            sum += node.self;
        if (!condition->is_self && matches[node.frame] && !is_below[node.parent])
            sum += node.total;
    }
    return (double)sum * side->per_second;
}

static double share(double part, double all)
{
    return all > 0 ? 100 * part / all : 0;
}

/* In percent of what it was; what was not there before grew without bound. */
static double growth(double before, double after)
{
    if (before > 0)
        return 100 * (after - before) / before;
    return after > 0 ? INFINITY : 0;
}

static double number_of(const struct sn_condition *condition,
                        const struct sonde_comparison *comparison, double before, double after)
{
    double share_after = share(after, all_of(&comparison->sides[1]));
    switch (condition->unit) {
    case SN_CONDITION_PERCENT: return condition->is_change ? growth(before, after) : share_after;
    case SN_CONDITION_POINTS:
        return condition->is_change ? share_after - share(before, all_of(&comparison->sides[0]))
                                    : share_after;
    default: return condition->is_change ? after - before : after;
    }
}

static int check_unit(const struct sonde_comparison *comparison, const char *text,
                      const struct sn_condition *condition, struct sonde_error *err)
{
    static const char *const hints[] = {[SN_UNIT_COUNT] = "/s",
                                        [SN_UNIT_NS] = "ns/s, us/s, ms/s or s/s",
                                        [SN_UNIT_BYTES] = "B/s, KB/s, MB/s or GB/s"};
    static const uint8_t units[] = {[SN_CONDITION_NS] = SN_UNIT_NS,
                                    [SN_CONDITION_BYTES] = SN_UNIT_BYTES,
                                    [SN_CONDITION_COUNT] = SN_UNIT_COUNT};
    const struct side *side = &comparison->sides[comparison->sides[0].profile ? 0 : 1];
    uint8_t unit = side->profile->data->columns[side->profile->column].unit;
    if (condition->view >= 0 && condition->view != comparison->view)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "condition '%.128s': it is about '%s', what is compared is '%s'", text,
                       sonde_view_name(condition->view), sonde_view_name(comparison->view));
    if (condition->unit != SN_CONDITION_PERCENT && condition->unit != SN_CONDITION_POINTS &&
        units[condition->unit] != unit)
        return sn_fail(err, SONDE_E_ARGUMENT, strlen(text),
                       "condition '%.128s': '%s' is measured in %s; %% and pt fit everything", text,
                       sonde_view_name(comparison->view), hints[unit]);
    return SONDE_OK;
}

/* To the nearest whole number; what has no fraction that a double can hold stays as it is. */
static double rounded(double number)
{
    if (!(fabs(number) < 1e15))
        return number;
    return (double)(int64_t)(number + (number < 0 ? -0.5 : 0.5));
}

/* A rate for people: "12.3 ms/s", "4.5 MB/s", "7 /s". */
static void put_rate(struct sn_buf *to, double rate, uint8_t unit)
{
    static const struct {
        double least;
        double divisor;
        const char *word[3]; /* by enum sn_unit */
    } scales[] = {{1e9, 1e9, {"G/s", "s/s", "GB/s"}},
                  {1e6, 1e6, {"M/s", "ms/s", "MB/s"}},
                  {1e3, 1e3, {"k/s", "us/s", "KB/s"}},
                  {0, 1, {"/s", "ns/s", "B/s"}}};
    size_t i = 0;
    while (fabs(rate) < scales[i].least)
        i++;
    char digits[32];
    if (rate == 0)
        sn_buf_text(to, "none");
    else
        sn_buf_format(to, "%s %s",
                      sn_text_real(rounded(rate / scales[i].divisor * 100) / 100, digits),
                      scales[i].word[unit]);
}

static void describe(struct sonde_comparison *comparison, const struct sn_condition *condition,
                     const double values[SIDES], bool is_matched)
{
    struct sn_buf *text = &comparison->text;
    const struct side *any = &comparison->sides[comparison->sides[0].profile ? 0 : 1];
    uint8_t unit = any->profile->data->columns[any->profile->column].unit;
    char digits[32];
    sn_buf_clear(text);
    if (!is_matched) {
        sn_buf_format(text, "no method is called %.*s in either trace",
                      (int)condition->pattern_size, condition->pattern);
        return;
    }
    put_rate(text, values[0], unit);
    sn_buf_text(text, " before, ");
    put_rate(text, values[1], unit);
    sn_buf_text(text, " after");
    double grown = growth(values[0], values[1]);
    if (isfinite(grown))
        sn_buf_format(text, " (%s%s %%)", grown > 0 ? "+" : "",
                      sn_text_real(rounded(grown * 10) / 10, digits));
    else
        sn_buf_text(text, " (new)");
    if (condition->unit == SN_CONDITION_POINTS || !condition->is_change) {
        for (int i = 0; i < SIDES; i++)
            sn_buf_format(
                text, i ? " and %s %%" : "; %s %%",
                sn_text_real(rounded(share(values[i], all_of(&comparison->sides[i])) * 10) / 10,
                             digits));
        sn_buf_text(text, " of all");
    }
}

int sonde_comparison_test(struct sonde_comparison *comparison, const char *condition,
                          bool *ret_holds, const char **ret_text, struct sonde_error *err)
{
    struct sn_condition parsed = {0};
    int rc = sn_condition_parse(condition, &parsed, err);
    if (rc == SONDE_OK)
        rc = check_unit(comparison, condition, &parsed, err);
    if (rc != SONDE_OK)
        return rc;
    double values[SIDES];
    bool is_matched = false;
    for (int i = 0; i < SIDES; i++) {
        values[i] = measure(&comparison->sides[i], &parsed, &is_matched);
        if (values[i] < 0)
            return sn_fail(err, SONDE_E_NOMEM, 0, "no memory to compare profiles");
    }
    describe(comparison, &parsed, values, is_matched);
    *ret_holds = is_matched &&
                 sn_condition_holds(&parsed, number_of(&parsed, comparison, values[0], values[1]));
    *ret_text = sn_buf_string(&comparison->text);
    return is_matched ? SONDE_OK : SONDE_END;
}

/* --- the page --- */

static struct sn_diff_outcome *copy_outcomes(const struct sonde_page_options *options)
{
    struct sn_diff_outcome *outcomes = calloc(options->outcome_count + 1, sizeof(*outcomes));
    for (size_t i = 0; outcomes && i < options->outcome_count; i++)
        outcomes[i] = (struct sn_diff_outcome){.condition = options->outcomes[i].condition,
                                               .text = options->outcomes[i].text,
                                               .holds = options->outcomes[i].holds};
    return outcomes;
}

int sonde_comparison_write_html(const struct sonde_comparison *comparison,
                                const struct sonde_page_options *options, sonde_write_fn *write,
                                void *user, struct sonde_error *err)
{
    SN_AUTO(sn_profile_free) struct sn_profile *nothing = NULL; /* what a missing side looks like */
    SN_AUTO(sn_free) struct sn_diff_outcome *outcomes = NULL;
    struct sonde_page_options asked;
    int rc = sn_options_in(options, &asked, sizeof(asked), "page options", err);
    if (rc == SONDE_OK)
        rc = sn_profile_new(NULL, 0, &nothing, err);
    if (rc != SONDE_OK)
        return rc;
    outcomes = copy_outcomes(&asked);
    if (!outcomes)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a page");
    const struct sonde_profile *before = comparison->sides[0].profile;
    const struct sonde_profile *after = comparison->sides[1].profile;
    const struct sn_diff_html_options how = {
        .title_before = before ? before->title : "nothing",
        .title_after = after ? after->title : "nothing",
        .title = asked.title,
        .view = sn_view_title(comparison->view),
        .column = sn_view_column(comparison->view),
        .duration_before_ns = before ? before->duration_ns : 0,
        .duration_after_ns = after ? after->duration_ns : 0,
        .summary = asked.summary,
        .outcomes = outcomes,
        .outcome_count = asked.outcome_count,
    };
    struct sn_writer writer = {.write = write, .user = user};
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    sn_stream_init(&stream, sn_writer_write, &writer);
    sn_diff_html_write(&stream, before ? before->data : nothing, after ? after->data : nothing,
                       &how);
    return sn_stream_finish(&stream, err);
}
