/* From addresses to frames with names, modules and lines; and the names of threads. */
#include "api/stacks_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/module_facts.h"
#include "api/stacks_session.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/table.h"
#include "source/proc/ns_threads.h"
#include "symbol/lines.h"
#include "symbol/methods.h"
#include "symbol/names.h"

#define KNOWN_MAX  (1u << 19) /* different places */
#define NAME_LIMIT 65536u

struct naming {
    struct sonde_stacks *stacks;       /* borrows */
    struct sn_stacks_session *session; /* borrows */
    struct sn_ns_threads *threads;     /* owns */
    struct sonde_stack_frame *known;   /* owns; one for each address */
    size_t known_count;
    size_t known_capacity;
    struct sn_table by_address; /* and whether it is one to return to -> index in `known` + 1 */
    struct sn_table by_stack;   /* a key of all addresses -> index of a sample + 1 */
    struct sn_module_facts modules;
    struct sn_buf name;
};

static void naming_done_auto(struct naming *naming)
{
    sn_ns_threads_free(naming->threads);
    free(naming->known);
    sn_table_done(&naming->by_address);
    sn_table_done(&naming->by_stack);
    sn_module_facts_done(&naming->modules);
    sn_buf_done(&naming->name);
}

static const char *keep(struct naming *naming, const char *text)
{
    return sn_stacks_keep(naming->stacks, text);
}

/* --- frames --- */

/* Mostly a stub that calls native code: the runtime does not tell of these. */
static void name_unknown(uint64_t address, struct sonde_stack_frame *frame)
{
    *frame = (struct sonde_stack_frame){.name = "[unknown code]",
                                        .type_name = "",
                                        .method_name = "",
                                        .signature = "",
                                        .module = "",
                                        .file = "",
                                        .address = address,
                                        .kind = SONDE_FRAME_NATIVE};
}

static void name_method(struct naming *naming, const struct sn_method *method, uint64_t address,
                        struct sonde_stack_frame *frame)
{
    const struct sn_module_fact *module = sn_module_facts_find(
        &naming->modules, naming->stacks->pid, naming->session->methods, method->module_id);
    const char *arguments = strchr(method->signature, '(');
    sn_buf_clear(&naming->name);
    sn_name_readable(&naming->name, method->type, method->name);
    *frame = (struct sonde_stack_frame){.name = keep(naming, sn_buf_string(&naming->name)),
                                        .type_name = keep(naming, method->type),
                                        .method_name = keep(naming, method->name),
                                        .signature = keep(naming, arguments ? arguments : ""),
                                        .module = keep(naming, module->name),
                                        .file = "",
                                        .token = method->token,
                                        .address = address,
                                        .kind = SONDE_FRAME_MANAGED};
    memcpy(frame->module_version_id, module->version_id, sizeof(module->version_id));
}

static void add_line(struct naming *naming, const struct sn_method *method, uint64_t inside,
                     struct sonde_stack_frame *frame)
{
    const char *file = NULL;
    uint32_t line = 0;
    if (!naming->session->lines ||
        !sn_lines_find(naming->session->lines, method, inside, &file, &line))
        return;
    frame->file = keep(naming, file);
    frame->line = line;
}

/* An address to return to belongs to the instruction before it. */
static void name_address(struct naming *naming, uint64_t address, bool is_return, uint64_t time_ns,
                         struct sonde_stack_frame *frame)
{
    uint64_t inside = address - is_return;
    const struct sn_method *method =
        address ? sn_methods_find(naming->session->methods, inside, time_ns) : NULL;
    if (!method) {
        name_unknown(address, frame);
        return;
    }
    name_method(naming, method, address, frame);
    add_line(naming, method, inside, frame);
}

/* NULL without room. */
static const struct sonde_stack_frame *find_frame(struct naming *naming, uint64_t address,
                                                  bool is_return, uint64_t time_ns)
{
    uint64_t *slot = sn_table_put(&naming->by_address, address << 1 | is_return);
    if (!slot)
        return NULL;
    if (*slot)
        return &naming->known[*slot - 1];
    struct sonde_stack_frame *known =
        sn_array_room(naming->known, naming->known_count, &naming->known_capacity, sizeof(*known));
    if (!known)
        return NULL;
    naming->known = known;
    *slot = ++naming->known_count;
    name_address(naming, address, is_return, time_ns, &known[naming->known_count - 1]);
    return &known[naming->known_count - 1];
}

/* How many of the innermost frames are only where the runtime holds a thread that it has stopped,
 * with the stubs between: not what the program does. */
static size_t held_count(const struct sonde_stack_frame *frames, size_t count)
{
    size_t held = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        if (sn_name_is_stop(frames[i].type_name, frames[i].method_name))
            held = i + 1;
        else if (frames[i].kind != SONDE_FRAME_NATIVE)
            break;
    }
    return held;
}

static const uint64_t *addresses_of(const struct sn_stack_round *round,
                                    const struct sn_stack_sample *sample)
{
    return (const uint64_t *)(const void *)round->addresses.bytes + sample->offset;
}

