#include "dwarf/dwarf_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "dwarf/cage.h"
#include "dwarf/line_search.h"

#define PATIENCE_NS ((SN_CAGE_CPU_SECONDS + 5u) * (uint64_t)SN_NS_PER_SECOND)
#define CHUNK_BYTES 4096u

struct answers {
    const uint64_t *addresses;
    size_t count;
    sonde_native_line_fn *take;
    void *user;
    size_t found;
    uint8_t bytes[2 * CHUNK_BYTES]; /* that came and are not yet taken; holds the largest answer */
    size_t size;
};

_Static_assert(sizeof(struct sn_line_answer) + SN_LINE_FILE_MAX <= CHUNK_BYTES,
               "an answer and what came with it have room");

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* What the child says is no more to be trusted than the file that it read. */
static bool take_answer(struct answers *answers, const struct sn_line_answer *answer,
                        const uint8_t *name)
{
    char file[SN_LINE_FILE_MAX + 1];
    if (!answer->line || !bsearch(&answer->address, answers->addresses, answers->count,
                                  sizeof(*answers->addresses), compare))
        return false;
    memcpy(file, name, answer->file_size);
    file[answer->file_size] = 0;
    answers->take(answers->user, answer->address, file, answer->line);
    answers->found++;
    return answers->found < answers->count;
}

/* The whole answers among the bytes. False: enough, or it says what no search would say. */
static bool take_answers(struct answers *answers)
{
    struct sn_line_answer answer;
    size_t at = 0;
    while (answers->size - at >= sizeof(answer)) {
        memcpy(&answer, answers->bytes + at, sizeof(answer));
        if (answer.file_size > SN_LINE_FILE_MAX)
            return false;
        if (answers->size - at < sizeof(answer) + answer.file_size)
            break;
        if (!take_answer(answers, &answer, answers->bytes + at + sizeof(answer)))
            return false;
        at += sizeof(answer) + answer.file_size;
    }
    answers->size -= at;
    memmove(answers->bytes, answers->bytes + at, answers->size);
    return true;
}

static bool is_readable(int fd, uint64_t deadline)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready = 0;
    do
        ready = poll(&wait, 1, sn_clock_poll_ms(deadline));
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

static void hear(int fd, struct answers *answers)
{
    uint64_t deadline = sn_clock_deadline(PATIENCE_NS);
    while (is_readable(fd, deadline)) {
        ssize_t got = read(fd, answers->bytes + answers->size, CHUNK_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        answers->size += (size_t)got;
        if (!take_answers(answers))
            return;
    }
}

static void end_child(pid_t child)
{
    (void)kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static _Noreturn void be_child(int fd, int out, const uint64_t *addresses, size_t count)
{
    if (sn_cage_enter(fd, out))
        sn_line_search(SN_CAGE_IN, addresses, count, SN_CAGE_OUT);
    _exit(0);
}

size_t sn_dwarf_lines(int fd, const uint64_t *addresses, size_t count, sonde_native_line_fn *take,
                      void *user)
{
    struct answers answers = {.addresses = addresses, .count = count, .take = take, .user = user};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0)
        be_child(fd, ends[1], addresses, count);
    sn_close(ends[1]);
    if (child > 0) {
        hear(ends[0], &answers);
        end_child(child);
    }
    sn_close(ends[0]);
    return answers.found;
}
