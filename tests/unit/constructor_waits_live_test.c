/* Who waits for a static constructor, on real runtimes: what the runtime notes of it is believed
 * only when all of it fits together. Between the process and its reader single words are changed.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "source/memory/contract.h"
#include "source/memory/locks.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"

#define APP SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"

static char runtimes[256];

/* A process, and one word of it that is read as something else. */
struct bench {
    pid_t pid;
    int input;
    int output;
    struct sn_memory *process;
    uint64_t address;
    uint64_t word;
    struct sn_runtime_memory *runtime;
    struct sn_type_system *types;
    struct sn_managed_thread *managed; /* owns */
    struct sn_lock_thread *threads;    /* owns */
    size_t count;
    size_t waiter;  /* the only one */
    uint64_t entry; /* what it waits for, as the runtime has it */
};

/* Ends when its input does, so none outlives the test. */
static void start(struct bench *bench, unsigned major)
{
    int input[2];
    int output[2];
    char dotnet[300];
    char line[128] = "";
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    bench->pid = fork();
    if (bench->pid == 0) {
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, dotnet, APP, "constructors", "slow", (char *)NULL);
        _exit(127);
    }
    assert_true(bench->pid > 0);
    close(input[0]);
    close(output[1]);
    bench->input = input[1];
    bench->output = output[0];
    for (size_t i = 0; i + 1 < sizeof(line) && !strchr(line, '\n'); i++) {
        struct pollfd waiting = {.fd = bench->output, .events = POLLIN};
        assert_int_equal(poll(&waiting, 1, 60000), 1);
        assert_int_equal(read(bench->output, line + i, 1), 1);
    }
    assert_non_null(strstr(line, "ready pid="));
}

static size_t read_changed(void *user, uint64_t address, void *to, size_t size)
{
    const struct bench *bench = user;
    size_t got = sn_memory_read_now(bench->process, address, to, size);
    if (bench->address >= address && got >= 8 && bench->address - address <= got - 8)
        memcpy((uint8_t *)to + (bench->address - address), &bench->word, 8);
    return got;
}

static struct sn_memory *open_changed(struct bench *bench)
{
    struct sonde_error err = {0};
    struct sn_memory *memory = NULL;
    const struct sn_memory_source source = {.read = read_changed, .user = bench};
    size_t count = sn_memory_map_count(bench->process);
    SN_AUTO(sn_free) struct sn_memory_map *maps = calloc(count, sizeof(*maps));
    assert_non_null(maps);
    for (size_t i = 0; i < count; i++)
        maps[i] = *sn_memory_map_at(bench->process, i);
    assert_int_equal(sn_memory_of_source(&source, maps, count, &memory, &err), SONDE_OK);
    return memory;
}

static uint64_t word_at(const struct bench *bench, uint64_t address)
{
    uint64_t word = 0;
    (void)sn_memory_read_now(bench->process, address, &word, sizeof(word));
    return word;
}

static uint32_t offset_of(const struct bench *bench, const char *type, const char *field)
{
    uint32_t offset = 0;
    assert_true(sn_contract_offset(bench->runtime->contract, type, field, &offset));
    return offset;
}

/* It comes to wait at any moment. */
static void await_waiter(struct bench *bench)
{
    uint32_t blocking = offset_of(bench, "Thread", "BlockingLock");
    for (;;) {
        for (size_t i = 0; i < bench->count; i++) {
            bench->waiter = i;
            bench->entry = word_at(bench, bench->managed[i].address + blocking);
            if (bench->entry)
                return;
        }
        assert_int_equal(waitpid(bench->pid, NULL, WNOHANG), 0);
        (void)usleep(1000);
    }
}

static void open_bench(struct bench *bench, unsigned major)
{
    static const struct sn_thread_state stopped = {.how = SN_THREAD_STOPPED, .syscall = SYS_futex};
    struct sonde_error err = {0};
    bool is_partial;
    *bench = (struct bench){0};
    start(bench, major);
    if (sn_memory_of_process((uint32_t)bench->pid, &bench->process, &err) != SONDE_OK ||
        sn_runtime_memory_open(open_changed(bench), &bench->runtime, &err) != SONDE_OK ||
        sn_type_system_new(bench->runtime, &bench->types, &err) != SONDE_OK ||
        sn_runtime_memory_threads(bench->runtime, &bench->managed, &bench->count, &is_partial,
                                  &err) != SONDE_OK)
        fail_msg("%s", err.text);
    assert_string_equal(bench->runtime->remarks, "");
    bench->threads = calloc(bench->count, sizeof(*bench->threads));
    assert_non_null(bench->threads);
    for (size_t i = 0; i < bench->count; i++)
        bench->threads[i] = (struct sn_lock_thread){
            .thread = &bench->managed[i], .state = &stopped, .wait = SN_LOCK_WAIT_NONE};
    await_waiter(bench);
}

