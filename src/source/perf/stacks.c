#include "source/perf/stacks.h"

#include <linux/perf_event.h>
#include <string.h>

#include "format/perf_record.h"
#include "format/universal.h"
#include "source/perf/task_events.h"
#include "source/perf/tasks.h"

#define OTHER_BYTES 512u /* of a record: its chain, above all */

uint32_t sn_stack_user_bytes(uint32_t ring_kb, uint32_t per_second)
{
    static const uint32_t sizes[] = {SN_LEAF_WHOLE_BYTES, SN_LEAF_STACK_BYTES};
    uint64_t needed = (uint64_t)per_second * 2 / 5;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        if ((uint64_t)ring_kb * 1024 / (sizes[i] + OTHER_BYTES) >= needed)
            return sizes[i];
    }
    return SN_STACK_NEAR_BYTES;
}

/* The sample being made into a stack, and whose it is. */
struct making {
    struct sn_stack *stack;
    struct sn_task *task;
    uint64_t time_ns;
};

static uint64_t chain_word(const struct sn_perf_sample *sample, uint64_t at)
{
    uint64_t word;
    memcpy(&word, sample->chain + at * sizeof(word), sizeof(word));
    return word;
}

/* Addresses as the kernel gave them: its own, then the user's. */
static void gather(struct sn_stack *stack, const struct sn_perf_sample *sample)
{
    bool is_user = false;
    stack->depth = stack->kernel_depth = 0;
    for (uint64_t i = 0; i < sample->chain_count && stack->depth < SN_STACK_MAX; i++) {
        uint64_t word = chain_word(sample, i);
        if (sn_perf_is_mark(word)) {
            is_user = word == (uint64_t)PERF_CONTEXT_USER;
        } else if (is_user) {
            stack->frames[stack->depth++] = word;
        } else if (sn_universal_is_kernel(word) && stack->depth == stack->kernel_depth) {
            stack->frames[stack->depth++] = word;
            stack->kernel_depth++;
        }
    }
    /* What the first frame of a thread returns to. */
    while (stack->depth > stack->kernel_depth && !stack->frames[stack->depth - 1])
        stack->depth--;
}

static struct sn_mapping *mapping_at(const struct making *making, uint64_t address)
{
    if (sn_universal_is_kernel(address))
        return NULL;
    return sn_tasks_mapping(making->stack->tasks, making->task, address, making->time_ns);
}

static bool locate(void *user, uint64_t address, uint32_t *ret_object, uint64_t *ret_offset)
{
    const struct making *making = user;
    const struct sn_mapping *mapping = mapping_at(making, address);
    if (!mapping)
        return false;
    struct sn_task_events *events = sn_tasks_events(making->stack->tasks);
    *ret_object = sn_task_events_object(events, making->task, mapping);
    *ret_offset = address - mapping->start + mapping->offset;
    return true;
}

static void repair(struct making *making, const struct sn_perf_sample *sample)
{
    struct sn_stack *stack = making->stack;
    uint64_t *user = stack->frames + stack->kernel_depth;
    struct sn_leaf_sample from = {.ip = sample->regs[SN_STACK_REG_IP],
                                  .sp = sample->regs[SN_STACK_REG_SP],
                                  .bp = sample->regs[SN_STACK_REG_BP],
                                  .stack = sample->stack,
                                  .stack_size = sample->stack_size,
                                  .locate = locate,
                                  .user = making};
    struct sn_leaf_result result =
        sn_leaf_repair(stack->leaf, &from, user, stack->depth - stack->kernel_depth);
    stack->depth = stack->kernel_depth + (uint32_t)result.count;
    stack->found = result.found;
    stack->was_cut = result.is_cut;
}

/* The leaf of a thread that runs is code, known mapping or not. That of one in the kernel need not
 * be any more: in the middle of an exec it is the old program's. What follows are values that lay
 * where return addresses should, and code without frame pointers keeps anything there. A process
 * whose mappings are not to be had keeps its chains whole. */
static void tell_and_cut(const struct making *making)
{
    struct sn_stack *stack = making->stack;
    struct sn_task_events *events = sn_tasks_events(stack->tasks);
    for (uint32_t i = stack->kernel_depth; i < stack->depth; i++) {
        bool is_leaf = i == stack->kernel_depth;
        uint64_t call = is_leaf ? stack->frames[i] : stack->frames[i] - 1;
        struct sn_mapping *mapping = mapping_at(making, call);
        if (mapping) {
            sn_task_events_mapping(events, making->task, mapping, making->time_ns);
        } else if (!(is_leaf && !stack->kernel_depth) && !making->task->is_partial &&
                   stack->frames[i] != SN_LEAF_UNKNOWN) {
            stack->depth = i;
            stack->was_cut = true;
        }
    }
}

void sn_stack_build(struct sn_stack *stack, struct sn_task *task,
                    const struct sn_perf_record *record)
{
    struct making making = {.stack = stack, .task = task, .time_ns = record->time_ns};
    const struct sn_perf_sample *sample = &record->sample;
    stack->found = 0;
    stack->was_cut = false;
    gather(stack, sample);
    if (stack->kernel_depth)
        sn_task_events_kernel(sn_tasks_events(stack->tasks), task, record->time_ns);
    bool is_repairable = stack->depth > stack->kernel_depth && sample->has_regs && sample->stack &&
                         !task->is_partial;
    if (stack->leaf && is_repairable)
        repair(&making, sample);
    tell_and_cut(&making);
}
