#include "sink/export/followed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

/* One group's place at one process. */
struct seat {
    struct sn_followed_process *process;
    const struct sn_event_group *group;
    struct sonde_consumer *consumer; /* owns; NULL: not listening */
    uint64_t lost_count;             /* as told already */
    bool has_failed;                 /* not before the next round again */
};

struct sn_followed_process {
    struct sonde_process process; /* its texts are owned */
    struct sn_export_labels labels;
    int phase;          /* as counters see it */
    uint64_t note_hash; /* of what they say of it */
    bool is_there;
    bool has_ended;      /* as was told */
    struct seat seats[]; /* one a group */
};

/* --- processes --- */

static void free_process(struct sn_followed_process *entry, size_t group_count)
{
    for (size_t i = 0; i < group_count; i++)
        sonde_hub_remove(entry->seats[i].consumer);
    free((char *)entry->process.name);
    free((char *)entry->process.runtime);
    free((char *)entry->process.user);
    free((char *)entry->process.container);
    free(entry);
}

static struct sn_followed_process *copy_process(const struct sn_followed *followed,
                                                const struct sonde_process *process)
{
    struct sn_followed_process *made =
        calloc(1, sizeof(*made) + followed->group_count * sizeof(struct seat));
    if (!made)
        return NULL;
    made->process = *process;
    made->process.name = strdup(process->name);
    made->process.runtime = strdup(process->runtime);
    made->process.user = strdup(process->user);
    made->process.container = strdup(process->container);
    made->process.command_line = made->process.architecture = "";
    made->process.reason = made->process.fix = "";
    made->labels = followed->labels;
    made->labels.process = &made->process;
    for (size_t i = 0; i < followed->group_count; i++)
        made->seats[i] = (struct seat){.process = made, .group = &followed->groups[i]};
    if (made->process.name && made->process.runtime && made->process.user &&
        made->process.container)
        return made;
    free_process(made, followed->group_count);
    return NULL;
}

/* Pids are given again: with its start a pid names one process for ever. */
static struct sn_followed_process *find(const struct sn_followed *followed,
                                        const struct sonde_process *process)
{
    for (size_t i = followed->count; i-- > 0;) {
        const struct sonde_process *known = &followed->entries[i]->process;
        if (known->pid == process->pid && known->start_ticks == process->start_ticks)
            return followed->entries[i];
    }
    return NULL;
}

size_t sn_followed_running(const struct sn_followed *followed)
{
    size_t count = 0;
    for (size_t i = 0; i < followed->count; i++)
        count += followed->entries[i]->phase != SONDE_CONSUMER_ENDED;
    return count;
}

static void take_note(struct sn_followed *followed, uint32_t pid, const char *text)
{
    (void)snprintf(followed->note, sizeof(followed->note), "process %" PRIu32 ": %s", pid, text);
}

/* --- listening --- */

static int take_event(void *user, struct sonde_event *event)
{
    const struct seat *seat = user;
    return sn_event_group_take(seat->group, event, &seat->process->labels) ? SONDE_OK : SONDE_AGAIN;
}

static void sit_down(struct sn_followed *followed, struct seat *seat)
{
    struct sonde_error err = {0};
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = seat->process->process.pid,
                                             .providers = seat->group->providers,
                                             .provider_count = seat->group->provider_count};
    int rc = sonde_hub_add(followed->hub, &options, take_event, seat, &seat->consumer, &err);
    if (rc != SONDE_OK) {
        seat->consumer = NULL;
        seat->has_failed = true;
        take_note(followed, options.pid, err.text);
    }
}

/* Who lost its place, but whose process is still there, tries again in the next round. */
static void look_after(struct sn_followed *followed, struct seat *seat)
{
    struct sonde_consumer_state state;
    bool is_wanted = sn_event_group_is_wanted(seat->group);
    if (!seat->consumer) {
        if (is_wanted && !seat->has_failed)
            sit_down(followed, seat);
        return;
    }
    sonde_consumer_state(seat->consumer, &state);
    followed->lost_count += state.lost_count - seat->lost_count;
    seat->lost_count = state.lost_count;
    bool has_ended = state.phase == SONDE_CONSUMER_ENDED;
    if (!has_ended && is_wanted)
        return;
    if (has_ended && state.status != SONDE_E_GONE)
        take_note(followed, seat->process->process.pid, state.error);
    sonde_hub_remove(seat->consumer);
    seat->consumer = NULL;
    seat->lost_count = 0;
    seat->has_failed = has_ended;
}

