#include "source/memory/thread_state.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/own.h"
#include "source/memory/memory.h"
#include "source/memory/thread_hold.h"

#define LOOKS_MAX        4u           /* at a thread that moves while it is read */
#define UNKNOWN_COPY_MAX (256u << 10) /* of a stack whose mapping is not known */
#define STATUS_SIZE      512u         /* of the lines below */

/* What the kernel says of a thread; the same before and after: it has not run between. */
struct mark {
    char schedule[96]; /* of a kernel that does not account it, missing or the same for ever */
    uint64_t switches;
    char syscall[320];
};

enum place {
    PLACE_TOLD, /* sp and pc are known */
    PLACE_RUNNING,
    PLACE_UNKNOWN,
};

static bool read_text(int task, const char *name, char *to, size_t size)
{
    long got = sn_file_peek_at(task, name, to, size);
    if (got <= 0)
        to[0] = 0;
    return got > 0;
}

/* The number behind "Key:" at the start of a line, or 0. */
static uint64_t number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void copy_name(const char *status, struct sn_thread_state *state)
{
    static const char key[] = "Name:\t";
    size_t size = 0;
    if (strncmp(status, key, sizeof(key) - 1) != 0)
        return;
    for (const char *at = status + sizeof(key) - 1; *at && *at != '\n'; at++)
        if (size < sizeof(state->name) - 1)
            state->name[size++] = *at;
    state->name[size] = 0;
}

static bool read_status(int task, struct sn_thread_state *state)
{
    static const char *const lines[] = {
        "Name:", "State:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:", NULL};
    char text[STATUS_SIZE];
    if (sn_file_peek_lines_at(task, "status", lines, text, sizeof(text)) <= 0)
        return false;
    const char *at = strstr(text, "\nState:\t");
    state->kernel_state = '?';
    if (at)
        state->kernel_state = at[8];
    state->switches = number_of(text, "\nvoluntary_ctxt_switches:") +
                      number_of(text, "\nnonvoluntary_ctxt_switches:");
    copy_name(text, state);
    return state->kernel_state != 'Z' && state->kernel_state != 'X';
}

bool sn_thread_is_there(int task)
{
    struct sn_thread_state state;
    return read_status(task, &state);
}

static bool read_mark(int task, struct sn_thread_state *state, struct mark *ret_mark)
{
    memset(ret_mark, 0, sizeof(*ret_mark));
    bool is_there = read_status(task, state);
    ret_mark->switches = state->switches;
    (void)read_text(task, "schedstat", ret_mark->schedule, sizeof(ret_mark->schedule));
    (void)read_text(task, "syscall", ret_mark->syscall, sizeof(ret_mark->syscall));
    return is_there;
}

static bool is_same(const struct mark *mark, const struct mark *other)
{
    return mark->switches == other->switches && !strcmp(mark->schedule, other->schedule) &&
           !strcmp(mark->syscall, other->syscall);
}

/* "202 0x.. 0x.. 0x.. 0x.. 0x.. 0x.. SP PC", "-1 SP PC" or "running". */
static enum place parse_place(const char *text, struct sn_thread_state *state)
{
    uint64_t words[8] = {0};
    unsigned count = 0;
    char *at = NULL;
    if (!strncmp(text, "running", 7))
        return PLACE_RUNNING;
    int64_t number = strtoll(text, &at, 10);
    while (at != text && count < 8 && *at == ' ') {
        char *from = at + 1;
        words[count++] = strtoull(from, &at, 16);
        if (at == from)
            break;
    }
    if (count != 8 && !(count == 2 && number == -1))
        return PLACE_UNKNOWN;
    state->syscall = number < 0 ? -1 : number;
    state->has_timeout = number == SYS_futex && words[3]; /* where the time is */
    state->registers = (struct sn_registers){.sp = words[count - 2], .ip = words[count - 1]};
    return state->registers.sp && state->registers.ip ? PLACE_TOLD : PLACE_UNKNOWN;
}

