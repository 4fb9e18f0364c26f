/* Threads in the same place, as groups: the same methods at the same lines. */
#include <stdlib.h>
#include <string.h>

#include "api/stacks_internal.h"
#include "base/err.h"

static int compare_frames(const struct sonde_stack_frame *one,
                          const struct sonde_stack_frame *other)
{
    /* Texts are kept once each: the same text is the same pointer. */
    const void *ours[] = {one->name,      one->type_name, one->method_name,
                          one->signature, one->module,    one->file};
    const void *theirs[] = {other->name,      other->type_name, other->method_name,
                            other->signature, other->module,    other->file};
    int order = memcmp(ours, theirs, sizeof(ours));
    return order ? order : (one->line > other->line) - (one->line < other->line);
}

static int compare_places(const struct sonde_stack_thread *one,
                          const struct sonde_stack_thread *other)
{
    int order = (one->frame_count > other->frame_count) - (one->frame_count < other->frame_count);
    if (one->frames == other->frames)
        return order;
    for (size_t i = 0; !order && i < one->frame_count; i++)
        order = compare_frames(&one->frames[i], &other->frames[i]);
    return order;
}

static int by_place(const void *one, const void *other, void *user)
{
    const struct sonde_stacks *stacks = user;
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;
    int order = compare_places(&stacks->threads[a], &stacks->threads[b]);
    return order ? order : (a > b) - (a < b);
}

static int by_size(const void *one, const void *other)
{
    const struct sonde_stack_group *a = one;
    const struct sonde_stack_group *b = other;
    int order = (a->thread_count < b->thread_count) - (a->thread_count > b->thread_count);
    return order ? order : (a->threads[0] > b->threads[0]) - (a->threads[0] < b->threads[0]);
}

/* Threads that stand side by side and are in the same place become groups. */
static size_t make_groups(const struct sonde_stacks *stacks, struct sonde_stack_group *groups,
                          const uint32_t *members)
{
    size_t count = 0;
    for (size_t i = 0; i < stacks->thread_count; i++) {
        bool is_same = count > 0 && compare_places(&stacks->threads[members[i - 1]],
                                                   &stacks->threads[members[i]]) == 0;
        if (is_same)
            groups[count - 1].thread_count++;
        else
            groups[count++] = (struct sonde_stack_group){.threads = &members[i], .thread_count = 1};
    }
    return count;
}

int sn_stacks_group(struct sonde_stacks *stacks, struct sonde_error *err)
{
    size_t count = stacks->thread_count;
    uint32_t *members = calloc(count + 1, sizeof(*members));
    struct sonde_stack_group *groups = calloc(count + 1, sizeof(*groups));
    stacks->members = members;
    stacks->groups = groups;
    if (!members || !groups)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    for (size_t i = 0; i < count; i++)
        members[i] = (uint32_t)i;
    qsort_r(members, count, sizeof(*members), by_place, stacks);
    stacks->group_count = make_groups(stacks, groups, members);
    qsort(groups, stacks->group_count, sizeof(*groups), by_size);
    return SONDE_OK;
}
