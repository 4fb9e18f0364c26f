/* Requests as the DiagnosticSource bridge tells them: events whose arguments are pairs of texts.
 * One thread. */
#ifndef SN_REQUEST_BRIDGE_H
#define SN_REQUEST_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define SN_BRIDGE_PROVIDER "Microsoft-Diagnostics-DiagnosticSource"

struct sn_event;

struct sn_request_bridge {
    bool is_outgoing;
    bool is_start;
    bool has_duration;
    uint64_t duration_ns;
    uint32_t status;      /* 0: not told */
    struct sn_buf method; /* own, as below; "" when not told */
    struct sn_buf path;
    struct sn_buf route; /* the pattern that the program itself has */
    struct sn_buf host;
    struct sn_buf key; /* of the pair that is being read */
    struct sn_buf value;
};

void sn_request_bridge_init(struct sn_request_bridge *bridge);
void sn_request_bridge_done(struct sn_request_bridge *bridge);

/* Reads one event of SN_BRIDGE_PROVIDER; false when it is not the start or stop of a request. */
bool sn_request_bridge_read(struct sn_request_bridge *bridge, const struct sn_event *event);

#endif
