#include "daemon/topic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/own.h"
#include "daemon/daemon.h"
#include "daemon/topic_parts.h"
#include "net/http_server.h"

#define TOPICS_MAX 4096u
#define KEEP_MAX   1024u
#define PING_NS    (15ull * SN_NS_PER_SECOND)

struct sn_topic {
    struct sn_topics *topics; /* borrows */
    struct sn_topic *next;
    char *name;       /* owns */
    char *shown_name; /* owns: without SN_TOPIC_SECRETS */
    unsigned keep;
    bool renews;
    enum sn_scope scope;
    void (*wanted)(void *user, bool is_wanted);
    void *user;
    struct sn_topic_message **ring; /* owns `keep` of them; by number */
    uint64_t next_number;           /* messages so far */
    uint64_t unmade_count;          /* those that were too large, or had no memory */
    unsigned holder_count;
    _Atomic unsigned reader_count;
};

int sn_topics_new(struct sn_daemon *daemon, struct sn_topics **ret_topics, struct sonde_error *err)
{
    struct sn_topics *topics = calloc(1, sizeof(*topics));
    if (!topics)
        return sn_fail(err, SONDE_E_NOMEM, 0, "no memory for topics");
    topics->daemon = daemon;
    (void)pthread_mutex_init(&topics->lock, NULL);
    topics->ping_ns = sn_clock_deadline(PING_NS);
    *ret_topics = topics;
    return SONDE_OK;
}

/* --- messages --- */

void sn_topic_message_release(struct sn_topic_message *message)
{
    if (message && atomic_fetch_sub(&message->reference_count, 1) == 1)
        free(message);
}

static struct sn_topic_message *frame(const char *name, uint64_t number, const struct sn_buf *data)
{
    SN_AUTO(sn_buf_done) struct sn_buf head = sn_buf_with_limit(1024);
    sn_buf_format(&head, "event: %s\nid: %llu\ndata: ", name, (unsigned long long)number);
    size_t size = head.size + data->size + 2;
    struct sn_topic_message *message = head.failed ? NULL : malloc(sizeof(*message) + size);
    if (!message)
        return NULL;
    message->reference_count = 1;
    message->number = number;
    message->size = size;
    memcpy(message->bytes, head.bytes, head.size);
    memcpy(message->bytes + head.size, data->bytes, data->size);
    message->bytes[size - 2] = '\n';
    message->bytes[size - 1] = '\n';
    return message;
}

static void wake(void *user)
{
    struct sn_topics *topics = user;
    sn_topic_stream_wake_all(topics, false);
}

/* Nothing that would break the stream's lines. */
static bool is_sound(const struct sn_buf *message)
{
    return !message->failed && message->size && !memchr(message->bytes, '\n', message->size);
}

/* The lock is held. Whether somebody reads it. What cannot be made is counted, and that is what its
 * readers get instead. */
static bool put_message(struct sn_topic *topic, const struct sn_buf *message)
{
    struct sn_topic_message *made =
        is_sound(message) ? frame(topic->shown_name, topic->next_number, message) : NULL;
    if (made) {
        struct sn_topic_message **slot = &topic->ring[topic->next_number % topic->keep];
        sn_topic_message_release(*slot);
        *slot = made;
        topic->next_number++;
    } else {
        topic->unmade_count++;
        (void)atomic_fetch_add(&topic->topics->unmade_count, 1);
    }
    return atomic_load(&topic->reader_count) > 0;
}

static void wake_readers(struct sn_topics *topics)
{
    if (topics->daemon->http)
        (void)sn_http_server_nudge(topics->daemon->http, &topics->wake, wake, topics);
}

void sn_topic_publish(struct sn_topic *topic, struct sn_buf *message)
{
    struct sn_topics *topics = topic->topics;
    (void)pthread_mutex_lock(&topics->lock);
    bool has_readers = put_message(topic, message);
    (void)pthread_mutex_unlock(&topics->lock);
    sn_buf_done(message);
    if (has_readers)
        wake_readers(topics);
}

void sn_topics_publish(struct sn_topics *topics, const char *name, struct sn_buf *message)
{
    bool has_readers = false;
    (void)pthread_mutex_lock(&topics->lock);
    struct sn_topic *topic = topics->first;
    while (topic && strcmp(topic->name, name) != 0)
        topic = topic->next;
    if (topic)
        has_readers = put_message(topic, message);
    (void)pthread_mutex_unlock(&topics->lock);
    sn_buf_done(message);
    if (has_readers)
        wake_readers(topics);
}

