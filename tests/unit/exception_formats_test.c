/* Exceptions as dotnet-monitor shows them, its filters, and the types of parameters. */
#include "check.h"

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/exception_formats.h"
#include "daemon/exception_history.h"

static const struct sonde_stack_frame frames[] = {
    {.name = "Shop.Orders.Pay",
     .type_name = "Shop.Orders",
     .method_name = "Pay",
     .signature = "(int32,class System.String)",
     .module = "shop.dll",
     .file = "",
     .token = 0x06000002},
    {.name = "Shop.Program.Main",
     .type_name = "Shop.Program",
     .method_name = "Main",
     .signature = "()",
     .module = "shop.dll",
     .file = "",
     .token = 0x06000001},
};
static struct sn_exception exceptions[] = {
    {.id = 1,
     .utc_ns = 1763276400123456700ull,
     .thread_id = 7,
     .type = "System.InvalidOperationException",
     .message = "inner",
     .frames = &frames[0],
     .frame_count = 1},
    {.id = 2,
     .utc_ns = 1763276401000000000ull,
     .thread_id = 7,
     .inner_id = 1,
     .has_inner = true,
     .type = "System.ArgumentException",
     .message = "Pwd=hunter2\r\nsecond\x1bline",
     .frames = &frames[1],
     .frame_count = 1},
};
static const struct sn_exception_shot shot = {.pid = 4711, .items = exceptions, .count = 2};

static const char *written(struct sn_buf *out, const struct sn_exception_filter *filter,
                           enum sn_exception_format format, bool shows_secrets)
{
    sn_buf_clear(out);
    sn_exceptions_write(out, &shot, filter, format, shows_secrets);
    return sn_buf_string(out);
}

static void text_has_the_shape_of_a_console(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
    assert_string_equal(written(&out, NULL, SN_EXCEPTIONS_TEXT, true),
                        "First chance exception at 2025-11-16T07:00:00.1234567Z\n"
                        "System.InvalidOperationException: inner\n"
                        "   at Shop.Orders.Pay(System.Int32,System.String)\n"
                        "\n"
                        "First chance exception at 2025-11-16T07:00:01.0000000Z\n"
                        "System.ArgumentException: Pwd=hunter2\n"
                        "second\\x1bline\n"
                        " ---> System.InvalidOperationException: inner\n"
                        "   at Shop.Orders.Pay(System.Int32,System.String)\n"
                        "   --- End of inner exception stack trace ---\n"
                        "   at Shop.Program.Main()\n"
                        "\n");
}

static void an_inner_one_that_is_filtered_out_is_said_so(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
    const struct sn_exception_filter filter = {
        .include = {{.exception_type = "System.ArgumentException"}}, .include_count = 1};
    const char *text = written(&out, &filter, SN_EXCEPTIONS_TEXT, true);
    assert_null(strstr(text, "InvalidOperation"));
    assert_non_null(strstr(text, "--- The inner exception was not included in the filter ---\n"
                                 "   at Shop.Program.Main()"));
}

static void secrets_in_messages_are_for_those_who_may(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
    for (int format = 0; format < SN_EXCEPTIONS_FORMATS; format++) {
        enum sn_exception_format as = (enum sn_exception_format)format;
        assert_null(strstr(written(&out, NULL, as, false), "hunter2"));
        assert_non_null(strstr(written(&out, NULL, as, true), "hunter2"));
    }
}

static void json_has_the_members_of_an_instance(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
    json_error_t why;
    json_t *all = json_loads(written(&out, NULL, SN_EXCEPTIONS_JSON, true), 0, &why);
    assert_int_equal(json_array_size(all), 2);
    const json_t *outer = json_array_get(all, 1);
    assert_string_equal(json_string_value(json_object_get(outer, "typeName")),
                        "System.ArgumentException");
    const json_t *inner = json_array_get(json_object_get(outer, "innerExceptions"), 0);
    assert_int_equal(json_integer_value(json_object_get(inner, "id")), 1);
    const json_t *stack = json_object_get(json_array_get(all, 0), "stack");
    assert_int_equal(json_integer_value(json_object_get(stack, "threadId")), 7);
    assert_true(json_is_null(json_object_get(stack, "threadName")));
    const json_t *frame = json_array_get(json_object_get(stack, "frames"), 0);
    const json_t *types = json_object_get(frame, "parameterTypes");
    assert_int_equal(json_array_size(types), 2);
    assert_string_equal(json_string_value(json_array_get(types, 0)), "System.Int32");
    json_decref(all);
}

