/* Frames of a dead process: a file is asked for them only if it is the one that was mapped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own.h"
#include "check.h"
#include "source/memory/contract.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"
#include "symbol/objects.h"

#define CODE  0x7f1000000000u
#define STACK 0x7f2000000000u
#define HEAD  UINT64_C(4096)

/* What the core file has: the first page. */
static size_t read_head(void *user, uint64_t address, void *to, size_t size)
{
    if (address < CODE || address - CODE >= HEAD)
        return 0;
    size_t left = (size_t)(CODE + HEAD - address);
    size = size < left ? size : left;
    memcpy(to, (const uint8_t *)user + (address - CODE), size);
    return size;
}

/* The number of the file that the innermost frame is in. */
static uint32_t object_of_frame(uint8_t *head, const char *path)
{
    const struct sn_memory_map maps[] = {
        {.start = CODE, .end = CODE + HEAD, .path = path, .flags = SN_MAP_READ},
        {.start = CODE + HEAD,
         .end = CODE + 2 * HEAD,
         .offset = HEAD,
         .path = path,
         .flags = SN_MAP_READ | SN_MAP_CODE},
    };
    const struct sn_memory_source source = {read_head, NULL, head};
    const struct sn_walk_frame *frames = NULL;
    uint8_t stack[64] = {0};
    const struct sn_thread_state state = {
        .how = SN_THREAD_STOPPED,
        .registers = {.sp = STACK, .ip = CODE + HEAD + 16},
        .stack = stack,
        .stack_size = sizeof(stack),
    };
    struct sn_runtime_memory runtime = {0};
    struct sn_objects *objects = NULL;
    struct sn_stack_walk *walk = NULL;
    bool is_whole = false;
    assert_int_equal(sn_memory_of_source(&source, maps, 2, &runtime.memory, NULL), 0);
    assert_int_equal(sn_contract_new(&runtime.contract, NULL), 0);
    assert_int_equal(sn_objects_new(&objects, NULL), 0);
    assert_int_equal(sn_stack_walk_new(&runtime, NULL, objects, &walk, NULL), 0);
    assert_true(sn_stack_walk_take(walk, &state, NULL, &frames, &is_whole) > 0);
    uint32_t object = frames[0].object;
    sn_stack_walk_free(walk);
    sn_objects_free(objects);
    sn_contract_free(runtime.contract);
    sn_memory_free(runtime.memory);
    return object;
}

static void copy_self(char *path, uint8_t *ret_head)
{
    SN_AUTO(sn_close) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    SN_AUTO(sn_close) int to = mkstemp(path);
    assert_true(from >= 0 && to >= 0);
    assert_int_equal(sn_file_copy(from, to, NULL), 0);
    assert_int_equal(pread(to, ret_head, HEAD, 0), HEAD);
}

static void only_the_same_file(void **context)
{
    (void)context;
    uint8_t head[HEAD];
    const char *folder = getenv("TMPDIR");
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/sonde-walk-XXXXXX", folder ? folder : "/tmp");
    copy_self(path, head);
    assert_int_equal(object_of_frame(head, path), 1);
    head[HEAD - 1] ^= 1; /* another build than the one at the path */
    assert_int_equal(object_of_frame(head, path), 0);
    head[HEAD - 1] ^= 1;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(object_of_frame(head, path), 0);
}

/* Ours is not that of a process that died, maybe under another kernel. */
static void not_our_vdso(void **context)
{
    (void)context;
    uint8_t head[HEAD] = {0};
    assert_int_equal(object_of_frame(head, "[vdso]"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_same_file),
        cmocka_unit_test(not_our_vdso),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
