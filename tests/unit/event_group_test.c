/* Users that listen together, over a recorded trace: each gets what it alone would. */
#include "check.h"

#include <string.h>

#include "base/own.h"
#include "sink/export/event_group.h"
#include "sonde/event.h"

#define GC_TRACE SONDE_SOURCE_DIR "/tests/golden/interop/10-gc.nettrace"
#define RUNTIME  "Microsoft-Windows-DotNETRuntime"

struct counting {
    struct sn_event_user user;
    bool is_deaf;
    uint8_t highest_level;
};

static void take(struct sn_event_user *user, struct sonde_event *event,
                 const struct sn_export_labels *labels)
{
    struct counting *counting = (struct counting *)user;
    struct sonde_event_info info;
    (void)labels;
    sonde_event_info(event, &info);
    if (info.level > counting->highest_level)
        counting->highest_level = info.level;
}

static bool is_wanted(const struct sn_event_user *user)
{
    return !((const struct counting *)user)->is_deaf;
}

static struct counting make(const char *providers, const char *event)
{
    struct counting made = {.user = {.event = event, .take = take, .is_wanted = is_wanted}};
    assert_int_equal(sonde_provider_set_new(&made.user.choice.set, NULL), SONDE_OK);
    assert_int_equal(sonde_provider_set_add(made.user.choice.set, providers, NULL), SONDE_OK);
    return made;
}

static int give(void *user, struct sonde_event *event)
{
    (void)sn_event_group_take(user, event, &(struct sn_export_labels){0});
    return SONDE_OK;
}

static void each_gets_its_own(void **state)
{
    (void)state;
    enum { ALL, STARTS, COARSE, OTHER_KEYWORD, OTHER_PROVIDER, COUNT };
    struct counting users[COUNT] = {
        make(RUNTIME ":1:5", NULL),    make("microsoft-windows-dotnetruntime:1:5", "gcstart"),
        make(RUNTIME ":1:4", NULL),    make(RUNTIME ":0x8000:5", "GCStart"),
        make("System.Net.Http", NULL),
    };
    struct sn_event_group group = {0};
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(sn_event_group_add(&group, &users[i].user, NULL), SONDE_OK);
    assert_int_equal(group.provider_count, COUNT);
    assert_int_equal(sonde_file_read(GC_TRACE, NULL, give, &group, NULL), SONDE_OK);
    assert_true(users[STARTS].user.event_count > 0);
    assert_true(users[ALL].user.event_count > users[STARTS].user.event_count);
    assert_true(users[COARSE].user.event_count > 0);
    assert_true(users[COARSE].highest_level <= 4);
    assert_int_equal(users[OTHER_KEYWORD].user.event_count, 0);
    assert_int_equal(users[OTHER_PROVIDER].user.event_count, 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(sn_event_group_is_wanted(&group));
        users[i].is_deaf = true;
    }
    assert_false(sn_event_group_is_wanted(&group));
    sn_event_group_done(&group);
    for (size_t i = 0; i < COUNT; i++)
        sn_event_choice_done(&users[i].user.choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_gets_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
