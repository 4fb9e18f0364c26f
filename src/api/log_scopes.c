#include "api/log_scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "sink/aggregate/activity_path.h"

#define SCOPES_MAX 4096u
#define BYTES_MAX  (16u << 20)

static void drop(struct sn_log_scopes *scopes, size_t index)
{
    struct sn_log_scope *scope = &scopes->items[index];
    scopes->bytes -= scope->size;
    free(scope->category);
    free(scope->arguments);
    scopes->count--;
    memmove(scope, scope + 1, (scopes->count - index) * sizeof(*scope));
}

void sn_log_scopes_done(struct sn_log_scopes *scopes)
{
    while (scopes->count)
        drop(scopes, scopes->count - 1);
    free(scopes->items);
    *scopes = (struct sn_log_scopes){0};
}

void sn_log_scopes_open(struct sn_log_scopes *scopes, uint64_t id, const struct sn_log_place *place,
                        const char *category, const char *arguments)
{
    if (!place->activity)
        return;
    struct sn_log_scope scope = {.id = id,
                                 .thread_id = place->thread_id,
                                 .category = strdup(category),
                                 .arguments = strdup(arguments),
                                 .size = strlen(category) + strlen(arguments)};
    while (scopes->count && (scopes->count >= SCOPES_MAX || scopes->bytes > BYTES_MAX))
        drop(scopes, 0);
    struct sn_log_scope *items =
        sn_array_room(scopes->items, scopes->count, &scopes->capacity, sizeof(*items));
    if (items)
        scopes->items = items;
    if (!items || !scope.category || !scope.arguments) {
        free(scope.category);
        free(scope.arguments);
        return;
    }
    scopes->is_short |= sn_activity_is_short(place->activity);
    memcpy(scope.activity, place->activity, sizeof(scope.activity));
    scopes->items[scopes->count++] = scope;
    scopes->bytes += scope.size;
}

void sn_log_scopes_close(struct sn_log_scopes *scopes, uint64_t id)
{
    for (size_t i = scopes->count; i-- > 0;) { /* the youngest end first */
        if (scopes->items[i].id == id) {
            drop(scopes, i);
            return;
        }
    }
}

/* --- whose is a message --- */

/* How much speaks for a scope: the trace, the thread, both; 0: nothing, or the trace is another. */
enum { OF_THREAD = 1, OF_TRACE = 2 };

static unsigned likeness(const struct sn_log_scope *scope, uint64_t thread_id, uint64_t trace)
{
    if (trace && scope->trace && scope->trace != trace)
        return 0;
    return (trace && scope->trace ? OF_TRACE : 0u) |
           (scope->thread_id == thread_id ? OF_THREAD : 0u);
}

/* Of several with the same id the likeliest, on one thread the youngest. */
static struct sn_log_scope *find(const struct sn_log_scopes *scopes, const uint8_t *activity,
                                 uint64_t thread_id, uint64_t trace)
{
    struct sn_log_scope *best = NULL;
    unsigned most = 0;
    size_t count = 0;
    bool is_tied = false;
    for (size_t i = 0; i < scopes->count; i++) {
        struct sn_log_scope *scope = &scopes->items[i];
        if (memcmp(scope->activity, activity, sizeof(scope->activity)) != 0)
            continue;
        unsigned like = likeness(scope, thread_id, trace);
        if (!count++ && !scopes->is_short)
            best = scope; /* ids are all different: nothing has to speak for it */
        if (like && like >= most) {
            is_tied = like == most;
            best = scope;
            most = like;
        }
    }
    return is_tied && most == OF_TRACE ? NULL : best;
}

size_t sn_log_scopes_of(struct sn_log_scopes *scopes, const struct sn_log_place *place,
                        const struct sn_log_scope *ret_scopes[SN_LOG_SCOPES_SHOWN])
{
    uint8_t levels[SN_ACTIVITY_DEPTH_MAX][SN_ACTIVITY_SIZE];
    uint64_t trace = place->trace_id[0] ? sn_text_hash(0, place->trace_id) : 0;
    size_t count = 0;
    if (!place->activity)
        return 0;
    scopes->is_short |= sn_activity_is_short(place->activity);
    size_t level_count = sn_activity_levels(place->activity, scopes->is_short, levels);
    for (size_t i = 0; i < level_count && count < SN_LOG_SCOPES_SHOWN; i++) {
        struct sn_log_scope *scope = find(scopes, levels[i], place->thread_id, trace);
        if (!scope)
            continue;
        scope->thread_id = place->thread_id;
        scope->trace = trace ? trace : scope->trace;
        ret_scopes[count++] = scope;
    }
    return count;
}
