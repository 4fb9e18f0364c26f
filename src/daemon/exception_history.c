#include "daemon/exception_history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/table.h"
#include "daemon/daemon.h"
#include "daemon/roads.h"
#include "daemon/router.h"
#include "sonde/counters.h"
#include "sonde/hub.h"
#include "sonde/names.h"

#define RUNTIME           "Microsoft-Windows-DotNETRuntime"
#define EXCEPTION_KEYWORD 0x8000u
#define LEVEL_ERROR       2u
#define THROWN            80u
#define FLAG_HAS_INNER    0x1u
#define FLAG_NESTED       0x2u
#define FLAG_RETHROWN     0x4u

#define STANDARD_KEEP 20u
#define KEEP_MAX      1000u
#define PROCESSES_MAX 1024u
#define THREADS_MAX   4096u /* of a process: whose last exception is known */
#define TYPE_MAX      512u
#define MESSAGE_MAX   4096u
#define DEPTH_MAX     128u
#define SHOT_LIMIT    (32u << 20)

#define LOOK_EVERY_NS   (2ull * SN_NS_PER_SECOND)
#define RETRY_NS        (30ull * SN_NS_PER_SECOND)
#define NAMES_FOR_NS    (60ull * SN_NS_PER_SECOND)
#define ASK_EVERY_NS    (50ull * SN_NS_PER_MS)
#define ASK_PATIENCE_NS (5ull * SN_NS_PER_SECOND)

/* One allocation: texts and addresses lie behind it. */
struct record {
    uint64_t id;
    uint64_t utc_ns;
    uint64_t time_ns;
    uint64_t thread_id;
    uint64_t inner_id;
    bool has_inner;
    uint32_t depth;
    const char *type;
    const char *message;
    uint64_t stack[];
};

struct watched {
    struct watched *next;
    uint32_t pid;
    uint64_t start_ticks;
    bool is_seen;  /* at the last look */
    bool has_gone; /* the consumer has ended */
    uint64_t retry_ns;
    uint64_t last_id;
    unsigned keep;
    struct record **ring;            /* owns; `keep` places; that of an id is its remainder */
    struct sn_table by_thread;       /* thread -> id of its last exception */
    struct sonde_consumer *consumer; /* the hub's */
    struct sonde_names *names;       /* owns; NULL: nobody has asked of late */
    uint64_t asked_ns;
};

struct asker {
    struct asker *next;
    uint32_t pid;
    uint64_t until_ns;
    sn_exception_fn *done;
    void *user;
};

struct sn_exception_history {
    struct sn_daemon *daemon; /* borrows */
    unsigned keep;
    struct watched *first; /* owns */
    size_t count;
    struct asker *askers;         /* owns */
    bool is_polling;              /* for them */
    struct sonde_counters *watch; /* owns; who finds processes when nobody else does */
};

/* --- what is kept --- */

/* As much of a text as fits, without half a character at its end. */
static size_t cut(const char *text, size_t size, size_t most)
{
    if (size <= most)
        return size;
    while (most && ((unsigned char)text[most] & 0xC0u) == 0x80u)
        most--;
    return most;
}

static struct record *make_record(struct sonde_event *event, const struct sonde_event_info *info)
{
    struct sonde_value type = {.text = ""};
    struct sonde_value message = {.text = ""};
    if (!sonde_event_field(event, "ExceptionType", &type) || type.type != SONDE_TYPE_TEXT)
        return NULL;
    size_t type_size = cut(type.text, type.size, TYPE_MAX);
    bool has_message =
        sonde_event_field(event, "ExceptionMessage", &message) && message.type == SONDE_TYPE_TEXT;
    size_t message_size = has_message ? cut(message.text, message.size, MESSAGE_MAX) : 0;
    uint32_t depth = info->stack_depth < DEPTH_MAX ? info->stack_depth : DEPTH_MAX;
    struct record *record =
        calloc(1, sizeof(*record) + depth * sizeof(uint64_t) + type_size + message_size + 2);
    if (!record)
        return NULL;
    char *texts = (char *)&record->stack[depth];
    memcpy(texts, type.text, type_size);
    if (message_size)
        memcpy(texts + type_size + 1, message.text, message_size);
    record->type = texts;
    record->message = texts + type_size + 1;
    record->depth = depth;
    for (uint32_t i = 0; i < depth; i++)
        record->stack[i] = sonde_event_stack(event, i);
    return record;
}

static struct record *find_record(const struct watched *watched, uint64_t id)
{
    struct record *record = id ? watched->ring[id % watched->keep] : NULL;
    return record && record->id == id ? record : NULL;
}

/* An exception with an inner one that is thrown while another is being handled on its thread: that
 * is the inner one, as far as events tell. */
