/* Stacks of one moment in every format: whom they show, in which order, and names that try to break
 * out of each. */
#include "check.h"

#include <jansson.h>
#include <string.h>

#include "base/own.h"
#include "base/stream.h"
#include "convert/stacks_formats.h"

#define MANAGED(readable, type, method)                                                      \
    {                                                                                        \
        .name = (readable), .type_name = (type), .method_name = (method), .signature = "()", \
        .module = "shop.dll", .file = "", .token = 0x06000001, .kind = SONDE_FRAME_MANAGED   \
    }

static const struct sonde_stack_frame work[] = {
    MANAGED("Shop.Orders.Place", "Shop.Orders+<Place>d__3", "MoveNext"),
    MANAGED("Shop.Program.Main", "Shop.Program", "Main"),
};
static const struct sonde_stack_frame hostile[] = {
    {.name = "Evil;\n\x1b[31m\"</script>",
     .type_name = "Evil\"T",
     .method_name = "M\nx",
     .signature = "",
     .module = "e\x1bvil.dll",
     .file = "/src/a;b.cs",
     .line = 7,
     .kind = SONDE_FRAME_MANAGED},
    {.name = "[unknown code]",
     .type_name = "",
     .method_name = "",
     .signature = "",
     .module = "",
     .file = "",
     .address = 0x7f001234,
     .kind = SONDE_FRAME_NATIVE},
};
static const struct sonde_stack_thread threads[] = {
    {.thread_id = 10, .name = "", .is_managed = true, .frames = work, .frame_count = 2},
    {.thread_id = 11, .name = "bad\x07name", .frames = hostile, .frame_count = 2},
    {.thread_id = 12, .name = ".NET TP Worker", .frames = work, .frame_count = 2},
};
static const uint32_t members[] = {0, 2, 1};
static const struct sonde_stack_group groups[] = {{&members[0], 2}, {&members[2], 1}};
static const struct sn_stacks_view view = {.threads = threads,
                                           .thread_count = 3,
                                           .groups = groups,
                                           .group_count = 2,
                                           .pid = 4711,
                                           .main_id = 10,
                                           .name = "shop",
                                           .utc_ns = 1763276400123000000ull};

static int append(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    (void)err;
    sn_buf_append(user, bytes, size);
    return SONDE_OK;
}

static struct sn_buf write_as(const char *name, const struct sn_stacks_view *what)
{
    struct sn_buf out = sn_buf_with_limit(1u << 20);
    struct sn_stream stream;
    struct sonde_error err = {0};
    sn_stream_init(&stream, append, &out);
    const struct sn_stacks_format *format = sn_stacks_format_find(name);
    assert_non_null(format);
    format->write(&stream, what);
    assert_int_equal(sn_stream_finish(&stream, &err), SONDE_OK);
    sn_stream_done(&stream);
    return out;
}

static json_t *read_back(const char *name, const struct sn_stacks_view *what)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as(name, what);
    json_error_t why;
    json_t *root = json_loadb((const char *)out.bytes, out.size, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        fail_msg("%s: %s", name, why.text);
    return root;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void people_see_places_with_their_threads(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("text", &view);
    assert_string_equal(sn_buf_string(&out),
                        "shop (4711) at 2025-11-16T07:00:00.123Z: 3 threads in 2 places\n"
                        "\n2 threads: main (10), .NET TP Worker (12)\n"
                        "    Shop.Orders.Place  [shop.dll]\n"
                        "    Shop.Program.Main  [shop.dll]\n"
                        "\n1 thread: bad\\x07name (11)\n"
                        "    Evil;\\x0a\\x1b[31m\"</script>  [e\\x1bvil.dll]  /src/a;b.cs:7\n"
                        "    [unknown code]\n");
}

static void nobody_to_show_is_said(void **state)
{
    (void)state;
    const struct sn_stacks_view none = {.name = "shop", .pid = 1, .lost_count = 2};
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("text", &none);
    assert_non_null(strstr(sn_buf_string(&out), "no thread is in managed code"));
    assert_non_null(strstr(sn_buf_string(&out), "2 more are missing"));
    for (const struct sn_stacks_format *format = sn_stacks_formats; format->name; format++) {
        SN_AUTO(sn_buf_done) struct sn_buf other = write_as(format->name, &none);
        (void)other;
    }
}

static void folded_stacks_count_threads(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("collapsed", &view);
    assert_string_equal(sn_buf_string(&out), "Shop.Program.Main;Shop.Orders.Place 2\n"
                                             "[unknown code];Evil\\x3b\\x0a\\x1b[31m\"</script>:7 "
                                             "1\n");
}

static void json_has_places_threads_and_frames(void **state)
{
    (void)state;
    json_t *root = read_back("json", &view);
    const json_t *places = json_object_get(root, "places");
    assert_int_equal(json_integer_value(json_object_get(root, "threads")), 3);
    assert_int_equal(json_array_size(places), 2);
    const json_t *first = json_array_get(places, 0);
    assert_int_equal(json_array_size(json_object_get(first, "threads")), 2);
    const json_t *frame = json_array_get(json_object_get(first, "frames"), 0);
    assert_string_equal(text_at(frame, "name"), "Shop.Orders.Place");
    assert_string_equal(text_at(frame, "type"), "Shop.Orders+<Place>d__3");
    assert_null(json_object_get(frame, "moduleVersionId"));
    const json_t *evil = json_object_get(json_array_get(places, 1), "frames");
    assert_string_equal(text_at(json_array_get(evil, 0), "name"), hostile[0].name);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(evil, 0), "line")), 7);
    assert_null(json_object_get(json_array_get(evil, 1), "type"));
    json_decref(root);
}

