/* Flame graphs in versions: nodes keep their numbers, who asks again gets what changed, and what
 * changed makes of the old version the new one. */
#include "check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profile_internal.h"
#include "base/buf.h"
#include "base/own.h"
#include "daemon/flame.h"
#include "model/profile.h"

static const struct sn_column column[] = {{"cpu", SN_UNIT_NS}};

/* "AB 10,AC 5": stacks and what was spent there. */
static struct sonde_profile *profile_of(const char *text)
{
    struct sonde_profile *profile = calloc(1, sizeof(*profile));
    assert_non_null(profile);
    assert_int_equal(sn_profile_new(column, 1, &profile->data, NULL), 0);
    while (*text) {
        char *rest;
        const char *space = strchr(text, ' ');
        assert_non_null(space);
        unsigned long spent = strtoul(space, &rest, 10);
        uint32_t node = 0;
        for (const char *at = text; at < space; at++) {
            char name[2] = {*at, 0};
            struct sn_frame frame = {
                .name = name, .full_name = name, .module = "m", .name_space = ""};
            node = sn_profile_node(profile->data, node, sn_profile_frame(profile->data, &frame));
        }
        uint64_t values[SN_COLUMN_MAX] = {spent};
        sn_profile_add(profile->data, sn_profile_thread(profile->data, 1, 1, ""), node, values);
        text = rest + (*rest == ',');
    }
    profile->sums = sn_profile_frame_sums(profile->data, 0, SN_NO_INDEX);
    profile->totals = sn_profile_node_totals(profile->data, 0, SN_NO_INDEX, &profile->self);
    assert_true(profile->sums && profile->totals);
    return profile;
}

static struct sn_flame *next(struct sn_flame *before, const char *text)
{
    struct sn_flame *flame = NULL;
    struct sonde_error err = {0};
    struct sonde_profile *profile = profile_of(text);
    assert_int_equal(sn_flame_new(before, profile, 20000, &flame, &err), SONDE_OK);
    sonde_profile_free(profile);
    sn_flame_release(before);
    return flame;
}

static json_t *show(const struct sn_flame *flame, uint64_t since)
{
    SN_AUTO(sn_buf_done) struct sn_buf out = sn_buf_with_limit(1u << 24);
    const struct sn_flame_show how = {.since = since, .view = "cpu"};
    sn_flame_write(flame, &how, &out);
    json_t *json = json_loadb((const char *)out.bytes, out.size, 0, NULL);
    assert_non_null(json);
    return json;
}

#define NODES 64

/* What a reader has: names of frames, rows of nodes. */
struct reader {
    char frames[NODES];
    json_int_t nodes[NODES][4]; /* parent, frame, self, total */
    uint64_t version;
};

static void read_changes(struct reader *reader, const struct sn_flame *flame)
{
    json_t *json = show(flame, reader->version);
    size_t i;
    json_t *row;
    assert_int_equal(json_integer_value(json_object_get(json, "since")), reader->version);
    json_array_foreach(json_object_get(json, "frames"), i, row)
        reader->frames[json_integer_value(json_array_get(row, 0))] =
        json_string_value(json_array_get(row, 1))[0];
    json_array_foreach(json_object_get(json, "nodes"), i, row)
    {
        json_int_t id = json_integer_value(json_array_get(row, 0));
        for (size_t k = 0; k < 4; k++)
            reader->nodes[id][k] = json_integer_value(json_array_get(row, k + 1));
    }
    reader->version = (uint64_t)json_integer_value(json_object_get(json, "version"));
    json_decref(json);
}

/* The node at a path of names; its numbers. */
static const json_int_t *node_at(const struct reader *reader, const char *path)
{
    json_int_t at = 0;
    for (; *path; path++) {
        json_int_t found = -1;
        for (json_int_t i = 1; i < NODES; i++) {
            if (reader->nodes[i][3] && reader->nodes[i][0] == at &&
                reader->frames[reader->nodes[i][1]] == *path)
                found = i;
        }
        if (found < 0)
            return NULL;
        at = found;
    }
    return reader->nodes[at];
}

static void changes_make_of_one_version_the_next(void **state)
{
    (void)state;
    struct reader reader = {0};
    struct sn_flame *flame = next(NULL, "AB 10,AC 5,D 1");
    read_changes(&reader, flame);
    assert_int_equal(node_at(&reader, "")[3], 16);
    assert_int_equal(node_at(&reader, "AB")[2], 10);
    const json_int_t *before = node_at(&reader, "AC");
    flame = next(flame, "E 3,AB 10,AC 7,ACF 1,D 1");
    json_t *json = show(flame, sn_flame_version(flame) - 1);
    assert_int_equal(json_array_size(json_object_get(json, "frames")), 2); /* E, F */
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 5);  /* root, A, AC, ACF, E */
    json_decref(json);
    read_changes(&reader, flame);
    assert_ptr_equal(node_at(&reader, "AC"), before); /* the same number */
    assert_int_equal(node_at(&reader, "AC")[2], 7);
    assert_int_equal(node_at(&reader, "AC")[3], 8);
    assert_int_equal(node_at(&reader, "AB")[2], 10);
    assert_int_equal(node_at(&reader, "E")[3], 3);
    assert_int_equal(node_at(&reader, "")[3], 22);
    sn_flame_release(flame);
}

