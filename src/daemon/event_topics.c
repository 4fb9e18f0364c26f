#include "daemon/event_topics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/event_tap.h"
#include "daemon/roads.h"
#include "daemon/topic.h"
#include "sonde/hub.h"
#include "sonde/provider.h"

#define LOGS      "logs/"
#define EVENTS    "events/"
#define TAPS_MAX  32u
#define KEEP      512u
#define SETTLE_NS (500ull * SN_NS_PER_MS)

/* What one topic listens to. */
struct listening {
    struct sn_daemon *daemon; /* borrows */
    struct listening *next;
    char name[SN_TOPIC_NAME_SIZE];
    struct sonde_consumer *consumer;
    struct sn_event_tap *tap; /* owns; NULL: it could not be opened */
    bool is_settling;         /* a timer is set */
};

struct sn_event_topics {
    struct sn_mailbox_task reconciling; /* that readers have come or gone */
    struct listening *first;
    size_t count;
    char names[2 * TAPS_MAX][SN_TOPIC_NAME_SIZE]; /* that are wanted: of `reconcile` */
};

static void changed(void *user, struct sonde_consumer *consumer)
{
    struct listening *one = user;
    struct sonde_consumer_state state;
    sonde_consumer_state(consumer, &state);
    if (state.phase == SONDE_CONSUMER_ENDED)
        sn_event_tap_end(one->daemon->topics, one->name,
                         state.error[0] ? state.error : "the process has ended");
}

static void settle(void *user)
{
    struct listening *one = user;
    one->is_settling = false;
    sn_event_tap_settle(one->tap);
}

static int take(void *user, struct sonde_event *event)
{
    struct listening *one = user;
    int rc = sn_event_tap_take(one->tap, event);
    if (sn_event_tap_has_untold(one->tap) && !one->is_settling)
        one->is_settling = sn_roads_at(one->daemon->roads, sn_clock_deadline(SETTLE_NS), settle,
                                       one, NULL) == SONDE_OK;
    return rc;
}

static void lost(void *user, uint64_t thread_id, uint64_t count)
{
    const struct listening *one = user;
    sn_event_tap_lost(one->tap, thread_id, count);
}

/* --- listening --- */

static void free_listening(struct listening *one)
{
    sonde_hub_remove(one->consumer);
    sn_roads_forget(one->daemon->roads, one);
    sn_event_tap_free(one->tap);
    free(one);
}

static uint32_t pid_of(const char *name)
{
    return (uint32_t)strtoul(strchr(name, '/') + 1, NULL, 10);
}

static int add_consumer(struct listening *one, const struct sonde_provider *providers, size_t count,
                        struct sonde_error *err)
{
    struct sonde_consumer_options options = {.size = sizeof(options),
                                             .pid = pid_of(one->name),
                                             .providers = providers,
                                             .provider_count = count,
                                             .in_order = true,
                                             .lost = lost,
                                             .changed = changed};
    return sonde_hub_add(sn_roads_hub(one->daemon->roads), &options, take, one, &one->consumer,
                         err);
}

