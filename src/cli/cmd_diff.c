/* sonde diff: what grew and what shrank between two traces, and whether that is too much. */
#include "cli/commands.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/diff_text.h"
#include "cli/out_file.h"
#include "cli/patience.h"
#include "cli/terminal.h"
#include "sonde/file.h"
#include "sonde/profile.h"

#define OUTPUT_LIMIT  (256u << 20)
#define LINE_LIMIT    (1u << 20)
#define DEFAULT_COUNT 10u
#define RUNTIME       "Microsoft-Windows-DotNETRuntime"

#define NOTHING_TO_COMPARE "neither trace has such events"

struct arguments {
    const char *view;
    const char *process;
    uint64_t count;
    struct sn_option_list conditions;
    const char *html;
    bool json;
};

static const struct sn_option options[] = {
    {0, "view", SN_OPTION_TEXT, offsetof(struct arguments, view), "VIEW",
     "cpu wall wait alloc exceptions contention samples thread-time"},
    {'p', "process", SN_OPTION_TEXT, offsetof(struct arguments, process), "PID|NAME",
     "of recordings: only this process (a part of its name, or with *)"},
    {0, "count", SN_OPTION_NUMBER, offsetof(struct arguments, count), "N",
     "methods that grew and that shrank, so many each; default 10"},
    {0, "fail-if", SN_OPTION_LIST, offsetof(struct arguments, conditions), "CONDITION",
     "exit with 1 if this holds: 'cpu(Shop.*) > +10%'; may be repeated"},
    {0, "html", SN_OPTION_TEXT, offsetof(struct arguments, html), "FILE",
     "a page with a flame graph of what grew and shrank, too"},
    {0, "json", SN_OPTION_FLAG, offsetof(struct arguments, json), NULL,
     "one JSON object, with every method"},
    SN_OPTIONS_END,
};

/* Two traces, in as many views as are asked for. */
struct job {
    const struct arguments *arguments;
    const char *paths[2];
    int view; /* the one that is shown */
    struct sonde_profile *profiles[SONDE_VIEW_COUNT][2];
    struct sonde_comparison *comparisons[SONDE_VIEW_COUNT];
    struct sn_diff_condition conditions[SN_OPTION_LIST_MAX];
    bool is_asked[2];    /* whether the runtime's events were looked for, */
    bool has_runtime[2]; /* and are there */
    struct sonde_error err;
};

static void job_done_auto(struct job *job)
{
    for (int view = 0; view < SONDE_VIEW_COUNT; view++) {
        sonde_comparison_free(job->comparisons[view]);
        for (int side = 0; side < 2; side++)
            sonde_profile_free(job->profiles[view][side]);
    }
    for (size_t i = 0; i < job->arguments->conditions.count; i++)
        free(job->conditions[i].outcome);
}

/* --- reading --- */

/* Nothing to count is a count of zero; samples without CPU times are not. */
static bool may_be_absent(int view)
{
    return view == SONDE_VIEW_EXCEPTION || view == SONDE_VIEW_CONTENTION ||
           view == SONDE_VIEW_ALLOCATION;
}

static int read_side(struct job *job, int view, int side)
{
    const struct sonde_profile_options how = {
        .size = sizeof(how), .view = view, .process = job->arguments->process};
    struct sonde_error why = {0};
    int rc = sonde_profile_read(job->paths[side], &how, &job->profiles[view][side], &why);
    if (rc == SONDE_E_NOT_FOUND && !why.system_error && may_be_absent(view))
        return SONDE_OK;
    if (rc != SONDE_OK)
        job->err = why;
    return rc;
}

static int compare(struct job *job, int view)
{
    struct sonde_profile **profiles = job->profiles[view];
    int rc = SONDE_OK;
    if (job->comparisons[view])
        return SONDE_OK;
    for (int side = 0; side < 2 && rc == SONDE_OK; side++)
        rc = read_side(job, view, side);
    if (rc == SONDE_OK && !profiles[0] && !profiles[1])
        return sn_fail(&job->err, SONDE_E_NOT_FOUND, 0,
                       "neither trace has events for the view '%s'", sonde_view_name(view));
    if (rc == SONDE_OK)
        rc = sonde_compare(profiles[0], profiles[1], &job->comparisons[view], &job->err);
    return rc;
}

