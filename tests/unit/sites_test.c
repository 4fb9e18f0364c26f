/* Which method of a stack is said to be the place. */
#include "check.h"

#include <string.h>

#include "base/own.h"
#include "convert/sites.h"
#include "model/profile.h"
#include "sonde/error.h"

static struct sn_profile *new_profile(void)
{
    static const struct sn_column columns[] = {{"count", SN_UNIT_COUNT}, {"time", SN_UNIT_NS}};
    struct sn_profile *profile = NULL;
    assert_int_equal(sn_profile_new(columns, 2, &profile, NULL), SONDE_OK);
    return profile;
}

static uint32_t below(struct sn_profile *profile, uint32_t parent, const char *name, uint8_t kind)
{
    struct sn_frame frame = {.name = name,
                             .full_name = name,
                             .module = "",
                             .name_space = "",
                             .kind = kind,
                             .is_framework = strncmp(name, "System.", 7) == 0,
                             .is_waiting = strstr(name, ".Wait") != NULL};
    return sn_profile_node(profile, parent, sn_profile_frame(profile, &frame));
}

/* A stack, the outermost method first, the type last if there is one. */
static void add_stack(struct sn_profile *profile, const char *const *names, const char *type,
                      uint64_t count)
{
    uint32_t node = 0;
    for (; *names; names++)
        node = below(profile, node, *names, **names == '[' ? SN_FRAME_NATIVE : SN_FRAME_MANAGED);
    if (type)
        node = below(profile, node, type, SN_FRAME_TYPE);
    sn_profile_add(profile, sn_profile_thread(profile, 1, 1, ""), node,
                   (const uint64_t[SN_COLUMN_MAX]){count});
}

static const char *site_of(const char *const *names)
{
    static char name[256];
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_sites_done) struct sn_sites sites = {0};
    add_stack(profile, names, "System.Exception", 1);
    sn_sites_find(&sites, profile, 0);
    assert_int_equal(sites.count, 1);
    (void)strncpy(name, sn_site_name(&sites.items[0]), sizeof(name) - 1);
    return name;
}

#define SITE_OF(...) site_of((const char *const[]){__VA_ARGS__, NULL})

static void own_code_comes_first(void **state)
{
    (void)state;
    assert_string_equal(
        SITE_OF("Shop.Main", "Shop.Place", "System.Int32.Parse", "System.Runtime.EH.DispatchEx"),
        "Shop.Place");
    assert_string_equal(SITE_OF("Shop.Main", "Shop.ThrowIt", "System.Runtime.EH.DispatchEx"),
                        "Shop.ThrowIt");
}

static void the_way_to_throw_is_not_the_place(void **state)
{
    (void)state;
    assert_string_equal(SITE_OF("System.Threading.Thread.StartCallback",
                                "System.Net.Http.HttpConnectionPool.ConnectAsync",
                                "System.Runtime.EH.DispatchEx"),
                        "System.Net.Http.HttpConnectionPool.ConnectAsync");
    assert_string_equal(SITE_OF("System.Net.Sockets.Socket.Connect", "System.ThrowHelper.Fail",
                                "System.Number.ThrowFormatException", "System.Runtime.EH.RhThrowEx",
                                "System.Runtime.EH.DispatchEx"),
                        "System.Net.Sockets.Socket.Connect");
    assert_string_equal(
        SITE_OF("System.Net.Http.HttpClient.SendAsync",
                "System.Runtime.CompilerServices.TaskAwaiter<System.Boolean>.GetResult",
                "System.Runtime.CompilerServices.TaskAwaiter.ThrowForNonSuccess",
                "System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw",
                "System.Runtime.EH.DispatchEx"),
        "System.Net.Http.HttpClient.SendAsync");
}

static void the_way_to_wait_is_not_the_place(void **state)
{
    (void)state;
    assert_string_equal(SITE_OF("System.Net.Http.HttpConnectionPool.Return",
                                "System.Threading.Monitor.Enter",
                                "System.Threading.Monitor.Enter_Slowpath", "[native code]"),
                        "System.Net.Http.HttpConnectionPool.Return");
    assert_string_equal(SITE_OF("System.IO.Pipe.Flush", "System.Threading.Lock.EnterAndGetId",
                                "System.Threading.WaitHandle.WaitOne"),
                        "System.IO.Pipe.Flush");
    assert_string_equal(SITE_OF("System.Net.Sockets.SocketAsyncEngine.EventLoop"),
                        "System.Net.Sockets.SocketAsyncEngine.EventLoop");
}

static void with_nothing_else_the_nearest_is_the_place(void **state)
{
    (void)state;
    assert_string_equal(SITE_OF("System.Runtime.EH.RhThrowEx", "System.Runtime.EH.DispatchEx"),
                        "System.Runtime.EH.DispatchEx");
    assert_string_equal(site_of((const char *const[]){NULL}), "(no stack)");
}

static void types_are_told_apart_or_not(void **state)
{
    (void)state;
    SN_AUTO(sn_profile_free) struct sn_profile *profile = new_profile();
    SN_AUTO(sn_sites_done) struct sn_sites apart = {0};
    SN_AUTO(sn_sites_done) struct sn_sites all = {0};
    add_stack(profile, (const char *const[]){"Shop.A", NULL}, "T", 2);
    add_stack(profile, (const char *const[]){"Shop.A", NULL}, "U", 3);
    add_stack(profile, (const char *const[]){"Shop.B", NULL}, "U", 4);
    sn_sites_find(&apart, profile, 0);
    sn_sites_find_all(&all, profile, 0);
    assert_int_equal(apart.count, 3);
    assert_int_equal(all.count, 2);
    assert_string_equal(sn_site_name(&all.items[0]), "Shop.A");
    assert_int_equal(all.items[0].values[0], 5);
    assert_int_equal(all.items[1].values[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_code_comes_first),
        cmocka_unit_test(the_way_to_throw_is_not_the_place),
        cmocka_unit_test(the_way_to_wait_is_not_the_place),
        cmocka_unit_test(with_nothing_else_the_nearest_is_the_place),
        cmocka_unit_test(types_are_told_apart_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
