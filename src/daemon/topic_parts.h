/* What topic.c and topic_stream.c share: messages that many read, and who reads. */
#ifndef SN_TOPIC_PARTS_H
#define SN_TOPIC_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "daemon/topic.h"

struct sn_topic_stream;

/* As it goes over the wire, for everybody. */
struct sn_topic_message {
    _Atomic unsigned reference_count;
    uint64_t number;
    size_t size;
    char bytes[];
};

struct sn_topics {
    struct sn_daemon *daemon; /* borrows */
    pthread_mutex_t lock;     /* of `first` and what is in each topic */
    struct sn_topic *first;
    size_t count;
    _Atomic uint64_t unmade_count; /* messages of all topics that could not be made */
    struct sn_mailbox_task wake;
    struct sn_topic_stream *streams; /* the HTTP thread's, as is all below */
    unsigned stream_count;
    uint64_t lost_count;
    uint64_t ping_ns; /* when all of them get the next one */
};

/* Where a reader is. */
struct sn_topic_place {
    uint64_t at;     /* the next message */
    uint64_t unmade; /* of the topic's messages that could not be made: those that he knows of */
};

/* What waits for a reader of `topic`, who is moved on; NULL: nothing. The caller lets go of it.
 * *ret_lost: how many he has missed before it, or before the next when it is NULL. */
struct sn_topic_message *sn_topic_take(struct sn_topic *topic, struct sn_topic_place *place,
                                       uint64_t *ret_lost);
void sn_topic_message_release(struct sn_topic_message *message);

/* A reader comes, and is told where to begin; goes. In the HTTP thread. */
struct sn_topic *sn_topic_join(struct sn_topics *topics, const char *name, enum sn_scope scope,
                               struct sn_topic_place *ret_place, struct sonde_error *err);
void sn_topic_leave(struct sn_topic *topic);
const char *sn_topic_name(const struct sn_topic *topic);

/* Every stream looks again, and says that it is alive if `is_ping`. */
void sn_topic_stream_wake_all(struct sn_topics *topics, bool is_ping);

#endif
