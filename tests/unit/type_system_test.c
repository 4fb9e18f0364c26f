/* The type system over a process that is made up: what is named, what is refused, and that nothing
 * goes on for ever. */
#include <stdio.h>
#include <string.h>

#include "unit/check.h"
#include "unit/made_types.h"

static struct made_process process;
static struct sn_runtime_memory *runtime;
static struct sn_type_system *types;

static int set_up(void **state)
{
    (void)state;
    made_process_fill(&process);
    return 0;
}

/* Reads what `process` is by now. */
static void open_types(void)
{
    struct sonde_error err = {0};
    runtime = made_process_open(&process);
    assert_non_null(runtime);
    assert_int_equal(sn_type_system_new(runtime, &types, &err), SONDE_OK);
}

static int tear_down(void **state)
{
    (void)state;
    sn_type_system_free(types);
    sn_runtime_memory_free(runtime);
    types = NULL;
    runtime = NULL;
    return 0;
}

static const char *name_of(uint64_t table)
{
    const struct sn_memory_type *type = sn_type_system_type(types, table);
    return type ? type->name : "none";
}

static void names_types(void **state)
{
    (void)state;
    open_types();
    assert_string_equal(name_of(MADE_OUTER), "Made.Outer");
    assert_string_equal(name_of(MADE_INNER), "Made.Outer+Inner");
    assert_string_equal(name_of(MADE_BOX), "Made.Box`1[Made.Outer]");
    assert_string_equal(name_of(MADE_ARRAY), "Made.Box`1[Made.Outer][]");
    struct sn_buf name = sn_buf_with_limit(256);
    assert_true(sn_type_system_handle_name(types, MADE_POINTER | 2, &name));
    assert_string_equal(sn_buf_string(&name), "Made.Box`1[Made.Outer][]*");
    sn_buf_done(&name);
    assert_string_equal(sn_type_system_object_type(types, MADE_OBJECT), "Made.Outer+Inner");
    const struct sn_memory_type *array = sn_type_system_type(types, MADE_ARRAY);
    assert_true(array->is_array && array->component_size == 8 && array->element == MADE_BOX);
}

/* The same from an image, whichever way it lies in memory. */
static void reads_images(void **state)
{
    for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
        (void)set_up(state);
        made_process_image(&process, is_mapped);
        open_types();
        const struct sn_memory_module *module = sn_type_system_module(types, MADE_MODULE);
        assert_non_null(module);
        assert_string_equal(module->path, "/a/b");
        assert_string_equal(module->name, "b");
        assert_int_equal(module->image, MADE_IMAGE);
        assert_int_equal(module->version_id[15], 7);
        assert_string_equal(name_of(MADE_ARRAY), "Made.Box`1[Made.Outer][]");
        assert_string_equal(sn_type_system_method(types, MADE_METHOD)->signature,
                            "instance void  ()");
        (void)tear_down(state);
    }
}

/* The runtime made its tables for metadata of other counts: the file was written over since. */
static void refuses_metadata_of_another_build(void **state)
{
    static const struct {
        uint32_t map;
        uint32_t rows;
    } maps[] = {{168, 4}, {176, 2}, {184, 5}};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
        (void)set_up(state);
        made_process_image(&process, true);
        made_u32(&process, MADE_MODULE + maps[i].map, maps[i].rows + 1);
        open_types();
        assert_string_equal(name_of(MADE_OUTER), "Made.Outer");
        sn_type_system_forget(types);
        made_u32(&process, MADE_MODULE + maps[i].map, maps[i].rows + 2);
        sn_memory_forget(runtime->memory);
        const struct sn_memory_module *module = sn_type_system_module(types, MADE_MODULE);
        assert_non_null(module);
        assert_null(module->metadata);
        assert_int_equal(module->version_id[15], 0);
        assert_string_equal(name_of(MADE_OUTER), "");
        assert_null(sn_type_system_method(types, MADE_METHOD));
        (void)tear_down(state);
    }
}

/* A module that was not there yet, then is, and grows; and forgetting it all. */
static void reads_modules_as_they_grow(void **state)
{
    uint32_t size = 0;
    (void)state;
    memcpy(&size, process.bytes + (MADE_METADATA - MADE_BASE), sizeof(size));
    made_u64(&process, MADE_MODULE + 16, 0);
    open_types();
    assert_string_equal(name_of(MADE_OUTER), "");
    assert_null(sn_type_system_module(types, MADE_MODULE)->metadata);
    made_u64(&process, MADE_MODULE + 16, MADE_METADATA);
    sn_memory_forget(runtime->memory);
    assert_non_null(sn_type_system_module(types, MADE_MODULE)->metadata);
    assert_string_equal(name_of(MADE_OUTER), "Made.Outer"); /* which had none before */
    assert_string_equal(name_of(MADE_INNER), "Made.Outer+Inner");
    const struct sn_assembly *before = sn_type_system_module(types, MADE_MODULE)->metadata;
    made_u32(&process, MADE_METADATA, size + 4);
    sn_memory_forget(runtime->memory);
    assert_ptr_not_equal(sn_type_system_module(types, MADE_MODULE)->metadata, before);
    sn_type_system_forget(types);
    assert_string_equal(name_of(MADE_OUTER), "Made.Outer");
}

