/* What is told to many at once: the latest message of each topic, or its last ones, made once and
 * read by every stream at its own pace. Who reads too slowly misses messages and is told how many.
 * Published from any thread; streams live in the HTTP thread. */
#ifndef SN_TOPIC_H
#define SN_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "daemon/access.h"
#include "sonde/error.h"

struct sn_daemon;
struct sn_rest_call;
struct sn_topic;
struct sn_topics;

/* `wanted` is told, in the HTTP thread, when the first reader comes and the last one goes: nobody
 * makes messages that nobody reads. May be NULL. `keep`: 1 for what stands for a state (late
 * readers get the last one, nobody is told of gaps), more for what is a sequence. */
struct sn_topic_options {
    const char *name; /* "processes", "counters/4711" */
    unsigned keep;
    enum sn_scope scope; /* who may read it; none: SN_SCOPE_READ */
    bool renews;         /* `wanted` makes a message: the first reader gets none of before */
    void (*wanted)(void *user, bool is_wanted);
    void *user;
};

int sn_topics_new(struct sn_daemon *daemon, struct sn_topics **ret_topics, struct sonde_error *err);
void sn_topics_free(struct sn_topics *topics);

/* In the HTTP thread: how long until there is something to do; does it. */
int sn_topics_wait_ms(const struct sn_topics *topics);
void sn_topics_turn(struct sn_topics *topics);
unsigned sn_topics_stream_count(const struct sn_topics *topics);
uint64_t sn_topics_lost_count(const struct sn_topics *topics);
/* From any thread: messages that were too large or had no memory. Their readers are told. */
uint64_t sn_topics_unmade_count(const struct sn_topics *topics);

/* Behind the name of a topic whose readers may see secrets. They do not know of it: they ask for
 * the name before it, and messages have that name. Nobody can ask for it. */
#define SN_TOPIC_SECRETS "#secrets"

/* Topics that are there when somebody wants one: of names that begin with `prefix`. `open` is
 * called in the HTTP thread with the whole name and opens it with sn_topics_open, or gives NULL and
 * says why. It is closed when its last reader has gone. */
struct sn_topic_family {
    const char *prefix; /* "counters/" */
    enum sn_scope scope;
    bool has_secrets; /* who is of the scope secrets reads another topic: SN_TOPIC_SECRETS */
    struct sn_topic *(*open)(struct sn_daemon *daemon, const char *name, struct sonde_error *err);
};
/* Every family, ended by one without a prefix (topic_families.c). */
extern const struct sn_topic_family sn_topic_families[];

/* Twice the same name gives the same topic. Topics that nobody reads and nobody holds are freed. */
struct sn_topic *sn_topics_open(struct sn_topics *topics, const struct sn_topic_options *options);
void sn_topic_close(struct sn_topic *topic);
bool sn_topic_is_wanted(const struct sn_topic *topic); /* from any thread */

/* Takes the bytes of `message`: JSON on one line. From any thread. One that has failed is a loss of
 * which the topic's readers are told. */
void sn_topic_publish(struct sn_topic *topic, struct sn_buf *message);

/* The same by its name; nothing happens when nobody has such a topic. */
void sn_topics_publish(struct sn_topics *topics, const char *name, struct sn_buf *message);

/* Which topics of names that begin with `prefix` somebody reads: how many there are; as many as fit
 * are in `names`. From any thread. */
#define SN_TOPIC_NAME_SIZE 256u
size_t sn_topics_wanted(struct sn_topics *topics, const char *prefix,
                        char (*names)[SN_TOPIC_NAME_SIZE], size_t name_max);

#endif
