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

/* --- what memory tells besides --- */

static const struct sonde_stack_frame native[] = {
    {.name = "__futex_wait",
     .type_name = "",
     .method_name = "",
     .signature = "",
     .module = "libc.so.6",
     .file = "",
     .kind = SONDE_FRAME_NATIVE},
    MANAGED("Shop.Stock.Take", "Shop.Stock", "Take"),
    MANAGED("Shop.Program.Main", "Shop.Program", "Main"),
};
static const struct sonde_stack_thread rich_threads[] = {
    {.thread_id = 10,
     .name = "",
     .frames = native,
     .frame_count = 3,
     .managed_id = 1,
     .doing = SONDE_THREAD_WAITING,
     .syscall = "futex",
     .exception = "",
     .message = "",
     .waits_for = 1,
     .moves = 7,
     .still_ns = 12000000000ull},
    {.thread_id = 11,
     .name = "w\x1b[2J",
     .frames = native,
     .frame_count = 3,
     .managed_id = 4,
     .doing = SONDE_THREAD_WAITING,
     .syscall = "futex",
     .exception = "Shop.Gone\x07",
     .message = "no\nstock; Pwd=hunter2",
     .waits_for = 2,
     .moves = 9,
     .is_pool = true,
     .is_background = true},
    {.thread_id = 12,
     .name = "busy",
     .is_managed = true,
     .frames = work,
     .frame_count = 0,
     .doing = SONDE_THREAD_RUNNING,
     .syscall = "",
     .exception = "",
     .message = ""},
};
static const uint32_t rich_members[] = {0, 1, 2};
static const struct sonde_stack_group rich_groups[] = {{&rich_members[0], 2},
                                                       {&rich_members[2], 1}};
static const struct sonde_stack_lock locks[] = {
    {.object = 0x7f10,
     .type_name = "Shop.Stock",
     .kind = "monitor",
     .owner = 2,
     .owner_id = 11,
     .depth = 2,
     .waiter_count = 1,
     .waiters = &rich_members[0],
     .deadlock = 1},
    {.object = 0x7f20,
     .type_name = "System.Threading.Lock",
     .kind = "Lock",
     .owner = 1,
     .owner_id = 10,
     .depth = 1,
     .waiter_count = 1,
     .waiters = &rich_members[1],
     .deadlock = 1},
    {.object = 0x7f30, .type_name = "", .kind = "monitor", .owner_id = 99, .depth = 1},
};
static const struct sonde_stack_task tasks[] = {{.frames = work,
                                                 .frame_count = 2,
                                                 .count = 5,
                                                 .object = 0x7f40,
                                                 .waits_on = "System.Threading.Tasks.Task",
                                                 .state = -2}};
static const char *const remarks[] = {"a \x1bremark"};
static const struct sn_stacks_view rich = {.threads = rich_threads,
                                           .thread_count = 3,
                                           .groups = rich_groups,
                                           .group_count = 2,
                                           .pid = 4711,
                                           .main_id = 10,
                                           .name = "shop",
                                           .utc_ns = 1763276400123000000ull,
                                           .locks = locks,
                                           .lock_count = 3,
                                           .has_locks = true,
                                           .tasks = tasks,
                                           .task_count = 1,
                                           .has_tasks = true,
                                           .pool = {.is_known = true, .queued = 3, .workers = 2},
                                           .source = "the memory of .NET 10.0.12",
                                           .remarks = remarks,
                                           .remark_count = 1,
                                           .is_compared = true};

#define RICH_HEAD                                                                                \
    "shop (4711) at 2025-11-16T07:00:00.123Z: 3 threads in 2 places; from the memory of .NET "   \
    "10.0.12\n"                                                                                  \
    "deadlock: w\\x1b[2J (11) waits for the Lock at 0x7f20, held by main (10), which waits for " \
    "the monitor of Shop.Stock at 0x7f10, held by w\\x1b[2J (11)\n"
