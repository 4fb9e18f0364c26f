/* The runtime's own events: found by version, described for schemas; keywords as dotnet-trace names
 * them. */
#include "check.h"

#include <ctype.h>
#include <string.h>

#include "clr/runtime_events.h"
#include "clr/runtime_events_table.h"
#include "model/schema.h"

static void every_row_is_found_by_its_own_key(void **state)
{
    (void)state;
    assert_true(sn_clr_event_count > 300);
    for (unsigned i = 0; i < sn_clr_event_count; i++) {
        const struct sn_clr_event *event = &sn_clr_events[i];
        const struct sn_clr_event *found =
            sn_clr_event_find((enum sn_clr_provider)event->provider, event->id, event->version);
        assert_ptr_equal(found, event);
    }
}

static void rows_are_sorted_named_and_have_fields_when_they_say_so(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sn_clr_event_count; i++) {
        const struct sn_clr_event *event = &sn_clr_events[i];
        assert_true(event->provider < SN_CLR_PROVIDER_COUNT);
        assert_true(event->name && event->name[0] && event->level <= 5);
        assert_true(!event->field_count || event->fields);
        if (!i)
            continue;
        const struct sn_clr_event *before = event - 1;
        uint64_t key =
            ((uint64_t)event->provider << 32) | ((uint64_t)event->id << 8) | event->version;
        uint64_t key_before =
            ((uint64_t)before->provider << 32) | ((uint64_t)before->id << 8) | before->version;
        assert_true(key_before < key);
    }
}

static void check_counted(const struct sn_field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(fields[i].name && fields[i].type);
        if (fields[i].type == SN_TYPE_COUNTED) {
            assert_true(fields[i].count < i);
            assert_true(fields[i].children && fields[i].child_count == 1);
        }
        if (fields[i].type == SN_TYPE_OBJECT)
            check_counted(fields[i].children, fields[i].child_count);
    }
}

static void counted_fields_are_counted_by_one_before_them(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sn_clr_event_count; i++)
        check_counted(sn_clr_events[i].fields, sn_clr_events[i].field_count);
}

static void an_unknown_version_is_read_as_the_highest_below_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sn_clr_event_count; i++) {
        const struct sn_clr_event *event = &sn_clr_events[i];
        const struct sn_clr_event *next = i + 1 < sn_clr_event_count ? event + 1 : NULL;
        bool is_newest = !next || next->provider != event->provider || next->id != event->id;
        if (!is_newest)
            continue;
        enum sn_clr_provider provider = (enum sn_clr_provider)event->provider;
        assert_ptr_equal(sn_clr_event_find(provider, event->id, 255), event);
        assert_ptr_equal(sn_clr_event_find(provider, event->id, UINT32_MAX), event);
    }
    const struct sn_clr_event *old = sn_clr_event_find(SN_CLR_RUNTIME, 1, 0);
    const struct sn_clr_event *new = sn_clr_event_find(SN_CLR_RUNTIME, 1, 2);
    assert_string_equal(old->name, new->name);
    assert_true(old->field_count < new->field_count);
}

static void what_is_not_in_the_table_is_not_found(void **state)
{
    (void)state;
    assert_null(sn_clr_event_find(SN_CLR_RUNTIME, 65535, 0));
    assert_null(sn_clr_event_find(SN_CLR_RUNTIME, 65536 + 1, 0)); /* not cut to 16 bits */
    assert_null(sn_clr_event_find(SN_CLR_RUNTIME, UINT32_MAX, UINT32_MAX));
    assert_null(sn_clr_event_find(SN_CLR_EVENTPIPE, 60000, 1));
}

static void providers_go_by_their_exact_names(void **state)
{
    (void)state;
    for (int i = 0; i < SN_CLR_PROVIDER_COUNT; i++) {
        const char *name = sn_clr_provider_name((enum sn_clr_provider)i);
        assert_int_equal(sn_clr_provider_find(name, strlen(name)), i);
        assert_int_equal(sn_clr_provider_find(name, strlen(name) - 1), -1);
    }
    assert_string_equal(sn_clr_provider_name(SN_CLR_RUNTIME), "Microsoft-Windows-DotNETRuntime");
    assert_int_equal(sn_clr_provider_find("", 0), -1);
    assert_int_equal(sn_clr_provider_find("App", 3), -1);
}

