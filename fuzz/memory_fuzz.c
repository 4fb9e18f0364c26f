/* Any memory of a process: a runtime's, made by hand (tests/unit/memory_scene.h), with places
 * overwritten, made unreadable or pointed anywhere, and any text as its descriptor. Whatever is
 * there, reading comes to an end after a bounded number of reads.
 *
 * Input: u32 seed of the layout, u8 count, then of each change u8 kind, u24 where, u64 what; the
 * rest, if any, is the descriptor. */
#include <stdlib.h>

#include "../tests/unit/memory_scene.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/own.h"
#include "source/memory/code_map.h"
#include "source/memory/locks.h"
#include "source/memory/object_index.h"
#include "source/memory/pending_tasks.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_pool.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"
#include "symbol/objects.h"

#define READS_MAX  (1u << 20)
#define FAULTS_MAX 64u

enum change {
    CHANGE_WORD,    /* eight bytes */
    CHANGE_HALF,    /* four */
    CHANGE_POINTER, /* to somewhere in the scene */
    CHANGE_FAULT,   /* cannot be read; `what`: how many bytes */
    CHANGE_FLICKER, /* is something else at every read */
    CHANGES,
};

struct fault {
    uint64_t start;
    uint64_t size;
};

struct image {
    struct scene scene;
    struct fault faults[FAULTS_MAX];
    size_t fault_count;
    uint64_t flicker; /* offset, or all ones */
    unsigned reads;
};

static size_t read_image(void *user, uint64_t address, void *to, size_t size)
{
    struct image *image = user;
    if (image->reads++ > READS_MAX)
        abort(); /* no memory makes it read on and on */
    if (image->flicker < SCENE_SIZE - 8)
        image->scene.bytes[image->flicker] = (uint8_t)(image->reads * 37u);
    for (size_t i = 0; i < image->fault_count; i++) {
        const struct fault *fault = &image->faults[i];
        if (address < fault->start + fault->size && fault->start < address + size)
            size = fault->start > address ? (size_t)(fault->start - address) : 0;
    }
    return size ? scene_read(&image->scene, address, to, size) : 0;
}

static void change(struct image *image, struct sn_cursor *cur)
{
    uint8_t kind = sn_cursor_u8(cur) % CHANGES;
    uint64_t where = sn_cursor_u8(cur);
    where |= (uint64_t)sn_cursor_u16(cur) << 8;
    uint64_t what = sn_cursor_u64(cur);
    where %= SCENE_SIZE - 8;
    if (cur->bad)
        return;
    switch (kind) {
    case CHANGE_WORD: memcpy(image->scene.bytes + where, &what, 8); break;
    case CHANGE_HALF: memcpy(image->scene.bytes + where, &what, 4); break;
    case CHANGE_POINTER:
        what = SCENE_BASE + what % SCENE_SIZE;
        memcpy(image->scene.bytes + where, &what, 8);
        break;
    case CHANGE_FAULT:
        if (image->fault_count < FAULTS_MAX)
            image->faults[image->fault_count++] =
                (struct fault){SCENE_BASE + where, what % SCENE_SIZE + 1};
        break;
    default: image->flicker = where; break;
    }
}

static void look_at_code(struct sn_runtime_memory *runtime, const struct scene *scene)
{
    struct sn_code_map *map = NULL;
    struct sn_managed_code code;
    uint32_t il_offset;
    if (sn_code_map_new(runtime, &map, NULL) != SONDE_OK)
        return;
    const uint64_t addresses[] = {0,
                                  1,
                                  UINT64_MAX,
                                  scene->code,
                                  scene->code + 17,
                                  scene->code + 100,
                                  scene->code + 4000,
                                  SCENE_BASE,
                                  SCENE_BASE + SCENE_SIZE - 1};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        bool is_found = sn_code_map_find(map, addresses[i], &code);
        if (is_found == (code.kind == SN_CODE_NONE))
            abort();
        if (is_found)
            (void)sn_code_map_il_offset(map, &code, addresses[i], &il_offset);
    }
    sn_code_map_free(map);
}

static bool count_module(void *user, const struct sn_memory_module *module)
{
    size_t *count = user;
    if (!module->path || !module->name)
        abort();
    return ++*count < 1u << 20;
}

static void look_at_types(struct sn_runtime_memory *runtime, const struct scene *scene)
{
    struct sn_type_system *types = NULL;
    struct sn_memory_field field;
    size_t modules = 0;
    if (sn_type_system_new(runtime, &types, NULL) != SONDE_OK)
        return;
    sn_type_system_modules(types, count_module, &modules);
    const struct sn_memory_method *method = sn_type_system_method(types, scene->method);
    if (method && (!method->type_name || !method->name || !method->signature))
        abort();
    const struct sn_memory_type *type = sn_type_system_type(types, scene->method_table);
    if (type && !type->name)
        abort();
    (void)sn_type_system_field(types, scene->method_table, "_any", &field);
    for (uint64_t at = 0; at < 4096; at += 8)
        (void)sn_type_system_type(types, SCENE_BASE + at * 16);
    sn_type_system_free(types);
}