/* What is not there when it is asked for is not known, and nothing else. */
static void misses_what_is_gone(void **state)
{
    (void)state;
    made_process_image(&process, false);
    open_types();
    assert_non_null(sn_type_system_module(types, MADE_MODULE)->metadata);
    process.size = MADE_METADATA - MADE_BASE;
    assert_string_equal(name_of(MADE_OUTER), "Made.Outer"); /* the first page was there */
    (void)tear_down(state);
    open_types();
    assert_null(sn_type_system_module(types, MADE_MODULE)->metadata);
    assert_string_equal(name_of(MADE_OUTER), "");
}

static void names_ranks(void **state)
{
    (void)state;
    made_u32(&process, MADE_ARRAY + 8, 0x80080008u);
    process.bytes[MADE_CLASS_ARRAY + 40 - MADE_BASE] = 3;
    open_types();
    assert_string_equal(name_of(MADE_ARRAY), "Made.Box`1[Made.Outer][,,]");
}

/* A type variable, and a function that takes it. */
static void names_what_is_no_table(void **state)
{
    (void)state;
    made_u32(&process, MADE_POINTER, 0x13);
    made_u64(&process, MADE_POINTER + 8, MADE_MODULE);
    made_u32(&process, MADE_POINTER + 16, 0x2A000001);
    made_u32(&process, MADE_FUNCTION, 0x1B);
    made_u32(&process, MADE_FUNCTION + 8, 2);
    made_u32(&process, MADE_FUNCTION + 12, 5);
    made_u64(&process, MADE_FUNCTION + 16, MADE_OUTER);
    made_u64(&process, MADE_FUNCTION + 24, MADE_POINTER | 2);
    made_u64(&process, MADE_FUNCTION + 32, 0);
    open_types();
    struct sn_buf name = sn_buf_with_limit(256);
    assert_true(sn_type_system_handle_name(types, MADE_FUNCTION | 2, &name));
    assert_string_equal(sn_buf_string(&name), "Made.Outer(T, (null), ...)");
    sn_buf_done(&name);
}

static void refuses_what_does_not_point_back(void **state)
{
    (void)state;
    made_u64(&process, MADE_CLASS_INNER + 8, MADE_OUTER);
    made_u64(&process, MADE_ASSEMBLY + 8, MADE_MODULE);
    open_types();
    assert_null(sn_type_system_type(types, MADE_INNER));
    assert_null(sn_type_system_type(types, MADE_OUTER + 8));
    assert_null(sn_type_system_type(types, 0));
    assert_null(sn_type_system_type(types, UINT64_MAX - 7));
    assert_null(sn_type_system_module(types, MADE_ASSEMBLY));
    assert_string_equal(sn_type_system_object_type(types, MADE_OBJECT), "");
    assert_non_null(sn_type_system_type(types, MADE_OUTER));
}

/* A type that is its own argument, its own element, its own parent. */
static void ends_where_the_target_does_not(void **state)
{
    struct sn_memory_field field;
    (void)state;
    made_u64(&process, MADE_ARGUMENTS, MADE_BOX);
    made_u64(&process, MADE_ARRAY + 40, MADE_ARRAY);
    made_u64(&process, MADE_OUTER + 32, MADE_INNER);
    open_types();
    assert_string_equal(name_of(MADE_BOX), "");
    assert_string_equal(name_of(MADE_ARRAY), "");
    assert_false(sn_type_system_field(types, MADE_OUTER, "none", &field));
    assert_true(process.reads < 100);
}

static void finds_fields(void **state)
{
    struct sn_memory_field field;
    char text[8];
    (void)state;
    open_types();
    assert_true(sn_type_system_field(types, MADE_INNER, "deep", &field));
    assert_true(field.offset == 16 && field.element == 0x12 && field.owner == MADE_INNER);
    assert_true(sn_type_system_field(types, MADE_INNER, "text", &field));
    assert_true(field.offset == 0 && field.element == 0x0E && field.owner == MADE_OUTER);
    assert_true(sn_type_system_field(types, MADE_BOX, "value", &field));
    assert_true(sn_type_system_field(types, MADE_INNER, "shared", &field));
    assert_true(field.is_static && field.owner == MADE_OUTER);
    assert_true(sn_type_system_read_string(types, MADE_STRING, text, sizeof(text)));
    assert_string_equal(text, "ab");
    assert_false(sn_type_system_read_string(types, MADE_OBJECT, text, sizeof(text)));
}