static void close_bench(struct bench *bench)
{
    free(bench->threads);
    free(bench->managed);
    sn_type_system_free(bench->types);
    sn_runtime_memory_free(bench->runtime);
    sn_memory_free(bench->process);
    close(bench->input);
    (void)waitpid(bench->pid, NULL, 0);
    close(bench->output);
}

/* The name of the type whose constructor is waited for; "": nobody is said to wait. */
static const char *awaited(struct bench *bench, uint64_t address, uint64_t word)
{
    struct sn_lock_list list;
    const char *name = "";
    bench->address = address;
    bench->word = word;
    sn_memory_forget(bench->runtime->memory);
    assert_int_equal(
        sn_locks_read(bench->runtime, bench->types, NULL, bench->threads, bench->count, &list),
        SONDE_OK);
    assert_int_equal(list.deadlocks, 0);
    if (list.waits_for[bench->waiter]) {
        const struct sn_lock *lock = &list.locks[list.waits_for[bench->waiter] - 1];
        assert_int_equal(lock->kind, SN_LOCK_CONSTRUCTOR);
        assert_true(lock->owner && lock->owner != bench->waiter + 1);
        assert_int_equal(lock->owner_id, bench->managed[lock->owner - 1].os_id);
        name = sn_type_system_type(bench->types, lock->type)->name;
    }
    sn_locks_done(&list);
    bench->address = 0;
    return name;
}

static uint64_t without_constructor(const struct bench *bench)
{
    uint64_t variable;
    assert_true(sn_contract_address(bench->runtime->contract, "ObjectMethodTable", &variable));
    return word_at(bench, variable);
}

static void check_major(unsigned major)
{
    struct bench bench;
    open_bench(&bench, major);
    uint32_t size = offset_of(&bench, "ListLock", "!");
    uint64_t holder = bench.entry + offset_of(&bench, "DeadlockAwareLock", "HoldingThread");
    uint64_t list = bench.entry + offset_of(&bench, "DeadlockAwareLock", "List");
    uint64_t data = bench.entry + offset_of(&bench, "DeadlockAwareLock", "Data");
    uint64_t own = bench.managed[bench.waiter].address;
    const struct {
        uint64_t address;
        uint64_t word;
    } doubts[] = {
        {own + offset_of(&bench, "Thread", "BlockingLock"), 0}, /* it has just come through */
        {own + offset_of(&bench, "Thread", "BlockingLock"), bench.entry + 1},
        {own + offset_of(&bench, "Thread", "BlockingLock"), 0x7f0000000000},
        {holder, 0},                                 /* whoever ran it has just ended */
        {holder, own},                               /* nobody waits for itself */
        {holder, word_at(&bench, holder) + 64},      /* no thread */
        {list, word_at(&bench, list) + size},        /* of a list of other things */
        {list, word_at(&bench, list) - size},        /* likewise */
        {list, word_at(&bench, list) + 2ull * size}, /* likewise */
        {data, 0},                                   /* no type */
        {data, word_at(&bench, data) + 8},           /* likewise */
        {data, without_constructor(&bench)},
    };
    assert_string_equal(awaited(&bench, 0, 0), "Targets.Constructors+Slow");
    for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++) {
        const char *name = awaited(&bench, doubts[i].address, doubts[i].word);
        if (name[0])
            fail_msg(".NET %u, case %zu: %s was believed", major, i, name);
    }
    assert_string_equal(awaited(&bench, 0, 0), "Targets.Constructors+Slow");
    close_bench(&bench);
}

static void what_does_not_fit_is_no_wait_on_8(void **state)
{
    (void)state;
    check_major(8);
}

static void what_does_not_fit_is_no_wait_on_9(void **state)
{
    (void)state;
    check_major(9);
}

static void what_does_not_fit_is_no_wait_on_10(void **state)
{
    (void)state;
    check_major(10);
}

static int skip_all(const char *why)
{
    printf("skipped: %s\n", why);
    return 77;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_no_wait_on_8),
        cmocka_unit_test(what_does_not_fit_is_no_wait_on_9),
        cmocka_unit_test(what_does_not_fit_is_no_wait_on_10),
    };
    if (access(APP, R_OK) != 0)
        return skip_all("the test apps are not built: tests/apps/build");
    FILE *asked = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool is_known = asked && fgets(runtimes, sizeof(runtimes), asked);
    if (!asked || pclose(asked) != 0 || !is_known)
        return skip_all("no .NET runtimes: tools/test-runtimes");
    runtimes[strcspn(runtimes, "\n")] = '\0';
    return cmocka_run_group_tests(tests, NULL, NULL);
}
