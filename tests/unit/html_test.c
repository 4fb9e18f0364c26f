/* Pages: what stands in them, and that no name of a trace can get out of its place. */
#include "check.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/diff_html.h"
#include "convert/formats.h"
#include "convert/html_assets.h"
#include "convert/html_prune.h"
#include "convert/html_text.h"
#include "convert/report_html.h"
#include "convert/report_show.h"
#include "model/profile.h"
#include "model/report.h"

#define PAGE_LIMIT (16u << 20)
#define DATA_BEGIN "<script type=application/json id=profile-data>"

static int collect(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static struct sn_profile *new_profile(void)
{
    static const struct sn_column columns[] = {
        {"cpu", SN_UNIT_NS}, {"wall", SN_UNIT_NS}, {"wait", SN_UNIT_NS}};
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(columns, 3, &profile, NULL), SONDE_OK);
    return profile;
}

static void add(struct sn_profile *profile, uint64_t thread_id, const char *name, uint64_t cpu,
                uint64_t wall)
{
    struct sn_frame frame = {.name = name,
                             .full_name = name,
                             .module = "App",
                             .name_space = "",
                             .is_framework = strncmp(name, "System.", 7) == 0};
    uint32_t node = sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
    uint32_t thread = sn_profile_thread(profile, 1, thread_id, "worker");
    sn_profile_add(profile, thread, node, (const uint64_t[SN_COLUMN_MAX]){cpu, wall});
}

static const char *write_profile(struct sn_buf *out, const struct sn_profile *profile,
                                 const struct sn_format_options *options)
{
    struct sn_stream stream;
    sn_stream_init(&stream, collect, out);
    sn_format_find("html")->write(&stream, profile, options);
    assert_int_equal(sn_stream_finish(&stream, NULL), SONDE_OK);
    sn_stream_done(&stream);
    assert_false(out->failed);
    return sn_buf_string(out);
}

/* The data of a page, as a string of its own. */
static char *data_of(const char *page)
{
    const char *begin = strstr(page, DATA_BEGIN);
    assert_non_null(begin);
    begin += strlen(DATA_BEGIN);
    const char *end = strstr(begin, "</script>");
    assert_non_null(end);
    return strndup(begin, (size_t)(end - begin));
}

static void text_is_escaped(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"", ""},
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"a&b \"c\" 'd'", "a&amp;b &quot;c&quot; &#39;d&#39;"},
        {"\x1b[31m", "\\x1b[31m"},
        {"a\nb\tc", "a\\x0ab\\x09c"},
        {"\xE2\x80\xAE<", "\\u{202e}&lt;"},
        {"\xFF<", "\\xff&lt;"},
        {"\xC3\xA4", "\xC3\xA4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(4096);
        sn_html_text(&out, cases[i][0]);
        assert_string_equal(sn_buf_string(&out), cases[i][1]);
    }
}

/* At any length a cut leaves whole characters and whole escapes. */
static void long_text_is_cut_between_characters(void **state)
{
    (void)state;
    char text[1101];
    for (size_t shift = 0; shift < 4; shift++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 16);
        memset(text, 'a', sizeof(text));
        for (size_t i = shift; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xE2\x82\xAC", 3); /* the euro */
        text[sizeof(text) - 1] = '\0';
        sn_html_text(&out, text);
        const char *shown = sn_buf_string(&out);
        assert_null(strstr(shown, "\\x"));
        assert_true(strlen(shown) <= 1003);
        assert_string_equal(shown + strlen(shown) - 3, "…");
    }
}

static void data_is_the_profile(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    add(profile, 7, "A.B", 5, 9);
    add(profile, 8, "System.C", 0, 3);
    add(profile, 7, "A.B", 1, 1);
    struct sn_format_options options = {.title = "t", .view = "wall time", .column = 1};
    SN_AUTO(sn_free) char *data = data_of(write_profile(&out, profile, &options));
    /* The asked view first, and no view in which there is nothing. */
    assert_string_equal(
        data,
        "{\"profiles\":[{\"views\":[{\"name\":\"wall\",\"label\":\"Wall time\",\"unit\":\"ns\","
        "\"scale\":1},{\"name\":\"cpu\",\"label\":\"CPU time\",\"unit\":\"ns\",\"scale\":1}],"
        "\"threads\":[{\"id\":7,\"name\":\"worker\"},{\"id\":8,\"name\":\"worker\"}],"
        "\"frames\":{\"name\":[\"A.B\",\"System.C\"],\"detail\":[\"\",\"\"],\"module\":[0,0],"
        "\"space\":[0,0],\"kind\":[0,0],\"flags\":[0,1]},\"modules\":[\"App\"],\"spaces\":[\"\"],"
        "\"nodes\":{\"parent\":[0,0,0],\"frame\":[0,0,1]},\"rows\":{\"thread\":[0,1],"
        "\"node\":[1,2],\"values\":[[10,3],[6,0]]},\"diff\":false}]}");
}