size_t sn_topics_wanted(struct sn_topics *topics, const char *prefix,
                        char (*names)[SN_TOPIC_NAME_SIZE], size_t name_max)
{
    size_t count = 0;
    (void)pthread_mutex_lock(&topics->lock);
    for (struct sn_topic *topic = topics->first; topic; topic = topic->next) {
        if (strncmp(topic->name, prefix, strlen(prefix)) != 0 || !sn_topic_is_wanted(topic))
            continue;
        if (count < name_max)
            (void)snprintf(names[count], SN_TOPIC_NAME_SIZE, "%s", topic->name);
        count++;
    }
    (void)pthread_mutex_unlock(&topics->lock);
    return count;
}

struct sn_topic_message *sn_topic_take(struct sn_topic *topic, struct sn_topic_place *place,
                                       uint64_t *ret_lost)
{
    struct sn_topics *topics = topic->topics;
    struct sn_topic_message *message = NULL;
    (void)pthread_mutex_lock(&topics->lock);
    *ret_lost = topic->unmade_count - place->unmade;
    place->unmade = topic->unmade_count;
    if (place->at < topic->next_number) {
        uint64_t oldest = topic->next_number > topic->keep ? topic->next_number - topic->keep : 0;
        if (place->at < oldest) {
            *ret_lost += topic->keep > 1 ? oldest - place->at : 0;
            place->at = oldest;
        }
        message = topic->ring[place->at % topic->keep];
        (void)atomic_fetch_add(&message->reference_count, 1);
        place->at++;
    }
    (void)pthread_mutex_unlock(&topics->lock);
    return message;
}

/* --- topics --- */

static void free_topic(struct sn_topic *topic)
{
    for (unsigned i = 0; topic->ring && i < topic->keep; i++)
        sn_topic_message_release(topic->ring[i]);
    free(topic->ring);
    free(topic->name);
    free(topic->shown_name);
    free(topic);
}

static struct sn_topic *new_topic(struct sn_topics *topics, const struct sn_topic_options *options)
{
    struct sn_topic *topic = calloc(1, sizeof(*topic));
    if (!topic)
        return NULL;
    topic->topics = topics;
    topic->keep = !options->keep ? 1 : options->keep < KEEP_MAX ? options->keep : KEEP_MAX;
    topic->scope = options->scope ? options->scope : SN_SCOPE_READ;
    topic->renews = options->renews;
    topic->wanted = options->wanted;
    topic->user = options->user;
    topic->name = strdup(options->name);
    topic->shown_name = strdup(options->name);
    topic->ring = calloc(topic->keep, sizeof(struct sn_topic_message *));
    char *mark = topic->shown_name ? strstr(topic->shown_name, SN_TOPIC_SECRETS) : NULL;
    if (mark)
        *mark = '\0';
    if (topic->name && topic->shown_name && topic->ring)
        return topic;
    free_topic(topic);
    return NULL;
}

/* The lock is held. */
static struct sn_topic *find(struct sn_topics *topics, const char *name)
{
    struct sn_topic *topic = topics->first;
    while (topic && strcmp(topic->name, name) != 0)
        topic = topic->next;
    return topic;
}

struct sn_topic *sn_topics_open(struct sn_topics *topics, const struct sn_topic_options *options)
{
    (void)pthread_mutex_lock(&topics->lock);
    struct sn_topic *topic = find(topics, options->name);
    if (!topic && topics->count < TOPICS_MAX)
        topic = new_topic(topics, options);
    if (topic && !topic->holder_count && !atomic_load(&topic->reader_count)) {
        topic->next = topics->first;
        topics->first = topic;
        topics->count++;
    }
    if (topic)
        topic->holder_count++;
    (void)pthread_mutex_unlock(&topics->lock);
    return topic;
}

/* The lock is held. True: it was the last who cared. */
static bool unlink_unused(struct sn_topic *topic)
{
    struct sn_topics *topics = topic->topics;
    if (topic->holder_count || atomic_load(&topic->reader_count))
        return false;
    struct sn_topic **slot = &topics->first;
    while (*slot != topic)
        slot = &(*slot)->next;
    *slot = topic->next;
    topics->count--;
    return true;
}

void sn_topic_close(struct sn_topic *topic)
{
    if (!topic)
        return;
    struct sn_topics *topics = topic->topics;
    (void)pthread_mutex_lock(&topics->lock);
    topic->holder_count--;
    bool is_last = unlink_unused(topic);
    (void)pthread_mutex_unlock(&topics->lock);
    if (is_last)
        free_topic(topic);
}

bool sn_topic_is_wanted(const struct sn_topic *topic)
{
    return atomic_load(&topic->reader_count) > 0;
}

