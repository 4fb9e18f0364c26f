/* What is told to many at once: the latest message of each topic, or its last ones, made once and
 * read by every stream at its own pace. Who reads too slowly misses messages and is told how many.
 * Published from any thread; streams live in the HTTP thread. */
#ifndef SN_TOPIC_H
#define SN_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sonde/error.h"

struct sn_rest_call;
struct sn_topic;
struct sn_topics;

/* `wanted` is told, in the HTTP thread, when the first reader comes and the last one goes: nobody
 * makes messages that nobody reads. May be NULL. `keep`: 1 for what stands for a state (late
 * readers get the last one, nobody is told of gaps), more for what is a sequence. */
struct sn_topic_options {
    const char *name; /* "processes", "counters/4711" */
    unsigned keep;
    void (*wanted)(void *user, bool is_wanted);
    void *user;
};

/* Twice the same name gives the same topic. Topics that nobody reads and nobody holds are freed. */
struct sn_topic *sn_topics_open(struct sn_topics *topics, const struct sn_topic_options *options);
void sn_topic_close(struct sn_topic *topic);
bool sn_topic_is_wanted(const struct sn_topic *topic); /* from any thread */

/* Takes the bytes of `message`: JSON on one line. From any thread. */
void sn_topic_publish(struct sn_topic *topic, struct sn_buf *message);

#endif