/* What is shown: the view that was asked for, else CPU time where both traces tell it. */
static int compare_shown(struct job *job)
{
    const char *asked = job->arguments->view;
    job->view = asked ? sonde_view_find(asked) : SONDE_VIEW_CPU;
    int rc = compare(job, job->view);
    if (rc != SONDE_E_NOT_FOUND || asked || job->err.system_error)
        return rc;
    struct sonde_error why = job->err;
    job->err = (struct sonde_error){0};
    job->view = SONDE_VIEW_WALL;
    rc = compare(job, job->view);
    if (rc == SONDE_E_NOT_FOUND) {
        job->err = (struct sonde_error){0};
        return sn_fail(&job->err, rc, 0, "%s, nor for 'wall'; choose another with --view",
                       why.text);
    }
    (void)fputs("sonde: ", stderr);
    sn_terminal_put(stderr, SN_STYLE_WARN, why.text);
    (void)fputs("; comparing wall time\n", stderr);
    return rc;
}

/* --- conditions --- */

/* Shows where a condition cannot be read. */
static int refuse_condition(const char *condition, const struct sonde_error *err)
{
    int code = sn_command_fail(err);
    (void)fputs("  ", stderr);
    sn_terminal_put(stderr, SN_STYLE_NONE, condition);
    (void)fprintf(stderr, "\n  %*s^\n", (int)err->offset, "");
    return code;
}

static int check_conditions(struct job *job)
{
    const struct sn_option_list *list = &job->arguments->conditions;
    for (size_t i = 0; i < list->count; i++) {
        job->conditions[i].text = list->items[i];
        if (sonde_condition_view(list->items[i], &job->conditions[i].view, &job->err) != SONDE_OK)
            return refuse_condition(list->items[i], &job->err);
    }
    return SN_EXIT_DONE;
}

/* Whether a trace has any events of the runtime: if not even one, they were hardly recorded. */
static int find_runtime(struct job *job, int side)
{
    struct sonde_summary *summary = NULL;
    const struct sonde_event_kind *kind;
    if (job->is_asked[side])
        return SONDE_OK;
    int rc = sonde_file_summarize(job->paths[side], &summary, &job->err);
    for (size_t i = 0; rc == SONDE_OK && (kind = sonde_summary_kind(summary, i)); i++)
        job->has_runtime[side] |= strcmp(kind->provider, RUNTIME) == 0;
    job->is_asked[side] = rc == SONDE_OK;
    sonde_summary_free(summary);
    return rc;
}

/* Says which trace has nothing to count. That counts as none: nobody can tell a program that threw
 * nothing from a trace that did not record it, unless it recorded nothing of the kind. */
static int note_absence(struct job *job, int view, struct sn_diff_condition *condition,
                        struct sn_buf *outcome)
{
    struct sonde_profile *const *profiles = job->profiles[view];
    int rc = SONDE_OK;
    for (int side = 0; side < 2 && rc == SONDE_OK; side++) {
        if (profiles[side])
            continue;
        condition->is_absent = true;
        rc = find_runtime(job, side);
        if (profiles[!side])
            sn_buf_format(outcome, "; '%s' has no such events", job->paths[side]);
        if (rc == SONDE_OK && !job->has_runtime[side]) {
            condition->is_doubtful = true;
            sn_buf_format(outcome, "; were they recorded? '%s' has no event of the runtime at all",
                          job->paths[side]);
        }
    }
    return rc;
}

static int test_condition(struct job *job, struct sn_diff_condition *condition)
{
    SN_AUTO(sn_buf_done) struct sn_buf outcome = sn_buf_with_limit(LINE_LIMIT);
    const char *text = NOTHING_TO_COMPARE;
    int view = condition->view < 0 ? job->view : condition->view;
    int rc = compare(job, view);
    if (rc == SONDE_E_NOT_FOUND && may_be_absent(view) && !job->err.system_error) {
        job->err = (struct sonde_error){0};
    } else {
        if (rc == SONDE_OK)
            rc = sonde_comparison_test(job->comparisons[view], condition->text, &condition->holds,
                                       &text, &job->err);
        if (rc < 0)
            return rc;
        condition->is_matched = rc == SONDE_OK;
    }
    sn_buf_text(&outcome, text);
    rc = note_absence(job, view, condition, &outcome);
    condition->outcome = outcome.failed ? NULL : strdup(sn_buf_string(&outcome));
    if (rc == SONDE_OK && !condition->outcome)
        return sn_fail(&job->err, SONDE_E_NOMEM, 0, "no memory for a condition");
    return rc;
}

static int test_conditions(struct job *job)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < job->arguments->conditions.count && rc == SONDE_OK; i++)
        rc = test_condition(job, &job->conditions[i]);
    return rc;
}

/* --- the outcome --- */

