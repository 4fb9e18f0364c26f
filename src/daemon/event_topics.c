#include "daemon/event_topics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/own.h"
#include "base/redact.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/log_format.h"
#include "daemon/log_scrub.h"
#include "daemon/roads.h"
#include "daemon/topic.h"
#include "sonde/hub.h"
#include "sonde/log.h"
#include "sonde/provider.h"
#include "sonde/writer.h"

#define LOGS        "logs/"
#define EVENTS      "events/"
#define TAPS_MAX    32u
#define KEEP        512u
#define MESSAGE_MAX (1u << 20)
#define NOTICE_MAX  96u
/* A process that floods is cut short here: telling takes time that others need. */
#define WINDOW_NS  (250ull * SN_NS_PER_MS)
#define WINDOW_MAX 500u

/* What one topic listens to. */
struct tap {
    struct sn_daemon *daemon; /* borrows */
    struct tap *next;
    char name[SN_TOPIC_NAME_SIZE];
    struct sonde_consumer *consumer;
    struct sonde_log_filter *filter; /* of logs */
    struct sonde_log_reader *reader;
    struct sn_log_scrub scrub;
    struct sonde_writer *writer; /* of events */
    uint64_t window_ns;          /* when the present window began */
    unsigned window_count;
    uint64_t skipped_count;
};

struct sn_event_topics {
    struct tap *first;
    size_t count;
};

static bool is_log(const struct tap *tap)
{
    return strncmp(tap->name, LOGS, strlen(LOGS)) == 0;
}

/* --- telling --- */

/* Takes the bytes of `message`. What is too large is a loss that its readers see. */
static void publish(struct tap *tap, struct sn_buf *message)
{
    while (message->size && message->bytes[message->size - 1] == '\n')
        message->size--;
    if (message->failed) {
        tap->skipped_count++;
        sn_buf_done(message);
        return;
    }
    sn_topics_publish(tap->daemon->topics, tap->name, message);
}

/* What was left out until now. */
static void publish_lost(struct tap *tap, uint64_t count)
{
    struct sn_buf message = sn_buf_with_limit(NOTICE_MAX);
    sn_buf_format(&message, "{\"lost\":%llu}", (unsigned long long)count);
    publish(tap, &message);
}

/* Whether there is time for another one. */
static bool has_time(struct tap *tap)
{
    uint64_t now_ns = sn_clock_monotonic_ns();
    if (now_ns - tap->window_ns > WINDOW_NS) {
        tap->window_ns = now_ns;
        tap->window_count = 0;
        if (tap->skipped_count)
            publish_lost(tap, tap->skipped_count);
        tap->skipped_count = 0;
    }
    if (tap->window_count < WINDOW_MAX) {
        tap->window_count++;
        return true;
    }
    tap->skipped_count++;
    return false;
}

static int take_log(struct tap *tap, struct sonde_event *event)
{
    struct sonde_log_message message;
    if (sonde_log_reader_take(tap->reader, event, &message) != SONDE_OK ||
        !sonde_log_filter_holds(tap->filter, message.category, message.level))
        return SONDE_AGAIN;
    if (!has_time(tap))
        return SONDE_OK;
    struct sn_buf text = sn_buf_with_limit(MESSAGE_MAX);
    struct sonde_log_message shown; /* topics are shared by readers of every scope */
    sn_log_scrub_message(&tap->scrub, &message, &shown);
    sn_log_format_write(SN_LOG_NDJSON, &shown, &text);
    publish(tap, &text);
    return SONDE_OK;
}

static int take(void *user, struct sonde_event *event)
{
    struct tap *tap = user;
    struct sonde_writer_source source = {0};
    size_t size;
    if (is_log(tap))
        return take_log(tap, event);
    if (!has_time(tap))
        return SONDE_OK;
    (void)sonde_writer_event(tap->writer, &source, event);
    const char *text = sonde_writer_bytes(tap->writer, &size);
    struct sn_buf shown = sn_buf_with_limit(MESSAGE_MAX);
    (void)sn_redact_text(&shown, text, size);
    publish(tap, &shown);
    sonde_writer_clear(tap->writer);
    return SONDE_OK;
}

static void lost(void *user, uint64_t thread_id, uint64_t count)
{
    (void)thread_id;
    publish_lost(user, count);
}