static void what_is_no_more_becomes_nothing(void **state)
{
    (void)state;
    struct reader reader = {0};
    struct sn_flame *flame = next(NULL, "AB 10,X 5");
    read_changes(&reader, flame);
    flame = next(flame, "AB 10,Y 5"); /* X got its name */
    read_changes(&reader, flame);
    assert_null(node_at(&reader, "X"));
    assert_int_equal(node_at(&reader, "Y")[2], 5);
    json_t *json = show(flame, 0);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 4);
    json_decref(json);
    flame = next(flame, "AB 10,X 5,Y 5");
    read_changes(&reader, flame);
    assert_int_equal(node_at(&reader, "X")[2], 5);
    sn_flame_release(flame);
}

static void a_version_that_nobody_knows_gives_everything(void **state)
{
    (void)state;
    struct sn_flame *flame = next(next(NULL, "AB 10"), "AB 10");
    json_t *json = show(flame, sn_flame_version(flame));
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 0); /* nothing new */
    json_decref(json);
    json = show(flame, 77);
    assert_int_equal(json_integer_value(json_object_get(json, "since")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 3);
    json_decref(json);
    sn_flame_release(flame);
}

/* One that was forgotten and is made again has other numbers: nobody takes its changes for those of
 * the first. */
static void versions_of_another_numbering_are_not_known(void **state)
{
    (void)state;
    struct sn_flame *first = next(NULL, "AB 10");
    struct sn_flame *other = next(NULL, "CD 10");
    assert_true(sn_flame_version(other) > sn_flame_version(first));
    assert_true(sn_flame_version(other) < 1ull << 53);
    json_t *json = show(other, sn_flame_version(first));
    assert_int_equal(json_integer_value(json_object_get(json, "since")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 3);
    json_decref(json);
    sn_flame_release(first);
    sn_flame_release(other);
}

static void a_held_one_outlives_its_successor(void **state)
{
    (void)state;
    struct sn_flame *first = next(NULL, "AB 10");
    struct sn_flame *held = sn_flame_hold(first);
    struct sn_flame *second = next(first, "AB 20");
    assert_int_equal(sn_flame_version(second), sn_flame_version(held) + 1);
    json_t *json = show(held, 0);
    assert_int_equal(json_integer_value(json_object_get(json, "total")), 10);
    json_decref(json);
    sn_flame_release(held);
    sn_flame_release(second);
}

/* A wide tree whose names change each time: it does not grow without end. */
static struct sonde_profile *wide(unsigned from, unsigned count)
{
    struct sonde_profile *profile = calloc(1, sizeof(*profile));
    assert_non_null(profile);
    assert_int_equal(sn_profile_new(column, 1, &profile->data, NULL), 0);
    for (unsigned i = from; i < from + count; i++) {
        char name[16];
        uint64_t values[SN_COLUMN_MAX] = {1000000};
        (void)snprintf(name, sizeof(name), "M%u", i);
        struct sn_frame frame = {.name = name, .full_name = name, .module = "m", .name_space = ""};
        uint32_t node = sn_profile_node(profile->data, 0, sn_profile_frame(profile->data, &frame));
        sn_profile_add(profile->data, sn_profile_thread(profile->data, 1, 1, ""), node, values);
    }
    profile->sums = sn_profile_frame_sums(profile->data, 0, SN_NO_INDEX);
    profile->totals = sn_profile_node_totals(profile->data, 0, SN_NO_INDEX, &profile->self);
    assert_true(profile->sums && profile->totals);
    return profile;
}

static void too_many_are_numbered_anew(void **state)
{
    (void)state;
    struct sn_flame *flame = NULL;
    bool was_renumbered = false;
    for (unsigned i = 0; i < 8; i++) {
        struct sn_flame *after = NULL;
        struct sonde_error err = {0};
        struct sonde_profile *profile = wide(i * 19000, 19000);
        assert_int_equal(sn_flame_new(flame, profile, 20000, &after, &err), SONDE_OK);
        sonde_profile_free(profile);
        sn_flame_release(flame);
        flame = after;
        json_t *json = show(flame, i);
        was_renumbered |= i && !json_integer_value(json_object_get(json, "since"));
        json_decref(json);
        json = show(flame, 0);
        assert_int_equal(json_array_size(json_object_get(json, "nodes")), 19001);
        json_decref(json);
    }
    assert_true(was_renumbered);
    sn_flame_release(flame);
}

/* The largest come, their callers with them, and no more than were asked for. */
static void the_largest_nodes_come(void **state)
{
    (void)state;
    struct reader reader = {0};
    struct sonde_error err = {0};
    struct sn_flame *flame = NULL;
    struct sonde_profile *profile = profile_of("AB 10,ACD 7,E 1,F 1,G 1,H 1");
    assert_int_equal(sn_flame_new(NULL, profile, 6, &flame, &err), SONDE_OK);
    read_changes(&reader, flame);
    assert_int_equal(node_at(&reader, "")[3], 21); /* all of it */
    assert_int_equal(node_at(&reader, "A")[3], 17);
    assert_int_equal(node_at(&reader, "AB")[2], 10);
    assert_int_equal(node_at(&reader, "ACD")[2], 7);
    json_t *json = show(flame, 0);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 6); /* one of the smallest */
    json_decref(json);
    sn_flame_release(flame);
    assert_int_equal(sn_flame_new(NULL, profile, 2, &flame, &err), SONDE_OK);
    json = show(flame, 0);
    assert_int_equal(json_array_size(json_object_get(json, "nodes")), 2);
    json_decref(json);
    sn_flame_release(flame);
    sonde_profile_free(profile);
}

