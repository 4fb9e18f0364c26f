/* Reading a runtime whose structures are laid out as none is: what is found follows the descriptor
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "source/memory/code_map.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"
#include "symbol/objects.h"
#include "unit/memory_scene.h"

#define LAYOUTS 50u

static struct scene scene;

static struct sn_runtime_memory *open_scene(void)
{
    struct sn_runtime_memory *runtime = NULL;
    struct sonde_error err = {0};
    struct sn_memory *memory = scene_memory(scene_read, &scene);
    assert_non_null(memory);
    if (sn_runtime_memory_open(memory, &runtime, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(runtime->base, SCENE_BASE);
    assert_string_equal(runtime->version, "10.0.99");
    return runtime;
}

static void check_threads(struct sn_runtime_memory *runtime)
{
    SN_AUTO(sn_free) struct sn_managed_thread *threads = NULL;
    size_t count = 0;
    bool is_partial = true;
    struct sonde_error err = {0};
    if (sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    assert_false(is_partial);
    assert_int_equal(count, SCENE_THREADS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(threads[i].address, scene.threads[i]);
        assert_int_equal(threads[i].managed_id, i + 1);
        assert_int_equal(threads[i].os_id, 1000 + i);
        assert_int_equal(threads[i].state, 0x200u << i);
        assert_int_equal(threads[i].is_preemptive, i != 1);
        assert_int_equal(threads[i].frame, i ? UINT64_MAX : scene.frame);
        assert_int_equal(threads[i].alloc_pointer, SCENE_BASE + 64 * i);
        assert_int_equal(threads[i].alloc_limit, SCENE_BASE + 64 * i + 32);
    }
}

static void check_code(struct sn_runtime_memory *runtime)
{
    struct sn_code_map *map = NULL;
    struct sn_managed_code code;
    struct sonde_error err = {0};
    if (sn_code_map_new(runtime, &map, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    assert_true(sn_code_map_find(map, scene.code + 17, &code));
    assert_int_equal(code.kind, SN_CODE_JIT);
    assert_int_equal(code.method, scene.method);
    assert_int_equal(code.start, scene.code);
    assert_false(code.is_funclet);
    assert_true(sn_code_map_find(map, scene.code + 100, &code));
    assert_true(code.is_funclet);
    assert_int_equal(code.function, scene.code + 96);
    assert_false(sn_code_map_find(map, scene.code - 9, &code)); /* before any method */
    assert_false(sn_code_map_find(map, scene.code + 500, &code));
    assert_false(sn_code_map_find(map, SCENE_BASE + 64, &code)); /* native */
    sn_code_map_free(map);
}