#define RICH_TAIL                                                                              \
    "\n3 locks are held or waited for:\n"                                                      \
    "    the monitor of Shop.Stock at 0x7f10: held by w\\x1b[2J (11), 2 times; 1 waits: main " \
    "(10); part of a deadlock\n"                                                               \
    "    the Lock at 0x7f20: held by main (10); 1 waits: w\\x1b[2J (11); part of a deadlock\n" \
    "    the monitor of an object at 0x7f30: held by thread 99\n"                              \
    "\n5 chains of async methods wait, on no thread:\n"                                        \
    "    5 x waiting at Shop.Orders.Place ← Shop.Program.Main, for "                         \
    "System.Threading.Tasks.Task\n"                                                            \
    "\nthread pool: 2 workers; 3 items queued, and 0 in queues of workers\n"                   \
    "\nnote: a \\x1bremark\n"

static void people_see_what_threads_do_and_who_holds_what(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("text", &rich);
    assert_string_equal(
        sn_buf_string(&out), RICH_HEAD
        "\n2 threads: main (10, managed 1, waiting in futex, not moved for 12.0 s), "
        "w\\x1b[2J (11, managed 4, waiting in futex)\n"
        "  * main (10) waits for the monitor of Shop.Stock at 0x7f10, held by "
        "w\\x1b[2J (11)\n"
        "  * w\\x1b[2J (11) has in flight Shop.Gone\\x07: no\\x0astock; Pwd=[redacted]; it waits for the "
        "Lock at 0x7f20, held by main (10)\n"
        "  ~ __futex_wait  [libc.so.6]\n"
        "    Shop.Stock.Take  [shop.dll]\n"
        "    Shop.Program.Main  [shop.dll]\n"
        "\n1 thread, running: busy (12)\n"
        "    [it runs, and was not held to look at its frames]\n"
        "\n~ is native code, k is the kernel\n" RICH_TAIL);
    SN_AUTO(sn_buf_done) struct sn_buf alone = write_as("threads", &rich);
    assert_non_null(strstr(sn_buf_string(&alone), "\n1 thread, waiting in futex: w\\x1b[2J (11, "
                                                  "managed 4)\n"));
}

static void a_recursion_is_shown_once(void **state)
{
    (void)state;
    struct sonde_stack_frame deep[9] = {[0] = work[0], [8] = work[1]};
    const struct sonde_stack_thread thread = {
        .thread_id = 10, .name = "", .frames = deep, .frame_count = 9};
    struct sn_stacks_view one = view;
    for (size_t i = 1; i < 8; i++)
        deep[i] = (struct sonde_stack_frame)MANAGED("Shop.Tree.Walk", "Shop.Tree", "Walk");
    one.threads = &thread;
    one.thread_count = one.group_count = 1;
    one.groups = &(struct sonde_stack_group){&members[0], 1};
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("text", &one);
    assert_non_null(strstr(sn_buf_string(&out), "    Shop.Orders.Place  [shop.dll]\n"
                                                "    Shop.Tree.Walk  [shop.dll]\n"
                                                "    ... the same 6 times more\n"
                                                "    Shop.Program.Main  [shop.dll]\n"));
}

static void a_tree_counts_threads_from_the_outermost_frame(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("tree", &rich);
    assert_string_equal(sn_buf_string(&out),
                        RICH_HEAD "\n         = busy (12)\n"
                                  "    2    Shop.Program.Main  [shop.dll]\n"
                                  "         Shop.Stock.Take  [shop.dll]\n"
                                  "       ~ __futex_wait  [libc.so.6]\n"
                                  "         = main (10), w\\x1b[2J (11)\n" RICH_TAIL);
    SN_AUTO(sn_buf_done) struct sn_buf forked = write_as("tree", &view);
    assert_non_null(strstr(sn_buf_string(&forked), "\n    2    Shop.Program.Main  [shop.dll]\n"
                                                   "         Shop.Orders.Place  [shop.dll]\n"
                                                   "         = main (10), .NET TP Worker (12)\n"
                                                   "    1    [unknown code]\n"));
}

