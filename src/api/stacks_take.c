/* What every thread of a process is doing (sonde/stacks.h): a short session, names, groups. */
#include "sonde/stacks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/options_in.h"
#include "api/stacks_internal.h"
#include "api/stacks_session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/own.h"
#include "base/stream.h"
#include "convert/stacks_formats.h"
#include "source/proc/facts.h"

static void sonde_stacks_free_auto(struct sonde_stacks **slot)
{
    sonde_stacks_free(*slot);
}

/* --- groups --- */

static int compare_frames(const struct sonde_stack_frame *one,
                          const struct sonde_stack_frame *other)
{
    /* Texts are kept once each: the same text is the same pointer. */
    const void *ours[] = {one->name, one->type_name, one->signature, one->file};
    const void *theirs[] = {other->name, other->type_name, other->signature, other->file};
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

static int group(struct sonde_stacks *stacks, struct sonde_error *err)
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

/* --- taking --- */

/* The process's own name, and its number as it counts itself: the last of NSpid. */
static void look_at(struct sonde_stacks *stacks)
{
    char path[64];
    char status[4096];
    struct sn_proc_facts facts;
    if (sn_process_facts(stacks->pid, &facts))
        sn_process_name(&facts, stacks->process_name);
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", stacks->pid);
    (void)sn_file_peek_at(AT_FDCWD, path, stacks->comm, sizeof(stacks->comm));
    stacks->comm[strcspn(stacks->comm, "\n")] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", stacks->pid);
    stacks->main_id = stacks->pid;
    const char *line = sn_file_peek_at(AT_FDCWD, path, status, sizeof(status)) > 0
                           ? strstr(status, "\nNSpid:")
                           : NULL;
    char *at = NULL;
    uint64_t id = line ? strtoull(line + strlen("\nNSpid:"), &at, 10) : 0;
    while (at && (*at == '\t' || *at == ' '))
        id = strtoull(at, &at, 10);
    if (id)
        stacks->main_id = id;
}

static uint64_t utc_of(const struct sn_stack_round *round)
{
    uint64_t now = sn_clock_monotonic_ns();
    uint64_t then = round->count ? round->samples[0].time_ns : now;
    return sn_clock_utc_ns() - (then < now ? now - then : 0);
}

int sonde_stacks_take(uint32_t pid, const struct sonde_stacks_options *options,
                      struct sonde_stacks **ret_stacks, struct sonde_error *err)
{
    struct sonde_stacks_options known;
    int rc = sn_options_in(options, &known, sizeof(known), "stacks options", err);
    if (rc != SONDE_OK)
        return rc;
    SN_AUTO(sn_stacks_session_done) struct sn_stacks_session session = {0};
    SN_AUTO(sonde_stacks_free) struct sonde_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for stacks");
    stacks->pid = pid;
    rc = sn_stacks_session_run(&session, pid, &known, err);
    if (rc != SONDE_OK)
        return rc;
    look_at(stacks);
    stacks->utc_ns = utc_of(sn_stacks_session_round(&session));
    stacks->lost_count = session.lost_count;
    rc = sn_stacks_name(stacks, &session, err);
    if (rc == SONDE_OK)
        rc = group(stacks, err);
    if (rc == SONDE_OK)
        *ret_stacks = SN_TAKE(stacks);
    return rc;
}

void sonde_stacks_free(struct sonde_stacks *stacks)
{
    if (!stacks)
        return;
    free(stacks->threads);
    free(stacks->frames);
    free(stacks->groups);
    free(stacks->members);
    sn_name_pool_done(&stacks->texts);
    free(stacks);
}

/* --- looking at them --- */

size_t sonde_stacks_thread_count(const struct sonde_stacks *stacks)
{
    return stacks->thread_count;
}

size_t sonde_stacks_lost_count(const struct sonde_stacks *stacks)
{
    return stacks->lost_count;
}

uint64_t sonde_stacks_utc_ns(const struct sonde_stacks *stacks)
{
    return stacks->utc_ns;
}

const struct sonde_stack_thread *sonde_stacks_thread(const struct sonde_stacks *stacks,
                                                     size_t index)
{
    return index < stacks->thread_count ? &stacks->threads[index] : NULL;
}

size_t sonde_stacks_group_count(const struct sonde_stacks *stacks)
{
    return stacks->group_count;
}

const struct sonde_stack_group *sonde_stacks_group(const struct sonde_stacks *stacks, size_t index)
{
    return index < stacks->group_count ? &stacks->groups[index] : NULL;
}

/* --- writing --- */

struct sink {
    sonde_write_fn *write;
    void *user;
};

static int pass_on(void *user, const void *bytes, size_t size, struct sonde_error *err)
{
    const struct sink *sink = user;
    int rc = sink->write(sink->user, bytes, size);
    return rc == SONDE_OK ? rc : sn_fail(err, rc, 0, "stacks could not be written");
}

int sonde_stacks_write(const struct sonde_stacks *stacks, const char *format, sonde_write_fn *write,
                       void *user, struct sonde_error *err)
{
    const struct sn_stacks_format *chosen = sn_stacks_format_find(format);
    if (!chosen)
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "stacks cannot be written as '%.32s': text, json, speedscope, collapsed",
                       format);
    const struct sn_stacks_view view = {.threads = stacks->threads,
                                        .thread_count = stacks->thread_count,
                                        .groups = stacks->groups,
                                        .group_count = stacks->group_count,
                                        .lost_count = stacks->lost_count,
                                        .pid = stacks->pid,
                                        .main_id = stacks->main_id,
                                        .name = stacks->process_name,
                                        .utc_ns = stacks->utc_ns};
    struct sink sink = {write, user};
    SN_AUTO(sn_stream_done) struct sn_stream stream;
    sn_stream_init(&stream, pass_on, &sink);
    chosen->write(&stream, &view);
    return sn_stream_finish(&stream, err);
}
