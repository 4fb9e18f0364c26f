/* What our reading of a process's memory finds on its heap: locks, async methods that wait, and the
 * thread pool:
 *
 *   interop_objects PID [TIMES [DEADLINE_NS]]
 *
 * Prints lines of fields with tabs between, an empty line between two looks:
 *
 *   heap OBJECTS BYTES LOST REGIONS TORN HEAPS SERVER(0|1) COLLECTING(0|1) CHANGED(0|1) CUT(0|1)
 *   lock KIND TYPE OWNER DEPTH TOLD DEADLOCK WAITER,WAITER...
 *   chain COUNT WAITS_ON BLOCKS(0|1) CIRCLE(0|1) READY(0|1) TYPE:STATE TYPE:STATE ...
 *   pool KNOWN(0|1) QUEUED LOCAL HAS_WORKERS(0|1) WORKERS WORKING GOAL MIN MAX
 *   remark TEXT
 *
 * threads by the names that the kernel has. Frames are not looked at: what threads wait for is told
 * by their stacks alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sonde/error.h"
#include "source/memory/locks.h"
#include "source/memory/memory.h"
#include "source/memory/object_index.h"
#include "source/memory/pending_tasks.h"
#include "source/memory/runtime_memory.h"
#include "source/memory/thread_pool.h"
#include "source/memory/thread_state.h"
#include "source/memory/type_system.h"

struct look {
    uint32_t pid;
    uint64_t deadline_ns; /* of the walk over the heap; 0: none */
    struct sn_runtime_memory *runtime;
    struct sn_type_system *types;
    struct sn_object_index *index;
    struct sn_managed_thread *managed; /* owns */
    struct sn_thread_state *states;    /* owns */
    struct sn_lock_thread *threads;    /* owns */
    size_t count;
};

static void end_look(struct look *look)
{
    for (size_t i = 0; i < look->count; i++)
        sn_thread_state_done(&look->states[i]);
    free(look->managed);
    free(look->states);
    free(look->threads);
    sn_object_index_free(look->index);
}

static int start_look(struct look *look, struct sonde_error *err)
{
    bool is_partial;
    int rc =
        sn_runtime_memory_threads(look->runtime, &look->managed, &look->count, &is_partial, err);
    if (rc != SONDE_OK)
        return rc;
    look->states = calloc(look->count + 1, sizeof(*look->states));
    look->threads = calloc(look->count + 1, sizeof(*look->threads));
    if (!look->states || !look->threads)
        abort();
    for (size_t i = 0; i < look->count; i++) {
        uint32_t tid = (uint32_t)look->managed[i].os_id;
        sn_thread_state_read(look->runtime->memory, look->pid, tid, false, &look->states[i]);
        const struct sn_thread_state *state = &look->states[i];
        look->threads[i] =
            (struct sn_lock_thread){.thread = &look->managed[i],
                                    .state = state,
                                    .tid = tid,
                                    .native_end = state->registers.sp + state->stack_size};
    }
    return sn_object_index_read(look->runtime, look->types, look->deadline_ns, &look->index, err);
}

static void print_remark(const char *text)
{
    if (text[0])
        printf("remark\t%s\n", text);
}

static void print_heap(const struct look *look)
{
    const struct sn_heap_facts *facts = sn_object_index_facts(look->index);
    printf("heap\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%u\t%d\t%d\t%d\t%d\n",
           facts->objects, facts->bytes, facts->bytes_lost, facts->regions, facts->regions_torn,
           facts->heaps, facts->is_server, facts->is_collecting, facts->is_changed, facts->is_cut);
    print_remark(sn_object_index_remark(look->index));
}

static void print_lock(const struct look *look, const struct sn_lock_list *list,
                       const struct sn_lock *lock)
{
    static const char *const kinds[] = {"monitor", "thin", "Lock"};
    const struct sn_memory_type *type =
        lock->type ? sn_type_system_type(look->types, lock->type) : NULL;
    printf("lock\t%s\t%s\t%s\t%u\t%u\t%u\t", kinds[lock->kind], type ? type->name : "",
           lock->owner ? look->states[lock->owner - 1].name : "", lock->depth, lock->told,
           lock->deadlock);
    for (uint32_t i = 0; i < lock->waiter_count; i++)
        printf("%s%s", i ? "," : "", look->states[list->waiters[lock->first + i]].name);
    printf("\n");
}

static void print_locks(const struct look *look)
{
    struct sn_lock_list list;
    if (sn_locks_read(look->runtime, look->types, look->index, look->threads, look->count, &list) !=
        SONDE_OK)
        abort();
    for (size_t i = 0; i < list.count; i++)
        print_lock(look, &list, &list.locks[i]);
    print_remark(list.remark);
    sn_locks_done(&list);
}

static void print_tasks(const struct look *look)
{
    struct sn_task_list list;
    struct sonde_error err = {0};
    if (sn_tasks_read(look->runtime, look->types, look->index, &list, &err) != SONDE_OK) {
        print_remark(err.text);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct sn_task_chain *chain = &list.chains[i];
        printf("chain\t%" PRIu64 "\t%s\t%d\t%d\t%d", chain->count, chain->waits_on,
               chain->blocks != 0, chain->is_circle, chain->is_ready);
        for (uint32_t k = 0; k < chain->frame_count; k++) {
            const struct sn_task_frame *frame = &list.frames[chain->first + k];
            printf("\t%s%s:%d", frame->type_name, frame->token >> 24 == 6 ? "" : "?", frame->state);
        }
        printf("\n");
    }
    print_remark(list.remark);
    sn_tasks_done(&list);
}

static void print_pool(const struct look *look)
{
    struct sn_thread_pool pool;
    sn_thread_pool_read(look->runtime, look->types, look->index, &pool);
    printf("pool\t%d\t%" PRIu64 "\t%" PRIu64 "\t%d\t%u\t%u\t%u\t%u\t%u\n", pool.is_known,
           pool.queued, pool.queued_local, pool.has_workers, pool.workers, pool.working, pool.goal,
           pool.min_workers, pool.max_workers);
    print_remark(pool.remark);
}

static void print_all(const struct look *look)
{
    print_heap(look);
    print_locks(look);
    print_tasks(look);
    print_pool(look);
}

int main(int argc, char **argv)
{
    struct sonde_error err = {0};
    struct sn_memory *memory = NULL;
    struct look look = {.pid = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0};
    look.deadline_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    int rc = sn_memory_of_process(look.pid, &memory, &err);
    if (rc == SONDE_OK)
        rc = sn_runtime_memory_open(memory, &look.runtime, &err);
    if (rc == SONDE_OK)
        rc = sn_type_system_new(look.runtime, &look.types, &err);
    for (unsigned long i = 0; i < times && rc == SONDE_OK; i++) {
        sn_memory_forget(look.runtime->memory);
        (void)sn_memory_refresh_maps(look.runtime->memory, NULL);
        rc = start_look(&look, &err);
        if (rc == SONDE_OK) {
            if (i)
                printf("\n");
            print_all(&look);
        }
        end_look(&look);
        look.managed = NULL;
        look.states = NULL;
        look.threads = NULL;
        look.index = NULL;
        look.count = 0;
    }
    if (rc != SONDE_OK)
        fprintf(stderr, "%s\n", err.text);
    sn_type_system_free(look.types);
    sn_runtime_memory_free(look.runtime);
    return rc == SONDE_OK ? 0 : 1;
}
