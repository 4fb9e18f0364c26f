/* Whose events are written out: what they do not know themselves. */
#ifndef SN_EVENT_OWNER_H
#define SN_EVENT_OWNER_H

#include <stdint.h>

struct sn_event;

/* What frame `index` of the event's stack is called; never NULL, borrowed until the next call. */
typedef const char *sn_frame_name_fn(void *user, const struct sn_event *event, uint32_t index);

struct sn_event_owner {
    uint32_t pid;            /* as we see it; 0: as the event says */
    const char *process;     /* shown with each event; NULL: there is one process only */
    sn_frame_name_fn *frame; /* NULL: stacks are addresses */
    void *user;              /* for `frame` */
};

#endif
