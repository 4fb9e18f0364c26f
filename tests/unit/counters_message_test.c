/* Counters for those who watch: whole while they fit, and cut to size with a count of what is not
 * there, at every ceiling. */
#include "check.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "daemon/counters_message.h"
#include "daemon/point_shot.h"
#include "made_points.h"

#define PROCESSES 5u
#define POINTS    6u

struct scene {
    struct sonde_point points[PROCESSES][POINTS];
    struct sonde_tag tags[1];
    struct sn_shot_process processes[PROCESSES];
    struct sn_point_shot shot;
};

/* Every other counter is one of many by a tag. */
static void begin_scene(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    scene->tags[0] = (struct sonde_tag){"route", "/orders/{id}"};
    for (unsigned i = 0; i < PROCESSES; i++) {
        for (unsigned k = 0; k < POINTS; k++) {
            scene->points[i][k] = made_point(k % 2 ? "plain" : "tagged", k);
            scene->points[i][k].tags = k % 2 ? NULL : scene->tags;
            scene->points[i][k].tag_count = k % 2 ? 0 : 1;
        }
        scene->processes[i] = (struct sn_shot_process){.pid = 100 + i,
                                                       .name = "shop",
                                                       .note = "",
                                                       .interval_ns = 1000000000u,
                                                       .points = scene->points[i],
                                                       .point_count = POINTS};
    }
    scene->shot.processes = scene->processes;
    scene->shot.process_count = PROCESSES;
}

static json_t *read_json(struct sn_buf *text)
{
    struct sn_buf_view view = sn_buf_view(text);
    json_error_t error;
    json_t *made = json_loadb(view.text, view.size, 0, &error);
    if (!made)
        fail_msg("%s: %s", error.text, view.text);
    return made;
}

static uint64_t number_at(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

/* What is there and what is said not to be are everything, in sum and for each. */
static void check_sum(struct sn_buf *text, const struct sn_counters_left_out *left_out)
{
    size_t i;
    json_t *process;
    uint64_t told = 0;
    uint64_t missing = 0;
    json_t *made = read_json(text);
    const json_t *processes = json_object_get(made, "processes");
    json_array_foreach(processes, i, process)
    {
        uint64_t here = json_array_size(json_object_get(process, "counters"));
        assert_int_equal(here + number_at(process, "leftOut"), POINTS);
        told += here;
        missing += number_at(process, "leftOut");
    }
    const json_t *sum = json_object_get(made, "leftOut");
    assert_int_equal(json_array_size(processes) + left_out->processes, PROCESSES);
    assert_int_equal(told + left_out->counters, (uint64_t)PROCESSES * POINTS);
    assert_int_equal(missing + left_out->processes * POINTS, left_out->counters);
    assert_int_equal(sum != NULL, left_out->counters > 0);
    assert_int_equal(number_at(sum, "counters"), left_out->counters);
    assert_int_equal(number_at(sum, "processes"), left_out->processes);
    json_decref(made);
}

static void what_fits_is_whole_and_says_nothing(void **state)
{
    (void)state;
    struct scene scene;
    struct sn_counters_left_out left_out;
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(1u << 20);
    begin_scene(&scene);
    sn_counters_message_all(&scene.shot, &text, &left_out);
    assert_int_equal(left_out.counters, 0);
    assert_null(strstr(sn_buf_string(&text), "leftOut"));
    check_sum(&text, &left_out);
}

static void at_every_ceiling_it_is_json_and_nothing_is_missing_in_silence(void **state)
{
    (void)state;
    struct scene scene;
    struct sn_counters_left_out left_out;
    struct sn_counters_left_out before = {.counters = UINT64_MAX};
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(1u << 20);
    begin_scene(&scene);
    sn_counters_message_all(&scene.shot, &whole, &left_out);
    for (size_t limit = 128; limit < whole.size + 256; limit += 13) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(limit);
        sn_counters_message_all(&scene.shot, &text, &left_out);
        assert_false(text.failed);
        check_sum(&text, &left_out);
        before = left_out;
    }
    assert_int_equal(before.counters, 0); /* the last ceiling was large enough */
}

static void counters_without_tags_come_first_and_every_process_has_its_share(void **state)
{
    (void)state;
    size_t i;
    size_t k;
    json_t *process;
    json_t *counter;
    struct scene scene;
    struct sn_counters_left_out left_out;
    begin_scene(&scene);
    SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit((size_t)PROCESSES * 1200);
    sn_counters_message_all(&scene.shot, &text, &left_out);
    assert_int_equal(left_out.processes, 0);
    assert_true(left_out.counters > 0);
    json_t *made = read_json(&text);
    json_array_foreach(json_object_get(made, "processes"), i, process)
    {
        const json_t *counters = json_object_get(process, "counters");
        assert_true(json_array_size(counters) >= 1);
        if (!number_at(process, "leftOut"))
            continue; /* those before it needed less: in its own order */
        json_array_foreach(counters, k, counter)
        {
            const char *name = json_string_value(json_object_get(counter, "name"));
            assert_string_equal(name, k < POINTS / 2 ? "plain" : "tagged");
        }
    }
    json_decref(made);
}

static void one_process_is_cut_the_same_way_and_nothing_is_no_message(void **state)
{
    (void)state;
    struct scene scene;
    struct sn_counters_left_out left_out;
    begin_scene(&scene);
    for (size_t limit = 0; limit < 4000; limit += 7) {
        SN_AUTO(sn_buf_done) struct sn_buf text = sn_buf_with_limit(limit);
        sn_counters_message_one(&scene.processes[0], &text, &left_out);
        assert_int_equal(text.failed, left_out.processes);
        if (text.failed) {
            assert_int_equal(left_out.counters, POINTS);
            continue;
        }
        json_t *made = read_json(&text);
        assert_int_equal(json_array_size(json_object_get(made, "counters")) + left_out.counters,
                         POINTS);
        assert_int_equal(number_at(made, "leftOut"), left_out.counters);
        json_decref(made);
    }
    assert_int_equal(left_out.counters, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_whole_and_says_nothing),
        cmocka_unit_test(at_every_ceiling_it_is_json_and_nothing_is_missing_in_silence),
        cmocka_unit_test(counters_without_tags_come_first_and_every_process_has_its_share),
        cmocka_unit_test(one_process_is_cut_the_same_way_and_nothing_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