static void tell_end(struct tap *tap, const char *why)
{
    struct sn_buf text = sn_buf_with_limit(MESSAGE_MAX);
    struct sn_json json = sn_json_to(&text);
    sn_json_object(&json, NULL);
    sn_json_bool(&json, "hasEnded", true);
    sn_json_text(&json, "why", why);
    sn_json_close(&json);
    publish(tap, &text);
}

static void changed(void *user, struct sonde_consumer *consumer)
{
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_ENDED)
        tell_end(user, state.error[0] ? state.error : "the process has ended");
}

/* --- listening --- */

static void free_tap(struct tap *tap)
{
    sonde_hub_remove(tap->consumer);
    sonde_log_reader_free(tap->reader);
    sonde_log_filter_free(tap->filter);
    sonde_writer_free(tap->writer);
    sn_log_scrub_done(&tap->scrub);
    free(tap);
}

static uint32_t pid_of(const char *name)
{
    return (uint32_t)strtoul(strchr(name, '/') + 1, NULL, 10);
}

static int add_consumer(struct tap *tap, const struct sonde_provider *providers, size_t count,
                        struct sonde_error *err)
{
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = pid_of(tap->name),
                                             .providers = providers,
                                             .provider_count = count,
                                             .in_order = true,
                                             .lost = lost,
                                             .changed = changed};
    return sonde_hub_add(sn_roads_hub(tap->daemon->roads), &options, take, tap, &tap->consumer,
                         err);
}

static int open_log(struct tap *tap, struct sonde_error *err)
{
    size_t count;
    int rc = sonde_log_filter_new(NULL, &tap->filter, err);
    if (rc == SONDE_OK)
        rc = sonde_log_reader_new(&tap->reader, err);
    const struct sonde_provider *providers =
        rc == SONDE_OK ? sonde_log_filter_providers(tap->filter, &count) : NULL;
    return providers ? add_consumer(tap, providers, count, err) : SONDE_E_NOMEM;
}

/* "Name:1:4|Other" as "Name:1:4,Other": commas stand between topics. */
static int read_providers(const char *name, struct sonde_provider_set *set, struct sonde_error *err)
{
    char text[SN_TOPIC_NAME_SIZE];
    const char *question = strchr(name, '?');
    if (!question || !question[1])
        return sn_fail(err, SONDE_E_ARGUMENT, 0,
                       "events of which providers? events/PID?Microsoft-Windows-DotNETRuntime:1:4");
    (void)snprintf(text, sizeof(text), "%s", question + 1);
    for (char *bar = text; (bar = strchr(bar, '|'));)
        *bar = ',';
    return sonde_provider_set_add(set, text, err);
}

static int open_events(struct tap *tap, struct sonde_error *err)
{
    struct sonde_writer_options options = {.size = sizeof(options), .format = SONDE_WRITER_NDJSON};
    struct sonde_provider_set *set = NULL;
    size_t count;
    int rc = sonde_writer_new(&options, &tap->writer, err);
    if (rc == SONDE_OK)
        rc = sonde_provider_set_new(&set, err);
    if (rc == SONDE_OK)
        rc = read_providers(tap->name, set, err);
    if (rc == SONDE_OK) {
        const struct sonde_provider *providers = sonde_provider_set_get(set, &count);
        rc = add_consumer(tap, providers, count, err);
    }
    sonde_provider_set_free(set);
    return rc;
}

/* One that cannot be opened says why, and stays until nobody wants it any more. */
static void open_tap(struct sn_daemon *daemon, const char *name)
{
    struct sn_event_topics *topics = daemon->event_topics;
    struct sonde_error err = {0};
    struct tap *tap = topics->count < TAPS_MAX ? calloc(1, sizeof(*tap)) : NULL;
    if (!tap) {
        struct tap none = {.daemon = daemon};
        (void)snprintf(none.name, sizeof(none.name), "%s", name);
        tell_end(&none, "as many topics of logs and events are read as may");
        return;
    }
    tap->daemon = daemon;
    (void)snprintf(tap->name, sizeof(tap->name), "%s", name);
    tap->next = topics->first;
    topics->first = tap;
    topics->count++;
    int rc = is_log(tap) ? open_log(tap, &err) : open_events(tap, &err);
    if (rc != SONDE_OK)
        tell_end(tap, err.text);
}

