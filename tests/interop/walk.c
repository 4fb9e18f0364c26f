/* The stacks of a process from its memory, frame by frame with raw addresses: what the walker's own
 * eyes see, before anything is left out or named nicely.
 *
 *   walk PID [--no-stop] [--quiet] [--times N]    once, or N times with a count of what was found
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "source/memory/code_map.h"
#include "source/memory/memory.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/stack_walk.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"
#include "symbol/objects.h"

struct tool {
    uint32_t pid;
    bool may_hold;
    bool is_quiet;
    unsigned times;
    struct sn_runtime_memory *runtime;
    struct sn_code_map *code;
    struct sn_type_system *types;
    struct sn_objects *objects;
    struct sn_stack_walk *walk;
    struct sn_managed_thread *threads;
    size_t thread_count;
    /* what was found */
    uint64_t looks, whole, gaps, frames, bare;
    uint64_t how[8];
    uint64_t held_ns, held_most;
};

static const char *const hows[] = {"gone", "waiting", "stopped", "held", "running"};

static const struct sn_managed_thread *managed(const struct tool *tool, uint32_t tid)
{
    for (size_t i = 0; i < tool->thread_count; i++)
        if (tool->threads[i].os_id == tid)
            return &tool->threads[i];
    return NULL;
}

static void print_native(const struct tool *tool, const struct sn_walk_frame *frame)
{
    struct sn_object_symbol symbol;
    struct sn_object_facts facts;
    const char *file = sn_objects_facts(tool->objects, frame->object, &facts) ? facts.name : "?";
    bool is_named = sn_objects_symbol(tool->objects, frame->object, frame->vaddr, &symbol);
    printf("%s!%s+0x%llx\n", file, is_named ? symbol.name : "",
           (unsigned long long)(frame->vaddr - (is_named ? symbol.start : 0)));
}

static void print_managed(const struct tool *tool, const struct sn_walk_frame *frame)
{
    const struct sn_memory_method *method =
        tool->types ? sn_type_system_method(tool->types, frame->code.method) : NULL;
    const struct sn_memory_method *callee =
        tool->types && frame->callee ? sn_type_system_method(tool->types, frame->callee) : NULL;
    printf("%s%s%s %s.%s +0x%llx%s%s\n", frame->code.kind == SN_CODE_JIT ? "jit" : "r2r",
           frame->code.is_funclet ? " funclet" : "", frame->code.unwind_info ? "" : " no-unwind",
           method ? method->type_name : "?", method ? method->name : "?",
           (unsigned long long)(frame->address - frame->code.function), callee ? " calls " : "",
           callee ? callee->name : "");
}

static void print_frame(const struct tool *tool, const struct sn_walk_frame *frame)
{
    static const char *const kinds[] = {"managed", "stub", "native", "UNKNOWN"};
    printf("%c %012llx sp %012llx %c %-7s ", frame->is_unwound ? '-' : ' ',
           (unsigned long long)frame->address, (unsigned long long)frame->sp,
           frame->is_return ? 'r' : '.', kinds[frame->kind]);
    if (frame->kind == SN_WALK_NATIVE)
        print_native(tool, frame);
    else if (frame->kind == SN_WALK_MANAGED)
        print_managed(tool, frame);
    else
        printf("\n");
}

static void look_at(struct tool *tool, uint32_t tid)
{
    struct sn_thread_state state;
    const struct sn_walk_frame *frames = NULL;
    bool is_whole = false;
    const struct sn_managed_thread *thread = managed(tool, tid);
    sn_thread_state_read_noting(tool->runtime->memory, tool->pid, tid, tool->may_hold,
                                thread ? thread->address : 0, &state);
    size_t count = sn_stack_walk_take(tool->walk, &state, thread, &frames, &is_whole);
    tool->looks++;
    tool->how[state.how]++;
    tool->frames += count;
    tool->bare += !count;
    tool->whole += is_whole;
    tool->held_ns += state.held_ns;
    if (state.held_ns > tool->held_most)
        tool->held_most = state.held_ns;
    for (size_t i = 0; i < count; i++)
        tool->gaps += frames[i].kind == SN_WALK_UNKNOWN;
    if (!tool->is_quiet) {
        printf("thread %u %s %s %c syscall %lld %s%s\n", tid, state.name, hows[state.how],
               state.kernel_state, (long long)state.syscall, thread ? "managed " : "",
               is_whole ? "whole" : "CUT");
        for (size_t i = 0; i < count; i++)
            print_frame(tool, &frames[i]);
    }
    sn_thread_state_done(&state);
}