static void no_name_ends_the_data(void **state)
{
    static const char *const names[] = {"</script><script>alert(1)</script>", "<!--<script>", "<",
                                        "a<b<c<"};
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        add(profile, i, names[i], 1, 1);
    struct sn_format_options options = {.title = names[0], .view = "CPU", .note = names[1]};
    const char *page = write_profile(&out, profile, &options);
    SN_AUTO(sn_free) char *data = data_of(page);
    assert_null(strchr(data, '<'));
    assert_non_null(strstr(data, "\\u003c/script>\\u003cscript>alert(1)\\u003c/script>"));
    assert_non_null(strstr(page, "<h1><bdi>&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_non_null(strstr(page, "<p class=note>&lt;!--&lt;script&gt;</p>"));
}

static void full_names_and_one_tree_can_be_asked_for(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    struct sn_frame frame = {
        .name = "Short", .full_name = "Long(int32)", .module = "", .name_space = ""};
    uint32_t node = sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
    sn_profile_add(profile, sn_profile_thread(profile, 1, 1, ""), node,
                   (const uint64_t[SN_COLUMN_MAX]){1});
    struct sn_format_options options = {
        .title = "", .view = "CPU", .full_names = true, .merge_threads = true};
    SN_AUTO(sn_free) char *data = data_of(write_profile(&out, profile, &options));
    assert_non_null(strstr(data, "\"name\":[\"Long(int32)\"],\"detail\":[\"\"]"));
    assert_non_null(strstr(data, "\"threads\":[]"));
    assert_non_null(strstr(data, "\"rows\":{\"thread\":[]"));
}

/* The policy names the two pieces of the page and nothing else, and they are in it unchanged. */
static void policy_is_strict(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    struct sn_format_options options = {.title = "t", .view = "CPU"};
    const char *page = write_profile(&out, profile, &options);
    SN_AUTO(sn_buf_done) struct sn_buf policy = sn_buf_with_limit(4096);
    sn_buf_format(&policy, "default-src 'none'; script-src '%s'; style-src '%s';",
                  sn_html_script.hash, sn_html_style.hash);
    assert_non_null(strstr(page, sn_buf_string(&policy)));
    assert_null(strstr(page, "unsafe"));
    assert_int_equal(strlen(sn_html_script.hash), strlen("sha256-") + 44);
    assert_non_null(memmem(out.bytes, out.size, sn_html_script.bytes, sn_html_script.size));
    assert_non_null(memmem(out.bytes, out.size, sn_html_style.bytes, sn_html_style.size));
    /* Neither piece can end its own element. */
    assert_null(memmem(sn_html_script.bytes, sn_html_script.size, "</script", 8));
    assert_null(memmem(sn_html_style.bytes, sn_html_style.size, "</style", 7));
}

static void differences_are_per_second(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *before = new_profile();
    SN_AUTO(sn_profile_free) struct sn_profile *after = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    add(before, 1, "Same", 1000, 0);
    add(before, 2, "Gone", 3, 0);
    add(after, 9, "New", 40, 0);
    add(after, 9, "Same", 4000, 0);
    struct sn_diff_html_options options = {.title_before = "<a>",
                                           .title_after = "b",
                                           .view = "CPU",
                                           .column = "cpu",
                                           .duration_before_ns = 1000000000,
                                           .duration_after_ns = 4000000000};
    struct sn_stream stream;
    sn_stream_init(&stream, collect, &out);
    sn_diff_html_write(&stream, before, after, &options);
    assert_int_equal(sn_stream_finish(&stream, NULL), SONDE_OK);
    sn_stream_done(&stream);
    SN_AUTO(sn_free) char *data = data_of(sn_buf_string(&out));
    assert_non_null(strstr(data, "\"name\":[\"Same\",\"Gone\",\"New\"]"));
    assert_non_null(strstr(data, "\"node\":[1,2,3]"));
    /* After, then before, in thousandths. */
    assert_non_null(strstr(data, "\"values\":[[1000000,0,10000],[1000000,3000,0]]"));
    assert_non_null(strstr(data, "\"unit\":\"ns/s\",\"scale\":0.001}"));
    assert_non_null(strstr(data, "\"diff\":true"));
}

static void add_numbered(struct sn_profile *profile, const char *full_name)
{
    struct sn_frame frame = {
        .name = "Shop.GoAsync", .full_name = full_name, .module = "App", .name_space = ""};
    uint32_t node = sn_profile_node(profile, 0, sn_profile_frame(profile, &frame));
    uint32_t thread = sn_profile_thread(profile, 1, 1, "");
    sn_profile_add(profile, thread, node, (const uint64_t[SN_COLUMN_MAX]){1000});
}

/* What compilers number anew is the same method, as in the text; and the page says what it says. */
static void differences_are_of_methods_and_have_an_answer(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *before = new_profile();
    SN_AUTO(sn_profile_free) struct sn_profile *after = new_profile();
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    add_numbered(before, "Shop+<GoAsync>d__3.MoveNext()");
    add_numbered(after, "Shop+<GoAsync>d__4.MoveNext()");
    static const struct sn_diff_outcome outcomes[] = {
        {.condition = "cpu(<b>) > 1%", .text = "so & so", .holds = true},
        {.condition = "cpu(*) > 1%", .text = "well"}};
    struct sn_diff_html_options options = {.title_before = "dir/a",
                                           .title_after = "b",
                                           .view = "CPU",
                                           .column = "cpu",
                                           .duration_before_ns = 1000000000,
                                           .duration_after_ns = 1000000000,
                                           .summary = "CPU time <rose>",
                                           .outcomes = outcomes,
                                           .outcome_count = 2};
    struct sn_stream stream;
    sn_stream_init(&stream, collect, &out);
    sn_diff_html_write(&stream, before, after, &options);
    assert_int_equal(sn_stream_finish(&stream, NULL), SONDE_OK);
    sn_stream_done(&stream);
    const char *page = sn_buf_string(&out);
    SN_AUTO(sn_free) char *data = data_of(page);
    assert_non_null(strstr(data, "\"values\":[[1000000],[1000000]]"));
    assert_non_null(strstr(page, "<h1><bdi>a → b</bdi></h1>"));
    assert_non_null(strstr(page, "<p class=summary>CPU time &lt;rose&gt;</p>"));
    assert_non_null(strstr(
        page,
        "<li class=is-bad><b>FAILED</b> <code>cpu(&lt;b&gt;) &gt; 1%</code> so &amp; so</li>"));
    assert_non_null(strstr(page, "<li><b>ok</b> <code>cpu(*) &gt; 1%</code> well</li>"));
}

/* What was spent by a thread stays with it, however little is drawn. */
static void pruning_keeps_every_sum(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_profile_free) struct sn_profile *pruned = NULL;
    for (unsigned i = 0; i < 250000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "M%u", i);
        add(profile, i % 3, name, i % 1000 ? 1 : 1000000, 2);
    }
    assert_true(sn_html_is_too_large(profile));
    assert_int_equal(sn_html_prune(profile, &pruned, NULL), SONDE_OK);
    assert_false(sn_html_is_too_large(pruned));
    assert_int_equal(pruned->node_count, 1 + 250 + 1); /* the root, the large ones, the rest */
    for (int column = 0; column < 3; column++) {
        for (uint32_t thread = 0; thread < 3; thread++)
            assert_int_equal(sn_profile_total(pruned, column, thread),
                             sn_profile_total(profile, column, thread));
    }
}

