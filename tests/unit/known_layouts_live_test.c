/* What is known of .NET 8, 9 and 10 beyond what they tell, on real ones: all of it is proved there,
 * threads come out as the kernel counts them, and a table with one wrong number is refused. */
#include "check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "source/memory/contract.h"
#include "source/memory/known_layouts.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"

#define APP SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"

static const unsigned majors[] = {8, 9, 10};
static char runtimes[256];

/* Ends when its input does, so none outlives the test. */
struct app {
    pid_t pid;
    int input;
    int output;
};

static struct app apps[3];

static struct app start(unsigned major)
{
    int input[2];
    int output[2];
    char dotnet[300];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, dotnet, APP, "idle", (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    close(input[0]);
    close(output[1]);
    return (struct app){.pid = pid, .input = input[1], .output = output[0]};
}

static void await_ready(const struct app *app)
{
    char line[128] = "";
    for (size_t i = 0; i + 1 < sizeof(line) && !strchr(line, '\n'); i++) {
        struct pollfd waiting = {.fd = app->output, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, 60000), 1);
        assert_int_equal(read(app->output, line + i, 1), 1);
    }
    assert_non_null(strstr(line, "ready pid="));
}

static int start_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        apps[i] = start(majors[i]);
    for (size_t i = 0; i < 3; i++)
        await_ready(&apps[i]);
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        close(apps[i].input);
        (void)waitpid(apps[i].pid, NULL, 0);
        close(apps[i].output);
    }
    return 0;
}

static struct sn_runtime_memory *open_runtime(const struct app *app)
{
    struct sonde_error err = {0};
    struct sn_memory *memory = NULL;
    struct sn_runtime_memory *runtime = NULL;
    if (sn_memory_of_process((uint32_t)app->pid, &memory, &err) != SONDE_OK ||
        sn_runtime_memory_open(memory, &runtime, &err) != SONDE_OK)
        fail_msg("%s", err.text);
    return runtime;
}

/* --- all of it holds --- */

static void versions_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char start_of[8];
        SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = open_runtime(&apps[i]);
        assert_int_equal(runtime->major, majors[i]);
        (void)snprintf(start_of, sizeof(start_of), "%u.0.", majors[i]);
        assert_memory_equal(runtime->version, start_of, strlen(start_of));
        assert_string_equal(runtime->remarks, "");
    }
}

static void threads_are_the_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sonde_error err = {0};
        size_t count = 0;
        size_t live = 0;
        bool is_partial = false;
        bool has_main = false;
        SN_AUTO(sn_free) struct sn_managed_thread *threads = NULL;
        SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = open_runtime(&apps[i]);
        assert_int_equal(sn_runtime_memory_threads(runtime, &threads, &count, &is_partial, &err),
                         SONDE_OK);
        assert_false(is_partial);
        for (size_t k = 0; k < count; k++) {
            char path[64];
            (void)snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu64, (int)apps[i].pid,
                           threads[k].os_id);
            live += threads[k].os_id && access(path, F_OK) == 0;
            has_main |= threads[k].managed_id == 1 && threads[k].os_id == (uint64_t)apps[i].pid;
        }
        assert_true(has_main);
        assert_true(live >= 2); /* with that of finalizers */
    }
}

/* --- one wrong number --- */

/* A copy of `text` with `right` replaced, which is in it once. */
static char *replaced(const char *text, const char *right, const char *wrong)
{
    const char *at = strstr(text, right);
    size_t size = strlen(text) + strlen(wrong) + 1;
    char *copy = malloc(size);
    assert_non_null(at);
    assert_null(strstr(at + 1, right));
    (void)snprintf(copy, size, "%.*s%s%s", (int)(at - text), text, wrong, at + strlen(right));
    return copy;
}

/* As the runtime itself describes it, before anything is added. */
static void strip(struct sn_runtime_memory *runtime)
{
    struct sonde_error err = {0};
    uint64_t descriptor = sn_runtime_memory_symbol(runtime, "DotNetRuntimeContractDescriptor");
    sn_contract_free(runtime->contract);
    runtime->contract = NULL;
    runtime->remarks[0] = '\0';
    int rc = descriptor ? sn_contract_read(runtime->memory, descriptor, &runtime->contract, &err)
                        : sn_contract_new(&runtime->contract, &err);
    assert_int_equal(rc, SONDE_OK);
}

struct lie {
    unsigned major;
    enum sn_layout_group group;
    const char *name; /* of the group, in the remark */
    const char *right;
    const char *wrong;
};