static void check_names(struct sn_runtime_memory *runtime)
{
    struct sn_type_system *types = NULL;
    struct sonde_error err = {0};
    if (sn_type_system_new(runtime, &types, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    const struct sn_memory_type *type = sn_type_system_type(types, scene.method_table);
    assert_non_null(type);
    assert_int_equal(type->base_size, 24);
    assert_int_equal(type->module->address, scene.module);
    const struct sn_memory_method *method = sn_type_system_method(types, scene.method);
    assert_non_null(method);
    assert_true(method->is_dynamic);
    assert_string_equal(method->name, "ShiftedMethod");
    assert_null(sn_type_system_type(types, scene.module)); /* a module is no type */
    sn_type_system_free(types);
}

/* A thread that waits in native code: its managed frames are found by the note that it left. */
static void check_walk(struct sn_runtime_memory *runtime)
{
    static uint8_t stack[SCENE_STACK];
    const struct sn_managed_thread thread = {.address = scene.threads[0], .frame = scene.frame};
    const struct sn_walk_frame *frames = NULL;
    struct sn_objects *objects = NULL;
    struct sn_code_map *map = NULL;
    struct sn_stack_walk *walk = NULL;
    struct sonde_error err = {0};
    bool is_whole = false;
    size_t managed = 0;
    assert_int_equal(scene_read(&scene, scene.stack, stack, sizeof(stack)), sizeof(stack));
    struct sn_thread_state state = {.how = SN_THREAD_WAITING,
                                    .registers = {.ip = SCENE_BASE + 4096, .sp = scene.stack},
                                    .stack = stack,
                                    .stack_size = sizeof(stack)};
    assert_int_equal(sn_objects_new(&objects, &err), SONDE_OK);
    assert_int_equal(sn_code_map_new(runtime, &map, &err), SONDE_OK);
    assert_int_equal(sn_stack_walk_new(runtime, map, objects, &walk, &err), SONDE_OK);
    size_t count = sn_stack_walk_take(walk, &state, &thread, &frames, &is_whole);
    for (size_t i = 0; i < count; i++)
        managed += frames[i].kind == SN_WALK_MANAGED && frames[i].code.method == scene.method;
    assert_int_equal(managed, SCENE_CALLS + 1);
    sn_stack_walk_free(walk);
    sn_code_map_free(map);
    sn_objects_free(objects);
}

static void test_every_layout_is_followed(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < LAYOUTS; seed++) {
        scene_make(&scene, seed, NULL, 0);
        struct sn_runtime_memory *runtime = open_scene();
        check_threads(runtime);
        check_code(runtime);
        check_names(runtime);
        check_walk(runtime);
        sn_runtime_memory_free(runtime);
    }
}

/* With the descriptor of another layout the same bytes are not the same threads. */
static void test_a_wrong_descriptor_finds_nothing(void **state)
{
    static char json[16384];
    unsigned wrong = 0;
    (void)state;
    for (uint32_t seed = 0; seed < LAYOUTS; seed++) {
        scene_make(&scene, seed + 1000, NULL, 0);
        size_t size = scene_json(&scene, json, sizeof(json));
        scene_make(&scene, seed, json, size);
        struct sn_runtime_memory *runtime = open_scene();
        SN_AUTO(sn_free) struct sn_managed_thread *threads = NULL;
        size_t count = 0;
        bool is_partial = false;
        int rc = sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, NULL);
        wrong += rc == SONDE_OK && !is_partial && count == SCENE_THREADS &&
                 threads[0].os_id == 1000 && threads[2].os_id == 1002;
        sn_runtime_memory_free(runtime);
    }
    assert_in_range(wrong, 0, 2); /* two layouts may be alike in this much */
}

static void test_a_list_that_loops_is_cut(void **state)
{
    struct sonde_error err = {0};
    (void)state;
    scene_make(&scene, 7, NULL, 0);
    scene_set(&scene, scene.threads[2], "Thread.LinkNext", 8,
              scene.threads[0] + scene_at(&scene, "Thread", "LinkNext"));
    struct sn_runtime_memory *runtime = open_scene();
    SN_AUTO(sn_free) struct sn_managed_thread *threads = NULL;
    size_t count = 0;
    bool is_partial = false;
    assert_int_equal(sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, &err),
                     SONDE_OK);
    assert_true(is_partial);
    assert_in_range(count, 0, SCENE_THREADS);
    sn_runtime_memory_free(runtime);
}

/* A contract of a later version is refused, by name, not guessed at. */
static void test_an_unknown_version_is_refused(void **state)
{
    static char json[16384];
    struct sonde_error err = {0};
    (void)state;
    scene_make(&scene, 3, NULL, 0);
    size_t size = scene_json(&scene, json, sizeof(json));
    json[size] = '\0';
    char *version = strstr(json, "\"ExecutionManager\":") + strlen("\"ExecutionManager\":");
    *version = '9';
    char *thread = strstr(json, "\"Thread\":1");
    thread[strlen("\"Thread\":")] = '9';
    scene_make(&scene, 3, json, size);
    struct sn_runtime_memory *runtime = open_scene();
    struct sn_code_map *map = NULL;
    assert_int_equal(sn_code_map_new(runtime, &map, &err), SONDE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "9"));
    struct sn_managed_thread *threads = NULL;
    size_t count = 0;
    bool is_partial = false;
    assert_int_equal(sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, &err),
                     SONDE_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "9"));
    sn_runtime_memory_free(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_layout_is_followed),
        cmocka_unit_test(test_a_wrong_descriptor_finds_nothing),
        cmocka_unit_test(test_a_list_that_loops_is_cut),
        cmocka_unit_test(test_an_unknown_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