static void write_report(struct sn_buf *out)
{
    SN_AUTO(sn_report_free) struct sn_report *report = NULL;
    struct sn_stream stream;
    assert_int_equal(sn_report_new(&report, NULL), SONDE_OK);
    report->cpu_truth = SN_CPU_NO_RECORD;
    report->duration_ns = 2500000000;
    report->samples = new_profile();
    add(report->samples, 1, "A.B", 5, 9);
    report->gc.event_count = 1;
    report->gc.total_count = 1;
    report->gc.pause_ns = 1230000;
    report->gc.heap_max_bytes = 2345678;
    sn_series_add(&report->gc.pauses, 1230000);
    const struct sn_file_facts file = {
        .path = "/a/<x>.nettrace", .format = 4, .byte_count = 1234567, .lost_count = 3};
    const struct sn_report_show show = {.report = report, .file = &file, .count = 10};
    sn_stream_init(&stream, collect, out);
    sn_report_html_write(&stream, &show);
    assert_int_equal(sn_stream_finish(&stream, NULL), SONDE_OK);
    sn_stream_done(&stream);
}

static void reports_say_what_is_missing(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    write_report(&out);
    const char *page = sn_buf_string(&out);
    assert_non_null(strstr(page, "<title>&lt;x&gt;.nettrace</title>"));
    assert_non_null(strstr(page, "Wall time, not CPU time"));
    assert_non_null(strstr(page, "The runtime lost events"));
    assert_non_null(strstr(page, "<dt>largest heap<dd>2.3 MB"));
    assert_non_null(strstr(page, "<section class=card id=gc>"));
    assert_null(strstr(page, "<section class=card id=exceptions>"));
    assert_null(strstr(page, "<dt>CPU time"));
    /* Without a record the first view is wall time. */
    assert_non_null(strstr(page, "\"views\":[{\"name\":\"wall\""));
}

