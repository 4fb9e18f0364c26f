/* Kinds of events kept once each, whoever declares them, and longer than whoever did. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "model/schema.h"
#include "model/schema_set.h"
#include "sonde/error.h"

/* Everything in memory of its own, to be freed under the set's feet. */
static struct sn_schema *make(const char *provider, const char *field)
{
    struct sn_schema *schema = calloc(1, sizeof(*schema));
    struct sn_field *fields = calloc(2, sizeof(*fields));
    struct sn_field *element = calloc(1, sizeof(*element));
    assert_non_null(schema);
    assert_non_null(fields);
    assert_non_null(element);
    *element = (struct sn_field){.name = strdup(""), .type = SN_TYPE_UTF8_UNIT};
    fields[0] = (struct sn_field){.name = strdup(field), .type = SN_TYPE_U32};
    fields[1] = (struct sn_field){
        .name = strdup("Text"), .type = SN_TYPE_ARRAY, .child_count = 1, .children = element};
    *schema = (struct sn_schema){.provider = strdup(provider),
                                 .name = strdup("Event"),
                                 .event_id = 7,
                                 .level = 4,
                                 .has_layout = true,
                                 .field_count = 2,
                                 .fields = fields,
                                 .wanted = 5,
                                 .index = 99};
    return schema;
}

static void drop(struct sn_schema *schema)
{
    free((char *)schema->fields[1].children[0].name);
    free((struct sn_field *)schema->fields[1].children);
    free((char *)schema->fields[0].name);
    free((char *)schema->fields[1].name);
    free((struct sn_field *)schema->fields);
    free((char *)schema->provider);
    free((char *)schema->name);
    free(schema);
}

static struct sn_schema *add(struct sn_schema_set *set, const char *provider, const char *field,
                             bool expect_new)
{
    bool is_new = !expect_new;
    struct sn_schema *given = make(provider, field);
    struct sn_schema_share share = {0};
    struct sn_schema *kept = sn_schema_set_add(set, &share, given, &is_new);
    drop(given);
    assert_non_null(kept);
    assert_int_equal(is_new, expect_new);
    return kept;
}

static void the_same_is_kept_once_and_outlives_its_declaration(void **state)
{
    (void)state;
    struct sn_schema_set *set = NULL;
    assert_int_equal(sn_schema_set_new(&set, NULL), SONDE_OK);
    struct sn_schema *first = add(set, "A", "Count", true);
    assert_ptr_equal(add(set, "A", "Count", false), first);
    struct sn_schema *other_layout = add(set, "A", "Size", true);
    struct sn_schema *other_provider = add(set, "B", "Count", true);
    assert_ptr_not_equal(other_layout, first);
    assert_int_equal(sn_schema_set_count(set), 3);
    assert_string_equal(first->provider, "A");
    assert_string_equal(first->fields[0].name, "Count");
    assert_string_equal(other_layout->fields[0].name, "Size");
    assert_int_equal(first->fields[1].children[0].type, SN_TYPE_UTF8_UNIT);
    assert_int_equal(first->wanted, 0);
    assert_int_equal(first->index, 0);
    assert_int_equal(other_provider->index, 2);
    sn_schema_set_free(set);
}

/* A runtime that declares without end fills its own share only. */
static void one_stream_leaves_room_to_others(void **state)
{
    (void)state;
    struct sn_schema_set *set = NULL;
    struct sn_schema_share greedy = {0};
    struct sn_schema schema = {.provider = "A", .name = "Event"};
    bool is_new = false;
    assert_int_equal(sn_schema_set_new(&set, NULL), SONDE_OK);
    while (schema.event_id < 1u << 16 && sn_schema_set_add(set, &greedy, &schema, &is_new))
        schema.event_id++;
    assert_int_equal(schema.event_id, (1u << 16) / 16);
    schema.event_id = 0; /* known, so it costs nothing */
    assert_non_null(sn_schema_set_add(set, &greedy, &schema, &is_new));
    static char name[1u << 20];
    memset(name, 'x', sizeof(name) - 1);
    schema.name = name;
    struct sn_schema_share wordy = {0};
    while (schema.event_id < 100 && sn_schema_set_add(set, &wordy, &schema, &is_new))
        schema.event_id++;
    assert_int_equal(schema.event_id, 4);
    (void)add(set, "B", "Count", true);
    sn_schema_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_kept_once_and_outlives_its_declaration),
        cmocka_unit_test(one_stream_leaves_room_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
