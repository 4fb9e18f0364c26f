#include "sink/aggregate/topic_profile.h"

#include "format/cpu_slices.h"
#include "model/event.h"
#include "sink/aggregate/aggregates.h"
#include "sonde/error.h"
#include "symbol/frames.h"

int sn_topic_profile_init(struct sn_topic_profile *topic,
                          const struct sn_aggregate_context *context,
                          const struct sn_column columns[2], struct sn_profile **slot,
                          struct sonde_error *err)
{
    int rc = sn_profile_new(columns, 2, slot, err);
    if (rc == SONDE_OK)
        rc = sn_frames_new(context->code, *slot, &topic->frames, err);
    if (rc != SONDE_OK)
        return rc;
    topic->profile = *slot;
    topic->cpu = context->cpu;
    if (context->find_line)
        sn_frames_set_lines(topic->frames, context->find_line, context->line_user);
    return SONDE_OK;
}

void sn_topic_profile_done(struct sn_topic_profile *topic)
{
    sn_frames_free(topic->frames);
}

const char *sn_topic_profile_thread_name(const struct sn_topic_profile *topic, uint64_t thread_id)
{
    const struct sn_cpu_thread *thread =
        topic->cpu ? sn_cpu_slices_thread(topic->cpu, thread_id) : NULL;
    return thread ? thread->name : "";
}

static uint32_t thread_of(struct sn_topic_profile *topic, const struct sn_event *event)
{
    return sn_profile_thread(topic->profile, event->pid, event->thread_id,
                             sn_topic_profile_thread_name(topic, event->thread_id));
}

struct sn_topic_place sn_topic_profile_place(struct sn_topic_profile *topic,
                                             const struct sn_event *event, const char *type,
                                             uint32_t *ret_frame)
{
    struct sn_topic_place place = {
        .thread = thread_of(topic, event),
        .node = type ? sn_frames_leaf(topic->frames, event, type, SN_FRAME_TYPE)
                     : sn_frames_node(topic->frames, event),
    };
    if (ret_frame && place.node != SN_NO_INDEX)
        *ret_frame = topic->profile->nodes[place.node].frame;
    return place;
}

void sn_topic_profile_add(struct sn_topic_profile *topic, struct sn_topic_place place,
                          uint64_t first, uint64_t second)
{
    const uint64_t values[SN_COLUMN_MAX] = {first, second};
    sn_profile_add(topic->profile, place.thread, place.node, values);
}