/* Every frame that opens is closed in turn, the outermost one is open longest. */
static void check_events(const json_t *profile, size_t depth)
{
    const json_t *events = json_object_get(profile, "events");
    assert_int_equal(json_array_size(events), 2 * depth);
    for (size_t i = 0; i < depth; i++) {
        const json_t *open = json_array_get(events, i);
        const json_t *close = json_array_get(events, 2 * depth - 1 - i);
        assert_string_equal(text_at(open, "type"), "O");
        assert_string_equal(text_at(close, "type"), "C");
        assert_int_equal(json_integer_value(json_object_get(open, "frame")),
                         json_integer_value(json_object_get(close, "frame")));
    }
}

static void speedscope_has_a_profile_a_thread(void **state)
{
    (void)state;
    static const char *const names[] = {"speedscope", "dotnet-monitor-speedscope"};
    static const char *const outermost[] = {"Shop.Program.Main", "shop.dll!Shop.Program.Main"};
    for (size_t i = 0; i < 2; i++) {
        json_t *root = read_back(names[i], &view);
        const json_t *profiles = json_object_get(root, "profiles");
        const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
        assert_int_equal(json_array_size(profiles), 3);
        assert_int_equal(json_array_size(frames), 4); /* shared by threads */
        for (size_t j = 0; j < 3; j++)
            check_events(json_array_get(profiles, j), 2);
        const json_t *first =
            json_array_get(json_object_get(json_array_get(profiles, 0), "events"), 0);
        size_t frame = (size_t)json_integer_value(json_object_get(first, "frame"));
        assert_string_equal(text_at(json_array_get(frames, frame), "name"), outermost[i]);
        json_decref(root);
    }
}

static void programs_for_dotnet_monitor_find_its_members(void **state)
{
    (void)state;
    json_t *root = read_back("dotnet-monitor-json", &view);
    const json_t *stacks = json_object_get(root, "stacks");
    assert_int_equal(json_object_size(root), 1);
    assert_int_equal(json_array_size(stacks), 3);
    const json_t *one = json_array_get(stacks, 1);
    assert_int_equal(json_integer_value(json_object_get(one, "threadId")), 11);
    assert_string_equal(text_at(one, "threadName"), "bad\x07name");
    const json_t *unknown = json_array_get(json_object_get(one, "frames"), 1);
    assert_string_equal(text_at(unknown, "methodName"), "UnknownFunction");
    assert_string_equal(text_at(unknown, "typeName"), "UnknownClass");
    assert_string_equal(text_at(unknown, "moduleName"), "UnknownModule");
    assert_string_equal(text_at(unknown, "moduleVersionId"),
                        "00000000-0000-0000-0000-000000000000");
    assert_int_equal(json_integer_value(json_object_get(unknown, "methodToken")), 0);
    assert_true(json_is_false(json_object_get(unknown, "hidden")));
    assert_null(json_object_get(unknown, "parameterTypes"));
    json_decref(root);
}

static void text_of_dotnet_monitor_is_as_documented(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("dotnet-monitor-text", &view);
    assert_string_equal(sn_buf_string(&out), "Thread: (0xA)\n"
                                             "  shop.dll!Shop.Orders+<Place>d__3.MoveNext\n"
                                             "  shop.dll!Shop.Program.Main\n\n"
                                             "Thread: (0xB) bad\\x07name\n"
                                             "  e\\x1bvil.dll!Evil\"T.M\\x0ax\n"
                                             "  UnknownFunction\n\n"
                                             "Thread: (0xC) .NET TP Worker\n"
                                             "  shop.dll!Shop.Orders+<Place>d__3.MoveNext\n"
                                             "  shop.dll!Shop.Program.Main\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_see_places_with_their_threads),
        cmocka_unit_test(nobody_to_show_is_said),
        cmocka_unit_test(folded_stacks_count_threads),
        cmocka_unit_test(json_has_places_threads_and_frames),
        cmocka_unit_test(speedscope_has_a_profile_a_thread),
        cmocka_unit_test(programs_for_dotnet_monitor_find_its_members),
        cmocka_unit_test(text_of_dotnet_monitor_is_as_documented),
    };
    return cmocka_run_group_tests_name("stacks formats", tests, NULL, NULL);
}