static void look(struct tool *tool)
{
    char path[64];
    bool is_partial = false;
    struct sonde_error err;
    sn_memory_forget(tool->runtime->memory);
    (void)sn_memory_refresh_maps(tool->runtime->memory, NULL);
    free(tool->threads);
    tool->threads = NULL;
    tool->thread_count = 0;
    if (sn_runtime_memory_threads(tool->runtime, &tool->threads, &tool->thread_count, &is_partial,
                                  &err))
        fprintf(stderr, "threads: %s\n", err.text);
    (void)snprintf(path, sizeof(path), "/proc/%u/task", tool->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry = tasks ? readdir(tasks) : NULL; entry; entry = readdir(tasks))
        if (entry->d_name[0] != '.')
            look_at(tool, (uint32_t)strtoul(entry->d_name, NULL, 10));
    if (tasks)
        (void)closedir(tasks);
}

static int set_up(struct tool *tool)
{
    struct sonde_error err = {0};
    struct sn_memory *memory = NULL;
    int rc = sn_memory_of_process(tool->pid, &memory, &err);
    if (!rc)
        rc = sn_runtime_memory_open(memory, &tool->runtime, &err);
    if (!rc)
        rc = sn_objects_new(&tool->objects, &err);
    if (rc) {
        fprintf(stderr, "walk: %s\n", err.text);
        return rc;
    }
    if (sn_code_map_new(tool->runtime, &tool->code, &err))
        fprintf(stderr, "walk: no code map: %s\n", err.text);
    if (sn_type_system_new(tool->runtime, &tool->types, &err))
        fprintf(stderr, "walk: no types: %s\n", err.text);
    return sn_stack_walk_new(tool->runtime, tool->code, tool->objects, &tool->walk, &err);
}

int main(int argc, char **argv)
{
    struct tool tool = {.may_hold = true, .times = 1};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--no-stop"))
            tool.may_hold = false;
        else if (!strcmp(argv[i], "--quiet"))
            tool.is_quiet = true;
        else if (!strcmp(argv[i], "--times") && i + 1 < argc)
            tool.times = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            tool.pid = (uint32_t)strtoul(argv[i], NULL, 10);
    }
    if (!tool.pid || set_up(&tool))
        return 1;
    uint64_t began = sn_clock_monotonic_ns();
    for (unsigned i = 0; i < tool.times; i++)
        look(&tool);
    uint64_t took = sn_clock_monotonic_ns() - began;
    printf("looks %llu whole %llu gaps %llu frames %llu bare %llu gone %llu waiting %llu stopped "
           "%llu held %llu running %llu; %llu us a look; held %llu us on average, %llu at most\n",
           (unsigned long long)tool.looks, (unsigned long long)tool.whole,
           (unsigned long long)tool.gaps, (unsigned long long)tool.frames,
           (unsigned long long)tool.bare, (unsigned long long)tool.how[0],
           (unsigned long long)tool.how[1], (unsigned long long)tool.how[2],
           (unsigned long long)tool.how[3], (unsigned long long)tool.how[4],
           (unsigned long long)(took / 1000 / (tool.looks ? tool.looks : 1)),
           (unsigned long long)(tool.how[3] ? tool.held_ns / tool.how[3] / 1000 : 0),
           (unsigned long long)(tool.held_most / 1000));
    free(tool.threads);
    sn_stack_walk_free(tool.walk);
    sn_type_system_free(tool.types);
    sn_code_map_free(tool.code);
    sn_objects_free(tool.objects);
    sn_runtime_memory_free(tool.runtime);
    return 0;
}