static void json_has_locks_deadlocks_tasks_and_moves(void **state)
{
    (void)state;
    json_t *root = read_back("json", &rich);
    json_t *thread = NULL;
    json_int_t owner;
    json_int_t held_by;
    assert_string_equal(text_at(root, "source"), rich.source);
    thread = json_array_get(
        json_object_get(json_array_get(json_object_get(root, "places"), 0), "threads"), 0);
    assert_string_equal(text_at(thread, "doing"), "waiting");
    assert_string_equal(text_at(thread, "syscall"), "futex");
    assert_int_equal(json_integer_value(json_object_get(thread, "waitsFor")), 0);
    assert_int_equal(json_integer_value(json_object_get(thread, "moves")), 7);
    assert_true(json_is_false(json_object_get(thread, "moved")));
    assert_int_equal(json_unpack(root, "{s:[{s:I},{},{}]}", "locks", "owner", &owner), 0);
    assert_int_equal(owner, 11);
    assert_int_equal(json_unpack(root, "{s:[[{},{s:I}]]}", "deadlocks", "heldBy", &held_by), 0);
    assert_int_equal(held_by, 11);
    assert_int_equal(json_array_size(json_object_get(root, "tasks")), 1);
    thread = json_array_get(
        json_object_get(json_array_get(json_object_get(root, "places"), 0), "threads"), 1);
    assert_string_equal(text_at(thread, "message"), "no\nstock; Pwd=[redacted]");
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "remarks"), 0)),
                        remarks[0]);
    json_decref(root);
    root = read_back("json", &view); /* what was not looked for is not there */
    assert_null(json_object_get(root, "locks"));
    assert_null(json_object_get(root, "tasks"));
    assert_null(json_object_get(root, "pool"));
    json_decref(root);
}

/* Circles that lead nowhere, threads that are not there: nothing is trusted. */
static void a_circle_that_is_none_is_not_followed(void **state)
{
    (void)state;
    struct sonde_stack_lock wrong[2] = {locks[0], locks[1]};
    struct sn_stacks_view changed = rich;
    uint32_t circle[4];
    changed.locks = wrong;
    changed.lock_count = 2;
    wrong[1].owner = 9;
    assert_int_equal(sn_stacks_deadlock(&changed, 1, circle, 4), 0);
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("text", &changed);
    assert_non_null(strstr(sn_buf_string(&out), "deadlock: a circle of locks that"));
    wrong[0].deadlock = UINT32_MAX;
    assert_int_equal(sn_stacks_deadlock_count(&changed), 1);
    assert_int_equal(sn_stacks_deadlock(&rich, 1, circle, 1), 0); /* no room */
    assert_int_equal(sn_stacks_deadlock(&rich, 1, circle, 4), 2);
    json_decref(read_back("json", &changed));
}

static void frames_are_named_as_dotnet_stack_does(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf out = write_as("dotnet-stack", &view);
    assert_string_equal(sn_buf_string(&out), "Thread (0xA):\n"
                                             "  CPU_TIME\n"
                                             "  shop!Shop.Orders+<Place>d__3.MoveNext()\n"
                                             "  shop!Shop.Program.Main()\n\n"
                                             "Thread (0xB):\n"
                                             "  [Native Frames]\n"
                                             "  e\\x1bvil!Evil\"T.M\\x0ax()\n"
                                             "  ?!?\n\n"
                                             "Thread (0xC):\n"
                                             "  [Native Frames]\n"
                                             "  shop!Shop.Orders+<Place>d__3.MoveNext()\n"
                                             "  shop!Shop.Program.Main()\n\n");
    SN_AUTO(sn_buf_done) struct sn_buf other = write_as("dotnet-stack", &rich);
    assert_null(strstr(sn_buf_string(&other), "futex"));
    assert_null(strstr(sn_buf_string(&other), "(0xC)"));
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
        cmocka_unit_test(people_see_what_threads_do_and_who_holds_what),
        cmocka_unit_test(a_recursion_is_shown_once),
        cmocka_unit_test(a_tree_counts_threads_from_the_outermost_frame),
        cmocka_unit_test(json_has_locks_deadlocks_tasks_and_moves),
        cmocka_unit_test(a_circle_that_is_none_is_not_followed),
        cmocka_unit_test(frames_are_named_as_dotnet_stack_does),
    };
    return cmocka_run_group_tests_name("stacks formats", tests, NULL, NULL);
}