static void link_inner(struct watched *watched, struct record *record, uint64_t flags)
{
    record->has_inner = flags & FLAG_HAS_INNER;
    const uint64_t *last = sn_table_find(&watched->by_thread, record->thread_id);
    if (last && record->has_inner && flags & FLAG_NESTED)
        record->inner_id = *last;
    if (watched->by_thread.count >= THREADS_MAX)
        sn_table_clear(&watched->by_thread);
    uint64_t *slot = sn_table_put(&watched->by_thread, record->thread_id);
    if (slot)
        *slot = record->id;
}

static int take_event(void *user, struct sonde_event *event)
{
    struct watched *watched = user;
    struct sonde_event_info info;
    struct sonde_value flags = {0};
    sonde_event_info(event, &info);
    if (info.id != THROWN)
        return SONDE_AGAIN;
    (void)sonde_event_field(event, "ExceptionFlags", &flags); /* 0 when there are none */
    if (flags.number & FLAG_RETHROWN)
        return SONDE_OK; /* was kept when it was thrown first */
    struct record *record = make_record(event, &info);
    if (!record)
        return SONDE_OK;
    record->id = ++watched->last_id;
    record->utc_ns = info.utc_ns;
    record->time_ns = info.time_ns;
    record->thread_id = info.thread_id;
    link_inner(watched, record, flags.number);
    struct record **place = &watched->ring[record->id % watched->keep];
    free(*place);
    *place = record;
    return SONDE_OK;
}

/* --- who is listened to --- */

static void consumer_changed(void *user, struct sonde_consumer *consumer)
{
    struct watched *watched = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_ENDED)
        watched->has_gone = true; /* is let go of outside the hub's turn */
}

static void free_watched(struct watched *watched)
{
    sonde_hub_remove(watched->consumer);
    sonde_names_free(watched->names);
    for (unsigned i = 0; watched->ring && i < watched->keep; i++)
        free(watched->ring[i]);
    free(watched->ring);
    sn_table_done(&watched->by_thread);
    free(watched);
}

static void listen_to(struct sn_exception_history *history, struct watched *watched)
{
    static const uint32_t ids[] = {THROWN};
    static const struct sonde_provider provider = {.name = RUNTIME,
                                                   .keywords = EXCEPTION_KEYWORD,
                                                   .level = LEVEL_ERROR,
                                                   .ids = ids,
                                                   .id_count = 1};
    const struct sonde_consumer_options options = {.size = sizeof(options),
                                                   .pid = watched->pid,
                                                   .providers = &provider,
                                                   .provider_count = 1,
                                                   .stacks = true,
                                                   .in_order = true,
                                                   .changed = consumer_changed};
    watched->has_gone = false;
    watched->retry_ns = sn_clock_deadline(RETRY_NS);
    /* One that cannot be listened to now is tried again. */
    (void)sonde_hub_add(sn_roads_hub(history->daemon->roads), &options, take_event, watched,
                        &watched->consumer, NULL);
}

static struct watched *find(const struct sn_exception_history *history, uint32_t pid)
{
    struct watched *watched = history->first;
    while (watched && watched->pid != pid)
        watched = watched->next;
    return watched;
}

static void add(struct sn_exception_history *history, uint32_t pid, uint64_t start_ticks)
{
    if (history->count >= PROCESSES_MAX)
        return;
    struct watched *watched = calloc(1, sizeof(*watched));
    if (watched)
        watched->ring = calloc(history->keep, sizeof(void *));
    if (!watched || !watched->ring) {
        free(watched);
        return;
    }
    watched->pid = pid;
    watched->start_ticks = start_ticks;
    watched->is_seen = true;
    watched->keep = history->keep;
    watched->by_thread = sn_table_with_limit(THREADS_MAX);
    watched->next = history->first;
    history->first = watched;
    history->count++;
    listen_to(history, watched);
}

static void see(struct sn_exception_history *history, const struct sonde_process *process)
{
    struct watched *watched = find(history, process->pid);
    if (watched && watched->start_ticks == process->start_ticks)
        watched->is_seen = true;
    else if (!watched && process->is_reachable)
        add(history, process->pid, process->start_ticks);
}

/* Lets those go that are not there any more; tries those again that did not answer. */
static void sweep(struct sn_exception_history *history)
{
    for (struct watched **slot = &history->first; *slot;) {
        struct watched *watched = *slot;
        if (!watched->is_seen) {
            *slot = watched->next;
            history->count--;
            free_watched(watched);
            continue;
        }
        if (watched->has_gone) {
            sonde_hub_remove(watched->consumer);
            watched->consumer = NULL;
        }
        uint64_t now = sn_clock_monotonic_ns();
        if (!watched->consumer && now >= watched->retry_ns)
            listen_to(history, watched);
        if (watched->names && now - watched->asked_ns > NAMES_FOR_NS) {
            sonde_names_free(watched->names);
            watched->names = NULL;
        }
        slot = &watched->next;
    }
}

