/* What one topic makes of the events of a process: a line of JSON each, of log messages or of the
 * events themselves. Whatever is left out, because it is too large, comes too fast or was lost
 * before, is counted, and the topic's readers see `{"lost":N}`. One thread. */
#ifndef SN_EVENT_TAP_H
#define SN_EVENT_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/error.h"
#include "sonde/event.h"

struct sn_event_tap;
struct sn_topics;
struct sonde_provider;

struct sn_event_tap_options {
    struct sn_topics *topics; /* borrows */
    const char *name;         /* of the topic; copied */
    bool is_log;
    bool shows_secrets; /* of logs: its readers are of the scope secrets */
    size_t message_max; /* a message that is larger is lost; 0: 1 MB */
};

int sn_event_tap_new(const struct sn_event_tap_options *options, struct sn_event_tap **ret_tap,
                     struct sonde_error *err);
void sn_event_tap_free(struct sn_event_tap *tap); /* NULL is fine */

const char *sn_event_tap_name(const struct sn_event_tap *tap);

/* Of logs: what a runtime is to be asked for; *ret_count of them. NULL: no memory. */
const struct sonde_provider *sn_event_tap_providers(struct sn_event_tap *tap, size_t *ret_count);

/* A sonde_event_fn and a sonde_lost_fn, whose user is the tap. */
int sn_event_tap_take(void *user, struct sonde_event *event);
void sn_event_tap_lost(void *user, uint64_t thread_id, uint64_t count);

/* Whether something was left out that no reader knows of yet; tells them. A process that has fallen
 * silent tells nothing by itself: to be called a moment later. */
bool sn_event_tap_has_untold(const struct sn_event_tap *tap);
void sn_event_tap_settle(struct sn_event_tap *tap);

/* Tells the readers of a topic that no more comes. */
void sn_event_tap_end(struct sn_topics *topics, const char *name, const char *why);

#endif