/* Frames of a thread as an offset: the array may still move. False without room. */
struct run {
    size_t first;
    size_t count;
};

static bool add_frames(struct naming *naming, const struct sn_stack_round *round,
                       const struct sn_stack_sample *sample, struct run *ret_run)
{
    struct sonde_stacks *stacks = naming->stacks;
    const uint64_t *addresses = addresses_of(round, sample);
    size_t first = stacks->frame_count;
    for (uint32_t i = 0; i < sample->depth; i++) {
        bool is_return = i > 0 || !sample->is_managed;
        if (!sn_stacks_append(stacks,
                              find_frame(naming, addresses[i], is_return, sample->time_ns))) {
            stacks->frame_count = first;
            return false;
        }
    }
    size_t held = held_count(stacks->frames + first, sample->depth);
    *ret_run = (struct run){.first = first + held, .count = sample->depth - held};
    return true;
}

/* The index of a sample before this one that is at the very same addresses; its own when there is
 * none. */
static size_t find_same(struct naming *naming, const struct sn_stack_round *round, size_t index)
{
    const struct sn_stack_sample *sample = &round->samples[index];
    const uint64_t *addresses = addresses_of(round, sample);
    size_t size = sample->depth * sizeof(uint64_t);
    uint64_t key = sn_table_key(addresses, size) * 2 + sample->is_managed;
    uint64_t *slot = sn_table_put(&naming->by_stack, key);
    if (!slot)
        return index;
    if (!*slot)
        *slot = index + 1;
    const struct sn_stack_sample *other = &round->samples[*slot - 1];
    bool is_same = other->depth == sample->depth && other->is_managed == sample->is_managed &&
                   memcmp(addresses_of(round, other), addresses, size) == 0;
    return is_same ? *slot - 1 : index;
}

/* --- threads --- */

static const char *thread_name(struct naming *naming, uint64_t ns_tid)
{
    char path[96];
    char name[32];
    uint64_t tid = sn_ns_threads_find(naming->threads, ns_tid);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu64 "/comm",
                   naming->stacks->pid, tid);
    if (sn_file_peek_at(AT_FDCWD, path, name, sizeof(name)) < 0)
        return ""; /* it has ended meanwhile */
    name[strcspn(name, "\n")] = '\0';
    return strcmp(name, naming->stacks->comm) == 0 ? "" : keep(naming, name);
}

static int by_id(const void *one, const void *other)
{
    uint64_t a = ((const struct sonde_stack_thread *)one)->thread_id;
    uint64_t b = ((const struct sonde_stack_thread *)other)->thread_id;
    return a < b ? -1 : a > b;
}

/* Frames move while they are added, so threads get theirs at the end. */
static void add_threads(struct naming *naming, const struct sn_stack_round *round, struct run *runs)
{
    struct sonde_stacks *stacks = naming->stacks;
    for (size_t i = 0; i < round->count; i++) {
        const struct sn_stack_sample *sample = &round->samples[i];
        size_t same = find_same(naming, round, i);
        if (same != i)
            runs[i] = runs[same];
        else if (!add_frames(naming, round, sample, &runs[i]))
            runs[i] = (struct run){0};
    }
    for (size_t i = 0; i < round->count; i++) {
        const struct sn_stack_sample *sample = &round->samples[i];
        if (!runs[i].count) {
            stacks->lost_count++;
            continue;
        }
        stacks->threads[stacks->thread_count++] =
            (struct sonde_stack_thread){.thread_id = sample->thread_id,
                                        .name = thread_name(naming, sample->thread_id),
                                        .is_managed = sample->is_managed,
                                        .frames = stacks->frames + runs[i].first,
                                        .syscall = "",
                                        .exception = "",
                                        .message = "",
                                        .frame_count = runs[i].count};
    }
    if (stacks->thread_count)
        qsort(stacks->threads, stacks->thread_count, sizeof(*stacks->threads), by_id);
}

int sn_stacks_name(struct sonde_stacks *stacks, struct sn_stacks_session *session,
                   struct sonde_error *err)
{
    const struct sn_stack_round *round = sn_stacks_session_round(session);
    SN_AUTO(naming_done)
    struct naming naming = {.stacks = stacks,
                            .session = session,
                            .threads = sn_ns_threads_new(stacks->pid),
                            .by_address = sn_table_with_limit(KNOWN_MAX),
                            .by_stack = sn_table_with_limit(round->count + 1),
                            .name = sn_buf_with_limit(NAME_LIMIT)};
    sn_module_facts_init(&naming.modules);
    SN_AUTO(sn_free) struct run *runs = calloc(round->count + 1, sizeof(*runs));
    stacks->threads = calloc(round->count + 1, sizeof(*stacks->threads));
    if (!runs || !stacks->threads || !naming.threads)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    add_threads(&naming, round, runs);
    return SONDE_OK;
}
