/* What every thread of a process is doing (sonde/stacks.h): from memory, or else by the port. */
#include "sonde/stacks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/options_in.h"
#include "api/stacks_internal.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/own_id.h"
#include "source/proc/facts.h"

#define TEXTS_LIMIT (64u << 20)
#define FRAMES_MAX  (1u << 20) /* of all threads together */

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

const char *sn_stacks_keep(struct sonde_stacks *stacks, const char *text)
{
    const char *kept = sn_name_pool_keep(&stacks->texts, text, strlen(text));
    return kept ? kept : "";
}

bool sn_stacks_append(struct sonde_stacks *stacks, const struct sonde_stack_frame *frame)
{
    struct sonde_stack_frame *frames = frame && stacks->frame_count < FRAMES_MAX
                                           ? sn_array_room(stacks->frames, stacks->frame_count,
                                                           &stacks->frame_capacity, sizeof(*frames))
                                           : NULL;
    if (!frames)
        return false;
    stacks->frames = frames;
    frames[stacks->frame_count++] = *frame;
    return true;
}

void sn_stacks_add_remark(struct sonde_stacks *stacks, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    if (stacks->remark_count < SN_STACKS_REMARKS)
        stacks->remarks[stacks->remark_count++] = sn_stacks_keep(stacks, text);
}

/* The process's own name, and its number as it counts itself. */
static void look_at(struct sonde_stacks *stacks)
{
    char path[64];
    struct sn_proc_facts facts;
    if (sn_process_facts(stacks->pid, &facts))
        sn_process_name(&facts, stacks->process_name);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", stacks->pid);
    (void)sn_file_peek_at(AT_FDCWD, path, stacks->comm, sizeof(stacks->comm));
    stacks->comm[strcspn(stacks->comm, "\n")] = '\0';
    uint64_t own = sn_own_id(stacks->pid, 0);
    stacks->main_id = own ? own : stacks->pid;
}

static struct sonde_stacks *stacks_new(uint32_t pid, struct sonde_error *err)
{
    struct sonde_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks) {
        (void)sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
        return NULL;
    }
    sn_name_pool_init(&stacks->texts);
    stacks->texts.arena = sn_arena_with_limit(TEXTS_LIMIT);
    stacks->pid = pid;
    if (pid)
        look_at(stacks);
    return stacks;
}

typedef int take_fn(struct sonde_stacks *stacks, const struct sonde_stacks_options *options,
                    struct sonde_error *err);

/* A way that fails leaves nothing behind; the next begins with stacks of its own. */
static int take_by(take_fn *take, uint32_t pid, const struct sonde_stacks_options *options,
                   struct sonde_stacks **ret_stacks, struct sonde_error *err)
{
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = stacks_new(pid, err);
    if (!stacks)
        return SONDE_E_NOMEM;
    int rc = take(stacks, options, err);
    if (rc == SONDE_OK)
        rc = sn_stacks_group(stacks, err);
    if (rc == SONDE_OK)
        *ret_stacks = SN_TAKE(stacks);
    return rc;
}

/* What only memory can tell, and was asked for. */
static void remark_missing(struct sonde_stacks *stacks, const struct sonde_stacks_options *options)
{
    char list[96];
    (void)snprintf(list, sizeof(list), "%s%s%s", options->with_native ? ", native frames" : "",
                   options->with_tasks ? ", async methods that wait" : "",
                   options->with_locks ? ", locks" : "");
    if (list[0])
        sn_stacks_add_remark(stacks, "the port does not tell of: %s", list + 2);
}

static int take_by_port(uint32_t pid, const struct sonde_stacks_options *options,
                        const struct sonde_error *before, struct sonde_stacks **ret_stacks,
                        struct sonde_error *err)
{
    struct sonde_error why = {0};
    int rc = take_by(sn_stacks_from_port, pid, options, ret_stacks, &why);
    if (rc == SONDE_OK) {
        if (before)
            sn_stacks_add_remark(*ret_stacks, "by the port, because %s", before->text);
        remark_missing(*ret_stacks, options);
    }
    if (rc >= SONDE_OK)
        return rc;
    bool is_told = before && before->status == rc && rc == SONDE_E_NOT_FOUND;
    if (!before || is_told || strcmp(before->text, why.text) == 0)
        return sn_fail_as(err, &why);
    return sn_fail(err, rc, 0, "%.220s; and from outside: %s", why.text, before->text);
}

/* Of what memory told. */
static void settle(struct sonde_stacks *stacks, const struct sonde_stacks_options *options)
{
    stacks->has_locks = options->with_locks;
    stacks->has_tasks = options->with_tasks;
    if (!stacks->thread_count && !stacks->lost_count && stacks->pid)
        sn_stacks_add_remark(stacks,
                             "no thread has come to managed code: it has only begun, or may "
                             "wait at its start for somebody to let it go on");
}

static int check_options(uint32_t pid, const struct sonde_stacks_options *options,
                         struct sonde_error *err)
{
    if (options->way < SONDE_STACKS_BEST || options->way > SONDE_STACKS_PORT)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "there is no way %d to stacks", options->way);
    if (options->core && options->way == SONDE_STACKS_PORT)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "a core file has no port that could be asked; its stacks are read from it");
    if (options->core && pid)
        return sn_fail(err, SONDE_E_ARGUMENT, 0, "stacks are of a process or of a core file");
    return SONDE_OK;
}

int sonde_stacks_take(uint32_t pid, const struct sonde_stacks_options *options,
                      struct sonde_stacks **ret_stacks, struct sonde_error *err)
{
    struct sonde_stacks_options known;
    struct sonde_error why = {0};
    int rc = sn_options_in(options, &known, sizeof(known), "stacks options", err);
    if (rc == SONDE_OK)
        rc = check_options(pid, &known, err);
    if (rc != SONDE_OK)
        return rc;
    if (known.way == SONDE_STACKS_PORT)
        return take_by_port(pid, &known, NULL, ret_stacks, err);
    rc = take_by(sn_stacks_from_memory, pid, &known, ret_stacks, &why);
    if (rc == SONDE_OK)
        settle(*ret_stacks, &known);
    if (rc >= SONDE_OK)
        return rc;
    bool is_last = known.way == SONDE_STACKS_MEMORY || known.core || rc == SONDE_E_NOMEM;
    return is_last ? sn_fail_as(err, &why) : take_by_port(pid, &known, &why, ret_stacks, err);
}

void sonde_stacks_free(struct sonde_stacks *stacks)
{
    if (!stacks)
        return;
    free(stacks->threads);
    free(stacks->frames);
    free(stacks->groups);
    free(stacks->members);
    free(stacks->locks);
    free(stacks->waiters);
    free(stacks->tasks);
    free(stacks->task_frames);
    sn_name_pool_done(&stacks->texts);
    free(stacks);
}