static void records_are_lines_or_separated(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(65536);
    const char *lines = written(&out, NULL, SN_EXCEPTIONS_NDJSON, true);
    const char *second = strchr(lines, '\n');
    json_error_t why;
    assert_int_equal(lines[0], '{');
    assert_non_null(second);
    json_t *one = json_loads(second + 1, 0, &why);
    assert_int_equal(json_integer_value(json_object_get(one, "id")), 2);
    json_decref(one);
    const char *sequence = written(&out, NULL, SN_EXCEPTIONS_JSON_SEQ, true);
    assert_int_equal(sequence[0], 0x1E);
    assert_int_equal(strchr(sequence, '\n')[1], 0x1E);
}

static struct sn_exception_filter read_filter(json_t **keep, const char *text)
{
    struct sn_exception_filter filter;
    struct sonde_error err = {0};
    json_error_t why;
    *keep = json_loads(text, 0, &why);
    assert_non_null(*keep);
    if (sn_exception_filter_read(*keep, &filter, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return filter;
}

/* Which of the two pass: "12", "1", "2", "". */
static void assert_passes(const char *filter_text, const char *expected)
{
    json_t *keep = NULL;
    struct sn_exception_filter filter = read_filter(&keep, filter_text);
    char passed[3] = "";
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        if (sn_exception_filter_passes(&filter, &exceptions[i]))
            passed[count++] = i ? '2' : '1';
    }
    assert_string_equal(passed, expected);
    json_decref(keep);
}

static void filters_are_all_of_a_rule_and_any_of_the_rules(void **state)
{
    (void)state;
    assert_passes("{}", "12");
    assert_passes("{\"Include\":[],\"exclude\":null}", "12");
    assert_passes("{\"Include\":[{\"exceptionType\":\"System.ArgumentException\"}]}", "2");
    assert_passes("{\"include\":[{\"methodName\":\"Pay\"},{\"MethodName\":\"Main\"}]}", "12");
    assert_passes("{\"include\":[{\"methodName\":\"Pay\",\"typeName\":\"Shop.Program\"}]}", "");
    assert_passes("{\"include\":[{\"methodName\":\"Pay\",\"typeName\":\"Shop.Orders\","
                  "\"moduleName\":\"shop.dll\"}]}",
                  "1");
    assert_passes("{\"exclude\":[{\"methodName\":\"Pay\"}]}", "2");
    assert_passes("{\"exclude\":[{}]}", "12");
    assert_passes("{\"include\":[{\"moduleName\":\"shop.dll\"}],"
                  "\"exclude\":[{\"exceptionType\":\"System.ArgumentException\"}]}",
                  "1");
}

static void bad_filters_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"[]", "{\"include\":{}}", "{\"include\":[1]}",
                                      "{\"exclude\":[{\"methodName\":7}]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct sn_exception_filter filter;
        struct sonde_error err = {0};
        json_error_t why;
        json_t *body = json_loads(bad[i], 0, &why);
        assert_non_null(body);
        assert_int_equal(sn_exception_filter_read(body, &filter, &err), SONDE_E_ARGUMENT);
        json_decref(body);
    }
}

static void join(void *user, const char *type)
{
    sn_buf_format(user, "%s;", type);
}

static void parameters_are_told_in_words_of_dotnet(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"()", ""},
        {"", ""},
        {"(", ""},
        {"(int32)", "System.Int32;"},
        {"(class System.String,int64)", "System.String;System.Int64;"},
        {"(bool,float64[],unsigned int8*)", "System.Boolean;System.Double[];System.Byte*;"},
        {"(value class System.Span`1<unsigned int8>,int32&)",
         "System.Span`1[System.Byte];System.Int32&;"},
        {"(class D`2<int32,class A.B`1<int64>>,native int)",
         "D`2[System.Int32,A.B`1[System.Int64]];System.IntPtr;"},
        {"(!!0,!1)", "!!0;!1;"},
        {"(<<<<", ""},
        {"(>>>,,)", "]]];;;"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(4096);
        sn_exception_parameters(cases[i][0], join, &out);
        assert_string_equal(sn_buf_string(&out), cases[i][1]);
        for (size_t cut = 0; cut < strlen(cases[i][0]); cut++) {
            SN_AUTO(sn_free) char *part = strndup(cases[i][0], cut);
            sn_buf_clear(&out);
            sn_exception_parameters(part, join, &out); /* a part of it is read to its end */
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_the_shape_of_a_console),
        cmocka_unit_test(an_inner_one_that_is_filtered_out_is_said_so),
        cmocka_unit_test(secrets_in_messages_are_for_those_who_may),
        cmocka_unit_test(json_has_the_members_of_an_instance),
        cmocka_unit_test(records_are_lines_or_separated),
        cmocka_unit_test(filters_are_all_of_a_rule_and_any_of_the_rules),
        cmocka_unit_test(bad_filters_are_refused),
        cmocka_unit_test(parameters_are_told_in_words_of_dotnet),
    };
    return cmocka_run_group_tests_name("exception formats", tests, NULL, NULL);
}
