/* Stacks of real processes whose memory is damaged on its way: any read may be refused, cut short,
 * or bring words that are something else. Whatever comes, taking them ends soon, in bounded memory,
 * and afterwards all is as before.
 *
 * The linker leads every pread of the library through here. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sonde/stacks.h"

#define APP    SONDE_SOURCE_DIR "/build/apps/targets/targets.dll"
#define ROUNDS 60u
#define LEAST  14u /* rounds: each strength of damage once */
#define BUDGET_NS                                                                  \
    (4ull * SN_NS_PER_SECOND) /* of one runtime's rounds; enough were done by then \
                               */
#define ONE_TAKE_NS (60ull * SN_NS_PER_SECOND) /* more than that hangs */
#define MEMORY_KB   (1l << 20)

static char runtimes[256];
static unsigned rounds_asked = ROUNDS; /* HURT_ROUNDS=N: so many, however long they take */
static uint64_t budget_ns = BUDGET_NS;
static uint64_t draw_state = 1;
static unsigned hurt_words; /* of a million words, so many; 0: nothing is hurt */
static unsigned hurt_reads; /* of a million reads */
static unsigned long hurts;

static uint32_t draw(uint32_t below)
{
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 7;
    draw_state ^= draw_state << 17;
    return (uint32_t)(draw_state >> 16) % below;
}

static uint64_t bad_word(uint64_t was, uint64_t other)
{
    switch (draw(7)) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return other; /* points where its neighbour does: lists come to loop */
    case 3: return was ^ UINT64_C(1) << draw(64);
    case 4: return was + 8ull * draw(64);
    case 5: return draw(1u << 31);
    default: return (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
    }
}

static ssize_t hurt(void *to, ssize_t got)
{
    if (got < 8)
        return got;
    size_t words = (size_t)got / 8;
    uint64_t expected = (uint64_t)words * hurt_words;
    uint64_t count = expected / 1000000 + (draw(1000000) < expected % 1000000);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word;
        uint64_t other;
        uint8_t *at = (uint8_t *)to + 8ul * draw((uint32_t)words);
        memcpy(&word, at, 8);
        memcpy(&other, (uint8_t *)to + 8ul * draw((uint32_t)words), 8);
        word = bad_word(word, other);
        memcpy(at, &word, 8);
        hurts++;
    }
    if (draw(1000000) >= hurt_reads)
        return got;
    hurts++;
    return draw(2) ? 0 : got / 2;
}

/* By the names that the linker's --wrap gives them. */
ssize_t real_pread(int fd, void *to, size_t size, off_t offset) __asm__("__real_pread");
ssize_t real_pread64(int fd, void *to, size_t size, off_t offset) __asm__("__real_pread64");
ssize_t hurt_pread(int fd, void *to, size_t size, off_t offset) __asm__("__wrap_pread");
ssize_t hurt_pread64(int fd, void *to, size_t size, off_t offset) __asm__("__wrap_pread64");

ssize_t hurt_pread(int fd, void *to, size_t size, off_t offset)
{
    return hurt(to, real_pread(fd, to, size, offset));
}

ssize_t hurt_pread64(int fd, void *to, size_t size, off_t offset)
{
    return hurt(to, real_pread64(fd, to, size, offset));
}

/* --- the process --- */

struct app {
    pid_t pid;
    int input;
    int output;
};

static void await_ready(const struct app *app)
{
    char last[64] = "";
    for (;;) {
        struct pollfd waiting = {.fd = app->output, .events = POLLIN};
        char byte;
        assert_int_equal(poll(&waiting, 1, 120000), 1);
        assert_int_equal(read(app->output, &byte, 1), 1);
        size_t size = strlen(last);
        if (size + 1 == sizeof(last))
            memmove(last, last + 1, size--);
        last[size] = byte;
        last[size + 1] = '\0';
        if (byte == '\n' && strstr(last, "ready pid="))
            return;
    }
}