static bool is_whole(const struct sonde_profile *profile)
{
    return !profile ||
           (!sonde_profile_is_partial(profile) && !sonde_profile_dropped_count(profile));
}

static bool is_partial(const struct job *job)
{
    for (int view = 0; view < SONDE_VIEW_COUNT; view++) {
        if (!is_whole(job->profiles[view][0]) || !is_whole(job->profiles[view][1]))
            return true;
    }
    for (size_t i = 0; i < job->arguments->conditions.count; i++) {
        if (job->conditions[i].is_doubtful)
            return true;
    }
    return false;
}

/* A gate that tests nothing must not look like one that is passed. */
static void warn_of_conditions(const struct job *job)
{
    for (size_t i = 0; i < job->arguments->conditions.count; i++) {
        const struct sn_diff_condition *condition = &job->conditions[i];
        if (condition->is_matched && !condition->is_absent)
            continue;
        (void)fputs("sonde: warning: ", stderr);
        sn_terminal_put(stderr, SN_STYLE_WARN, condition->text);
        (void)fputs(": ", stderr);
        sn_terminal_put(stderr, SN_STYLE_NONE, condition->outcome);
        (void)fputc('\n', stderr);
    }
}

static int exit_code(const struct job *job)
{
    for (size_t i = 0; i < job->arguments->conditions.count; i++) {
        if (job->conditions[i].holds)
            return SN_EXIT_FAILED;
    }
    return is_partial(job) ? SN_EXIT_PARTIAL : SN_EXIT_DONE;
}

static struct sn_diff diff_of(const struct job *job)
{
    return (struct sn_diff){.view = job->view,
                            .paths = {job->paths[0], job->paths[1]},
                            .profiles = {job->profiles[job->view][0], job->profiles[job->view][1]},
                            .comparison = job->comparisons[job->view],
                            .conditions = job->conditions,
                            .condition_count = job->arguments->conditions.count,
                            .most = job->arguments->count ? job->arguments->count : DEFAULT_COUNT};
}

static void write_side(struct sn_json *json, const struct sn_diff *diff, int side, double rate)
{
    const struct sonde_profile *profile = diff->profiles[side];
    sn_json_object(json, side ? "after" : "before");
    sn_json_text(json, "file", diff->paths[side]);
    sn_json_bool(json, "absent", !profile);
    sn_json_bool(json, "partial", profile && sonde_profile_is_partial(profile));
    sn_json_real(json, "durationSeconds",
                 profile ? (double)sonde_profile_duration_ns(profile) / 1e9 : 0);
    sn_json_u64(json, "lost", profile ? sonde_profile_lost_count(profile) : 0);
    sn_json_u64(json, "dropped", profile ? sonde_profile_dropped_count(profile) : 0);
    sn_json_u64(json, "total", profile ? sonde_profile_total(profile) : 0);
    sn_json_real(json, "perSecond", rate);
    sn_json_close(json);
}

static void write_methods(struct sn_json *json, const struct sn_diff *diff)
{
    struct sonde_change change;
    sn_json_array(json, "methods");
    for (size_t i = 0; sonde_comparison_get(diff->comparison, i, &change); i++) {
        sn_json_object(json, NULL);
        sn_json_text(json, "name", change.name);
        sn_json_text(json, "module", change.module);
        sn_json_text(json, "state", sn_diff_state(&change));
        sn_json_real(json, "selfBefore", change.self_before);
        sn_json_real(json, "selfAfter", change.self_after);
        sn_json_real(json, "totalBefore", change.total_before);
        sn_json_real(json, "totalAfter", change.total_after);
        sn_json_close(json);
    }
    sn_json_close(json);
}

static void write_json(const struct sn_diff *diff, struct sn_buf *out)
{
    struct sn_json json = sn_json_to(out);
    struct sonde_change all;
    sonde_comparison_all(diff->comparison, &all);
    sn_json_object(&json, NULL);
    sn_json_text(&json, "view", sonde_view_name(diff->view));
    sn_json_text(&json, "unit", sn_diff_unit(diff));
    SN_AUTO(sn_buf_done) struct sn_buf sentence = sn_buf_with_limit(LINE_LIMIT);
    sn_diff_sentence(diff, &sentence);
    sn_json_text(&json, "summary", sn_buf_string(&sentence));
    write_side(&json, diff, 0, all.total_before);
    write_side(&json, diff, 1, all.total_after);
    write_methods(&json, diff);
    sn_json_array(&json, "conditions");
    for (size_t i = 0; i < diff->condition_count; i++) {
        sn_json_object(&json, NULL);
        sn_json_text(&json, "condition", diff->conditions[i].text);
        sn_json_bool(&json, "holds", diff->conditions[i].holds);
        sn_json_bool(&json, "matched", diff->conditions[i].is_matched);
        sn_json_bool(&json, "doubtful", diff->conditions[i].is_doubtful);
        sn_json_text(&json, "outcome", diff->conditions[i].outcome);
        sn_json_close(&json);
    }
    sn_json_close(&json);
    sn_json_close(&json);
}

