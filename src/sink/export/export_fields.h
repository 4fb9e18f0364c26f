/* The fields of an event as one JSON object, by name. No state. */
#ifndef SN_EXPORT_FIELDS_H
#define SN_EXPORT_FIELDS_H

#include "base/buf.h"
#include "sonde/event.h"

/* Rewinds the event before and after. What has no layout is {}; what breaks off is closed. */
void sn_event_fields_json(struct sonde_event *event, struct sn_buf *to);

#endif
