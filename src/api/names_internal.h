/* Names of live code, for other parts of libsonde that hold an event of the road. */
#ifndef SN_NAMES_INTERNAL_H
#define SN_NAMES_INTERNAL_H

#include <stdint.h>

struct sn_event;
struct sonde_names;

/* As sonde_names_frame. */
const char *sn_names_frame(struct sonde_names *names, uint32_t pid, const struct sn_event *event,
                           uint32_t index);

#endif