static bool finds(uint64_t table, const char *name)
{
    struct sn_memory_field field;
    open_types();
    bool is_found = sn_type_system_field(types, table, name, &field);
    (void)tear_down(NULL);
    made_process_fill(&process);
    return is_found;
}

/* Each thing that metadata say otherwise. */
static void refuses_fields_that_metadata_do_not_have(void **state)
{
    (void)state;
    assert_true(finds(MADE_OUTER, "first"));
    made_field(&process, MADE_FIELDS_OUTER, MADE_OUTER, 1, 8, 0x0A); /* a long */
    assert_false(finds(MADE_OUTER, "first"));
    made_field(&process, MADE_FIELDS_OUTER, MADE_OUTER, 1, 13, 0x08); /* past the object */
    assert_false(finds(MADE_OUTER, "first"));
    made_field(&process, MADE_FIELDS_OUTER, MADE_INNER, 1, 8, 0x08); /* another's */
    assert_false(finds(MADE_OUTER, "first"));
    made_field(&process, MADE_FIELDS_OUTER, MADE_OUTER, 0x01000001, 8, 0x08); /* static */
    assert_false(finds(MADE_OUTER, "first"));
    made_field(&process, MADE_FIELDS_OUTER, MADE_OUTER, 4, 8, 0x08); /* another token */
    assert_false(finds(MADE_OUTER, "first"));
    made_u16(&process, MADE_CLASS_OUTER + 16, 3); /* one more than there are */
    assert_false(finds(MADE_OUTER, "first"));
}

static void names_methods(void **state)
{
    (void)state;
    open_types();
    const struct sn_memory_method *method = sn_type_system_method(types, MADE_METHOD);
    assert_non_null(method);
    assert_string_equal(method->type_name, "Made.Outer");
    assert_string_equal(method->name, "Run");
    assert_string_equal(method->signature, "instance void  ()");
    assert_int_equal(method->token, 0x06000001);
    method = sn_type_system_method(types, MADE_DYNAMIC);
    assert_non_null(method);
    assert_true(method->is_dynamic);
    assert_string_equal(method->type_name, "dynamicClass");
    assert_string_equal(method->name, "Emitted");
    assert_ptr_equal(sn_type_system_method(types, MADE_DYNAMIC), method);
    memcpy(process.bytes + (MADE_NAME - MADE_BASE), "Another", 8);
    sn_memory_forget(runtime->memory);
    assert_string_equal(sn_type_system_method(types, MADE_DYNAMIC)->name, "Another");
    assert_string_equal(method->name, "Emitted");
    memcpy(process.bytes + (MADE_NAME - MADE_BASE), "\x01\xFF", 3);
    sn_memory_forget(runtime->memory);
    assert_null(sn_type_system_method(types, MADE_DYNAMIC));
}

static void refuses_methods_of_other_types(void **state)
{
    (void)state;
    made_u16(&process, MADE_METHOD + 6, 2); /* a method of Box`1 */
    open_types();
    assert_null(sn_type_system_method(types, MADE_METHOD));
    assert_null(sn_type_system_method(types, MADE_METHOD + 8));
    assert_null(sn_type_system_method(types, MADE_METHOD + 4));
    assert_null(sn_type_system_method(types, 8));
}

/* A version of the contract that is not known is not read by guessing. */
static void refuses_another_version(void **state)
{
    static const char json[] = "{\"version\":0,\"baseline\":\"empty\",\"contracts\":{\"Loader\":2},"
                               "\"types\":{},\"globals\":{}}";
    struct sonde_error err = {0};
    (void)state;
    runtime = made_process_open(&process);
    assert_non_null(runtime);
    sn_contract_free(runtime->contract);
    assert_int_equal(sn_contract_new(&runtime->contract, &err), SONDE_OK);
    assert_int_equal(sn_contract_add(runtime->contract, json, sizeof(json) - 1, NULL, 0, &err),
                     SONDE_OK);
    assert_int_equal(sn_type_system_new(runtime, &types, &err), SONDE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "Loader"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_images, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_metadata_of_another_build, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_modules_as_they_grow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misses_what_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_ranks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_what_is_no_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_point_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_where_the_target_does_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_fields_that_metadata_do_not_have, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(names_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_methods_of_other_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_another_version, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