static const struct lie lies[] = {
    {8, SN_LAYOUT_THREADS, "threads", "\"OSId\": 424", "\"OSId\": 416"},
    {8, SN_LAYOUT_THREADS, "threads", "\"LinkNext\": 232", "\"LinkNext\": 240"},
    {8, SN_LAYOUT_THREADS, "threads", "\"ThreadCount\": 184", "\"ThreadCount\": 192"},
    {8, SN_LAYOUT_THREADS, "threads", "\"Frame\": 16", "\"Frame\": 36"},
    {8, SN_LAYOUT_TYPES, "types", "\"EEClassOrCanonMT\": 40", "\"EEClassOrCanonMT\": 32"},
    {8, SN_LAYOUT_TYPES, "types", "\"FieldDescList\": 24", "\"FieldDescList\": 32"},
    {8, SN_LAYOUT_TYPES, "types", "\"ParentMethodTable\": 16", "\"ParentMethodTable\": 24"},
    {9, SN_LAYOUT_TYPES, "types", "\"MethodDescChunk\": 32", "\"MethodDescChunk\": 24"},
    {8, SN_LAYOUT_MODULES, "modules", "\"PEAssembly\": 272", "\"PEAssembly\": 264"},
    {9, SN_LAYOUT_MODULES, "modules", "\"DomainAssemblyList\": 1824",
     "\"DomainAssemblyList\": 1832"},
    {8, SN_LAYOUT_CODE, "code", "\"HeapList\": 40", "\"HeapList\": 48"},
    {8, SN_LAYOUT_CODE, "code", "\"ReadyToRunInfo\": {\"Module\"",
     "\"Moved\": {\"!\": 8}, \"Other\": {\"Module\""},
    {9, SN_LAYOUT_CODE, "code", "\"UnwindInfos\": 36", "\"UnwindInfos\": 40"},
    {9, SN_LAYOUT_CODE, "code", "\"NumRuntimeFunctions\": 88", "\"NumRuntimeFunctions\": 96"},
    {8, SN_LAYOUT_FRAMES, "frames", "\"Next\": 8", "\"Next\": 16"},
    {9, SN_LAYOUT_FRAMES, "frames", "\"CallSiteSP\": 24", "\"CallSiteSP\": 16"},
    {8, SN_LAYOUT_SYNC_BLOCKS, "sync blocks", "\"SyncTableSize\": 192", "\"SyncTableSize\": 200"},
    {10, SN_LAYOUT_SYNC_BLOCKS, "sync blocks", "\"SyncTableSize\": 120", "\"SyncTableSize\": 112"},
    {8, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"LockEntry\": 48", "\"LockEntry\": 40"},
    {8, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"BlockingLock\": 80",
     "\"BlockingLock\": 88"},
    {8, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"ListLocks\": 1032", "\"ListLocks\": 872"},
    {9, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"BlockingLock\": 24",
     "\"BlockingLock\": 32"},
    {9, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"ListLocks\": 888", "\"ListLocks\": 896"},
    {10, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"ListLocks\": 0", "\"ListLocks\": 88"},
    {10, SN_LAYOUT_CONSTRUCTORS, "static constructors", "\"ClassInitLock\": 88",
     "\"ClassInitLock\": 176"},
};

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        const struct lie *lie = &lies[i];
        struct sonde_error err = {0};
        struct sn_known_layout layout = *sn_known_layout_of(lie->major);
        SN_AUTO(sn_runtime_memory_free)
        struct sn_runtime_memory *runtime = open_runtime(&apps[lie->major - 8]);
        SN_AUTO(sn_free) char *wrong = replaced(layout.groups[lie->group], lie->right, lie->wrong);
        layout.groups[lie->group] = wrong;
        strip(runtime);
        assert_int_equal(sn_known_layouts_add_from(runtime, &layout, &err), SONDE_OK);
        if (!strstr(runtime->remarks, lie->name))
            fail_msg("%u: %s was believed (%s)", lie->major, lie->wrong, runtime->remarks);
    }
}

/* What one group lacks is not taken from the other groups. */
static void the_others_stay(void **state)
{
    (void)state;
    uint32_t offset;
    struct sonde_error err = {0};
    struct sn_known_layout layout = *sn_known_layout_of(8);
    SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = open_runtime(&apps[0]);
    SN_AUTO(sn_free)
    char *wrong = replaced(layout.groups[SN_LAYOUT_MODULES], "\"PEImage\": 8", "\"PEImage\": 16");
    layout.groups[SN_LAYOUT_MODULES] = wrong;
    strip(runtime);
    assert_int_equal(sn_known_layouts_add_from(runtime, &layout, &err), SONDE_OK);
    assert_memory_equal(runtime->remarks, "modules of .NET 8", 17);
    assert_null(strchr(runtime->remarks, ';'));
    assert_false(sn_contract_offset(runtime->contract, "PEAssembly", "PEImage", &offset));
    assert_true(sn_contract_offset(runtime->contract, "Thread", "OSId", &offset));
    assert_true(sn_contract_offset(runtime->contract, "RangeSection", "Flags", &offset));
}

/* A release may have a variable more in the middle of the debugger's table. */
static void shifted_slots_are_found(void **state)
{
    (void)state;
    uint64_t right;
    uint64_t found;
    struct sonde_error err = {0};
    struct sn_known_layout layout = *sn_known_layout_of(9);
    SN_AUTO(sn_runtime_memory_free) struct sn_runtime_memory *runtime = open_runtime(&apps[1]);
    assert_true(sn_contract_number(runtime->contract, "InlinedCallFrameIdentifier", &right));
    layout.first_frame++;
    strip(runtime);
    assert_int_equal(sn_known_layouts_add_from(runtime, &layout, &err), SONDE_OK);
    assert_string_equal(runtime->remarks, "");
    assert_true(sn_contract_number(runtime->contract, "InlinedCallFrameIdentifier", &found));
    assert_int_equal(found, right);
    layout.first_frame += 4;
    strip(runtime);
    assert_int_equal(sn_known_layouts_add_from(runtime, &layout, &err), SONDE_OK);
    assert_memory_equal(runtime->remarks, "frames of .NET 9 cannot be read: ", 33);
}

static int skip_all(const char *why)
{
    printf("skipped: %s\n", why);
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_told),         cmocka_unit_test(threads_are_the_kernels),
        cmocka_unit_test(wrong_numbers_are_refused), cmocka_unit_test(the_others_stay),
        cmocka_unit_test(shifted_slots_are_found),
    };
    if (access(APP, R_OK) != 0)
        return skip_all("the test apps are not built: tests/apps/build");
    FILE *asked = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool is_known = asked && fgets(runtimes, sizeof(runtimes), asked);
    if (!asked || pclose(asked) != 0 || !is_known)
        return skip_all("no .NET runtimes: tools/test-runtimes");
    runtimes[strcspn(runtimes, "\n")] = '\0';
    return cmocka_run_group_tests(tests, start_all, end_all);
}
