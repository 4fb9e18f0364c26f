/* What the topics with a profile have in common: the profile in the report, and stacks to its
 * nodes. */
#ifndef SN_TOPIC_PROFILE_H
#define SN_TOPIC_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"

struct sn_aggregate_context;
struct sn_cpu_slices;
struct sn_event;
struct sn_frames;
struct sonde_error;

struct sn_topic_profile {
    struct sn_profile *profile;      /* borrows: the report's */
    struct sn_frames *frames;        /* owns */
    const struct sn_cpu_slices *cpu; /* borrows: it knows threads by name; or NULL */
};

/* Puts a new profile into the report's `slot`. */
int sn_topic_profile_init(struct sn_topic_profile *topic,
                          const struct sn_aggregate_context *context,
                          const struct sn_column columns[2], struct sn_profile **slot,
                          struct sonde_error *err);
void sn_topic_profile_done(struct sn_topic_profile *topic);

/* A row of the profile: what to add to later. */
struct sn_topic_place {
    uint32_t thread;
    uint32_t node;
};

/* The row of an event's thread and stack, with a type below it unless it is NULL; `ret_frame` (may
 * be NULL) is the frame of that type. */
struct sn_topic_place sn_topic_profile_place(struct sn_topic_profile *topic,
                                             const struct sn_event *event, const char *type,
                                             uint32_t *ret_frame);

/* The kernel's name of a thread, or "". */
const char *sn_topic_profile_thread_name(const struct sn_topic_profile *topic, uint64_t thread_id);

void sn_topic_profile_add(struct sn_topic_profile *topic, struct sn_topic_place place,
                          uint64_t first, uint64_t second);

#endif
