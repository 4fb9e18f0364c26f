/* Rules: numbers of real events, from recorded traces, under paths that the events fill in. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "sink/export/rule.h"
#include "sonde/event.h"

#define GC_TRACE        SONDE_SOURCE_DIR "/tests/golden/interop/10-gc.nettrace"
#define EXCEPTION_TRACE SONDE_SOURCE_DIR "/tests/golden/interop/9-exceptions.nettrace"
#define RECEIVED_MAX    2000u

/* An exporter that keeps what it is given. */
struct keeper {
    struct sn_exporter base;
    struct {
        char path[256];
        double value;
        uint64_t utc_ns;
    } received[RECEIVED_MAX];
    size_t count;
};

static void keep_number(struct sn_exporter *exporter, const char *path,
                        const struct sn_export_labels *labels, double value, uint64_t utc_ns)
{
    struct keeper *keeper = (struct keeper *)exporter;
    assert_int_equal(labels->process->pid, 77);
    assert_true(keeper->count < RECEIVED_MAX);
    (void)snprintf(keeper->received[keeper->count].path, 256, "%s", path);
    keeper->received[keeper->count].value = value;
    keeper->received[keeper->count++].utc_ns = utc_ns;
}

static const struct sn_exporter_ops keeper_ops = {.name = "graphite", .number = keep_number};

struct replay {
    struct sn_rule *rule;
    const struct sn_export_labels *labels;
    size_t chosen;
};

static int replay_event(void *user, struct sonde_event *event)
{
    struct replay *replay = user;
    struct sn_event_user *rule = sn_rule_user(replay->rule);
    struct sonde_event_info info;
    sonde_event_info(event, &info);
    if ((rule->event && strcmp(rule->event, info.name) != 0) ||
        !sn_event_choice_holds(&rule->choice, event))
        return SONDE_OK;
    replay->chosen++;
    rule->take(rule, event, replay->labels);
    return SONDE_OK;
}

/* Runs the [rule r] of `text` over a trace, flushed at its end; how many events were chosen. */
static size_t run_rule(const char *text, const char *trace, struct keeper *keeper,
                       uint64_t *ret_dropped)
{
    static const char graphite[] = "[graphite]\naddress = tcp://a:1\n[rule r]\n";
    static const struct sonde_process process = {
        .pid = 77, .name = "My.Shop api", .user = "", .container = "", .runtime = ""};
    struct sn_export_labels labels = {.process = &process};
    char whole[1024];
    struct sonde_error err = {0};
    SN_AUTO(sn_configuration_free) struct sn_configuration *configuration = NULL;
    (void)snprintf(whole, sizeof(whole), "%s%s", graphite, text);
    assert_int_equal(sn_configuration_parse("x", whole, strlen(whole), &configuration, &err),
                     SONDE_OK);
    assert_int_equal(sn_configuration_check(configuration, &err), SONDE_OK);
    assert_int_equal(sn_configuration_fault(configuration, &err), SONDE_OK);
    memset(keeper, 0, sizeof(*keeper));
    keeper->base = (struct sn_exporter){
        .ops = &keeper_ops, .settings = sn_configuration_find(configuration, "graphite", "")};
    struct sn_exporter *exporters[] = {&keeper->base};
    struct replay replay = {.labels = &labels};
    assert_int_equal(sn_rule_open(configuration, sn_configuration_find(configuration, "rule", "r"),
                                  exporters, 1, &replay.rule, &err),
                     SONDE_OK);
    assert_int_equal(sonde_file_read(trace, NULL, replay_event, &replay, &err), SONDE_OK);
    sn_rule_flush(replay.rule);
    sn_rule_flush(replay.rule); /* nothing is left for a second time */
    *ret_dropped = sn_rule_dropped(replay.rule);
    sn_rule_free(replay.rule);
    return replay.chosen;
}

static struct keeper keeper;