static struct app start(unsigned major, const char *behaviour, const char *argument)
{
    struct app app = {0};
    int input[2];
    int output[2];
    char dotnet[300];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    (void)snprintf(dotnet, sizeof(dotnet), "%s/%u/dotnet", runtimes, major);
    app.pid = fork();
    if (app.pid == 0) {
        setenv("DOTNET_ROLL_FORWARD", "LatestMajor", 1);
        setenv("DOTNET_DbgEnableMiniDump", "0", 1);
        dup2(input[0], 0);
        dup2(output[1], 1);
        execl(dotnet, dotnet, APP, behaviour, argument, "parked=20", (char *)NULL);
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    app.input = input[1];
    app.output = output[0];
    await_ready(&app);
    return app;
}

static void end(struct app *app)
{
    assert_int_equal(waitpid(app->pid, NULL, WNOHANG), 0); /* it lives */
    (void)kill(app->pid, SIGKILL);
    assert_int_equal(waitpid(app->pid, NULL, 0), app->pid);
    close(app->input);
    close(app->output);
}

/* --- taking --- */

static int drop(void *user, const void *bytes, size_t size)
{
    size_t *total = user;
    (void)bytes;
    *total += size;
    return 0;
}

static void check_texts(const struct sonde_stacks *stacks)
{
    for (size_t i = 0; i < sonde_stacks_thread_count(stacks); i++) {
        const struct sonde_stack_thread *thread = sonde_stacks_thread(stacks, i);
        assert_non_null(thread->name);
        for (size_t k = 0; k < thread->frame_count; k++) {
            const struct sonde_stack_frame *frame = &thread->frames[k];
            assert_true(frame->name && frame->type_name && frame->method_name && frame->signature &&
                        frame->module && frame->file);
        }
    }
}

/* How many threads are in Park; -1: none came. */
static int take(pid_t pid)
{
    const struct sonde_stacks_options options = {.size = sizeof(options),
                                                 .way = SONDE_STACKS_MEMORY,
                                                 .with_lines = true,
                                                 .with_native = true,
                                                 .with_tasks = true,
                                                 .with_locks = true};
    struct sonde_stacks *stacks = NULL;
    size_t written = 0;
    int parked = 0;
    uint64_t began = sn_clock_monotonic_ns();
    int rc = sonde_stacks_take((uint32_t)pid, &options, &stacks, NULL);
    assert_true(sn_clock_monotonic_ns() - began < ONE_TAKE_NS);
    if (rc != SONDE_OK)
        return -1;
    check_texts(stacks);
    for (size_t i = 0; i < sonde_stacks_thread_count(stacks); i++) {
        const struct sonde_stack_thread *thread = sonde_stacks_thread(stacks, i);
        for (size_t k = 0; k < thread->frame_count; k++)
            parked += strcmp(thread->frames[k].method_name, "Park") == 0;
    }
    assert_int_equal(sonde_stacks_write(stacks, "json", drop, &written, NULL), SONDE_OK);
    assert_true(written > 0);
    sonde_stacks_free(stacks);
    return parked;
}

static void hurt_rounds(unsigned major, const char *behaviour, const char *argument)
{
    struct rusage usage;
    unsigned taken = 0;
    unsigned rounds = 0;
    struct app app = start(major, behaviour, argument);
    assert_int_equal(take(app.pid), 20);
    uint64_t began = sn_clock_monotonic_ns();
    hurts = 0;
    for (; rounds < rounds_asked; rounds++) {
        if (rounds >= LEAST && sn_clock_monotonic_ns() - began >= budget_ns)
            break;
        draw_state = rounds + 1 + major * 1000000u;
        hurt_words = 3u << rounds % LEAST; /* from almost nothing to two words of a page and more */
        hurt_reads = rounds % 3 ? 0 : 2000;
        taken += take(app.pid) >= 0;
    }
    hurt_words = hurt_reads = 0;
    assert_int_equal(take(app.pid), 20);
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    print_message(".NET %u: %u rounds, %u gave stacks, %lu reads hurt, at most %ld MB\n", major,
                  rounds, taken, hurts, usage.ru_maxrss / 1024);
    assert_true(usage.ru_maxrss < MEMORY_KB);
    assert_true(hurts > rounds);
    assert_true(taken > 0); /* it was not always the first damage that ended it */
    end(&app);
}

static void test_8(void **state)
{
    (void)state;
    hurt_rounds(8, "state", "deadlock");
}

static void test_9(void **state)
{
    (void)state;
    hurt_rounds(9, "state", "deadlock");
}

static void test_10(void **state)
{
    (void)state;
    hurt_rounds(10, "state", "deadlock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_10), cmocka_unit_test(test_9),
                                       cmocka_unit_test(test_8)};
    const char *more = getenv("HURT_ROUNDS");
    if (more) {
        rounds_asked = (unsigned)strtoul(more, NULL, 10);
        budget_ns = UINT64_MAX;
    }
    FILE *asked = popen(SONDE_SOURCE_DIR "/tools/test-runtimes", "r");
    bool known = asked && fgets(runtimes, sizeof(runtimes), asked);
    if (!asked || pclose(asked) != 0 || !known || access(APP, R_OK) != 0) {
        (void)fprintf(stderr, "skipped: no .NET runtimes or test apps\n");
        return 77;
    }
    runtimes[strcspn(runtimes, "\n")] = '\0';
    return cmocka_run_group_tests(tests, NULL, NULL);
}
