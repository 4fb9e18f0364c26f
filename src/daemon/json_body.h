/* A body in JSON, as clients send it: bounded in depth, names once each. No state. */
#ifndef SN_JSON_BODY_H
#define SN_JSON_BODY_H

#include <jansson.h>
#include <stddef.h>

#include "sonde/error.h"

#define SN_JSON_BODY_DEPTH_MAX 64u

/* SONDE_E_FORMAT says where it is broken. The caller lets go of it with json_decref. */
int sn_json_body_read(const char *bytes, size_t size, json_t **ret_body, struct sonde_error *err);

#endif