static int open_log(struct listening *one, struct sonde_error *err)
{
    size_t count;
    const struct sonde_provider *providers = sn_event_tap_providers(one->tap, &count);
    return providers ? add_consumer(one, providers, count, err)
                     : sn_fail(err, SONDE_E_NOMEM, 0, "no memory for a topic");
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

static int open_events(struct listening *one, struct sonde_error *err)
{
    struct sonde_provider_set *set = NULL;
    size_t count;
    int rc = sonde_provider_set_new(&set, err);
    if (rc == SONDE_OK)
        rc = read_providers(one->name, set, err);
    if (rc == SONDE_OK) {
        const struct sonde_provider *providers = sonde_provider_set_get(set, &count);
        rc = add_consumer(one, providers, count, err);
    }
    sonde_provider_set_free(set);
    return rc;
}

static bool has_secrets(const char *name)
{
    return strstr(name, SN_TOPIC_SECRETS) != NULL;
}

/* One that cannot be opened says why, and stays until nobody wants it any more. */
static void open_listening(struct sn_daemon *daemon, const char *name)
{
    struct sn_event_topics *topics = daemon->event_topics;
    struct sonde_error err = {0};
    struct listening *one = topics->count < TAPS_MAX ? calloc(1, sizeof(*one)) : NULL;
    if (!one) {
        sn_event_tap_end(daemon->topics, name,
                         topics->count < TAPS_MAX
                             ? "no memory for another topic"
                             : "as many topics of logs and events are read as may");
        return;
    }
    one->daemon = daemon;
    (void)snprintf(one->name, sizeof(one->name), "%s", name);
    one->next = topics->first;
    topics->first = one;
    topics->count++;
    struct sn_event_tap_options options = {.topics = daemon->topics,
                                           .name = name,
                                           .is_log = strncmp(name, LOGS, strlen(LOGS)) == 0,
                                           .shows_secrets = has_secrets(name)};
    int rc = sn_event_tap_new(&options, &one->tap, &err);
    if (rc == SONDE_OK)
        rc = options.is_log ? open_log(one, &err) : open_events(one, &err);
    if (rc != SONDE_OK)
        sn_event_tap_end(daemon->topics, name, err.text);
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

static bool is_listening(const struct sn_event_topics *topics, const char *name)
{
    for (const struct listening *one = topics->first; one; one = one->next) {
        if (strcmp(one->name, name) == 0)
            return true;
    }
    return false;
}

static void close_others(struct sn_event_topics *topics, char (*names)[SN_TOPIC_NAME_SIZE],
                         size_t count)
{
    for (struct listening **slot = &topics->first; *slot;) {
        struct listening *one = *slot;
        if (has_name(names, count, one->name)) {
            slot = &one->next;
            continue;
        }
        *slot = one->next;
        topics->count--;
        free_listening(one);
    }
}

/* No more of them can be opened anyway. */
static size_t wanted_names(struct sn_daemon *daemon, const char *prefix,
                           char (*names)[SN_TOPIC_NAME_SIZE])
{
    size_t count = sn_topics_wanted(daemon->topics, prefix, names, TAPS_MAX);
    return count < TAPS_MAX ? count : TAPS_MAX;
}

/* In the roads thread. */
static void reconcile(void *user)
{
    struct sn_daemon *daemon = user;
    struct sn_event_topics *topics = daemon->event_topics;
    size_t count = wanted_names(daemon, LOGS, topics->names);
    count += wanted_names(daemon, EVENTS, topics->names + count);
    close_others(topics, topics->names, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_listening(topics, topics->names[i]))
            open_listening(daemon, topics->names[i]);
    }
}

static void wanted(void *user, bool is_wanted)
{
    (void)is_wanted;
    struct sn_daemon *daemon = user;
    if (daemon->roads)
        (void)sn_roads_nudge(daemon->roads, &daemon->event_topics->reconciling, reconcile, daemon);
}

/* In the HTTP thread. */
static bool has_room(struct sn_daemon *daemon)
{
    return sn_topics_wanted(daemon->topics, LOGS, NULL, 0) +
               sn_topics_wanted(daemon->topics, EVENTS, NULL, 0) <
           TAPS_MAX;
}

static struct sn_topic *open_topic(struct sn_daemon *daemon, const char *name, enum sn_scope scope,
                                   struct sonde_error *err)
{
    char number[16] = "";
    uint64_t pid;
    const char *start = strchr(name, '/') + 1;
    size_t size = strcspn(start, "?#");
    if (size < sizeof(number))
        memcpy(number, start, size);
    if (!sn_text_to_u64(number, UINT32_MAX, &pid) || !pid || strlen(name) >= SN_TOPIC_NAME_SIZE) {
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "'%.*s' names no process", (int)strcspn(name, "#"),
                      name);
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
    return open_topic(daemon, name, has_secrets(name) ? SN_SCOPE_SECRETS : SN_SCOPE_READ, err);
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

int sn_event_topics_new(struct sn_event_topics **ret_topics, struct sonde_error *err)
{
    struct sn_event_topics *topics = calloc(1, sizeof(*topics));
    if (!topics)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for topics");
    *ret_topics = topics;
    return SONDE_OK;
}

void sn_event_topics_free(struct sn_event_topics *topics)
{
    if (!topics)
        return;
    close_others(topics, NULL, 0);
    free(topics);
}
