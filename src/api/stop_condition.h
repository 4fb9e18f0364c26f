/* Stops a trace at an event: provider, name and field values, as "--stop-on" says. */
#ifndef SN_STOP_CONDITION_H
#define SN_STOP_CONDITION_H

#include <stdbool.h>

#include "flow/request.h"

struct sn_road;
struct sonde_error;

/* Subscribes a sink that sets *ret_met when the event came and then leaves. `event` and `payload`
 * may be NULL; `payload` is "field:value,field:value". Strings and *ret_met must outlive the road.
 */
int sn_stop_condition_add(struct sn_road *road, const char *provider, const char *event,
                          const char *payload, bool *ret_met, struct sonde_error *err);

#endif