static struct sn_flame *next_with(struct sn_flame *before, const struct sn_frame *frames,
                                  size_t count)
{
    struct sn_flame *flame = NULL;
    struct sonde_error err = {0};
    struct sonde_profile *profile = calloc(1, sizeof(*profile));
    assert_non_null(profile);
    assert_int_equal(sn_profile_new(column, 1, &profile->data, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t values[SN_COLUMN_MAX] = {10};
        uint32_t frame = sn_profile_frame(profile->data, &frames[i]);
        uint32_t node = sn_profile_node(profile->data, 0, frame);
        sn_profile_add(profile->data, sn_profile_thread(profile->data, 1, 1, ""), node, values);
    }
    profile->sums = sn_profile_frame_sums(profile->data, 0, SN_NO_INDEX);
    profile->totals = sn_profile_node_totals(profile->data, 0, SN_NO_INDEX, &profile->self);
    assert_true(profile->sums && profile->totals);
    assert_int_equal(sn_flame_new(before, profile, 20000, &flame, &err), SONDE_OK);
    sonde_profile_free(profile);
    sn_flame_release(before);
    return flame;
}

static void frames_have_flags_and_sources(void **state)
{
    (void)state;
    const struct sn_frame frames[] = {
        {.name = "A", .full_name = "A()", .module = "m", .name_space = "", .is_waiting = true},
        {.name = "B",
         .full_name = "B()",
         .module = "m",
         .name_space = "",
         .file = "b.cs",
         .line = 7},
        {.name = "A",
         .full_name = "A.MoveNext",
         .module = "m",
         .name_space = "",
         .is_async = true,
         .is_framework = true},
        {.name = "B",
         .full_name = "B()",
         .module = "m",
         .name_space = "",
         .file = "b.cs",
         .line = 9},
    };
    struct sn_flame *flame = next_with(NULL, frames, 2);
    json_t *json = show(flame, 0);
    const json_t *rows = json_object_get(json, "frames");
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 0), 4)), 4);
    assert_string_equal(json_string_value(json_array_get(json_array_get(rows, 0), 5)), "");
    assert_string_equal(json_string_value(json_array_get(json_array_get(rows, 1), 5)), "b.cs:7");
    json_decref(json);
    flame = next_with(flame, frames, 4);
    json = show(flame, sn_flame_version(flame) - 1);
    rows = json_object_get(json, "frames");
    assert_int_equal(json_array_size(rows), 2); /* A again, as it has changed; another line of B */
    assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 0), 0)), 0);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(rows, 0), 4)), 7);
    assert_string_equal(json_string_value(json_array_get(json_array_get(rows, 1), 5)), "b.cs:9");
    json_decref(json);
    sn_flame_release(flame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_make_of_one_version_the_next),
        cmocka_unit_test(what_is_no_more_becomes_nothing),
        cmocka_unit_test(a_version_that_nobody_knows_gives_everything),
        cmocka_unit_test(versions_of_another_numbering_are_not_known),
        cmocka_unit_test(a_held_one_outlives_its_successor),
        cmocka_unit_test(too_many_are_numbered_anew),
        cmocka_unit_test(the_largest_nodes_come),
        cmocka_unit_test(frames_have_flags_and_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
