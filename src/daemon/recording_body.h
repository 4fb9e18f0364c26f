/* What people send to configure a recording: checked member by member before anything of it is
 * believed. No state. */
#ifndef SN_RECORDING_BODY_H
#define SN_RECORDING_BODY_H

#include <stdbool.h>

#include "daemon/operation.h"

struct sn_rest_call;

#define SN_RECORDING_DURATION_MAX 604800.0 /* seconds: seven days */

/* Fills in kind, settings, duration, file name and whether it is to start; and whom it is about.
 * Everything is borrowed from the call's body but the pid's text. False: the call has its problem,
 * which names the member. */
struct sn_recording_body {
    struct sn_operation_request request;
    struct sn_operation_target target;
    char pid[16];
};
bool sn_recording_body_read(struct sn_rest_call *call, struct sn_recording_body *ret_body);

/* The only member of a change; false: as above. */
enum sn_recording_change {
    SN_RECORDING_ENABLE,
    SN_RECORDING_DISABLE,
    SN_RECORDING_KEEP, /* "live": false */
};
bool sn_recording_body_change(struct sn_rest_call *call, enum sn_recording_change *ret_change);

#endif