/* --- looking for processes --- */

static void look(void *user);

static void look_later(struct sn_exception_history *history)
{
    /* Without memory for a timer there are no new processes: those that are there go on. */
    (void)sn_roads_at(history->daemon->roads, sn_clock_deadline(LOOK_EVERY_NS), look, history,
                      NULL);
}

/* Whoever watches counters has found the processes; it keeps those that have ended for a minute. */
static void look(void *user)
{
    struct sn_exception_history *history = user;
    const struct sonde_counters *counters = sn_roads_counters(history->daemon->roads);
    if (!counters)
        counters = history->watch;
    for (struct watched *watched = history->first; watched; watched = watched->next)
        watched->is_seen = false;
    for (size_t i = 0; counters && i < sonde_counters_process_count(counters); i++) {
        struct sonde_watched who;
        sonde_counters_process(counters, i, &who);
        if (who.phase != SONDE_CONSUMER_ENDED)
            see(history, who.process);
    }
    sweep(history);
    look_later(history);
}

/* --- asking --- */

static const char *copy(struct sn_arena *arena, const char *text)
{
    const char *copied = text[0] ? sn_arena_copy(arena, text, strlen(text)) : "";
    return copied ? copied : "";
}

static void name_frame(struct sn_arena *arena, struct watched *watched, const struct record *record,
                       uint32_t index, struct sonde_stack_frame *to)
{
    (void)sonde_names_address(watched->names, watched->pid, record->stack[index], record->time_ns,
                              to); /* fills in that nobody knows */
    to->name = copy(arena, to->name);
    to->type_name = copy(arena, to->type_name);
    to->method_name = copy(arena, to->method_name);
    to->signature = copy(arena, to->signature);
    to->module = copy(arena, to->module);
}

/* .NET 9 and later throw in managed code of their own, which is not where it was thrown. */
static uint32_t skip_throwing(const struct sonde_stack_frame *frames, uint32_t depth)
{
    uint32_t skipped = 0;
    while (skipped + 1 < depth && strcmp(frames[skipped].type_name, "System.Runtime.EH") == 0)
        skipped++;
    return skipped;
}

static bool copy_record(struct sn_arena *arena, struct watched *watched,
                        const struct record *record, struct sn_exception *to)
{
    struct sonde_stack_frame *frames = sn_arena_alloc(arena, (record->depth + 1) * sizeof(*frames));
    if (!frames)
        return false;
    for (uint32_t i = 0; watched->names && i < record->depth; i++)
        name_frame(arena, watched, record, i, &frames[i]);
    uint32_t depth = watched->names ? record->depth : 0;
    uint32_t skipped = skip_throwing(frames, depth);
    *to = (struct sn_exception){.id = record->id,
                                .utc_ns = record->utc_ns,
                                .thread_id = record->thread_id,
                                .inner_id = record->inner_id,
                                .has_inner = record->has_inner,
                                .type = copy(arena, record->type),
                                .message = copy(arena, record->message),
                                .frames = frames + skipped,
                                .frame_count = depth - skipped};
    return true;
}

/* NULL without memory. */
static struct sn_exception_shot *shoot(struct watched *watched)
{
    struct sn_exception_shot *shot = calloc(1, sizeof(*shot));
    if (!shot)
        return NULL;
    shot->pid = watched->pid;
    shot->arena = sn_arena_with_limit(SHOT_LIMIT);
    shot->items = sn_arena_alloc(&shot->arena, (watched->keep + 1) * sizeof(*shot->items));
    uint64_t first = watched->last_id < watched->keep ? 1 : watched->last_id - watched->keep + 1;
    for (uint64_t id = first; shot->items && id <= watched->last_id; id++) {
        const struct record *record = find_record(watched, id);
        if (record && copy_record(&shot->arena, watched, record, &shot->items[shot->count]))
            shot->count++;
    }
    return shot;
}

void sn_exception_shot_free(struct sn_exception_shot *shot)
{
    if (!shot)
        return;
    sn_arena_done(&shot->arena);
    free(shot);
}

static bool is_ready(const struct watched *watched, uint64_t until_ns)
{
    return !watched->names || sonde_names_are_ready(watched->names, watched->pid) ||
           sn_clock_monotonic_ns() >= until_ns;
}

static void poll_askers(void *user);

static void poll_later(struct sn_exception_history *history)
{
    history->is_polling = sn_roads_at(history->daemon->roads, sn_clock_deadline(ASK_EVERY_NS),
                                      poll_askers, history, NULL) == SONDE_OK;
}

