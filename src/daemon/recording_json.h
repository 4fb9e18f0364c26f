/* A recording as JSON: for lists, for one, for those who watch. Roads thread only. */
#ifndef SN_RECORDING_JSON_H
#define SN_RECORDING_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"

struct sn_daemon;
struct sn_operation;

void sn_recording_json_write(struct sn_json *json, struct sn_operation *operation,
                             bool with_settings);

/* All of them, newest first, `most` at most. */
void sn_recording_json_list(struct sn_buf *to, struct sn_daemon *daemon, size_t most);

/* Progress alone, as an object: what is kept of one. */
void sn_recording_json_progress(struct sn_json *json, const char *key,
                                struct sn_operation *operation);

#endif