struct page {
    struct sn_out_file file;
    struct sonde_error *err;
};

static int write_page(void *user, const void *bytes, size_t size)
{
    struct page *page = user;
    return sn_out_file_write(&page->file, bytes, size, page->err);
}

static int write_html(struct job *job, struct page *page)
{
    const struct sn_diff diff = diff_of(job);
    SN_AUTO(sn_buf_done) struct sn_buf sentence = sn_buf_with_limit(LINE_LIMIT);
    struct sonde_outcome outcomes[SN_OPTION_LIST_MAX];
    for (size_t i = 0; i < diff.condition_count; i++)
        outcomes[i] = (struct sonde_outcome){.condition = diff.conditions[i].text,
                                             .text = diff.conditions[i].outcome,
                                             .holds = diff.conditions[i].holds};
    sn_diff_sentence(&diff, &sentence);
    const struct sonde_page_options how = {.size = sizeof(how),
                                           .summary = sn_buf_string(&sentence),
                                           .outcomes = outcomes,
                                           .outcome_count = diff.condition_count};
    return sonde_comparison_write_html(diff.comparison, &how, write_page, page, &job->err);
}

static int make_page(struct job *job)
{
    const char *path = job->arguments->html;
    struct page page = {.file.fd = -1, .err = &job->err};
    const char *const traces[] = {job->paths[0], job->paths[1], NULL};
    int rc = sn_out_file_open(&page.file, path, traces, &job->err);
    if (rc == SONDE_OK)
        rc = write_html(job, &page);
    if (rc == SONDE_OK)
        rc = sn_out_file_finish(&page.file, &job->err);
    sn_out_file_close(&page.file);
    return rc;
}

/* A page on standard output leaves no room for text there. */
static int show(struct job *job)
{
    const struct sn_diff diff = diff_of(job);
    const char *html = job->arguments->html;
    warn_of_conditions(job);
    if (html && make_page(job) != SONDE_OK)
        return sn_command_fail(&job->err);
    if (html && strcmp(html, "-") == 0)
        return exit_code(job);
    if (!job->arguments->json) {
        sn_diff_print(&diff);
        return exit_code(job);
    }
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(OUTPUT_LIMIT);
    write_json(&diff, &out);
    return sn_terminal_flush(&out) ? exit_code(job) : SN_EXIT_FAILED;
}

static int run(const void *given, const struct sn_operands *operands)
{
    SN_AUTO(job_done) struct job job = {.arguments = given};
    if (operands->count != 2) {
        (void)sn_fail(&job.err, SONDE_E_ARGUMENT, 0,
                      "which two files? 'sonde diff BEFORE.nettrace AFTER.nettrace'");
        return sn_command_fail(&job.err);
    }
    job.paths[0] = operands->words[0];
    job.paths[1] = operands->words[1];
    if (job.arguments->view && sonde_view_find(job.arguments->view) < 0) {
        (void)sn_fail(&job.err, SONDE_E_ARGUMENT, 0, "there is no view '%.64s'",
                      job.arguments->view);
        return sn_command_fail(&job.err);
    }
    int code = check_conditions(&job);
    if (code != SN_EXIT_DONE)
        return code;
    sn_patience_start("comparing");
    int rc = compare_shown(&job);
    if (rc == SONDE_OK)
        rc = test_conditions(&job);
    sn_patience_end();
    return rc == SONDE_OK ? show(&job) : sn_command_fail(&job.err);
}

const struct sn_command sn_cmd_diff = {
    .name = "diff",
    .usage = "BEFORE.nettrace AFTER.nettrace [options]",
    .summary = "show what grew and what shrank between two traces",
    .examples = "  sonde diff monday.nettrace tuesday.nettrace\n"
                "  sonde diff old.nettrace new.nettrace --fail-if 'cpu(Shop.*) > +10%'\n"
                "  sonde diff old.nettrace new.nettrace --html diff.html\n"
                "  sonde diff old.nettrace new.nettrace --view alloc --json | jq .methods[0]\n",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .operand_max = 2,
    .is_offline = true,
    .run = run,
};