/* The thread's stack as it is in the image, damaged with it. */
static void look_at_stack(struct sn_runtime_memory *runtime, const struct scene *scene,
                          const struct sn_managed_thread *thread)
{
    static uint8_t stack[SCENE_STACK];
    const struct sn_walk_frame *frames = NULL;
    struct sn_objects *objects = NULL;
    struct sn_code_map *map = NULL;
    struct sn_stack_walk *walk = NULL;
    bool is_whole = false;
    memcpy(stack, scene->bytes + (scene->stack - SCENE_BASE), sizeof(stack));
    const struct sn_thread_state state = {.how = SN_THREAD_WAITING,
                                          .registers = {.ip = scene->code + 100,
                                                        .sp = scene->stack,
                                                        .bp = scene->stack + 1024,
                                                        .has_bp = thread->managed_id % 2},
                                          .stack = stack,
                                          .stack_size = sizeof(stack)};
    if (sn_objects_new(&objects, NULL) != SONDE_OK)
        return;
    (void)sn_code_map_new(runtime, &map, NULL); /* or native frames only */
    if (sn_stack_walk_new(runtime, map, objects, &walk, NULL) == SONDE_OK) {
        if (sn_stack_walk_take(walk, &state, thread, &frames, &is_whole) > SN_WALK_MAX)
            abort();
        sn_stack_walk_free(walk);
    }
    sn_code_map_free(map);
    sn_objects_free(objects);
}

static void look_at_objects(struct sn_runtime_memory *runtime,
                            const struct sn_managed_thread *threads, size_t count)
{
    struct sn_type_system *types = NULL;
    struct sn_object_index *index = NULL;
    struct sn_lock_thread waiting[SCENE_THREADS];
    struct sn_lock_list locks = {0};
    struct sn_task_list tasks = {0};
    struct sn_thread_pool pool = {0};
    if (sn_type_system_new(runtime, &types, NULL) != SONDE_OK)
        return;
    count = count < SCENE_THREADS ? count : SCENE_THREADS;
    for (size_t i = 0; i < count; i++)
        waiting[i] = (struct sn_lock_thread){.thread = &threads[i], .wait = SN_LOCK_WAIT_UNKNOWN};
    (void)sn_object_index_read(runtime, types, 0, &index, NULL); /* or without */
    if (sn_locks_read(runtime, types, index, waiting, count, &locks) == SONDE_OK)
        sn_locks_done(&locks);
    if (index && sn_tasks_read(runtime, types, index, &tasks, NULL) == SONDE_OK)
        sn_tasks_done(&tasks);
    if (index)
        sn_thread_pool_read(runtime, types, index, &pool);
    sn_object_index_free(index);
    sn_type_system_free(types);
}

static void look_at_all(struct sn_runtime_memory *runtime, const struct scene *scene)
{
    SN_AUTO(sn_free) struct sn_managed_thread *threads = NULL;
    size_t count = 0;
    bool is_partial = false;
    if (sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, NULL) == SONDE_OK &&
        count > SN_MANAGED_THREADS_MAX)
        abort();
    look_at_code(runtime, scene);
    look_at_types(runtime, scene);
    for (size_t i = 0; i < count && i < SCENE_THREADS; i++)
        look_at_stack(runtime, scene, &threads[i]);
    look_at_objects(runtime, threads, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct image image;
    struct sn_cursor cur = sn_cursor_over(data, size);
    uint32_t seed = sn_cursor_u32(&cur);
    uint8_t count = sn_cursor_u8(&cur);
    if (cur.bad)
        return 0;
    struct sn_cursor changes = cur;
    for (unsigned i = 0; i < count; i++)
        (void)sn_cursor_bytes(&cur, 12);
    size_t json = cur.bad ? 0 : sn_cursor_left(&cur);
    image.fault_count = 0;
    image.flicker = UINT64_MAX;
    image.reads = 0;
    scene_make(&image.scene, seed, json ? (const char *)cur.at : NULL,
               json < SCENE_LIBRARY / 2 ? json : SCENE_LIBRARY / 2);
    for (unsigned i = 0; i < count && !changes.bad; i++)
        change(&image, &changes);
    struct sn_memory *memory = scene_memory(read_image, &image);
    struct sn_runtime_memory *runtime = NULL;
    if (!memory || sn_runtime_memory_open(memory, &runtime, NULL) != SONDE_OK)
        return 0;
    look_at_all(runtime, &image.scene);
    sn_runtime_memory_free(runtime);
    return 0;
}
