#include "api/top_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/table.h"

#define SLICES     10u
#define STACKS_MAX 32768u     /* a slice, with their frames */
#define BARE_MAX   16384u     /* more of them, for those that lose theirs: one a process */
#define FRAMES_MAX (1u << 20) /* a slice */
#define DEPTH_MAX  1024u

struct entry {
    uint32_t pid;
    uint32_t depth;
    uint8_t kind;
    size_t frames_at;
    uint64_t weight_ns;
    uint64_t ready_ns;
    uint64_t last_ns;
};

struct slice {
    uint64_t number;       /* of all time */
    struct sn_table index; /* hash of a stack to its entry's number and one */
    struct entry *entries; /* owns */
    size_t count;
    size_t capacity;
    uint64_t *frames; /* owns */
    size_t frame_count;
    size_t frame_capacity;
};

struct sn_top_window {
    uint64_t slice_ns;
    uint64_t now; /* the present slice */
    uint64_t now_ns;
    uint64_t first_ns;
    struct slice slices[SLICES + 1]; /* the present one, and as many as the window has */
};

int sn_top_window_new(uint64_t window_ns, struct sn_top_window **ret_window,
                      struct sonde_error *err)
{
    struct sn_top_window *window = calloc(1, sizeof(*window));
    if (!window)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a live view");
    window->slice_ns = window_ns / SLICES ? window_ns / SLICES : 1;
    for (size_t i = 0; i <= SLICES; i++)
        window->slices[i].index = sn_table_with_limit(STACKS_MAX + BARE_MAX);
    *ret_window = window;
    return SONDE_OK;
}

void sn_top_window_free(struct sn_top_window *window)
{
    for (size_t i = 0; window && i <= SLICES; i++) {
        sn_table_done(&window->slices[i].index);
        free(window->slices[i].entries);
        free(window->slices[i].frames);
    }
    free(window);
}

static void empty(struct slice *slice, uint64_t number)
{
    slice->number = number;
    slice->count = 0;
    slice->frame_count = 0;
    sn_table_clear(&slice->index);
}

void sn_top_window_move(struct sn_top_window *window, uint64_t now_ns)
{
    uint64_t number = now_ns / window->slice_ns;
    if (!window->first_ns)
        window->first_ns = now_ns;
    if (now_ns > window->now_ns)
        window->now_ns = now_ns;
    if (number > window->now)
        window->now = number;
}

/* The slice of that time, emptied when it was another's; NULL: it has passed. */
static struct slice *slice_of(struct sn_top_window *window, uint64_t time_ns)
{
    uint64_t number = time_ns / window->slice_ns;
    sn_top_window_move(window, time_ns);
    if (number + SLICES < window->now)
        return NULL;
    struct slice *slice = &window->slices[number % (SLICES + 1)];
    if (slice->number != number)
        empty(slice, number);
    return slice;
}

static uint64_t hash_of(const struct sn_top_stack *stack)
{
    uint64_t hash = ((uint64_t)stack->pid << 8 | stack->kind) * 0x9E3779B97F4A7C15ull;
    for (uint32_t i = 0; i < stack->depth; i++)
        hash = ((hash << 7 | hash >> 57) ^ stack->frames[i]) * 0x9E3779B97F4A7C15ull;
    return hash;
}

static bool is_same(const struct slice *slice, const struct entry *entry,
                    const struct sn_top_stack *stack)
{
    return entry->pid == stack->pid && entry->kind == stack->kind && entry->depth == stack->depth &&
           (!stack->depth || memcmp(slice->frames + entry->frames_at, stack->frames,
                                    stack->depth * sizeof(*stack->frames)) == 0);
}

static bool keep_frames(struct slice *slice, const struct sn_top_stack *stack)
{
    if (slice->frame_count + stack->depth > FRAMES_MAX)
        return false;
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint64_t *frames = sn_array_room(slice->frames, slice->frame_count, &slice->frame_capacity,
                                         sizeof(*frames));
        if (!frames)
            return false;
        slice->frames = frames;
        frames[slice->frame_count++] = stack->frames[i];
    }
    return true;
}

static struct entry *new_entry(struct slice *slice, const struct sn_top_stack *stack)
{
    struct entry *entries =
        sn_array_room(slice->entries, slice->count, &slice->capacity, sizeof(*entries));
    if (!entries)
        return NULL;
    slice->entries = entries;
    size_t frames_at = slice->frame_count;
    if (!keep_frames(slice, stack)) {
        slice->frame_count = frames_at;
        return NULL;
    }
    entries[slice->count] = (struct entry){
        .pid = stack->pid, .kind = stack->kind, .depth = stack->depth, .frames_at = frames_at};
    return &entries[slice->count++];
}

/* The entry of a stack, new if need be; NULL when there is no room for it. Two stacks of one hash
 * are so rare that the second may go without its frames. */
static struct entry *entry_of(struct slice *slice, const struct sn_top_stack *stack, size_t limit)
{
    uint64_t hash = hash_of(stack);
    const uint64_t *known = sn_table_find(&slice->index, hash);
    if (known) {
        struct entry *entry = &slice->entries[*known - 1];
        return is_same(slice, entry, stack) ? entry : NULL;
    }
    struct entry *entry = slice->count < limit ? new_entry(slice, stack) : NULL;
    uint64_t *number = entry ? sn_table_put(&slice->index, hash) : NULL;
    if (number)
        *number = slice->count;
    return entry;
}

void sn_top_window_add(struct sn_top_window *window, const struct sn_top_stack *stack)
{
    struct slice *slice = slice_of(window, stack->last_ns);
    if (!slice)
        return;
    struct entry *entry = stack->depth <= DEPTH_MAX ? entry_of(slice, stack, STACKS_MAX) : NULL;
    if (!entry) {
        struct sn_top_stack bare = *stack;
        bare.depth = 0;
        entry = entry_of(slice, &bare, STACKS_MAX + BARE_MAX);
    }
    if (!entry)
        return;
    entry->weight_ns += stack->weight_ns;
    entry->ready_ns += stack->ready_ns;
    if (stack->last_ns > entry->last_ns)
        entry->last_ns = stack->last_ns;
}

uint64_t sn_top_window_span(const struct sn_top_window *window)
{
    uint64_t passed = window->now_ns - window->first_ns;
    uint64_t whole = SLICES * window->slice_ns + window->now_ns % window->slice_ns;
    return passed < whole ? passed : whole;
}

void sn_top_window_each(const struct sn_top_window *window, sn_top_stack_fn *each, void *user)
{
    for (size_t i = 0; i <= SLICES; i++) {
        const struct slice *slice = &window->slices[i];
        if (slice->number + SLICES < window->now)
            continue;
        for (size_t k = 0; k < slice->count; k++) {
            const struct entry *entry = &slice->entries[k];
            struct sn_top_stack stack = {.pid = entry->pid,
                                         .kind = entry->kind,
                                         .depth = entry->depth,
                                         .weight_ns = entry->weight_ns,
                                         .ready_ns = entry->ready_ns,
                                         .last_ns = entry->last_ns,
                                         .frames = entry->depth ? slice->frames + entry->frames_at
                                                                : NULL};
            each(user, &stack);
        }
    }
}
