/* Names for the stacks of a saved trace's events, one frame at a time: what lies at each address,
 * as the names in the trace tell. One thread. */
#ifndef SN_EVENT_FRAMES_H
#define SN_EVENT_FRAMES_H

#include <stdint.h>

struct sn_event;
struct sn_event_frames;
struct sonde_error;

/* Reads all names of the trace: they may stand behind the events that need them. A cut trace has
 * those that are intact. */
int sn_event_frames_new(const char *path, struct sn_event_frames **ret_frames,
                        struct sonde_error *err);
void sn_event_frames_free(struct sn_event_frames *frames);

static inline void sn_event_frames_free_auto(struct sn_event_frames **slot)
{
    sn_event_frames_free(*slot);
}

/* A sn_frame_name_fn, `user` is the frames: "Shop!Shop.Orders.PlaceAsync"; the address when nobody
 * knows. */
const char *sn_event_frames_name(void *user, const struct sn_event *event, uint32_t index);

#endif