static void write_work(struct sn_buf *out, struct sn_report *report, const char *sections)
{
    struct sn_stream stream;
    const struct sn_file_facts file = {.path = "x.nettrace", .format = 4};
    const struct sn_report_show show = {
        .report = report, .file = &file, .count = 2, .sections = sections};
    sn_stream_init(&stream, collect, out);
    sn_report_html_write(&stream, &show);
    assert_int_equal(sn_stream_finish(&stream, NULL), SONDE_OK);
    sn_stream_done(&stream);
}

static void starvation_is_said_in_words(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    struct sn_report report = {
        .pool = {.event_count = 1, .enqueue_count = 233, .dequeue_count = 235, .waiting_count = 19},
        .jit = {.event_count = 1, .background_count = 1}};
    sn_series_add(&report.pool.queue_waits, 396000000);
    write_work(&out, &report, "threadpool,jit");
    sn_series_done(&report.pool.queue_waits);
    const char *page = sn_buf_string(&out);
    assert_non_null(strstr(page, "<b>Starvation:</b> every second work item waited 396 ms"));
    assert_non_null(strstr(page, "look for .Result, .Wait(),"));
    assert_non_null(strstr(page, "<dt>work items<dd>235"));
    assert_null(strstr(page, "<dt>fewest workers")); /* not told */
    assert_null(strstr(page, "<dt>methods compiled"));
    assert_non_null(strstr(page, "--profile jit asks for them"));
}

static void stuck_operations_come_before_the_loops_of_the_framework(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(PAGE_LIMIT);
    struct sn_task_kind kinds[] = {
        {.name = "System.Net.<Loop>.Receive",
         .open_count = 4,
         .oldest_ns = 90,
         .is_framework = true},
        {.name = "Shop.Wait", .open_count = 1, .oldest_ns = 40000},
        {.name = "Shop.<CheckOut>", .open_count = 2, .oldest_ns = 42000},
    };
    struct sn_report report = {
        .tasks = {
            .event_count = 1, .operation_count = 7, .open_count = 7, .kinds = kinds, .count = 3}};
    write_work(&out, &report, NULL);
    const char *page = strstr(sn_buf_string(&out), "Not ended when the trace did");
    assert_non_null(page);
    const char *own = strstr(page, "<bdi>Shop.&lt;CheckOut&gt;</bdi>\n<td>42.0 us<td>2");
    assert_non_null(own);
    const char *second = strstr(own, "<bdi>Shop.Wait</bdi>");
    assert_non_null(second);
    assert_non_null(strstr(second, "framework&#39;s own: &lt;Loop&gt;.Receive"));
    assert_non_null(strstr(page, "operations that began before the trace are not seen"));
    assert_null(strstr(page, "<dt>tasks scheduled")); /* none was told */
}

/* Under the present locale, which is C's afterwards. */
static void check_that_pages_are_as_in_c(void)
{
    SN_AUTO(sn_buf_done) struct sn_buf plain = sn_buf_with_limit(PAGE_LIMIT);
    SN_AUTO(sn_buf_done) struct sn_buf local = sn_buf_with_limit(PAGE_LIMIT);
    write_report(&local);
    (void)setlocale(LC_ALL, "C");
    write_report(&plain);
    assert_string_equal(sn_buf_string(&local), sn_buf_string(&plain));
}

/* tests/browser makes a locale of its own where there is none. */
static void a_foreign_locale_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"};
    (void)state;
    bool found = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        found = true;
        check_that_pages_are_as_in_c();
    }
    if (!found)
        skip_because("no locale with commas in its numbers" INSTALLABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(data_is_the_profile),
        cmocka_unit_test(no_name_ends_the_data),
        cmocka_unit_test(full_names_and_one_tree_can_be_asked_for),
        cmocka_unit_test(policy_is_strict),
        cmocka_unit_test(differences_are_per_second),
        cmocka_unit_test(differences_are_of_methods_and_have_an_answer),
        cmocka_unit_test(pruning_keeps_every_sum),
        cmocka_unit_test(reports_say_what_is_missing),
        cmocka_unit_test(starvation_is_said_in_words),
        cmocka_unit_test(stuck_operations_come_before_the_loops_of_the_framework),
        cmocka_unit_test(a_foreign_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