const char *sn_topic_name(const struct sn_topic *topic)
{
    return topic->shown_name;
}

/* --- readers --- */

static const struct sn_topic_family *family_of(const char *name)
{
    for (const struct sn_topic_family *family = sn_topic_families; family->prefix; family++) {
        if (strncmp(name, family->prefix, strlen(family->prefix)) == 0)
            return family;
    }
    return NULL;
}

/* Held for the moment. */
static struct sn_topic *open_for_reader(struct sn_topics *topics, const char *name,
                                        enum sn_scope scope, struct sonde_error *err)
{
    const struct sn_topic_family *family = family_of(name);
    char inner[SN_TOPIC_NAME_SIZE + sizeof(SN_TOPIC_SECRETS)];
    if (strstr(name, SN_TOPIC_SECRETS)) {
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no topic '%.64s'", name);
        return NULL;
    }
    if (family && family->has_secrets && scope >= SN_SCOPE_SECRETS) {
        (void)snprintf(inner, sizeof(inner), "%s" SN_TOPIC_SECRETS, name);
        name = inner;
    }
    (void)pthread_mutex_lock(&topics->lock);
    struct sn_topic *topic = find(topics, name);
    bool may = topic ? scope >= topic->scope : !family || scope >= family->scope;
    if (topic && may)
        topic->holder_count++;
    (void)pthread_mutex_unlock(&topics->lock);
    if (!may) {
        (void)sn_fail(err, SONDE_E_DENIED, 0, "the topic '%.64s' needs a key of a higher scope",
                      name);
        return NULL;
    }
    if (!topic && family)
        topic = family->open(topics->daemon, name, err);
    if (!topic && !family)
        (void)sn_fail(err, SONDE_E_NOT_FOUND, 0, "there is no topic '%.64s'", name);
    else if (!topic && err->status == SONDE_OK) /* else it has said why */
        (void)sn_fail(err, SONDE_E_LIMIT, 0, "no room for another topic: at most %u are open",
                      TOPICS_MAX);
    return topic;
}

struct sn_topic *sn_topic_join(struct sn_topics *topics, const char *name, enum sn_scope scope,
                               struct sn_topic_place *ret_place, struct sonde_error *err)
{
    struct sn_topic *topic = open_for_reader(topics, name, scope, err);
    if (!topic)
        return NULL;
    (void)pthread_mutex_lock(&topics->lock);
    bool is_first = atomic_fetch_add(&topic->reader_count, 1) == 0;
    topic->holder_count--;
    ret_place->at = topic->next_number > topic->keep ? topic->next_number - topic->keep : 0;
    if (is_first && topic->renews)
        ret_place->at = topic->next_number;
    ret_place->unmade = topic->unmade_count;
    (void)pthread_mutex_unlock(&topics->lock);
    if (is_first && topic->wanted)
        topic->wanted(topic->user, true);
    return topic;
}

void sn_topic_leave(struct sn_topic *topic)
{
    struct sn_topics *topics = topic->topics;
    void (*wanted)(void *user, bool is_wanted) = topic->wanted;
    void *user = topic->user;
    (void)pthread_mutex_lock(&topics->lock);
    bool is_last = atomic_fetch_sub(&topic->reader_count, 1) == 1;
    bool is_unused = unlink_unused(topic);
    (void)pthread_mutex_unlock(&topics->lock);
    if (is_unused)
        free_topic(topic);
    if (is_last && wanted)
        wanted(user, false);
}

/* --- the HTTP thread --- */

int sn_topics_wait_ms(const struct sn_topics *topics)
{
    return topics->streams ? sn_clock_poll_ms(topics->ping_ns) : -1;
}

void sn_topics_turn(struct sn_topics *topics)
{
    if (sn_clock_monotonic_ns() < topics->ping_ns)
        return;
    topics->ping_ns = sn_clock_deadline(PING_NS);
    sn_topic_stream_wake_all(topics, true);
}

unsigned sn_topics_stream_count(const struct sn_topics *topics)
{
    return topics->stream_count;
}

uint64_t sn_topics_lost_count(const struct sn_topics *topics)
{
    return topics->lost_count;
}

uint64_t sn_topics_unmade_count(const struct sn_topics *topics)
{
    return atomic_load(&topics->unmade_count);
}

void sn_topics_free(struct sn_topics *topics)
{
    if (!topics)
        return;
    for (struct sn_topic *next; topics->first; topics->first = next) {
        next = topics->first->next;
        free_topic(topics->first);
    }
    (void)pthread_mutex_destroy(&topics->lock);
    free(topics);
}