/* --- following --- */

static struct sn_followed_process *add(struct sn_followed *followed,
                                       const struct sonde_process *process)
{
    struct sn_followed_process **entries =
        sn_array_room(followed->entries, followed->count, &followed->capacity,
                      sizeof(struct sn_followed_process *));
    if (!entries)
        return NULL;
    followed->entries = entries;
    struct sn_followed_process *made = copy_process(followed, process);
    if (made)
        entries[followed->count++] = made;
    return made;
}

static void tell_end(const struct sn_followed *followed, struct sn_followed_process *entry)
{
    if (!entry->has_ended && followed->ended)
        followed->ended(followed->user, &entry->process);
    entry->has_ended = true;
}

static int take_up_one(struct sn_followed *followed, const struct sonde_watched *seen,
                       struct sonde_error *err)
{
    struct sn_followed_process *entry = find(followed, seen->process);
    if (!entry && seen->phase == SONDE_CONSUMER_ENDED)
        return SONDE_OK;
    if (!entry && !(entry = add(followed, seen->process)))
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a process");
    uint64_t note_hash = sn_text_hash(0, seen->note);
    if (seen->note[0] && note_hash != entry->note_hash)
        take_note(followed, seen->process->pid, seen->note);
    entry->note_hash = note_hash;
    entry->is_there = true;
    entry->phase = seen->phase;
    if (entry->phase == SONDE_CONSUMER_ENDED)
        tell_end(followed, entry);
    return SONDE_OK;
}

const struct sn_export_labels *sn_followed_labels(struct sn_followed *followed,
                                                  const struct sonde_counters *counters,
                                                  uint32_t pid)
{
    struct sonde_watched seen;
    if (!sonde_counters_find(counters, pid, &seen))
        return NULL;
    struct sn_followed_process *entry = find(followed, seen.process);
    if (!entry && !(entry = add(followed, seen.process)))
        return NULL;
    entry->is_there = true;
    entry->phase = seen.phase;
    return &entry->labels;
}

static int take_up(struct sn_followed *followed, const struct sonde_counters *counters,
                   struct sonde_error *err)
{
    int rc = SONDE_OK;
    for (size_t i = 0; i < followed->count; i++)
        followed->entries[i]->is_there = false;
    for (size_t i = 0; i < sonde_counters_process_count(counters) && rc == SONDE_OK; i++) {
        struct sonde_watched seen;
        sonde_counters_process(counters, i, &seen);
        rc = take_up_one(followed, &seen, err);
    }
    return rc;
}

int sn_followed_follow(struct sn_followed *followed, const struct sonde_counters *counters,
                       struct sonde_error *err)
{
    int rc = take_up(followed, counters, err);
    for (size_t i = 0; i < followed->count; i++) {
        struct sn_followed_process *entry = followed->entries[i];
        for (size_t k = 0; k < followed->group_count; k++) {
            if (entry->is_there && entry->phase != SONDE_CONSUMER_ENDED)
                look_after(followed, &entry->seats[k]);
        }
    }
    return rc;
}

void sn_followed_next_round(struct sn_followed *followed)
{
    size_t kept = 0;
    for (size_t i = 0; i < followed->count; i++) {
        for (size_t k = 0; k < followed->group_count; k++)
            followed->entries[i]->seats[k].has_failed = false;
        if (followed->entries[i]->is_there) {
            followed->entries[kept++] = followed->entries[i];
        } else {
            tell_end(followed, followed->entries[i]);
            free_process(followed->entries[i], followed->group_count);
        }
    }
    followed->count = kept;
}

void sn_followed_done(struct sn_followed *followed)
{
    for (size_t i = 0; i < followed->count; i++)
        free_process(followed->entries[i], followed->group_count);
    free(followed->entries);
    followed->entries = NULL;
    followed->count = 0;
}