/* --- who is wanted --- */

static bool has_name(char (*names)[SN_TOPIC_NAME_SIZE], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool has_tap(const struct sn_event_topics *topics, const char *name)
{
    for (const struct tap *tap = topics->first; tap; tap = tap->next) {
        if (strcmp(tap->name, name) == 0)
            return true;
    }
    return false;
}

static void close_others(struct sn_event_topics *topics, char (*names)[SN_TOPIC_NAME_SIZE],
                         size_t count)
{
    for (struct tap **slot = &topics->first; *slot;) {
        struct tap *tap = *slot;
        if (has_name(names, count, tap->name)) {
            slot = &tap->next;
            continue;
        }
        *slot = tap->next;
        topics->count--;
        free_tap(tap);
    }
}

/* In the roads thread. */
static void reconcile(void *user)
{
    struct sn_daemon *daemon = user;
    char(*names)[SN_TOPIC_NAME_SIZE] = calloc((size_t)2 * TAPS_MAX, sizeof(*names));
    if (!daemon->event_topics)
        daemon->event_topics = calloc(1, sizeof(*daemon->event_topics));
    if (names && daemon->event_topics) {
        size_t count = sn_topics_wanted(daemon->topics, LOGS, names, TAPS_MAX);
        count += sn_topics_wanted(daemon->topics, EVENTS, names + count, TAPS_MAX);
        close_others(daemon->event_topics, names, count);
        for (size_t i = 0; i < count; i++) {
            if (!has_tap(daemon->event_topics, names[i]))
                open_tap(daemon, names[i]);
        }
    }
    free(names);
}

static void wanted(void *user, bool is_wanted)
{
    (void)is_wanted;
    struct sn_daemon *daemon = user;
    if (daemon->roads)
        sn_roads_post_sure(daemon->roads, reconcile, daemon);
}

/* In the HTTP thread. */
static bool has_room(struct sn_daemon *daemon)
{
    SN_AUTO(sn_free)
    char(*names)[SN_TOPIC_NAME_SIZE] = calloc((size_t)2 * TAPS_MAX, sizeof(*names));
    return names && sn_topics_wanted(daemon->topics, LOGS, names, TAPS_MAX) +
                            sn_topics_wanted(daemon->topics, EVENTS, names, TAPS_MAX) <
                        TAPS_MAX;
}

static struct sn_topic *open_topic(struct sn_daemon *daemon, const char *name, enum sn_scope scope,
                                   struct sonde_error *err)
{
    char number[16] = "";
    uint64_t pid;
    const char *start = strchr(name, '/') + 1;
    size_t size = strcspn(start, "?");
    if (size < sizeof(number))
        memcpy(number, start, size);
    if (!sn_text_to_u64(number, UINT32_MAX, &pid) || !pid || strlen(name) >= SN_TOPIC_NAME_SIZE) {
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%.64s' names no process", name);
        return NULL;
    }
    if (!has_room(daemon)) {
        (void)sn_fail(err, SONDE_E_LIMIT, 0,
                      "as many topics of logs and events are read as may: %u", TAPS_MAX);
        return NULL;
    }
    return sn_topics_open(
        daemon->topics,
        &(struct sn_topic_options){
            .name = name, .keep = KEEP, .scope = scope, .wanted = wanted, .user = daemon});
}

struct sn_topic *sn_event_topics_open_logs(struct sn_daemon *daemon, const char *name,
                                           struct sonde_error *err)
{
    return open_topic(daemon, name, SN_SCOPE_READ, err);
}

struct sn_topic *sn_event_topics_open_events(struct sn_daemon *daemon, const char *name,
                                             struct sonde_error *err)
{
    struct sonde_provider_set *set = NULL;
    int rc = sonde_provider_set_new(&set, err);
    if (rc == SONDE_OK)
        rc = read_providers(name, set, err);
    sonde_provider_set_free(set);
    return rc == SONDE_OK ? open_topic(daemon, name, SN_SCOPE_CONTROL, err) : NULL;
}

void sn_event_topics_free(struct sn_event_topics *topics)
{
    if (!topics)
        return;
    close_others(topics, NULL, 0);
    free(topics);
}
