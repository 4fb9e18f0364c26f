/* Addresses to methods: ranges, places used twice, modules, and events that are cut. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "method_bytes.h"

static struct sn_methods *new_methods(void)
{
    struct sn_methods *methods = NULL;
    assert_int_equal(sn_methods_new(&methods, NULL), 0);
    return methods;
}

static const char *name_at(struct sn_methods *methods, uint64_t address, uint64_t time_ns)
{
    const struct sn_method *method = sn_methods_find(methods, address, time_ns);
    return method ? method->name : "";
}

static void addresses_find_their_range(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    assert_string_equal(name_at(methods, 0x1000, 1), "");
    take_known(methods, 0x2000, 0x10, "T", "Second");
    take_known(methods, 0x1000, 0x10, "T", "First");
    assert_string_equal(name_at(methods, 0x0FFF, 1), "");
    assert_string_equal(name_at(methods, 0x1000, 1), "First");
    assert_string_equal(name_at(methods, 0x100F, 1), "First");
    assert_string_equal(name_at(methods, 0x1010, 1), "");
    assert_string_equal(name_at(methods, 0x2001, 1), "Second");
    assert_true(sn_methods_is_settled(methods, 0x1000));
}

static void a_place_used_twice_is_told_apart_by_time(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    const struct method_event first = {RUNTIME_PROVIDER, 143, 100, 1, 0x1000, 0x40, "T", "First"};
    struct method_event gone = first;
    gone.id = 144;
    gone.time_ns = 200;
    const struct method_event second = {RUNTIME_PROVIDER, 143, 300, 2, 0x1020, 0x40, "T", "Second"};
    take_method(methods, &first);
    take_method(methods, &gone);
    take_method(methods, &second);
    assert_string_equal(name_at(methods, 0x1028, 150), "First");
    assert_string_equal(name_at(methods, 0x1028, 350), "Second");
    assert_string_equal(name_at(methods, 0x1028, 250), "Second"); /* the best there is */
    assert_false(sn_methods_is_settled(methods, 0x1028));
    assert_true(sn_methods_is_settled(methods, 0x1058));
}

/* What was compiled while the trace ran is told again by the rundown: one piece of code. */
static void the_rundown_repeats_what_was_loaded(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    const struct method_event loaded = {RUNTIME_PROVIDER, 143, 100, 0x1000, 0x1000, 0x40, "T", "M"};
    take_method(methods, &loaded);
    take_known(methods, 0x1000, 0x40, "T", "M");
    assert_string_equal(name_at(methods, 0x1000, 150), "M");
    assert_int_equal(sn_methods_count(methods), 1);
    assert_int_equal(sn_methods_find(methods, 0x1000, 150)->from_ns, 100);
}

/* Without load events, as usual traces are: what names a method that is freed is its unload. */
static void a_freed_method_is_named_by_its_unload(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    const struct method_event gone = {RUNTIME_PROVIDER, 144, 200, 1, 0x1000, 0x40, "T", "Dynamic"};
    take_method(methods, &gone);
    take_known(methods, 0x1000, 0x40, "T", "Later");
    assert_string_equal(name_at(methods, 0x1008, 150), "Dynamic");
    assert_string_equal(name_at(methods, 0x1008, 250), "Later");
    const struct method_event unnamed = {RUNTIME_PROVIDER, 142, 300, 9, 0x5000, 0x40, "", ""};
    take_method(methods, &unnamed);
    assert_string_equal(name_at(methods, 0x5000, 100), "");
}

static void an_unload_of_the_rundown_provider_is_none(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    take_known(methods, 0x1000, 0x40, "T", "M"); /* 144 there means: still loaded at the end */
    assert_int_equal(sn_methods_find(methods, 0x1000, UINT64_MAX - 1)->until_ns, UINT64_MAX);
}

static void take_module(struct sn_methods *methods, const uint8_t *bytes, size_t size)
{
    struct sn_schema schema = {.provider = RUNDOWN_PROVIDER, .name = "", .event_id = 154};
    struct sn_event event = {
        .schema = &schema, .payload = bytes, .payload_size = (uint32_t)size, .pointer_size = 8};
    sn_methods_take(methods, &event);
}

static void modules_at_every_cut(void **state)
{
    (void)state;
    SN_AUTO(sn_buf_done) struct sn_buf whole = sn_buf_with_limit(4096);
    sn_buf_u64(&whole, 77);
    sn_buf_u64(&whole, 1);
    sn_buf_u32(&whole, 4);
    sn_buf_u32(&whole, 0);
    put_wide(&whole, "/srv/app/Shop.Web.dll");
    put_wide(&whole, "");
    sn_buf_u16(&whole, 9);
    sn_buf_fill(&whole, 0xAB, 16);
    sn_buf_u32(&whole, 1);
    put_wide(&whole, "/build/Shop.Web.pdb");
    for (size_t size = 0; size <= whole.size; size++) {
        SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
        SN_AUTO(sn_free) uint8_t *cut = malloc(size + 1);
        memcpy(cut, whole.bytes, size);
        take_module(methods, cut, size);
        const struct sn_module *module = sn_methods_module(methods, 77);
        if (module)
            assert_string_equal(module->name, "Shop.Web");
        if (size < whole.size)
            continue;
        assert_string_equal(module->pdb_path, "/build/Shop.Web.pdb");
        assert_true(module->is_dynamic);
        assert_int_equal(module->pdb_guid[15], 0xAB);
    }
}

static void a_cut_method_is_passed_over(void **state)
{
    (void)state;
    SN_AUTO(sn_methods_free) struct sn_methods *methods = new_methods();
    struct sn_schema schema = {.provider = RUNDOWN_PROVIDER, .name = "", .event_id = 144};
    static const uint8_t zeroes[80];
    for (uint32_t size = 0; size < 42; size++) {
        SN_AUTO(sn_free) uint8_t *cut = malloc(size + 1);
        memcpy(cut, zeroes, size);
        struct sn_event event = {.schema = &schema, .payload = cut, .payload_size = size};
        sn_methods_take(methods, &event);
    }
    assert_int_equal(sn_methods_count(methods), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_find_their_range),
        cmocka_unit_test(a_place_used_twice_is_told_apart_by_time),
        cmocka_unit_test(the_rundown_repeats_what_was_loaded),
        cmocka_unit_test(a_freed_method_is_named_by_its_unload),
        cmocka_unit_test(an_unload_of_the_rundown_provider_is_none),
        cmocka_unit_test(modules_at_every_cut),
        cmocka_unit_test(a_cut_method_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