void sn_thread_copy_stack(struct sn_memory *memory, struct sn_thread_state *state)
{
    uint64_t sp = state->registers.sp;
    const struct sn_memory_map *map = sn_memory_map_of(memory, sp);
    uint64_t size = map ? map->end - sp : UNKNOWN_COPY_MAX;
    if (size > SN_STACK_COPY_MAX)
        size = SN_STACK_COPY_MAX;
    uint8_t *bytes = size ? realloc(state->stack, (size_t)size + SN_THREAD_NOTE) : NULL;
    state->note = NULL;
    state->stack_size = 0;
    if (!bytes)
        return;
    state->stack = bytes;
    state->stack_size = sn_memory_read_now(memory, sp, bytes, (size_t)size);
    if (state->note_address && sn_memory_read_now(memory, state->note_address, bytes + size,
                                                  SN_THREAD_NOTE) == SN_THREAD_NOTE)
        state->note = bytes + size;
}

static void be(struct sn_thread_state *state, enum sn_thread_how how)
{
    state->how = (uint8_t)how;
    if (how != SN_THREAD_GONE && how != SN_THREAD_RUNNING)
        return;
    state->stack_size = 0;
    state->note = NULL;
    state->registers = (struct sn_registers){0};
    state->syscall = -2;
}

static bool is_stopped(const struct sn_thread_state *state)
{
    return state->kernel_state == 'T' || state->kernel_state == 't';
}

/* True: it is known how it is. */
static bool take_held(struct sn_memory *memory, int task, uint32_t tid,
                      struct sn_thread_state *state)
{
    switch (sn_thread_hold(memory, task, tid, state)) {
    case SN_HOLD_DONE: be(state, SN_THREAD_HELD); return true;
    case SN_HOLD_STOPPED: be(state, SN_THREAD_STOPPED); return true;
    case SN_HOLD_GONE: be(state, SN_THREAD_GONE); return true;
    default: return false;
    }
}

/* One that was stopped outside of system calls has more registers than the kernel tells in passing,
 * and to hold it takes nothing from it. */
static bool wants_registers(const struct sn_thread_state *state)
{
    return state->kernel_state == 'T' && state->syscall < 0;
}

enum look { LOOK_DONE, LOOK_MOVED, LOOK_RUNNING };

static enum look look(struct sn_memory *memory, int task, uint32_t tid, bool may_hold,
                      struct sn_thread_state *state)
{
    struct mark before;
    struct mark after;
    if (!read_mark(task, state, &before)) {
        be(state, SN_THREAD_GONE);
        return LOOK_DONE;
    }
    if (parse_place(before.syscall, state) != PLACE_TOLD)
        return LOOK_RUNNING;
    if (may_hold && wants_registers(state) && take_held(memory, task, tid, state))
        return LOOK_DONE;
    if (parse_place(before.syscall, state) != PLACE_TOLD)
        return LOOK_RUNNING;
    sn_thread_copy_stack(memory, state);
    struct sn_thread_state later = {0};
    (void)read_mark(task, &later, &after);
    bool has_stayed = is_same(&before, &after);
    if (has_stayed) /* the first may have been read while it was on its way to sleep */
        state->kernel_state = later.kernel_state;
    be(state, is_stopped(state) ? SN_THREAD_STOPPED : SN_THREAD_WAITING);
    return has_stayed ? LOOK_DONE : LOOK_MOVED;
}

void sn_thread_state_read_noting(struct sn_memory *memory, uint32_t pid, uint32_t tid,
                                 bool may_hold, uint64_t note_address,
                                 struct sn_thread_state *ret_state)
{
    char path[64];
    enum look seen = LOOK_MOVED;
    *ret_state = (struct sn_thread_state){
        .how = SN_THREAD_GONE, .syscall = -2, .note_address = note_address};
    (void)snprintf(path, sizeof(path), "/proc/%u/task/%u", pid, tid);
    SN_AUTO(sn_close) int task = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (task < 0)
        return;
    for (unsigned i = 0; i < LOOKS_MAX && seen == LOOK_MOVED; i++)
        seen = look(memory, task, tid, may_hold, ret_state);
    if (seen != LOOK_DONE && !(may_hold && take_held(memory, task, tid, ret_state)))
        be(ret_state, SN_THREAD_RUNNING);
}

void sn_thread_state_read(struct sn_memory *memory, uint32_t pid, uint32_t tid, bool may_hold,
                          struct sn_thread_state *ret_state)
{
    sn_thread_state_read_noting(memory, pid, tid, may_hold, 0, ret_state);
}

void sn_thread_state_done(struct sn_thread_state *state)
{
    free(state->stack);
    *state = (struct sn_thread_state){.how = SN_THREAD_GONE, .syscall = -2};
}