static void every_event_sends_its_number(void **state)
{
    (void)state;
    uint64_t dropped;
    size_t chosen = run_rule("event = GCStart\nfield = Count\n"
                             "path = {rule}.{process}.{pid}.{event}.{field}.gen{Depth}\n",
                             GC_TRACE, &keeper, &dropped);
    assert_true(chosen > 0);
    assert_int_equal(keeper.count, chosen);
    assert_int_equal(dropped, 0);
    for (size_t i = 0; i < keeper.count; i++) {
        assert_non_null(strstr(keeper.received[i].path, "r.My_Shop_api.77.GCStart.Count.gen"));
        assert_true(keeper.received[i].value >= 1);
        assert_true(keeper.received[i].utc_ns > 1600000000000000000u);
    }
}

static void numbers_are_put_together_by_path(void **state)
{
    (void)state;
    uint64_t dropped;
    double seen[6] = {0};
    static const char *const words[] = {"none", "count", "sum", "min", "max", "mean"};
    for (size_t i = 1; i < 6; i++) {
        char text[128];
        (void)snprintf(text, sizeof(text),
                       "event = GCStart\nfield = Count\npath = x\naggregate = %s\n", words[i]);
        assert_true(run_rule(text, GC_TRACE, &keeper, &dropped) > 1);
        assert_int_equal(keeper.count, 1);
        assert_string_equal(keeper.received[0].path, "x");
        seen[i] = keeper.received[0].value;
    }
    assert_true(seen[1] > 1);
    assert_true(seen[3] < seen[4]);
    assert_true(seen[2] > seen[4]);
    assert_true(seen[5] == seen[2] / seen[1]);
}

static void texts_are_parts_of_paths_and_cannot_divide_them(void **state)
{
    (void)state;
    uint64_t dropped;
    size_t chosen = run_rule("event = ExceptionThrown\naggregate = count\n"
                             "path = thrown.{ExceptionType}\n",
                             EXCEPTION_TRACE, &keeper, &dropped);
    double total = 0;
    assert_true(keeper.count > 1); /* several types */
    for (size_t i = 0; i < keeper.count; i++) {
        const char *type = keeper.received[i].path + strlen("thrown.");
        assert_null(strpbrk(type, ". /"));
        assert_non_null(strstr(type, "Exception"));
        total += keeper.received[i].value;
    }
    assert_true(total == (double)chosen);
}

static void conditions_choose(void **state)
{
    (void)state;
    uint64_t dropped;
    size_t all =
        run_rule("event = GCStart\nfield = Depth\npath = x\n", GC_TRACE, &keeper, &dropped);
    size_t some = run_rule("event = GCStart\nfield = Depth\npath = x\nwhere = Depth >= 2\n",
                           GC_TRACE, &keeper, &dropped);
    assert_true(some < all);
    for (size_t i = 0; i < keeper.count; i++)
        assert_true(keeper.received[i].value >= 2);
    size_t none = run_rule("event = GCStart\nfield = Depth\npath = x\nwhere = Depth >= 2\n"
                           "where = Depth < 2\n",
                           GC_TRACE, &keeper, &dropped);
    assert_int_equal(none, 0);
}

static void what_is_no_number_is_counted(void **state)
{
    (void)state;
    uint64_t dropped;
    size_t chosen = run_rule("event = ExceptionThrown\nfield = ExceptionType\npath = x\n",
                             EXCEPTION_TRACE, &keeper, &dropped);
    assert_true(chosen > 0);
    assert_int_equal(keeper.count, 0);
    assert_int_equal(dropped, chosen);
    chosen = run_rule("event = ExceptionThrown\nfield = NoSuchField\npath = x\n", EXCEPTION_TRACE,
                      &keeper, &dropped);
    assert_int_equal(dropped, chosen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_sends_its_number),
        cmocka_unit_test(numbers_are_put_together_by_path),
        cmocka_unit_test(texts_are_parts_of_paths_and_cannot_divide_them),
        cmocka_unit_test(conditions_choose),
        cmocka_unit_test(what_is_no_number_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