/* `done` may ask again, or forget others: begin anew after each. */
static void poll_askers(void *user)
{
    struct sn_exception_history *history = user;
    history->is_polling = false;
    struct asker **slot = &history->askers;
    while (*slot) {
        struct asker *asker = *slot;
        struct watched *watched = find(history, asker->pid);
        if (watched && !is_ready(watched, asker->until_ns)) {
            slot = &asker->next;
            continue;
        }
        *slot = asker->next;
        asker->done(asker->user, watched ? shoot(watched) : NULL);
        free(asker);
        slot = &history->askers;
    }
    if (history->askers && !history->is_polling)
        poll_later(history);
}

/* Names are wanted only for stacks, and go some time after they were last asked for. */
static void want_names(struct sn_exception_history *history, struct watched *watched)
{
    watched->asked_ns = sn_clock_monotonic_ns();
    if (watched->names || !watched->last_id)
        return;
    if (sonde_names_new(sn_roads_hub(history->daemon->roads), &watched->names, NULL) != SONDE_OK)
        return;
    if (sonde_names_add(watched->names, watched->pid, NULL) != SONDE_OK) {
        sonde_names_free(watched->names);
        watched->names = NULL;
    }
}

int sn_exception_history_ask(struct sn_exception_history *history, uint32_t pid,
                             sn_exception_fn *done, void *user, struct sonde_error *err)
{
    struct watched *watched = find(history, pid);
    if (!watched)
        return sn_fail(err, SONDE_E_NOT_FOUND, 0,
                       "no exceptions of pid %" PRIu32 " are kept: no such .NET process was found, "
                       "or it cannot be reached",
                       pid);
    struct asker *asker = calloc(1, sizeof(*asker));
    if (!asker)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
    want_names(history, watched);
    *asker = (struct asker){.next = history->askers,
                            .pid = pid,
                            .until_ns = sn_clock_deadline(ASK_PATIENCE_NS),
                            .done = done,
                            .user = user};
    history->askers = asker;
    if (!history->is_polling)
        poll_later(history);
    return SONDE_OK;
}

void sn_exception_history_forget(struct sn_exception_history *history, void *user)
{
    for (struct asker **slot = &history->askers; *slot;) {
        struct asker *asker = *slot;
        if (asker->user != user) {
            slot = &asker->next;
            continue;
        }
        *slot = asker->next;
        free(asker);
    }
}

/* --- life --- */

int sn_exception_history_new(struct sn_daemon *daemon, unsigned keep,
                             struct sn_exception_history **ret_history, struct sonde_error *err)
{
    struct sn_exception_history *history = calloc(1, sizeof(*history));
    if (!history)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
    history->daemon = daemon;
    history->keep = !keep ? STANDARD_KEEP : keep < KEEP_MAX ? keep : KEEP_MAX;
    const struct sonde_counters_options options = {
        .size = sizeof(options), .all = true, .no_runtime = true, .interval_ns = LOOK_EVERY_NS};
    int rc = sn_roads_counters(daemon->roads)
                 ? SONDE_OK
                 : sonde_counters_new(sn_roads_hub(daemon->roads), &options, NULL, NULL,
                                      &history->watch, err);
    if (rc != SONDE_OK) {
        free(history);
        return rc;
    }
    look(history);
    *ret_history = history;
    return SONDE_OK;
}

/* Memory for the first look is had before anybody is told that there is one. */
struct beginning {
    struct sn_mailbox_task task;
    struct sn_daemon *daemon;
};

static void begin(void *user)
{
    SN_AUTO(sn_free) struct beginning *beginning = user;
    struct sn_daemon *daemon = beginning->daemon;
    /* Without memory for them there are none, which is what whoever asks is told. */
    (void)sn_exception_history_new(daemon, 0, &daemon->exceptions, NULL);
}

int sn_exception_history_start(struct sn_daemon *daemon, struct sonde_error *err)
{
    if (sn_router_is_disabled(daemon, "exceptions"))
        return SONDE_OK;
    struct beginning *beginning = calloc(1, sizeof(*beginning));
    if (!beginning)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for exceptions");
    beginning->daemon = daemon;
    sn_roads_post(daemon->roads, &beginning->task, begin, beginning);
    return SONDE_OK;
}

/* Timers that are still set are the roads', which ends with this. */
void sn_exception_history_free(struct sn_exception_history *history)
{
    if (!history)
        return;
    for (struct asker *next; history->askers; history->askers = next) {
        next = history->askers->next;
        history->askers->done(history->askers->user, NULL);
        free(history->askers);
    }
    for (struct watched *next; history->first; history->first = next) {
        next = history->first->next;
        free_watched(history->first);
    }
    sonde_counters_free(history->watch);
    free(history);
}