/* The names that dotnet-trace's --clrevents takes, with their bits. */
static const struct {
    const char *name;
    uint64_t bit;
} dotnet_trace_keywords[] = {
    {"gc", 0x1},
    {"gchandle", 0x2},
    {"assemblyloader", 0x4},
    {"loader", 0x8},
    {"jit", 0x10},
    {"ngen", 0x20},
    {"startenumeration", 0x40},
    {"endenumeration", 0x80},
    {"security", 0x400},
    {"appdomainresourcemanagement", 0x800},
    {"jittracing", 0x1000},
    {"interop", 0x2000},
    {"contention", 0x4000},
    {"exception", 0x8000},
    {"threading", 0x10000},
    {"jittedmethodiltonativemap", 0x20000},
    {"overrideandsuppressngenevents", 0x40000},
    {"type", 0x80000},
    {"gcheapdump", 0x100000},
    {"gcsampledobjectallocationhigh", 0x200000},
    {"gcheapsurvivalandmovement", 0x400000},
    {"gcheapcollect", 0x800000},
    {"gcheapandtypenames", 0x1000000},
    {"gcsampledobjectallocationlow", 0x2000000},
    {"perftrack", 0x20000000},
    {"stack", 0x40000000},
    {"threadtransfer", 0x80000000},
    {"debugger", 0x100000000},
    {"monitoring", 0x200000000},
    {"codesymbols", 0x400000000},
    {"eventsource", 0x800000000},
    {"compilation", 0x1000000000},
    {"compilationdiagnostic", 0x2000000000},
    {"methoddiagnostic", 0x4000000000},
    {"typediagnostic", 0x8000000000},
    {"jitinstrumentationdata", 0x10000000000},
    {"profiler", 0x20000000000},
    {"waithandle", 0x40000000000},
    {"allocationsampling", 0x80000000000},
};

static void every_keyword_of_dotnet_trace_is_found_with_its_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(dotnet_trace_keywords) / sizeof(*dotnet_trace_keywords); i++) {
        const char *name = dotnet_trace_keywords[i].name;
        uint64_t bit = 0;
        if (sn_clr_keyword_find(name, strlen(name), &bit) != 0)
            fail_msg("no keyword '%s'", name);
        if (bit != dotnet_trace_keywords[i].bit)
            fail_msg("'%s' is 0x%llx", name, (unsigned long long)bit);
        char upper[64] = "";
        for (size_t at = 0; name[at]; at++)
            upper[at] = (char)toupper(name[at]);
        assert_int_equal(sn_clr_keyword_find(upper, strlen(upper), &bit), 0);
        assert_true(bit == dotnet_trace_keywords[i].bit);
    }
}

static void a_part_of_a_keyword_is_none(void **state)
{
    (void)state;
    uint64_t bit = 4711;
    assert_int_equal(sn_clr_keyword_find("gchandles", 9, &bit), -1);
    assert_int_equal(sn_clr_keyword_find("g", 1, &bit), -1);
    assert_int_equal(sn_clr_keyword_find("", 0, &bit), -1);
    assert_int_equal(bit, 4711);
    assert_int_equal(sn_clr_keyword_find("gchandle+jit", 8, &bit), 0);
    assert_int_equal(bit, 2);
}

static void a_schema_is_described_by_provider_id_and_version(void **state)
{
    (void)state;
    struct sn_schema schema = {
        .provider = "Microsoft-Windows-DotNETRuntime", .name = "", .event_id = 80, .version = 1};
    assert_true(sn_clr_describe(&schema));
    assert_true(schema.has_layout);
    assert_string_equal(schema.name, "ExceptionThrown");
    assert_string_equal(schema.fields[0].name, "ExceptionType");
    assert_int_equal(schema.fields[0].type, SN_TYPE_STRING16);
    assert_int_equal(schema.event_id, 80);
}

static void a_schema_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    struct sn_schema schema = {.provider = "App", .name = "", .event_id = 80, .version = 1};
    assert_false(sn_clr_describe(&schema));
    assert_false(schema.has_layout);
    assert_string_equal(schema.name, "");
    schema.provider = "Microsoft-Windows-DotNETRuntime";
    schema.event_id = 64000;
    assert_false(sn_clr_describe(&schema));
    assert_null(schema.fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_own_key),
        cmocka_unit_test(rows_are_sorted_named_and_have_fields_when_they_say_so),
        cmocka_unit_test(counted_fields_are_counted_by_one_before_them),
        cmocka_unit_test(an_unknown_version_is_read_as_the_highest_below_it),
        cmocka_unit_test(what_is_not_in_the_table_is_not_found),
        cmocka_unit_test(providers_go_by_their_exact_names),
        cmocka_unit_test(every_keyword_of_dotnet_trace_is_found_with_its_bit),
        cmocka_unit_test(a_part_of_a_keyword_is_none),
        cmocka_unit_test(a_schema_is_described_by_provider_id_and_version),
        cmocka_unit_test(a_schema_of_somebody_else_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
